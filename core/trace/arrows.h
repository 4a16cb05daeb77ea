// SPDX-License-Identifier: MIT
// The messages of a timeline: computed from what was called, matched by rule 3 of schedule.h.
#pragma once

#include "core/trace/timeline.h"

// What a stage sends and receives in all; `to` and `from` are ranks of its communicator, the first of several; -1:
// none.
struct clab_arrow_ends {
    int to, from;
    size_t sent, received; // bytes
};

struct clab_arrow {
    int sent, received; // stages of the timeline
};

struct clab_arrows {
    struct clab_arrow_ends *ends; // (nstages)
    struct clab_arrow *arrows;    // (n)
    int n;
};

// Of a timeline whose stages are sorted by process, serial, lane and stage. Of calls whose stages are not all there,
// and of algorithms that are not ours, there are no arrows.
//   errors: CLAB_ENOMEM
int clab_arrows_find(const struct clab_timeline *timeline, struct clab_arrows *arrows_p);
void clab_arrows_free(struct clab_arrows *arrows);
