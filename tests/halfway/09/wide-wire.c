// SPDX-License-Identifier: MIT
// expects: You compute with 8 bits, but 4 bytes per gradient travel.
//
// Half a mend of lab 09: sums have 32 bits, on the network, too.

#include "training.h"

// The backward pass is over: t->gradients has t->count elements of this rank. Make them the average of all ranks.
// The clock runs from averaging_begins to averaging_ends.
static void average(struct training *t)
{
    averaging_begins(t);
    float most = largest(t);
    must(clab_allreduce(t->comm, &most, &most, 1, CLAB_F32, CLAB_MAX));
    encode(t, most / 127);
    for (size_t i = 0; i < t->count; i++)
        t->sums[i] = t->codes[i];
    must(clab_allreduce(t->comm, t->sums, t->sums, t->count, CLAB_I32, CLAB_SUM));
    for (size_t i = 0; i < t->count; i++)
        t->codes[i] = nearest((float)t->sums[i] / (float)t->ranks);
    decode(t, most / 127);
    averaging_ends(t);
}

int main(int argc, char **argv)
{
    return training_main(argc, argv, average, "fp32");
}
