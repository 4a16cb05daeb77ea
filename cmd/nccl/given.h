// SPDX-License-Identifier: MIT
// The machine for NCCL's model, by flags that `commlab nccl` and `commlab tune` share.
// - Flags describe it, or a log that NCCL wrote. A given flag goes before the log's graphs.
#pragma once

#include "core/base/options.h"
#include "sim/nccl/nccl.h"

// - A log says of the machine what it can: version, nodes, GPUs, processor, GPU, graphs. Flags go before it. What neither
//   says is a default, and print_question of nccl.c names it.
struct nccl_given {
    struct clab_nccl_machine machine; // its graphs are filled by nccl_given_costs; nodes and gpus 0: not given
    bool has_arch, has_cpu;           // given
    int channels;                     // 0: not given; the same for the bandwidths
    double intra, inter;              // GB/s
    int pci; // 0 or 1
    const char *log_path, *version;
};

extern const struct nccl_given nccl_given_default;
// Nodes and GPUs per node that are given, or else one and eight.
int nccl_given_nodes(const struct nccl_given *given);
int nccl_given_gpus(const struct nccl_given *given);
// Flags of a struct nccl_given.
extern const struct clab_option nccl_given_options[];

// What a log says of itself.
struct nccl_said {
    char version[24]; // "2.18.3"; "": not said
    int ranks, nodes; // of its largest communicator; 0: not said
    bool is_nccls;    // it has lines of NCCL
    bool has_arch, has_cpu, has_graphs, has_costs;
    struct clab_nccl_logged choices[CLAB_NCCL_MOST_LOGGED]; // as of clab_nccl_log
    int nchoices;
    long more_choices;
};

// NCCL's costs of a collective.
struct nccl_believed {
    const struct clab_nccl_tables *tables;
    struct clab_nccl_machine machine; // with its graphs
    struct clab_nccl_costs costs;
    bool of_log; // NCCL itself wrote these costs
    bool has_costs;
    bool has_nodes, has_gpus, has_arch, has_cpu, has_version; // by a flag or the log; else a default
    struct nccl_said said;                                    // all zeros without a log
};
//   out:    believed_p->said, also where the costs are not known
//   errors: all logged: CLAB_ENOENT (constants, log), CLAB_EPARSE (log), CLAB_EINVAL (flags that are still needed)
int nccl_given_costs(const struct nccl_given *given, enum clab_collective collective, struct nccl_believed *believed_p);
