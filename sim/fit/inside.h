// SPDX-License-Identifier: MIT
// What the estimations share: samples by their conditions, and lines through them.
#pragma once

#include "sim/fit/fit.h"

// What helps against samples that are of no use.
#define FIT_REMEDY "let nothing else run meanwhile, or measure for longer: --seconds 60s"

// The samples of a round. The first that is missing sets `err`, and logs it; what is computed from it is of no use.
struct fit_round {
    const struct clab_sample *samples;
    int n;
    const struct clab_fit_link *link;
    int err;
};

static inline double fit_at_least_0(double x)
{
    return x > 0 ? x : 0;
}

// The sample of exactly these conditions.
const struct clab_sample *fit_find(struct fit_round *r, enum clab_probe probe, size_t level, enum clab_touch touch,
                                   enum clab_load load);
// The time of a probe that has one size and no level.
double fit_time(struct fit_round *r, enum clab_probe probe);

// seconds = start + slope * bytes, through the samples of a probe without level whose sizes are in [low, high]. Each
// residual counts by its share of the sample, since small messages matter as much as large ones.
struct fit_line {
    double start, slope; // s, s/B >= 0
};
struct fit_line fit_line_through(struct fit_round *r, enum clab_probe probe, size_t low, size_t high);

// The least level of a COPY above `bytes`; 0: there is none.
size_t fit_next_level(const struct fit_round *r, size_t bytes);

// ---- memory.c, wire.c: a link, and the levels, of a net that has call and stage -------------------------------------

void fit_memory(struct fit_round *r, struct clab_net *net, struct clab_link *link);
void fit_wire(struct fit_round *r, struct clab_net *net, struct clab_link *link);
