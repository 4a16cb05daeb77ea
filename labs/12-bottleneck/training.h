// SPDX-License-Identifier: MIT
// A rank of lab 12's training job: its step, with the fault that the setting has, and what it measures.
#pragma once

#include <sched.h>

#include "faults.h"
#include "lab.h"
#include "train/train.h"

enum { LAYERS = 32, WIDTH = 96, STEPS = 8, WARM = 1, PROBES = 96 };
enum { SMALL = 2048, LARGE = 16384 }; // floats of the probes' allreduces: 8 KiB, 64 KiB
static const float rate = 0.02f;

// What a job's steps take: s per step, unless something else is said. In virtual time, the mean of all steps. In real time
// other programs slow some steps down, so it is the step in which it took least.
struct evidence {
    double step;              // of the slowest rank; always the mean
    double least, mean, most; // that ranks compute for the training: the fastest, all of them, the slowest
    double first;             // that rank 1 waits for rank 0's word
    double copies;            // that gradients are copied
    double exposed;           // that communication takes which nothing hides, of the rank that waits the least
    double calls;             // collectives per step
    double small, large;      // s of one allreduce of 8 KiB and of 64 KiB: the usual one
    double slowest;           // s of one of 64 KiB: the slowest of PROBES; in real time, if the network has lost one
    double loss;              // after the last step
};

struct training {
    struct clab_job *job;
    struct clab_comm *comm;
    struct setting setting;
    struct clab_mlp *mlp, *validator;
    struct clab_ddp *ddp;
    float *x, *targets, *gradient, *metrics;
    bool share_a_core;              // all ranks may use one core only, and the same
    int rank, ranks, rows, samples; // rows: those that are computed; in virtual time one stands for many samples
    double computed, waited, copied, exposed; // s of this rank, in the step that is under way
};

// ---- a step --------------------------------------------------------------------------------------------------

// This rank's own time: without that in which other programs had its core. Ranks that share one core keep each other from
// it, which is the job's own doing.
static inline double own_seconds(const struct training *t)
{
    return clab_seconds() - (t->share_a_core ? 0 : clab_seconds_kept());
}

// The rank stands still while its gradients are copied out and back: each byte is read and written, twice.
static inline void copy_gradients(struct training *t)
{
    const double start = own_seconds(t);
    const struct clab_parameter *all = clab_mlp_parameters(t->mlp);
    for (int p = 0; p < 2 * LAYERS; p++) {
        const size_t bytes = all[p].count * sizeof(float);
        must(clab_copy(t->job, t->metrics + SMALL, all[p].gradient, bytes));
        must(clab_copy(t->job, all[p].gradient, t->metrics + SMALL, bytes));
        must(clab_compute(t->job, CLAB_FP32, 0, 4.0 * (double)bytes));
    }
    t->copied += own_seconds(t) - start;
}

// How good the model is on samples that it does not learn from, of `shares` ranks.
static inline void validate(struct training *t, int shares)
{
    const float *outputs;
    for (int i = 0; i < shares; i++)
        must(clab_mlp_forward(t->validator, t->x, &outputs));
}

// Every rank validates its share; or rank 0 all of them, and the others wait for its word.
static inline void validate_all(struct training *t)
{
    if (!t->setting.first) {
        validate(t, 1);
        return;
    }
    if (t->rank == 0)
        validate(t, t->ranks * t->setting.first);
    const double start = clab_seconds();
    must(clab_broadcast(t->comm, t->metrics, t->metrics, 1, CLAB_F32, 0));
    t->waited += clab_seconds() - start;
}

static inline void load(struct training *t, int step)
{
    const struct clab_data data = {1, WIDTH, WIDTH};
    const double bytes = sizeof(float) * (double)t->samples * WIDTH;
    must(clab_data_load(t->job, &data, (uint64_t)step, 1, t->rows, t->rank, t->ranks, t->x, t->targets));
    must(clab_compute(t->job, CLAB_FP32, 0, 4 * bytes)); // two arrays, read and written
}

// Returns the loss of this rank's samples.
static inline double train(struct training *t, int step)
{
    const float *outputs;
    double loss;
    t->computed = t->waited = t->copied = t->exposed = 0;
    clab_span_begin(t->job, "iteration");
    load(t, step);
    const double start = own_seconds(t);
    must(clab_mlp_forward(t->mlp, t->x, &outputs));
    must(clab_mlp_loss(t->mlp, outputs, t->targets, t->gradient, &loss));
    must(clab_ddp_begin(t->ddp, true));
    must(clab_mlp_backward(t->mlp, t->gradient, false, clab_ddp_ready, t->ddp));
    t->computed += own_seconds(t) - start;
    must(clab_ddp_finish(t->ddp));
    t->exposed += clab_ddp_exposed(t->ddp);
    for (int i = 0; i < t->setting.copies; i++)
        copy_gradients(t);
    must(clab_mlp_step(t->mlp, rate));
    validate_all(t);
    must(clab_allreduce(t->comm, t->metrics, t->metrics, SMALL, CLAB_F32, CLAB_AVG));
    clab_span_end(t->job);
    return loss;
}

// ---- probes --------------------------------------------------------------------------------------------------

// Seconds of each of `n` allreduces alone, the slowest rank's.
static inline void probe(struct training *t, size_t count, int n, double seconds[])
{
    for (int i = 0; i < n; i++) {
        must(clab_barrier(t->comm));
        const double start = clab_seconds();
        must(clab_allreduce(t->comm, t->metrics, t->metrics, count, CLAB_F32, CLAB_SUM));
        seconds[i] = clab_seconds() - start;
    }
    lab_slowest(t->comm, seconds, n);
}

// Sorts the values. In real time other programs slow calls down: then the fastest tenth says what the network takes.
static inline double usual(double values[], int n)
{
    const double median = lab_median(values, n);
    return clab_time_is_exact() ? median : values[n / 10];
}

static inline void probe_network(struct training *t, struct evidence *e)
{
    double seconds[PROBES], lost = -(double)clab_job_counts(t->job).resent;
    must(clab_set(t->job, t->metrics, 0, LARGE * sizeof(float)));
    probe(t, SMALL, PROBES, seconds);
    e->small = usual(seconds, PROBES);
    probe(t, LARGE, PROBES, seconds);
    e->large = usual(seconds, PROBES);
    e->slowest = seconds[PROBES - 1];
    if (clab_time_is_exact())
        return;
    lost += (double)clab_job_counts(t->job).resent;
    lab_slowest(t->comm, &lost, 1);
    e->slowest = lost > 0 ? e->slowest : e->large; // else other programs made it slow
}

// ---- a job ---------------------------------------------------------------------------------------------------

static inline double count_collectives(const struct training *t)
{
    const struct clab_counts counts = clab_job_counts(t->job);
    size_t sum = 0;
    for (int kind = 0; kind < CLAB_COLLECTIVE_COUNT; kind++)
        sum += counts.collectives[kind];
    return (double)sum;
}

// Of all ranks: the least, the mean and the most of a value.
static inline void spread(struct training *t, double value, double *least_p, double *mean_p, double *most_p)
{
    double sum = value, ends[] = {-value, value};
    must(clab_allreduce(t->comm, &sum, &sum, 1, CLAB_F64, CLAB_SUM));
    lab_slowest(t->comm, ends, 2);
    *least_p = -ends[0], *mean_p = sum / t->ranks, *most_p = ends[1];
}

// The mean of all steps, or in real time the least.
static inline double per_step(const double seconds[STEPS])
{
    double sum = 0, least = seconds[0];
    for (int i = 0; i < STEPS; i++) {
        sum += seconds[i];
        least = seconds[i] < least ? seconds[i] : least;
    }
    return clab_time_is_exact() ? sum / STEPS : least;
}

// Whether all ranks may use one core only, and the same.
static inline bool ranks_share_a_core(struct training *t)
{
    cpu_set_t set;
    double ends[] = {1, -1}; // of what ranks say: none of their own, else the core's number
    if (clab_time_is_exact())
        return false; // its cores are described ones
    if (sched_getaffinity(0, sizeof set, &set) == 0 && CPU_COUNT(&set) == 1)
        for (int core = 0; core < CPU_SETSIZE; core++)
            if (CPU_ISSET(core, &set))
                ends[0] = -core, ends[1] = core;
    lab_slowest(t->comm, ends, 2);
    return -ends[0] == ends[1];
}

static inline void train_all(struct training *t, struct evidence *e)
{
    double unused, step, computed[STEPS], waited[STEPS], copied[STEPS], exposed[STEPS];
    t->share_a_core = ranks_share_a_core(t);
    for (int i = 0; i < WARM; i++)
        train(t, i);
    must(clab_barrier(t->comm));
    const double calls = count_collectives(t), start = clab_seconds();
    for (int i = 0; i < STEPS; i++) {
        e->loss = train(t, WARM + i);
        computed[i] = t->computed, waited[i] = t->waited, copied[i] = t->copied, exposed[i] = t->exposed;
    }
    step = (clab_seconds() - start) / STEPS;
    e->calls = (count_collectives(t) - calls) / STEPS;
    spread(t, step, &unused, &unused, &e->step);
    spread(t, per_step(computed), &e->least, &e->mean, &e->most);
    spread(t, per_step(waited), &unused, &unused, &e->first);
    spread(t, per_step(copied), &unused, &unused, &e->copies);
    spread(t, per_step(exposed), &e->exposed, &unused, &unused);
}

static inline void make(struct training *t, int samples)
{
    int widths[LAYERS + 1];
    struct clab_mlp_shape shape = clab_mlp_even(LAYERS, WIDTH, WIDTH, WIDTH, 1, widths);
    struct clab_ddp_options options = {.cap = t->setting.cap, .first_cap = t->setting.cap};
    shape.repeat = t->samples = setting_samples(&t->setting, t->rank, samples);
    must(clab_mlp_create(t->job, &shape, 1, &t->mlp));
    t->rows = clab_mlp_rows(t->mlp);
    shape.repeat = samples / 8 ? samples / 8 : 1;
    must(clab_mlp_create(t->job, &shape, 1, &t->validator));
    must(clab_ddp_create(t->comm, clab_mlp_parameters(t->mlp), 2 * LAYERS, &options, &t->ddp));
    const size_t block = (size_t)(t->rows > samples ? t->rows : samples) * WIDTH;
    must(clab_alloc(t->job, (3 * block + SMALL + LARGE) * sizeof(float), (void **)&t->x));
    t->targets = t->x + block, t->gradient = t->targets + block, t->metrics = t->gradient + block;
    must(clab_set(t->job, t->metrics, 0, (SMALL + LARGE) * sizeof(float)));
}

// In a rank of an open job: train, and measure.
static inline struct evidence work(struct clab_job *job, const struct setting *setting, int samples, bool probes)
{
    struct evidence e = {0};
    struct training t = {.job = job, .setting = *setting, .rank = clab_job_rank(job), .ranks = clab_job_ranks(job)};
    must(clab_comm_create(job, &t.comm));
    must(clab_comm_set_algorithm(t.comm, CLAB_ALLREDUCE, "halving_doubling", 1));
    make(&t, samples);
    if (probes)
        probe_network(&t, &e);
    train_all(&t, &e);
    for (const struct clab_parameter *p = clab_mlp_parameters(t.mlp), *end = p + 2 * LAYERS; p < end; p++)
        lab_expect_same(t.comm, p->name, p->count, p->value); // replicas have stayed replicas
    clab_ddp_destroy(t.ddp);
    clab_mlp_destroy(t.validator);
    clab_mlp_destroy(t.mlp);
    clab_free(job, t.x);
    clab_comm_destroy(t.comm);
    return e;
}
