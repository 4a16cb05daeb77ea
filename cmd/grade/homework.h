// SPDX-License-Identifier: MIT
// What a homework's grade.c uses: it turns what a student handed in into points.
//
//     static void grade(struct grading *g)
//     {
//         if (!grading_build(g, "labs/homework/h2/harness.c"))
//             return;
//         const struct grading_run run = grading_run(g, "4 ring.net", 5.0);
//         size_t bytes;
//         const char *schedule = grading_file(g, "schedule", 1 << 20, &bytes);
//         if (schedule && is_proved(schedule, bytes))
//             grading_award(g, "proof", 1.0, "proved for 2 to 64 ranks");
//     }
//     static const struct homework_test tests[] = {{"proof", "the sum is right for every number of ranks", 30}, {0}};
//     const struct homework HOMEWORK = {.file = "mine.c", .tests = tests, .grade = grade};
//
// - The student's code only makes *data*: a schedule, the actions of a training step, predicted times. The grader proves
//   and prices these data itself, in virtual time. So there is no clock, no counter and no verdict that the code could
//   reach, and a score is the same on every machine, busy or not.
// - The code is compiled and run in a sandbox (cmd/sandbox), in an empty folder, with a clean environment. What it leaves is
//   read as data: of bounded size, and no links.
// - A submission gets GRADING_SECONDS of two cores in all, and each compilation or run GRADING_RUN_SECONDS of them, or less.
//   What is over that ends, and costs the tests that needed it.
// - The first award of a test counts. A test that nothing is awarded to has no points, and says the last reason that
//   grading_fail gave, or that the homework's build gave.
// - Seeds come from the student's ID and from the class's salt, so hidden tests differ from those that a student sees.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct grading;

// Real seconds: of all that is compiled and run for a submission, and of one compilation or run at most.
enum { GRADING_SECONDS = 60, GRADING_RUN_SECONDS = 20 };

// One row of a result. Points of all tests of a homework: those of its rubric that a machine gives.
struct homework_test {
    const char *key;   // "proof"
    const char *title; // what holds if it passes
    double points;
    bool hidden;       // its messages are for the instructor alone, until the grades are published
};

// What a teacher asks a student in person, to see who wrote it, and what to expect. It follows from the student's seed.
enum { HOMEWORK_QUESTIONS = 2, HOMEWORK_QUESTION = 480 };
struct homework_question {
    char question[HOMEWORK_QUESTION], answer[HOMEWORK_QUESTION];
};

// What a homework's grade.c defines, by the name that the build gives it.
struct homework {
    const char *title;                 // "An allreduce for your own cluster"
    const char *file;                  // what is handed in: "mine.c"; with a '/' at its end: a folder
    const struct homework_test *tests; // ended by a row without a key
    const char *leaderboard;           // what it ranks, with its unit: "step time (ms)"; NULL: none
    void (*grade)(struct grading *g);
    // What `commlab start h2 --student ID` does beside copying starter/: writes this student's seeded files into `folder`.
    // NULL: nothing. Seeds are those of seed.h without a salt.  errors: logged
    int (*start)(const char *student, const char *folder);
    // Two questions about the files that `start` writes.  errors: logged
    int (*ask)(const char *student, struct homework_question questions_p[HOMEWORK_QUESTIONS]);
};

// ---- what is graded ------------------------------------------------------------------------------------------------

// A number that depends on the student, the salt and the name alone. The same on every machine.
//   is_hidden: with the class's salt; false: what the student's own copy gives, too
uint64_t grading_seed(struct grading *g, const char *name, bool is_hidden);
const char *grading_student(const struct grading *g);

// ---- code ----------------------------------------------------------------------------------------------------------

// Compile the student's file together with `harness`, a path from the kit's root, against the kit's headers and library.
// False: it can not be built, and all tests say why; or it includes a file that is no header of its task, and is rejected.
bool grading_build(struct grading *g, const char *harness);

struct grading_run {
    bool ended;       // by itself, with exit status 0
    char why[512];    // if not: one or more lines that say so, with what it complained of
    double seconds;   // real ones: for limits, never for points
};

// Give the next runs a file, in the folder in which they start.
void grading_give(struct grading *g, const char *name, const void *data, size_t bytes);
// Run what was built, in the sandbox.  arguments: words with one space between them
//   seconds: real ones, at most; less if the submission's time is nearly over
struct grading_run grading_run(struct grading *g, const char *arguments, double seconds);
// What the last run left under this name, and its size; it lives until the grading is over. NULL: not there, no plain
// file, or larger than `most`; tests that still have no points then say so.
const char *grading_file(struct grading *g, const char *name, size_t most, size_t *bytes_p);
// The same of what was handed in. name: "" for the file itself, or a name in the folder
const char *grading_read(struct grading *g, const char *name, size_t most, size_t *bytes_p);

// ---- points --------------------------------------------------------------------------------------------------------

// Give a share, from 0 to 1, of a test's points, and say why.
void grading_award(struct grading *g, const char *key, double share, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
// From now on this is why tests without an award have no points. key NULL: all of them.
void grading_fail(struct grading *g, const char *key, const char *format, ...) __attribute__((format(printf, 3, 4)));
// One more line below a test's message.
void grading_note(struct grading *g, const char *key, const char *format, ...) __attribute__((format(printf, 3, 4)));
// Cheated: all tests have no points, whatever was awarded. The reason is the instructor's to read.
void grading_reject(struct grading *g, const char *format, ...) __attribute__((format(printf, 2, 3)));
// A number for the leaderboard; smaller is better.
void grading_rank(struct grading *g, double value);
