// SPDX-License-Identifier: MIT
// Schedules for other simulators: GOAL, the text format of LogGOPSim and its relatives.
//
// - Per rank: sends, receives and calculations, and what requires what; a lane's number is the tag of its messages.
// - A stage's steps require the end of the stage before it, which is a calculation: as long as its reductions take.
// - Copies take no time. Source: Hoefler, Schneider and Lumsdaine 2010, "LogGOPSim".
#pragma once

#include <stdio.h>

#include "schedule/schedule.h"

// Write `algorithm` at work on `problem`, whose count is in elements of `element_bytes`; a byte reduced takes
// `reduce_seconds`, and times are written in whole nanoseconds.
//   errors: CLAB_ENOMEM
int clab_export_goal(const struct clab_problem *problem, const struct clab_algorithm *algorithm, size_t element_bytes,
                     double reduce_seconds, FILE *out);
