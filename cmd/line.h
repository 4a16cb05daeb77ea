// SPDX-License-Identifier: MIT How far apart the cores of ranks 0 and 1 are at present. A virtual machine's host moves
// its cores about, for seconds at a time: a line that took 60 ns then takes 200, and everything that was just written
// elsewhere costs three times as much. So a measurement says where it was made, and a prediction is for that place
// (clab_sim_options.line).
#pragma once

#include "clab.h"

// The factor beyond which two lines are not of the same placement.
#define LINE_FACTOR 1.5

// Half a round trip of 8 bytes between ranks 0 and 1, in seconds, by clab_send and clab_recv; some 50 us. Collective:
// all ranks get rank 0's figure; 0 where there is one rank only.
//   errors: the communicator's
int line_measure(struct clab_comm *comm, double *seconds_p);

// Whether two figures are of the same placement. Both > 0, or both 0
bool line_is_same(double a, double b);
