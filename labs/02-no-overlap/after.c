// SPDX-License-Identifier: MIT
// After: each layer's gradients are reduced as soon as they are there, while the backward pass goes on below it.
//
//   after [-n RANKS] [--backend B] [--emulate NET] MICROSECONDS
//
// - A small, real training step: forward, backward, gradients averaged over all ranks a layer at a time, SGD. The batch
//   is chosen so that a rank computes for MICROSECONDS a step.
// - Steps with and without communication take turns: what they differ by is the communication that can be seen.

#include "clab.h"
#include "shape.h"
#include "train/train.h"

enum { ROWS = 2, CHECKED = 3, SAMPLES = 5 };
static const double rate = 0.01;
static const char about[] = "A training step: each layer's gradients are reduced while the backward pass goes on.\n"
                            "Reports seconds of a step, of its parts, and of the communication that nothing hides.\n\n"
                            "  MICROSECONDS       that a rank computes in a step; the batch follows\n";
static const char usage[] = "give MICROSECONDS of computation a step, from 1, as in 50000";

struct training {
    struct clab_job *job;
    struct clab_comm *comm;
    struct clab_mlp_shape shape;
    struct clab_batch batch;                // a network, and what it learns
    struct clab_work *works[LAYERS];        // reductions under way
    double loss, forward, backward, update; // of the last step; the others in s
};

// ---- what the lab is about -----------------------------------------------------------------------------------

// The backward pass has a gradient: with a layer's second one, begin their average over all ranks.
static int begin_reduction(void *training, int parameter)
{
    struct training *t = training;
    const struct clab_parameter *p = clab_mlp_parameters(t->batch.mlp) + parameter;
    if (parameter % 2 == 1)
        return CLAB_OK; // biases, which come first, and lie behind the weights
    return clab_allreduce_start(t->comm, p->gradient, p->gradient, p->count + p[1].count, CLAB_F32, CLAB_AVG,
                                &t->works[parameter / 2]);
}

static void backward(struct training *t, bool communicates)
{
    must(clab_mlp_backward(t->batch.mlp, t->batch.gradient, false, communicates ? begin_reduction : NULL, t));
    for (int l = LAYERS - 1; communicates && l >= 0; l--)
        must(clab_work_wait(t->works[l]));
}

// ---- a step --------------------------------------------------------------------------------------------------

static double step(struct training *t, bool communicates)
{
    const float *outputs;
    must(clab_barrier(t->comm));
    const double start = clab_seconds();
    must(clab_mlp_forward(t->batch.mlp, t->batch.x, &outputs));
    must(clab_mlp_loss(t->batch.mlp, outputs, t->batch.targets, t->batch.gradient, &t->loss));
    const double halfway = clab_seconds();
    backward(t, communicates);
    const double reduced = clab_seconds();
    must(clab_mlp_step(t->batch.mlp, rate));
    const double end = clab_seconds();
    t->forward = halfway - start;
    t->backward = reduced - halfway;
    t->update = end - reduced;
    return end - start;
}

static double slowest(const struct training *t, double seconds)
{
    must(clab_allreduce(t->comm, &seconds, &seconds, 1, CLAB_F64, CLAB_MAX));
    return seconds;
}

// All ranks learn the same: the loss of a few steps, and that all have the same parameters.
static void check(struct training *t)
{
    int other;
    must(clab_batch_create(t->comm, &t->shape, &t->batch));
    for (int i = 0; i < CHECKED; i++)
        step(t, true);
    must(clab_parameters_compare(t->comm, clab_mlp_parameters(t->batch.mlp), 2 * LAYERS, &other));
    must(other < 0 ? CLAB_OK : CLAB_EWRONG);
    must(clab_allreduce(t->comm, &t->loss, &t->loss, 1, CLAB_F64, CLAB_AVG));
    must(clab_report(t->comm, "loss", "1", &t->loss, 1));
    clab_batch_destroy(&t->batch);
}

// ---- measuring -----------------------------------------------------------------------------------------------

enum { STEP, FORWARD, BACKWARD, UPDATE, COMM, EXPOSED, OVERLAP, QUANTITIES };
static const struct {
    const char *name, *unit;
} quantities[] = {{"step_time", "s"}, {"forward", "s"},      {"backward", "s"}, {"update", "s"},
                  {"comm", "s"},      {"exposed_comm", "s"}, {"overlap", "%"}};

// A step without communication, its gradients alone, and a step with both.
static void take_sample(struct training *t, double *s[])
{
    const double computed = slowest(t, step(t, false));
    *s[FORWARD] = slowest(t, t->forward);
    *s[BACKWARD] = slowest(t, t->backward);
    *s[UPDATE] = slowest(t, t->update);
    must(clab_barrier(t->comm));
    const double begin = clab_seconds();
    for (int l = LAYERS - 1; l >= 0; l--)
        must(begin_reduction(t, 2 * l));
    for (int l = LAYERS - 1; l >= 0; l--)
        must(clab_work_wait(t->works[l]));
    *s[COMM] = slowest(t, clab_seconds() - begin);
    *s[STEP] = slowest(t, step(t, true));
    *s[EXPOSED] = *s[STEP] > computed ? *s[STEP] - computed : 0;
    *s[OVERLAP] = *s[EXPOSED] < *s[COMM] ? 100 * (1 - *s[EXPOSED] / *s[COMM]) : 0;
}

static void measure(struct training *t, double seconds)
{
    double samples[QUANTITIES][SAMPLES];
    const int n = clab_samples(SAMPLES);
    must(clab_batch_create_for(t->comm, &t->shape, seconds, &t->batch));
    step(t, true); // warm
    for (int i = 0; i < n; i++) {
        double *at[QUANTITIES];
        for (int q = 0; q < QUANTITIES; q++)
            at[q] = &samples[q][i];
        take_sample(t, at);
    }
    for (int q = 0; q < QUANTITIES; q++)
        must(clab_report(t->comm, quantities[q].name, quantities[q].unit, samples[q], n));
    clab_batch_destroy(&t->batch);
}

int main(int argc, char **argv)
{
    int widths[LAYERS + 1];
    struct training t = {.shape = clab_mlp_even(LAYERS, WIDTH, WIDTH, WIDTH, ROWS, widths)};
    clab_help(argc, argv, "MICROSECONDS", about);
    must(clab_job_open(&argc, argv, &t.job));
    const double seconds = 1e-6 * (double)clab_must_size(t.job, argc == 2 ? argv[1] : NULL, 1, usage);
    must(clab_comm_create(t.job, &t.comm));
    must(clab_comm_set_algorithm(t.comm, CLAB_ALLREDUCE, "ring", 0));
    check(&t);
    measure(&t, seconds);
    clab_comm_destroy(t.comm);
    must(clab_job_close(t.job));
    return 0;
}
