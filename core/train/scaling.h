// SPDX-License-Identifier: MIT
// Loss scaling and clipping: what gradients need that travel in 16 bits (compress.h, fp16).
//
//   clab_loss_scale_apply(job, &scaling, gradient, count);         the outputs' gradients, before the backward pass
//   ... backward, clab_ddp_finish: averages of gradients that are scale times too large
//   clab_gradients_norm(job, parameters, n, &norm);
//   if (clab_loss_scale_take(&scaling, norm)) {                    else the step is skipped, and the scale halved
//       clab_gradients_multiply(job, parameters, n, clab_clip(norm / scaling.last, most) / scaling.last);
//       clab_mlp_step(mlp, rate);
//   }
//
// - binary16 holds nothing below 6e-8 and nothing above 65504. A scale moves gradients away from the lower end. It grows
//   until a gradient is infinite; then that step is skipped, and the scale halved.
// - Averages are the same on all ranks, and so is what follows from them: ranks need not talk about it.
// Source: Micikevicius et al. 2018, Mixed Precision Training; Pascanu, Mikolov and Bengio 2013 (clipping by norm).
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "parameters.h"

struct clab_job;

struct clab_loss_scale {
    float scale;  // by which the next loss is multiplied: a power of two
    float last;   // by which the one was that take has looked at
    int patience; // steps in a row after which it doubles; 0: it never does
    int good;     // taken in a row
};

// values *= scale.  values: (count) of clab_alloc.  errors: CLAB_ENOMEM, of clab_copy
int clab_loss_scale_apply(struct clab_job *job, const struct clab_loss_scale *scaling, float *values, size_t count);

// Whether to take a step whose gradients have this norm, scale and all: it is a finite number. Adapts the scale.
bool clab_loss_scale_take(struct clab_loss_scale *scaling, double norm);

// The square root of the sum of squares of all gradients, in float64; not finite where one of them is not.
//   errors: CLAB_ENOMEM, of clab_copy
int clab_gradients_norm(struct clab_job *job, const struct clab_parameter parameters[], int n, double *norm_p);
// gradients *= factor.  errors: CLAB_ENOMEM, of clab_copy
int clab_gradients_multiply(struct clab_job *job, const struct clab_parameter parameters[], int n, double factor);

// The factor that makes a vector of that norm at most `most` long: 1, or less.
double clab_clip(double norm, double most);
