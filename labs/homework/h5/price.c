// SPDX-License-Identifier: MIT
// Steps and bounds by the simulator (price.h).

#include "labs/homework/h5/price.h"

#include <math.h>
#include <stdint.h>

#include "core/base/err.h"
#include "sim/net/net.h"
#include "sim/sim.h"
#include "sim/train/model.h"

enum { GRADIENT_BYTES = 4, ADAM_BYTES = 28 }; // of a parameter: that an update reads and writes
static const double efficiency = 0.4;

// A step that is ready to be priced.
struct step {
    struct clab_net *net;
    struct clab_model *model;
    struct clab_train_plan buckets;
    struct clab_train train;
};

static int step_begin(const struct h5_job *job, const struct h5_plan *plan, struct step *step)
{
    *step = (struct step){0};
    CLAB_TRY(h5_net(job, &plan->rented, &step->net));
    CLAB_TRY(h5_model(job, &step->model));
    const struct clab_train_setting setting = {.batch = plan->micro_batch,
                                               .flop_seconds = 1 / (job->peak * efficiency),
                                               .element_bytes = GRADIENT_BYTES,
                                               .cap = plan->bucket,
                                               .first_cap = plan->first_bucket,
                                               .codec_rank = h5_coding_rank(plan->coding)};
    CLAB_TRY(clab_train_plan_make(step->model, &setting, &step->buckets));
    const double memory = step->net->compute.memory;
    step->train = (struct clab_train){
        .net = step->net,
        .nranks = h5_plan_gpus(plan),
        .element_bytes = GRADIENT_BYTES,
        .choices = plan->choices,
        .buckets = step->buckets.buckets,
        .nbuckets = step->buckets.nbuckets,
        .compute = step->buckets.compute,
        .update = (double)clab_model_parameters(step->model) * ADAM_BYTES * memory,
        .memory = memory,
        .accumulate = h5_plan_accumulate(job, plan),
        .overlap = plan->overlap,
        .codec = plan->coding < H5_POWERSGD ? (enum clab_train_codec)plan->coding : CLAB_TRAIN_POWERSGD,
        .codec_rank = setting.codec_rank};
    return CLAB_OK;
}

static void step_end(struct step *step)
{
    clab_train_plan_free(&step->buckets);
    clab_model_free(step->model);
    clab_net_free(step->net);
}

static void note(const struct clab_train *train, const struct clab_train_result *result, struct h5_time *time_p)
{
    const struct clab_train_time *last = &result->buckets[result->nbuckets - 1];
    *time_p = (struct h5_time){.step = result->median,
                               .computation = result->computation,
                               .communication = result->communication,
                               .exposed = result->exposed,
                               .update = result->update,
                               .buckets = result->nbuckets,
                               .accumulate = train->accumulate,
                               .last_algorithm = last->algorithm,
                               .last_bytes = train->buckets[train->nbuckets - 1].bytes};
    for (int i = 0; i < result->nbuckets; i++)
        time_p->encode += result->buckets[i].encode + result->buckets[i].decode;
}

int h5_price(const struct h5_job *job, const struct h5_plan *plan, struct h5_time *time_p)
{
    struct step step;
    struct clab_train_result result;
    int err = step_begin(job, plan, &step);
    if (!err)
        err = clab_train_run(&step.train, &result);
    if (!err) {
        note(&step.train, &result, time_p);
        clab_train_free(&result);
    }
    step_end(&step);
    return err;
}

void h5_plan_now(const struct h5_job *job, struct h5_plan *plan_p)
{
    *plan_p = (struct h5_plan){.rented = job->now,
                               .micro_batch = H5_MICRO_NOW,
                               .overlap = CLAB_TRAIN_NONE,
                               .bucket = (size_t)1 << 20,
                               .first_bucket = (size_t)1 << 20,
                               .choices = {{SIZE_MAX, "ring"}},
                               .nchoices = 1};
}

// ---- a bound -----------------------------------------------------------------------------------------------------------

// When the first gradient is there.
static int find_first(const struct h5_job *job, const struct h5_plan *plan, double *first_p, double *computed_p, double *update_p)
{
    struct step step;
    struct h5_plan smallest = *plan;
    smallest.bucket = smallest.first_bucket = 1;
    const int err = step_begin(job, &smallest, &step);
    if (!err) {
        *computed_p = step.train.compute * step.train.accumulate;
        *first_p = *computed_p - step.train.compute + step.train.buckets[0].ready;
        *update_p = step.train.update;
    }
    step_end(&step);
    return err;
}

// All gradients in one bucket, by the better of the two algorithms that large buffers are sent by.
static int price_whole(const struct h5_job *job, struct h5_plan *plan, double *seconds_p)
{
    static const char *const algorithms[] = {"ring", "hierarchical"};
    double least = INFINITY;
    plan->bucket = plan->first_bucket = SIZE_MAX;
    for (int i = 0; i < 2; i++) {
        struct h5_time time;
        plan->choices[0] = (struct clab_train_choice){SIZE_MAX, algorithms[i]};
        CLAB_TRY(h5_price(job, plan, &time));
        least = fmin(least, time.communication);
    }
    *seconds_p = least;
    return CLAB_OK;
}

// The bound of one thing that is rented, if it is less than *least.
static int bound_one(const struct h5_job *job, struct h5_plan plan, double *least)
{
    double first, computed, update, sent;
    CLAB_TRY(find_first(job, &plan, &first, &computed, &update));
    if (computed + update >= *least)
        return CLAB_OK;
    CLAB_TRY(price_whole(job, &plan, &sent));
    *least = fmin(*least, fmax(computed + update, first + sent));
    return CLAB_OK;
}

// The most samples at a time that divide the batch; 0: none.
static int fit_micro_batch(const struct h5_job *job, const struct h5_rented *rented)
{
    int micro = job->most_micro;
    while (micro > 0 && job->batch % (rented->hosts * rented->gpus * micro))
        micro--;
    return micro;
}

static int bound_rented(const struct h5_job *job, const struct h5_rented *rented, double *least)
{
    struct h5_plan plan = {.rented = *rented, .micro_batch = fit_micro_batch(job, rented), .nchoices = 1};
    if (!plan.micro_batch || rented->adapters > rented->gpus || h5_job_price(job, rented) > job->budget ||
        h5_job_can_upgrade(job, rented)) // then it is the other one that counts
        return CLAB_OK;
    for (plan.coding = 0; plan.coding < H5_CODINGS; plan.coding++)
        if (job->loss[plan.coding] <= job->most_loss)
            CLAB_TRY(bound_one(job, plan, least));
    return CLAB_OK;
}

int h5_bound(const struct h5_job *job, double *seconds_p)
{
    double least = INFINITY;
    struct h5_rented r;
    for (r.hosts = H5_HOSTS; r.hosts >= 1; r.hosts--)
        for (r.gpus = H5_GPUS; r.gpus >= 1; r.gpus /= 2)
            for (r.adapters = 1; r.adapters <= H5_ADAPTERS; r.adapters *= 2)
                for (int kind = 0; kind < 2 * H5_PLACEMENTS; kind++) {
                    r.is_fast = kind % 2;
                    r.placement = (enum h5_placement)(kind / 2);
                    CLAB_TRY(bound_rented(job, &r, &least));
                }
    *seconds_p = least;
    return CLAB_OK;
}
