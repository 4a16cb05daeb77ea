// SPDX-License-Identifier: MIT
// Before: gradients are averaged after the backward pass, one collective per parameter, or copied together into one.
//
//   before [-n RANKS] [--backend B] [LAYERS WIDTH ROWS REPEAT [CAP...]]
//
// - Many small collectives pay for their number; one large one begins when there is nothing left to compute.
// - What is timed is the slowest rank's mean over a few steps, after warm ones. Making the data is outside of it.

#include <stdio.h>

#include "clab.h"
#include "train/train.h"

enum { MOST_LAYERS = 256, MOST = 1 << 30, TRAINED = 4, SEED = 1, SAMPLES = 9, STEPS = 2 };
static const float rate = 0.02f;
static const char about[] =
    "Data parallel training whose gradients are averaged after the backward pass: one collective per parameter, or one.\n"
    "Reports the seconds a step, those in which nothing is computed, the number of collectives, and the loss.\n\n"
    "  LAYERS WIDTH       at most 256 layers, each so wide (24 64)\n"
    "  ROWS REPEAT        samples a rank, and how often its batch holds each (128 1)\n"
    "  CAP...             bytes of a bucket: after's\n";
static const char usage[] = "give LAYERS WIDTH ROWS REPEAT [CAP...], at most 256 layers, as in 24 64 128 1 65536";

// x, wanted, gradient: (rows * repeat, width); flat: all gradients, (count)
struct trainer {
    struct clab_job *job;
    struct clab_comm *comm;
    struct clab_mlp *mlp;
    int layers, width, rows, repeat;
    size_t count;
    float *x, *wanted, *gradient, *flat;
};

// One collective per parameter.
static void average_each(const struct trainer *t)
{
    const struct clab_parameter *p = clab_mlp_parameters(t->mlp);
    for (int i = 2 * t->layers - 1; i >= 0; i--)
        must(clab_allreduce(t->comm, p[i].gradient, p[i].gradient, p[i].count, CLAB_F32, CLAB_AVG));
}

// One in all, to and from which gradients are copied; a copy reads and writes.
static void average_whole(const struct trainer *t)
{
    float *all = clab_mlp_parameters(t->mlp)->gradient;
    must(clab_copy(t->job, t->flat, all, t->count * sizeof *all));
    must(clab_compute(t->job, CLAB_FP32, 0, 2.0 * sizeof *all * (double)t->count));
    must(clab_allreduce(t->comm, t->flat, t->flat, t->count, CLAB_F32, CLAB_AVG));
    must(clab_copy(t->job, all, t->flat, t->count * sizeof *all));
    must(clab_compute(t->job, CLAB_FP32, 0, 2.0 * sizeof *all * (double)t->count));
}

static const struct method {
    const char *name;
    void (*average)(const struct trainer *t); // NULL: replicas drift apart
} methods[] = {{"nothing/none", NULL}, {"each/parameter", average_each}, {"whole/flat", average_whole}};

// One step. Returns the loss of this rank's samples; *exposed_p: seconds in which it only communicated.
static double train(const struct trainer *t, const struct method *method, double *exposed_p)
{
    const float *outputs;
    double loss;
    must(clab_mlp_forward(t->mlp, t->x, &outputs));
    must(clab_mlp_loss(t->mlp, outputs, t->wanted, t->gradient, &loss));
    must(clab_mlp_backward(t->mlp, t->gradient, false, NULL, NULL));
    const double computed = clab_seconds();
    if (method->average)
        method->average(t);
    *exposed_p = clab_seconds() - computed;
    must(clab_mlp_step(t->mlp, rate));
    return loss;
}

// Seconds a step, this rank's mean.
static double time_steps(const struct trainer *t, const struct method *method, double *exposed_p)
{
    must(clab_barrier(t->comm));
    const double start = clab_seconds();
    for (int i = 0; i < STEPS; i++)
        train(t, method, exposed_p);
    return (clab_seconds() - start) / STEPS;
}

static void report(const struct trainer *t, const char *what, const char *name, const char *unit, double *values, int n)
{
    char text[96];
    snprintf(text, sizeof text, "%s/%s", what, name);
    must(clab_allreduce(t->comm, values, values, (size_t)n, CLAB_F64, CLAB_MAX)); // the slowest rank
    must(clab_report(t->comm, text, unit, values, n));
}

static void measure(const struct trainer *t, const struct method *method)
{
    double loss = 0, samples[SAMPLES], exposed[SAMPLES];
    for (int step = 0; step < TRAINED; step++)
        loss = train(t, method, exposed);
    must(clab_allreduce(t->comm, &loss, &loss, 1, CLAB_F64, CLAB_AVG));
    const int nsamples = clab_samples(SAMPLES);
    for (int i = 0; i < nsamples; i++)
        samples[i] = time_steps(t, method, &exposed[i]);
    report(t, "time", method->name, "s", samples, nsamples);
    if (!method->average)
        return;
    report(t, "exposed", method->name, "s", exposed, nsamples);
    report(t, "collectives", method->name, "1", &(double){method->average == average_each ? 2 * t->layers : 1}, 1);
    report(t, "loss", method->name, "1", &loss, 1);
}

// A new network for each method, the same for all: what is learnt must not depend on it.
static void measure_all(struct trainer *t)
{
    int widths[MOST_LAYERS + 1];
    struct clab_mlp_shape shape = clab_mlp_even(t->layers, t->width, t->width, t->width, t->rows, widths);
    const struct clab_data data = {SEED, t->width, t->width};
    const size_t block = (size_t)t->rows * (size_t)t->repeat * (size_t)t->width;
    shape.repeat = t->repeat;
    t->count = clab_mlp_count(&shape);
    must(clab_alloc(t->job, (3 * block + t->count) * sizeof(float), (void **)&t->x));
    t->wanted = t->x + block;
    t->gradient = t->wanted + block;
    t->flat = t->gradient + block;
    for (size_t i = 0; i < sizeof methods / sizeof *methods; i++) {
        must(clab_mlp_create(t->job, &shape, SEED, &t->mlp));
        must(clab_data_load(t->job, &data, 0, t->rows, clab_mlp_rows(t->mlp), clab_job_rank(t->job),
                            clab_job_ranks(t->job), t->x, t->wanted));
        measure(t, &methods[i]);
        clab_mlp_destroy(t->mlp);
    }
    clab_free(t->job, t->x);
}

int main(int argc, char **argv)
{
    struct trainer t = {.layers = 24, .width = 64, .rows = 128, .repeat = 1};
    int *settings[] = {&t.layers, &t.width, &t.rows, &t.repeat};
    const int most[] = {MOST_LAYERS, MOST, MOST, MOST};
    clab_help(argc, argv, "[LAYERS WIDTH ROWS REPEAT [CAP...]]", about);
    must(clab_job_open(&argc, argv, &t.job));
    must(clab_comm_create(t.job, &t.comm));
    must(clab_comm_set_algorithm(t.comm, CLAB_ALLREDUCE, "halving_doubling", 1));
    for (int i = 0; i < 4 && argc > 1; i++)
        *settings[i] = clab_must_count(t.job, i + 1 < argc ? argv[i + 1] : NULL, most[i], usage);
    measure_all(&t);
    clab_comm_destroy(t.comm);
    must(clab_job_close(t.job));
    return 0;
}
