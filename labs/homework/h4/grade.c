// SPDX-License-Identifier: MIT
// Homework h4: the student's program plans what to ask, gets the answers of machines, and foresees their times. The grader
// prices the machines, and judges the times (judge.h).
//
// - One machine to practise with, which the student has; three hidden ones, from the class's salt.
// - What a program leaves is read as numbers. A file that is too short has no times.

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/grade/homework.h"
#include "cmd/grade/seed.h"
#include "core/base/err.h"
#include "core/base/log.h"
#include "core/base/units.h"
#include "labs/homework/h4/judge.h"

enum { HIDDEN = 3, TEXT = 1 << 14, NAME = 32 };
static const double run_seconds = 2;
static const char practice_seed[] = "h4 practice";

// The worst error that has all points, and the one that has none.
static const double full_worst = 0.25, zero_worst = 2;

static const struct homework_test tests[] = {
    {"plan", "the plan keeps to the rules", 10, false},
    {"practice", "times of your practice machine are foreseen", 10, false},
    {"sizes", "hidden machines: times of sizes that were not asked", 20, true},
    {"ranks", "hidden machines: times of more ranks than could be asked", 25, true},
    {"worst", "hidden machines: no time is far off", 15, true},
    {0}};

// ---- files ---------------------------------------------------------------------------------------------------------

// The number at *text_p, which moves on. False: there is none.
static bool take(const char **text_p, double *value_p)
{
    char *end;
    *value_p = strtod(*text_p, &end);
    const bool any = end != *text_p;
    *text_p = end;
    return any;
}

static bool take_question(const char **text_p, struct h4_question *question_p)
{
    double algorithm, ranks, bytes;
    if (!take(text_p, &algorithm) || !take(text_p, &ranks) || !take(text_p, &bytes))
        return false;
    const bool fits = fabs(algorithm) < 1e9 && fabs(ranks) < 1e9 && bytes >= 0 && bytes < 1e18;
    *question_p =
        (struct h4_question){fits ? (enum h4_algorithm)algorithm : 99, fits ? (int)ranks : 0, fits ? (size_t)bytes : 0};
    return true;
}

// What the student's h4_plan says. Returns the number of questions, as it says; -1: the file is none.
static int read_plan(const char *text, struct h4_question questions[H4_QUESTIONS])
{
    double n;
    if (!take(&text, &n) || !(fabs(n) < 1e9))
        return -1;
    for (int i = 0; i < n && i < H4_QUESTIONS; i++)
        if (!take_question(&text, &questions[i]))
            return -1;
    return (int)n;
}

static void give_answers(struct grading *g, const struct h4_round *round)
{
    char text[TEXT];
    int length = 0;
    for (int i = 0; i < round->nanswers; i++) {
        const struct h4_question *q = &round->answers[i].question;
        length += snprintf(text + length, sizeof text - (size_t)length, "%d %d %zu %.17g\n", (int)q->algorithm,
                           q->ranks, q->bytes, round->answers[i].seconds);
    }
    grading_give(g, "answers", text, (size_t)length);
    length = 0;
    for (int i = 0; i < H4_CELLS; i++) {
        const struct h4_question *q = &round->cells[i];
        length +=
            snprintf(text + length, sizeof text - (size_t)length, "%d %d %zu\n", (int)q->algorithm, q->ranks, q->bytes);
    }
    grading_give(g, "cells", text, (size_t)length);
}

// ---- a machine -----------------------------------------------------------------------------------------------------

// Let the student's program foresee this machine. False: it left no times; `key` says why.
static bool foresee(struct grading *g, const char *key, struct h4_round *round)
{
    size_t bytes;
    give_answers(g, round);
    const struct grading_run run = grading_run(g, "foresee", run_seconds);
    if (!run.ended) {
        grading_fail(g, key, "h4_foresee: %s", run.why);
        return false;
    }
    const char *text = grading_file(g, "times", 1 << 16, &bytes);
    for (int i = 0; i < H4_CELLS; i++)
        if (!text || !take(&text, &round->foreseen[i])) {
            grading_fail(g, key, "the program left %d of %d times: does it call exit?", i, H4_CELLS);
            return false;
        }
    return true;
}

// An error for people; smaller ones are only the rounding of numbers.
static const char *percent(double error, char text[32])
{
    snprintf(text, 32, error < 1e-4 ? "under 0.01 %%" : error < 9.995 ? "%.3g %%" : "%.0f %%", 100 * error);
    return text;
}

// "ring of 64 KiB among 32 ranks: 1.2 ms foreseen, 2.4 ms right"
static const char *cell_text(const struct h4_round *round, int cell, char text[160])
{
    const struct h4_question *q = &round->cells[cell];
    char bytes[CLAB_TEXT], foreseen[CLAB_TEXT], right[CLAB_TEXT];
    snprintf(text, 160, "%s of %s among %d ranks: %s foreseen, %s right", h4_algorithm_name(q->algorithm),
             clab_size_text(q->bytes, bytes), q->ranks, clab_seconds_text(round->foreseen[cell], foreseen),
             clab_seconds_text(round->right[cell], right));
    return text;
}

// Say which mistake it is, unless `said` is that already.
static void explain(struct grading *g, const char *key, const struct h4_round *round, char said[H4_WHY])
{
    char why[H4_WHY];
    if (!h4_round_explain(round, why) || !strcmp(why, said))
        return;
    grading_note(g, key, "%s", why);
    memcpy(said, why, sizeof why);
}

// ---- tests ---------------------------------------------------------------------------------------------------------

static void grade_practice(struct grading *g, const struct h4_question *questions, int n)
{
    struct h4_round round;
    int cell;
    char text[160], sizes[32], ranks[32], why[H4_WHY] = "";
    h4_round_make(grading_seed(g, practice_seed, false), questions, n, &round);
    if (!foresee(g, "practice", &round))
        return;
    const double share = (h4_round_share(&round, 0) + h4_round_share(&round, H4_GROUP)) / 2;
    const double worst = h4_round_worst(&round, round.foreseen, &cell);
    grading_award(g, "practice", share, "the median error is %s at other sizes, %s at more ranks",
                  percent(h4_round_errors(&round, round.foreseen, 0).median, sizes),
                  percent(h4_round_errors(&round, round.foreseen, H4_GROUP).median, ranks));
    grading_note(g, "practice", "the largest error is %s: %s", percent(worst, sizes), cell_text(&round, cell, text));
    explain(g, "practice", &round, why);
    if (share < 1 && h4_plan_explain(questions, n, why))
        grading_note(g, "practice", "%s", why);
}

struct sum {
    double sizes, ranks, worst;              // shares
    double median_sizes, median_ranks, most; // errors: the largest of all machines
    int n;
    char said[H4_WHY]; // the mistake that was named
};

static void grade_hidden(struct grading *g, int number, const struct h4_question *questions, int n, struct sum *sum)
{
    struct h4_round round;
    int cell;
    char name[NAME], text[160];
    snprintf(name, sizeof name, "h4 machine %d", number);
    h4_round_make(grading_seed(g, name, true), questions, n, &round);
    if (!foresee(g, NULL, &round))
        return;
    const struct h4_error sizes = h4_round_errors(&round, round.foreseen, 0);
    const struct h4_error ranks = h4_round_errors(&round, round.foreseen, H4_GROUP);
    const double worst = h4_round_worst(&round, round.foreseen, &cell);
    sum->sizes += h4_round_share(&round, 0) / HIDDEN;
    sum->ranks += h4_round_share(&round, H4_GROUP) / HIDDEN;
    sum->worst += h4_share(worst, full_worst, zero_worst) / HIDDEN;
    sum->median_sizes = fmax(sum->median_sizes, sizes.median);
    sum->median_ranks = fmax(sum->median_ranks, ranks.median);
    sum->most = fmax(sum->most, worst);
    sum->n++;
    if (worst > full_worst) {
        grading_note(g, "worst", "machine %d: %s", number, cell_text(&round, cell, text));
        explain(g, "ranks", &round, sum->said);
    }
}

static void grade_machines(struct grading *g, const struct h4_question *questions, int n)
{
    struct sum sum = {0};
    char text[32];
    for (int i = 1; i <= HIDDEN; i++)
        grade_hidden(g, i, questions, n, &sum);
    if (!sum.n)
        return;
    grading_award(g, "sizes", sum.sizes, "median error at other sizes: %s on the worst of %d machines",
                  percent(sum.median_sizes, text), sum.n);
    grading_award(g, "ranks", sum.ranks, "median error at 32 to 256 ranks: %s on the worst of %d machines",
                  percent(sum.median_ranks, text), sum.n);
    grading_award(g, "worst", sum.worst, "the largest error: %s", percent(sum.most, text));
}

static void grade(struct grading *g)
{
    struct h4_question questions[H4_QUESTIONS];
    char why[H4_WHY];
    size_t bytes;
    if (!grading_build(g, "labs/homework/h4/harness.c"))
        return;
    const struct grading_run run = grading_run(g, "plan", run_seconds);
    const char *text = run.ended ? grading_file(g, "questions", 1 << 16, &bytes) : NULL;
    const int n = text ? read_plan(text, questions) : -1;
    if (n < 0)
        grading_fail(g, NULL, "h4_plan: %s", run.ended ? "it left no plan: does it call exit?" : run.why);
    else if (!h4_plan_check(questions, n, why))
        grading_fail(g, NULL, "%s", why);
    else {
        grading_award(g, "plan", 1, "%d questions of %d that are allowed", n, H4_QUESTIONS);
        grade_practice(g, questions, n);
        grade_machines(g, questions, n);
    }
}

// ---- the student's files -------------------------------------------------------------------------------------------

static int start(const char *student, const char *folder)
{
    char path[4096];
    uint64_t seed;
    CLAB_TRY(homework_seed(NULL, student, practice_seed, &seed));
    const struct h4_machine machine = h4_machine_draw(seed);
    snprintf(path, sizeof path, "%s/practice.net", folder);
    CLAB_TRY(h4_machine_write(&machine, path));
    printf("  work/h4/practice.net (your machine to practise with)\n");
    return CLAB_OK;
}

// ---- in person -----------------------------------------------------------------------------------------------------

static int ask(const char *student, struct homework_question q[HOMEWORK_QUESTIONS])
{
    uint64_t seed;
    char size[CLAB_TEXT];
    CLAB_TRY(homework_seed(NULL, student, practice_seed, &seed));
    const struct h4_machine m = h4_machine_draw(seed);
    const size_t bytes = 8 * m.limit;
    const double wire = (double)bytes * m.beta[H4_ACROSS];
    clab_size_text(bytes, size);
    snprintf(q[0].question, HOMEWORK_QUESTION,
             "On your practice machine, how long does one message of %s to another host take? Which part of it would a line through small sizes miss?",
             size);
    snprintf(q[0].answer, HOMEWORK_QUESTION,
             "alpha %.3g us + handshake %.3g us + bytes times beta %.4g us = %.4g us. The handshake is only there above %zu KiB.",
             1e6 * m.alpha[H4_ACROSS], 1e6 * m.handshake, 1e6 * wire, 1e6 * (m.alpha[H4_ACROSS] + m.handshake + wire), m.limit >> 10);
    snprintf(q[1].question, HOMEWORK_QUESTION,
             "A ring and doubling with 16 ranks on hosts of %d: in how many of their rounds does a message cross to another host? Which question of your "
             "plan tells you how many ranks a host has?",
             m.host);
    snprintf(q[1].answer, HOMEWORK_QUESTION,
             "Ring: in all 30 rounds, since some neighbours are on different hosts. Doubling: in %d of 4 rounds; those before stay in a host. Times of "
             "2, 4, 8 ranks jump where doubling first leaves the host.",
             m.host == 2 ? 3 : 2);
    return CLAB_OK;
}

const struct homework HOMEWORK = {
    .title = "Fit and foresee a machine", .file = "mine.c", .tests = tests, .grade = grade, .start = start, .ask = ask};
