// SPDX-License-Identifier: MIT
// Where the cores of ranks 0 and 1 are at present. A virtual machine's host moves its cores about, for seconds at a
// time: near each other; to where a line takes three times as long, and so does everything that was just written
// elsewhere; or to the two halves of one core, which share its caches and its time. And while a neighbour uses the
// other half of a core, all that the core does takes up to 1.7 times as long. So a measurement says what was seen
// beside it, and a prediction is for that (clab_sim_options.look).
#pragma once

#include "core/clab.h"
#include "sim/net/net.h"

// The factor beyond which two lines are not of the same placement.
#define LINE_FACTOR 1.5

enum { LINE_ROOM = 16 << 10 };

// A communicator of this rank alone, whose broadcasts are the empty calls of a look; collective over `comm`.
//   errors: clab_comm_split's
int line_alone(struct clab_comm *comm, struct clab_comm **alone_p);
// An empty call, as the probe of fit.h times them.
int line_call(struct clab_comm *alone);

// One short look between ranks 0 and 1, by clab_send and clab_recv, and at empty calls of all: some 40 us, more where
// cores are far. Collective; *look_p holds at rank 0; where there is one rank only, it has no line.
//   room:   LINE_ROOM bytes of clab_alloc; what lies there is written over
//   errors: the communicators'
int line_look(struct clab_comm *comm, struct clab_comm *alone, void *room, struct clab_look *look_p);

// How often the kernel has given this process's core to another so far.
double line_interruptions(void);

// Of `values` keep, in front, those beside which the cores were where they usually were, and at one pace; returns how
// many. A look of zeros is beside a value that was interrupted: it is kept only if so many were that fewer than a
// quarter would be left. Likewise of those at a slower pace than the fastest; then all at the usual pace are kept.
// *look_p: the medians of the looks that were kept, n >= 1.
int line_keep_same(double values[], const struct clab_look looks[], int n, struct clab_look *look_p);

// Half a round trip of 8 bytes in seconds, the median of a few. Collective: all ranks get rank 0's figure; 0 where
// there is one rank only.
//   errors: the communicator's
int line_measure(struct clab_comm *comm, double *seconds_p);

// Whether a core was no slower than the fastest that was seen, where calls took `least`.
bool line_is_calm(double call, double least);

// Whether two figures are of the same placement. Both > 0, or both 0
bool line_is_same(double a, double b);
