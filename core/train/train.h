// SPDX-License-Identifier: MIT
// The small, real training job that labs run: data, a network, and data parallel training of it.
//
//   struct clab_mlp *mlp;  struct clab_ddp *ddp;
//   clab_mlp_create(job, &shape, seed, &mlp);
//   clab_ddp_create(comm, clab_mlp_parameters(mlp), clab_mlp_nparameters(mlp), &options, &ddp);  the same everywhere
//   for each step:
//       clab_data_load(job, &data, step, rows, rows, rank, nranks, x, targets);    this rank's of the global batch
//       clab_mlp_forward(mlp, x, &outputs);
//       clab_mlp_loss(mlp, outputs, targets, gradient, &loss);
//       clab_ddp_begin(ddp, true);
//       clab_mlp_backward(mlp, gradient, false, clab_ddp_ready, ddp);    collectives start as gradients appear
//       clab_ddp_finish(ddp);                                            and are waited for
//       clab_mlp_step(mlp, rate);
//
// - All is float32, and computed by the backend's device (core/transport/device.h): OpenBLAS or loops; in virtual time
//   loops alone, so that a run gives the same bits on every machine. Its work is told to clab_compute, and is a span of
//   traces.
// - The calls return CLAB_OK or a clab_err, as those of clab.h do.
#pragma once

#include "batch.h"
#include "data.h"
#include "ddp.h"
#include "mlp.h"
#include "scaling.h"
