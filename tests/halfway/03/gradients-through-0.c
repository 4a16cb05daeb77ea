// SPDX-License-Identifier: MIT
// expects: The gradients still go through rank 0
//
// Half a mend of lab 03: replicas, whose gradients rank 0 takes in and sends to all.

#include "training.h"

// The samples of a step, and what the network is to answer to each.
static void load(const struct training *t, int step)
{
    must(clab_data_load(t->job, &t->data, (uint64_t)step, ROWS, ROWS, t->rank, t->ranks, t->x, t->all_targets));
}

static double train(const struct training *t)
{
    const float *outputs;
    must(clab_mlp_forward(t->mlp, t->x, &outputs));
    const double loss = training_loss(t, 1, outputs, t->gradient);
    must(clab_mlp_backward(t->mlp, t->gradient, false, NULL, NULL));
    must(clab_reduce(t->comm, t->all->gradient, t->all->gradient, t->count, CLAB_F32, CLAB_AVG, 0));
    must(clab_broadcast(t->comm, t->all->gradient, t->all->gradient, t->count, CLAB_F32, 0));
    must(clab_mlp_step(t->mlp, rate));
    return loss;
}

int main(int argc, char **argv)
{
    return training_main(argc, argv, &(struct way){"replicas", load, train});
}
