// SPDX-License-Identifier: MIT
// Reading NCCL's INFO lines (nccl.h). A line is "HOST:PROCESS:THREAD [DEVICE] NCCL INFO TEXT", perhaps with something
// before it; the version's line may lack all before "NCCL version".

#include "cmd/explain/nccl.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/text.h"

// ---- words ---------------------------------------------------------------------------------------------------

static void add_word(struct nccl_words *words, const char *text, size_t bytes, long number)
{
    while (bytes > 0 && isspace((unsigned char)text[bytes - 1]))
        bytes--;
    if (bytes >= NCCL_TEXT)
        bytes = NCCL_TEXT - 1;
    for (int i = 0; i < words->n; i++)
        if (strlen(words->text[i]) == bytes && !memcmp(words->text[i], text, bytes))
            return;
    if (words->n == words->most) {
        words->more++;
        return;
    }
    words->first[words->n] = number;
    snprintf(words->text[words->n], NCCL_TEXT, "%.*s", (int)bytes, text);
    clab_make_utf8(words->text[words->n++]);
}

static void add_text(struct nccl_words *words, const char *text, long number)
{
    add_word(words, text, strlen(text), number);
}

// What stands behind `lead` at the text's start; NULL: it does not begin so.
static const char *after(const char *text, const char *lead)
{
    const size_t bytes = strlen(lead);
    return strncmp(text, lead, bytes) == 0 ? text + bytes : NULL;
}

// What stands behind the first `key` in the text.
static const char *behind(const char *text, const char *key)
{
    const char *at = strstr(text, key);
    return at ? at + strlen(key) : NULL;
}

// The number behind `key`, from 0 to `most`; `other` if there is none.
static int number_behind(const char *text, const char *key, int most, int other)
{
    const char *at = behind(text, key);
    char *end;
    const long value = at ? strtol(at, &end, 10) : 0;
    return at && end != at && value >= 0 && value <= most ? (int)value : other;
}

// ---- ranks ---------------------------------------------------------------------------------------------------

static void mark(uint64_t *bits, int rank, int *n_p)
{
    const uint64_t bit = (uint64_t)1 << rank % 64;
    *n_p += !(bits[rank / 64] & bit);
    bits[rank / 64] |= bit;
}

// "ncclCommInitRank comm 0x... rank 3 nranks 8 cudaDev 3 ... - Init START", or COMPLETE, or without the first word.
static bool take_rank(struct nccl_log *log, const char *text)
{
    const char *comm = strstr(text, "comm 0x");
    const int rank = comm ? number_behind(comm, " rank ", 1 << 20, -1) : -1;
    int ranks = comm ? number_behind(comm, " nranks ", 1 << 20, -1) : -1;
    if (comm && ranks < 0)
        ranks = number_behind(comm, " nRanks ", 1 << 20, -1);
    if (rank < 0 || ranks < 1)
        return false;
    if (ranks > log->ranks) { // a larger communicator: what was counted is another's
        log->ranks = ranks;
        log->began = log->ready = 0;
        memset(log->is_begun, 0, sizeof log->is_begun);
        memset(log->is_ready, 0, sizeof log->is_ready);
    }
    const int nodes = number_behind(comm, " nNodes ", 1 << 20, 0);
    if (nodes > log->nodes)
        log->nodes = nodes;
    const bool ready = strstr(comm, "Init COMPLETE");
    log->communicators += rank == 0 && ready;
    if (ranks == log->ranks && rank < NCCL_RANKS) {
        mark(log->is_begun, rank, &log->began);
        if (ready)
            mark(log->is_ready, rank, &log->ready);
    }
    return true;
}

// ---- channels ------------------------------------------------------------------------------------------------

// "NET/IB/3/GDRDMA" is "NET/IB/GDRDMA".
static void name_transport(const char *via, char out[NCCL_TEXT])
{
    const char *end = strstr(via, " comm ");
    const size_t bytes = end ? (size_t)(end - via) : strlen(via);
    size_t used = 0;
    for (size_t at = 0; at < bytes && used + 2 < NCCL_TEXT; at++) {
        const size_t part = strcspn(via + at, "/"), digits = strspn(via + at, "0123456789");
        const bool is_number = digits > 0 && (digits == part || via[at + digits] == '(');
        if (is_number && (at == 0 || via[at - 1] == '/')) {
            at += part;
            continue;
        }
        for (; at < bytes && via[at] != '/' && used + 2 < NCCL_TEXT; at++)
            out[used++] = via[at];
        if (at < bytes)
            out[used++] = '/';
    }
    while (used > 0 && (out[used - 1] == '/' || isspace((unsigned char)out[used - 1])))
        used--;
    out[used] = '\0';
    clab_make_utf8(out);
}

static void add_connection(struct nccl_log *log, int channel, const char *via)
{
    char name[NCCL_TEXT];
    int i = 0;
    name_transport(via, name);
    while (i < log->ntransports && strcmp(log->transports[i].name, name) != 0)
        i++;
    if (i == NCCL_MANY)
        return;
    if (i == log->ntransports) {
        log->transports[i] = (struct nccl_transport){0};
        snprintf(log->transports[i].name, NCCL_TEXT, "%s", name);
        log->ntransports++;
    }
    log->transports[i].connections++;
    log->transports[i].channels |= (uint64_t)1 << channel;
}

// " 0   1   2   3": ranks in the order of a ring.
static void add_ring(struct nccl_log *log, int channel, const char *ranks)
{
    char order[sizeof log->rings->order];
    struct clab_text text = clab_text_begin(order, sizeof order);
    for (char *end; *(ranks += strspn(ranks, " \t")); ranks = end) {
        const long rank = strtol(ranks, &end, 10);
        if (end == ranks || rank < 0)
            return;
        clab_text_add(&text, "%s%ld", text.used ? " " : "", rank);
    }
    if (!text.used)
        return;
    for (int i = 0; i < log->nrings; i++)
        if (!strcmp(log->rings[i].order, order)) {
            log->rings[i].channels |= (uint64_t)1 << channel;
            return;
        }
    if (log->nrings == NCCL_MANY) {
        log->more_rings++;
        return;
    }
    struct nccl_ring *ring = &log->rings[log->nrings++];
    snprintf(ring->order, sizeof ring->order, "%s", order);
    ring->channels = (uint64_t)1 << channel;
}

// "Channel 03/24 :  0 1 2", "Channel 03/0 : 0[0] -> 1[1] [send] via NET/IB/0", and the same with Ring (until 2.6).
static bool take_channel(struct nccl_log *log, const char *text)
{
    const char *rest = after(text, "Channel ");
    rest = rest ? rest : after(text, "Ring ");
    char *end;
    const long channel = rest ? strtol(rest, &end, 10) : -1;
    const char *colon = rest ? strstr(rest, " : ") : NULL;
    if (!rest || end == rest || channel < 0 || channel >= NCCL_CHANNELS || !colon)
        return false;
    const char *via = behind(colon, " via ");
    if (via && !strstr(colon, "[receive]")) // both ends say it
        add_connection(log, (int)channel, via);
    else if (!via && !strstr(colon, "->"))
        add_ring(log, (int)channel, colon + 3);
    return true;
}

// "[0] 1/-1/-1->0->-1": children->rank->parent; until 2.6 parent->rank->children.
static void add_tree(struct nccl_log *log, int channel, const char *at)
{
    const char *arrow = strstr(at, "->"), *stop = strchr(at, '[');
    if (!arrow || (stop && stop < arrow))
        return;
    const bool is_new = memchr(at, '/', (size_t)(arrow - at));
    char *end;
    const long first = strtol(at, NULL, 10), rank = strtol(arrow + 2, &end, 10);
    if (after(end, "->") == NULL || rank < 0 || rank >= NCCL_RANKS)
        return;
    const long parent = is_new ? strtol(end + 2, NULL, 10) : first;
    if (parent < -1 || parent >= NCCL_RANKS || log->parents[channel][rank])
        return;
    log->parents[channel][rank] = (int16_t)(parent + 2);
    log->has_trees = true;
}

static bool take_trees(struct nccl_log *log, const char *text)
{
    const char *rest = after(text, "Trees ");
    if (!rest)
        return false;
    while ((rest = strchr(rest, '['))) {
        char *end;
        const long channel = strtol(++rest, &end, 10);
        if (*end != ']')
            continue;
        rest = end + 1;
        if (channel >= 0 && channel < NCCL_CHANNELS)
            add_tree(log, (int)channel, rest);
    }
    return true;
}

// The root that `rank` hangs from, and how far; false: the log lacks a rank in between, or they form a circle.
static bool climb(const int16_t parents[NCCL_RANKS], int rank, int *root_p, int *depth_p)
{
    for (*depth_p = 0; *depth_p < NCCL_RANKS && parents[rank]; rank = parents[rank] - 2, ++*depth_p)
        if (parents[rank] == 1) {
            *root_p = rank;
            return true;
        }
    return false;
}

int nccl_log_trees(const struct nccl_log *log, struct nccl_tree trees[NCCL_MANY])
{
    int n = 0;
    for (int channel = 0; channel < NCCL_CHANNELS; channel++) {
        struct nccl_tree tree = {.channels = (uint64_t)1 << channel, .root = -1};
        for (int rank = 0, root, depth; rank < NCCL_RANKS; rank++)
            if (climb(log->parents[channel], rank, &root, &depth)) {
                tree.root = root;
                tree.ranks++;
                tree.depth = depth > tree.depth ? depth : tree.depth;
            }
        int i = 0;
        while (i < n && (trees[i].root != tree.root || trees[i].depth != tree.depth || trees[i].ranks != tree.ranks))
            i++;
        if (i < n)
            trees[i].channels |= tree.channels;
        else if (tree.ranks > 1 && n < NCCL_MANY) // of a root alone the log says nothing
            trees[n++] = tree;
    }
    return n;
}

// ---- all lines -----------------------------------------------------------------------------------------------

// "24 coll channels, 24 collnet channels, 0 nvls channels, 32 p2p channels, 32 p2p channels per peer"
static bool take_counts(struct nccl_log *log, const char *text)
{
    const char *nvls = strstr(text, " nvls channels"), *p2p = strstr(text, " p2p channels");
    if (!strstr(text, " coll channels"))
        return false;
    log->coll_channels = atoi(text);
    while (nvls && nvls > text && isdigit((unsigned char)nvls[-1]))
        nvls--;
    while (p2p && p2p > text && isdigit((unsigned char)p2p[-1]))
        p2p--;
    log->nvls_channels = nvls ? atoi(nvls) : -1;
    log->p2p_channels = p2p ? atoi(p2p) : -1;
    return true;
}

static void take_tuner(struct nccl_log *log, const char *text, long number)
{
    const char *wanted = behind(text, "NCCL_TUNER_PLUGIN set by environment to ");
    wanted = wanted ? wanted : behind(text, "TUNER/Plugin: Plugin name set by env to ");
    if (wanted && log->tuner_wanted == 0 && strcmp(wanted, "none") != 0) {
        log->tuner_wanted = number;
        snprintf(log->tuner_wanted_text, NCCL_TEXT, "%s", wanted);
        clab_make_utf8(log->tuner_wanted_text);
    }
    const char *used = behind(text, "Using tuner plugin ");
    if (used)
        add_text(&log->tuners, used, number);
    log->tuner_used |= used != NULL;
}

// "NCCL_DEBUG set by environment to INFO."
static void take_setting(struct nccl_log *log, const char *text, long number)
{
    static const char words[] = " set by environment to ";
    const char *at = strncmp(text, "NCCL_", 5) == 0 ? strstr(text, words) : NULL;
    char setting[2 * NCCL_TEXT];
    if (!at)
        return;
    snprintf(setting, sizeof setting, "%.*s=%.*s", (int)(at - text) < 60 ? (int)(at - text) : 60, text, 90, at + strlen(words));
    const size_t bytes = strlen(setting);
    add_word(&log->settings, setting, bytes - (bytes > 0 && setting[bytes - 1] == '.'), number);
}

static void take_network(struct nccl_log *log, const char *text, long number)
{
    const char *at;
    if ((at = after(text, "Using network ")))
        add_text(&log->networks, at, number);
    else if ((at = after(text, "Bootstrap : Using ")) || (at = after(text, "Bootstrap: Using ")))
        add_word(&log->interfaces, at, strcspn(at, "<"), number);
    else if ((at = after(text, "NET/IB : Using ")) || (at = after(text, "NET/Socket : Using ")))
        add_word(&log->cards, at, strcspn(at, ";"), number);
    else if ((at = behind(text, "NET/Plugin: Loaded net plugin ")) || (at = after(text, "P2P plugin ")))
        add_text(&log->plugins, at, number);
}

struct nccl_log *nccl_log_new(void)
{
    struct nccl_log *log = calloc(1, sizeof *log);
    if (!log)
        return NULL;
    struct nccl_words *few[] = {&log->versions, &log->interfaces, &log->networks, &log->cards, &log->plugins, &log->tuners};
    for (size_t i = 0; i < sizeof few / sizeof *few; i++)
        few[i]->most = NCCL_FEW;
    log->hosts.most = log->settings.most = NCCL_MANY;
    log->coll_channels = log->nvls_channels = log->p2p_channels = -1;
    return log;
}

// "HOST:123:124 [0]" before `info`, perhaps behind mpirun's "[1,2]<stdout>:".
static void take_host(struct nccl_log *log, const char *text, const char *info, long number)
{
    const char *end = info, *begin;
    while (end > text && end[-1] != '[')
        end--;
    end -= end >= text + 2 ? 2 : end - text; // behind the thread's number
    for (int colons = 0; colons < 2; colons++) {
        while (end > text && isdigit((unsigned char)end[-1]))
            end--;
        if (end == text || end[-1] != ':')
            return;
        end--;
    }
    for (begin = end; begin > text && !strchr(" :>", begin[-1]);)
        begin--;
    if (end > begin)
        add_word(&log->hosts, begin, (size_t)(end - begin), number);
}

bool nccl_log_take(struct nccl_log *log, const char *text, long number)
{
    static const char lead[] = " NCCL INFO ";
    const char *version = behind(text, "NCCL version "), *info = strstr(text, lead);
    // Of tracebacks: "..., unhandled system error, NCCL version 2.19.3".
    if (version && isdigit((unsigned char)*version) && !strstr(text, "error"))
        add_word(&log->versions, version, strcspn(version, " ,;"), number);
    if (!info) {
        log->lines += version != NULL;
        return version != NULL;
    }
    log->lines++;
    take_host(log, text, info, number);
    info += strlen(lead);
    take_setting(log, info, number);
    take_tuner(log, info, number);
    if (!take_rank(log, info) && !take_channel(log, info) && !take_trees(log, info) && !take_counts(log, info))
        take_network(log, info, number);
    return true;
}

void nccl_channels_text(uint64_t channels, char out[NCCL_TEXT])
{
    struct clab_text text = clab_text_begin(out, NCCL_TEXT);
    for (int from = 0, to; from < NCCL_CHANNELS; from = to + 1) {
        for (to = from; to < NCCL_CHANNELS && channels >> to & 1; to++)
            ;
        if (to - from > 1)
            clab_text_add(&text, "%s%d-%d", text.used ? ", " : "", from, to - 1);
        else if (to > from)
            clab_text_add(&text, "%s%d", text.used ? ", " : "", from);
    }
}
