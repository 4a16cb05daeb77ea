// SPDX-License-Identifier: MIT
// Words for writing algorithms: with them a stage reads like its textbook.
//
//     STAGE(ring_allgather)
//     {
//         if (s >= P - 1) return CLAB_DONE;
//         out[0] = send(mod(rank + 1, P), chunk(mod(rank - s, P)));
//         ...
//
// - For the files of core/schedule that hold algorithms, and for nobody else: the names are short.
// - All integers; no floating point decides the shape of a tree.
#pragma once

#include "core/schedule/algorithms/algorithms.h"

#define UNUSED __attribute__((unused))

// Heads a stage function: it sees the problem, P = its ranks, rank, lane, and s, the number of the stage; it fills
// out[] and returns how many steps that makes, or CLAB_DONE.
#define STAGE(name)                                                                                                 \
    static int name##_of(const struct clab_problem *, int, int, int, int, struct clab_step[]);                      \
    static int name(const struct clab_problem *problem, int rank, int lane, int stage, struct clab_step out[])      \
    {                                                                                                               \
        return name##_of(problem, problem->nranks, rank, lane, stage, out);                                         \
    }                                                                                                               \
    static int name##_of(UNUSED const struct clab_problem *problem, UNUSED int P, UNUSED int rank, UNUSED int lane, \
                         UNUSED int s, UNUSED struct clab_step out[])

// Heads a cost function: it sees the problem, P = its ranks and L = its lanes.
#define COST(name)                                                              \
    static struct clab_cost name##_of(const struct clab_problem *, long, long); \
    static struct clab_cost name(const struct clab_problem *problem)            \
    {                                                                           \
        return name##_of(problem, problem->nranks, problem->lanes);             \
    }                                                                           \
    static struct clab_cost name##_of(UNUSED const struct clab_problem *problem, UNUSED long P, UNUSED long L)

// ---- spans ---------------------------------------------------------------------------------------------------

static inline struct clab_span chunks(int first, int count)
{
    return (struct clab_span){CLAB_DATA, first, count};
}

static inline struct clab_span chunk(int i)
{
    return chunks(i, 1);
}

static inline struct clab_span input(int i)
{
    return (struct clab_span){CLAB_INPUT, i, 1};
}

static inline struct clab_span scratch(int first, int count)
{
    return (struct clab_span){CLAB_SCRATCH, first, count};
}

// ---- steps ---------------------------------------------------------------------------------------------------
// All members are named: gcc 12 would build what is left to be zero aside and copy it, at twice the time of a stage.

#define NO_SPAN         \
    {                   \
        CLAB_DATA, 0, 0 \
    }

// send, recv or recv_reduce, as an argument.
typedef struct clab_step transfer(int peer, struct clab_span span);

static inline struct clab_step send(int peer, struct clab_span src)
{
    return (struct clab_step){.op = CLAB_SEND, .peer = peer, .src = src, .dst = NO_SPAN};
}

static inline struct clab_step recv(int peer, struct clab_span dst)
{
    return (struct clab_step){.op = CLAB_RECV, .peer = peer, .src = NO_SPAN, .dst = dst};
}

static inline struct clab_step recv_reduce(int peer, struct clab_span dst)
{
    return (struct clab_step){.op = CLAB_RECV_REDUCE, .peer = peer, .src = NO_SPAN, .dst = dst};
}

static inline struct clab_step copy(struct clab_span dst, struct clab_span src)
{
    return (struct clab_step){.op = CLAB_COPY, .peer = 0, .src = src, .dst = dst};
}

// A rooted algorithm is written as if the root were rank 0; this gives the peers of its n steps their real numbers.
static inline int from_root(const struct clab_problem *problem, int n, struct clab_step out[])
{
    for (int i = 0; i < n; i++)
        out[i].peer = (out[i].peer + problem->root) % problem->nranks;
    return n;
}

// ---- integers ------------------------------------------------------------------------------------------------

// a modulo n, in [0, n) for any a.
static inline int mod(int a, int n)
{
    int r = a % n;
    return r < 0 ? r + n : r;
}

static inline int min(int a, int b)
{
    return a < b ? a : b;
}

static inline int max(int a, int b)
{
    return a > b ? a : b;
}

// For n >= 1: the k with 2^k <= n < 2^(k+1), and the k with 2^(k-1) < n <= 2^k.
static inline int floor_log2(int n)
{
    return 31 - __builtin_clz((unsigned)n);
}

static inline int ceil_log2(int n)
{
    return n == 1 ? 0 : floor_log2(n - 1) + 1;
}

// The ranks of a full node, at most all. Where the problem names no group it is ceil(sqrt(P)): then what grows with the
// ranks of a node and what grows with the nodes are alike.
static inline int group_of(const struct clab_problem *problem)
{
    int group = problem->group;
    for (int square = 1; group == 0; square++)
        if (square * square >= problem->nranks)
            group = square;
    return min(group, problem->nranks);
}

// How many of the numbers 0 ... n-1 have bit k.
static inline int count_with_bit(int n, int k)
{
    return ((n >> (k + 1)) << k) + max(0, (n & ((2 << k) - 1)) - (1 << k));
}

// ---- symmetries ----------------------------------------------------------------------------------------------
// For representative(). Renaming by them keeps ranks of a node together if nodes of `period` ranks fill all places.

// Ranks that are counted from another one on, whole nodes further.
static inline int rotated(const struct clab_problem *problem, int period, int rank, int peer)
{
    int P = problem->nranks;
    return P % period ? peer : mod(peer - (rank - rank % period), P);
}

// Ranks whose partners are found by flipping bits.
static inline int flipped(const struct clab_problem *problem, int period, int rank, int peer)
{
    int P = problem->nranks;
    bool powers_of_two = (P & (P - 1)) == 0 && (period & (period - 1)) == 0;
    return powers_of_two ? peer ^ rank : peer;
}

// ---- common slots --------------------------------------------------------------------------------------------

static inline bool any(UNUSED const struct clab_problem *problem)
{
    return true;
}

static inline int none(UNUSED const struct clab_problem *problem)
{
    return 0;
}

static inline int one(UNUSED const struct clab_problem *problem)
{
    return 1;
}

static inline int two(UNUSED const struct clab_problem *problem)
{
    return 2;
}

static inline int per_rank(const struct clab_problem *problem)
{
    return problem->nranks;
}
