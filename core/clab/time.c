// SPDX-License-Identifier: MIT
// Time as programs see it: that of the job's backend.
//
// - clab_seconds has no job to ask: a process has one job at a time, and its domain is noted here.

#include <math.h>

#include "core/base/clock.h"
#include "core/base/machine/kept.h"
#include "core/base/log.h"
#include "core/base/variables.h"
#include "core/clab/counts.h"
#include "core/clab/inside.h"
#include "core/comm/comm.h"
#include "core/comm/progress.h"

static const struct clab_domain *followed; // NULL: there is no job, and time is the wall's

void clab_time_follow(const struct clab_domain *domain)
{
    followed = domain;
}

bool clab_time_is_exact(void)
{
    return followed && followed->backend->time->is_exact;
}

double clab_seconds(void)
{
    return followed ? followed->backend->time->now(followed) : clab_now();
}

double clab_seconds_kept(void)
{
    const double kept = clab_time_is_exact() ? 0 : clab_kept();
    return isnan(kept) ? 0 : kept;
}

// A check counts, and looks at no time that is measured.
static bool is_once_enough(void)
{
    return clab_time_is_exact() || clab_variable_given(CLAB_VARIABLE_COUNTS);
}

int clab_repeats(double seconds, double once)
{
    enum { MOST = 1 << 22 };
    const double more = is_once_enough() ? 0 : seconds / once;
    return more < MOST ? 1 + (int)fmax(0, more) : MOST;
}

int clab_samples(int wanted)
{
    return is_once_enough() ? 1 : wanted;
}

static void begin_trace(struct clab_job *job, const char *name)
{
    if (job->trace)
        clab_trace_span_begin(job->trace, name); // by the program's thread alone, as what is open
}

static void end_trace(struct clab_job *job)
{
    if (!job->trace)
        return;
    clab_trace_span_stop(job->trace);
    clab_job_enter(job);
    clab_trace_span_end(job->trace);
    clab_job_leave(job);
}

int clab_compute(struct clab_job *job, enum clab_precision precision, double flop, double bytes)
{
    const struct clab_time *time = job->backend->time;
    if ((unsigned)precision >= CLAB_PRECISIONS || !(flop >= 0 && bytes >= 0)) {
        clab_error("clab_compute: %g flop and %g bytes, of precision %d, are no work", flop, bytes, (int)precision);
        return CLAB_EINVAL;
    }
    if (!time->is_exact)
        return CLAB_OK;
    begin_trace(job, flop > 0 ? "compute" : CLAB_SPAN_MEMORY);
    if (job->trace && flop == 0)
        clab_trace_span_bytes(job->trace, bytes);
    const double start = clab_seconds();
    const int err = time->compute(job->domain, precision, flop, bytes);
    job->counts.computed += clab_seconds() - start;
    end_trace(job);
    return err;
}

void clab_span_begin(struct clab_job *job, const char *name)
{
    begin_trace(job, name);
    clab_count_begin(job, name);
}

void clab_span_end(struct clab_job *job)
{
    clab_count_end(job);
    end_trace(job);
}
