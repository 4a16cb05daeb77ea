// SPDX-License-Identifier: MIT
// Time as programs see it: that of the wall, or, on the backend sim, this rank's clock in virtual time.
//
// - clab_seconds has no job to ask: a process has one job at a time, and its clock is noted here.
// - Virtual time moves where a program waits for what it has started, and where it says what it computes.

#include <math.h>

#include "core/base/clock.h"
#include "core/base/log.h"
#include "core/comm/comm.h"
#include "backends/model/virtual.h"

static const struct clab_clock *virtual_time; // NULL: it is the wall's

void clab_clock_follow(const struct clab_job *job)
{
    virtual_time = job ? clab_clock_of(job) : NULL;
}

struct clab_clock *clab_clock_of(const struct clab_job *job)
{
    return job->backend->time->is_exact ? clab_sim_clock(job->domain) : NULL;
}

double clab_seconds(void)
{
    return virtual_time ? virtual_time->now : clab_now();
}

int clab_repeats(double seconds, double once)
{
    enum { MOST = 1 << 22 };
    const double more = virtual_time ? 0 : seconds / once;
    return more < MOST ? 1 + (int)fmax(0, more) : MOST;
}

int clab_samples(int wanted)
{
    return virtual_time ? 1 : wanted;
}

int clab_compute(struct clab_job *job, enum clab_precision precision, double flop, double bytes)
{
    struct clab_clock *clock = clab_clock_of(job);
    if ((unsigned)precision >= CLAB_PRECISIONS || !(flop >= 0 && bytes >= 0)) {
        clab_error("clab_compute: %g flop and %g bytes, of precision %d, are no work", flop, bytes, (int)precision);
        return CLAB_EINVAL;
    }
    if (!clock)
        return CLAB_OK;
    clab_span_begin(job, "compute");
    const int err = clab_clock_compute(clock, precision, flop, bytes);
    clab_span_end(job);
    return err;
}

void clab_clock_settle(struct clab_work *work)
{
    struct clab_comm *comm = work->comm;
    if (!comm->clock || !comm->endpoint)
        return;
    if (!work->algorithm)
        work->due = comm->backend->time->settle(comm->endpoint, &work->transfer);
    clab_clock_reach(comm->clock, work->due);
    if (comm->tape)
        clab_tape_end(comm->tape, work);
}
