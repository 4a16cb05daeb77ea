// SPDX-License-Identifier: MIT
// Bruck's algorithms: ceil(log2 P) rounds for any P. In round k each rank exchanges with ranks 2^k away around the
// ring.
//
// Allgather: rank r has the blocks r, r+1 ... of d ranks; after the round over distance d, of twice as many.
//
//     P = 5    start   d=1     d=2        d=4 (one block is left)
//     rank 0   0       0 1     0 1 2 3    0 1 2 3 4
//     rank 3   3       3 4     3 4 0 1    3 4 0 1 2       a range that wraps around is two spans, so two messages
//
// Alltoall: a block's receiver is `offset` ranks ahead. The block moves by the binary digits of the offset: in round k
// all blocks whose offset has bit k move 2^k ranks ahead, together. A block is sent log2(P)/2 times on average instead
// of once, but messages are fewer and larger.
// Source: Bruck et al. 1997, "Efficient algorithms for all-to-all communications in multiport message-passing systems".

#include "core/schedule/build.h"

// Steps for the blocks first, first + 1 ... (modulo P), `count` of them.
static int wrapped(transfer *step, int peer, int first, int count, int P, struct clab_step out[])
{
    int before_end = min(count, P - first);
    out[0] = step(peer, chunks(first, before_end));
    out[1] = step(peer, chunks(0, count - before_end));
    return before_end == count ? 1 : 2;
}

STAGE(allgather)
{
    if (s >= ceil_log2(P))
        return CLAB_DONE;
    int distance = 1 << s, count = min(distance, P - distance);
    int ahead = mod(rank + distance, P), behind = mod(rank - distance, P);
    int n = wrapped(send, behind, rank, count, P, out);
    return n + wrapped(recv, ahead, ahead, count, P, out + n);
}

static int four(UNUSED const struct clab_problem *problem)
{
    return 4;
}

// ---- alltoall ------------------------------------------------------------------------------------------------
// Scratch: a resting place per offset, then what is sent in a round, then what is received in it, packed by offset.

static int packed_size(int P, int round)
{
    return count_with_bit(P, round);
}

static struct clab_span resting(int offset)
{
    return scratch(offset, 1);
}

static struct clab_span leaving(int P, int offset, int round)
{
    return scratch(P + count_with_bit(offset, round), 1);
}

static struct clab_span arrived(int P, int offset, int round)
{
    return scratch(P + P / 2 + count_with_bit(offset, round), 1);
}

// Where the block of `offset` lies before `round`: where its last journey ended, or where it began.
static struct clab_span place(int P, int rank, int offset, int round)
{
    if (round > 0 && offset >> (round - 1) & 1)
        return arrived(P, offset, round - 1);
    bool has_travelled = offset & ((1 << round) - 1);
    return has_travelled ? resting(offset) : input(mod(rank + offset, P));
}

// Copies between rounds: pack what leaves in `round`; put what arrived to rest, or, if it is there, in place.
static int sort_blocks(int P, int rank, int round, struct clab_step out[])
{
    int n = 0;
    for (int offset = 0; offset < P; offset++) {
        bool leaves = offset >> round & 1, just_arrived = round > 0 && offset >> (round - 1) & 1;
        bool is_own = offset == 0 && round == 0, is_there = offset >> round == 0;
        if (leaves)
            out[n++] = copy(leaving(P, offset, round), place(P, rank, offset, round));
        else if (just_arrived || is_own)
            out[n++] = copy(is_there ? chunk(mod(rank - offset, P)) : resting(offset), place(P, rank, offset, round));
    }
    return n;
}

STAGE(alltoall)
{
    int rounds = ceil_log2(P), round = s / 2;
    if (s > 2 * rounds)
        return CLAB_DONE;
    if (s % 2 == 0)
        return sort_blocks(P, rank, round, out);
    out[0] = send(mod(rank + (1 << round), P), scratch(P, packed_size(P, round)));
    out[1] = recv(mod(rank - (1 << round), P), scratch(P + P / 2, packed_size(P, round)));
    return 2;
}

static int alltoall_scratch(const struct clab_problem *problem)
{
    return 2 * problem->nranks;
}

static int alltoall_width(const struct clab_problem *problem)
{
    return max(2, problem->nranks);
}

// ---- costs ---------------------------------------------------------------------------------------------------

// The last rank's range always wraps, once it is longer than one block.
COST(cost_allgather)
{
    long messages = 0;
    for (long distance = 1; distance < P; distance *= 2)
        messages += min(distance, P - distance) > 1 ? 2 : 1;
    return (struct clab_cost){.rounds = messages,
                              .serial = P - 1,
                              .messages_max = L * messages,
                              .sent_max = L * (P - 1),
                              .sent_total = L * P * (P - 1)};
}

COST(cost_alltoall)
{
    long rounds = ceil_log2((int)P), blocks = 0;
    for (int round = 0; round < rounds; round++)
        blocks += packed_size((int)P, round);
    return (struct clab_cost){.rounds = rounds,
                              .serial = blocks,
                              .messages_max = L * rounds,
                              .sent_max = L * blocks,
                              .sent_total = L * P * blocks};
}

// ---- tables --------------------------------------------------------------------------------------------------

const struct clab_algorithm clab_allgather_bruck = {
    .name = "bruck",
    .title = "ranges of blocks double around the ring",
    .source = "Bruck et al. 1997 (concatenation)",
    .collective = CLAB_ALLGATHER,
    .default_lanes = 1,
    .supports = any,
    .chunks = one,
    .scratch = none,
    .width = four,
    .stage = allgather,
    .cost = cost_allgather,
};

const struct clab_algorithm clab_alltoall_bruck = {
    .name = "bruck",
    .title = "blocks travel by the binary digits of their distance",
    .source = "Bruck et al. 1997 (index)",
    .collective = CLAB_ALLTOALL,
    .default_lanes = 1,
    .supports = any,
    .chunks = one,
    .scratch = alltoall_scratch,
    .width = alltoall_width,
    .stage = alltoall,
    .cost = cost_alltoall,
    .representative = rotated,
};
