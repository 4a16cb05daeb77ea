// SPDX-License-Identifier: MIT
// expects: One bucket per layer
//
// Half a mend of lab 08: a bucket is a layer, whatever the cap.

#include "training.h"

// The backward pass has just written the gradient of `parameter`, and goes on when this returns.
// Gradients appear from the last parameter to the first, 0. In memory they lie in the order of their numbers: that of
// `parameter` ends where that of the parameter before it in time begins.
static int ready(void *training, int parameter)
{
    struct training *t = training;
    const struct clab_parameter *p = clab_mlp_parameters(t->mlp) + parameter;
    const size_t count = t->waiting += p->count;
    if (parameter % 2 == 1)
        return CLAB_OK;
    t->waiting = 0;
    return clab_allreduce_start(t->comm, p->gradient, p->gradient, count, CLAB_F32, CLAB_AVG, &t->works[t->nworks++]);
}

static void average(struct training *t)
{
    training_backward(t, ready);
    while (t->nworks > 0)
        must(clab_work_wait(t->works[--t->nworks]));
}

int main(int argc, char **argv)
{
    return training_main(argc, argv, average, measure_without_buckets);
}
