// SPDX-License-Identifier: MIT
// The units of the course, in the order in which a student does them: the primer (labs/primer/pN-name), then the labs
// (labs/NN-name). All commands of the course find units, and the student's files, through this list.
//
// - A unit's files lie in its folder. The student's files of unit 07 lie in work/07/, below the kit's folder.
// - An empty folder of units is no error here: who needs a file of the unit says that it is missing.
#pragma once

#include <limits.h>
#include <stdbool.h>

struct course_unit {
    char id[8];     // "p1", "07": also the name of its folder in work/
    bool is_primer; // no prediction and no `lab` command
    char *folder;   // "labs/07-ring-vs-tree": seen from the kit's folder
    char *title;    // of lab.md, without "Lab 07 · "; without a lab.md the folder's name
    int nhints;     // hints/1.md, hints/2.md, ...
};

struct course {
    char *root; // the kit's folder
    struct course_unit *units;
    int nunits, room;
};

// Closed by course_close, also after an error.
//   errors: those of kit_root (kit.h), CLAB_ENOENT (no folder labs/; logged), CLAB_ENOMEM
int course_open(struct course *course_p);
void course_close(struct course *course);

// The unit that `id` means: "p1", "07", "7", "07-ring-vs-tree" or "ring-vs-tree". NULL: none was given.
//   command: that asks, for the message: "start"
//   errors:  CLAB_EINVAL, logged with the nearest word and all ids
int course_find(const struct course *course, const char *command, const char *id, const struct course_unit **unit_p);

// Run a command that takes one unit and no flag but --help. argv[0] is "commlab NAME". `about` is for --help. Returns
// its exit status.
//   is_optional: without a unit, `act` gets NULL
int course_run(int argc, char **argv, const char *about, bool is_optional,
               int (*act)(const struct course *course, const struct course_unit *unit));

// Whole paths: of the unit's own file ("before.c", "hints/2.md"), of the student's ("mine.c", "predict.txt"; "": the
// folder work/07), and of a file in work/ itself ("progress.txt").
//   errors: CLAB_EINVAL (longer than a path may be; logged)
int course_unit_path(const struct course *course, const struct course_unit *unit, const char *file,
                     char path_p[PATH_MAX]);
int course_mine_path(const struct course *course, const struct course_unit *unit, const char *file,
                     char path_p[PATH_MAX]);
int course_work_path(const struct course *course, const char *file, char path_p[PATH_MAX]);

// Whether the unit's after.c is there: not in what a class is given (pack/handout.sh).
bool course_has_solution(const struct course *course, const struct course_unit *unit);
