// SPDX-License-Identifier: MIT
// Two levels: nodes of `group` ranks. Each node sums its own data first, so each rank sends only its own part of the
// sum between nodes: reduce-scatter in the node, allreduce between the ranks with the same place in their nodes,
// allgather in the node. All three are rings.
//
//     node 0     node 1     node 2
//     0 1 2      3 4 5      6 7 8      group = 3: rings 0-1-2, 3-4-5, 6-7-8 in nodes, 0-3-6, 1-4-7, 2-5-8 between them
//
// - A block is cut into one segment per place in a node, and each segment into one chunk per node.
// - Ranks of a last node that is not full hand their data to node 0 first, and get the result back at the end.
// Source: Mikami et al. 2018, "Massively distributed SGD: ImageNet/ResNet-50 training in a flash" (2D-torus allreduce).

#include "core/schedule/build.h"

struct shape {
    int group, nodes; // ranks per full node, full nodes
    int extra;        // ranks of the last node, if that is not full
};

static struct shape shape_of(const struct clab_problem *problem)
{
    const int P = problem->nranks, group = group_of(problem);
    return (struct shape){group, P / group, P % group};
}

static int chunks_per_block(const struct clab_problem *problem)
{
    struct shape shape = shape_of(problem);
    return shape.group * shape.nodes;
}

// Between an extra rank and the rank of node 0 that works for it: one step, or none.
static int fold(struct shape shape, int rank, transfer *extra, transfer *helper, struct clab_step out[])
{
    int full = shape.group * shape.nodes;
    if (rank >= shape.extra && rank < full)
        return 0;
    out[0] = rank < full ? helper(rank + full, chunks(0, full)) : extra(rank - full, chunks(0, full));
    return 1;
}

// A stage of the ring in the node; segments are numbered by the place that is to sum them.
static int ring_inside(struct shape shape, int rank, int segment, transfer *take, struct clab_step out[])
{
    int first = rank - rank % shape.group, place = rank % shape.group;
    int given = mod(place - segment, shape.group), taken = mod(place - segment - 1, shape.group);
    out[0] = send(first + mod(place + 1, shape.group), chunks(given * shape.nodes, shape.nodes));
    out[1] = take(first + mod(place - 1, shape.group), chunks(taken * shape.nodes, shape.nodes));
    return 2;
}

// A stage of the ring allreduce between nodes, of the segment that is mine.
static int ring_across(struct shape shape, int rank, int s, struct clab_step out[])
{
    int place = rank % shape.group, node = rank / shape.group, nodes = shape.nodes, segment = place * nodes;
    int next = mod(node + 1, nodes) * shape.group + place;
    int prev = mod(node - 1, nodes) * shape.group + place, taken = segment + mod(node - s - 1, nodes);
    out[0] = send(next, chunk(segment + mod(node - s, nodes)));
    out[1] = s < nodes - 1 ? recv_reduce(prev, chunk(taken)) : recv(prev, chunk(taken));
    return 2;
}

STAGE(allreduce)
{
    struct shape shape = shape_of(problem);
    int inside = shape.group - 1, across = 2 * (shape.nodes - 1);
    if (s == 0)
        return fold(shape, rank, send, recv_reduce, out);
    int turn = s - 1;
    if (turn >= 2 * inside + across)
        return turn == 2 * inside + across ? fold(shape, rank, recv, send, out) : CLAB_DONE;
    if (rank >= P - shape.extra)
        return 0;
    if (turn < inside)
        return ring_inside(shape, rank, turn + 1, recv_reduce, out);
    if (turn < inside + across)
        return ring_across(shape, rank, turn - inside, out);
    return ring_inside(shape, rank, turn - inside - across, recv, out);
}

// Both rings can be rotated if the network's nodes are these nodes, or if all ranks are alike in the network.
static int representative(const struct clab_problem *problem, int period, int rank, int peer)
{
    struct shape shape = shape_of(problem);
    int group = shape.group;
    if (shape.extra || group % period)
        return peer;
    int place = period == 1 || period == group ? rank % group : 0;
    return mod(peer / group - rank / group, shape.nodes) * group + mod(peer % group - place, group);
}

// The end of the lap that `stage` is in; the ring between nodes has two laps.
static int end_of_lap(const struct clab_problem *problem, int stage)
{
    struct shape shape = shape_of(problem);
    const int laps[] = {1, shape.group - 1, shape.nodes - 1, shape.nodes - 1, shape.group - 1, 1};
    int end = 0;
    for (int i = 0; i < 6 && end <= stage; i++)
        end += laps[i];
    return end;
}

COST(cost_allreduce)
{
    struct shape shape = shape_of(problem);
    long inside = shape.group - 1, across = shape.nodes - 1, folds = shape.extra > 0;
    long full = (long)shape.group * shape.nodes; // ranks of full nodes, and chunks of a block
    long moved = inside * shape.nodes + across;  // chunks, in each of the two halves
    return (struct clab_cost){.rounds = 2 * (inside + across + folds),
                              .serial = 2 * (moved + full * folds),
                              .reduced = moved + full * folds,
                              .messages_max = L * (2 * (inside + across) + folds),
                              .sent_max = L * (2 * moved + full * folds),
                              .reduced_max = L * (moved + full * folds),
                              .sent_total = L * 2 * full * (moved + shape.extra)};
}

const struct clab_algorithm clab_allreduce_hierarchical = {
    .name = "hierarchical",
    .title = "rings in the nodes, rings between them, rings in the nodes",
    .source = "Mikami et al. 2018 (2D-torus allreduce)",
    .collective = CLAB_ALLREDUCE,
    .default_lanes = 1,
    .supports = any,
    .chunks = chunks_per_block,
    .scratch = none,
    .width = two,
    .stage = allreduce,
    .cost = cost_allreduce,
    .representative = representative,
    .same_until = end_of_lap,
};
