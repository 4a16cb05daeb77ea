// SPDX-License-Identifier: MIT
// Whether a student's actions train right: they are replayed on real numbers, on all ranks.
//
// - Each rank has a copy of a thin model (thin.h) and its own samples. Gradients are NaN until they are ready, and while
//   they travel. A collective adds up what all ranks' gradients are when they start it.
// - After all steps, all parameters of all ranks must be what sequential training gives.
// - Meanwhile the state of each gradient is followed. The first action that no right program does ends the replay, with a
//   message that names the mistake, the parameter, the step, the rank and the remedy.
#pragma once

#include "labs/homework/h3/actions.h"

enum { H3_WHY = 640 };

struct h3_verdict {
    bool is_right;
    char why[H3_WHY]; // if not
};

//   errors: CLAB_ENOMEM
int h3_replay(const struct h3_case *c, const struct h3_trace *trace, struct h3_verdict *verdict_p);
