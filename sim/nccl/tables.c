// SPDX-License-Identifier: MIT
// NCCL's constants by version. Order within a row: LL, LL128, Simple; of scales: one node, two nodes, more.
// Source: NCCL, src/graph/tuning.cc at the tags v2.27.5-1, v2.28.9-1 and v2.30.7-1.

#include "sim/nccl/nccl.h"

#include <string.h>

// clang-format off
#define NVLINK_HOPS                                \
    [CLAB_NCCL_TREE]           = {0.6, 1.25, 4.0}, \
    [CLAB_NCCL_RING]           = {0.6, 1.9, 3.4},  \
    [CLAB_NCCL_COLLNET_DIRECT] = {0, 0, 3.7},      \
    [CLAB_NCCL_COLLNET_CHAIN]  = {0, 0, 2.8},      \
    [CLAB_NCCL_NVLS]           = {0, 0, 25.0},     \
    [CLAB_NCCL_NVLS_TREE]      = {0, 0, 25.0},     \
    [CLAB_NCCL_PAT]            = {0, 0, 4.0}

#define PCI_HOPS                                   \
    [CLAB_NCCL_TREE]           = {1.0, 1.9, 4.0},  \
    [CLAB_NCCL_RING]           = {1.0, 2.5, 5.7},  \
    [CLAB_NCCL_COLLNET_DIRECT] = {0, 0, 3.7},      \
    [CLAB_NCCL_COLLNET_CHAIN]  = {0, 0, 2.8},      \
    [CLAB_NCCL_PAT]            = {0, 0, 4.0}

#define NET_HOPS(nvls_tree)                        \
    [CLAB_NCCL_TREE]           = {5.0, 8.5, 14.0}, \
    [CLAB_NCCL_RING]           = {2.7, 4.0, 14.0}, \
    [CLAB_NCCL_COLLNET_DIRECT] = {0, 0, 31.0},     \
    [CLAB_NCCL_COLLNET_CHAIN]  = {0, 0, 30.0},     \
    [CLAB_NCCL_NVLS]           = {0, 0, 18.0},     \
    [CLAB_NCCL_NVLS_TREE]      = {0, 0, nvls_tree},\
    [CLAB_NCCL_PAT]            = {0, 0, 14.0}

#define LL_NODES                                  \
    [CLAB_NCCL_INTEL]     = {39.0, 39.0, 20.4},   \
    [CLAB_NCCL_AMD]       = {87.7, 22.5, 19.0},   \
    [CLAB_NCCL_OTHER_CPU] = {39.0, 39.0, 20.4}

// Volta, Ampere and Hopper have been the same in all of these versions.
#define RING_LL128 {20.0, 20.0, 20.0}, {20.0, 20.0, 20.0}, {36.7, 36.7, 36.7}
#define TREE_LL128 {20.0, 20.0, 20.0}, {20.0, 20.0, 20.0}, {36.7, 36.7, 29.0}
#define TREE       {26.5, 18.5, 10.0}, {24.0, 23.6, 17.8}, {38.7, 41.4, 36.0}
#define NVLS_TREE  {26.5, 18.5, 10.0}, {24.0, 23.6, 17.8}, {0.0, 57.7, 45.5}

#define CORRECTION                                                                                               \
    {1, 1, 1, 1, .9, .8, .7, .7, .7, .7, .6, .5, .4, .4, .5, .6, .7, .8, .9, 1, 1, 1, 1, 1},                     \
    {1, 1, 1, 1, 1, .9, .8, .8, .8, .7, .6, .6, .6, .6, .6, .6, .8, .9, .9, .9, .9, 1, 1, 1},                    \
    {.9, .9, .9, .9, .9, .9, .9, .8, .7, .6, .6, .5, .5, .5, .5, .6, .7, .8, .7, .7, .8, .9, .9, .9}

// The same in all of these versions, but for hops of NVLS trees through the network.
#define COMMON(nvls_tree)                                           \
    .base = {[CLAB_NCCL_TREE] = {6.8, 14.0, 8.4},                   \
             [CLAB_NCCL_RING] = {6.6, 14.0, 8.4},                   \
             [CLAB_NCCL_PAT]  = {8.0, 8.0, 8.0}},                   \
    .hop = {{NVLINK_HOPS}, {PCI_HOPS}, {NET_HOPS(nvls_tree)}},      \
    .ll_one_node = {39.0, 87.7, 141.0, 282.0},                      \
    .ll_nodes = {LL_NODES},                                         \
    .tree_correction = {CORRECTION}
// clang-format on

static const struct clab_nccl_tables v2_30_7 = {
    .version = "2.30.7",
    COMMON(20.9),
    .ring_ll128 = {RING_LL128, {40.0, 40.0, 40.0}},
    .tree_ll128 = {TREE_LL128, {55.6, 31.67, 20.0}},
    .tree = {TREE, {70.0, 42.8, 24.0}},
    .nvls_tree = {NVLS_TREE, {0.0, 96.0, 80.0}},
    .nvls_efficiency = {0, 0, .85, .74},
    .corrects_nvls_tree = true,
};

static const struct clab_nccl_tables v2_28_9 = {
    .version = "2.28.9",
    COMMON(20.9),
    .ring_ll128 = {RING_LL128, {73.4, 34.6, 73.4}},
    .tree_ll128 = {TREE_LL128, {55.6, 31.67, 20.0}},
    .tree = {TREE, {70.0, 42.8, 24.0}},
    .nvls_tree = {NVLS_TREE, {0.0, 96.0, 43.8}},
    .nvls_efficiency = {0, 0, .85, .74},
};

static const struct clab_nccl_tables v2_27_5 = {
    .version = "2.27.5",
    COMMON(14.0),
    .ring_ll128 = {RING_LL128, {73.4, 73.4, 73.4}},
    .tree_ll128 = {TREE_LL128, {73.4, 73.4, 58.0}},
    .tree = {TREE, {77.4, 82.8, 72.0}},
};

const struct clab_nccl_tables *const clab_nccl_versions[] = {&v2_30_7, &v2_28_9, &v2_27_5, NULL};

const struct clab_nccl_tables *clab_nccl_tables_find(const char *version)
{
    if (!version)
        return clab_nccl_versions[0];
    for (int i = 0; clab_nccl_versions[i]; i++)
        if (!strcmp(clab_nccl_versions[i]->version, version))
            return clab_nccl_versions[i];
    return NULL;
}
