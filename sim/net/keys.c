// SPDX-License-Identifier: MIT
// The table of keys.

#include "sim/net/keys.h"

#include <stdint.h>

#include "sim/net/net.h"

// clang-format off
#define NET(name, kind, required, member)     {"net", name, kind, required, offsetof(struct clab_net, member), 0}
#define PROFILE(name, kind, required, member) {"profile", name, kind, required, offsetof(struct clab_net, member), 0}
#define LINK(name, kind, required)            {"link", #name, kind, required, offsetof(struct clab_link, name), 0}
#define SEGMENT(name, kind, required)         {"segment", #name, kind, required, offsetof(struct clab_segment, name), 0}
#define TIER(name, kind, required)            {"tier", #name, kind, required, offsetof(struct clab_link, name), 0}
#define TOPOLOGY(name, kind) \
    {"topology", #name, kind, false, offsetof(struct clab_net, topology.name), 0}
#define REDUCER(name, kind)                   {"reducer", #name, kind, true, offsetof(struct clab_net, reducer.name), 0}
#define COMPUTE(name, kind, required, member) \
    {"compute", name, kind, required, offsetof(struct clab_net, compute.member), 0}
#define LEVEL(name, required, member)                                                             \
    {"level", name, NET_PER_BYTE, required, offsetof(struct clab_level, member[CLAB_ALONE]), 0}, \
    {"level", name "_both", NET_PER_BYTE, required, offsetof(struct clab_level, member[CLAB_BOTH]), 0}
// clang-format on

const struct net_key net_keys[] = {
    NET("title", NET_TEXT, true, title),
    NET("nodes", NET_COUNT, false, nodes),
    NET("ranks", NET_COUNT, false, ranks_per_node),
    NET("cores", NET_COUNT, false, cores_per_node),
    NET("machine_cores", NET_COUNT, false, machine_cores),
    NET("switch", NET_SECONDS, false, switch_cost),
    NET("first_cache", NET_SIZE, false, first_cache),
    NET("arming", NET_PERCENT, false, arming),
    NET("core_cache", NET_SIZE, false, core_cache),
    NET("shared_cache", NET_SIZE, false, shared_cache),
    NET("gamma", NET_PER_BYTE, true, gamma),
    NET("call", NET_SECONDS, false, call),
    NET("wait", NET_SECONDS, false, wait),
    NET("stage", NET_SECONDS, false, stage),
    NET("lane", NET_SECONDS, false, lane),
    PROFILE("machine", NET_TEXT, true, machine),
    PROFILE("date", NET_NAME, true, date),
    PROFILE("noise", NET_PERCENT, false, noise),
    PROFILE("line", NET_SECONDS, false, probed.line),
    PROFILE("fresh", NET_PER_BYTE, false, probed.fresh),
    PROFILE("other", NET_NAME, false, other_name),
    LINK(alpha, NET_SECONDS, true),
    LINK(beta, NET_PER_BYTE, true),
    LINK(port, NET_PORT, false),
    LINK(burst, NET_SECONDS, false),
    TIER(nodes, NET_COUNT, true),
    TIER(alpha, NET_SECONDS, true),
    TIER(beta, NET_PER_BYTE, true),
    TOPOLOGY(inside, NET_INSIDE),
    TOPOLOGY(between, NET_BETWEEN),
    TOPOLOGY(adapters, NET_COUNT),
    TOPOLOGY(below, NET_COUNT),
    TOPOLOGY(leaf, NET_COUNT),
    TOPOLOGY(routers, NET_COUNT),
    TOPOLOGY(oversubscription, NET_RATIO),
    TOPOLOGY(size, NET_GRID),
    TOPOLOGY(hop, NET_SECONDS),
    REDUCER(radix, NET_COUNT),
    REDUCER(hop, NET_SECONDS),
    REDUCER(beta, NET_PER_BYTE),
    COMPUTE("f64", NET_FLOPS, false, flops[CLAB_FP64]),
    COMPUTE("f32", NET_FLOPS, true, flops[CLAB_FP32]),
    COMPUTE("tf32", NET_FLOPS, false, flops[CLAB_TF32]),
    COMPUTE("f16", NET_FLOPS, false, flops[CLAB_FP16]),
    COMPUTE("f8", NET_FLOPS, false, flops[CLAB_FP8]),
    COMPUTE("memory", NET_PER_BYTE, true, memory),
    SEGMENT(up_to, NET_SIZE, true),
    SEGMENT(o_send, NET_SECONDS, true),
    SEGMENT(o_recv, NET_SECONDS, true),
    SEGMENT(o_joined, NET_SECONDS, false),
    SEGMENT(o_both, NET_SECONDS, false),
    SEGMENT(o_reduce, NET_SECONDS, false),
    SEGMENT(latency, NET_SECONDS, true),
    SEGMENT(gap, NET_SECONDS, false),
    SEGMENT(gap_joined, NET_SECONDS, false),
    SEGMENT(o_after, NET_SECONDS, false),
    SEGMENT(gap_acks, NET_PER_BYTE, false),
    SEGMENT(gap_out, NET_SECONDS, false),
    SEGMENT(core_send, NET_PER_BYTE, false),
    SEGMENT(core_recv, NET_PER_BYTE, false),
    SEGMENT(core_wait, NET_PER_BYTE, false),
    SEGMENT(gap_send, NET_PER_BYTE, false),
    SEGMENT(gap_recv, NET_PER_BYTE, false),
    SEGMENT(gap_both, NET_PER_BYTE, false),
    {"segment", "fragment", NET_SIZE, false, offsetof(struct clab_segment, fragment), SIZE_MAX},
    SEGMENT(waits, NET_YES_NO, false),
    SEGMENT(buffers, NET_YES_NO, false),
    SEGMENT(memory, NET_YES_NO, false),
    LEVEL("copy", true, copy),
    LEVEL("copy_shared", false, copy_shared),
    LEVEL("pull", false, pull[CLAB_KEPT]),
    LEVEL("pull_fresh", false, pull[CLAB_FRESH]),
    LEVEL("pull_summed", false, pull_summed),
    LEVEL("reduce", true, reduce[CLAB_KEPT]),
    LEVEL("reduce_fresh", false, reduce[CLAB_FRESH]),
    LEVEL("add", true, add),
    LEVEL("add_fresh", false, add_fresh),
    {0},
};
