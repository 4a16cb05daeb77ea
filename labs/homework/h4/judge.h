// SPDX-License-Identifier: MIT
// How good the foreseen times of one machine are, and which mistake explains them if they are bad.
//
// - The error of a time is by how much the larger of the two exceeds the smaller one: 0.1 if the truth is 10 % more, and if
//   the student's is. So nobody gains by guessing low.
// - Each time is worth a part of a point: all of it up to 3 % error, nothing from 60 % on. Of a machine, the mean of
//   these parts counts: from 0.4, or what a fit of two points has, if that is more, which is worth nothing, to 0.9, which is
//   worth all.
// - A mistake has a machine or a formula of its own, on which the foreseen times would be right. The one that fits best is
//   named, if it fits much better than the truth.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "labs/homework/h4/machine.h"

// What is foreseen of a machine: 24 cells of ranks that can be asked and sizes that were not, then 24 of more ranks.
enum { H4_GROUP = 24, H4_CELLS = 2 * H4_GROUP };

struct h4_round {
    struct h4_machine machine;
    struct h4_answer answers[H4_QUESTIONS];
    int nanswers;
    struct h4_question cells[H4_CELLS];
    double right[H4_CELLS];    // s
    double foreseen[H4_CELLS]; // s: the student's
};

// The machine of a seed, its cells, and the answers to these questions.
void h4_round_make(uint64_t seed, const struct h4_question *questions, int n, struct h4_round *round_p);

struct h4_error {
    double median, points; // of a group: median error; mean part of a point, 0 to 1
};

// The errors of these times, (H4_CELLS) s, against the right ones, of the cells first, first + 1, ..., first + H4_GROUP - 1.
struct h4_error h4_round_errors(const struct h4_round *round, const double *times, int first);
// The largest error, and its cell.
double h4_round_worst(const struct h4_round *round, const double *times, int *cell_p);
// What a fit of two points foresees: doubling of 8 bytes and of 4 MiB between two ranks.
void h4_round_baseline(const struct h4_round *round, double times_p[H4_CELLS]);

// The part of the points that an error is worth, 0 to 1: 1 up to `full`, 0 from `zero` on; equal ratios of errors are worth
// the same.
double h4_share(double error, double full, double zero);
// The student's part of a group's points.
double h4_round_share(const struct h4_round *round, int first);

enum { H4_WHY = 512 };
// The mistake that explains the foreseen times, in words. False: none is known, or they are good.
bool h4_round_explain(const struct h4_round *round, char why[H4_WHY]);

// Whether the plan keeps to the rules (h4.h), and if not, why.
bool h4_plan_check(const struct h4_question *questions, int n, char why[H4_WHY]);
// What such a plan can not see of any machine. False: nothing that is known.
bool h4_plan_explain(const struct h4_question *questions, int n, char why[H4_WHY]);
