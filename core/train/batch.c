// SPDX-License-Identifier: MIT
#include "core/train/batch.h"

#include <math.h>

#include "core/base/stats.h"
#include "core/clab.h"
#include "core/train/data.h"

enum { TRIES = 4, PASSES = 3 };
static const uint64_t seed = 1;
static const double near = 0.03;

int clab_batch_create(struct clab_comm *comm, const struct clab_mlp_shape *shape, struct clab_batch *batch_p)
{
    const int inputs = shape->widths[0], outputs = shape->widths[shape->layers];
    const struct clab_data data = {.seed = seed + 1, .inputs = inputs, .outputs = outputs};
    struct clab_batch b = {.job = clab_comm_job(comm)};
    CLAB_TRY(clab_mlp_create(b.job, shape, seed, &b.mlp));
    const int rows = clab_mlp_rows(b.mlp);
    const size_t in = (size_t)rows * (size_t)inputs * sizeof(float),
                 out = (size_t)rows * (size_t)outputs * sizeof(float);
    int err = clab_alloc(b.job, in, (void **)&b.x);
    if (!err)
        err = clab_alloc(b.job, out, (void **)&b.targets);
    if (!err)
        err = clab_alloc(b.job, out, (void **)&b.gradient);
    if (!err)
        err = clab_data_load(b.job, &data, 0, rows, rows, clab_comm_rank(comm), clab_comm_ranks(comm), b.x, b.targets);
    if (err)
        clab_batch_destroy(&b);
    else
        *batch_p = b;
    return err;
}

void clab_batch_destroy(struct clab_batch *batch)
{
    clab_mlp_destroy(batch->mlp);
    clab_free(batch->job, batch->x);
    clab_free(batch->job, batch->targets);
    clab_free(batch->job, batch->gradient);
}

// A pass forward and back, on the slowest rank.
static int time_pass(struct clab_comm *comm, struct clab_batch *b, double *seconds_p)
{
    const float *outputs;
    double loss;
    CLAB_TRY(clab_barrier(comm));
    const double start = clab_seconds();
    CLAB_TRY(clab_mlp_forward(b->mlp, b->x, &outputs));
    CLAB_TRY(clab_mlp_loss(b->mlp, outputs, b->targets, b->gradient, &loss));
    CLAB_TRY(clab_mlp_backward(b->mlp, b->gradient, false, NULL, NULL));
    double seconds = clab_seconds() - start;
    CLAB_TRY(clab_allreduce(comm, &seconds, &seconds, 1, CLAB_F64, CLAB_MAX));
    *seconds_p = seconds;
    return CLAB_OK;
}

// The median of some: what passes take here and now, with what disturbs them. cold: no pass came before
static int time_passes(struct clab_comm *comm, struct clab_batch *b, bool cold, double *seconds_p)
{
    double seconds[PASSES];
    const int n = clab_samples(PASSES);
    if (cold)
        CLAB_TRY(time_pass(comm, b, &seconds[0]));
    for (int i = 0; i < n; i++)
        CLAB_TRY(time_pass(comm, b, &seconds[i]));
    *seconds_p = clab_quantile(seconds, n, 0.5);
    return CLAB_OK;
}

int clab_batch_create_for(struct clab_comm *comm, const struct clab_mlp_shape *shape, double seconds,
                          struct clab_batch *batch_p)
{
    struct clab_mlp_shape scaled = *shape;
    scaled.repeat = 1;
    for (int i = 0;; i++) {
        struct clab_batch batch;
        double took;
        CLAB_TRY(clab_batch_create(comm, &scaled, &batch));
        const int err = time_passes(comm, &batch, i == 0, &took),
                  repeat = err ? 1 : (int)fmax(1, rint(scaled.repeat * seconds / took));
        if (!err && (i == TRIES || repeat == scaled.repeat || fabs(took - seconds) <= near * seconds)) {
            *batch_p = batch;
            return CLAB_OK;
        }
        clab_batch_destroy(&batch);
        CLAB_TRY(err);
        scaled.repeat = repeat;
    }
}
