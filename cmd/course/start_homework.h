// SPDX-License-Identifier: MIT
// commlab start hN --student ID: gives a student the starter of a homework, and the files that are this student's own.
#pragma once

#include <stdbool.h>

// Whether the words of the command line ask for a homework: one is "h1", "h2", ...
bool start_is_homework(int argc, char **argv);
// Copy labs/homework/hN/starter/* to work/hN, where what is there already stays; write the student's own files (struct
// homework). Returns the exit status.
int start_homework(int argc, char **argv);
