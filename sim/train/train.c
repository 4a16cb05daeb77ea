// SPDX-License-Identifier: MIT
// The time line of a step, and what many steps look like. See train.h.
//
// - All ranks alike: one time line.
// - Each rank begins a bucket when its own gradients are there and it is done with the bucket before: a clock a rank,
//   and the engine gets the time at which each begins. Where that is too much to simulate, all begin with the slowest:
//   the same time line as of one rank, slowed by the largest factor. Nothing ends later than
//   that, but where messages share links.

#include "sim/train/train.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/err.h"
#include "core/base/log.h"
#include "core/base/stats.h"
#include "sim/net/net.h"
#include "sim/train/inside.h"

// Up to so many ranks, and messages in all steps, each rank has a clock.
#define EXACT_RANKS    1024
#define EXACT_MESSAGES 2e7

static const char *const overlaps[] = {"none", "bucket", "full"};
static const char *const codecs[] = {"none", "fp16", "bf16", "int8", "powersgd"};

const char *clab_train_overlap_name(enum clab_train_overlap overlap)
{
    return overlaps[overlap];
}

const char *clab_train_codec_name(enum clab_train_codec codec)
{
    return codecs[codec];
}

// ---- a bucket's phases, priced -------------------------------------------------------------------------------

struct stretch {
    struct train_phases phases;
    struct train_price prices[TRAIN_PHASES];
    double seconds; // all of it, where ranks begin together
};

struct run {
    const struct clab_train *train;
    struct train_prices prices;
    struct stretch *buckets;                  // (nbuckets)
    double *starts, *free, *delays, *factors; // (nranks) s; where each rank has a clock
    bool exact;
};

static int price_bucket(struct run *run, int i)
{
    struct stretch *b = &run->buckets[i];
    b->phases = train_phases_of(run->train, &run->train->buckets[i]);
    b->seconds = b->phases.decode;
    for (int p = 0; p < b->phases.n; p++) {
        CLAB_TRY(train_price_find(&run->prices, &b->phases.phases[p], &b->prices[p]));
        b->seconds += b->phases.phases[p].work + b->prices[p].seconds;
    }
    return CLAB_OK;
}

// ---- one step ------------------------------------------------------------------------------------------------

static double backward_end(const struct clab_train *t, double factor)
{
    return factor * t->compute * (t->accumulate > 1 ? t->accumulate : 1);
}

// When bucket `i` can begin on a rank, as far as its gradients go.
static double ready_at(const struct clab_train *t, int i, double factor)
{
    const double before = backward_end(t, factor) - factor * t->compute;
    return t->overlap == CLAB_TRAIN_NONE ? backward_end(t, factor) : before + factor * t->buckets[i].ready;
}

static double slowest_factor(const struct clab_train *t, int step)
{
    double factor = 0;
    const bool alike = t->jitter == CLAB_TRAIN_STEADY && !t->nstragglers && !(t->slow_part > 0);
    for (int rank = 0; rank < (alike ? 1 : t->nranks); rank++)
        factor = fmax(factor, clab_train_factor(t, step, rank));
    return factor;
}

// Bucket `i` on the clocks of all ranks; its end is the last rank's.
static int advance_each(struct run *run, int i, const double *factors, struct clab_train_time *time)
{
    const struct clab_train *t = run->train;
    const struct stretch *b = &run->buckets[i];
    time->begin = 0;
    for (int rank = 0; rank < t->nranks; rank++) {
        run->free[rank] = fmax(run->free[rank], ready_at(t, i, factors[rank]));
        time->begin = fmax(time->begin, run->free[rank]);
    }
    for (int p = 0; p < b->phases.n; p++) {
        for (int rank = 0; rank < t->nranks; rank++)
            run->starts[rank] = run->free[rank] + b->phases.phases[p].work;
        if (!b->prices[p].algorithm)
            memcpy(run->free, run->starts, (size_t)t->nranks * sizeof *run->free);
        else
            CLAB_TRY(train_price_delayed(t, &b->prices[p], run->starts, run->delays, run->free));
    }
    time->end = 0;
    for (int rank = 0; rank < t->nranks; rank++) {
        run->free[rank] += b->phases.decode;
        time->end = fmax(time->end, run->free[rank]);
    }
    return CLAB_OK;
}

static void advance_all(const struct run *run, int i, double *free, struct clab_train_time *time)
{
    time->begin = fmax(*free, time->ready);
    *free = time->end = time->begin + run->buckets[i].seconds;
}

// When the step has ended, given its buckets.
static double finish(const struct clab_train *t, double computed, const struct clab_train_time *times)
{
    double end = computed, bytes = 0;
    for (int i = 0; i < t->nbuckets; i++)
        bytes += (double)t->buckets[i].bytes;
    for (int i = 0; i < t->nbuckets; i++) {
        end = fmax(end, times[i].end);
        if (t->overlap == CLAB_TRAIN_FULL)
            end += t->update * (double)t->buckets[i].bytes / bytes;
    }
    return t->overlap == CLAB_TRAIN_FULL && bytes > 0 ? end : end + t->update;
}

// Step `step`: its time, when its slowest rank has computed, and its buckets.  times: (nbuckets)
static int run_step(struct run *run, int step, double *seconds_p, double *computed_p, struct clab_train_time *times)
{
    const struct clab_train *t = run->train;
    const double slowest = slowest_factor(t, step);
    double free = 0;
    for (int rank = 0; run->exact && rank < t->nranks; rank++) {
        run->free[rank] = 0;
        run->factors[rank] = clab_train_factor(t, step, rank);
    }
    for (int i = 0; i < t->nbuckets; i++) {
        times[i] = (struct clab_train_time){.ready = ready_at(t, i, slowest)};
        if (run->exact)
            CLAB_TRY(advance_each(run, i, run->factors, &times[i]));
        else
            advance_all(run, i, &free, &times[i]);
    }
    *computed_p = backward_end(t, slowest);
    *seconds_p = finish(t, *computed_p, times);
    return CLAB_OK;
}

// ---- all steps -----------------------------------------------------------------------------------------------

static int steps_of(const struct clab_train *t)
{
    return t->steps > 1 ? t->steps : 1;
}

// The step that is nearest to the median, with all that is said of it.
static int look_at_median(struct run *run, struct clab_train_result *r)
{
    const struct clab_train *t = run->train;
    int nearest = 0;
    double seconds;
    for (int step = 1; step < steps_of(t); step++)
        if (fabs(r->seconds[step] - r->median) < fabs(r->seconds[nearest] - r->median))
            nearest = step;
    CLAB_TRY(run_step(run, nearest, &seconds, &r->computation, r->buckets));
    r->undisturbed = backward_end(t, 1);
    r->alone = r->undisturbed + t->update;
    r->update = t->update;
    r->exposed = fmax(0, seconds - r->computation - t->update);
    for (int i = 0; i < t->nbuckets; i++) {
        const struct stretch *b = &run->buckets[i];
        struct clab_train_time *time = &r->buckets[i];
        double most = -1;
        time->decode = b->phases.decode;
        for (int p = 0; p < b->phases.n; p++) {
            time->encode += b->phases.phases[p].work;
            time->sent += b->prices[p].sent;
            if (b->prices[p].algorithm && b->prices[p].seconds > most) {
                time->algorithm = b->prices[p].algorithm->name;
                most = b->prices[p].seconds;
            }
        }
        r->communication += b->seconds;
        r->sent += time->sent;
    }
    return CLAB_OK;
}

static int run_steps(struct run *run, struct clab_train_result *r)
{
    const int n = steps_of(run->train);
    struct clab_summary summary;
    double computed;
    for (int step = 0; step < n; step++) {
        CLAB_TRY(run_step(run, step, &r->seconds[step], &computed, r->buckets));
        r->mean += r->seconds[step] / n;
    }
    CLAB_TRY(clab_summarize(r->seconds, n, &summary));
    r->median = summary.median;
    r->least = summary.min;
    r->most = summary.max;
    r->p95 = clab_quantile(r->seconds, n, 0.95);
    r->p99 = clab_quantile(r->seconds, n, 0.99);
    return look_at_median(run, r);
}

// Whether each rank has a clock of its own.
static bool choose_clocks(const struct run *run, const char **how_p)
{
    const struct clab_train *t = run->train;
    double messages = 0;
    *how_p = "all ranks begin together";
    if (t->nranks == 1 || (t->jitter == CLAB_TRAIN_STEADY && !t->nstragglers && !(t->slow_part > 0)))
        return false;
    for (int i = 0; i < t->nbuckets; i++)
        for (int p = 0; p < run->buckets[i].phases.n; p++)
            messages += run->buckets[i].prices[p].messages;
    *how_p = "each rank begins a bucket when it can";
    if (t->nranks <= EXACT_RANKS && messages * (steps_of(t) + 1) <= EXACT_MESSAGES)
        return true;
    *how_p = "a bound: all ranks begin a bucket with the slowest of them";
    return false;
}

static int check(const struct clab_train *t)
{
    const char *wrong = NULL;
    if (t->nranks < 1 || t->element_bytes < 1)
        wrong = "at least one rank, and elements of a byte";
    else if (!(t->compute >= 0 && t->update >= 0 && t->memory >= 0))
        wrong = "times that are not below 0";
    else if (t->steps < 0 || t->steps > CLAB_TRAIN_STEPS)
        wrong = "1 to 100000 steps";
    else if (t->codec == CLAB_TRAIN_POWERSGD && t->codec_rank < 1)
        wrong = "a rank of at least 1 for PowerSGD";
    else if (t->jitter == CLAB_TRAIN_PARETO && !(t->shape > 1))
        wrong = "a Pareto tail of a shape above 1, so that it has a mean";
    for (int i = 0; i < t->nbuckets && !wrong; i++)
        if (!(t->buckets[i].ready >= 0 && t->buckets[i].ready <= t->compute * (1 + 1e-9)))
            wrong = "buckets that are ready before the backward pass ends";
    for (int i = 0; i < t->nstragglers && !wrong; i++)
        if (t->stragglers[i].rank < 0 || t->stragglers[i].rank >= t->nranks || !(t->stragglers[i].factor >= 0))
            wrong = "stragglers among the ranks, with factors that are not below 0";
    if (!wrong)
        return clab_net_check_ranks(t->net, t->nranks);
    clab_error("a training step wants %s", wrong);
    return CLAB_EINVAL;
}

static int run_all(struct run *run, struct clab_train_result *r)
{
    const struct clab_train *t = run->train;
    for (int i = 0; i < t->nbuckets; i++)
        CLAB_TRY(price_bucket(run, i));
    run->exact = r->exact = choose_clocks(run, &r->how);
    run->starts = run->exact ? calloc(4 * (size_t)t->nranks, sizeof *run->starts) : NULL;
    if (run->exact && !run->starts)
        return CLAB_ENOMEM;
    if (run->exact) {
        run->free = run->starts + t->nranks;
        run->delays = run->free + t->nranks;
        run->factors = run->delays + t->nranks;
    }
    return run_steps(run, r);
}

int clab_train_run(const struct clab_train *train, struct clab_train_result *result_p)
{
    CLAB_TRY(check(train));
    const size_t nbuckets = (size_t)train->nbuckets;
    struct clab_train_result result = {.nbuckets = train->nbuckets};
    struct run run = {.train = train, .prices.train = train};
    run.buckets = calloc(nbuckets + 1, sizeof *run.buckets);
    result.seconds = calloc((size_t)steps_of(train), sizeof *result.seconds);
    result.buckets = calloc(nbuckets + 1, sizeof *result.buckets);
    int err = run.buckets && result.seconds && result.buckets ? CLAB_OK : CLAB_ENOMEM;
    if (!err)
        err = run_all(&run, &result);
    train_prices_free(&run.prices);
    free(run.buckets);
    free(run.starts);
    if (err)
        clab_train_free(&result);
    else
        *result_p = result;
    return err;
}

void clab_train_free(struct clab_train_result *result)
{
    free(result->seconds);
    free(result->buckets);
    *result = (struct clab_train_result){0};
}
