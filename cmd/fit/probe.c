// SPDX-License-Identifier: MIT
// The probes, as a table: the turn of each, its sizes, and how many messages follow each other in it.
//
// We time each probe in one batch of turns per round, and sample the placement of the cores beside it. No data is zeros,
// since memory may move zeros faster: streamed copies of 16 MiB took 37 ps/B for zeros, 47 for one other value and 45 for
// random ones (medians of 16, in turns, in the same placement; a virtual machine, AMD EPYC, 2026-11-22). Sums grow to
// infinity, which is not a slow value.

#include "cmd/fit/probe.h"

#include <math.h>
#include <stdlib.h>
#include <unistd.h>

#include "core/base/clock.h"
#include "core/base/machine/machine.h"
#include "cmd/fit/batch.h"
#include "cmd/probe/placement.h"

enum { MOST_TURNS = 1 << 20 };

// ---- the table -----------------------------------------------------------------------------------------------

static const struct fit_probe memory_probes[] = {
    {CLAB_PROBE_CALL, CLAB_KEPT, CLAB_ALONE, SIZE_NONE, 0, 1, fit_turn_call, false},
    {CLAB_PROBE_ANSWER, CLAB_KEPT, CLAB_ALONE, SIZE_LEAST, 0, 2, fit_turn_answer, false},
    {CLAB_PROBE_STAGES, CLAB_KEPT, CLAB_ALONE, SIZE_NONE, 0, 1, fit_turn_stages, false},
    {CLAB_PROBE_LANED, CLAB_KEPT, CLAB_ALONE, SIZE_NONE, 0, 1, fit_turn_laned, false},
    {CLAB_PROBE_POST, CLAB_KEPT, CLAB_ALONE, SIZES_BUFFERED, 0, 1, fit_turn_one_way, false}, // in bursts: time_post
    {CLAB_PROBE_LANES, CLAB_KEPT, CLAB_ALONE, SIZES_LANES, 0, CLAB_FIT_LANES, fit_turn_all_lanes, true},
    {CLAB_PROBE_STREAM, CLAB_KEPT, CLAB_ALONE, SIZES_SMALL, 0, 1, fit_turn_one_way, true},
    {CLAB_PROBE_REDUCE, CLAB_KEPT, CLAB_ALONE, SIZES_SUMS, 0, 1, fit_turn_one_way_reduce, true},
    {CLAB_PROBE_PINGPONG, CLAB_KEPT, CLAB_ALONE, SIZES_SMALL, 0, 2, fit_turn_round_trip, false},
    {CLAB_PROBE_EXCHANGE, CLAB_KEPT, CLAB_BOTH, SIZES_SMALL, 0, 1, fit_turn_exchange, true},
    {CLAB_PROBE_COPY, CLAB_KEPT, CLAB_ALONE, SIZES_LEVELS, 2, 1, fit_turn_copy, false},
    {CLAB_PROBE_COPY, CLAB_KEPT, CLAB_BOTH, SIZES_LEVELS, 4, 1, fit_turn_copy_both, false},
    {CLAB_PROBE_PULL, CLAB_KEPT, CLAB_ALONE, SIZES_LEVELS, 2, 1, fit_turn_one_way, true},
    {CLAB_PROBE_PULL, CLAB_KEPT, CLAB_BOTH, SIZES_LEVELS, 4, 1, fit_turn_exchange, true},
    {CLAB_PROBE_PULL, CLAB_FRESH, CLAB_ALONE, SIZES_LEVELS, 2, 2, fit_turn_round_trip_fresh, false},
    {CLAB_PROBE_PULL, CLAB_FRESH, CLAB_BOTH, SIZES_LEVELS, 4, 1, fit_turn_exchange_fresh, true},
    {CLAB_PROBE_REDUCE, CLAB_KEPT, CLAB_ALONE, SIZES_LEVELS, 3, 1, fit_turn_one_way_reduce, true},
    {CLAB_PROBE_REDUCE, CLAB_KEPT, CLAB_BOTH, SIZES_LEVELS, 5, 1, fit_turn_exchange_reduce, true},
    {CLAB_PROBE_ADD, CLAB_KEPT, CLAB_ALONE, SIZES_LEVELS, 2, 1, fit_turn_one_way_add, true},
    {CLAB_PROBE_ADD, CLAB_KEPT, CLAB_BOTH, SIZES_LEVELS, 4, 1, fit_turn_exchange_add, true},
    {CLAB_PROBE_ADD, CLAB_FRESH, CLAB_ALONE, SIZES_LEVELS, 2, 2, fit_turn_round_trip_fresh_add, false},
    {CLAB_PROBE_ADD, CLAB_FRESH, CLAB_BOTH, SIZES_LEVELS, 4, 1, fit_turn_exchange_fresh_add, true},
    {CLAB_PROBE_HOME, CLAB_FRESH, CLAB_BOTH, SIZES_LEVELS, 4, 1, fit_turn_exchange_home, true},
    {CLAB_PROBE_SUM, CLAB_KEPT, CLAB_ALONE, SIZES_LEVELS, 2, 1, fit_turn_sum, false},
    {CLAB_PROBE_SUM, CLAB_KEPT, CLAB_BOTH, SIZES_LEVELS, 3, 1, fit_turn_sum_both, false},
    {CLAB_PROBE_SUMMED, CLAB_FRESH, CLAB_ALONE, SIZES_LEVELS, 2, 1, fit_turn_one_way_summed, true},
    {CLAB_PROBE_SUMMED, CLAB_FRESH, CLAB_BOTH, SIZES_LEVELS, 3, 1, fit_turn_exchange_summed, true},
    {.turn = NULL},
};

// A core copies and sums alone: the cost does not depend on the wire.
static const struct fit_probe wire_probes[] = {
    {CLAB_PROBE_CALL, CLAB_KEPT, CLAB_ALONE, SIZE_NONE, 0, 1, fit_turn_call, false},
    {CLAB_PROBE_STAGES, CLAB_KEPT, CLAB_ALONE, SIZE_NONE, 0, 1, fit_turn_stages, false},
    {CLAB_PROBE_LANED, CLAB_KEPT, CLAB_ALONE, SIZE_NONE, 0, 1, fit_turn_laned, false},
    {CLAB_PROBE_POST, CLAB_KEPT, CLAB_ALONE, SIZES_WIRE, 0, 1, fit_turn_one_way, false}, // in bursts: time_post
    {CLAB_PROBE_LANES, CLAB_KEPT, CLAB_ALONE, SIZE_LEAST, 0, CLAB_FIT_LANES, fit_turn_lanes, false},
    {CLAB_PROBE_STREAM, CLAB_KEPT, CLAB_ALONE, SIZES_WIRE, 0, FIT_STREAM, fit_turn_stream, false},
    {CLAB_PROBE_PINGPONG, CLAB_KEPT, CLAB_ALONE, SIZES_WIRE, 0, 2, fit_turn_round_trip, false},
    {CLAB_PROBE_EXCHANGE, CLAB_KEPT, CLAB_BOTH, SIZES_WIRE, 0, 1, fit_turn_exchange, false},
    {CLAB_PROBE_REST, CLAB_KEPT, CLAB_ALONE, SIZE_LEAST, 0, 2, fit_turn_round_trip, false}, // rested: time_rested
    {CLAB_PROBE_CARRY, CLAB_KEPT, CLAB_ALONE, SIZES_EAGER, 0, 1, fit_turn_one_way, false},  // then looks on: time_carry
    {CLAB_PROBE_FETCH, CLAB_KEPT, CLAB_ALONE, SIZES_EAGER, 0, 1, fit_turn_one_way_back, false}, // likewise: time_fetch
    {CLAB_PROBE_FOUND, CLAB_KEPT, CLAB_ALONE, SIZE_LEAST, 0, 1, fit_turn_one_way_back, false},  // likewise: time_found
    {CLAB_PROBE_COPY, CLAB_KEPT, CLAB_ALONE, SIZES_LEVELS, 2, 1, fit_turn_copy, false},
    {CLAB_PROBE_COPY, CLAB_KEPT, CLAB_BOTH, SIZES_LEVELS, 4, 1, fit_turn_copy_both, false},
    {CLAB_PROBE_SUM, CLAB_KEPT, CLAB_ALONE, SIZES_LEVELS, 2, 1, fit_turn_sum, false},
    {CLAB_PROBE_SUM, CLAB_KEPT, CLAB_BOTH, SIZES_LEVELS, 4, 1, fit_turn_sum_both, false},
    {.turn = NULL},
};

// Levels are 11/16 of powers of two: caches are powers of two, or three quarters of one. What fills a cache exactly costs
// two or three times as much in one process as in the next, by the pages that it was given. A fourth of the least must be
// pulled.
enum { PROBES_AT_MOST = 32, SIZES_AT_MOST = 48, CACHE_LINE = 64, LEAST_LEVEL = 22 << 10, EAGER_PARTS = 8 };

// Each size, and the middle between it and the next, below `end`; returns how many.
static int sizes_below(size_t first, size_t end, size_t *out)
{
    int n = 0;
    for (size_t bytes = first; bytes < end; bytes *= 2) {
        out[n++] = bytes;
        if (bytes + bytes / 2 < end)
            out[n++] = bytes + bytes / 2;
    }
    return n;
}

// The next larger level: four times as large where neither a core's first cache ends nor its second.
static size_t next_level(size_t level)
{
    return level == 8 * LEAST_LEVEL ? 4 * level : 2 * level;
}

// Sizes of messages in bytes, or of levels; returns how many.
static int sizes_of(enum sizes sizes, const struct fit_reach *reach, size_t out[SIZES_AT_MOST])
{
    const struct clab_protocols *p = reach->protocols;
    int n = 0;
    switch (sizes) {
    case SIZE_NONE: out[n++] = 0; break;
    case SIZE_LEAST: out[n++] = 8; break;
    case SIZES_LANES: // the least message, and the least that is pulled
        out[n++] = 8;
        out[n++] = p->pull_bytes;
        break;
    case SIZES_SUMS: // all of which STREAM has, too
        out[n++] = p->inline_bytes / 16 * 8;
        for (size_t bytes = 96; bytes < p->pull_bytes; bytes *= bytes == 96 ? 2 : 4)
            out[n++] = bytes;
        break;
    case SIZES_EAGER: // the least, the largest that does not wait for its receiver, and one between, of a few packets
        out[n++] = 8;
        if (p->pull_bytes > EAGER_PARTS * 8) {
            out[n++] = p->pull_bytes / EAGER_PARTS / 8 * 8;
            out[n++] = (p->pull_bytes - 1) / 8 * 8;
        }
        break;
    case SIZES_BUFFERED:
    case SIZES_SMALL:
        for (size_t bytes = 8; bytes <= p->inline_bytes; bytes += 8)
            out[n++] = bytes;
        n += sizes_below(64, p->pull_bytes, out + n);
        out[n++] = p->lines_bytes;
        out[n++] = p->pull_bytes - sizeof(float);
        if (sizes == SIZES_SMALL)
            n += sizes_below(p->pull_bytes + p->pull_bytes / 2, p->pull_bytes * 8 + 1, out + n);
        break;
    case SIZES_WIRE:
        out[n++] = 8;
        for (size_t bytes = 64; bytes <= reach->longest; bytes *= 2)
            out[n++] = bytes;
        break;
    case SIZES_LEVELS:
        for (size_t bytes = LEAST_LEVEL; bytes <= 2 * reach->largest; bytes = next_level(bytes))
            out[n++] = bytes;
    }
    return n;
}

static struct fit_task task_of(const struct fit_probe *probe, size_t size, size_t largest)
{
    size_t message = probe->part ? size / (size_t)probe->part / CACHE_LINE * CACHE_LINE : size;
    return (struct fit_task){probe, message < largest ? message : largest, probe->part ? size : 0};
}

int fit_tasks_make(const struct fit_reach *reach, struct fit_task **tasks_p, int *n_p)
{
    struct fit_task *tasks = malloc(PROBES_AT_MOST * SIZES_AT_MOST * sizeof *tasks);
    int n = 0;
    if (!tasks)
        return CLAB_ENOMEM;
    for (const struct fit_probe *p = reach->protocols->memory ? memory_probes : wire_probes; p->turn; p++) {
        size_t sizes[SIZES_AT_MOST];
        int nsizes = sizes_of(p->sizes, reach, sizes);
        for (int k = 0; k < nsizes; k++)
            tasks[n++] = task_of(p, sizes[k], reach->largest);
    }
    *tasks_p = tasks;
    *n_p = n;
    return CLAB_OK;
}

// ---- timing --------------------------------------------------------------------------------------------------

// How a task is timed. Rank 0 decides, by what one turn took: `once` s per message.
struct pace {
    int turns; // of a batch
    int rest;  // us, after an interrupted batch
};

// The last cache needs some turns until it holds what it will hold, if these leave a batch time to be whole.
enum { LEAST_TURNS = 4 };
static const double long_batch = 3e-3; // s

// After a pause of REST us the kernel leaves a process its core for some ms. A batch of less than half of that follows
// at once: what interrupted the one before has just had its turn.
enum { REST = 3000 };
static const double much_of_slice = 1.5e-3; // s

static int agree_on_pace(struct fit_ranks *r, const struct fit_task *task, double seconds, double once,
                         struct pace *pace_p)
{
    const double turn = task->how->messages * fmax(once, 1e-9);
    const double least = fmax(1, task->level ? fmin(LEAST_TURNS, long_batch / turn) : 1);
    const int most = fit_task_rests(r, task) ? FIT_RESTS : MOST_TURNS;
    struct pace pace = {.turns = (int)fmin(fmax(seconds / turn, least), most)};
    pace.rest = pace.turns * turn > much_of_slice ? REST : 0;
    return clab_broadcast(r->comm, &pace, pace_p, sizeof pace / sizeof(int), CLAB_I32, 0);
}

// Between hosts: after a rest in which a token bucket has room for the probe's messages again.
static int sample_wire(struct fit_ranks *r, struct clab_placement_sample *probed)
{
    enum { BYTES = 2 * PROBE_WIRE_TURNS * 128 }; // with all headers
    fit_rest(r->each * BYTES);
    fit_meet(r);
    return probe_wire(r->comm, probed);
}

// Whether no other process took a rank's core since `before`, this rank's interruptions then.
static int look_whether_whole(struct fit_ranks *r, double before, bool *whole_p)
{
    double interruptions = probe_interruptions() - before;
    CLAB_TRY(r->err);
    CLAB_TRY(clab_allreduce(r->comm, &interruptions, &interruptions, 1, CLAB_F64, CLAB_MAX));
    *whole_p = interruptions == 0;
    return CLAB_OK;
}

// A placement sample and a batch. *whole_p: no other process took a rank's core during either (cmd/probe/placement.h).
// Else there is no placement sample.
static int time_alone(struct fit_ranks *r, const struct fit_task *task, int turns, double *took_p,
                      struct clab_placement_sample *probed, bool *whole_p)
{
    const double before = probe_interruptions();
    if (r->comm->backend->protocols.memory)
        CLAB_TRY(probe_placement(r->comm, r->alone, r->probe_room, probed));
    else
        CLAB_TRY(sample_wire(r, probed));
    *took_p = fit_batch_time(r, task, turns);
    CLAB_TRY(look_whether_whole(r, before, whole_p));
    if (!*whole_p)
        *probed = (struct clab_placement_sample){0};
    return CLAB_OK;
}

// What one turn takes, s per message. A burst waits before it begins, and a wire is busy with what was posted for longer
// than the core that posted it. *took_p: as a batch of one turn
static double time_once(struct fit_ranks *r, const struct fit_task *task, double *took_p)
{
    const double begin = clab_now();
    const bool lasts = fit_task_rests(r, task) || task->how->probe == CLAB_PROBE_POST;
    *took_p = fit_batch_time(r, task, 1);
    fit_meet(r);
    return lasts ? (clab_now() - begin) / FIT_BURST : *took_p;
}

// Turns before a level is timed, until caches hold what they will hold. The last one learns slowly what to keep: not
// before more than its size has gone through it. Small levels do not reach it, and large ones do not fit. In a hurry
// there is no time for that.
static int warm_turns(size_t level, bool hurried)
{
    enum { WARM = 4, TIMES = 2, SMALL_PART = 32, MOST = 1 << 30 }; // MOST: bytes
    const size_t cache = clab_machine_last_cache_bytes();
    const size_t bytes = TIMES * cache < MOST ? TIMES * cache : MOST;
    if (level == 0)
        return 1;
    if (level >= 2 * cache)
        return WARM / 2;
    return hurried || level <= cache / SMALL_PART || bytes < WARM * level ? WARM : (int)(bytes / level);
}

// A batch of at least one turn; a long turn on a wire, where caches need not be warm, is one already. An interrupted
// batch is timed again, a few times. If all are interrupted, the least is nearest: others' work only adds.
static int time_task(struct fit_ranks *r, const struct fit_task *task, const struct fit_effort *effort, double *took_p,
                     struct clab_placement_sample *probed_p)
{
    enum { TRIES = 5 };
    double least = INFINITY, took;
    bool is_whole = false;
    struct pace pace;
    fit_batch_time(r, task, warm_turns(task->level, effort->hurried)); // the first touch, too
    const double before = probe_interruptions(), once = time_once(r, task, &took);
    CLAB_TRY(r->err);
    CLAB_TRY(agree_on_pace(r, task, effort->seconds, once, &pace));
    if (pace.turns == 1 && !r->comm->backend->protocols.memory) {
        CLAB_TRY(look_whether_whole(r, before, &is_whole));
        CLAB_TRY(sample_wire(r, probed_p));
        least = took;
    }
    for (int n = 0; n < TRIES && !is_whole; n++) {
        if (n > 0 && pace.rest)
            usleep((useconds_t)pace.rest);
        CLAB_TRY(time_alone(r, task, pace.turns, &took, probed_p, &is_whole));
        least = is_whole ? took : fmin(least, took);
    }
    *took_p = least;
    return r->err;
}

static void shift(struct fit_ranks *r, ptrdiff_t bytes)
{
    r->x += bytes;
    r->y += bytes;
    r->z += bytes;
}

// Where in the buffers a round finds its data. What nearly fills a core's cache costs two or three times as much in some
// pages as in others: each round takes others.
static size_t part_of(const struct fit_ranks *r, const struct fit_task *task, int round)
{
    const size_t parts = task->level ? r->room / task->level : 0;
    return parts > 1 ? (size_t)round % parts * task->level : 0;
}

int fit_task_run(struct fit_ranks *r, const struct fit_task *task, const struct fit_effort *effort,
                 struct clab_sample *sample_p, struct clab_placement_sample *probed_p)
{
    struct clab_placement_sample probed = {0};
    double took = NAN; // some compilers do not see that success sets it
    const ptrdiff_t part = (ptrdiff_t)part_of(r, task, effort->round);
    shift(r, part);
    const int err = time_task(r, task, effort, &took, &probed);
    shift(r, -part);
    CLAB_TRY(err);
    *sample_p = (struct clab_sample){
        .probe = task->how->probe,
        .bytes = task->bytes,
        .level = task->level,
        .touch = task->how->touch,
        .load = task->how->load,
        .seconds = took,
    };
    *probed_p = probed;
    return r->err;
}

// ---- buffers -------------------------------------------------------------------------------------------------

static double cost_of_clock(void)
{
    enum { READS = 1000 };
    double begin = clab_now(), now = begin;
    for (int i = 0; i < READS; i++)
        now = clab_now();
    return (now - begin) / READS;
}

static int alloc_values(struct clab_job *job, size_t bytes, char **memory_p)
{
    enum { VALUE = 0x3f }; // in each byte: floats of 0.75
    void *memory;
    CLAB_TRY(clab_alloc(job, bytes, &memory));
    *memory_p = memory;
    return clab_set(job, memory, VALUE, bytes);
}

int fit_ranks_open(struct clab_comm *comm, struct clab_job *job, size_t room, struct fit_ranks *ranks_p)
{
    struct fit_ranks r = {.comm = comm, .room = room, .rank = clab_comm_rank(comm), .clock_cost = cost_of_clock()};
    int err = probe_alone(comm, &r.alone);
    if (!err)
        err = clab_comm_set_algorithm(r.alone, CLAB_BARRIER, "tree", 1);
    if (!err)
        err = clab_comm_set_algorithm(r.alone, CLAB_GATHER, "flat", CLAB_FIT_LANES);
    if (!err)
        err = alloc_values(job, room, &r.x);
    if (!err)
        err = alloc_values(job, room, &r.y);
    if (!err)
        err = alloc_values(job, room, &r.z);
    if (!err)
        err = alloc_values(job, PROBE_ROOM, &r.probe_room);
    if (err)
        fit_ranks_close(&r, job);
    else
        *ranks_p = r;
    return err;
}

void fit_ranks_close(struct fit_ranks *ranks, struct clab_job *job)
{
    clab_free(job, ranks->x);
    clab_free(job, ranks->y);
    clab_free(job, ranks->z);
    clab_free(job, ranks->probe_room);
    clab_comm_destroy(ranks->alone);
}
