// SPDX-License-Identifier: MIT
// Binary trees: sums climb to the root, the result comes down. Few rounds for small messages; lanes make it a pipeline.
//
// - A tree is a pure function of (P, rank): the rank's parent, and its left and right child.
// - The left subtree is the deeper one: the parent receives from it last and sends to it first.
// Source: Sanders, Speck and Traeff 2009, "Two-tree algorithms for full bandwidth broadcast, reduction and scan".

#include "core/schedule/build.h"

enum { NOBODY = -1 };

struct node {
    int parent, left, right; // ranks, or NOBODY
};

//            0
//        1       2
//      3   4   5   6
//     7 8 9
static struct node heap_node(int P, int v)
{
    int left = 2 * v + 1, right = 2 * v + 2;
    return (struct node){v > 0 ? (v - 1) / 2 : NOBODY, left < P ? left : NOBODY, right < P ? right : NOBODY};
}

//     0─────────────╮              Ranks lie in order from left to right, and the lowest set bit of a rank is its
//             8─────╯              height: every odd rank is a leaf. Nodes beyond P are left out, and the child below
//         4        12              takes the place of each.
//       2   6   10    14
//      1 3 5 7 9 11 13 15
static struct node inorder_node(int P, int v)
{
    if (v == 0)
        return (struct node){NOBODY, P > 1 ? 1 << floor_log2(P - 1) : NOBODY, NOBODY};
    int height = v & -v, below = height / 2, above = (v ^ height) | 2 * height, right = v + below;
    while (below > 0 && right >= P)
        right = v + (below /= 2);
    return (struct node){above < P ? above : v ^ height, height > 1 ? v - height / 2 : NOBODY,
                         below > 0 ? right : NOBODY};
}

static int mirrored(int P, int v)
{
    return v == NOBODY ? NOBODY : P - 1 - v;
}

static int shifted(int P, int v)
{
    return v == NOBODY ? NOBODY : mod(v + 1, P);
}

// The second tree, in which even ranks are leaves: the first one mirrored if P is even, shifted by one rank if it is
// odd.
static struct node second_node(int P, int rank)
{
    int (*rename)(int, int) = P % 2 ? shifted : mirrored;
    struct node first = inorder_node(P, P % 2 ? mod(rank - 1, P) : P - 1 - rank);
    return (struct node){rename(P, first.parent), rename(P, first.left), rename(P, first.right)};
}

// Up, then down: the right child's part, the left child's, mine to the parent; the result from there, on to both
// children.
static int up_and_down(struct node me, int s, transfer *take, struct clab_step out[])
{
    const struct clab_step steps[] = {
        take(me.right, chunk(0)),  take(me.left, chunk(0)), send(me.parent, chunk(0)),
        recv(me.parent, chunk(0)), send(me.left, chunk(0)), send(me.right, chunk(0)),
    };
    if (s >= 6)
        return CLAB_DONE;
    out[0] = steps[s];
    return steps[s].peer == NOBODY ? 0 : 1;
}

STAGE(allreduce)
{
    return up_and_down(heap_node(P, rank), s, recv_reduce, out);
}

STAGE(barrier)
{
    return up_and_down(heap_node(P, rank), s, recv, out);
}

STAGE(double_allreduce)
{
    return up_and_down(lane % 2 ? second_node(P, rank) : inorder_node(P, rank), s, recv_reduce, out);
}

// ---- costs ---------------------------------------------------------------------------------------------------

// A left edge takes one round, a right edge two, since the sibling goes first. The path to heap node v follows the
// binary digits of v + 1 after the first: 0 is left, 1 is right.
static long path_length(int v_plus_1)
{
    return v_plus_1 ? floor_log2(v_plus_1) + __builtin_popcount((unsigned)v_plus_1) - 1 : 0;
}

// The longest path: to the last node, or to one whose digits follow the last node's to a 1, take 0 there, and are 1
// behind.
static long heap_depth(int P)
{
    long depth = path_length(P);
    for (int bits = 1; bits <= P; bits *= 2)
        depth = max(depth, path_length((P & -bits) - 1));
    return depth;
}

// Below v: the left subtree is complete, so its longest path is all right edges; the right one may lack nodes.
static long inorder_depth(int P, int v)
{
    struct node node = inorder_node(P, v);
    long left = node.left == NOBODY ? 0 : v == 0 ? inorder_depth(P, node.left) + 1 : 2 * floor_log2(v & -v) - 1;
    long right = node.right == NOBODY ? 0 : inorder_depth(P, node.right) + 2;
    return max(left, right);
}

COST(cost_barrier)
{
    long depth = heap_depth((int)P), edges = P < 5 ? min(P - 1, 2) : 3;
    return (struct clab_cost){.rounds = 2 * depth,
                              .serial = 2 * depth,
                              .messages_max = L * edges,
                              .sent_max = L * edges,
                              .sent_total = 2 * L * (P - 1)};
}

COST(cost_allreduce)
{
    struct clab_cost cost = cost_barrier(problem);
    cost.reduced = heap_depth((int)P);
    cost.reduced_max = L * min(P - 1, 2);
    return cost;
}

// A rank with two children in one tree is a leaf of the other.
COST(cost_double)
{
    long depth = inorder_depth((int)P, 0), first = (L + 1) / 2, second = L / 2;
    long sends = P == 1 ? 0 : min(P - 1, 3) * first + second;
    return (struct clab_cost){.rounds = 2 * depth,
                              .serial = 2 * depth,
                              .reduced = depth,
                              .messages_max = sends,
                              .sent_max = sends,
                              .reduced_max = P == 3 ? L : min(P / 2, 2) * first,
                              .sent_total = 2 * L * (P - 1)};
}

// ---- tables --------------------------------------------------------------------------------------------------

const struct clab_algorithm clab_allreduce_tree = {
    .name = "tree",
    .title = "binary tree: sums climb to the root, the result comes down",
    .source = "Pjesivac-Grbovic et al. 2007 (binary tree)",
    .collective = CLAB_ALLREDUCE,
    .default_lanes = 1,
    .supports = any,
    .chunks = one,
    .scratch = none,
    .width = one,
    .stage = allreduce,
    .cost = cost_allreduce,
};

const struct clab_algorithm clab_allreduce_double_tree = {
    .name = "double_tree",
    .title = "two binary trees, half of the data each: an inner rank of one is a leaf of the other",
    .source = "Sanders, Speck and Traeff 2009",
    .collective = CLAB_ALLREDUCE,
    .default_lanes = 2,
    .supports = any,
    .chunks = one,
    .scratch = none,
    .width = one,
    .stage = double_allreduce,
    .cost = cost_double,
};

const struct clab_algorithm clab_barrier_tree = {
    .name = "tree",
    .title = "binary tree: arrivals climb to the root, the release comes down",
    .source = "Mellor-Crummey and Scott 1991, section 3 (barriers)",
    .collective = CLAB_BARRIER,
    .default_lanes = 1,
    .supports = any,
    .chunks = one,
    .scratch = none,
    .width = one,
    .stage = barrier,
    .cost = cost_barrier,
};
