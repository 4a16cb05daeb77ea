// SPDX-License-Identifier: MIT
// Homework h3: are all parameters right, and how much of the communication is exposed on three networks?
//
// - The code runs once, on all cases (harness.c). It leaves what it has called; the grader replays that on real numbers
//   (replay.h), and prices it on the simulator (price.h).
// - Points of a network: all for the best of a row of bucket sizes, none for half as much again, or for one
//   collective after the backward pass. The networks differ so much that no fixed size is near the best on two of them
//   (bound.c). Wrong parameters have no time.

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/err.h"
#include "core/base/units.h"
#include "cmd/grade/homework.h"
#include "labs/homework/h3/price.h"
#include "labs/homework/h3/replay.h"
#include "labs/homework/h3/start.h"

enum { CASES = H3_PLAIN + H3_BRANCHED + H3_SHAPES + H3_NETWORKS, MOST = 48 << 20 };

struct graded_case {
    const char *test;
    struct h3_case c;
    struct h3_bounds bounds; // of a network
    struct h3_verdict verdict;
    struct h3_time time; // of a network, if the parameters are right
};

// ---- the cases -----------------------------------------------------------------------------------------------------

static int make_cases(struct grading *g, struct graded_case cases[CASES])
{
    static const char *const networks[H3_NETWORKS] = {"bytes", "links", "starts"};
    struct graded_case *at = cases;
    for (int i = 0; i < H3_PLAIN; i++, at++) {
        at->test = "plain";
        h3_plain(i, &at->c);
    }
    for (int i = 0; i < H3_BRANCHED; i++, at++) {
        at->test = "order";
        h3_branched(i, grading_seed(g, "h3 branches", false), &at->c);
    }
    for (int i = 0; i < H3_SHAPES; i++, at++) {
        at->test = "shapes";
        h3_shape(i, grading_seed(g, "h3 shapes", true), &at->c);
    }
    for (int i = 0; i < H3_NETWORKS; i++, at++) {
        at->test = networks[i];
        CLAB_TRY(h3_choose_network(i, grading_seed(g, "h3 networks", true), &at->c, &at->bounds));
    }
    return CLAB_OK;
}

static int give_cases(struct grading *g, const struct graded_case cases[CASES])
{
    char *text = NULL;
    size_t bytes = 0;
    FILE *file = open_memstream(&text, &bytes);
    if (!file)
        return CLAB_ENOMEM;
    for (int i = 0; i < CASES; i++)
        h3_write(&cases[i].c, file);
    const int err = fclose(file) ? CLAB_ENOMEM : CLAB_OK;
    if (!err)
        grading_give(g, "cases", text, bytes);
    free(text);
    return err;
}

// ---- what was done ---------------------------------------------------------------------------------------------------

static int judge(struct graded_case *one, int which, const char **text_p, const char *end)
{
    struct h3_trace trace;
    CLAB_TRY(h3_trace_read(&one->c, which, text_p, end, &trace));
    int err = h3_replay(&one->c, &trace, &one->verdict);
    if (!err && one->verdict.is_right && one->bounds.none > 0)
        err = h3_price(&one->c, &trace, &one->time);
    h3_trace_free(&trace);
    return err;
}

// ---- points ----------------------------------------------------------------------------------------------------------

static void award_parameters(struct grading *g, const struct graded_case cases[CASES], const char *test)
{
    const struct graded_case *wrong = NULL;
    int right = 0, all = 0;
    for (int i = 0; i < CASES; i++) {
        if (strcmp(cases[i].test, test))
            continue;
        all++;
        right += cases[i].verdict.is_right;
        if (!wrong && !cases[i].verdict.is_right)
            wrong = &cases[i];
    }
    if (!wrong) {
        grading_award(g, test, 1, "right for all %d models, on all ranks, after %d steps", all, H3_STEPS);
        return;
    }
    grading_award(g, test, (double)right / all, "right for %d of %d models", right, all);
    grading_note(g, test, "%s", wrong->verdict.why);
}

// Where to look for a better time: what is slow, and a question. NULL: nothing is.
static const char *advice(const struct graded_case *one, double share, char out[256])
{
    const struct h3_time *t = &one->time;
    const int n = h3_parameters(&one->c);
    char text[CLAB_TEXT];
    if (share >= 1)
        return NULL;
    clab_seconds_text(t->collectives * 2 * log2(one->c.ranks) * one->c.alpha, text);
    if (t->stalled > 0.01 * h3_backward(&one->c))
        snprintf(out, 256, "you wait during the backward pass, which stands still for %s. Which call in ready() waits?",
                 clab_seconds_text(t->stalled, text));
    else if (t->collectives == 1)
        snprintf(out, 256, "one bucket for all: it starts when the backward pass is over. What does the network do until then?");
    else if (t->early == 0)
        snprintf(out, 256,
                 "all %d collectives start in finish(), when there is nothing left to hide them. What does the network do during "
                 "the backward pass?",
                 t->collectives);
    else if (t->collectives >= n)
        snprintf(out, 256,
                 "one collective per parameter: each of the %d pays its start, 2 log2(ranks) alpha, before its first byte: %s in all. "
                 "Is there so much time?",
                 n, text);
    else if (t->collectives > 1.3 * one->bounds.buckets)
        snprintf(out, 256,
                 "%d buckets are too many here: their starts take %s in all, before any byte. Where do alpha and the number of ranks "
                 "come into your choice?",
                 t->collectives, text);
    else if (1.3 * t->collectives < one->bounds.buckets)
        snprintf(out, 256,
                 "%d buckets are too few here. Draw the time line: when does the first one start, and how long does the last one "
                 "travel after the backward pass?",
                 t->collectives);
    else if (t->works_late)
        snprintf(out, 256,
                 "you scale and update only when all collectives are over. What does the processor do while the last bucket "
                 "travels?");
    else
        snprintf(out, 256, "you have about as many buckets as the best, but not of the best sizes. Which bucket is waited for last?");
    return out;
}

static void award_time(struct grading *g, const struct graded_case *one, bool is_said)
{
    const struct h3_bounds *b = &one->bounds;
    char none[CLAB_TEXT], mine[CLAB_TEXT], best[CLAB_TEXT], backward[CLAB_TEXT], size[CLAB_TEXT], out[256];
    if (!one->verdict.is_right) {
        grading_award(g, one->test, 0, "no time without right parameters%s", is_said ? ": see the first test" : "");
        if (!is_said)
            grading_note(g, one->test, "%s", one->verdict.why);
        return;
    }
    const double share = h3_share(b, one->time.exposed);
    clab_seconds_text(one->time.exposed, mine);
    clab_seconds_text(b->none, none);
    clab_seconds_text(b->best, best);
    grading_award(g, one->test, share, "%s exposed per step, in %d collective%s; %s without overlap, %s is well done",
                  mine, one->time.collectives, one->time.collectives == 1 ? "" : "s", none, best);
    if (advice(one, share, out))
        grading_note(g, one->test, "%s", out);
    grading_note(g, one->test, "%s: %d ranks, %d parameters, %s, backward pass %s, alpha %.3g us, beta %.3g ns/B",
                 one->c.name, one->c.ranks, h3_parameters(&one->c), clab_size_text(h3_all_bytes(&one->c), size),
                 clab_seconds_text(h3_backward(&one->c), backward), 1e6 * one->c.alpha, 1e9 * one->c.beta);
}

static void grade_all(struct grading *g, struct graded_case cases[CASES])
{
    size_t bytes;
    if (make_cases(g, cases) || give_cases(g, cases)) {
        grading_fail(g, NULL, "the cases can not be made: is there memory?");
        return;
    }
    const struct grading_run run = grading_run(g, "", GRADING_RUN_SECONDS);
    const char *text = grading_file(g, "actions", MOST, &bytes);
    if (!run.ended)
        grading_fail(g, NULL, "%s", run.why); // also why there is no file
    if (!text || (!run.ended && !bytes))
        return;
    const char *end = text + bytes;
    for (int i = 0; i < CASES; i++)
        if (judge(&cases[i], i, &text, end)) {
            grading_fail(g, NULL, "what was done can not be replayed: is there memory?");
            return;
        }
    award_parameters(g, cases, "plain");
    award_parameters(g, cases, "order");
    award_parameters(g, cases, "shapes");
    for (int i = CASES - H3_NETWORKS; i < CASES; i++)
        award_time(g, &cases[i], !cases[0].verdict.is_right);
}

static void grade(struct grading *g)
{
    if (!grading_build(g, "labs/homework/h3/harness.c"))
        return;
    struct graded_case *cases = calloc(CASES, sizeof *cases);
    if (cases)
        grade_all(g, cases);
    else
        grading_fail(g, NULL, "there is no memory for the cases");
    free(cases);
}

static const struct homework_test tests[] = {
    {"plain", "parameters are right, where gradients come in the same order on all ranks", 12, false},
    {"order", "parameters are right, where odd ranks compute the other branch first", 12, false},
    {"shapes", "parameters are right for other models", 8, true},
    {"bytes", "exposed time, where all bytes fit beside the backward pass", 16, true},
    {"links", "exposed time, where links are slow", 16, true},
    {"starts", "exposed time, where starting a collective is slow", 16, true},
    {0},
};

const struct homework HOMEWORK = {
    .title = "Overlap in a training step", .file = "mine.c", .tests = tests, .grade = grade, .start = h3_start, .ask = h3_ask};
