// SPDX-License-Identifier: MIT
// What the files of `commlab grade` share (homework.h is for the homeworks).
//
// - grade.c    the command: reads its line, lets the homework's grade.c judge, says what came of it.
// - points.c   awards and messages.
// - guest.c    compiles the student's code, and runs it, in the sandbox.
// - files.c    reads what was handed in, and what the code left.
// - results.c  the table, and the files for instructors and platforms.
#pragma once

#include <limits.h>
#include <stdarg.h>

#include "cmd/grade/homework.h"
#include "cmd/sandbox/sandbox.h"

enum { GRADING_TESTS = 24, GRADING_TEXT = 4096, GRADING_KEPT = 256, GRADING_GIVEN = 16 };

struct grading_result {
    bool is_awarded;
    double points;
    char text[GRADING_TEXT]; // its message, then its notes, a line each
};

struct grading {
    const struct homework *homework;
    const char *id, *student, *salt; // "h2", "ada"; salt NULL: practice
    char submission[PATH_MAX];       // exact
    const char *root, *build;        // of the kit
    char folder[PATH_MAX], box[PATH_MAX]; // ours; the guest's below it
    struct sandbox_walls without;
    double left;                     // real s that the submission still has
    int err;                         // not the student's fault
    struct grading_result results[GRADING_TESTS];
    char rejected[GRADING_TEXT];
    bool is_ranked;
    double rank;
    void *kept[GRADING_KEPT]; // what was read
    int nkept;
    char given[GRADING_GIVEN][64]; // names of what runs are given
    int ngiven;
};

int grading_tests(const struct grading *g);
// All tests' points: those that can be had, and those of this submission.
double grading_most(const struct grading *g);
double grading_score(const struct grading *g);

// Read a plain file of at most `most` bytes, which no link leads to; a 0 follows its bytes.  NULL: *why_p says why
char *grading_slurp(struct grading *g, const char *path, size_t most, size_t *bytes_p, const char **why_p);

// Remove a folder with all that a guest left there, however deep, and whatever its rights are.
void grading_remove(const char *path);

struct grade_files {
    const char *csv, *json, *junit, *gradescope; // NULL: not written
};
#define GRADE_AS_ABOVE "the same as above" // instead of a long message that the test before has, too
#define GRADE_NOT_COMPILED "it can not be compiled" // how such a message begins
void grade_print(const struct grading *g);
// The files hold neither times nor machines: the same submission gives the same bytes.
//   errors: CLAB_EIO, CLAB_EUNSUPPORTED (no JSON here), CLAB_ENOMEM
int grade_write(const struct grading *g, const struct grade_files *files);
