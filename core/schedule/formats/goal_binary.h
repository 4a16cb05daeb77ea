// SPDX-License-Identifier: MIT
// GOAL in LogGOPSim's binary form, as its txt2bin writes it.
//
// - 8 bytes of a mark, the number of ranks (4), the highest cpu (1) and nic (1); for each rank where it begins and ends
//   (8 each, counted behind the mark); then the ranks, one behind the other: how many operations (4), how many that
//   wait for nothing (4), these (4 each), the operations, and behind them their followers (4 each).
// - An operation has 39 bytes: for how many it waits (4), type (1), peer (4), size (8), tag (4), cpu (1), nic (1), how
//   many wait for its end (4), the first of them (4), and the same for its begin. Followers are in this order.
// - Numbers are little-endian. In messages operations have their number in the file, where text has its line.
#pragma once

#include "core/schedule/formats/goal_build.h"
#include "core/schedule/formats/goal_words.h"

// Whether the file begins with the mark.
bool goal_binary_is(struct goal_words *w);

// Read all ranks; the mark is still there.  errors: CLAB_EPARSE (logged), CLAB_ENOMEM
int goal_binary_read(struct goal_words *w, struct goal_builder *b);
