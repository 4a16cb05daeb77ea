// SPDX-License-Identifier: MIT
// A run laid out for account.c: its collectives with all ranks' times side by side, and what is known of each kind.
//
// - A desk may be of one step: then its exchanges, computes and calls are those of the step, and what is known of a kind
//   of calls stays that of the whole run.
#pragma once

#include "cmd/bottleneck/account.h"

// One collective of all ranks.
struct exchange {
    double last;     // s: when the last rank came
    int late;        // which one
    double transfer; // s from then until the last rank was done
    double exposed;  // s of that in which no rank computes
    double
        waited; // s before that, and of that, in which a rank computes nothing, but waits for others: mean over ranks
    int kind;
};

// What is known of a kind of calls.
struct kind {
    const struct bottleneck_call *call;
    int n;           // on this desk
    bool has_median; // the whole run has enough of them
    double usual;    // s: the median of its transfers
    double fast;     // s: what the network itself takes; virtual time: the usual, else what a tenth of them stay below
    double expected; // s by the network; NAN: not known
};

struct desk {
    const struct bottleneck_run *run;
    const struct clab_net *net;
    struct exchange *exchanges; // (n)
    struct kind *kinds;         // (run->kinds)
    int n;
    struct bottleneck_rank busy; // its computes: when any rank computes
    double empty;                // s that an allreduce without bytes takes
    double expected_empty;
};

// errors: CLAB_ENOMEM; the desk is to be cleared all the same
int bottleneck_desk_lay(const struct bottleneck_run *run, const struct clab_net *net, struct desk *desk_p);
void bottleneck_desk_clear(struct desk *desk);

// A desk of one step, in `run`, `ranks` (run->n) and `kinds` (run->kinds) of the caller's. All other memory is `whole`'s.
struct step_room {
    struct bottleneck_run run;
    struct bottleneck_rank *ranks;
    struct kind *kinds;
};
struct desk bottleneck_desk_step(const struct desk *whole, int step, struct step_room *room);

// Seconds from `begin` to `end` in which the rank computes nothing.
double bottleneck_idle(const struct bottleneck_rank *rank, double begin, double end);
static inline size_t bottleneck_bytes(const struct kind *kind)
{
    return kind->call->count * kind->call->element_bytes;
}
// Whether ranks wait in it for one rank, or, in a barrier, for the last one, and not for data of all others.
bool bottleneck_is_rooted(enum clab_collective collective);
