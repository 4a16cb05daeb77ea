// SPDX-License-Identifier: MIT
// Flows that share links max-min fairly: no flow can get more without taking it from a flow that has less. Rates are
// constant between two events. When a flow begins or ends, all rates are computed anew: they rise together until a link
// is full, its flows keep their rates, and the others rise on.
// - A flow that never had less than it can take ends exactly when it would have alone.
// - Answers depend on the order of calls and nothing else.
// Source: Bertsekas and Gallager 1992, "Data Networks", section 6.5.2 (max-min flow control); it is what SimGrid does.
#pragma once

#include <stdbool.h>

#include "sim/engine/ticks.h"

enum { FLOW_LINKS = 64 }; // that a flow passes at most

struct flow {
    double rate, most;  // B/s
    double left, since; // bytes, at that time, in s; once it was slowed
    double end;         // s: when it ends at its present rate
    int links[FLOW_LINKS], nlinks;
    int tag; // the caller's
    bool slowed;
};

struct flows {
    struct flow *flows; // (n)
    int n, room;
    int *open, open_room; // (n) flows that have no rate yet
    double *capacity;     // (nlinks) B/s
    double *spare;        // (nlinks) not given away yet
    double *share;        // (nlinks) of it, per flow that has no rate yet
    int *users;           // (nlinks) flows whose rate is not fixed yet
    int *touched;         // (nlinks) links with flows
    int nlinks;
    double now;  // s: of the last change
    double next; // s: when the next flow ends, if not stale
    bool stale;  // rates must be found anew
    struct ticks ticks;
};

// All links have no capacity yet.  errors: CLAB_ENOMEM
int flows_init(struct flows *f, int nlinks, struct ticks ticks);
void flows_free(struct flows *f);

// From `now` on, until `end` if it always gets `most`.  errors: CLAB_ENOMEM
int flows_add(struct flows *f, double now, double end, double most, const int *links, int nlinks, int tag);

// When the next one ends; n > 0.
double flows_next(struct flows *f);
// Remove one that ends at `when`, which is flows_next(); false: there is none left that does.
bool flows_take(struct flows *f, double when, int *tag_p);
