// SPDX-License-Identifier: MIT
// A log's words, for people and as JSON (said.h).

#include "cmd/nccl/said.h"

#include <stdio.h>
#include <string.h>

#include "core/base/err.h"
#include "core/base/text.h"
#include "core/base/units.h"

static bool is_said(const struct nccl_said *s)
{
    return s->is_nccls || s->has_graphs || s->has_costs || s->nchoices;
}

static long count_calls(const struct nccl_said *s)
{
    long calls = s->more_choices;
    for (int i = 0; i < s->nchoices; i++)
        calls += s->choices[i].calls;
    return calls;
}

static void print_contents(const struct nccl_said *s, const char *path)
{
    printf("# the log %s: NCCL %s, ", path, *s->version ? s->version : "of a version that it does not say");
    if (s->ranks && s->nodes)
        printf("%d ranks on %d node%s", s->ranks, s->nodes, s->nodes == 1 ? "" : "s");
    else if (s->ranks)
        printf("%d ranks on nodes that it does not count", s->ranks);
    else
        printf("ranks not said");
    printf("; %s, %s, %ld choice%s\n", s->has_graphs ? "graphs" : "no graphs",
           s->has_costs ? "a table of costs" : "no table of costs", count_calls(s), count_calls(s) == 1 ? "" : "s");
}

// What decides the costs of graphs, and was neither in the log nor given.
static void print_defaults(const struct nccl_believed *b)
{
    char text[200];
    struct clab_text line = clab_text_begin(text, sizeof text);
    if (!b->has_version && !b->of_log)
        clab_text_add(&line, ", NCCL %s (--nccl)", b->tables->version);
    if (!b->has_nodes)
        clab_text_add(&line, ", %d node%s (--nodes)", b->machine.nodes, b->machine.nodes == 1 ? "" : "s");
    if (!b->has_gpus)
        clab_text_add(&line, ", %d GPUs per node (--gpus)", b->machine.gpus);
    if (!b->has_arch && !b->of_log)
        clab_text_add(&line, ", Hopper (--arch)");
    if (!b->has_cpu && !b->of_log)
        clab_text_add(&line, ", Intel (--cpu)");
    if (line.used)
        printf("# neither in the log nor given, so defaults: %s\n", text + 2);
}

static void print_version(const struct nccl_believed *b)
{
    if (*b->said.version && strcmp(b->said.version, b->tables->version) && !b->of_log)
        printf("# the constants are those of NCCL %s: there are none of %s\n", b->tables->version, b->said.version);
}

void nccl_said_print(const struct nccl_believed *believed, const char *path)
{
    if (!is_said(&believed->said))
        return;
    print_contents(&believed->said, path);
    if (!believed->has_costs)
        return;
    print_defaults(believed);
    print_version(believed);
}

// ---- choices -------------------------------------------------------------------------------------------------

static bool choose(const struct nccl_believed *b, enum clab_collective collective, size_t bytes,
                   enum clab_nccl_algorithm *algorithm_p, enum clab_nccl_protocol *protocol_p)
{
    return b->has_costs &&
           clab_nccl_choose(b->tables, &b->machine, collective, &b->costs, bytes, algorithm_p, protocol_p) == CLAB_OK;
}

static void print_choice(const struct nccl_believed *b, enum clab_collective collective,
                         const struct clab_nccl_logged *c)
{
    enum clab_nccl_algorithm algorithm;
    enum clab_nccl_protocol protocol;
    char size[CLAB_TEXT], ours[40] = "-";
    const bool is_known = choose(b, collective, c->bytes, &algorithm, &protocol);
    if (is_known)
        snprintf(ours, sizeof ours, "%s %s", clab_nccl_algorithm_name(algorithm), clab_nccl_protocol_name(protocol));
    const bool differs = is_known && (algorithm != c->algorithm || protocol != c->protocol);
    printf("%12s %7ld   %-14s %-7s   %s%s\n", clab_size_text(c->bytes, size), c->calls,
           clab_nccl_algorithm_name(c->algorithm), clab_nccl_protocol_name(c->protocol), ours,
           differs ? "  (differs)" : "");
}

// Lines until NCCL 2.22 do not say the collective: they count as the one that was asked for.
void nccl_choices_print(const struct nccl_believed *believed, enum clab_collective collective)
{
    const struct nccl_said *s = &believed->said;
    bool any = false, is_unsaid = false;
    for (int i = 0; i < s->nchoices; i++) {
        const struct clab_nccl_logged *c = &s->choices[i];
        if (c->collective >= 0 && c->collective != (int)collective)
            continue;
        if (!any)
            printf("#      bytes   calls   NCCL's choice in the log   by these costs\n");
        print_choice(believed, collective, c);
        any = true;
        is_unsaid |= c->collective < 0;
    }
    if (is_unsaid)
        printf(
            "# this version's log does not say of which collective a choice is: if not of %s, add --collective NAME\n",
            clab_collective_name(collective));
    if (s->more_choices)
        printf("# and %ld choices of other sizes\n", s->more_choices);
}

// ---- JSON ----------------------------------------------------------------------------------------------------

static struct clab_cell number_or_none(int n)
{
    return n ? clab_cell_integer(n) : clab_cell_none();
}

void nccl_said_add(struct clab_json *json, const struct nccl_believed *believed)
{
    const struct nccl_said *s = &believed->said;
    if (!is_said(s))
        return;
    struct clab_json *log = clab_json_add_object(json, "log");
    clab_json_add(log, "version", *s->version ? clab_cell_text(s->version) : clab_cell_none());
    clab_json_add(log, "ranks", number_or_none(s->ranks));
    clab_json_add(log, "nodes", number_or_none(s->nodes));
    struct clab_json *list = clab_json_add_list(log, "choices");
    for (int i = 0; i < s->nchoices; i++) {
        const struct clab_nccl_logged *c = &s->choices[i];
        struct clab_json *one = clab_json_add_object(list, NULL);
        clab_json_add(one, "collective",
                      c->collective < 0 ? clab_cell_none()
                                        : clab_cell_text(clab_collective_name((enum clab_collective)c->collective)));
        clab_json_add(one, "bytes", clab_cell_integer((long long)c->bytes));
        clab_json_add(one, "algorithm", clab_cell_text(clab_nccl_algorithm_name(c->algorithm)));
        clab_json_add(one, "protocol", clab_cell_text(clab_nccl_protocol_name(c->protocol)));
        clab_json_add(one, "calls", clab_cell_integer(c->calls));
    }
}
