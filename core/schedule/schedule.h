// SPDX-License-Identifier: MIT
// Collective algorithms as pure functions. One schedule is run, proved, priced and drawn.
//
// A collective moves and reduces *blocks* of `count` elements. Allreduce, broadcast and reduce have one block;
// allgather, reduce-scatter, gather, scatter and alltoall have one block per rank. An algorithm cuts every block into
// `chunks` chunks; chunk numbers run through block 0, then block 1, and so on. What a rank does is a sequence of
// *stages*; `stage()` computes any of them from (problem, rank, lane, stage) alone: nothing is stored.
//
// Five rules give it meaning:
// 1. Steps of a stage are concurrent: sends, copies and combines read the state on entry, receives land on exit. A chunk
//    is written at most once per stage; no other step of the stage reads what a copy or combine writes. A stage may be
//    empty.
// 2. Stages are a rank's own program counter, not global rounds. A stage ends when all its messages are through: a send
//    waits for its receive. (A file whose sends go on before they are received is given stages that make no rank wait
//    for itself: formats/msccl.h.)
// 3. Messages between a pair match in order within a lane: there are no tags.
// 4. Lanes are independent programs on disjoint slices: a block is cut into `lanes` slices, a slice into chunks.
//    Pipelining, channels and double trees are this one thing.
// 5. One function turns parts to elements: part i of k over n elements starts at i*(n/k) + min(i, n%k).
//
// Buffers. CLAB_DATA is what the collective works on: on entry it holds the caller's input, at the end it must hold the
// result. (The executor gives it memory: it reads the caller's `in` at the first touch, and writes `out`, without
// copying first; no algorithm needs to know.) Alltoall reads CLAB_INPUT, block j is for rank j, and fills CLAB_DATA,
// block i is from rank i. A schedule from a file may do so in any collective: CLAB_INPUT then has the blocks that
// CLAB_DATA holds on entry otherwise (clab_problem_has_input). CLAB_SCRATCH is an algorithm's own, `scratch()` blocks of it. A chunk only ever moves to a
// place of its own size: chunk i of a block to chunk i of another. A barrier has one block of no elements, and its
// messages are signals: the receiver then knows of the arrival of every rank of which the sender knew.
#pragma once

#include <stdbool.h>
#include <stddef.h>

#define CLAB_COLLECTIVES(X)                  \
    X(CLAB_ALLREDUCE, "allreduce")           \
    X(CLAB_BROADCAST, "broadcast")           \
    X(CLAB_REDUCE, "reduce")                 \
    X(CLAB_ALLGATHER, "allgather")           \
    X(CLAB_REDUCE_SCATTER, "reduce_scatter") \
    X(CLAB_ALLTOALL, "alltoall")             \
    X(CLAB_GATHER, "gather")                 \
    X(CLAB_SCATTER, "scatter")               \
    X(CLAB_BARRIER, "barrier")               \
    X(CLAB_SENDRECV, "sendrecv") // rank r sends to r+1 and receives from r-1, modulo P

#define X(name, text) name,
enum clab_collective { CLAB_COLLECTIVES(X) CLAB_COLLECTIVE_COUNT };
#undef X

const char *clab_collective_name(enum clab_collective collective);
struct clab_names; // core/base/names.h
extern const struct clab_names clab_collective_names;
int clab_collective_parse(const char *name, enum clab_collective *collective_p); // CLAB_ENOENT
// The collective's name; "custom" of a file's own (listing.h).
struct clab_problem;
const char *clab_problem_name(const struct clab_problem *problem);
bool clab_collective_reduces(enum clab_collective collective);
bool clab_collective_rooted(enum clab_collective collective);

enum { CLAB_MAX_LANES = 16 }; // of a problem that is run

// One collective call. `count` is in elements of one block: the whole buffer of an allreduce, a rank's contribution to
// an allgather, a rank's result of a reduce-scatter, a message between two ranks of an alltoall. 0 is legal.
struct clab_problem {
    enum clab_collective collective;
    int nranks;                         // P >= 1
    int root;                           // 0 <= root < P; 0 where there is none
    int lanes;                          // >= 1
    int group;                          // ranks per node, for two-level algorithms; 0: the algorithm chooses
    size_t count;                       // elements of a block
    const struct clab_listing *listing; // the schedule, where it was read from a file (listing.h); NULL: it is computed
};

enum clab_buffer { CLAB_DATA, CLAB_INPUT, CLAB_SCRATCH, CLAB_BUFFER_COUNT };

struct clab_span {
    enum clab_buffer buffer;
    int first, count; // in chunks
};

enum clab_step_op { CLAB_SEND, CLAB_RECV, CLAB_RECV_REDUCE, CLAB_COPY, CLAB_COMBINE, CLAB_CALC };

// SEND: src to peer.  RECV: dst from peer.  RECV_REDUCE: dst = src (op) what peer sends; a src of no chunks is dst.
// COPY: dst = src, no peer.  COMBINE: dst = dst (op) src, no peer.
// CALC, in what was read from GOAL only: the rank's core is busy for src.first s and src.count ns, from when the
// receive before it among the steps has landed; from the stage's begin, if there is none.
struct clab_step {
    enum clab_step_op op;
    int peer;
    struct clab_span src, dst;
};

enum { CLAB_DONE = -1 }; // what stage() returns after a rank's last stage

// The cost that an algorithm states; the verifier checks every field exactly. Units are messages, and chunks of one
// lane: all chunks count as equal, empty ones too.
//
// The first three are makespans: when the last rank of the slowest lane is done, each lane alone, on this machine. All
// ranks start at 0. A rank has one way out and one way in, and a message of m chunks takes a + b*m on either. A stage's
// sends leave one after another, in step order, waiting for no receiver. Its receives land one after another, in step
// order, each a + b*m after the one before it landed (the first: after the stage began), but not before its message has
// left its sender. When all have left and landed, the stage's reductions take g per chunk, one after another, and the
// stage ends; copies are free. (a, b, g) is (1, 0, 0) for rounds, (0, 1, 0) for serial, (0, 0, 1) for reduced.
//
// The other fields count over all lanes; _max is the count of the rank with most. L lanes that share the two ways of a
// rank form a pipeline, which takes about rounds + (L - 1) * messages_max / L messages, and likewise in chunks and
// reductions.
struct clab_cost {
    long rounds;       // makespan, in messages: the factor of alpha
    long serial;       // makespan, in chunks on the wire: the factor of beta
    long reduced;      // makespan, in chunks reduced: the factor of gamma
    long messages_max; // messages sent by a rank
    long sent_max;     // chunks sent by a rank
    long reduced_max;  // chunks reduced by a rank
    long sent_total;   // chunks sent by all ranks
};

struct clab_algorithm {
    const char *name;   // "ring"; unique within a collective
    const char *title;  // one line for people
    const char *source; // the paper and section
    enum clab_collective collective;
    int default_lanes; // 1, or 2 for double trees, more for pipelines
    bool (*supports)(const struct clab_problem *);
    int (*chunks)(const struct clab_problem *);  // per block and lane, >= 1
    int (*scratch)(const struct clab_problem *); // blocks of CLAB_SCRATCH
    int (*width)(const struct clab_problem *);   // most steps of any stage
    int (*stage)(const struct clab_problem *, int rank, int lane, int stage,
                 struct clab_step out[]); // steps, or CLAB_DONE
    struct clab_cost (*cost)(const struct clab_problem *);
    // Symmetry, for the simulator; NULL where there is none. On a network that looks the same from `period` ranks
    // further on, there is a renaming of ranks that leaves the schedule as it is and turns `rank` into its
    // representative, whose clock is also its own. representative() is what that renaming makes of `peer`, so that
    // representative(.., rank, rank) is rank's. Representatives are their own, and are the first ranks: 0, 1, ... A
    // problem without symmetry answers `peer`. The function may assume that all chunks are equal.
    int (*representative)(const struct clab_problem *, int period, int rank, int peer);
    // The end of the run of stages that begins at or before `stage`, and whose steps differ for each rank only in chunk
    // numbers. In each of them a rank gets one message at most, in the stage in which it is sent. NULL: no runs.
    int (*same_until)(const struct clab_problem *, int stage);
};

// All algorithms of all collectives, in a fixed order, ended by NULL.
extern const struct clab_algorithm *const clab_algorithms[];

// The algorithm called `name` of `collective`, or NULL.
const struct clab_algorithm *clab_algorithm_find(enum clab_collective collective, const char *name);
// Offer the names of its algorithms as what a mistyped one may mean.
struct clab_nearest; // core/base/nearest.h
void clab_algorithm_offer(enum clab_collective collective, struct clab_nearest *nearest);
// 1 + the index of `algorithm` in clab_algorithms, which is the same in all processes; 0: it is not there.
int clab_algorithm_number(const struct clab_algorithm *algorithm);

// Rule 5. Part i of k over n elements: where it starts, and how many it holds.
static inline size_t clab_part_start(size_t n, int k, int i)
{
    size_t each = n / (size_t)k, extra = n % (size_t)k;
    return (size_t)i * each + ((size_t)i < extra ? (size_t)i : extra);
}
static inline size_t clab_part_size(size_t n, int k, int i)
{
    return n / (size_t)k + ((size_t)i < n % (size_t)k ? 1 : 0);
}

// Blocks of CLAB_DATA (and of CLAB_INPUT in an alltoall): 1, or one per rank.
int clab_problem_blocks(const struct clab_problem *problem);

// Whether CLAB_DATA's `block` holds the rank's input on entry, and whether it must hold the result at the end.
// (Reduce-scatter: every rank holds all blocks on entry and wants its own. Allgather: the reverse.)
bool clab_problem_holds(const struct clab_problem *problem, int rank, int block);
bool clab_problem_wants(const struct clab_problem *problem, int rank, int block);

// Whether the input is in CLAB_INPUT, and CLAB_DATA holds nothing on entry.
bool clab_problem_has_input(const struct clab_problem *problem);

// Whether a step reads its src: all but a receive that reduces into what it reads.
static inline bool clab_step_reads(const struct clab_step *step)
{
    return step->src.count > 0 && step->op != CLAB_RECV && step->op != CLAB_CALC;
}

// The rank whose input `block` of `rank` must hold at the end, and in *input_block_p the block of that input;
// CLAB_EVERYONE: the sum of all ranks' inputs. (A barrier, too, is CLAB_EVERYONE's.)
enum { CLAB_EVERYONE = -1 };
int clab_problem_origin(const struct clab_problem *problem, int rank, int block, int *input_block_p);

// Where `block` lies in the caller's `in` and `out` arrays, in blocks; -1 if it does not.
// (An allgather's `in` is one block long: the rank's own.)
int clab_problem_in_block(const struct clab_problem *problem, int rank, int block);
int clab_problem_out_block(const struct clab_problem *problem, int rank, int block);
// How many blocks these arrays of `rank` have: 0, 1 or all.
int clab_problem_in_blocks(const struct clab_problem *problem, int rank);
int clab_problem_out_blocks(const struct clab_problem *problem, int rank);
// How many blocks both have together; in place, one lies in the other.
int clab_problem_buffer_blocks(const struct clab_problem *problem, int rank, bool in_place);

// The elements [*start_p, *start_p + return value) of its buffer that `chunk` of `lane` covers, given the algorithm's
// chunks per block. Start is counted in a buffer of clab_problem_blocks() blocks of `count` elements.
size_t clab_problem_elements(const struct clab_problem *problem, int chunks, int lane, int chunk, size_t *start_p);
// How many elements all chunks of `span` have.
size_t clab_span_elements(const struct clab_problem *problem, int chunks, int lane, struct clab_span span);

// Whether `algorithm` (NULL: any) can do `problem`.
//   errors: CLAB_EINVAL with one logged line naming the field (nranks < 1, root out of range, lanes < 1, group < 0, an
//           algorithm of another collective, one that does not support the problem)
int clab_problem_check(const struct clab_problem *problem, const struct clab_algorithm *algorithm);
