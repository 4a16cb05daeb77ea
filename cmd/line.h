// SPDX-License-Identifier: MIT How far apart the cores of ranks 0 and 1 are at present. A virtual machine's host moves
// its cores about, for seconds at a time: a line that took 60 ns then takes 200, and everything that was just written
// elsewhere costs three times as much. And while a neighbour uses the other half of a core, all that the core does takes a
// third longer. So a measurement says what the line took beside it, and a prediction is for that (clab_sim_options.line).
#pragma once

#include "clab.h"

// The factor beyond which two lines are not of the same placement.
#define LINE_FACTOR 1.5

// One short look: half a round trip of 8 bytes between ranks 0 and 1, in seconds, by clab_send and clab_recv; some 10 us.
// Collective, of two ranks at least; *seconds_p holds at rank 0.  errors: the communicator's
int line_look(struct clab_comm *comm, double *seconds_p);

// The median of a few looks. Collective: all ranks get rank 0's figure; 0 where there is one rank only.
//   errors: the communicator's
int line_measure(struct clab_comm *comm, double *seconds_p);

// Of `values` keep, in front, those beside which the line was that of the usual placement; returns how many, at least
// half. *line_p: the median of the n >= 1 lines.
int line_keep_same(double values[], const double lines[], int n, double *line_p);

// Whether two figures are of the same placement. Both > 0, or both 0
bool line_is_same(double a, double b);
