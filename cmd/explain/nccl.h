// SPDX-License-Identifier: MIT
// What NCCL has said about itself in a log (NCCL_DEBUG=INFO): version, network, interface, channels, transports, rings,
// trees, ranks. Lines of several ranks and hosts may be mixed.
//
// - It holds a fixed number of each; what is beyond is counted, not kept.
// - Source: the INFO lines of NCCL 2.4 to 2.28 (src/init.cc, src/graph/connect.cc, src/transport/, src/misc/).
#pragma once

#include <stdbool.h>
#include <stdint.h>

enum {
    NCCL_TEXT = 160,
    NCCL_CHANNELS = 64,
    NCCL_RANKS = 1024,
    NCCL_FEW = 8,
    NCCL_MANY = 32,
};

// Texts, each once.
struct nccl_words {
    char text[NCCL_MANY][NCCL_TEXT];
    long first[NCCL_MANY]; // line numbers
    int n, most, more;     // most: how many are kept; more: others came
};

struct nccl_transport {
    char name[NCCL_TEXT]; // "P2P/CUMEM/read": without numbers of devices
    long connections;
    uint64_t channels; // a bit per channel
};

struct nccl_ring {
    char order[4 * NCCL_TEXT]; // "0 1 2 3"
    uint64_t channels;
};

struct nccl_log {
    long lines; // of NCCL
    struct nccl_words versions, hosts, interfaces, networks, cards, plugins, tuners, settings;
    int ranks, nodes;        // of the largest communicator; 0: not said
    long communicators;      // that rank 0 began
    int began, ready;        // ranks of the largest communicator that began, and that were ready
    uint64_t is_begun[NCCL_RANKS / 64], is_ready[NCCL_RANKS / 64];
    int coll_channels, nvls_channels, p2p_channels; // -1: not said
    struct nccl_transport transports[NCCL_MANY];
    int ntransports;
    struct nccl_ring rings[NCCL_MANY];
    int nrings, more_rings;
    int16_t parents[NCCL_CHANNELS][NCCL_RANKS]; // in the tree, plus 2; 0: not said
    bool has_trees;
    long tuner_wanted; // the line that names a tuner's library; 0: none
    char tuner_wanted_text[NCCL_TEXT];
    bool tuner_used;
};

// A new one, empty; free() frees it. NULL: no memory
struct nccl_log *nccl_log_new(void);
// Read a line. False: it is none of NCCL's.
bool nccl_log_take(struct nccl_log *log, const char *text, long number);

struct nccl_tree {
    uint64_t channels; // that share it
    int root, depth, ranks;
};
// The distinct trees, by root and depth, of the ranks that the log has. Returns their number.
int nccl_log_trees(const struct nccl_log *log, struct nccl_tree trees[NCCL_MANY]);

// "0-3, 8"
void nccl_channels_text(uint64_t channels, char out[NCCL_TEXT]);
