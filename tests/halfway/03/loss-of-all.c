// SPDX-License-Identifier: MIT
// expects: Rank 0 still hands out samples
//
// Half a mend of lab 03: every rank updates, but rank 0 still has the samples.

#include "training.h"

// The samples of a step, and what the network is to answer to each.
static void load(const struct training *t, int step)
{
    const int rows = ROWS * t->ranks;
    if (t->rank == 0)
        must(clab_data_load(t->job, &t->data, (uint64_t)step, rows, rows, 0, 1, t->all_x, t->all_targets));
}

static double train(const struct training *t)
{
    const float *outputs;
    double loss = 0;
    must(clab_broadcast(t->comm, t->all->value, t->all->value, t->count, CLAB_F32, 0));
    must(clab_scatter(t->comm, t->all_x, t->x, t->block, CLAB_F32, 0));
    must(clab_mlp_forward(t->mlp, t->x, &outputs));
    must(clab_gather(t->comm, outputs, t->all_outputs, t->block, CLAB_F32, 0));
    if (t->rank == 0)
        loss = training_loss(t, t->ranks, t->all_outputs, t->all_gradients);
    must(clab_scatter(t->comm, t->all_gradients, t->gradient, t->block, CLAB_F32, 0));
    must(clab_mlp_backward(t->mlp, t->gradient, false, NULL, NULL));
    must(clab_allreduce(t->comm, t->all->gradient, t->all->gradient, t->count, CLAB_F32, CLAB_AVG));
    must(clab_mlp_step(t->mlp, rate));
    return loss;
}

int main(int argc, char **argv)
{
    return training_main(argc, argv, &(struct way){"through_zero", load, train});
}
