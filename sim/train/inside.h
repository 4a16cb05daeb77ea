// SPDX-License-Identifier: MIT
// What the files behind train.h share: a bucket as a row of phases, and what each of them costs.
#pragma once

#include "sim/train/train.h"

// ---- codec.c -------------------------------------------------------------------------------------------------

// A collective, and the work on memory before it.
struct train_phase {
    double work; // s
    enum clab_collective collective;
    size_t bytes, element_bytes; // of the whole buffer
};

enum { TRAIN_PHASES = 3 };

struct train_phases {
    struct train_phase phases[TRAIN_PHASES];
    int n;
    double decode; // s of work behind the last
};

// What is done for a bucket, by train->codec.
struct train_phases train_phases_of(const struct clab_train *train, const struct clab_train_bucket *bucket);

// ---- price.c -------------------------------------------------------------------------------------------------

// A collective of so many bytes, priced.
struct train_price {
    enum clab_collective collective;
    size_t bytes, element_bytes;
    const struct clab_algorithm *algorithm; // NULL: nothing is sent
    struct clab_problem problem;
    double seconds;
    double messages; // that a simulation of all ranks takes
    size_t sent;     // bytes, by the busiest rank
};

// Prices that have been asked for.
struct train_prices {
    const struct clab_train *train;
    struct train_price *all;
    int n, room;
};

// errors: CLAB_ENOENT (no such algorithm, logged), CLAB_EINVAL (none supports it, logged), CLAB_ENOMEM, clab_sim_run's
int train_price_find(struct train_prices *prices, const struct train_phase *phase, struct train_price *price_p);
void train_prices_free(struct train_prices *prices);

// The same where rank r begins after starts[r] s: when each has ended, and the last.  starts, ends: (nranks) s
int train_price_delayed(const struct clab_train *train, const struct train_price *price, const double *starts,
                        double *delays, double *ends);
