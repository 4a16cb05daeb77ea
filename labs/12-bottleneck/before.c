// SPDX-License-Identifier: MIT
// Before: a guess. Larger buckets helped the last job, so they are the remedy for this one, too.
//
//   [-n RANKS] [--backend B] [SAMPLES SEED... | SAMPLES job SEED [REMEDY]]
//
// - job.h runs the job of each seed, measures it, applies the remedy of the fault that is named here, and measures again.
// - Both ways are honest: a fault that is not the job's has a remedy that changes nothing.

#include "job.h"

// Name the fault of a job. `now` is the job as it is, `well` the same job when nothing was wrong with it.
// What is compared must matter: a difference of less than `enough` of a step is none.
static enum fault name(const struct evidence *now, const struct evidence *well)
{
    (void)now, (void)well;
    return BUCKETS;
}

// How long a step will take with the remedy of the fault that was named, in s.
static double foresee(const struct evidence *now, const struct evidence *well, enum fault named)
{
    (void)well, (void)named;
    return now->step / 2;
}

int main(int argc, char **argv)
{
    return job_main(argc, argv, name, foresee);
}
