// SPDX-License-Identifier: MIT
// The state of the full engine, shared by full.c (the order of ranks), price.h (costs) and folded.c.
// It stores O(ranks) state and the messages in flight; stages are computed, never stored. If a network has levels, it
// stores a byte more per chunk of each rank (layout.h). If lines that a peer has read cost more to write, it stores 4
// or 8 bytes more (cache_state.h).
#pragma once

#include <assert.h>

#include "sim/engine/run_queue.h"
#include "sim/engine/corking.h"
#include "sim/engine/flows.h"
#include "sim/engine/inflight.h"
#include "sim/net/net.h"
#include "sim/engine/cache_state.h"
#include "sim/sim.h"
#include "sim/engine/slices.h"
#include "sim/engine/loggp_cost.h"
#include "sim/net/topology.h"

enum part { PART_LATENCY, PART_BANDWIDTH, PART_REDUCE, PART_COUNT };
enum { PORTS = 2 }; // of a rank: in its node, to other nodes

// A rank's resources, each busy until a time. Its lanes follow in memory: with one, they are two cache lines together.
struct rank_state {
    union {
        struct {
            double core, tx[PORTS], rx[PORTS]; // CLAB_PORT_CORE: the core does the ports' work
        };
        double ports[LOGGP_PORT_NONE]; // the same, by enum loggp_port
    };
    double spent[PART_COUNT]; // s; what is counted once is not counted again
    double seen;              // until here, time has been counted
    uint16_t call;
    uint8_t lanes_left;
    bool sends : 1, receives : 1; // in this call, so far
    bool waited : 1;              // what it did last: it waited for a message, and sent none beside
    uint32_t posted;              // where the engine is plain: messages of all ranks when it had posted its last
};

enum phase {
    PHASE_ENTERS,   // the stage begins: copies, sends
    PHASE_COLLECTS, // waits until all of its messages have been sent to it
    PHASE_LANDS,    // they are received, in the order of arrival
    PHASE_ACKS,     // waits until its own messages have been fetched, where senders wait
    PHASE_IDLE      // the lane has ended this call
};

struct lane_state {
    double clock;           // when the stage at hand began
    double end;             // the stage can not end before
    double when;            // of its next action, where their order matters; where the engine is plain: the head of
                            // the message that has come, or of the one that is offered
    int32_t last;           // of the messages collected, in the order of steps: a ring of inflight
    int32_t stage, scanned; // steps that were looked at for receives
    int32_t acks;           // messages that receivers have still to fetch
    int32_t tabled;         // messages that came, and were not awaited: in the table,
    uint8_t boxed;          // and in the inbox
    uint8_t phase;          // enum phase
    bool reduces;           // what is awaited is to be combined, where it offers another
};

// The first few messages that came for a lane before it waited for them; later ones are in the table. (Only if the
// engine is plain; else all are in the table.) It is one cache line.
enum { INBOX_ROOM = 5 };
struct inbox {
    double heads[INBOX_ROOM]; // as struct message's
    int32_t srcs[INBOX_ROOM];
};

// The rank whose message a lane waits for; or NOBODY; or CAME: the message has come, at the lane's `when`. If two ranks
// exchange messages in a stage, the first offers its message (whose head is `when`) to its peer until the peer comes.
enum { NOBODY = -1 /* all bits are set */, CAME = -2, OFFERS = -3 };
static inline int32_t offer_to(int32_t rank)
{
    return OFFERS - rank;
}
static inline int32_t awaited_rank(int32_t awaited) // by the lane
{
    return awaited <= OFFERS ? OFFERS - awaited : awaited;
}

// The code is written once and compiled three times.
enum mode {
    MODE_ANY,   // all there is
    MODE_PLAIN, // one lane, nothing has a place, no sender waits, nothing is shared: the order of actions is free
    MODE_TIMED  // likewise, but the earliest goes first
};

// Messages that wait to be delivered, where the order of actions is of no matter, until their receivers have come into
// the caches.
enum { OUTBOX_ROOM = 16 };
struct outbox {
    struct message messages[OUTBOX_ROOM]; // a ring
    uint32_t first, count;
};

// Two ranks that offer each other a message, until the one that was first has come into the caches.
struct exchange {
    int32_t ranks[2]; // the second is the one that came later
    size_t bytes[2];  // that each gets
};

enum { EXCHANGES_ROOM = 16 };
struct exchanges {
    struct exchange all[EXCHANGES_ROOM]; // a ring
    uint32_t first, count;
};

// A message that is collected, of one of the stage's steps.
struct arrival {
    double head;
    int step;
    int32_t message;
};

// A message over links that are shared (transfers.h).
struct transfer {
    struct message message; // its head: seconds from when it is posted
    double clock, posted;   // s: when it was asked for, and began
    double o_send, send;    // s: of the port, alone
    double bytes, first;    // all, and those of the first fragment
    int32_t next;           // in its port's queue, or of those that are free
    int sender;             // its rank
    int port;               // of it; PORTS: it has one of its own
    int link;               // clab_net_link_index
    int links[CLAB_ROUTE_LINKS], nlinks;
};

struct transfers {
    struct flows flows;
    struct transfer *all;
    int32_t room, used, spare;
    int32_t *first, *last; // (nranks, PORTS) queues; the first is on its way
    int base;              // run_queue: transfer i begins as base + i
};

// The copies of a rank in one lane.
struct copies {
    size_t aside; // bytes copied to `out` while the first messages travel
    struct layout_walk walk;
};

struct full {
    const struct clab_problem *problem;
    const struct clab_algorithm *algorithm;
    const struct clab_net *net;
    int nranks;                     // that are simulated: all, or the first of each orbit
    int period;                     // folded: the network looks the same from so many ranks further on; 0: not folded
    int stop;                       // lanes wait before this stage (folded.c); -1: nowhere
    int node_shift;                 // two links, in nodes and between them: ranks a node as a power of two; -1: not so
    const struct clab_link *around; // the link of all pairs, if they have the same; or NULL
    struct transfers *transfers;    // messages over shared links (transfers.h); NULL: none is shared
    double *cores;                  // (nodes, cores) when they are free; NULL: each rank has its own
    int *owners;                    // (machine_cores) the ranks that have them; NULL: nodes do not share cores
    double switch_cost;             // s, in ticks
    struct loggp_costs costs;
    struct clab_level level; // costs of a core at this footprint
    struct clab_level fresh; // and where lines are taken back, at `fresh_footprint`
    size_t fresh_footprint;
    bool bypasses; // calls store what they sum out of place around the caches (core/base/numbers/copy.h)
    const double *delays;                    // (nranks) s, or NULL
    double compute;                          // s of a core before each call
    double call_cost, wait_cost, stage_cost, lane_cost; // s, in ticks; lane_cost is 0 with one lane
    int calls;
    double *finish; // (calls) when the slowest rank ended it
    double end;     // when the slowest rank of those so far ended the last: `slowest`, the first of several
    int slowest;
    int running;        // ranks that have not ended it
    const int *members; // (all ranks) which of the network's they are; NULL: the first
    int reach;          // one beyond the last of them
    double *ends;       // (all ranks) when each ended the last; or NULL
    struct slices slices;
    bool has_levels;       // copies cost something: what follows is used
    bool alternates;       // some chunks of some ranks do (layout.h)
    struct layout layout;  // of the rank and lane at hand: full_layout()
    struct chunk *chunks;  // (nranks, lanes, nslots) where all ranks' chunks lie
    struct copies *copies; // (nranks, lanes)
    struct cache_state cache;
    struct corking corking; // where sockets buffer
    bool busy;              // as clab_sim_options
    int warming;            // ranks that are in the call before the first
    double pause, origin;   // s: behind that call; when the first begins
    bool has_calcs;         // there are steps that calculate
    bool has_combines;      // and such that reduce what is here already
    enum mode mode;
    bool timed;  // the earliest goes first in any case
    char *state; // (nranks, stride) a rank_state and its lane_states
    size_t stride;
    int32_t *awaited;      // (nranks, lanes)
    struct inbox *inboxes; // (nranks, lanes)
    struct inflight inflight;
    struct outbox outbox;
    struct exchanges exchanges;
    bool is_wide; // ranks lie further apart than a core's own cache reaches: outbox and exchanges are worth waiting
    struct run_queue run_queue;
    struct clab_step *steps; // (width) of the stage at hand
    int nsteps, sends, receives;
    int first_send, first_receive; // steps
    enum clab_load load;           // whether its rank sends and receives at once
    struct arrival *arrivals;      // (width)
    long messages;
    struct recorder *recorder; // (recorder.h), or NULL
    int err;
};

static_assert(sizeof(struct rank_state) + sizeof(struct lane_state) == 128, "two cache lines a rank");
static_assert(sizeof(struct inbox) == 64, "and one more");

// The lane at hand.
struct turn {
    struct full *s;
    struct rank_state *r;
    struct lane_state *l;
    int32_t *awaited;
    int rank, lane;
};

#define FULL_INLINE static inline __attribute__((always_inline))

FULL_INLINE struct rank_state *full_rank(const struct full *s, int rank, enum mode mode)
{
    size_t stride = mode != MODE_ANY ? sizeof(struct rank_state) + sizeof(struct lane_state) : s->stride;
    return (struct rank_state *)(void *)(s->state + (size_t)rank * stride);
}

FULL_INLINE struct lane_state *full_lane(const struct full *s, int rank, int lane, enum mode mode)
{
    return (struct lane_state *)(void *)(full_rank(s, rank, mode) + 1) + lane;
}

FULL_INLINE int32_t *full_awaited(const struct full *s, int rank, int lane, enum mode mode)
{
    return &s->awaited[mode != MODE_ANY ? (size_t)rank : (size_t)rank * (size_t)s->problem->lanes + (size_t)lane];
}

FULL_INLINE struct turn full_turn(struct full *s, int rank, int lane, enum mode mode)
{
    struct rank_state *r = full_rank(s, rank, mode);
    int32_t *awaited = full_awaited(s, rank, lane, mode);
    return (struct turn){s, r, (struct lane_state *)(void *)(r + 1) + lane, awaited, rank, lane};
}

static inline double later(double a, double b)
{
    return a > b ? a : b;
}

// A cost in ticks.
static inline double full_cost(const struct full *s, size_t bytes, double rate)
{
    return ticks_round(s->costs.ticks, (double)bytes * rate);
}

FULL_INLINE size_t span_bytes(const struct full *s, int lane, struct clab_span span)
{
    return slices_bytes(&s->slices, lane, span.first, span.count);
}

// Which of the network's ranks `rank` is.
static inline int full_member(const struct full *s, int rank)
{
    return s->members ? s->members[rank] : rank;
}

static inline struct copies *full_copies(const struct full *s, int rank, int lane)
{
    return &s->copies[(size_t)rank * (size_t)s->problem->lanes + (size_t)lane];
}

// Makes `lane` of `rank` the one at hand of `s->layout`. Only where the network has levels.
static inline struct layout *full_layout(struct full *s, int rank, int lane)
{
    struct layout *l = &s->layout;
    const size_t nslots = (size_t)l->nchunks + (size_t)l->nscratch;
    s->cache.at = ((size_t)rank * (size_t)s->problem->lanes + (size_t)lane) * nslots;
    l->rank = rank;
    l->lane = lane;
    l->chunks = s->chunks + s->cache.at;
    l->walk = full_copies(s, rank, lane)->walk;
    return l;
}

static inline const struct clab_link *full_link(const struct full *s, int a, int b)
{
    if (s->around)
        return s->around;
    if (s->node_shift < 0)
        return clab_net_link(s->net, full_member(s, a), full_member(s, b));
    return a >> s->node_shift == b >> s->node_shift ? &s->net->intra : &s->net->inter;
}

// The port of a link: 0 in the node, 1 to others.
static inline bool full_is_inter(const struct full *s, const struct clab_link *link)
{
    return link != &s->net->intra && link != &s->net->pair;
}

// Who is simulated for `rank`, and who `peer` is to that one.
static inline int full_representative(const struct full *s, int rank, int peer)
{
    return s->period ? s->algorithm->representative(s->problem, s->period, rank, peer) : peer;
}

static inline bool is_receive(const struct clab_step *step)
{
    return (step->op == CLAB_RECV) | (step->op == CLAB_RECV_REDUCE);
}

// `lane` of `rank`, which is `l`, can go on at its `when`.
FULL_INLINE void full_wake(struct full *s, const struct lane_state *l, int rank, int lane, enum mode mode)
{
    if (mode == MODE_PLAIN)
        run_queue_stack(&s->run_queue, rank);
    else
        run_queue_push(&s->run_queue, l->when, mode == MODE_ANY ? rank * s->problem->lanes + lane : rank);
}

// Keep a message with those collected for the stage at hand.
FULL_INLINE void full_hold(struct full *s, struct lane_state *l, int32_t index)
{
    struct message *messages = s->inflight.messages;
    messages[index].next = index;
    if (l->last != INFLIGHT_NONE) {
        messages[index].next = messages[l->last].next;
        messages[l->last].next = index;
    }
    l->last = index;
}

// When the last lane of a rank ended, or, while it runs, where it is.
static inline double full_call_end(const struct full *s, int rank)
{
    double end = 0;
    for (int lane = 0; lane < s->problem->lanes; lane++)
        end = later(end, full_lane(s, rank, lane, MODE_ANY)->clock);
    return end;
}

// The engine from its problem, algorithm, net and period on; full_free also after an error.
//   errors: CLAB_ENOMEM
int full_init(struct full *s, const struct clab_sim_options *options);
void full_free(struct full *s);
size_t full_bytes(const struct full *s); // that it holds
// From the beginning until all are done, or wait at `stop`.  errors: CLAB_ENOMEM, CLAB_EDEADLOCK (logged)
int full_run(struct full *s);
// Those who wait at `stop` go on, to another stop.  errors: as full_run
int full_go_on(struct full *s, int stop);
void full_fill(const struct full *s, struct clab_sim_result *result_p);
// Ranks are left that have not ended. That is no deadlock if they only wait at `stop`.  errors: CLAB_EDEADLOCK (logged)
int full_find_deadlock(const struct full *s);
