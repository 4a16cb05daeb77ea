// SPDX-License-Identifier: MIT
// Half-mended lab 12: every remedy is said to give the step of the job that is well, also the straggler's.
// expects: Work does not vanish when it is divided
//
//   [-n RANKS] [--backend B] [SAMPLES SEED... | SAMPLES job SEED [REMEDY]]

#include "job.h"

// Name the fault of a job. `now` is the job as it is, `well` the same job when nothing was wrong with it.
// What is compared must matter: a difference of less than `enough` of a step is none.
static enum fault name(const struct evidence *now, const struct evidence *well)
{
    const double least = enough * now->step;
    if (now->most - now->mean > least)
        return STRAGGLER;
    if (now->least - well->least > least)
        return BINDING;
    if (now->first - well->first > least)
        return FIRST_RANK;
    if (now->copies - well->copies > least)
        return COPY;
    if (now->slowest > 3 * now->large)
        return RETRANSMITS;
    if (now->exposed - well->exposed < least)
        return NO_FAULT;
    if (now->calls > 1.5 * well->calls)
        return BUCKETS;
    return now->small > 1.2 * well->small ? INTERFACE : BUFFERS;
}

// How long a step will take with the remedy of the fault that was named, in s.
static double foresee(const struct evidence *now, const struct evidence *well, enum fault named)
{
    (void)now, (void)named;
    return well->step;
}

int main(int argc, char **argv)
{
    return job_main(argc, argv, name, foresee);
}
