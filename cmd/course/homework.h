// SPDX-License-Identifier: MIT
// The homework that a student has begun: the folders work/h1 to work/h9.
#pragma once

#include "cmd/course/unit.h"

// A line per homework that has a folder: whose it is, its sheet, and the command that says its points. None: nothing.
void course_say_homework(const struct course *course);
