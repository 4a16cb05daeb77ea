// SPDX-License-Identifier: MIT
// What a student's code has done in a case, as the harness wrote it down: data that nobody trusts.
//
// - The order in which gradients come is the case's, not the student's to say: text that says otherwise is refused.
// - What is refused, or ended early, keeps what was there until then.
#pragma once

#include <stddef.h>

#include "labs/homework/h3/case.h"

enum h3_kind { H3_STEP, H3_READY, H3_FINISH, H3_DONE, H3_REDUCE, H3_WAIT, H3_SCALE, H3_UPDATE };

struct h3_action {
    enum h3_kind kind;
    int first, count; // parameters; READY: first; WAIT: first is the handle
    double factor;    // SCALE
};

enum h3_end {
    H3_ENDED, // returned from all steps
    H3_LEFT,  // ended the program
    H3_MANY,  // more than H3_ACTIONS in a step
    H3_DIED,  // by a signal
    H3_UNRUN, // nothing is there: one before it computed without an end
    H3_BROKEN // no such text is written by the harness
};

struct h3_rank {
    struct h3_action *actions;
    int n, room;
    enum h3_end end;
    int signal; // of H3_DIED
};

struct h3_trace {
    struct h3_rank rank[H3_RANKS];
};

// The actions of case `which` from the text at *text_p, which moves behind them.
//   errors: CLAB_ENOMEM
int h3_trace_read(const struct h3_case *c, int which, const char **text_p, const char *end, struct h3_trace *trace_p);
void h3_trace_free(struct h3_trace *trace);
