// SPDX-License-Identifier: MIT
// What a unit's check.c uses: it runs the student's program in numbered cases, and holds what the library has counted
// to what the lesson promises.
//
//     static void check(struct check *c)
//     {
//         if (check_case(c, "4 ranks, shared memory: the sum is right"))
//             check_run(c, "shm", NULL, 4, "65536 8");
//         if (check_case(c, "4 ranks on 1gbe: communicators do not grow with iterations")) {
//             const struct check_run *few = check_run(c, "sim", "1gbe", 4, "65536 8");
//             const struct check_run *many = check_run(c, "sim", "1gbe", 4, "65536 16");
//             const size_t a = check_total(few, 0).communicators, b = check_total(many, 0).communicators;
//             check_require(c, a == b, "You make a communicator in each iteration. Make it once, before the loop.",
//                           "rank 0, communicators made: got %zu with 16 iterations, expected %zu as with 8", b, a);
//         }
//     }
//     const struct lab_check LAB_CHECK = {.check = check};
//
// - Times are virtual (backend "sim"), so a verdict is the same on every machine, busy or not. No stopwatch counts.
// - The first requirement that does not hold fails its case. Later cases are not run: they would fail for the same
//   reason. A run that hangs, crashes or finds a wrong sum fails its case, too, and says so by itself.
// - After a failure all functions go on and do nothing; counts are then 0. So a lesson needs no `if` for it.
// - Programs run with CLAB_POISON=1: memory of clab_alloc holds NaN until something is written there.
// - What is counted between clab_span_begin and clab_span_end of a program is a *span*: asked for by its name and its
//   number among those of that name, from 0.
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "core/clab.h"

struct check;
struct check_run;

// What a unit's check.c defines, by the name that the build gives it.
struct lab_check {
    void (*check)(struct check *c);
};

// ---- cases ---------------------------------------------------------------------------------------------------

// Begin the next case, which ends the one before. Whether to run it: not after a failure, and with --case N only if it is
// the N-th.
//   title: what holds if it passes: "5 ranks on dgx-h100: each rank sends at most twice the buffer"
bool check_case(struct check *c, const char *title);

// Fail the case unless `holds`. Returns `holds`.
//   advice: the misconception, and what to do, in one to three sentences
//   format: the fact in one line: rank, index, what, got, expected, each with its unit
bool check_require(struct check *c, bool holds, const char *advice, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

// How a run can fail by itself.
enum check_failure {
    CHECK_HANGS,    // ranks wait for each other until a deadline, or the program does not end
    CHECK_CRASHES,  // a signal, or an exit with another status
    CHECK_WRONG,    // a result is wrong
    CHECK_MISMATCH, // ranks call different collectives
    CHECK_FAILURES
};

// From now on say `advice` to a run that fails so: where the unit knows the usual reason.
void check_advise(struct check *c, enum check_failure failure, const char *advice);

// The same for a run whose facts, as they are printed, hold a pattern: it goes before check_advise's. The first that fits
// is said, of 8 at most.
//   pattern: an extended regular expression, for one line: "rank 0: .* rank 0: nothing has moved"
void check_advise_when(struct check *c, enum check_failure failure, const char *pattern, const char *advice);

// The path of the student's own file of that name, beside the program that is checked: work/13/NAME. It may not be there.
// NULL: another program than the student's is checked (--source), and has no such file beside it, or is the unit's own.
const char *check_file(struct check *c, const char *name);

// ---- runs ----------------------------------------------------------------------------------------------------

// Run the program, as `mine -n RANKS --backend BACKEND [--net NET] ARGUMENTS`. A run that the case has had already is
// not repeated.
//   backend:   "shm", "sim" or any other; NULL: without --backend, so that the program chooses
//   net:       of sim; NULL: none
//   arguments: words with one space between them; "" or NULL: none
const struct check_run *check_run(struct check *c, const char *backend, const char *net, int ranks,
                                  const char *arguments);

// Run it under a launcher, without --backend: on one host, or on two, which are both this machine.
const struct check_run *check_run_hosts(struct check *c, int hosts, int ranks, const char *arguments);
// Whether this build can do that on two: it needs libfabric and libsodium.
bool check_has_hosts(void);

// Run it on arguments that it must refuse: require that it ends with another status than 0, and that a line of its messages
// fits `pattern`, an extended regular expression for which small and capital letters are alike. The rest as check_run.
//   wanted: the message in words: "that names line 2"
bool check_refuses(struct check *c, const char *backend, const char *net, int ranks, const char *arguments,
                   const char *pattern, const char *wanted, const char *advice);

int check_ranks(const struct check_run *run);
const char *check_backend(const struct check_run *run); // that moved the bytes; "": the run has failed

// Of the whole job, of a rank.
struct clab_counts check_total(const struct check_run *run, int rank);
// Of span number `index` of that name; all zeros if there is none.
struct clab_counts check_span(const struct check_run *run, int rank, const char *span, int index);
// The most of each counter over all ranks: of the slowest, the busiest one. span NULL: of the whole job.
struct clab_counts check_most(const struct check_run *run, const char *span, int index);
// How many spans of that name a rank has; span NULL: of any name.
int check_spans(const struct check_run *run, int rank, const char *span);
// The name of the i-th span of a rank, in the order in which they began; "" past the last.
const char *check_span_name(const struct check_run *run, int rank, int i);
// What clab_report said: its median; NAN: nothing.
double check_reported(const struct check_run *run, const char *quantity);
// What a message of `bytes` takes on that network, in s: alpha + bytes beta, by the fastest link that it has.
// NAN, and the case fails: there is no such network.
double check_message(struct check *c, const char *net, double bytes);

// Require that the program has reported `expected` under that name: it still compares its sums (labs/lab.h).
bool check_sum(struct check *c, const struct check_run *run, const char *quantity, double expected);

// Require at least `least` spans of that name at each rank: the program still has the lines that begin and end them.
bool check_has(struct check *c, const struct check_run *run, const char *span, int least);

// All collectives of a rank but barriers.
size_t check_collectives(const struct clab_counts *counts);
// Virtual seconds of a span that were spent in communication and not hidden behind computing: of the rank with the most.
double check_exposed(const struct check_run *run, const char *span, int index);
