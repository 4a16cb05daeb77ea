// SPDX-License-Identifier: MIT
// What lab 05's programs measure of a training, and report: how far it came, what of the memory was free, and how long
// its first steps and their registrations took.
//
// - What is timed is allocating, registering and summing, of the slowest rank.
// - An allocation that fails ends the training, not the program: what was free then is in the report.
#pragma once

#include <stdio.h>
#include <stdlib.h>

#include "clab.h"
#include "device.h"
#include "pool.h"
#include "workload.h"

enum { SAMPLES = 9 }; // of a registration alone

// What a step took of this rank: s, of which s for registering; bytes that were registered; the sum of all results.
struct cost {
    double step, registering, registered, checksum;
};

struct measure {
    int steps, done; // asked for; finished
    int used;        // granules that buffers have asked for, and not given back
    struct cost early[EARLY], later;
    struct {
        int asked, free, largest; // granules: what was asked for, all that was free, and the largest piece of that
    } last;                       // at the last allocation
    struct {
        int used, reserved, hole; // granules: of buffers; not free for others; the largest free piece
    } * looks;                    // (steps) when each step asks for its flat buffer
    int looked;
};

//   errors: CLAB_ENOMEM
static inline int measure_create(int steps, struct measure *measure_p)
{
    struct measure m = {.steps = steps};
    m.looks = calloc((size_t)steps, sizeof *m.looks);
    if (!m.looks)
        return CLAB_ENOMEM;
    *measure_p = m;
    return CLAB_OK;
}

static inline void measure_destroy(struct measure *m)
{
    free(m->looks);
}

// What a step has taken so far.
static inline struct cost *measure_cost(struct measure *m, int step)
{
    return step < EARLY ? &m->early[step] : &m->later;
}

// An event is about to happen to a buffer, which has a size: how the pool is now.
static inline void measure_look(struct measure *m, const struct event *e, const struct buffer *b,
                                const struct pool *pool)
{
    m->done = e->step;
    if (e->kind == GIVE)
        m->used -= b->granules;
    if (e->kind != TAKE)
        return;
    m->last.asked = b->granules;
    pool_look(pool, &m->last.free, &m->last.largest);
    if (b->granules == FLAT) {
        m->looks[e->step].used = m->used;
        m->looks[e->step].reserved = GRANULES - m->last.free;
        m->looks[e->step].hole = m->last.largest;
        m->looked = e->step + 1;
    }
    m->used += b->granules;
}

// ---- the report ----------------------------------------------------------------------------------------------

static inline void report(const struct device *d, const char *quantity, size_t of, const char *unit, double *samples,
                          int n)
{
    char name[64];
    snprintf(name, sizeof name, of ? "%s/%zu" : "%s", quantity, of);
    must(clab_allreduce(d->comm, samples, samples, (size_t)n, CLAB_F64, CLAB_MAX)); // the slowest rank
    must(clab_report(d->comm, name, unit, samples, n));
}

static inline void report_one(const struct device *d, const char *quantity, const char *unit, double value)
{
    report(d, quantity, 0, unit, &value, 1);
}

static inline void report_granules(const struct device *d, const char *quantity, int of, int granules)
{
    report(d, quantity, (size_t)of, "KiB", &(double){(double)granules * (double)d->granule / 1024}, 1);
}

// Of one registration, and of letting it go.
static inline void report_registration(const struct device *d, size_t bytes)
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

// Of times only where the memory sufficed for the first steps, and of registration only where it takes any.
static inline void report_times(const struct measure *m, const struct device *d)
{
    struct cost all = {0};
    for (int step = 0; step < EARLY; step++) {
        all.step += m->early[step].step / EARLY;
        all.registering += m->early[step].registering / EARLY;
        all.registered += m->early[step].registered / EARLY / 1024;
        all.checksum += m->early[step].checksum;
    }
    report_one(d, "step_time", "s", all.step);
    report_one(d, "checksum", "1", all.checksum);
    if (!(d->registers && all.registering > 0))
        return;
    report_one(d, "registering", "s", all.registering);
    report_one(d, "registered", "KiB", all.registered);
    for (size_t bytes = 16 * d->granule; bytes <= GRANULES / 2 * d->granule; bytes *= 4)
        report_registration(d, bytes);
}

static inline void report_memory(const struct measure *m, const struct device *d)
{
    report_one(d, "steps", "1", m->done);
    report_granules(d, "asked", 0, m->last.asked);
    report_granules(d, "free", 0, m->last.free);
    report_granules(d, "largest", 0, m->last.largest);
    for (int step = 0; step < m->looked; step++) {
        report_granules(d, "used", step + 1, m->looks[step].used);
        report_granules(d, "reserved", step + 1, m->looks[step].reserved);
        report_granules(d, "hole", step + 1, m->looks[step].hole);
    }
}

// When nothing is registered any more, for that is timed here alone.
static inline void measure_report(const struct measure *m, const struct device *d)
{
    if (m->done >= EARLY)
        report_times(m, d);
    report_memory(m, d);
}
