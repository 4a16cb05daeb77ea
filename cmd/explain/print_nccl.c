// SPDX-License-Identifier: MIT
// NCCL's summary for people and as JSON (explain.h).

#include "cmd/explain/explain.h"

#include <string.h>

#include "cmd/kit/words.h"
#include "core/base/files/json.h"
#include "core/base/text.h"

enum { INDENT = 16, FEW = 4 };

static void print_line(const char *key, const char *text, FILE *out)
{
    const int at = fprintf(out, "  %-13s ", key);
    kit_print_words(text, at, INDENT, out);
    putc('\n', out);
}

// All texts on one line.
static void print_texts(const char *key, const struct nccl_words *words, const char *mark, FILE *out)
{
    char text[2048];
    struct clab_text line = clab_text_begin(text, sizeof text);
    for (int i = 0; i < words->n; i++)
        clab_text_add(&line, "%s%s", i ? mark : "", words->text[i]);
    if (words->more > 0)
        clab_text_add(&line, "%sand others", mark);
    if (words->n > 0)
        print_line(key, text, out);
}

static void print_ranks(const struct nccl_log *log, FILE *out)
{
    char text[256];
    struct clab_text line = clab_text_begin(text, sizeof text);
    if (log->ranks == 0)
        return;
    clab_text_add(&line, "%d", log->ranks);
    if (log->nodes > 0)
        clab_text_add(&line, " on %d node%s", log->nodes, log->nodes == 1 ? "" : "s");
    if (log->ready == 0 && log->began > 0)
        clab_text_add(&line, "; none of the %d that this log shows became ready", log->began);
    else if (log->ready < log->began)
        clab_text_add(&line, "; of the %d that this log shows, only %d became ready", log->began, log->ready);
    else if (log->ready > 0)
        clab_text_add(&line, "; %d of them became ready", log->ready);
    if (log->communicators > 1)
        clab_text_add(&line, "; %ld communicators, of which this is the largest", log->communicators);
    print_line("ranks", text, out);
}

static void print_channels(const struct nccl_log *log, FILE *out)
{
    char text[256];
    struct clab_text line = clab_text_begin(text, sizeof text);
    if (log->coll_channels < 0)
        return;
    clab_text_add(&line, "%d for collectives", log->coll_channels);
    if (log->nvls_channels >= 0)
        clab_text_add(&line, ", %d for NVLink SHARP", log->nvls_channels);
    if (log->p2p_channels >= 0)
        clab_text_add(&line, ", %d for sends", log->p2p_channels);
    print_line("channels", text, out);
}

static void print_transports(const struct nccl_log *log, FILE *out)
{
    for (int i = 0; i < log->ntransports; i++) {
        const struct nccl_transport *t = &log->transports[i];
        char channels[NCCL_TEXT], text[3 * NCCL_TEXT];
        nccl_channels_text(t->channels, channels);
        snprintf(text, sizeof text, "%s: %ld connection%s, channels %s", t->name, t->connections,
                 t->connections == 1 ? "" : "s", channels);
        print_line(i ? "" : "transports", text, out);
    }
}

static void print_rings(const struct nccl_log *log, bool all, FILE *out)
{
    char channels[NCCL_TEXT], text[sizeof log->rings->order + NCCL_TEXT + 32];
    for (int i = 0; i < log->nrings && (all || i < FEW); i++) {
        nccl_channels_text(log->rings[i].channels, channels);
        snprintf(text, sizeof text, "%s (channels %s)", log->rings[i].order, channels);
        print_line(i ? "" : "rings", text, out);
    }
    if (!all && log->nrings > FEW) {
        snprintf(text, sizeof text, "and %d other orders: --all shows them", log->nrings - FEW);
        print_line("", text, out);
    }
}

static void print_trees(const struct nccl_log *log, FILE *out)
{
    struct nccl_tree trees[NCCL_MANY];
    char channels[NCCL_TEXT], text[2 * NCCL_TEXT];
    const int n = nccl_log_trees(log, trees);
    for (int i = 0; i < n; i++) {
        char of_all[24] = "";
        if (trees[i].ranks < log->ranks)
            snprintf(of_all, sizeof of_all, " of the %d", log->ranks);
        nccl_channels_text(trees[i].channels, channels);
        snprintf(text, sizeof text, "a tree of %d%s ranks from rank %d, %d deep (channels %s)", trees[i].ranks, of_all,
                 trees[i].root, trees[i].depth, channels);
        print_line(i ? "" : "trees", text, out);
    }
    if (log->has_trees && n == 0)
        print_line("trees", "the log has too few ranks to draw them", out);
}

void explain_print_nccl(const struct nccl_log *log, bool all, FILE *out)
{
    if (log->lines == 0)
        return;
    fprintf(out, "\nNCCL, by its own words\n");
    print_texts("version", &log->versions, ", ", out);
    print_ranks(log, out);
    print_texts("hosts", &log->hosts, ", ", out);
    print_texts("interface", &log->interfaces, ", ", out);
    print_texts("network", &log->networks, ", ", out);
    print_texts("plugin", &log->plugins, ", ", out);
    print_texts("cards", &log->cards, "; ", out);
    print_channels(log, out);
    print_transports(log, out);
    print_rings(log, all, out);
    print_trees(log, out);
    print_texts("tuner", &log->tuners, ", ", out);
    print_texts("settings", &log->settings, " ", out);
    if (log->hosts.n == 0)
        fprintf(out, "  NCCL_DEBUG=INFO makes it say more: network, channels, transports, rings and trees.\n");
}

// ---- JSON ----------------------------------------------------------------------------------------------------

static void add_texts(struct clab_json *json, const char *key, const struct nccl_words *words)
{
    struct clab_json *list = clab_json_add_list(json, key);
    for (int i = 0; i < words->n; i++)
        clab_json_add(list, NULL, clab_cell_text(words->text[i]));
}

// Nothing where the log says nothing.
static void add_count(struct clab_json *json, const char *key, long count, long none)
{
    clab_json_add(json, key, count == none ? clab_cell_none() : clab_cell_integer(count));
}

static void add_channels(struct clab_json *json, uint64_t channels)
{
    char text[NCCL_TEXT];
    nccl_channels_text(channels, text);
    clab_json_add(json, "channels", clab_cell_text(text));
}

static void add_transports(struct clab_json *json, const struct nccl_log *log)
{
    struct clab_json *list = clab_json_add_list(json, "transports");
    for (int i = 0; i < log->ntransports; i++) {
        struct clab_json *one = clab_json_add_object(list, NULL);
        clab_json_add(one, "name", clab_cell_text(log->transports[i].name));
        clab_json_add(one, "connections", clab_cell_integer(log->transports[i].connections));
        add_channels(one, log->transports[i].channels);
    }
}

static void add_rings(struct clab_json *json, const struct nccl_log *log)
{
    struct clab_json *list = clab_json_add_list(json, "rings");
    for (int i = 0; i < log->nrings; i++) {
        struct clab_json *one = clab_json_add_object(list, NULL);
        clab_json_add(one, "order", clab_cell_text(log->rings[i].order));
        add_channels(one, log->rings[i].channels);
    }
}

static void add_trees(struct clab_json *json, const struct nccl_log *log)
{
    struct nccl_tree trees[NCCL_MANY];
    const int n = nccl_log_trees(log, trees);
    struct clab_json *list = clab_json_add_list(json, "trees");
    for (int i = 0; i < n; i++) {
        struct clab_json *one = clab_json_add_object(list, NULL);
        clab_json_add(one, "root", clab_cell_integer(trees[i].root));
        clab_json_add(one, "depth", clab_cell_integer(trees[i].depth));
        clab_json_add(one, "ranks", clab_cell_integer(trees[i].ranks));
        add_channels(one, trees[i].channels);
    }
}

void explain_add_nccl(struct clab_json *json, const struct nccl_log *log)
{
    add_texts(json, "versions", &log->versions);
    add_count(json, "ranks", log->ranks, 0);
    add_count(json, "nodes", log->nodes, 0);
    clab_json_add(json, "ranks_begun", clab_cell_integer(log->began));
    clab_json_add(json, "ranks_ready", clab_cell_integer(log->ready));
    add_texts(json, "hosts", &log->hosts);
    add_texts(json, "interfaces", &log->interfaces);
    add_texts(json, "networks", &log->networks);
    add_texts(json, "plugins", &log->plugins);
    add_texts(json, "cards", &log->cards);
    add_count(json, "coll_channels", log->coll_channels, -1);
    add_count(json, "nvls_channels", log->nvls_channels, -1);
    add_count(json, "p2p_channels", log->p2p_channels, -1);
    add_transports(json, log);
    add_rings(json, log);
    add_trees(json, log);
    add_texts(json, "tuners", &log->tuners);
    add_texts(json, "settings", &log->settings);
}
