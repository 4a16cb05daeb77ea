// SPDX-License-Identifier: MIT
// The probes, as a table: what one turn is, of which sizes, and how many messages follow each other in it.
//
// Each is timed in a few batches of turns, between two looks at where the cores are: if they were moved
// meanwhile, once more. All data is zeros: sums stay zeros, and no value is slow.

#include "fit_probe.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/copy.h"
#include "base/log.h"
#include "base/reduce.h"
#include "base/stats.h"
#include "line.h"

enum { BATCHES = 7, TRIES = 3, BURST = 4, MOST_TURNS = 1 << 20, LANES = 8 };

// ---- messages ------------------------------------------------------------------------------------------------

static void run_transfers(struct fit_ranks *r, struct clab_transfer *transfers, int n)
{
    const struct clab_backend *backend = r->comm->backend;
    unsigned fruitless = 0;
    bool done = false;
    int peer;
    if (!r->err)
        r->err = backend->start(r->comm->endpoint, transfers, n);
    while (!r->err && !done) {
        r->err = backend->test(r->comm->endpoint, transfers, n, &done);
        if (!r->err && !done)
            r->err = backend->idle(r->comm->endpoint, fruitless++, &peer);
    }
}

static struct clab_transfer sending(const struct fit_ranks *r, const char *from, size_t bytes)
{
    return (struct clab_transfer){.op = CLAB_SEND, .peer = !r->rank, .lane = r->lane, .src = from,
                                  .count = bytes / sizeof(float), .type = CLAB_F32, .redop = CLAB_SUM};
}

// to = what comes, or `with` + what comes
static struct clab_transfer receiving(const struct fit_ranks *r, char *to, size_t bytes, const char *with)
{
    return (struct clab_transfer){.op = with ? CLAB_RECV_REDUCE : CLAB_RECV, .peer = !r->rank, .lane = r->lane, .src = with, .dst = to,
                                  .count = bytes / sizeof(float), .type = CLAB_F32, .redop = CLAB_SUM};
}

static void send(struct fit_ranks *r, const char *from, size_t bytes)
{
    run_transfers(r, (struct clab_transfer[]){sending(r, from, bytes)}, 1);
}

static void receive(struct fit_ranks *r, char *to, size_t bytes, const char *with)
{
    run_transfers(r, (struct clab_transfer[]){receiving(r, to, bytes, with)}, 1);
}

static void exchange(struct fit_ranks *r, const char *from, char *to, size_t bytes, const char *with)
{
    run_transfers(r, (struct clab_transfer[]){sending(r, from, bytes), receiving(r, to, bytes, with)}, 2);
}

static void meet(struct fit_ranks *r)
{
    float token = 0;
    exchange(r, (char *)&token, r->z, sizeof token, NULL);
}

// ---- turns ---------------------------------------------------------------------------------------------------

static void turn_call(struct fit_ranks *r, size_t bytes)
{
    (void)bytes;
    if (!r->err)
        r->err = clab_broadcast(r->alone, r->x, r->y, 1, CLAB_F32, 0);
}

static void turn_stages(struct fit_ranks *r, size_t bytes)
{
    (void)bytes;
    if (!r->err)
        r->err = clab_barrier(r->alone);
}

// Rank 0 to rank 1.
static void one_way(struct fit_ranks *r, size_t bytes, const char *with)
{
    if (r->rank == 0)
        send(r, r->x, bytes);
    else
        receive(r, r->y, bytes, with);
}

static void turn_one_way(struct fit_ranks *r, size_t bytes) { one_way(r, bytes, NULL); }
static void turn_one_way_reduce(struct fit_ranks *r, size_t bytes) { one_way(r, bytes, r->x); }
static void turn_one_way_add(struct fit_ranks *r, size_t bytes) { one_way(r, bytes, r->y); }

static void turn_lanes(struct fit_ranks *r, size_t bytes)
{
    for (r->lane = 0; r->lane < LANES; r->lane++)
        one_way(r, bytes, NULL);
    r->lane = 0;
}

// `from` is x for data that nobody writes, or y for what has just been received.
static void round_trip(struct fit_ranks *r, const char *from, size_t bytes, const char *with)
{
    if (r->rank == 0)
        send(r, from, bytes);
    receive(r, r->y, bytes, with);
    if (r->rank == 1)
        send(r, from, bytes);
}

static void turn_round_trip(struct fit_ranks *r, size_t bytes) { round_trip(r, r->x, bytes, NULL); }
static void turn_round_trip_fresh(struct fit_ranks *r, size_t bytes) { round_trip(r, r->y, bytes, NULL); }
static void turn_round_trip_fresh_reduce(struct fit_ranks *r, size_t bytes) { round_trip(r, r->y, bytes, r->x); }

// Rank 1 reduces while rank 0 copies: both directions are busy, and yet it is no allreduce.
static void turn_exchange(struct fit_ranks *r, size_t bytes) { exchange(r, r->x, r->y, bytes, NULL); }
static void turn_exchange_reduce(struct fit_ranks *r, size_t bytes) { exchange(r, r->x, r->y, bytes, r->rank == 1 ? r->x : NULL); }
static void turn_exchange_add(struct fit_ranks *r, size_t bytes) { exchange(r, r->x, r->y, bytes, r->rank == 1 ? r->y : NULL); }

// What was received in the turn before is sent in this one.
static void exchange_fresh(struct fit_ranks *r, size_t bytes, const char *with)
{
    r->turned = !r->turned;
    exchange(r, r->turned ? r->y : r->z, r->turned ? r->z : r->y, bytes, with);
}

static void turn_exchange_fresh(struct fit_ranks *r, size_t bytes) { exchange_fresh(r, bytes, NULL); }
static void turn_exchange_fresh_reduce(struct fit_ranks *r, size_t bytes) { exchange_fresh(r, bytes, r->rank == 1 ? r->x : NULL); }

static void turn_copy(struct fit_ranks *r, size_t bytes)
{
    if (r->rank == 0)
        r->comm->backend->device->copy(r->y, r->x, bytes);
}

static void turn_copy_both(struct fit_ranks *r, size_t bytes) { r->comm->backend->device->copy(r->y, r->x, bytes); }

// ---- the table -----------------------------------------------------------------------------------------------

enum sizes { SIZE_NONE, SIZE_LEAST, SIZES_BUFFERED, SIZES_SMALL, SIZES_LEVELS }; // small: buffered, and the least that are pulled

static const struct fit_probe {
    enum clab_probe probe;
    enum clab_touch touch;
    enum clab_load load;
    enum sizes sizes;
    int messages; // one after another in a turn
    void (*turn)(struct fit_ranks *, size_t bytes);
} probes[] = {
    {CLAB_PROBE_CALL, CLAB_KEPT, CLAB_ALONE, SIZE_NONE, 1, turn_call},
    {CLAB_PROBE_STAGES, CLAB_KEPT, CLAB_ALONE, SIZE_NONE, 1, turn_stages},
    {CLAB_PROBE_POST, CLAB_KEPT, CLAB_ALONE, SIZES_BUFFERED, 1, turn_one_way}, // in bursts: time_post
    {CLAB_PROBE_LANES, CLAB_KEPT, CLAB_ALONE, SIZE_LEAST, LANES, turn_lanes},
    {CLAB_PROBE_STREAM, CLAB_KEPT, CLAB_ALONE, SIZES_SMALL, 1, turn_one_way},
    {CLAB_PROBE_PINGPONG, CLAB_KEPT, CLAB_ALONE, SIZES_SMALL, 2, turn_round_trip},
    {CLAB_PROBE_EXCHANGE, CLAB_KEPT, CLAB_BOTH, SIZES_SMALL, 1, turn_exchange},
    {CLAB_PROBE_COPY, CLAB_KEPT, CLAB_ALONE, SIZES_LEVELS, 1, turn_copy},
    {CLAB_PROBE_COPY, CLAB_KEPT, CLAB_BOTH, SIZES_LEVELS, 1, turn_copy_both},
    {CLAB_PROBE_PULL, CLAB_KEPT, CLAB_ALONE, SIZES_LEVELS, 1, turn_one_way},
    {CLAB_PROBE_PULL, CLAB_KEPT, CLAB_BOTH, SIZES_LEVELS, 1, turn_exchange},
    {CLAB_PROBE_PULL, CLAB_FRESH, CLAB_ALONE, SIZES_LEVELS, 2, turn_round_trip_fresh},
    {CLAB_PROBE_PULL, CLAB_FRESH, CLAB_BOTH, SIZES_LEVELS, 1, turn_exchange_fresh},
    {CLAB_PROBE_REDUCE, CLAB_KEPT, CLAB_ALONE, SIZES_LEVELS, 1, turn_one_way_reduce},
    {CLAB_PROBE_REDUCE, CLAB_KEPT, CLAB_BOTH, SIZES_LEVELS, 1, turn_exchange_reduce},
    {CLAB_PROBE_REDUCE, CLAB_FRESH, CLAB_ALONE, SIZES_LEVELS, 2, turn_round_trip_fresh_reduce},
    {CLAB_PROBE_REDUCE, CLAB_FRESH, CLAB_BOTH, SIZES_LEVELS, 1, turn_exchange_fresh_reduce},
    {CLAB_PROBE_ADD, CLAB_KEPT, CLAB_ALONE, SIZES_LEVELS, 1, turn_one_way_add},
    {CLAB_PROBE_ADD, CLAB_KEPT, CLAB_BOTH, SIZES_LEVELS, 1, turn_exchange_add},
};

enum { NPROBES = sizeof probes / sizeof *probes, SIZES_AT_MOST = 32 };

// Sizes in bytes, each a multiple of a float's; returns how many.
static int sizes_of(enum sizes sizes, const struct clab_protocols *p, size_t largest, size_t out[SIZES_AT_MOST])
{
    int n = 0;
    switch (sizes) {
    case SIZE_NONE:
        out[n++] = 0;
        break;
    case SIZE_LEAST:
        out[n++] = 8;
        break;
    case SIZES_BUFFERED:
    case SIZES_SMALL:
        for (size_t bytes = 8; bytes <= p->inline_bytes; bytes += 8)
            out[n++] = bytes;
        for (size_t bytes = 64; bytes < p->pull_bytes; bytes *= 2)
            out[n++] = bytes;
        out[n++] = p->pull_bytes - sizeof(float);
        for (size_t bytes = p->pull_bytes; sizes == SIZES_SMALL && bytes <= 8 * p->pull_bytes; bytes *= 2)
            out[n++] = bytes;
        break;
    case SIZES_LEVELS: // by four while they fit a core's own caches, by two where cores share them
        for (size_t bytes = p->pull_bytes; bytes <= largest; bytes *= bytes < 128 << 10 ? 4 : 2)
            out[n++] = bytes;
    }
    return n;
}

int fit_tasks_make(const struct clab_protocols *protocols, size_t largest, struct fit_task **tasks_p, int *n_p)
{
    struct fit_task *tasks = malloc(NPROBES * SIZES_AT_MOST * sizeof *tasks);
    int n = 0;
    if (!tasks)
        return CLAB_ENOMEM;
    for (int i = 0; i < NPROBES; i++) {
        size_t sizes[SIZES_AT_MOST];
        int nsizes = sizes_of(probes[i].sizes, protocols, largest, sizes);
        for (int k = 0; k < nsizes; k++)
            tasks[n++] = (struct fit_task){&probes[i], sizes[k]};
    }
    *tasks_p = tasks;
    *n_p = n;
    return CLAB_OK;
}

// ---- timing --------------------------------------------------------------------------------------------------

// Of a few batches the lower quartile: on a quiet machine it is the median, and on a busy one nearer to it.
#define QUIET 0.25

static double time_turns(struct fit_ranks *r, const struct fit_task *task, int turns)
{
    meet(r);
    double begin = clab_now();
    for (int i = 0; i < turns && !r->err; i++)
        task->how->turn(r, task->bytes);
    return (clab_now() - begin) / turns / task->how->messages;
}

// Bursts that fit in the receiver's lines, with a meeting before each: the sender never finds them full.
static double time_post(struct fit_ranks *r, const struct fit_task *task, int turns)
{
    double sum = 0;
    int bursts = turns / BURST + 1;
    for (int i = 0; i < bursts && !r->err; i++) {
        meet(r);
        double begin = clab_now();
        for (int k = 0; k < BURST; k++)
            task->how->turn(r, task->bytes);
        sum += clab_now() - begin - r->clock_cost;
    }
    return sum / bursts / BURST;
}

static double time_batch(struct fit_ranks *r, const struct fit_task *task, int turns)
{
    return task->how->probe == CLAB_PROBE_POST ? time_post(r, task, turns) : time_turns(r, task, turns);
}

// Both ranks take rank 0's word.
static void agree(struct fit_ranks *r, int *turns)
{
    float word = (float)*turns;
    if (r->rank == 0)
        send(r, (char *)&word, sizeof word);
    else
        receive(r, (char *)&word, sizeof word, false);
    *turns = (int)word;
}

// The quiet ones of a few batches, of one turn at least.
static double time_task(struct fit_ranks *r, const struct fit_task *task, double seconds)
{
    double batches[BATCHES], once;
    time_batch(r, task, 1); // the first touch
    once = time_batch(r, task, 1);
    double wanted = seconds / BATCHES / task->how->messages / (once > 1e-9 ? once : 1e-9);
    int turns = wanted < 1 ? 1 : wanted > MOST_TURNS ? MOST_TURNS : (int)wanted;
    agree(r, &turns);
    for (int i = 0; i < BATCHES; i++)
        batches[i] = time_batch(r, task, turns);
    return clab_quantile(batches, BATCHES, QUIET);
}

int fit_task_run(struct fit_ranks *r, const struct fit_task *task, double seconds, struct clab_sample *sample_p, double *line_p)
{
    double before, after = 0, took;
    CLAB_TRY(line_measure(r->comm, &before));
    for (int tries = 0;; tries++, before = after) {
        took = time_task(r, task, seconds);
        CLAB_TRY(r->err);
        CLAB_TRY(line_measure(r->comm, &after));
        if (line_is_same(before, after) || tries == TRIES)
            break;
    }
    *sample_p = (struct clab_sample){task->how->probe, task->bytes, task->how->touch, task->how->load, took};
    *line_p = sqrt(before * after);
    return CLAB_OK;
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

static int alloc_zeros(struct clab_job *job, size_t bytes, char **memory_p)
{
    void *memory;
    CLAB_TRY(clab_alloc(job, bytes, &memory));
    memset(memory, 0, bytes);
    *memory_p = memory;
    return CLAB_OK;
}

int fit_ranks_open(struct clab_comm *comm, struct clab_job *job, size_t room, struct fit_ranks *ranks_p)
{
    struct fit_ranks r = {.comm = comm, .rank = clab_comm_rank(comm), .room = room, .clock_cost = cost_of_clock()};
    int err = clab_comm_split(comm, r.rank, 0, &r.alone);
    if (!err)
        err = clab_comm_set_algorithm(r.alone, CLAB_BROADCAST, "flat", 1);
    if (!err)
        err = clab_comm_set_algorithm(r.alone, CLAB_BARRIER, "tree", 1);
    if (!err)
        err = alloc_zeros(job, room, &r.x);
    if (!err)
        err = alloc_zeros(job, room, &r.y);
    if (!err)
        err = alloc_zeros(job, room, &r.z);
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
    clab_comm_destroy(ranks->alone);
}
