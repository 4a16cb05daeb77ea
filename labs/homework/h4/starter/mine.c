// SPDX-License-Identifier: MIT
// Homework h4: fit a machine by 24 questions at most, and foresee the times that you can not ask for. The task:
// labs/homework/h4/h4.md.
//
// Name and ID:
// What I ask, and what each question tells me, in at most ten lines:
// The parameters of my practice machine, as I fit them, with units, beside those of practice.net:
// The formulas that I foresee by:
// Where I am wrong by most, and why:
//
// This starter puts a line through two points: two ranks, 8 bytes and 4 MiB. It builds, and gets 10 points.

#include <math.h>

#include "labs/homework/h4/h4.h"

int h4_plan(struct h4_question questions[H4_QUESTIONS])
{
    questions[0] = (struct h4_question){H4_DOUBLING, 2, 8};
    questions[1] = (struct h4_question){H4_DOUBLING, 2, H4_ASKED_BYTES};
    return 2;
}

double h4_foresee(const struct h4_answer *answers, int n, struct h4_question question)
{
    (void)n;
    const double P = question.ranks, S = (double)question.bytes;
    const double beta = (answers[1].seconds - answers[0].seconds) / (H4_ASKED_BYTES - 8);
    const double alpha = answers[0].seconds - 8 * beta;

    // TODO: which links does each message cross? What does it cost to add a byte? Is alpha the same for all messages?
    if (question.algorithm == H4_RING)
        return 2 * (P - 1) * (alpha + S / P * beta);
    return log2(P) * (alpha + S * beta);
}
