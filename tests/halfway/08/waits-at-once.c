// SPDX-License-Identifier: MIT
// expects: You wait for each bucket where you start it
//
// Half a mend of lab 08: each bucket is waited for where it is started.

#include "training.h"

// The backward pass has just written the gradient of `parameter`, and goes on when this returns.
// Gradients appear from the last parameter to the first, 0. In memory they lie in the order of their numbers: that of
// `parameter` ends where that of the parameter before it in time begins.
static int ready(void *training, int parameter)
{
    struct training *t = training;
    const struct clab_parameter *p = clab_mlp_parameters(t->mlp) + parameter;
    const size_t count = t->waiting += p->count;
    if (count * sizeof(float) < t->cap && parameter > 0)
        return CLAB_OK;
    t->waiting = 0;
    return clab_allreduce(t->comm, p->gradient, p->gradient, count, CLAB_F32, CLAB_AVG);
}

static void average(struct training *t)
{
    training_backward(t, ready);
}

int main(int argc, char **argv)
{
    return training_main(argc, argv, average, measure_without_buckets);
}
