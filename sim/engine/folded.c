// SPDX-License-Identifier: MIT
// Folding: ranks to which the schedule and the network look the same have equal clocks. So one of them is simulated for
// all (an algorithm's representative()). If stages repeat (same_until()), most of them are skipped.
//
// - The answer is the full engine's to the bit: times are whole ticks (ticks.h), whose sums are exact.
// - It folds nothing that could tell ranks apart: unequal chunks, caches (levels), lanes, which take turns by number.
//
// Why stages can be skipped. A stage maps the ranks' times x to sums and maxima of them: a convex function F. Suppose
// two repetitions in a row add the same d: F(x) = x + d and F(x + d) = x + 2d. Suppose one that starts n repetitions
// later adds d as well: F(x + nd) = x + (n + 1)d. Then the convex F lies on a straight line at three points, and so on
// the line all the way between them: n repetitions add nd. Ranks need not have the same pace: a fast rank may wait for
// a slow one only after thousands of stages, and each such phase is skipped at once.
//
// Source: Baccelli, Cohen, Olsder and Quadrat 1992 (max-plus algebra: how such clocks settle).

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/err.h"
#include "core/base/log.h"
#include "sim/engine/engine.h"
#include "sim/engine/full.h"
#include "sim/net/topology.h"

// ---- whether -------------------------------------------------------------------------------------------------

static bool has_equal_chunks(const struct clab_problem *problem, const struct clab_algorithm *algorithm)
{
    return problem->count % (size_t)algorithm->chunks(problem) == 0;
}

static bool refuse(char why[CLAB_SIM_WHY], const char *reason)
{
    snprintf(why, CLAB_SIM_WHY, "%s", reason);
    return false;
}

bool clab_engine_folds(const struct clab_problem *problem, const struct clab_algorithm *algorithm,
                       const struct clab_net *net, const struct clab_sim_options *options, int *period_p,
                       char why[CLAB_SIM_WHY])
{
    int nranks = problem->nranks, period = nranks <= net->ranks_per_node ? 1 : net->ranks_per_node;
    if (!algorithm->representative)
        return refuse(why, "its ranks are not known to be alike");
    if (options->delays)
        return refuse(why, "ranks do not begin together");
    if (options->members)
        return refuse(why, "its ranks are not the network's first");
    if (problem->lanes > 1)
        return refuse(why, "lanes take turns");
    if (clab_net_shares_links(net, nranks) || clab_net_shares_cores(net, nranks) ||
        clab_net_shares_machine(net, NULL, nranks))
        return refuse(why, "ranks share links or cores");
    if (!clab_net_is_even(net, nranks))
        return refuse(why, "some ranks are further apart than others");
    if (net->nlevels > 0)
        return refuse(why, "caches tell ranks apart");
    if (!has_equal_chunks(problem, algorithm))
        return refuse(why, "its chunks are not equal");
    if (nranks < 2 || algorithm->representative(problem, period, nranks - 1, nranks - 1) == nranks - 1)
        return refuse(why, "so many ranks are not alike on this network");
    *period_p = period;
    return true;
}

// ---- stages that repeat --------------------------------------------------------------------------------------

// A rank's times, each of which a stage may move.
static const size_t times[] = {
    offsetof(struct rank_state, core),
    offsetof(struct rank_state, tx[0]),
    offsetof(struct rank_state, tx[1]),
    offsetof(struct rank_state, rx[0]),
    offsetof(struct rank_state, rx[1]),
    offsetof(struct rank_state, spent[PART_LATENCY]),
    offsetof(struct rank_state, spent[PART_BANDWIDTH]),
    offsetof(struct rank_state, spent[PART_REDUCE]),
    offsetof(struct rank_state, seen),
    sizeof(struct rank_state) + offsetof(struct lane_state, clock),
    sizeof(struct rank_state) + offsetof(struct lane_state, end),
    sizeof(struct rank_state) + offsetof(struct lane_state, when),
};
enum { TIMES = sizeof times / sizeof *times };
static_assert(PORTS == 2, "all ports are listed");

static double *time_at(const struct full *s, char *state, int rank, int i)
{
    return (double *)(void *)(state + (size_t)rank * s->stride + times[i]);
}

// The states of all ranks after one repetition, the next, and now.
struct turns {
    struct full *s;
    char *first, *second;
    size_t bytes;
    int have;   // of first and second
    int stage;  // all ranks are at its beginning
    int period; // stages of a repetition
};

// Whether nothing is under way between ranks, so that their states are all there is.
static bool is_quiet(const struct full *s)
{
    for (int rank = 0; rank < s->nranks; rank++)
        if (full_lane(s, rank, 0, MODE_ANY)->boxed || full_lane(s, rank, 0, MODE_ANY)->tabled)
            return false;
    return true;
}

// Whether the last two repetitions added the same.
static bool is_straight(const struct turns *t)
{
    for (int rank = 0; rank < t->s->nranks; rank++)
        for (int i = 0; i < TIMES; i++) {
            double second = *time_at(t->s, t->second, rank, i);
            if (*time_at(t->s, t->s->state, rank, i) - second != second - *time_at(t->s, t->first, rank, i))
                return false;
        }
    return is_quiet(t->s);
}

// Add the times of one repetition n times more.
static void skip(struct turns *t, int n)
{
    for (int rank = 0; rank < t->s->nranks; rank++) {
        for (int i = 0; i < TIMES; i++) {
            double *now = time_at(t->s, t->s->state, rank, i), *second = time_at(t->s, t->second, rank, i);
            double added = *now - *second;
            *now += n * added;
            *time_at(t->s, t->first, rank, i) = *now - added; // so that is_straight() sees
            *second = *now;
        }
        full_lane(t->s, rank, 0, MODE_ANY)->stage += n * t->period;
    }
    t->stage += n * t->period;
}

static int repeat(struct turns *t)
{
    t->stage += t->period;
    return full_go_on(t->s, t->stage);
}

// Skip as many repetitions as the next one after them allows, up to `end`.
static int skip_most(struct turns *t, int end)
{
    char *saved = malloc(3 * t->bytes);
    int stage = t->stage, err = saved ? CLAB_OK : CLAB_ENOMEM;
    for (int n = (end - stage) / t->period - 1; !err && n > 1; n /= 2) {
        memcpy(saved, t->s->state, t->bytes);
        memcpy(saved + t->bytes, t->first, t->bytes);
        memcpy(saved + 2 * t->bytes, t->second, t->bytes);
        skip(t, n);
        err = repeat(t);
        if (err || is_straight(t))
            break;
        memcpy(t->s->state, saved, t->bytes);
        memcpy(t->first, saved + t->bytes, t->bytes);
        memcpy(t->second, saved + 2 * t->bytes, t->bytes);
        t->stage = stage;
    }
    free(saved);
    t->have = 0;
    return err;
}

static void remember(struct turns *t)
{
    char *oldest = t->first;
    t->first = t->second;
    t->second = oldest;
    memcpy(oldest, t->s->state, t->bytes);
    t->have++;
}

// To the stage `end`; those from t->stage to there are alike. A repetition is a stage, or, where times go around all
// ranks, as many as there are.
static int go_through(struct turns *t, int end)
{
    enum { TRIES_BETWEEN = 16 };
    int tries = 0;
    t->have = 0;
    t->period = 1;
    while (t->stage + t->period <= end) {
        remember(t);
        CLAB_TRY(repeat(t));
        if (t->have >= 2 && is_straight(t)) {
            CLAB_TRY(skip_most(t, end));
        } else if (++tries % TRIES_BETWEEN == 0) {
            t->period = t->period == 1 ? t->s->nranks : 1;
            t->have = 0;
        }
    }
    t->stage = end;
    return full_go_on(t->s, end);
}

static bool is_done(const struct full *s, int stage)
{
    return s->algorithm->stage(s->problem, 0, 0, stage, s->steps) == CLAB_DONE;
}

static int run_in_turns(struct full *s)
{
    size_t bytes = (size_t)s->nranks * s->stride;
    struct turns t = {.s = s, .first = malloc(bytes), .second = malloc(bytes), .bytes = bytes};
    int err = t.first && t.second ? CLAB_OK : CLAB_ENOMEM;
    s->stop = 0;
    if (!err)
        err = full_run(s);
    while (!err && !is_done(s, t.stage))
        err = go_through(&t, s->algorithm->same_until(s->problem, t.stage));
    free(t.first);
    free(t.second);
    return err ? err : full_go_on(s, -1);
}

int clab_engine_folded(const struct clab_problem *problem, const struct clab_algorithm *algorithm,
                       const struct clab_net *net, const struct clab_sim_options *options, int period,
                       struct clab_sim_result *result_p)
{
    struct full s = {.problem = problem, .algorithm = algorithm, .net = net, .period = period};
    int err = full_init(&s, options);
    if (!err)
        err = algorithm->same_until && s.calls == 1 && !s.recorder ? run_in_turns(&s) : full_run(&s);
    if (!err)
        full_fill(&s, result_p);
    full_free(&s);
    return err;
}
