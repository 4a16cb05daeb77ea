// SPDX-License-Identifier: MIT
// The student's path: what a unit's state is, and the one thing to do next.
//
// - A unit of the primer: read, start, edit and check until it passes.
// - Before the first lab: `fit` (where this machine is not measured), `card`. The primer needs neither.
// - A lab: read, predict, run, start, edit and check until it passes. Then compare with after.c, and explain.
// - What has been read or explained leaves no trace, so it is said beside the next command.
#pragma once

#include <stddef.h>

#include "cmd/kit/journal.h"
#include "cmd/course/unit.h"

struct course_step {
    const struct course_unit *unit; // NULL: of no unit
    char end[640];    // of the unit before it, which has just passed: what is left to do there; "": nothing
    char before[512]; // what to do before the command: "read labs/07-ring-vs-tree/lab.md"; "": nothing
    char command[64]; // "./commlab predict 07"
    char why[384];    // one sentence
};

// The next step of the course: of its first unit that has not passed.
//   unit: that has the say, unless it has passed; NULL: none
void course_next(const struct course *course, const struct journal *journal, const struct course_unit *unit,
                 struct course_step *step_p);

// The unit's state in words: "failed: case 3", "passed".
void course_state(const struct journal *journal, const struct course_unit *unit, char *text_p, size_t room);

// In one line, for the end of another command: "Next: edit work/07/mine.c; then type ./commlab check 07".
void course_print_step(const struct course_step *step);
