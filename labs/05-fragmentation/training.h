// SPDX-License-Identifier: MIT
// The job that lab 05's programs run: the buffers of workload.h, allocated in one device's memory, registered, summed
// over the ranks, freed. How they are allocated and registered is each program's own (struct allocator).
//
// - An allocation that fails ends the training, not the program: it reports how far it came, and what was free.
// - What is timed is allocating, registering and summing, of the slowest rank. Data are made and checked, and ranks
//   meet, outside of it.
#pragma once

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "clab.h"
#include "pool.h"
#include "workload.h"

enum { SAMPLES = 9 }; // of a registration alone

struct buffer {
    int first, granules;
    struct clab_registration *registration; // before's; NULL: it has none
};

struct device {
    struct clab_job *job;
    struct clab_comm *comm;
    char *room, *memory; // memory: (GRANULES, granule) bytes of the room, from the start of a page
    size_t granule;      // bytes
    bool registers;      // the system lets every rank
    struct pool pool;
    void *arena;            // after's
    struct buffer *buffers; // by number
    int used;               // granules that buffers have asked for, and not given back
};

struct allocator {
    int (*take)(struct device *, struct buffer *); // errors: CLAB_ENOMEM, which ends the training
    void (*give)(struct device *, struct buffer *);
    size_t (*enroll)(struct device *, struct buffer *); // it will be communicated: the bytes that had to be registered
    void (*expel)(struct device *, struct buffer *);    // it has been
    void (*finish)(struct device *);                    // nothing will be any more
};

// What a step took of this rank: s, of which s for registering; bytes that were registered; the sum of all results.
struct cost {
    double step, registering, registered, checksum;
};

struct training {
    struct device device;
    const struct allocator *allocator;
    struct workload workload;
    int steps, done; // asked for; finished
    struct cost early[EARLY];
    struct {
        int asked, free, largest; // granules: what was asked for, all that was free, and the largest piece of that
    } last;                       // at the last allocation
    struct {
        double used, reserved, hole; // KiB: of buffers; not free for others; the largest free piece
    } * looks;                       // (steps) when each step asks for its flat buffer
    int looked;
};

static inline double kib(const struct device *d, int granules)
{
    return (double)granules * (double)d->granule / 1024;
}

// ---- a step --------------------------------------------------------------------------------------------------

static inline float *data_of(const struct device *d, const struct buffer *b, size_t *count_p)
{
    *count_p = (size_t)b->granules * d->granule / sizeof(float);
    return (float *)(void *)(d->memory + (size_t)b->first * d->granule);
}

// Small whole numbers, so that every order of adding gives the same sum.
static inline void fill(const struct device *d, const struct buffer *b, int step)
{
    size_t count;
    float *data = data_of(d, b, &count);
    for (size_t i = 0; i < count; i++)
        data[i] = (float)(clab_job_rank(d->job) + 1 + (int)i % 5 + step % 3);
}

// Fails unless the buffer holds the sum of all ranks'; returns the sum over its elements.
static inline double check(const struct device *d, const struct buffer *b, int step)
{
    const int ranks = clab_job_ranks(d->job);
    size_t count;
    double sum = 0;
    const float *data = data_of(d, b, &count);
    for (size_t i = 0; i < count; sum += data[i++])
        must(data[i] == (float)(ranks * (ranks + 1) / 2 + ranks * ((int)i % 5 + step % 3)) ? CLAB_OK : CLAB_EWRONG);
    return sum;
}

static inline void all_reduce(const struct device *d, const struct buffer *b)
{
    size_t count;
    float *data = data_of(d, b, &count);
    must(clab_allreduce(d->comm, data, data, count, CLAB_F32, CLAB_SUM));
}

static inline int play_take(struct training *t, const struct event *e, struct buffer *b)
{
    struct device *d = &t->device;
    t->last.asked = b->granules = e->granules;
    pool_look(&d->pool, &t->last.free, &t->last.largest);
    if (e->granules == FLAT) {
        t->looks[e->step].used = kib(d, d->used);
        t->looks[e->step].reserved = kib(d, GRANULES - t->last.free);
        t->looks[e->step].hole = kib(d, t->last.largest);
        t->looked = e->step + 1;
    }
    CLAB_TRY(t->allocator->take(d, b));
    d->used += b->granules;
    return CLAB_OK;
}

static inline void play_give(struct training *t, struct buffer *b)
{
    t->allocator->give(&t->device, b);
    t->device.used -= b->granules;
}

// What it took goes to the step, of which registering is a part.
static inline void play_sum(struct training *t, struct buffer *b, struct cost *cost)
{
    struct device *d = &t->device;
    const double start = clab_seconds();
    if (d->registers)
        cost->registered += (double)t->allocator->enroll(d, b);
    const double ready = clab_seconds();
    all_reduce(d, b);
    const double summed = clab_seconds();
    if (d->registers)
        t->allocator->expel(d, b);
    cost->registering += ready - start + clab_seconds() - summed;
}

static inline int play(struct training *t, const struct event *e, struct cost *cost)
{
    struct device *d = &t->device;
    struct buffer *b = &d->buffers[e->buffer];
    if (e->kind == SUM) {
        fill(d, b, e->step);
        must(clab_barrier(d->comm));
    }
    const double start = clab_seconds();
    if (e->kind == TAKE)
        CLAB_TRY(play_take(t, e, b));
    else if (e->kind == SUM)
        play_sum(t, b, cost);
    else
        play_give(t, b);
    cost->step += clab_seconds() - start;
    if (e->kind == SUM)
        cost->checksum += check(d, b, e->step);
    return CLAB_OK;
}

static inline void train(struct training *t)
{
    struct cost later = {0};
    for (int i = 0; i < t->workload.n; i++) {
        const struct event *e = &t->workload.events[i];
        if (play(t, e, e->step < EARLY ? &t->early[e->step] : &later) != CLAB_OK)
            return;
        t->done = i + 1 == t->workload.n ? t->steps : t->workload.events[i + 1].step;
    }
}

// ---- registration alone --------------------------------------------------------------------------------------

// Whether all ranks may register all of the memory. What is registered is pages, so a granule has to be some.
static inline bool may_register(const struct device *d)
{
    struct clab_registration *all = NULL;
    int may = d->granule % (size_t)sysconf(_SC_PAGESIZE) == 0 &&
              clab_register(d->job, d->memory, GRANULES * d->granule, &all) == CLAB_OK;
    clab_unregister(d->job, all);
    must(clab_allreduce(d->comm, &may, &may, 1, CLAB_I32, CLAB_MIN));
    return may;
}

static inline void report(const struct device *d, const char *quantity, size_t of, const char *unit, double *samples,
                          int n)
{
    char name[64];
    snprintf(name, sizeof name, of ? "%s/%zu" : "%s", quantity, of);
    must(clab_allreduce(d->comm, samples, samples, (size_t)n, CLAB_F64, CLAB_MAX)); // the slowest rank
    must(clab_report(d->comm, name, unit, samples, n));
}

static inline void time_registration(const struct device *d, size_t bytes)
{
    double taken[SAMPLES], given[SAMPLES];
    for (int i = 0; i < SAMPLES; i++) {
        struct clab_registration *registration;
        const double start = clab_seconds();
        must(clab_register(d->job, d->memory, bytes, &registration));
        const double middle = clab_seconds();
        clab_unregister(d->job, registration);
        given[i] = clab_seconds() - middle;
        taken[i] = middle - start;
    }
    report(d, "register", bytes, "s", taken, SAMPLES);
    report(d, "unregister", bytes, "s", given, SAMPLES);
}

// ---- all of it -----------------------------------------------------------------------------------------------

static inline void report_one(const struct training *t, const char *quantity, size_t of, const char *unit, double value)
{
    report(&t->device, quantity, of, unit, &value, 1);
}

// Of times only where the memory sufficed for the first steps, and of registration only where it takes any.
static inline void report_times(struct training *t)
{
    const struct device *d = &t->device;
    struct cost all = {0};
    for (int step = 0; step < EARLY; step++) {
        all.step += t->early[step].step / EARLY;
        all.registering += t->early[step].registering / EARLY;
        all.registered += t->early[step].registered / EARLY / 1024;
        all.checksum += t->early[step].checksum;
    }
    report_one(t, "step_time", 0, "s", all.step);
    report_one(t, "checksum", 0, "1", all.checksum);
    if (!(d->registers && all.registering > 0))
        return;
    report_one(t, "registering", 0, "s", all.registering);
    report_one(t, "registered", 0, "KiB", all.registered);
    for (size_t bytes = 16 * d->granule; bytes <= GRANULES / 2 * d->granule; bytes *= 4)
        time_registration(d, bytes);
}

static inline void report_memory(const struct training *t)
{
    const struct device *d = &t->device;
    report_one(t, "steps", 0, "1", t->done);
    report_one(t, "asked", 0, "KiB", kib(d, t->last.asked));
    report_one(t, "free", 0, "KiB", kib(d, t->last.free));
    report_one(t, "largest", 0, "KiB", kib(d, t->last.largest));
    for (int step = 0; step < t->looked; step++) {
        report_one(t, "used", (size_t)step + 1, "KiB", t->looks[step].used);
        report_one(t, "reserved", (size_t)step + 1, "KiB", t->looks[step].reserved);
        report_one(t, "hole", (size_t)step + 1, "KiB", t->looks[step].hole);
    }
}

static const char usage[] = "give BYTES (a multiple of 128K), STEPS (at most 4096) and SEED, as in 8M 96 1";
static const char arguments[] = "\n\n"
                                "  BYTES              of the memory, a multiple of 128K; registered if one of 8M (8M)\n"
                                "  STEPS              of training, at most 4096 (96)\n"
                                "  SEED               of the workload (1)\n";

// Two sizes are in use all the time, so that no plan is made while the clock runs; and no page is touched for the
// first time.
static inline void warm_up(struct training *t)
{
    struct device *d = &t->device;
    memset(d->memory, 0, GRANULES * d->granule);
    for (int granules = LONGEST / 4; granules <= LONGEST; granules += LONGEST / 4)
        all_reduce(d, &(struct buffer){.granules = granules});
    all_reduce(d, &(struct buffer){.granules = FLAT});
}

static inline void set_up(struct training *t, const char *bytes, const char *steps, const char *seed)
{
    struct device *d = &t->device;
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    d->granule = clab_must_size(d->job, bytes, GRANULES * (size_t)64, usage) / GRANULES;
    t->steps = (int)clab_must_size(d->job, steps, 1, usage);
    must(t->steps <= MOST_STEPS ? CLAB_OK : CLAB_EINVAL);
    must(workload_make(t->steps, (int)clab_must_size(d->job, seed, 1, usage), &t->workload));
    must(clab_alloc(d->job, GRANULES * d->granule + page, (void **)&d->room));
    d->memory = d->room + (page - (uintptr_t)d->room % page) % page;
    must(pool_create(GRANULES, &d->pool));
    must((d->buffers = calloc((size_t)t->workload.nbuffers, sizeof *d->buffers)) ? CLAB_OK : CLAB_ENOMEM);
    must((t->looks = calloc((size_t)t->steps, sizeof *t->looks)) ? CLAB_OK : CLAB_ENOMEM);
    warm_up(t);
}

// A lab's main. arena: what the allocator has beside the pool, or NULL
static inline int training(int argc, char **argv, const char *about, const struct allocator *allocator, void *arena)
{
    struct training t = {.allocator = allocator, .device.arena = arena};
    struct device *d = &t.device;
    char text[1024];
    snprintf(text, sizeof text, "%s%s", about, arguments);
    clab_help(argc, argv, "[BYTES STEPS SEED]", text);
    must(clab_job_open(&argc, argv, &d->job));
    must(clab_comm_create(d->job, &d->comm));
    must(clab_comm_set_algorithm(d->comm, CLAB_ALLREDUCE, "ring", 0)); // so that we know what we predict
    set_up(&t, argc > 1 ? argv[1] : "8M", argc > 2 ? argv[2] : "96", argc > 3 ? argv[3] : "1");
    d->registers = may_register(d);
    train(&t);
    allocator->finish(d);
    if (t.done >= EARLY)
        report_times(&t);
    report_memory(&t);
    free(t.looks);
    free(d->buffers);
    free(t.workload.events);
    pool_destroy(&d->pool);
    clab_free(d->job, d->room);
    clab_comm_destroy(d->comm);
    clab_job_close(d->job);
    return 0;
}
