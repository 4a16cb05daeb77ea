// SPDX-License-Identifier: MIT
// Before: data parallel training as one process with many devices does it (torch.nn.DataParallel). Rank 0 owns the
// model: in each step it hands out samples and parameters, takes in outputs and gradients, and updates.
//
//   before [-n RANKS] [--backend B] [WIDTH...]
//
// - Everything passes through rank 0, which talks to each of the others: its bytes grow with their number.
// - What is timed is the slowest rank's mean over a few steps, after warm ones. Making the data is outside of it.

#include <stdio.h>

#include "clab.h"
#include "train/train.h"

enum { LAYERS = 4, ROWS = 16, TRAINED = 4, SEED = 1, SAMPLES = 9 }; // ROWS: samples a rank
static const float rate = 0.02f;
static const char about[] =
    "Data parallel training where rank 0 hands out samples and parameters, takes outputs and gradients, and updates.\n"
    "Reports the seconds a step, the bytes in and out of rank 0 and of the busiest other rank, and the loss.\n\n"
    "  WIDTH...           inputs, outputs and the width of each of four layers (64 256)\n";
static const char usage[] = "give WIDTH, at least 1, as in 64 256";

// all, wanted, all_outputs, all_gradients: (P, ROWS, width), of use at rank 0; x, gradient: (ROWS, width)
struct trainer {
    struct clab_job *job;
    struct clab_comm *comm;
    struct clab_mlp *mlp;
    struct clab_data data;
    size_t block, count; // elements: ROWS * width; of all parameters
    float *all, *wanted, *all_outputs, *all_gradients, *x, *gradient;
};

// Rank 0's: the mean over all ranks of their outputs' losses, and what they are to start their backward pass with.
static double losses(const struct trainer *t)
{
    double loss, sum = 0;
    for (int r = 0, P = clab_job_ranks(t->job); r < P; r++, sum += loss / P)
        must(clab_mlp_loss(t->mlp, t->all_outputs + r * t->block, t->wanted + r * t->block,
                           t->all_gradients + r * t->block, &loss));
    return sum;
}

// One step. Returns the loss at rank 0, elsewhere 0.
static double train(const struct trainer *t)
{
    const struct clab_parameter *first = clab_mlp_parameters(t->mlp);
    const float *outputs;
    double loss = 0;
    must(clab_broadcast(t->comm, first->value, first->value, t->count, CLAB_F32, 0));
    must(clab_scatter(t->comm, t->all, t->x, t->block, CLAB_F32, 0));
    must(clab_mlp_forward(t->mlp, t->x, &outputs));
    must(clab_gather(t->comm, outputs, t->all_outputs, t->block, CLAB_F32, 0));
    if (clab_job_rank(t->job) == 0)
        loss = losses(t);
    must(clab_scatter(t->comm, t->all_gradients, t->gradient, t->block, CLAB_F32, 0));
    must(clab_mlp_backward(t->mlp, t->gradient, false, NULL, NULL));
    must(clab_reduce(t->comm, first->gradient, first->gradient, t->count, CLAB_F32, CLAB_AVG, 0));
    if (clab_job_rank(t->job) == 0)
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
    snprintf(name, sizeof name, "%s/through_zero/%d", quantity, t->data.inputs);
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
    for (int step = 0, rows = ROWS * clab_job_ranks(t->job); step < TRAINED; step++) {
        if (zero)
            must(clab_data_load(t->job, &t->data, (uint64_t)step, rows, rows, 0, 1, t->all, t->wanted));
        moved = -bytes_moved(t);
        loss = train(t);
        moved += bytes_moved(t);
    }
    double once = time_steps(t, 1);
    must(clab_allreduce(t->comm, &once, &once, 1, CLAB_F64, CLAB_MAX)); // all ranks make as many steps
    const int nsamples = clab_samples(SAMPLES);
    for (int i = 0; i < nsamples; i++)
        samples[i] = time_steps(t, clab_repeats(5e-3, once)); // of 5 ms
    report(t, "time", "s", samples, nsamples);
    for (int i = 0; i < nsamples; i++) { // what of that is computed
        const double start = clab_seconds();
        must(clab_mlp_train(t->mlp, t->x, t->x, t->gradient, rate, &samples[i]));
        samples[i] = clab_seconds() - start;
    }
    report(t, "compute", "s", samples, nsamples);
    report(t, "bytes_of_zero", "B", &(double){zero ? moved : 0}, 1);
    report(t, "bytes_of_other", "B", &(double){zero ? 0 : moved}, 1);
    report(t, "loss", "1", &loss, 1);
}

static void measure_width(struct trainer *t, int width)
{
    const size_t P = (size_t)clab_job_ranks(t->job);
    int widths[LAYERS + 1];
    const struct clab_mlp_shape shape = clab_mlp_even(LAYERS, width, width, width, ROWS, widths);
    t->data = (struct clab_data){.seed = SEED, .inputs = width, .outputs = width};
    t->block = ROWS * (size_t)width;
    t->count = clab_mlp_count(&shape);
    float **const arrays[] = {&t->all, &t->wanted, &t->all_outputs, &t->all_gradients, &t->x, &t->gradient};
    for (int i = 0; i < 6; i++)
        must(clab_alloc(t->job, (i < 4 ? P : 1) * t->block * sizeof(float), (void **)arrays[i]));
    must(clab_mlp_create(t->job, &shape, SEED, &t->mlp));
    measure(t);
    clab_mlp_destroy(t->mlp);
    for (int i = 0; i < 6; i++)
        clab_free(t->job, *arrays[i]);
}

int main(int argc, char **argv)
{
    static const enum clab_collective through_zero[] = {CLAB_BROADCAST, CLAB_SCATTER, CLAB_GATHER, CLAB_REDUCE};
    struct trainer t;
    clab_help(argc, argv, "[WIDTH...]", about);
    must(clab_job_open(&argc, argv, &t.job));
    must(clab_comm_create(t.job, &t.comm));
    for (int i = 0; i < 4; i++)
        must(clab_comm_set_algorithm(t.comm, through_zero[i], "flat", 0)); // it talks to one after another
    for (int i = 1; i < argc; i++)
        measure_width(&t, (int)clab_must_size(t.job, argv[i], 1, usage));
    for (int width = 64; argc == 1 && width <= 256; width *= 4)
        measure_width(&t, width);
    clab_comm_destroy(t.comm);
    must(clab_job_close(t.job));
    return 0;
}
