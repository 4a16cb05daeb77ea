// SPDX-License-Identifier: MIT
// The estimation of one round: what does not depend on how messages travel, and what the estimations share.

#include "sim/fit/inside.h"

#include <math.h>
#include <string.h>

#include "core/base/err.h"
#include "core/base/log.h"
#include "core/schedule/schedule.h"

enum { LANE_BYTES = 8 }; // of LANES' messages

static const char *const probe_names[CLAB_PROBES] = {
    "call",   "answer", "stages", "laned", "post", "stream", "pingpong", "exchange", "copy", "pull",
    "reduce", "add",    "lanes",  "sum",   "rest", "fetch",  "found",    "carry",    "home", "summed",
};

const char *clab_probe_name(enum clab_probe probe)
{
    return probe_names[probe];
}

const struct clab_sample *fit_find(struct fit_round *r, enum clab_probe probe, size_t level, enum clab_touch touch,
                                   enum clab_load load)
{
    static const struct clab_sample nothing = {.bytes = 1};
    for (int i = 0; i < r->n; i++) {
        const struct clab_sample *s = &r->samples[i];
        if (s->probe == probe && s->level == level && s->touch == touch && s->load == load)
            return s;
    }
    if (!r->err)
        clab_error("fit: the probe %s of level %zu (%s, %s) is missing", probe_names[probe], level,
                   touch == CLAB_FRESH ? "fresh" : "kept", load == CLAB_BOTH ? "both" : "alone");
    r->err = CLAB_EINVAL;
    return &nothing;
}

double fit_time(struct fit_round *r, enum clab_probe probe)
{
    return fit_find(r, probe, 0, CLAB_KEPT, CLAB_ALONE)->seconds;
}

struct fit_line fit_line_through(struct fit_round *r, enum clab_probe probe, size_t low, size_t high)
{
    double w = 0, wx = 0, wxx = 0, wy = 0, wxy = 0;
    for (int i = 0; i < r->n; i++) {
        const struct clab_sample *s = &r->samples[i];
        if (s->probe != probe || s->level || s->bytes < low || s->bytes > high || s->seconds <= 0)
            continue;
        double x = (double)s->bytes, weight = 1 / (s->seconds * s->seconds);
        w += weight;
        wx += weight * x;
        wxx += weight * x * x;
        wy += weight * s->seconds;
        wxy += weight * x * s->seconds;
    }
    double spread = w * wxx - wx * wx;
    if (w == 0 || !(spread > 1e-12 * w * wxx)) { // no sample, or all of one size
        if (w == 0 && !r->err)
            clab_error("fit: the probe %s has no sample from %zu to %zu bytes", probe_names[probe], low, high);
        r->err = w == 0 ? CLAB_EINVAL : r->err;
        return (struct fit_line){w == 0 ? 0 : wy / w, 0};
    }
    double slope = fit_at_least_0((w * wxy - wx * wy) / spread);
    return (struct fit_line){(wy - slope * wx) / w, slope};
}

// The time of a message of STREAM at `bytes`.
static double stream_at(struct fit_round *r, size_t bytes)
{
    const double seconds = fit_line_through(r, CLAB_PROBE_STREAM, bytes, bytes).start;
    return r->link->protocols->memory ? seconds - fit_time(r, CLAB_PROBE_CALL) : seconds;
}

size_t fit_next_level(const struct fit_round *r, size_t bytes)
{
    size_t next = 0;
    for (int i = 0; i < r->n; i++) {
        const struct clab_sample *s = &r->samples[i];
        if (s->probe == CLAB_PROBE_COPY && s->level > bytes && (!next || s->level < next))
            next = s->level;
    }
    return next;
}

// A call whose stages have nothing to do takes longer than one that has a single such stage.
static double fit_stage(struct fit_round *r, double call)
{
    const struct clab_algorithm *tree = clab_algorithm_find(CLAB_BARRIER, "tree");
    const struct clab_problem alone = {.collective = CLAB_BARRIER, .nranks = 1, .lanes = 1};
    double seconds = fit_time(r, CLAB_PROBE_STAGES);
    struct clab_step steps[8];
    int stages = 0;
    while (tree->width(&alone) < 8 && tree->stage(&alone, 0, 0, stages, steps) != CLAB_DONE)
        stages++;
    return stages > 1 ? fit_at_least_0(seconds - call) / (stages - 1) : 0;
}

// What a message on the next lane takes more than one on the same; and what a call takes for a lane, beside its stage.
static double fit_lane(struct fit_round *r, double call, double stage)
{
    const double between = r->link->protocols->memory ? call / CLAB_FIT_LANES : 0;
    const double each = fit_line_through(r, CLAB_PROBE_LANES, LANE_BYTES, LANE_BYTES).start;
    const double message = each - between - stream_at(r, LANE_BYTES);
    const double empty = (fit_time(r, CLAB_PROBE_LANED) - call) / (CLAB_FIT_LANES - 1) - stage;
    return fit_at_least_0(message) + fit_at_least_0(empty);
}

// A time is needed of every sample; a post may be less than the clock that it is measured by.
static int check_samples(const struct clab_sample *samples, int n)
{
    for (int i = 0; i < n; i++) {
        const struct clab_sample *s = &samples[i];
        if (isfinite(s->seconds) && (s->seconds > 0 || s->probe == CLAB_PROBE_POST))
            continue;
        clab_error("fit: the probe %s of %zu bytes (%s, %s) has no time: " FIT_REMEDY, probe_names[s->probe], s->bytes,
                   s->touch == CLAB_FRESH ? "fresh" : "kept", s->load == CLAB_BOTH ? "both" : "alone");
        return CLAB_EINVAL;
    }
    return CLAB_OK;
}

int clab_fit_round(const struct clab_sample *samples, int n, const struct clab_fit_link *link, struct clab_net *net_p)
{
    struct fit_round r = {.samples = samples, .n = n, .link = link};
    CLAB_TRY(check_samples(samples, n));
    struct clab_net net = {.name = "machine", .nodes = !link->across, .ranks_per_node = 1};
    struct clab_link *to = link->across ? &net.inter : &net.intra;
    to->present = true;
    strcpy(to->name, link->across ? "inter" : "intra");
    const double call = fit_time(&r, CLAB_PROBE_CALL);
    net.stage = fit_stage(&r, call);
    net.call = fit_at_least_0(call - net.stage);
    net.lane = fit_lane(&r, call, net.stage);
    (link->protocols->memory ? fit_memory : fit_wire)(&r, &net, to);
    if (net.nlevels == 0 && !r.err) {
        clab_error("fit: there is no copy probe, and so no level");
        r.err = CLAB_EINVAL;
    }
    if (!r.err)
        *net_p = net;
    return r.err;
}
