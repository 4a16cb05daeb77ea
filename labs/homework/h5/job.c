// SPDX-License-Identifier: MIT
// Jobs that follow from a seed (job.h). How they are written is in files.c.
//
// - Of a step as it is now, the network takes about as much as the GPUs, or more: what to rent is a question.
// - The losses are made up. Their order is that of published runs: bf16 costs nearly nothing, PowerSGD less the higher its
//   rank (Vogels et al. 2019). fp16 has a small range: without scaling, small gradients become 0 (Micikevicius et al. 2018).

#include "labs/homework/h5/job.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/mix.h"

const char *const h5_coding_names[H5_CODINGS] = {"none",        "fp16",        "bf16",         "int8",        "powersgd:16",
                                                 "powersgd:32", "powersgd:64", "powersgd:128", "powersgd:256"};
const char *const h5_placement_names[H5_PLACEMENTS] = {"spread", "packed"};

int h5_coding_rank(int coding)
{
    return coding < H5_POWERSGD ? 0 : 16 << (coding - H5_POWERSGD);
}

// ---- numbers ---------------------------------------------------------------------------------------------------------

struct dice {
    uint64_t seed, throws;
};

// A number from 0 to n-1.
static int throw_dice(struct dice *dice, int n)
{
    return (int)(clab_mix(dice->seed, ++dice->throws) % (uint64_t)n);
}

static int between(struct dice *dice, int low, int high)
{
    return low + throw_dice(dice, high - low + 1);
}

// ---- a job -----------------------------------------------------------------------------------------------------------

static void draw_model(struct dice *dice, struct h5_job *job)
{
    job->width = 1024 + 256 * throw_dice(dice, 3);
    job->layers = 16 + 4 * throw_dice(dice, 4);
    job->words = 32000 + 2000 * throw_dice(dice, 10);
    job->batch = 768;
    job->most_micro = 4 << throw_dice(dice, 2);
}

static void draw_losses(struct dice *dice, struct h5_job *job)
{
    const double thin = 0.1 * between(dice, 20, 36);
    job->most_loss = 0.5;
    job->loss[0] = 0;
    job->loss[1] = throw_dice(dice, 2) ? 0.05 : INFINITY;
    job->loss[2] = 0.01 * between(dice, 8, 20);
    job->loss[3] = 0.01 * between(dice, 20, 80);
    for (int coding = H5_POWERSGD; coding < H5_CODINGS; coding++)
        job->loss[coding] = round(100 * thin * pow(16.0 / h5_coding_rank(coding), 0.6)) / 100;
}

static void draw_cluster(struct dice *dice, struct h5_job *job)
{
    static const double peaks[] = {125e12, 165e12, 312e12}, memories[] = {900e9, 1000e9, 1555e9};
    const int kind = throw_dice(dice, 3);
    job->peak = peaks[kind];
    job->memory = memories[kind];
    job->inside = 50e9 * (1 << throw_dice(dice, 3));
    job->alpha = 1e-6 * between(dice, 15, 40);
    job->slow_rate = 25e9 * (1 + throw_dice(dice, 2));
    job->fast_rate = (throw_dice(dice, 2) ? 4 : 2) * job->slow_rate;
    job->oversubscription = 0.5 * between(dice, 3, 6);
}

static void draw_prices(struct dice *dice, struct h5_job *job)
{
    job->host_price = between(dice, 6, 14);
    job->gpu_price = between(dice, 4, 8);
    job->adapter_price = between(dice, 3, 7);
    job->fast_price = between(dice, 3, 8);
    job->packed_price = between(dice, 2, 6);
    job->now = (struct h5_rented){.hosts = 8, .gpus = H5_GPUS, .adapters = 1, .placement = H5_SPREAD};
    job->budget = h5_job_price(job, &job->now) * between(dice, 115, 150) / 100;
}

void h5_job_draw(uint64_t seed, struct h5_job *job_p)
{
    struct dice dice = {seed, 0};
    *job_p = (struct h5_job){0};
    draw_model(&dice, job_p);
    draw_losses(&dice, job_p);
    draw_cluster(&dice, job_p);
    draw_prices(&dice, job_p);
}

void h5_job_change(enum h5_change change, uint64_t seed, struct h5_job *job)
{
    struct dice dice = {clab_mix(seed, change), 0};
    if (change == H5_SLOW_LINKS) {
        const double part = 0.01 * between(&dice, 60, 75);
        job->slow_rate *= part;
        job->fast_rate *= part;
        job->alpha *= 2;
    }
    if (change == H5_LARGE_BATCH)
        job->batch *= 2;
}

int h5_job_price(const struct h5_job *job, const struct h5_rented *r)
{
    const int one = job->host_price + r->gpus * job->gpu_price + (r->adapters - 1) * job->adapter_price +
                    (r->is_fast ? r->adapters * job->fast_price : 0) +
                    (r->placement == H5_PACKED ? job->packed_price : 0);
    return r->hosts * one;
}

bool h5_job_can_upgrade(const struct h5_job *job, const struct h5_rented *rented)
{
    struct h5_rented more = *rented, fast = *rented, packed = *rented;
    more.adapters *= 2;
    fast.is_fast = 1;
    packed.placement = H5_PACKED;
    return (more.adapters <= H5_ADAPTERS && more.adapters <= more.gpus && h5_job_price(job, &more) <= job->budget) ||
           (!rented->is_fast && h5_job_price(job, &fast) <= job->budget) ||
           (rented->placement != H5_PACKED && h5_job_price(job, &packed) <= job->budget);
}
