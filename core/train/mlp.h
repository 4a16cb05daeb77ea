// SPDX-License-Identifier: MIT
// A multilayer perceptron: y = max(0, x W + b) layer after layer, the last without the max.
//
// - W of layer l is (widths[l], widths[l + 1]), row after row; b is (widths[l + 1]). Parameter 2 l is W, 2 l + 1 is b.
// - A pass takes `rows` samples. Gradients are of the mean over them, and parameters' gradients lie wherever
//   struct clab_parameter says: in memory of the network, or where the caller has put them (ddp.h: buckets).
// - `repeat`: the batch of a pass has each row `repeat` times. In virtual time the repetitions are charged but not
//   computed, since the mean over them is the mean over the rows. So 64 simulated ranks on a laptop can have the batch
//   of an accelerator. In real time the whole batch is computed: clab_mlp_rows returns the number of rows to give.
// - All floats, those of the caller, too, lie in memory of clab_alloc, which may be a GPU's.
// - A hidden layer whose widths are equal can be skipped (stochastic depth, Huang et al. 2016): its parameters are then
//   unused in this pass.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "parameters.h"

struct clab_job;
struct clab_mlp;

struct clab_mlp_shape {
    const int *widths; // (layers + 1): inputs, hidden ones, outputs
    int layers;        // at least 1
    int rows;          // different samples of a pass
    int repeat;        // of each; 0 is 1
};

// `layers` layers of `width`, from `inputs` to `outputs`.  widths: (layers + 1), filled
struct clab_mlp_shape clab_mlp_even(int layers, int inputs, int width, int outputs, int rows, int widths[]);

// Parameters uniform in +-sqrt(6 / inputs of their layer) (He et al. 2015), biases 0, by the seed alone.
//   errors: CLAB_EINVAL (logged), CLAB_ENOMEM
int clab_mlp_create(struct clab_job *job, const struct clab_mlp_shape *shape, uint64_t seed, struct clab_mlp **mlp_p);
void clab_mlp_destroy(struct clab_mlp *mlp); // NULL is fine

int clab_mlp_rows(const struct clab_mlp *mlp); // that a pass is given: rows, or rows * repeat
// (2 * layers), in the order of the forward pass; theirs as long as the network is. Values lie one after another, all
// from parameters[0].value on, and so do gradients that nobody has put elsewhere: (clab_mlp_count).
struct clab_parameter *clab_mlp_parameters(struct clab_mlp *mlp);
int clab_mlp_nparameters(const struct clab_mlp *mlp);

// Skip hidden layer `layer` from now on, or no more.  errors: CLAB_EINVAL (its widths differ; logged)
int clab_mlp_skip(struct clab_mlp *mlp, int layer, bool skip);

// x: (rows, inputs), which stays as it is until the backward pass; *outputs_p: (rows, outputs), the network's, until
// the next pass
//   errors: those of clab_compute
int clab_mlp_forward(struct clab_mlp *mlp, const float *x, const float **outputs_p);

// Mean of the squares of outputs - targets, and its gradient.  all: (rows, outputs)
//   errors: those of clab_compute
int clab_mlp_loss(struct clab_mlp *mlp, const float *outputs, const float *targets, float *gradient, double *loss_p);

// Called when the gradient of a parameter is complete: W and b of the last layer first. Its error ends the pass.
typedef int clab_mlp_ready(void *user, int parameter);

// The gradients of all parameters, from those of the outputs (rows, outputs); `add`: added to what is there
// (accumulation), else those of skipped layers are zero, before any is ready. ready is NULL, or is not called for
// unused parameters.
//   errors: CLAB_ENOMEM, those of clab_compute, of ready, and of the device; done when it returns, also by its clock
int clab_mlp_backward(struct clab_mlp *mlp, const float *gradient, bool add, clab_mlp_ready *ready, void *user);

// A step of this rank by itself, of all of the above and the one below. gradient: (rows, outputs), overwritten
//   errors: theirs
int clab_mlp_train(struct clab_mlp *mlp, const float *x, const float *targets, float *gradient, float rate,
                   double *loss_p);

// SGD: value -= rate * gradient.  errors: CLAB_EINVAL (no gradients yet; logged), as the backward pass
int clab_mlp_step(struct clab_mlp *mlp, float rate);

// ---- the cost of a pass, for predictions -----------------------------------------------------------------------

enum clab_pass {
    CLAB_FORWARD,
    CLAB_BACKWARD,       // gradients of a layer's parameters, after which they are ready
    CLAB_BACKWARD_INPUT, // and of its inputs, for the layer before: of layer 0 nothing
    CLAB_STEP,
};
struct clab_mlp_load {
    double flop, bytes;
};
// The cost of a layer on one rank: two operations per multiply-add, and each matrix read or written once.
struct clab_mlp_load clab_mlp_layer_load(const struct clab_mlp_shape *shape, int layer, enum clab_pass pass);
// The same of the loss.
struct clab_mlp_load clab_mlp_loss_load(const struct clab_mlp_shape *shape);
size_t clab_mlp_count(const struct clab_mlp_shape *shape); // elements of all parameters
