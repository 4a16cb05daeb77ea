// SPDX-License-Identifier: MIT
// What is around the training of lab 03, the same in both programs: arguments, memory, samples, and reports.
//
// - A program brings its way to train: where a step's data go, and the step. It does not time, count or report.
// - What is timed is the slowest rank's mean over a few steps, after warm ones. Making the data is outside of it.
// - Each step before the timed ones is a span "training step", in which `commlab check` counts.
#pragma once

#include "lab.h"
#include "train/train.h"

enum { LAYERS = 4, ROWS = 16, TRAINED = 4, SEED = 1 }; // ROWS: samples per rank
static const float rate = 0.02f;

// all_x, all_targets, all_outputs, all_gradients: (P, ROWS, width); x, gradient: (ROWS, width)
struct training {
    struct clab_job *job;
    struct clab_comm *comm;
    struct clab_mlp *mlp;
    struct clab_data data;
    struct clab_parameter *all; // their values and gradients: `count` floats each, one after another, from all->value
    size_t block, count;        // elements: ROWS * width; of all parameters
    int rank, ranks;
    float *all_x, *all_targets, *all_outputs, *all_gradients, *x, *gradient;
};

// How a program trains.
struct way {
    const char *name;
    void (*load)(const struct training *t, int step);
    double (*train)(const struct training *t); // one step; returns this rank's part of the mean loss of all ranks
};

// This rank's part of the mean loss over all ranks' outputs: that of `n` ranks, whose backward passes begin with the
// gradients.  all: (n, ROWS, width)
static inline double training_loss(const struct training *t, int n, const float *outputs, float *gradients)
{
    double loss, sum = 0;
    for (size_t i = 0; i < (size_t)n * t->block; i += t->block) {
        must(clab_mlp_loss(t->mlp, outputs + i, t->all_targets + i, gradients + i, &loss));
        sum += loss / t->ranks;
    }
    return sum;
}

// ---- measuring -----------------------------------------------------------------------------------------------

struct timed {
    const struct training *training;
    const struct way *way;
};

static inline void train_once(void *timed)
{
    const struct timed *t = timed;
    t->way->train(t->training);
}

// Bytes that have come to this rank or gone from it.
static inline double bytes_moved(const struct training *t)
{
    const struct clab_comm_traffic traffic = clab_comm_traffic(t->comm);
    return (double)(traffic.bytes_sent + traffic.bytes_received);
}

// Ranks that have rank 0's parameters now: all replicas do; where rank 0 owns the model, it alone has its last update.
static inline double count_models(const struct training *t)
{
    const size_t bytes = t->count * sizeof(float);
    double same = 1;
    float *mine = malloc(bytes), *of_zero = malloc(bytes);
    must(mine && of_zero ? CLAB_OK : CLAB_ENOMEM);
    must(clab_copy(t->job, mine, t->all->value, bytes));
    must(clab_broadcast(t->comm, mine, of_zero, t->count, CLAB_F32, 0));
    same = !memcmp(mine, of_zero, bytes);
    must(clab_allreduce(t->comm, &same, &same, 1, CLAB_F64, CLAB_SUM));
    free(of_zero);
    free(mine);
    return same;
}

// What of a step is computed.
static inline int time_compute(const struct training *t, double samples[LAB_SAMPLES])
{
    const int n = clab_samples(LAB_SAMPLES);
    for (int i = 0; i < n; i++) {
        const double start = clab_seconds();
        must(clab_mlp_train(t->mlp, t->x, t->x, t->gradient, rate, &samples[i]));
        samples[i] = clab_seconds() - start;
    }
    return n;
}

static inline void measure(struct training *t, const struct way *way)
{
    const int width = t->data.inputs;
    double loss = 0, moved = 0, samples[LAB_SAMPLES];
    for (int step = 0; step < TRAINED; step++) {
        way->load(t, step);
        moved = -bytes_moved(t);
        clab_span_begin(t->job, "training step");
        loss = way->train(t);
        clab_span_end(t->job);
        moved += bytes_moved(t);
    }
    must(clab_allreduce(t->comm, &loss, &loss, 1, CLAB_F64, CLAB_SUM));
    double models = count_models(t);
    int n = lab_sample(t->comm, 5e-3, 1, train_once, &(struct timed){t, way}, samples);
    lab_report(t->comm, "s", samples, n, "time/%s/%d", way->name, width);
    n = time_compute(t, samples);
    lab_report(t->comm, "s", samples, n, "compute/%s/%d", way->name, width);
    lab_report(t->comm, "B", &(double){t->rank ? 0 : moved}, 1, "bytes_of_zero/%s/%d", way->name, width);
    lab_report(t->comm, "B", &(double){t->rank ? moved : 0}, 1, "bytes_of_other/%s/%d", way->name, width);
    lab_report(t->comm, "1", &models, 1, "models/%s/%d", way->name, width);
    lab_report(t->comm, "1", &loss, 1, "loss/%s/%d", way->name, width);
}

static inline void measure_width(struct training *t, const struct way *way, int width)
{
    int widths[LAYERS + 1];
    const struct clab_mlp_shape shape = clab_mlp_even(LAYERS, width, width, width, ROWS, widths);
    t->data = (struct clab_data){.seed = SEED, .inputs = width, .outputs = width};
    t->block = ROWS * (size_t)width;
    t->count = clab_mlp_count(&shape);
    float **const arrays[] = {&t->all_x, &t->all_targets, &t->all_outputs, &t->all_gradients, &t->x, &t->gradient};
    for (int i = 0; i < 6; i++)
        must(clab_alloc(t->job, (i < 4 ? (size_t)t->ranks : 1) * t->block * sizeof(float), (void **)arrays[i]));
    must(clab_mlp_create(t->job, &shape, SEED, &t->mlp));
    t->all = clab_mlp_parameters(t->mlp);
    measure(t, way);
    clab_mlp_destroy(t->mlp);
    for (int i = 0; i < 6; i++)
        clab_free(t->job, *arrays[i]);
}

// All of a program's main.
static inline int training_main(int argc, char **argv, const struct way *way)
{
    static const enum clab_collective flat[] = {CLAB_BROADCAST, CLAB_SCATTER, CLAB_GATHER, CLAB_REDUCE};
    static const char usage[] = "give WIDTH, at least 1, as in 64 256";
    static const char about[] =
        "Data parallel training of a network of four layers.\n"
        "Reports seconds per step, bytes in and out of rank 0 and of the busiest other rank, and the loss.\n\n"
        "  WIDTH...           inputs, outputs and the width of each layer (64 256)\n";
    struct training t;
    clab_help(argc, argv, "[WIDTH...]", about);
    must(clab_job_open(&argc, argv, &t.job));
    must(clab_comm_create(t.job, &t.comm));
    t.rank = clab_job_rank(t.job), t.ranks = clab_job_ranks(t.job);
    for (int i = 0; i < 4; i++)
        must(clab_comm_set_algorithm(t.comm, flat[i], "flat", 0)); // the root talks to one after another
    must(clab_comm_set_algorithm(t.comm, CLAB_ALLREDUCE, "ring", 1));
    lab_arguments(&argc, &argv, "64 256");
    for (int i = 1; i < argc; i++)
        measure_width(&t, way, (int)clab_must_size(t.job, argv[i], 1, usage));
    clab_comm_destroy(t.comm);
    must(clab_job_close(t.job));
    return 0;
}
