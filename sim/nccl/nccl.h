// SPDX-License-Identifier: MIT
// NCCL's own model: what its tuner believes that a collective costs by each algorithm and protocol, and which it takes.
// It ranks them for NCCL; it is no prediction of a time (sim.h has those).
//
// - tables.c       the constants, a table a version of NCCL.
// - model.c        latency and bandwidth of an algorithm and protocol on a machine; the time of a size; the choice.
// - rows.c         choices as a file, for a tuner that NCCL loads (rows.h).
// - log.c          the same latencies and bandwidths, or the machine, out of a log that NCCL wrote.
//
// It does not know NCCL's search for rings and trees: channels and the bandwidth of a channel are given, or read from a
// log. Source of the formulas: NCCL, src/graph/tuning.cc (ncclTopoTuneModel, ncclTopoGetAlgoTime) of each version.
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "core/schedule/schedule.h"

enum clab_nccl_algorithm {
    CLAB_NCCL_TREE,
    CLAB_NCCL_RING,
    CLAB_NCCL_COLLNET_DIRECT,
    CLAB_NCCL_COLLNET_CHAIN,
    CLAB_NCCL_NVLS,
    CLAB_NCCL_NVLS_TREE,
    CLAB_NCCL_PAT,
    CLAB_NCCL_ALGORITHMS
};
enum clab_nccl_protocol { CLAB_NCCL_LL, CLAB_NCCL_LL128, CLAB_NCCL_SIMPLE, CLAB_NCCL_PROTOCOLS };
enum clab_nccl_arch { CLAB_NCCL_VOLTA, CLAB_NCCL_AMPERE, CLAB_NCCL_HOPPER, CLAB_NCCL_BLACKWELL, CLAB_NCCL_ARCHS };
enum clab_nccl_cpu { CLAB_NCCL_INTEL, CLAB_NCCL_AMD, CLAB_NCCL_OTHER_CPU, CLAB_NCCL_CPUS };
enum clab_nccl_hop { CLAB_NCCL_NVLINK, CLAB_NCCL_PCI, CLAB_NCCL_NET, CLAB_NCCL_HOPS };

// What lies between two devices, near to far, in the order and with the words of NCCL's logs.
enum clab_nccl_path {
    CLAB_NCCL_LOC, // the same device
    CLAB_NCCL_NVL, // NVLink
    CLAB_NCCL_NVB, // NVLink in two hops, by way of a third GPU
    CLAB_NCCL_C2C, // the link of a CPU and a GPU on one board
    CLAB_NCCL_PIX, // one PCI bridge
    CLAB_NCCL_PXB, // several, none of them a host's
    CLAB_NCCL_P2C, // C2C, then PCI
    CLAB_NCCL_PXN, // NVLink to a GPU beside the adapter
    CLAB_NCCL_PHB, // the host's PCI bridge
    CLAB_NCCL_SYS, // the link between two sockets
    CLAB_NCCL_FAR, // the network ("NET")
    CLAB_NCCL_DIS, // not connected
    CLAB_NCCL_PATHS
};

enum { CLAB_NCCL_SCALES = 3, CLAB_NCCL_SIZES = 24 }; // one node, two, more; powers of two from 64 B on

// A version's constants. Latencies in us, bandwidths in GB/s (1e9 bytes), as NCCL has them.
struct clab_nccl_tables {
    const char *version;
    double base[CLAB_NCCL_ALGORITHMS][CLAB_NCCL_PROTOCOLS];
    double hop[CLAB_NCCL_HOPS][CLAB_NCCL_ALGORITHMS][CLAB_NCCL_PROTOCOLS];
    double ll_one_node[CLAB_NCCL_ARCHS];                  // most that LL gives within a node
    double ll_nodes[CLAB_NCCL_CPUS][CLAB_NCCL_SCALES];    // and between nodes
    double ring_ll128[CLAB_NCCL_ARCHS][CLAB_NCCL_SCALES]; // most of a channel
    double tree_ll128[CLAB_NCCL_ARCHS][CLAB_NCCL_SCALES];
    double tree[CLAB_NCCL_ARCHS][CLAB_NCCL_SCALES];
    double nvls_tree[CLAB_NCCL_ARCHS][CLAB_NCCL_SCALES];
    double nvls_efficiency[CLAB_NCCL_ARCHS]; // all 0: the older formula, without it
    double tree_correction[CLAB_NCCL_PROTOCOLS][CLAB_NCCL_SIZES];
    bool corrects_nvls_tree; // on Blackwell
};

// What NCCL's search found for an algorithm.
struct clab_nccl_graph {
    int channels;
    double intra, inter;         // GB/s per channel, within a node and between nodes
    enum clab_nccl_path within;  // the farthest path between two GPUs of a node
    enum clab_nccl_path between; // and between a GPU and its adapter
    bool same_channels;          // channels are alike on all nodes
    bool simple_tree;            // a tree whose parent and children all meet one GPU; with one GPU per node each is
};

struct clab_nccl_machine {
    enum clab_nccl_arch arch;
    enum clab_nccl_cpu cpu;
    int nodes, gpus;    // gpus per node
    int channels;       // of the communicator; 0: worked out from the graphs' (clab_nccl_channels)
    double net_latency; // us, of the network itself
    bool collnet;       // reductions in the network (SHARP)
    bool nvswitch;      // an NVLink switch joins the GPUs of a node
    bool nvls;          // reductions in that switch
    struct clab_nccl_graph graphs[CLAB_NCCL_ALGORITHMS];
};

struct clab_nccl_cost {
    double latency;   // us
    double bandwidth; // GB/s of the buffer; 0: not available
    const char *why;  // then: the reason
};

// All algorithms and protocols of one collective.
struct clab_nccl_costs {
    struct clab_nccl_cost of[CLAB_NCCL_ALGORITHMS][CLAB_NCCL_PROTOCOLS];
};

const char *clab_nccl_algorithm_name(enum clab_nccl_algorithm algorithm); // as in NCCL_ALGO
const char *clab_nccl_protocol_name(enum clab_nccl_protocol protocol);    // as in NCCL_PROTO

// The constants of `version` ("2.30.7"; NULL: the newest), or NULL.  All are in clab_nccl_versions, newest first.
const struct clab_nccl_tables *clab_nccl_tables_find(const char *version);
extern const struct clab_nccl_tables *const clab_nccl_versions[]; // ended by NULL

// How many channels NCCL uses: two for each that its search found, four on Hopper and later between nodes. Limits that
// the user sets, such as NCCL_MAX_NCHANNELS, are not taken into account.
//   source: NCCL, ncclTopoPostset in src/graph/connect.cc
int clab_nccl_channels(const struct clab_nccl_machine *machine);

// What NCCL believes of `collective`, for a group without symmetric windows: collectives on those (2.27) take kernels
// of their own, and never see this table.  nodes * gpus >= 2
//   errors: CLAB_EUNSUPPORTED (NCCL's model has no such collective)
int clab_nccl_model(const struct clab_nccl_tables *tables, const struct clab_nccl_machine *machine,
                    enum clab_collective collective, struct clab_nccl_costs *costs_p);

// NCCL's time for `bytes` (the whole buffer; ranks times a block for allgather and reduce-scatter), in us; INFINITY
// where it is not available.
double clab_nccl_time(const struct clab_nccl_tables *tables, const struct clab_nccl_machine *machine,
                      enum clab_collective collective, const struct clab_nccl_costs *costs,
                      enum clab_nccl_algorithm algorithm, enum clab_nccl_protocol protocol, size_t bytes);

// What NCCL takes: the first strict minimum, in the order of the enumerations.  errors: CLAB_ENOENT (nothing available)
int clab_nccl_choose(const struct clab_nccl_tables *tables, const struct clab_nccl_machine *machine,
                     enum clab_collective collective, const struct clab_nccl_costs *costs, size_t bytes,
                     enum clab_nccl_algorithm *algorithm_p, enum clab_nccl_protocol *protocol_p);

// A choice that NCCL itself has logged, and how often.
struct clab_nccl_logged {
    int collective; // enum clab_collective; -1: that line does not say (until 2.22)
    size_t bytes;   // of the whole buffer
    enum clab_nccl_algorithm algorithm;
    enum clab_nccl_protocol protocol;
    long calls;
};
enum { CLAB_NCCL_MOST_LOGGED = 256 };

// Read what NCCL, from 2.5 on, wrote with NCCL_DEBUG=INFO and NCCL_DEBUG_SUBSYS=TUNING,GRAPH (the first rank's lines
// count).
struct clab_nccl_log {
    bool has_graphs; // then graphs is set for those algorithms whose has_graph is
    bool has_graph[CLAB_NCCL_ALGORITHMS];
    struct clab_nccl_graph graphs[CLAB_NCCL_ALGORITHMS];
    bool nvswitch;  // the topology has an NVLink switch
    int channels;   // of the communicator (NCCL_DEBUG_SUBSYS=INIT); 0: the log does not say
    bool has_costs; // then costs is what NCCL itself computed for the collective that was asked for
    struct clab_nccl_costs costs;
    bool has_cpu;
    enum clab_nccl_cpu cpu; // of the topology's first
    struct clab_nccl_logged
        choices[CLAB_NCCL_MOST_LOGGED]; // in the order of the log, whatever collective was asked for
    int nchoices;
    long more_choices; // lines that are not kept
};
//   text: ended by 0.  path: for messages.  errors: CLAB_ENOENT (nothing of this is in there), CLAB_EPARSE (logged with path
//   and line)
int clab_nccl_log_read(const char *text, const char *path, enum clab_collective collective,
                       struct clab_nccl_log *log_p);
