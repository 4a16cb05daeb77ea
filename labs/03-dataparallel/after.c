// SPDX-License-Identifier: MIT
// After: data parallel training with a process a device (DistributedDataParallel). Every rank has the model and its own
// share of the samples; only gradients travel, and are averaged by a ring.
//
//   after [-n RANKS] [--backend B] [WIDTH...]
//
// - No rank is special: what one sends and receives stays below four times the gradients, whatever the number of ranks.
// - What is timed is the slowest rank's mean over a few steps, after warm ones. Making the data is outside of it.

#include <stdio.h>

#include "clab.h"
#include "train/train.h"

enum { LAYERS = 4, ROWS = 16, TRAINED = 4, SEED = 1, SAMPLES = 9 }; // ROWS: samples a rank
static const float rate = 0.02f;
static const char about[] =
    "Data parallel training where every rank has the model and its own samples, and gradients are averaged by a ring.\n"
    "Reports the seconds a step, the bytes in and out of rank 0 and of the busiest other rank, and the loss.\n\n"
    "  WIDTH...           inputs, outputs and the width of each of four layers (64 256)\n";
static const char usage[] = "give WIDTH, at least 1, as in 64 256";

// x, wanted, gradient: (ROWS, width)
struct trainer {
    struct clab_job *job;
    struct clab_comm *comm;
    struct clab_mlp *mlp;
    struct clab_ddp *ddp;
    struct clab_data data;
    float *x, *wanted, *gradient;
};

// The samples of a step: this rank's share.
static void make_data(struct trainer *t, int step)
{
    must(clab_data_load(t->job, &t->data, (uint64_t)step, ROWS, ROWS, clab_job_rank(t->job), clab_job_ranks(t->job),
                        t->x, t->wanted));
}

// One step. Returns the loss of this rank's samples.
static double train(const struct trainer *t)
{
    const float *outputs;
    double loss;
    must(clab_mlp_forward(t->mlp, t->x, &outputs));
    must(clab_mlp_loss(t->mlp, outputs, t->wanted, t->gradient, &loss));
    must(clab_ddp_begin(t->ddp, true));
    must(clab_mlp_backward(t->mlp, t->gradient, false, clab_ddp_ready, t->ddp));
    must(clab_ddp_finish(t->ddp));
    must(clab_mlp_step(t->mlp, rate));
    return loss;
}

// Seconds a step, this rank's mean over `steps` of them.
static double time_steps(const struct trainer *t, int steps)
{
    must(clab_barrier(t->comm));
    const double start = clab_seconds();
    for (int i = 0; i < steps; i++)
        train(t);
    return (clab_seconds() - start) / steps;
}

static void report(const struct trainer *t, const char *quantity, const char *unit, double *samples, int n)
{
    char name[96];
    snprintf(name, sizeof name, "%s/replicas/%d", quantity, t->data.inputs);
    must(clab_allreduce(t->comm, samples, samples, (size_t)n, CLAB_F64, CLAB_MAX)); // the slowest, the busiest rank
    must(clab_report(t->comm, name, unit, samples, n));
}

// Bytes that have come to this rank or gone from it.
static double bytes_moved(const struct trainer *t)
{
    const struct clab_comm_traffic traffic = clab_comm_traffic(t->comm);
    return (double)(traffic.bytes_sent + traffic.bytes_received);
}

static void measure(struct trainer *t)
{
    const bool zero = clab_job_rank(t->job) == 0;
    double loss = 0, samples[SAMPLES], moved = 0;
    for (int step = 0; step < TRAINED; step++) {
        make_data(t, step);
        moved = -bytes_moved(t);
        loss = train(t);
        moved += bytes_moved(t);
    }
    must(clab_allreduce(t->comm, &loss, &loss, 1, CLAB_F64, CLAB_AVG));
    double once = time_steps(t, 1);
    must(clab_allreduce(t->comm, &once, &once, 1, CLAB_F64, CLAB_MAX)); // all ranks make as many steps
    const int nsamples = clab_samples(SAMPLES);
    for (int i = 0; i < nsamples; i++)
        samples[i] = time_steps(t, clab_repeats(5e-3, once)); // of 5 ms
    report(t, "time", "s", samples, nsamples);
    report(t, "bytes_of_zero", "B", &(double){zero ? moved : 0}, 1);
    report(t, "bytes_of_other", "B", &(double){zero ? 0 : moved}, 1);
    report(t, "loss", "1", &loss, 1);
}

static void measure_width(struct trainer *t, int width)
{
    const struct clab_ddp_options options = {0}; // buckets of 25 MiB
    const size_t bytes = ROWS * (size_t)width * sizeof(float);
    int widths[LAYERS + 1], other;
    const struct clab_mlp_shape shape = clab_mlp_even(LAYERS, width, width, width, ROWS, widths);
    t->data = (struct clab_data){.seed = SEED, .inputs = width, .outputs = width};
    float **mine[] = {&t->x, &t->wanted, &t->gradient};
    for (int i = 0; i < 3; i++)
        must(clab_alloc(t->job, bytes, (void **)mine[i]));
    must(clab_mlp_create(t->job, &shape, SEED, &t->mlp));
    must(clab_ddp_create(t->comm, clab_mlp_parameters(t->mlp), 2 * LAYERS, &options, &t->ddp));
    measure(t);
    must(clab_parameters_compare(t->comm, clab_mlp_parameters(t->mlp), 2 * LAYERS, &other));
    must(other < 0 ? CLAB_OK : CLAB_EWRONG); // replicas have stayed replicas
    clab_ddp_destroy(t->ddp);
    clab_mlp_destroy(t->mlp);
    for (int i = 0; i < 3; i++)
        clab_free(t->job, *mine[i]);
}

int main(int argc, char **argv)
{
    struct trainer t;
    clab_help(argc, argv, "[WIDTH...]", about);
    must(clab_job_open(&argc, argv, &t.job));
    must(clab_comm_create(t.job, &t.comm));
    must(clab_comm_set_algorithm(t.comm, CLAB_ALLREDUCE, "ring", 1));
    for (int i = 1; i < argc; i++)
        measure_width(&t, (int)clab_must_size(t.job, argv[i], 1, usage));
    for (int width = 64; argc == 1 && width <= 256; width *= 4)
        measure_width(&t, width);
    clab_comm_destroy(t.comm);
    must(clab_job_close(t.job));
    return 0;
}
