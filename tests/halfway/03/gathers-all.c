// SPDX-License-Identifier: MIT
// expects: so its bytes grow with their number
//
// Half a mend of lab 03: each rank takes in all gradients, and averages them itself.

#include "training.h"

// The samples of a step, and what the network is to answer to each.
static void load(const struct training *t, int step)
{
    must(clab_data_load(t->job, &t->data, (uint64_t)step, ROWS, ROWS, t->rank, t->ranks, t->x, t->all_targets));
}

static void average(const struct training *t)
{
    const size_t n = t->count;
    float *of_all = malloc((size_t)t->ranks * n * sizeof *of_all), *sum = calloc(n, sizeof *sum);
    must(of_all && sum ? CLAB_OK : CLAB_ENOMEM);
    must(clab_allgather(t->comm, t->all->gradient, of_all, n, CLAB_F32));
    for (size_t i = 0; i < (size_t)t->ranks * n; i++)
        sum[i % n] += of_all[i] / (float)t->ranks;
    must(clab_copy(t->job, t->all->gradient, sum, n * sizeof *sum));
    free(sum);
    free(of_all);
}

static double train(const struct training *t)
{
    const float *outputs;
    must(clab_mlp_forward(t->mlp, t->x, &outputs));
    const double loss = training_loss(t, 1, outputs, t->gradient);
    must(clab_mlp_backward(t->mlp, t->gradient, false, NULL, NULL));
    average(t);
    must(clab_mlp_step(t->mlp, rate));
    return loss;
}

int main(int argc, char **argv)
{
    return training_main(argc, argv, &(struct way){"replicas", load, train});
}
