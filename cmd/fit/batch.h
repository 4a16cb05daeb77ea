// SPDX-License-Identifier: MIT
// A probe, and a batch of its turns. Rank 0 reads the clock.
#pragma once

#include "cmd/fit/probe.h"

// SUMS: one size of each segment. SMALL: all buffered sizes, and the smallest pulled ones. WIRE: up to the longest message
// of a wire.
enum sizes {
    SIZE_NONE,
    SIZE_LEAST,
    SIZES_LANES,
    SIZES_SUMS,
    SIZES_EAGER,
    SIZES_BUFFERED,
    SIZES_SMALL,
    SIZES_WIRE,
    SIZES_LEVELS
};

struct fit_probe {
    enum clab_probe probe;
    enum clab_touch touch;
    enum clab_load load;
    enum sizes sizes;
    int part;     // of a level: the message is this part of its footprint (reason: fit.h)
    int messages; // one after another in a turn
    fit_turn *turn;
    bool calls; // an empty call follows each turn, as where a program calls
};

enum {
    FIT_BURST = 4,  // messages that follow each other after a fence or a rest
    FIT_RESTS = 64, // of a batch, at most
};

// Seconds per message or copy of `turns` turns, at rank 0; collective.
double fit_batch_time(struct fit_ranks *ranks, const struct fit_task *task, int turns);
// Whether the probe finds its wire idle.
bool fit_task_rests(const struct fit_ranks *ranks, const struct fit_task *task);
// So long that a token bucket has room for a small message again, and `more` s.
void fit_rest(double more);
