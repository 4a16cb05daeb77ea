// SPDX-License-Identifier: MIT
// A small model with as many layers as a case has: real numbers on which a student's actions are replayed.
//
// - Layer l: y = x + tanh(x W + b) / 4, 3 wide. Branches have the same inputs, and their outputs are added. The loss is the
//   mean square of outputs - targets. So no gradient is 0, however deep the model is.
// - Numbers are doubles: results of two orders of additions differ by 1e-16, and of a mistake by far more.
#pragma once

#include "labs/homework/h3/case.h"

enum { THIN_WIDTH = 3, THIN_ROWS = 2, THIN_COUNT = THIN_WIDTH * THIN_WIDTH };

struct thin_row {
    double x[THIN_WIDTH];
};

struct thin_parameter {
    double v[THIN_COUNT]; // weights: (3, 3); biases use the first 3
};

// One rank's copy.
struct thin {
    const struct h3_case *c;
    struct thin_parameter values[H3_PARAMETERS];
    struct thin_parameter gradients[H3_PARAMETERS];
    // Of the step at hand.
    struct thin_row input[H3_LAYERS][THIN_ROWS], bent[H3_LAYERS][THIN_ROWS]; // of each layer; tanh of it
    struct thin_row delta[2][THIN_ROWS]; // gradients of what the layer of each branch puts out that is computed next
};

static inline int thin_count(int parameter)
{
    return parameter % 2 ? THIN_WIDTH : THIN_COUNT;
}

// All ranks begin with the same values.
void thin_begin(struct thin *t, const struct h3_case *c);
// The forward pass of a step with the rank's own samples; gradients become NaN.
void thin_forward(struct thin *t, int rank, int step);
// The gradients of a layer's parameters, the next of its branch, into *weights_p and *biases_p.
void thin_backward(const struct thin *t, int layer, struct thin_parameter *weights_p, struct thin_parameter *biases_p);
// The gradients of its inputs, by the weights as they are now.
void thin_backward_inputs(struct thin *t, int layer);
// parameter -= rate * gradient
void thin_update(struct thin *t, int parameter);
// All of some steps on all ranks' samples, as they should be.  t: the result
void thin_expected(const struct h3_case *c, int steps, struct thin *t);
