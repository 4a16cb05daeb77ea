// SPDX-License-Identifier: MIT
// expects: (weight0;
// The update does not wait for the averages.

#include "training.h"

static const double rate = 0.01;
static const char about[] = "A training step: the average of each layer's gradients beside the backward pass.";

// The backward pass has just written the gradient of `parameter`, and goes on when this returns.
// Layer l has the weights, parameter 2 l, and the biases, parameter 2 l + 1. The biases' gradient is there first. Both
// gradients lie together: `count` floats of the weights, and right behind them those of the biases.
static int ready(void *training, int parameter)
{
    struct training *t = training;
    const struct clab_parameter *p = clab_mlp_parameters(t->batch.mlp) + parameter;
    if (parameter % 2 == 1)
        return CLAB_OK; // biases: the weights' gradient comes next
    return clab_allreduce_start(t->comm, p->gradient, p->gradient, p->count + p[1].count, CLAB_F32, CLAB_AVG,
                                &t->works[parameter / 2]);
}

static void backward(struct training *t)
{
    training_backward(t, ready);
}

static double step(struct training *t, bool communicates)
{
    const float *outputs;
    must(clab_barrier(t->comm));
    const double start = clab_seconds();
    clab_span_begin(t->job, communicates ? "training step" : "computation");
    must(clab_mlp_forward(t->batch.mlp, t->batch.x, &outputs));
    must(clab_mlp_loss(t->batch.mlp, outputs, t->batch.targets, t->batch.gradient, &t->loss));
    const double halfway = clab_seconds();
    if (communicates)
        backward(t);
    else
        training_backward(t, NULL);
    const double averaged = clab_seconds();
    must(clab_mlp_step(t->batch.mlp, rate));
    for (int l = LAYERS - 1; communicates && l >= 0; l--)
        must(clab_work_wait(t->works[l]));
    clab_span_end(t->job);
    const double end = clab_seconds();
    t->forward = halfway - start;
    t->backward = averaged - halfway;
    t->update = end - averaged;
    return end - start;
}

int main(int argc, char **argv)
{
    return training_main(argc, argv, about, step);
}
