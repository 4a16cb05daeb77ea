// SPDX-License-Identifier: MIT
// One call: find or compile the programs, find or compute the price, run.

#include "backends/model/cache.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "backends/model/clock.h"
#include "backends/model/model.h"
#include "core/program/in_process.h"
#include "sim/net/members.h"
#include "sim/sim.h"

enum { PATTERNS = 8, ENTRIES = 16 };
static const size_t most_program_bytes = (size_t)256 << 20; // of all entries

// When members leave, of those that enter so many s after the first.
struct pattern {
    bool in_place; // member 0's
    size_t element_bytes;
    unsigned used;
    double *delays, *ends; // (nranks), (nranks)
};

// What is kept of a problem.
struct entry {
    struct clab_problem problem;
    const struct clab_algorithm *algorithm; // NULL: an empty entry
    struct clab_program **programs;         // (nranks, 2): out of place, in place; NULL: not compiled yet
    size_t bytes;                           // of them
    unsigned used;
    struct pattern patterns[PATTERNS];
};

struct model_cache {
    int nranks;
    struct clab_net net; // as this communicator finds it
    const int *job_ranks; // (nranks)
    int *hosts;           // (nranks) of the network
    unsigned calls;
    struct entry entries[ENTRIES];
    size_t bytes; // of all programs
    struct clab_in_process memory;
    struct model_rank *ranks;              // (nranks)
    struct clab_rank_arguments *arguments; // (nranks)
    double *delays;                        // (nranks)
};

int model_cache_create(const struct clab_net *net, int rivals, const int job_ranks[], int nranks, struct model_cache **cache_p)
{
    const size_t n = (size_t)nranks;
    struct model_cache *cache = calloc(1, sizeof *cache);
    if (!cache)
        return CLAB_ENOMEM;
    cache->nranks = nranks;
    cache->net = *net;
    clab_net_share(&cache->net, rivals);
    cache->job_ranks = job_ranks;
    cache->ranks = calloc(n, sizeof *cache->ranks);
    cache->arguments = calloc(n, sizeof *cache->arguments);
    cache->delays = calloc(n, sizeof *cache->delays);
    cache->hosts = malloc(n * sizeof *cache->hosts);
    if (!cache->ranks || !cache->arguments || !cache->delays || !cache->hosts) {
        model_cache_free(cache);
        return CLAB_ENOMEM;
    }
    for (int r = 0; r < nranks; r++)
        cache->hosts[r] = model_node_of(net, job_ranks[r]);
    *cache_p = cache;
    return CLAB_OK;
}

static void empty(struct model_cache *cache, struct entry *entry)
{
    for (int i = 0; i < 2 * cache->nranks && entry->programs; i++)
        clab_program_free(entry->programs[i]);
    for (int i = 0; i < PATTERNS; i++)
        free(entry->patterns[i].delays);
    free(entry->programs);
    cache->bytes -= entry->bytes;
    *entry = (struct entry){0};
}

void model_cache_free(struct model_cache *cache)
{
    if (!cache)
        return;
    for (int i = 0; i < ENTRIES; i++)
        empty(cache, &cache->entries[i]);
    clab_in_process_free(&cache->memory);
    free(cache->ranks);
    free(cache->arguments);
    free(cache->delays);
    free(cache->hosts);
    free(cache);
}

struct model_rank *model_cache_ranks(struct model_cache *cache)
{
    return cache->ranks;
}

// ---- entries --------------------------------------------------------------------------------------------------

static bool is_of(const struct entry *entry, const struct clab_call *call)
{
    const struct clab_problem *a = &entry->problem, *b = &call->problem;
    return entry->algorithm == call->algorithm && a->collective == b->collective && a->count == b->count &&
           a->root == b->root && a->lanes == b->lanes && a->group == b->group;
}

// The entry that was used longest ago; but `kept`.
static struct entry *oldest(struct model_cache *cache, const struct entry *kept)
{
    struct entry *found = NULL;
    for (struct entry *e = cache->entries; e < cache->entries + ENTRIES; e++)
        if (e != kept && (!found || e->used < found->used))
            found = e;
    return found;
}

static int find_entry(struct model_cache *cache, const struct clab_call *call, struct entry **entry_p)
{
    struct entry *entry = cache->entries;
    while (entry < cache->entries + ENTRIES && !is_of(entry, call))
        entry++;
    if (entry == cache->entries + ENTRIES) {
        entry = oldest(cache, NULL);
        empty(cache, entry);
        if (!(entry->programs = calloc(2 * (size_t)cache->nranks, sizeof *entry->programs)))
            return CLAB_ENOMEM;
        entry->problem = call->problem;
        entry->algorithm = call->algorithm;
    }
    entry->used = ++cache->calls;
    *entry_p = entry;
    return CLAB_OK;
}

static int find_program(struct model_cache *cache, struct entry *entry, int rank, bool in_place,
                        const struct clab_program **program_p)
{
    struct clab_program **slot = &entry->programs[2 * rank + in_place];
    if (!*slot) {
        struct clab_program *program;
        CLAB_TRY(clab_program_compile(&entry->problem, entry->algorithm, rank, in_place, &program));
        clab_program_count_across(program, cache->hosts);
        *slot = program;
        const size_t bytes = sizeof *program + (size_t)program->nmoves * sizeof *program->moves +
                             (size_t)program->nstages * sizeof *program->stages;
        entry->bytes += bytes;
        cache->bytes += bytes;
    }
    *program_p = *slot;
    return CLAB_OK;
}

static int find_programs(struct model_cache *cache, struct entry *entry, const struct clab_call *call)
{
    for (int r = 0; r < cache->nranks; r++) {
        struct model_rank *m = &cache->ranks[r];
        const struct clab_program *program;
        CLAB_TRY(find_program(cache, entry, r, m->in_place, &program));
        cache->arguments[r] = (struct clab_rank_arguments){.program = program, .in = m->in, .out = m->out};
        const size_t each = clab_type_bytes(call->type);
        m->traffic = (struct model_traffic){.messages = program->messages,
                                            .bytes_sent = program->elements_sent * each,
                                            .bytes_received = program->elements_received * each,
                                            .bytes_across = program->elements_across * each};
    }
    for (struct entry *old; cache->bytes > most_program_bytes && (old = oldest(cache, entry))->bytes;)
        empty(cache, old);
    return CLAB_OK;
}

// ---- prices --------------------------------------------------------------------------------------------------

static int compute(struct model_cache *cache, const struct clab_call *call, struct pattern *p)
{
    const size_t n = (size_t)cache->nranks;
    if (!p->delays && !(p->delays = malloc(2 * n * sizeof *p->delays)))
        return CLAB_ENOMEM;
    p->ends = p->delays + n;
    bool together = true;
    for (size_t r = 0; r < n; r++)
        together &= cache->delays[r] == 0;
    const struct clab_sim_options options = {.element_bytes = p->element_bytes,
                                             .in_place = p->in_place,
                                             .delays = together ? NULL : cache->delays,
                                             .members = cache->job_ranks,
                                             .ends = p->ends};
    struct clab_sim_result result;
    CLAB_TRY(clab_sim_run(&call->problem, call->algorithm, &cache->net, &options, &result));
    memcpy(p->delays, cache->delays, n * sizeof *p->delays);
    return CLAB_OK;
}

static int find_pattern(struct model_cache *cache, struct entry *entry, const struct clab_call *call,
                        const struct pattern **pattern_p)
{
    const size_t n = (size_t)cache->nranks, element_bytes = clab_type_bytes(call->type);
    const bool in_place = cache->ranks[0].in_place;
    struct pattern *oldest = entry->patterns;
    for (struct pattern *p = entry->patterns; p < entry->patterns + PATTERNS; p++) {
        if (p->used && p->in_place == in_place && p->element_bytes == element_bytes &&
            memcmp(p->delays, cache->delays, n * sizeof *p->delays) == 0) {
            p->used = cache->calls;
            *pattern_p = p;
            return CLAB_OK;
        }
        if (p->used < oldest->used)
            oldest = p;
    }
    oldest->used = 0;
    oldest->in_place = in_place;
    oldest->element_bytes = element_bytes;
    CLAB_TRY(compute(cache, call, oldest));
    oldest->used = cache->calls;
    *pattern_p = oldest;
    return CLAB_OK;
}

static int price(struct model_cache *cache, struct entry *entry, const struct clab_call *call)
{
    const struct pattern *pattern;
    double first = INFINITY;
    for (int r = 0; r < cache->nranks; r++)
        first = fmin(first, cache->ranks[r].when);
    for (int r = 0; r < cache->nranks; r++)
        cache->delays[r] = cache->ranks[r].when - first;
    CLAB_TRY(find_pattern(cache, entry, call, &pattern));
    for (int r = 0; r < cache->nranks; r++)
        cache->ranks[r].due = fmax(cache->ranks[r].when, first + clab_clock_round(pattern->ends[r]));
    return CLAB_OK;
}

int model_cache_run(struct model_cache *cache, const struct clab_call *call, _Atomic uint32_t *beat)
{
    struct entry *entry;
    CLAB_TRY(find_entry(cache, call, &entry));
    CLAB_TRY(price(cache, entry, call));
    CLAB_TRY(find_programs(cache, entry, call));
    return clab_in_process_run(&cache->memory, cache->arguments, cache->nranks, call->type, call->op, beat);
}
