// SPDX-License-Identifier: MIT
// commlab sim and its subcommands: what they share.
//
// - sim.c           one collective on one network.
// - list.c          lists and ranges of values.
// - sweep.c         the best algorithm over ranks and bytes: sweep.h.
// - train.c         training steps: train.h.
// - links.c         what links carry.
// - paths.c         the copies between two memories.
#pragma once

#include <stddef.h>

// Subcommands: argv[0] is "commlab sim NAME". They return the exit status.
int sim_sweep(int argc, char **argv);
int sim_train(int argc, char **argv);
int sim_links(int argc, char **argv);
int sim_paths(int argc, char **argv);

// ---- list.c --------------------------------------------------------------------------------------------------

// Values in ascending order, each once.
struct sim_list {
    size_t *values; // (n); freed by the caller
    int n, room;
};

// Reads one value; on failure logs the line.  errors: CLAB_EINVAL
typedef int sim_value_fn(const char *flag, const char *text, size_t *value_p);
sim_value_fn sim_take_ranks; // 1 to 2^24
sim_value_fn sim_take_size;  // above 0

// `2,4,8`, or `2-1024`: from the first to the last by `factor` >= 2, or ranges in a list.
//   errors: CLAB_EINVAL (logged: what is not a value, ranges that fall, too many values), CLAB_ENOMEM
int sim_list_parse(const char *flag, const char *text, sim_value_fn *take, int factor, struct sim_list *list_p);
