// SPDX-License-Identifier: MIT
// After: gradients are averaged in buckets, each as soon as its last gradient is there. How large is a bucket to be?
//
// - Small buckets pay for their number, large ones for what is left when the backward pass has ended: a curve like a U.
// - A bucket is the memory of its gradients; "copied" does it with memory of its own. "unused": odd ranks skip a layer.
// - What is timed is the slowest rank's mean over a few steps, after warm ones. Making the data is outside of it.

#include <math.h>
#include <stdio.h>

#include "clab.h"
#include "train/train.h"

enum { MOST_LAYERS = 256, MOST = 1 << 30, TRAINED = 4, SEED = 1, SAMPLES = 9, STEPS = 2 };
static const float rate = 0.02f;
static const char about[] =
    "Data parallel training whose gradients are averaged in buckets, each as soon as its last gradient is there.\n"
    "Reports the seconds a step, those in which nothing is computed, the number of collectives, and the loss.\n\n"
    "  LAYERS WIDTH       at most 256 layers, each so wide (24 64)\n"
    "  ROWS REPEAT        samples a rank, and how often its batch holds each (128 1)\n"
    "  CAP...             bytes of a bucket, at least (1 16K 32K 64K 128K 256K 512K 2M)\n";
static const char usage[] = "give LAYERS WIDTH ROWS REPEAT [CAP...], at most 256 layers, as in 24 64 128 1 65536";

// x, wanted, gradient: (rows * repeat, width)
struct trainer {
    struct clab_job *job;
    struct clab_comm *comm;
    struct clab_mlp *mlp;
    struct clab_ddp *ddp;
    int layers, width, rows, repeat;
    float *x, *wanted, *gradient;
};

// One step. Returns the loss of this rank's samples; *exposed_p: seconds in which it only communicated.
static double train(const struct trainer *t, double *exposed_p)
{
    const float *outputs;
    double loss;
    must(clab_mlp_forward(t->mlp, t->x, &outputs));
    must(clab_mlp_loss(t->mlp, outputs, t->wanted, t->gradient, &loss));
    must(clab_ddp_begin(t->ddp, true));
    must(clab_mlp_backward(t->mlp, t->gradient, false, clab_ddp_ready, t->ddp));
    must(clab_ddp_finish(t->ddp));
    *exposed_p = clab_ddp_exposed(t->ddp);
    must(clab_mlp_step(t->mlp, rate));
    return loss;
}

// Seconds a step, this rank's mean.
static double time_steps(const struct trainer *t, double *exposed_p)
{
    must(clab_barrier(t->comm));
    const double start = clab_seconds();
    for (int i = 0; i < STEPS; i++)
        train(t, exposed_p);
    return (clab_seconds() - start) / STEPS;
}

static void report(const struct trainer *t, const char *what, const char *name, const char *unit, double *values, int n)
{
    char text[96];
    snprintf(text, sizeof text, "%s/%s", what, name);
    must(clab_allreduce(t->comm, values, values, (size_t)n, CLAB_F64, CLAB_MAX)); // the slowest rank
    must(clab_report(t->comm, text, unit, values, n));
}

// Returns the mean of the seconds a step.
static double measure(const struct trainer *t, const char *name)
{
    double loss = 0, sum = 0, samples[SAMPLES], exposed[SAMPLES];
    for (int step = 0; step < TRAINED; step++)
        loss = train(t, exposed);
    must(clab_allreduce(t->comm, &loss, &loss, 1, CLAB_F64, CLAB_AVG));
    const int nsamples = clab_samples(SAMPLES);
    for (int i = 0; i < nsamples; i++)
        samples[i] = time_steps(t, &exposed[i]);
    report(t, "time", name, "s", samples, nsamples);
    report(t, "exposed", name, "s", exposed, nsamples);
    report(t, "collectives", name, "1", &(double){clab_ddp_nbuckets(t->ddp)}, 1);
    report(t, "loss", name, "1", &loss, 1);
    for (int i = 0; i < nsamples; i++)
        sum += samples[i];
    return sum / nsamples;
}

// A new network for each cap, the same for all: what is learnt must not depend on it.
static double measure_cap(struct trainer *t, const char *name, struct clab_ddp_options options)
{
    int widths[MOST_LAYERS + 1], other;
    struct clab_mlp_shape shape = clab_mlp_even(t->layers, t->width, t->width, t->width, t->rows, widths);
    const struct clab_data data = {SEED, t->width, t->width};
    const int rank = clab_job_rank(t->job);
    shape.repeat = t->repeat;
    must(clab_mlp_create(t->job, &shape, SEED, &t->mlp));
    must(clab_ddp_create(t->comm, clab_mlp_parameters(t->mlp), 2 * t->layers, &options, &t->ddp));
    must(clab_data_load(t->job, &data, 0, t->rows, clab_mlp_rows(t->mlp), rank, clab_job_ranks(t->job), t->x,
                        t->wanted));
    if (options.find_unused && rank % 2)
        must(clab_mlp_skip(t->mlp, 0, true));
    const double seconds = measure(t, name);
    must(clab_parameters_compare(t->comm, clab_mlp_parameters(t->mlp), 2 * t->layers, &other));
    must(other < 0 ? CLAB_OK : CLAB_EWRONG); // replicas have stayed replicas
    if (rank == 0 && clab_ddp_nbuckets(t->ddp) <= 8)
        must(clab_ddp_print(t->ddp, stdout));
    clab_ddp_destroy(t->ddp);
    clab_mlp_destroy(t->mlp);
    return seconds;
}

static void measure_all(struct trainer *t, int ncaps, char *const caps[])
{
    const size_t block = (size_t)t->rows * (size_t)t->repeat * (size_t)t->width;
    size_t best = 1;
    double least = INFINITY;
    must(clab_alloc(t->job, 3 * block * sizeof(float), (void **)&t->x));
    t->wanted = t->x + block;
    t->gradient = t->wanted + block;
    for (int i = 0; i < ncaps; i++) {
        char name[64];
        const size_t cap = clab_must_size(t->job, caps[i], 1, usage);
        snprintf(name, sizeof name, "bucket/%zu", cap);
        const double seconds = measure_cap(t, name, (struct clab_ddp_options){.cap = cap, .first_cap = cap});
        best = seconds < least ? cap : best;
        least = fmin(least, seconds);
    }
    // Once more, for what was the best by chance is not.
    measure_cap(t, "best/parameter", (struct clab_ddp_options){.cap = best, .first_cap = best});
    measure_cap(t, "best/flat", (struct clab_ddp_options){.cap = best, .first_cap = best});
    measure_cap(t, "copied/best", (struct clab_ddp_options){.cap = best, .first_cap = best, .copies = true});
    measure_cap(t, "unused/best", (struct clab_ddp_options){.cap = best, .first_cap = best, .find_unused = true});
    clab_free(t->job, t->x);
}

int main(int argc, char **argv)
{
    static char *const usual[] = {"1", "16K", "32K", "64K", "128K", "256K", "512K", "2M"};
    struct trainer t = {.layers = 24, .width = 64, .rows = 128, .repeat = 1};
    int *settings[] = {&t.layers, &t.width, &t.rows, &t.repeat};
    const int most[] = {MOST_LAYERS, MOST, MOST, MOST};
    clab_help(argc, argv, "[LAYERS WIDTH ROWS REPEAT [CAP...]]", about);
    must(clab_job_open(&argc, argv, &t.job));
    must(clab_comm_create(t.job, &t.comm));
    must(clab_comm_set_algorithm(t.comm, CLAB_ALLREDUCE, "halving_doubling", 1));
    for (int i = 0; i < 4 && argc > 1; i++)
        *settings[i] = clab_must_count(t.job, i + 1 < argc ? argv[i + 1] : NULL, most[i], usage);
    measure_all(&t, argc > 5 ? argc - 5 : 8, argc > 5 ? argv + 5 : usual);
    clab_comm_destroy(t.comm);
    must(clab_job_close(t.job));
    return 0;
}
