// SPDX-License-Identifier: MIT
// What tests of the training job share: a small network on each rank, a pass of it, and what rank 0 tells the test.
// - Group set-up is share_all. A rank opens with open_job, and what it leaves by keep lies in `left`.
#pragma once

#include "job_fixture.h"

#include "clab.h"
#include "train/train.h"

enum { INPUTS = 6, WIDTH = 10, OUTPUTS = 3, LAYERS = 4, BATCH = 24, STEPS = 4, SEED = 7 };
static int widths[LAYERS + 1];
static const struct clab_data data = {.seed = 11, .inputs = INPUTS, .outputs = OUTPUTS};

// A rank's own.
struct trainee {
    struct clab_job *job;
    struct clab_comm *comm;
    struct clab_mlp *mlp;
    float x[BATCH * INPUTS], targets[BATCH * OUTPUTS], gradient[BATCH * OUTPUTS];
};
static struct trainee me;

// What rank 0 leaves for the test to look at.
enum { COUNT = (INPUTS + 1) * WIDTH + (LAYERS - 2) * (WIDTH + 1) * WIDTH + (WIDTH + 1) * OUTPUTS };
static struct {
    float values[COUNT], gradients[COUNT];
    double losses[STEPS], moved;
    int others[8], err;
} * left;

static inline int open_job(int rows, struct trainee *t)
{
    char name[] = "test", *argv[] = {name, NULL};
    int argc = 1;
    const struct clab_mlp_shape shape = clab_mlp_even(LAYERS, INPUTS, WIDTH, OUTPUTS, rows, widths);
    CLAB_TRY(clab_job_open(&argc, argv, &t->job));
    CLAB_TRY(clab_comm_create(t->job, &t->comm));
    return clab_mlp_create(t->job, &shape, SEED, &t->mlp);
}

static inline void close_job(struct trainee *t)
{
    clab_mlp_destroy(t->mlp);
    clab_comm_destroy(t->comm);
    clab_job_close(t->job);
}

static inline void keep(struct trainee *t)
{
    const struct clab_parameter *p = clab_mlp_parameters(t->mlp);
    if (clab_job_rank(t->job) != 0)
        return;
    for (size_t n = 0, i = 0; n < (size_t)clab_mlp_nparameters(t->mlp); i += p[n++].count) {
        memcpy(&left->values[i], p[n].value, p[n].count * sizeof(float));
        if (p[n].gradient)
            memcpy(&left->gradients[i], p[n].gradient, p[n].count * sizeof(float));
    }
}

static inline int pass(struct trainee *t, uint64_t step, int rows, int rank, int nranks, bool add, struct clab_ddp *ddp,
                       double *loss_p)
{
    const float *outputs;
    clab_data_share(&data, step, rows, rank, nranks, t->x, t->targets);
    CLAB_TRY(clab_mlp_forward(t->mlp, t->x, &outputs));
    CLAB_TRY(clab_mlp_loss(t->mlp, outputs, t->targets, t->gradient, loss_p));
    return clab_mlp_backward(t->mlp, t->gradient, add, ddp ? clab_ddp_ready : NULL, ddp);
}

static inline int share_all(void **state)
{
    left = mmap(NULL, sizeof *left, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    return left == MAP_FAILED || share_told(state);
}
