// SPDX-License-Identifier: MIT
// What is around the training of lab 08, the same in both programs: arguments, samples, reports, and the ways that both
// are compared with.
//
// - A program brings its way to average: a backward pass, after which gradients are averages over all ranks.
// - What is timed is the slowest rank's mean over a few steps, after warm ones. Making the data is outside of it.
// - The last step before the timed ones is a span of the way's name, such as "bucket/65536"; the backward pass in it is a
//   span "backward/65536". `commlab check` counts in them.
#pragma once

#include <math.h>

#include "lab.h"
#include "train/train.h"

enum { MOST_LAYERS = 256, MOST = 1 << 30, TRAINED = 4, SEED = 1, STEPS = 2 };
static const float rate = 0.02f;

// x, wanted, gradient: (rows * repeat, width); flat: all gradients
struct training {
    struct clab_job *job;
    struct clab_comm *comm;
    struct clab_mlp *mlp;
    int layers, width, rows, repeat;
    size_t count;                             // elements of all gradients
    size_t cap;                               // bytes at which a bucket is full
    size_t waiting;                           // elements of gradients that are in no bucket yet; 0 before a step
    struct clab_work *works[2 * MOST_LAYERS]; // allreduces under way, `nworks` of them; 0 before a step
    int nworks;
    double computed;      // when the last backward pass ended, s
    bool is_counted;      // this step is a span, and so is its backward pass
    struct clab_ddp *ddp; // of the library's way
    float *x, *wanted, *gradient, *flat;
};

// A backward pass, and the averages of its gradients.
typedef void training_average(struct training *t);

// The backward pass. ready: called with each parameter whose gradient is there, or NULL.
static inline void training_backward(struct training *t, clab_mlp_ready *ready)
{
    if (t->is_counted)
        lab_span_begin(t->job, "backward/%zu", t->cap);
    must(clab_mlp_backward(t->mlp, t->gradient, false, ready, t));
    if (t->is_counted)
        clab_span_end(t->job);
    t->computed = clab_seconds();
}

// ---- other ways ----------------------------------------------------------------------------------------------

// Nobody averages: replicas drift apart.
static inline void average_nothing(struct training *t)
{
    training_backward(t, NULL);
}

// One collective for all, to and from which gradients are copied; a copy reads and writes.
static inline void average_whole(struct training *t)
{
    const size_t bytes = t->count * sizeof(float);
    training_backward(t, NULL);
    float *all = clab_mlp_parameters(t->mlp)->gradient;
    must(clab_copy(t->job, t->flat, all, bytes));
    must(clab_compute(t->job, CLAB_FP32, 0, 2.0 * (double)bytes));
    must(clab_allreduce(t->comm, t->flat, t->flat, t->count, CLAB_F32, CLAB_AVG));
    must(clab_copy(t->job, all, t->flat, bytes));
    must(clab_compute(t->job, CLAB_FP32, 0, 2.0 * (double)bytes));
}

static inline int tell_library(void *training, int parameter)
{
    return clab_ddp_ready(((struct training *)training)->ddp, parameter);
}

// The library's own buckets (train/ddp.h).
static inline void average_by_library(struct training *t)
{
    must(clab_ddp_begin(t->ddp, true));
    training_backward(t, tell_library);
    must(clab_ddp_finish(t->ddp));
}

// ---- a way, measured -----------------------------------------------------------------------------------------

struct way {
    const char *name;
    training_average *average;
    size_t cap;
    const struct clab_ddp_options *library; // of the library's buckets; NULL: they are not used
    bool is_counted_only;                   // its time does not matter
};

struct result {
    double loss, collectives, seconds[LAB_SAMPLES], exposed[LAB_SAMPLES];
    int samples;
};

// One step. Returns the loss of this rank's samples; *exposed_p: seconds in which it only communicated.
static inline double train(struct training *t, const struct way *way, double *exposed_p)
{
    const float *outputs;
    double loss;
    must(clab_mlp_forward(t->mlp, t->x, &outputs));
    must(clab_mlp_loss(t->mlp, outputs, t->wanted, t->gradient, &loss));
    way->average(t);
    *exposed_p = clab_seconds() - t->computed;
    must(clab_mlp_step(t->mlp, rate));
    return loss;
}

// Collectives that this rank has started, without barriers.
static inline double count_collectives(const struct training *t)
{
    const struct clab_counts counts = clab_job_counts(t->job);
    size_t sum = 0;
    for (int kind = 0; kind < CLAB_COLLECTIVE_COUNT; kind++)
        sum += kind == CLAB_BARRIER ? 0 : counts.collectives[kind];
    return (double)sum;
}

// The loss of the last of a few steps, and what is counted in that.
static inline void learn(struct training *t, const struct way *way, struct result *result_p)
{
    double exposed;
    for (int step = 1; step < TRAINED; step++)
        train(t, way, &exposed);
    result_p->collectives = -count_collectives(t);
    clab_span_begin(t->job, way->name);
    t->is_counted = true;
    result_p->loss = train(t, way, &exposed);
    t->is_counted = false;
    clab_span_end(t->job);
    result_p->collectives += count_collectives(t);
    must(clab_allreduce(t->comm, &result_p->loss, &result_p->loss, 1, CLAB_F64, CLAB_AVG));
}

static inline void time_steps(struct training *t, const struct way *way, struct result *result_p)
{
    result_p->samples = clab_samples(3);
    for (int i = 0; i < result_p->samples; i++) {
        must(clab_barrier(t->comm));
        const double start = clab_seconds();
        for (int step = 0; step < STEPS; step++)
            train(t, way, &result_p->exposed[i]);
        result_p->seconds[i] = (clab_seconds() - start) / STEPS;
    }
}

// A new network for each way, the same for all: what is learnt must not depend on it.
static inline void try_way(struct training *t, const struct way *way, struct result *result_p)
{
    int widths[MOST_LAYERS + 1];
    struct clab_mlp_shape shape = clab_mlp_even(t->layers, t->width, t->width, t->width, t->rows, widths);
    const struct clab_data data = {SEED, t->width, t->width};
    const int rank = clab_job_rank(t->job);
    shape.repeat = t->repeat;
    t->count = clab_mlp_count(&shape), t->cap = way->cap, t->waiting = 0, t->nworks = 0;
    must(clab_mlp_create(t->job, &shape, SEED, &t->mlp));
    if (way->library)
        must(clab_ddp_create(t->comm, clab_mlp_parameters(t->mlp), 2 * t->layers, way->library, &t->ddp));
    must(clab_data_load(t->job, &data, 0, t->rows, clab_mlp_rows(t->mlp), rank, clab_job_ranks(t->job), t->x,
                        t->wanted));
    if (way->library && way->library->find_unused && rank % 2)
        must(clab_mlp_skip(t->mlp, 0, true));
    learn(t, way, result_p);
    if (!way->is_counted_only)
        time_steps(t, way, result_p);
    const struct clab_parameter *p = clab_mlp_parameters(t->mlp), *end = p + 2 * t->layers;
    for (; way->average != average_nothing && p < end; p++)
        lab_expect_same(t->comm, p->name, p->count, p->value); // replicas have stayed replicas
    if (way->library && way->library->copies && rank == 0 && clab_ddp_nbuckets(t->ddp) <= 8)
        must(clab_ddp_print(t->ddp, stdout));
    if (way->library)
        clab_ddp_destroy(t->ddp);
    clab_mlp_destroy(t->mlp);
}

// Returns the mean of the seconds per step.
static inline double measure(struct training *t, const struct way *way)
{
    struct result r = {0};
    try_way(t, way, &r);
    double sum = 0;
    if (!way->is_counted_only)
        lab_report(t->comm, "s", r.seconds, r.samples, "time/%s", way->name);
    if (!way->is_counted_only && way->average != average_nothing) {
        lab_report(t->comm, "s", r.exposed, r.samples, "exposed/%s", way->name);
        lab_report(t->comm, "1", &r.collectives, 1, "collectives/%s", way->name);
    }
    if (way->average != average_nothing)
        lab_report(t->comm, "1", &r.loss, 1, "loss/%s", way->name);
    for (int i = 0; i < r.samples; i++)
        sum += r.seconds[i];
    return sum / r.samples;
}

// ---- all that a program measures -----------------------------------------------------------------------------

typedef void training_plan(struct training *t, training_average *average, int ncaps, char *const caps[]);

static inline double measure_cap(struct training *t, training_average *average, const char *cap, bool is_counted_only)
{
    char name[32];
    struct way way = {name, average, clab_must_size(t->job, cap, 1, NULL), NULL, is_counted_only};
    snprintf(name, sizeof name, "bucket/%zu", way.cap);
    return measure(t, &way);
}

// Of a program without buckets. Its caps are counted, not timed: there a program that has some can be checked.
static inline void measure_without_buckets(struct training *t, training_average *average, int ncaps, char *const caps[])
{
    measure(t, &(struct way){.name = "nothing/none", .average = average_nothing});
    measure(t, &(struct way){.name = "each/parameter", .average = average, .cap = 1});
    measure(t, &(struct way){.name = "whole/flat", .average = average_whole});
    for (int i = 0; i < ncaps; i++)
        measure_cap(t, average, caps[i], true);
}

// Of a program with buckets. Which cap is the best of many measurements is partly luck: it is measured once more.
static inline void measure_buckets(struct training *t, training_average *average, int ncaps, char *const caps[])
{
    size_t best = 1;
    double least = INFINITY;
    for (int i = 0; i < ncaps; i++) {
        const double seconds = measure_cap(t, average, caps[i], false);
        best = seconds < least ? clab_must_size(t->job, caps[i], 1, NULL) : best;
        least = fmin(least, seconds);
    }
    const struct clab_ddp_options copied = {.cap = best, .first_cap = best, .copies = true},
                                  unused = {.cap = best, .first_cap = best, .find_unused = true};
    measure(t, &(struct way){.name = "best/parameter", .average = average, .cap = best});
    measure(t, &(struct way){.name = "best/flat", .average = average, .cap = best});
    measure(t, &(struct way){.name = "copied/best", .average = average_by_library, .library = &copied});
    measure(t, &(struct way){.name = "unused/best", .average = average_by_library, .library = &unused});
}

// ---- arguments -----------------------------------------------------------------------------------------------

static const char about[] =
    "Data parallel training whose gradients are averaged by some number of collectives per step.\n"
    "Reports seconds per step, those in which nothing is computed, the number of collectives, and the loss.\n\n"
    "  LAYERS WIDTH       at most 256 layers, each so wide (24 64)\n"
    "  ROWS REPEAT        samples per rank, and how often its batch holds each (128 1)\n"
    "  CAP...             bytes at which a bucket is full (1 16K 32K 64K 128K 256K 512K 2M)\n";
static const char usage[] = "give LAYERS WIDTH ROWS REPEAT [CAP...], at most 256 layers, as in 24 64 128 1 65536";

static inline void read_arguments(struct training *t, int argc, char **argv)
{
    int *settings[] = {&t->layers, &t->width, &t->rows, &t->repeat};
    const int most[] = {MOST_LAYERS, MOST, MOST, MOST};
    for (int i = 0; i < 4; i++)
        *settings[i] = clab_must_count(t->job, i + 1 < argc ? argv[i + 1] : NULL, most[i], usage);
    for (int i = 5; i < argc; i++)
        clab_must_size(t->job, argv[i], 1, usage);
}

// All of a program's main.
static inline int training_main(int argc, char **argv, training_average *average, training_plan *plan)
{
    struct training t = {0};
    clab_help(argc, argv, "[LAYERS WIDTH ROWS REPEAT [CAP...]]", about);
    must(clab_job_open(&argc, argv, &t.job));
    must(clab_comm_create(t.job, &t.comm));
    must(clab_comm_set_algorithm(t.comm, CLAB_ALLREDUCE, "halving_doubling", 1));
    lab_arguments(&argc, &argv, "24 64 128 1 1 16K 32K 64K 128K 256K 512K 2M");
    read_arguments(&t, argc, argv);
    const size_t block = (size_t)t.rows * (size_t)t.repeat * (size_t)t.width;
    const size_t all = (size_t)t.layers * ((size_t)t.width + 1) * (size_t)t.width;
    must(clab_alloc(t.job, (3 * block + all) * sizeof(float), (void **)&t.x));
    t.wanted = t.x + block, t.gradient = t.wanted + block, t.flat = t.gradient + block;
    plan(&t, average, argc - 5, argv + 5);
    clab_free(t.job, t.x);
    clab_comm_destroy(t.comm);
    must(clab_job_close(t.job));
    return 0;
}
