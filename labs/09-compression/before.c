// SPDX-License-Identifier: MIT
// Before: gradients travel as they are, in 4 bytes each.
//
//   [-n RANKS] [--backend B] [LAYERS WIDTH ROWS REPEAT STEPS]
//
// - The network carries 32 bits per gradient, most of which the training does not need.
// - training.h times this, and reports it.

#include "training.h"

// The backward pass is over: t->gradients has t->count elements of this rank. Make them the average of all ranks.
// The clock runs from averaging_begins to averaging_ends.
static void average(struct training *t)
{
    averaging_begins(t);
    must(clab_allreduce(t->comm, t->gradients, t->gradients, t->count, CLAB_F32, CLAB_AVG));
    averaging_ends(t);
}

int main(int argc, char **argv)
{
    return training_main(argc, argv, average, "fp32");
}
