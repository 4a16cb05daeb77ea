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
        free(run->ranks[r].steps);
    }
    free(run->ranks);
    *run = (struct bottleneck_run){0};
}

#ifdef HAVE_JANSSON

#include "cmd/trace/file_inside.h"

enum { MOST_KINDS = 1024 };            // of calls: each call is compared with one of each kind
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

static double kept_of(const struct trace_file *file, const struct event *e)
{
    return 1e-6 * json_number_value(json_object_get(args_of(file, e), "kept"));
}

// Pieces of computing are apart, since sum.c takes the innermost; what touches becomes one.
static int add_compute(const struct trace_file *file, const struct event *e, struct bottleneck_rank *rank)
{
    const double kept = kept_of(file, e);
    struct bottleneck_interval *last = rank->ncomputes ? &rank->computes[rank->ncomputes - 1] : NULL;
    if (!strcmp(e->name, CLAB_SPAN_MEMORY)) {
        json_t *bytes = json_object_get(args_of(file, e), "bytes");
        CLAB_TRY(CLAB_PUSH(rank->memories, rank->nmemories, rank->memory_room,
                           (struct bottleneck_memory){e->begin, e->end, kept, bytes ? json_number_value(bytes) : -1}));
    }
    if (last && e->begin <= last->end) {
        last->end = fmax(last->end, e->end);
        last->kept += kept;
        return CLAB_OK;
    }
    return CLAB_PUSH(rank->computes, rank->ncomputes, rank->compute_room,
                     (struct bottleneck_interval){e->begin, e->end, kept});
}

// ---- what is looked at ---------------------------------------------------------------------------------------

// The spans of that name.
static int find_steps(const struct trace_file *file, const struct event *const spans[], int n, const char *name,
                      struct bottleneck_rank *rank)
{
    for (int i = 0; i < n; i++)
        if (!strcmp(spans[i]->name, name))
            CLAB_TRY(CLAB_PUSH(rank->steps, rank->nsteps, rank->step_room,
                               (struct bottleneck_interval){spans[i]->begin, spans[i]->end, kept_of(file, spans[i])}));
    return CLAB_OK;
}

// From the first step to the end of the last one.
static void look_at_steps(struct bottleneck_rank *rank)
{
    for (int i = 0; i < rank->nsteps; i++) {
        rank->begin = i ? fmin(rank->begin, rank->steps[i].begin) : rank->steps[i].begin;
        rank->end = i ? fmax(rank->end, rank->steps[i].end) : rank->steps[i].end;
    }
}

// Of an array of begins and ends, leave what begins within the rank's time, to the trace's rounding.
#define KEEP(rank, items, n)                                                     \
    do {                                                                         \
        int left = 0;                                                            \
        for (int i = 0; i < (rank)->n; i++)                                      \
            if ((rank)->items[i].begin >= (rank)->begin - BOTTLENECK_ROUNDING && \
                (rank)->items[i].begin < (rank)->end - BOTTLENECK_ROUNDING)      \
                (rank)->items[left++] = (rank)->items[i];                        \
        (rank)->n = left;                                                        \
    } while (0)

static void keep_steps(struct bottleneck_rank *rank)
{
    look_at_steps(rank);
    KEEP(rank, computes, ncomputes);
    KEEP(rank, memories, nmemories);
    KEEP(rank, calls, ncalls);
}

// Of an array of begins and ends, leave what ends after the rank's begin, and let none begin before that.
#define CLIP(rank, items, n)                                                                \
    do {                                                                                    \
        int left = 0;                                                                       \
        for (int i = 0; i < (rank)->n; i++)                                                 \
            if ((rank)->items[i].end > (rank)->begin) {                                     \
                (rank)->items[left] = (rank)->items[i];                                     \
                (rank)->items[left].begin = fmax((rank)->begin, (rank)->items[left].begin); \
                left++;                                                                     \
            }                                                                               \
        (rank)->n = left;                                                                   \
    } while (0)

// Copies of data are no work of the job yet: programs fill their arrays before they begin.
static double begin_of_work(const struct bottleneck_rank *rank)
{
    double begin = rank->ncalls ? rank->calls[0].begin : INFINITY;
    for (int i = 0, m = 0; i < rank->ncomputes; i++) {
        while (m < rank->nmemories && rank->memories[m].begin < rank->computes[i].begin)
            m++;
        if (m == rank->nmemories || rank->memories[m].begin > rank->computes[i].begin)
            return fmin(begin, rank->computes[i].begin);
    }
    return begin;
}

// Without steps, the job begins when the last rank begins to work: before that, programs start, and find each other. All
// calls stay, so that ranks can still be compared.
static void keep_job(struct bottleneck_run *run)
{
    double begin = -INFINITY;
    for (int r = 0; r < run->n; r++)
        begin = fmax(begin, begin_of_work(&run->ranks[r]));
    for (int r = 0; r < run->n && isfinite(begin); r++) {
        struct bottleneck_rank *rank = &run->ranks[r];
        run->left_out = fmax(run->left_out, begin - rank->begin);
        rank->begin = fmin(begin, rank->end);
        CLIP(rank, computes, ncomputes);
        CLIP(rank, memories, nmemories);
        for (int i = 0; i < rank->ncalls; i++)
            rank->calls[i].begin = fmax(rank->calls[i].begin, fmin(begin, rank->calls[i].end));
    }
}

// The process of slices [first, last).
static int read_rank(const struct trace_file *file, size_t first, size_t last, const char *span,
                     struct bottleneck_rank *rank)
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
        const int found = trace_find_computes(spans, nspans, calls, ncalls, computes); // sorts them
        err = find_steps(file, spans, nspans, span, rank);
        for (int i = 0; i < found && !err; i++)
            err = add_compute(file, computes[i], rank);
        for (int i = 0; i < ncalls && !err; i++)
            err = add_call(file, calls[i], rank);
    }
    put_in_line(rank);
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
            clab_error("%s: more than %d kinds of collectives, by algorithm and size: trace fewer steps", path,
                       MOST_KINDS);
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
               *machine = trace_file_about(file, 0, "machine"), *resent = trace_file_about(file, 0, "resent");
    run->is_emulated = environment && strstr(environment, "CLAB_EMULATE=");
    run->has_wire = run->is_virtual || run->is_emulated || (backend && strcmp(backend, "shm") != 0);
    snprintf(run->backend, sizeof run->backend, "%s", backend ? backend : "shm");
    run->load = load ? atof(load) : 0;
    run->resent = resent ? atof(resent) : 0;
    if (!machine || !(machine = strstr(machine, ", ")) || sscanf(machine, ", %d cores", &run->cores) != 1)
        run->cores = 0;
    if (run->is_virtual && !*run->expected)
        snprintf(run->expected, sizeof run->expected, "dgx-h100");
}

// Of the time that is looked at, the part in which others had the ranks' cores. Without steps, of the whole run.
static double find_kept(const struct trace_file *file, const struct bottleneck_run *run)
{
    const char *whole = trace_file_about(file, 0, "kept");
    double kept = 0, seconds = 0;
    if (!whole)
        return NAN;
    for (int r = 0; r < run->n; r++)
        for (int i = 0; i < run->ranks[r].nsteps; i++) {
            kept += run->ranks[r].steps[i].kept;
            seconds += run->ranks[r].steps[i].end - run->ranks[r].steps[i].begin;
        }
    return run->steps && seconds > 0 ? kept / seconds : atof(whole) / 100;
}

// Steps that all ranks have: where the first part of a trace was overwritten, some ranks have one more.
static void look_at_all(struct bottleneck_run *run)
{
    run->steps = run->n ? run->ranks[0].nsteps : 0;
    for (int r = 1; r < run->n; r++)
        run->steps = run->ranks[r].nsteps < run->steps ? run->ranks[r].nsteps : run->steps;
    for (int r = 0; r < run->n && run->steps; r++) {
        struct bottleneck_rank *rank = &run->ranks[r];
        memmove(rank->steps, rank->steps + rank->nsteps - run->steps, (size_t)run->steps * sizeof *rank->steps);
        rank->nsteps = run->steps;
        keep_steps(rank);
    }
    if (!run->steps)
        keep_job(run);
}

static int read_ranks(const struct trace_file *file, const char *span, struct bottleneck_run *run)
{
    int room = 0;
    for (size_t first = 0, last; first < file->nslices; first = last) {
        for (last = first; last < file->nslices && file->events[last].process == file->events[first].process;)
            last++;
        CLAB_TRY(CLAB_PUSH(run->ranks, run->n, room, (struct bottleneck_rank){0}));
        CLAB_TRY(read_rank(file, first, last, span, &run->ranks[run->n - 1]));
    }
    look_at_all(run);
    if (run->n < 2 || run->ranks[0].ncalls == 0) {
        clab_error("%s: %d rank%s and %d collectives: nothing to compare; trace a job of two ranks or more", file->path,
                   run->n, run->n == 1 ? "" : "s", run->n ? run->ranks[0].ncalls : 0);
        return CLAB_EPARSE;
    }
    return number_kinds(file->path, run);
}

int bottleneck_run_read(const struct trace_file *file, const char *span, struct bottleneck_run *run_p)
{
    struct bottleneck_run run = {0};
    const int err = read_ranks(file, span, &run);
    if (err) {
        bottleneck_run_free(&run);
        return err;
    }
    compare(&run);
    find_expected(file, &run);
    run.kept = find_kept(file, &run);
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
