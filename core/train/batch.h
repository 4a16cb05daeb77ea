// SPDX-License-Identifier: MIT
// A network and a batch on which a lab computes, for as long as the lab asks.
//
// - Inputs and targets are clab_data's, this rank's rows of step 0; the same in each pass, so that passes are alike.
// - Of a batch for a time, all ranks have the same rows: the slowest rank's pass counts.
#pragma once

#include "mlp.h"

struct clab_comm;

struct clab_batch {
    struct clab_job *job;
    struct clab_mlp *mlp;
    float *x, *targets, *gradient; // (clab_mlp_rows, inputs), (rows, outputs), (rows, outputs): of the outputs
};

//   errors: of clab_mlp_create, CLAB_ENOMEM
int clab_batch_create(struct clab_comm *comm, const struct clab_mlp_shape *shape, struct clab_batch *batch_p);
// With shape->rows as often as makes a forward and a backward pass take about `seconds`, within 3 % where rows are that
// fine. Collective.
//   errors: as clab_batch_create, those of its passes
int clab_batch_create_for(struct clab_comm *comm, const struct clab_mlp_shape *shape, double seconds,
                          struct clab_batch *batch_p);
void clab_batch_destroy(struct clab_batch *batch);
