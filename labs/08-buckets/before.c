// SPDX-License-Identifier: MIT
// Before: gradients are averaged after the backward pass, by one collective per parameter.
//
//   [-n RANKS] [--backend B] [LAYERS WIDTH ROWS REPEAT [CAP...]]
//
// - Many small collectives pay for their number, and none begins before there is nothing left to compute.
// - training.h times this, reports it, and has the other way that people write first: one collective for all.

#include "training.h"

// The backward pass has just written the gradient of `parameter`, and goes on when this returns.
// Gradients appear from the last parameter to the first, 0. In memory they lie in the order of their numbers: that of
// `parameter` ends where that of the parameter before it in time begins.
static int ready(void *training, int parameter)
{
    (void)training, (void)parameter;
    return CLAB_OK;
}

static void average(struct training *t)
{
    const struct clab_parameter *all = clab_mlp_parameters(t->mlp);
    training_backward(t, ready);
    for (int p = 2 * t->layers - 1; p >= 0; p--)
        must(clab_allreduce(t->comm, all[p].gradient, all[p].gradient, all[p].count, CLAB_F32, CLAB_AVG));
}

int main(int argc, char **argv)
{
    return training_main(argc, argv, average, measure_without_buckets);
}
