// SPDX-License-Identifier: MIT
// The machine that NCCL's model is asked about: flags that `commlab nccl` and `commlab tune` share, and what comes of
// them.
// - It is given by flags, or taken from a log that NCCL wrote; flags that are given win over the log's graphs.
#pragma once

#include <argp.h>

#include "sim/nccl/nccl.h"

struct nccl_given {
    struct clab_nccl_machine machine; // its graphs are filled by nccl_given_costs
    int channels;                     // 0: not given; so are the bandwidths
    double intra, inter;              // GB/s
    bool pci;
    const char *log_path, *version;
};

extern const struct nccl_given nccl_given_default;
// A child of a command's argp; its input is a struct nccl_given.
extern const struct argp nccl_given_argp;

// What NCCL believes of a collective.
struct nccl_believed {
    const struct clab_nccl_tables *tables;
    struct clab_nccl_machine machine; // with its graphs
    struct clab_nccl_costs costs;
    bool of_log; // costs are what NCCL itself wrote
};
//   errors: all logged: CLAB_ENOENT (constants, log), CLAB_EPARSE (log), CLAB_EINVAL (what is still needed)
int nccl_given_costs(const struct nccl_given *given, enum clab_collective collective, struct nccl_believed *believed_p);

// Which word `text` is; else the program ends with one line that names the flag and all words.
int nccl_take_word(const char *flag, const char *text, const char *const words[]);
