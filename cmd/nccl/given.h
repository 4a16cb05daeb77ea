// SPDX-License-Identifier: MIT
// The machine for NCCL's model, by flags that `commlab nccl` and `commlab tune` share.
// - Flags describe it, or a log that NCCL wrote. A given flag goes before the log's graphs.
#pragma once

#include "core/base/options.h"
#include "sim/nccl/nccl.h"

struct nccl_given {
    struct clab_nccl_machine machine; // its graphs are filled by nccl_given_costs
    int channels;                     // 0: not given; the same for the bandwidths
    double intra, inter;              // GB/s
    int pci; // 0 or 1
    const char *log_path, *version;
};

extern const struct nccl_given nccl_given_default;
// Flags of a struct nccl_given.
extern const struct clab_option nccl_given_options[];

// NCCL's costs of a collective.
struct nccl_believed {
    const struct clab_nccl_tables *tables;
    struct clab_nccl_machine machine; // with its graphs
    struct clab_nccl_costs costs;
    bool of_log; // NCCL itself wrote these costs
};
//   errors: all logged: CLAB_ENOENT (constants, log), CLAB_EPARSE (log), CLAB_EINVAL (flags that are still needed)
int nccl_given_costs(const struct nccl_given *given, enum clab_collective collective, struct nccl_believed *believed_p);
