// SPDX-License-Identifier: MIT
// What is around the training step of lab 02, the same in both programs: arguments, samples, and reports.
//
// - The program brings its step; it reduces gradients in some way, or not if it is told so. How is the lesson.
// - Steps with and without communication take turns: what they differ by is the communication that can be seen.
// - Spans: a step with communication is a "training step", the backward pass in it a "backward". `commlab
//   check` counts in them, and compares with the reductions alone.
#pragma once

#include "lab.h"
#include "shape.h"
#include "train/train.h"

struct training {
    struct clab_job *job;
    struct clab_comm *comm;
    struct clab_batch batch;                // a network, and what it learns
    struct clab_work *works[LAYERS];        // reductions under way, of a program that starts some
    double loss, forward, backward, update; // of the last step; the others in s
};

// One training step. Returns its seconds.
typedef double training_step(struct training *t, bool communicates);

// The backward pass. ready: called with each parameter whose gradient is there, or NULL.
static inline void training_backward(struct training *t, clab_mlp_ready *ready)
{
    clab_span_begin(t->job, "backward");
    must(clab_mlp_backward(t->batch.mlp, t->batch.gradient, false, ready, t));
    clab_span_end(t->job);
}

// ---- measuring -----------------------------------------------------------------------------------------------

enum { STEP, FORWARD, BACKWARD, UPDATE, COMM, EXPOSED, OVERLAP, QUANTITIES };
static const struct {
    const char *name, *unit;
} quantities[] = {{"step_time", "s"}, {"forward", "s"},      {"backward", "s"}, {"update", "s"},
                  {"comm", "s"},      {"exposed_comm", "s"}, {"overlap", "%"}};

static inline double slowest(const struct training *t, double seconds)
{
    lab_slowest(t->comm, &seconds, 1);
    return seconds;
}

// All reductions one after another, with nothing beside.
static inline double reduce_alone(const struct training *t)
{
    const struct clab_parameter *p = clab_mlp_parameters(t->batch.mlp);
    must(clab_barrier(t->comm));
    const double begin = clab_seconds();
    clab_span_begin(t->job, "reductions alone");
    for (int l = LAYERS - 1; l >= 0; l--)
        must(clab_allreduce(t->comm, p[2 * l].gradient, p[2 * l].gradient, p[2 * l].count + p[2 * l + 1].count,
                            CLAB_F32, CLAB_AVG));
    clab_span_end(t->job);
    return clab_seconds() - begin;
}

// A step without communication, its gradients alone, and a step with both.
static inline void take_sample(struct training *t, training_step *step, double *s[])
{
    const double computed = slowest(t, step(t, false));
    *s[FORWARD] = slowest(t, t->forward);
    *s[BACKWARD] = slowest(t, t->backward);
    *s[UPDATE] = slowest(t, t->update);
    *s[COMM] = slowest(t, reduce_alone(t));
    *s[STEP] = slowest(t, step(t, true));
    *s[EXPOSED] = *s[STEP] > computed ? *s[STEP] - computed : 0;
    *s[OVERLAP] = *s[EXPOSED] < *s[COMM] ? 100 * (1 - *s[EXPOSED] / *s[COMM]) : 0;
}

static inline void measure(struct training *t, const struct clab_mlp_shape *shape, double seconds, training_step *step)
{
    double samples[QUANTITIES][LAB_SAMPLES];
    const int n = clab_samples(3);
    must(clab_batch_create_for(t->comm, shape, seconds, &t->batch));
    step(t, true); // warm
    for (int i = 0; i < n; i++) {
        double *at[QUANTITIES];
        for (int q = 0; q < QUANTITIES; q++)
            at[q] = &samples[q][i];
        take_sample(t, step, at);
    }
    for (int q = 0; q < QUANTITIES; q++)
        must(clab_report(t->comm, quantities[q].name, quantities[q].unit, samples[q], n));
    clab_batch_destroy(&t->batch);
}

// All ranks learn the same: the loss of a few steps, and that all have the same parameters.
static inline void check(struct training *t, const struct clab_mlp_shape *shape, training_step *step)
{
    must(clab_batch_create(t->comm, shape, &t->batch));
    for (int i = 0; i < 3; i++)
        step(t, true);
    for (const struct clab_parameter *p = clab_mlp_parameters(t->batch.mlp), *end = p + 2 * LAYERS; p < end; p++)
        lab_expect_same(t->comm, p->name, p->count, p->value);
    must(clab_allreduce(t->comm, &t->loss, &t->loss, 1, CLAB_F64, CLAB_AVG));
    must(clab_report(t->comm, "loss", "1", &t->loss, 1));
    clab_batch_destroy(&t->batch);
}

// All of a program's main. about: what it says of itself to --help
static inline int training_main(int argc, char **argv, const char *about, training_step *step)
{
    static const char usage[] = "give MICROSECONDS of computation per step, from 1, as in 50000";
    int widths[LAYERS + 1];
    const struct clab_mlp_shape shape = clab_mlp_even(LAYERS, WIDTH, WIDTH, WIDTH, ROWS, widths);
    struct training t = {0};
    char text[512];
    snprintf(text, sizeof text,
             "%s\nReports seconds of a step, of its parts, and of the communication that nothing hides.\n\n"
             "  MICROSECONDS       that a rank computes in a step; the batch follows\n",
             about);
    clab_help(argc, argv, "MICROSECONDS", text);
    must(clab_job_open(&argc, argv, &t.job));
    const double seconds = 1e-6 * (double)clab_must_size(t.job, argc == 2 ? argv[1] : NULL, 1, usage);
    must(clab_comm_create(t.job, &t.comm));
    must(clab_comm_set_algorithm(t.comm, CLAB_ALLREDUCE, "ring", 0));
    check(&t, &shape, step);
    measure(&t, &shape, seconds, step);
    clab_comm_destroy(t.comm);
    must(clab_job_close(t.job));
    return 0;
}
