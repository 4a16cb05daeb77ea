// SPDX-License-Identifier: MIT
// A trace of a job as `commlab bottleneck` looks at it (run_trace.h).

#include "cmd/bottleneck/run_trace.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/trace/file.h"
#include "core/base/err.h"
#include "core/base/log.h"
#include "core/base/vector.h"
#include "core/trace/timeline.h"

void bottleneck_run_free(struct bottleneck_run *run)
{
    for (int r = 0; r < run->n; r++) {
        free(run->ranks[r].computes);
        free(run->ranks[r].memories);
        free(run->ranks[r].calls);
    }
    free(run->ranks);
    *run = (struct bottleneck_run){0};
}

#ifdef HAVE_JANSSON

#include "cmd/trace/file_inside.h"

enum { MOST_KINDS = 1024 };           // of calls: each call is compared with one of each kind
static const double most_count = 1e15; // elements or bytes of a call: exact in a double, and in a size_t

// ---- calls ---------------------------------------------------------------------------------------------------

static json_t *args_of(const struct trace_file *file, const struct event *e)
{
    return json_object_get(json_array_get(file->list, e->index), "args");
}

static enum clab_collective collective_of(const char *name, size_t length)
{
    for (int c = 0; c < CLAB_COLLECTIVE_COUNT; c++)
        if (strlen(clab_collective_name(c)) == length && !strncmp(clab_collective_name(c), name, length))
            return c;
    return CLAB_COLLECTIVE_COUNT;
}

// "allreduce (ring)". A send or receive is none.
static int add_call(const struct trace_file *file, const struct event *e, struct bottleneck_rank *rank)
{
    const char *space = strchr(e->name, ' ');
    const size_t length = space ? (size_t)(space - e->name) : strlen(e->name);
    struct bottleneck_call call = {.begin = e->begin, .end = e->end, .collective = collective_of(e->name, length)};
    if (call.collective == CLAB_COLLECTIVE_COUNT)
        return CLAB_OK;
    json_t *args = args_of(file, e);
    const char *algorithm = json_string_value(json_object_get(args, "algorithm"));
    const double bytes = json_number_value(json_object_get(args, "bytes")),
                 count = json_number_value(json_object_get(args, "count"));
    if (!(count >= 0 && count < most_count && bytes >= 0 && bytes < most_count)) {
        clab_error("%s: event %d, '%s': count %g and bytes %g: 0 to %g are possible; trace the job again", file->path,
                   (int)e->index, e->name, count, bytes, most_count);
        return CLAB_EPARSE;
    }
    call.count = (size_t)count;
    call.element_bytes = call.count && bytes > 0 ? (size_t)(bytes / (double)call.count) : 1;
    call.algorithm = algorithm ? clab_algorithm_find(call.collective, algorithm) : NULL;
    return CLAB_PUSH(rank->calls, rank->ncalls, rank->call_room, call);
}

// A call begins when the one before is over: collectives of a communicator go one after another.
static void put_in_line(struct bottleneck_rank *rank)
{
    double free_from = -INFINITY;
    for (int i = 0; i < rank->ncalls; i++) {
        rank->calls[i].begin = fmax(rank->calls[i].begin, fmin(free_from, rank->calls[i].end));
        free_from = fmax(free_from, rank->calls[i].end);
    }
}

// ---- computing -----------------------------------------------------------------------------------------------

// Pieces of computing are apart, since sum.c takes the innermost; what touches becomes one.
static int add_compute(const struct trace_file *file, const struct event *e, struct bottleneck_rank *rank)
{
    struct bottleneck_interval *last = rank->ncomputes ? &rank->computes[rank->ncomputes - 1] : NULL;
    if (!strcmp(e->name, CLAB_SPAN_MEMORY)) {
        json_t *bytes = json_object_get(args_of(file, e), "bytes");
        CLAB_TRY(CLAB_PUSH(rank->memories, rank->nmemories, rank->memory_room,
                           (struct bottleneck_memory){e->begin, e->end, bytes ? json_number_value(bytes) : -1}));
    }
    if (last && e->begin <= last->end) {
        last->end = fmax(last->end, e->end);
        return CLAB_OK;
    }
    return CLAB_PUSH(rank->computes, rank->ncomputes, rank->compute_room,
                     (struct bottleneck_interval){e->begin, e->end});
}

// ---- what is looked at ---------------------------------------------------------------------------------------

// From the first span of that name to the end of the last one.  Returns how many there are.
static int find_steps(const struct event *const spans[], int n, const char *name, struct bottleneck_rank *rank)
{
    int steps = 0;
    for (int i = 0; i < n; i++) {
        if (strcmp(spans[i]->name, name) != 0)
            continue;
        rank->begin = steps ? fmin(rank->begin, spans[i]->begin) : spans[i]->begin;
        rank->end = steps ? fmax(rank->end, spans[i]->end) : spans[i]->end;
        steps++;
    }
    return steps;
}

// Of an array of begins and ends, leave what begins within the rank's time, to the trace's rounding.
#define KEEP(rank, items, n)                                                                                   \
    do {                                                                                                       \
        int kept = 0;                                                                                          \
        for (int i = 0; i < (rank)->n; i++)                                                                    \
            if ((rank)->items[i].begin >= (rank)->begin - 2e-9 && (rank)->items[i].begin < (rank)->end - 2e-9) \
                (rank)->items[kept++] = (rank)->items[i];                                                      \
        (rank)->n = kept;                                                                                      \
    } while (0)

// The process of slices [first, last).
static int read_rank(const struct trace_file *file, size_t first, size_t last, const char *span,
                     struct bottleneck_rank *rank, int *steps_p)
{
    const size_t n = last - first;
    const struct event **calls = malloc((n + 1) * sizeof *calls), **spans = malloc((n + 1) * sizeof *spans),
                       **computes = malloc((n + 1) * sizeof *computes);
    int ncalls = 0, nspans = 0, err = calls && spans && computes ? CLAB_OK : CLAB_ENOMEM;
    rank->begin = file->events[first].begin, rank->end = file->events[first].end;
    for (size_t i = first; i < last && !err; i++) {
        const struct event *e = &file->events[i];
        const int row = e->row / CLAB_ROW_STRIDE;
        rank->begin = fmin(rank->begin, e->begin), rank->end = fmax(rank->end, e->end);
        if (row == CLAB_ROW_COLLECTIVE)
            calls[ncalls++] = e;
        else if (row == CLAB_ROW_COMPUTE)
            spans[nspans++] = e;
    }
    if (!err) {
        *steps_p = find_steps(spans, nspans, span, rank);
        const int found = trace_find_computes(spans, nspans, calls, ncalls, computes);
        for (int i = 0; i < found && !err; i++)
            err = add_compute(file, computes[i], rank);
        for (int i = 0; i < ncalls && !err; i++) // sorted by begin
            err = add_call(file, calls[i], rank);
    }
    put_in_line(rank);
    KEEP(rank, computes, ncomputes);
    KEEP(rank, memories, nmemories);
    KEEP(rank, calls, ncalls);
    free(computes);
    free(spans);
    free(calls);
    return err;
}

static bool is_same(const struct bottleneck_call *a, const struct bottleneck_call *b)
{
    return a->collective == b->collective && a->algorithm == b->algorithm && a->count == b->count &&
           a->element_bytes == b->element_bytes;
}

// Number the kinds of rank 0's calls.
static int number_kinds(const char *path, struct bottleneck_run *run)
{
    struct bottleneck_rank *first = &run->ranks[0];
    int like[MOST_KINDS]; // the first call of each kind
    for (int i = 0; i < first->ncalls; i++) {
        int kind = 0;
        while (kind < run->kinds && !is_same(&first->calls[like[kind]], &first->calls[i]))
            kind++;
        if (kind == MOST_KINDS) {
            clab_error("%s: more than %d kinds of collectives, by algorithm and size: trace fewer steps", path, MOST_KINDS);
            return CLAB_EPARSE;
        }
        if (kind == run->kinds)
            like[run->kinds++] = i;
        first->calls[i].kind = kind;
    }
    return CLAB_OK;
}

// Give other ranks' calls rank 0's kinds, and see whether all ranks make the same.
static void compare(struct bottleneck_run *run)
{
    const struct bottleneck_rank *first = &run->ranks[0];
    run->is_aligned = true;
    for (int r = 1; r < run->n; r++) {
        struct bottleneck_rank *rank = &run->ranks[r];
        run->is_aligned &= rank->ncalls == first->ncalls;
        for (int i = 0; i < rank->ncalls && run->is_aligned; i++) {
            run->is_aligned &= is_same(&rank->calls[i], &first->calls[i]);
            rank->calls[i].kind = first->calls[i].kind;
        }
    }
}

// "CLAB_BACKEND=sim; CLAB_NET=25gbe+rate=10%": what the run was told, without what was wrong with it.
static void find_expected(const struct trace_file *file, struct bottleneck_run *run)
{
    static const char *const names[] = {"CLAB_NET=", "CLAB_EMULATE="};
    const char *kind = trace_file_about(file, 0, "kind"), *environment = trace_file_about(file, 0, "environment");
    run->is_virtual = kind && !strcmp(kind, "simulated");
    for (size_t i = 0; environment && i < sizeof names / sizeof *names; i++) {
        const char *at = strstr(environment, names[i]);
        if (at) {
            at += strlen(names[i]);
            snprintf(run->expected, sizeof run->expected, "%.*s", (int)strcspn(at, "+;"), at);
        }
    }
    const char *backend = trace_file_about(file, 0, "backend"), *load = trace_file_about(file, 0, "load"),
               *machine = trace_file_about(file, 0, "machine");
    run->is_emulated = environment && strstr(environment, "CLAB_EMULATE=");
    run->has_wire = run->is_virtual || run->is_emulated || (backend && strcmp(backend, "shm") != 0);
    run->load = load ? atof(load) : 0;
    if (!machine || !(machine = strstr(machine, ", ")) || sscanf(machine, ", %d cores", &run->cores) != 1)
        run->cores = 0;
    if (run->is_virtual && !*run->expected)
        snprintf(run->expected, sizeof run->expected, "dgx-h100");
}

int bottleneck_run_read(const struct trace_file *file, const char *span, struct bottleneck_run *run_p)
{
    struct bottleneck_run run = {0};
    int room = 0, err = CLAB_OK, steps = 0;
    for (size_t first = 0, last; first < file->nslices && !err; first = last) {
        for (last = first; last < file->nslices && file->events[last].process == file->events[first].process;)
            last++;
        err = CLAB_PUSH(run.ranks, run.n, room, (struct bottleneck_rank){0});
        if (!err)
            err = read_rank(file, first, last, span, &run.ranks[run.n - 1], &steps);
        run.steps = run.n == 1 || steps < run.steps ? steps : run.steps;
    }
    if (!err && (run.n < 2 || run.ranks[0].ncalls == 0)) {
        clab_error("%s: %d rank%s and %d collectives: nothing to compare; trace a job of two ranks or more", file->path,
                   run.n, run.n == 1 ? "" : "s", run.n ? run.ranks[0].ncalls : 0);
        err = CLAB_EPARSE;
    }
    if (!err)
        err = number_kinds(file->path, &run);
    if (err) {
        bottleneck_run_free(&run);
        return err;
    }
    compare(&run);
    find_expected(file, &run);
    *run_p = run;
    return CLAB_OK;
}

#else

int bottleneck_run_read(const struct trace_file *file, const char *span, struct bottleneck_run *run_p)
{
    (void)file, (void)span, (void)run_p;
    return CLAB_EUNSUPPORTED;
}

#endif
