// SPDX-License-Identifier: MIT
// How long a batch of a probe's turns takes.

#include "cmd/fit/batch.h"

#include "core/base/clock.h"
#include "core/base/relax.h"

// Rank 0 does not see when a message arrives over a wire: its time ends when rank 1 tells it.
static bool must_be_told(const struct fit_ranks *r, const struct fit_task *task)
{
    bool one_way = task->how->probe == CLAB_PROBE_STREAM || task->how->probe == CLAB_PROBE_LANES;
    return one_way && !r->comm->backend->protocols.memory;
}

static double time_turns(struct fit_ranks *r, const struct fit_task *task, int turns)
{
    fit_meet(r);
    double begin = clab_now();
    for (int i = 0; i < turns && !r->err; i++) {
        task->how->turn(r, task->bytes);
        if (task->how->calls)
            fit_turn_call(r, task->bytes);
    }
    if (must_be_told(r, task))
        fit_tell(r);
    return (clab_now() - begin) / turns / task->how->messages;
}

// Long messages do not find room in a token bucket in any case.
bool fit_task_rests(const struct fit_ranks *r, const struct fit_task *task)
{
    enum { SHORT = 64 };
    const enum clab_probe probe = task->how->probe;
    return probe == CLAB_PROBE_REST || probe == CLAB_PROBE_FETCH || probe == CLAB_PROBE_FOUND ||
           probe == CLAB_PROBE_CARRY ||
           (probe == CLAB_PROBE_POST && task->bytes <= SHORT && !r->comm->backend->protocols.memory);
}

// For which a wire rests: a token bucket has room for a small message again, and a rank that waits still polls; and in
// which a few small messages arrive on any wire of 10 Mbit/s.
static const double short_rest = 1.5e-4, long_rest = 4e-4;

static void rest(double seconds)
{
    const double end = clab_now() + seconds;
    while (clab_now() < end)
        clab_relax();
}

void fit_rest(double more)
{
    rest(short_rest + more);
}

// Bursts that fit into the receiver's mailboxes, each after a fence: the sender never finds them full, nor a wire busy.
static double time_post(struct fit_ranks *r, const struct fit_task *task, int turns)
{
    double sum = 0;
    int bursts = turns / FIT_BURST + 1;
    for (int i = 0; i < bursts && !r->err; i++) {
        fit_meet(r);
        if (r->rank == 0 && fit_task_rests(r, task))
            fit_rest(0);
        double begin = clab_now();
        for (int k = 0; k < FIT_BURST; k++)
            task->how->turn(r, task->bytes);
        sum += clab_now() - begin - r->clock_cost;
    }
    return sum / bursts / FIT_BURST;
}

// Each turn after a rest of rank 0.
static double time_rested(struct fit_ranks *r, const struct fit_task *task, int turns)
{
    double sum = 0;
    for (int i = 0; i < turns && !r->err; i++) {
        if (r->rank == 0)
            fit_rest(0);
        const double begin = clab_now();
        task->how->turn(r, task->bytes);
        sum += clab_now() - begin - r->clock_cost;
    }
    return sum / turns / task->how->messages;
}

// Bursts that rank 0 receives when all of their messages have come.
static double time_fetch(struct fit_ranks *r, const struct fit_task *task, int turns)
{
    double sum = 0;
    const int bursts = turns / FIT_BURST + 1;
    for (int i = 0; i < bursts && !r->err; i++) {
        fit_meet(r);
        if (r->rank == 0)
            rest(long_rest + 2 * FIT_BURST * r->each * (double)task->bytes);
        const double begin = clab_now();
        for (int k = 0; k < FIT_BURST; k++)
            task->how->turn(r, task->bytes);
        sum += clab_now() - begin - r->clock_cost;
    }
    return sum / bursts / FIT_BURST;
}

// Likewise of many, of which it first takes a few.
static double time_found(struct fit_ranks *r, const struct fit_task *task, int turns)
{
    enum { FIRST = 8, MORE = 24, BYTES = 136 }; // on the wire
    const double post = 1e-5;                   // s, at most, of the sender's core
    double sum = 0;
    const int bursts = turns * FIT_BURST / (FIRST + MORE) + 1;
    for (int i = 0; i < bursts && !r->err; i++) {
        fit_meet(r);
        if (r->rank == 0)
            rest(long_rest + (FIRST + MORE) * (post + 2 * r->each * BYTES));
        for (int k = 0; k < FIRST; k++)
            task->how->turn(r, task->bytes);
        const double begin = clab_now();
        for (int k = 0; k < MORE; k++)
            task->how->turn(r, task->bytes);
        sum += clab_now() - begin - r->clock_cost;
    }
    return sum / bursts / MORE;
}

// Seconds that were taken from a core that does nothing but look at the clock.
static double look_on(double seconds)
{
    const double looks = 5e-7; // longer than a look at the clock
    double last = clab_now(), now = last, taken = 0;
    for (const double end = last + seconds; now < end; last = now) {
        now = clab_now();
        taken += now - last > looks ? now - last : 0;
    }
    return taken;
}

// Until a message is handed over; and what the kernel takes of the core while the wire carries it.
static double time_carry(struct fit_ranks *r, const struct fit_task *task, int turns)
{
    double sum = 0;
    for (int i = 0; i < turns && !r->err; i++) {
        fit_meet(r);
        const double begin = clab_now();
        task->how->turn(r, task->bytes);
        sum += clab_now() - begin - r->clock_cost;
        if (r->rank == 0)
            sum += look_on(short_rest + 2 * r->each * (double)task->bytes);
    }
    return sum / turns;
}

double fit_batch_time(struct fit_ranks *r, const struct fit_task *task, int turns)
{
    switch (task->how->probe) {
    case CLAB_PROBE_POST: return time_post(r, task, turns);
    case CLAB_PROBE_REST: return time_rested(r, task, turns);
    case CLAB_PROBE_FETCH: return time_fetch(r, task, turns);
    case CLAB_PROBE_FOUND: return time_found(r, task, turns);
    case CLAB_PROBE_CARRY: return time_carry(r, task, turns);
    default: return time_turns(r, task, turns);
    }
}
