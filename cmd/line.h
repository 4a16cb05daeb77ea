// SPDX-License-Identifier: MIT
// Where the cores of ranks 0 and 1 are at present. A virtual machine's host moves its cores about, for seconds at a time:
// near each other; to where a line takes three times as long, and so does everything that was just written elsewhere; or
// to the two halves of one core, which share its caches and its time. And while a neighbour uses the other half of a core,
// all that the core does takes up to half as long again. So a measurement says what was seen beside it, and a prediction
// is for that (clab_sim_options.look).
#pragma once

#include "clab.h"
#include "net.h"

// The factor beyond which two lines are not of the same placement.
#define LINE_FACTOR 1.5

enum { LINE_ROOM = 16 << 10 };

// One short look between ranks 0 and 1, by clab_send and clab_recv: some 20 us, more where cores are far. Collective;
// *look_p holds at rank 0, and is zeros where there is one rank only.
//   room:   LINE_ROOM bytes of clab_alloc; what lies there is written over
//   errors: the communicator's
int line_look(struct clab_comm *comm, void *room, struct clab_look *look_p);

// How often the kernel has given this process's core to another so far.
double line_interruptions(void);

// Of `values` keep, in front, those beside which the cores were where they usually were; returns how many. A look of
// zeros is beside a value that was interrupted: it is kept only if so many were that fewer than a quarter would be left.
// *look_p: the medians of the looks that were kept, n >= 1.
int line_keep_same(double values[], const struct clab_look looks[], int n, struct clab_look *look_p);

// Half a round trip of 8 bytes in seconds, the median of a few. Collective: all ranks get rank 0's figure; 0 where there
// is one rank only.
//   errors: the communicator's
int line_measure(struct clab_comm *comm, double *seconds_p);

// Whether two figures are of the same placement. Both > 0, or both 0
bool line_is_same(double a, double b);
