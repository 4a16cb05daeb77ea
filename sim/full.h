// SPDX-License-Identifier: MIT
// The state of the dataflow engine, shared by full.c (who runs when) and price.c (what it costs).
// O(ranks) state and the messages in flight; stages are computed, never stored.
#pragma once

#include "agenda.h"
#include "inflight.h"
#include "net.h"
#include "places.h"
#include "sim.h"
#include "slices.h"

enum part { PART_LATENCY, PART_BANDWIDTH, PART_REDUCE, PART_COUNT };

// A rank's resources, each busy until a time. With CLAB_PORT_CORE the core does the ports' work.
struct rank_state {
    double core, tx[2], rx[2]; // ports by link: intra, inter
    double spent[PART_COUNT];  // s; what is counted once is not counted again
    double seen;               // until here, time has been counted
    double call_end;           // of the lanes that have ended
    int call, lanes_left;
    bool sends, receives; // in this call, so far
};

enum phase {
    PHASE_ENTERS,   // the stage begins: copies, sends
    PHASE_COLLECTS, // waits until all of its messages have been sent to it
    PHASE_LANDS,    // they are received, in the order of arrival
    PHASE_ACKS,     // waits until its own messages have been fetched, where senders wait
    PHASE_IDLE      // the lane has ended this call
};

struct lane_state {
    double clock;        // when the stage at hand began
    double end;          // the stage can not end before
    double when;         // of its next action
    int32_t first, last; // messages collected, in the order of steps; a list of inflight
    int stage, scanned;  // steps that were looked at for receives
    int awaited;         // rank whose message comes next
    int acks;            // messages that receivers have still to fetch
    enum phase phase;
};

struct full {
    const struct clab_problem *problem;
    const struct clab_algorithm *algorithm;
    const struct clab_net *net;
    struct clab_level level; // costs of a core at this footprint
    struct clab_level fresh; // and of fresh data at `fresh_footprint`
    size_t fresh_footprint;
    int calls;
    double *finish; // (calls) when the slowest rank ended it
    struct slices slices;
    struct places places;
    bool has_places; // copies cost something
    size_t *aside;   // (nranks, lanes) bytes that a lane copies to `out` while its first messages travel; NULL: none
    struct rank_state *ranks; // (nranks)
    struct lane_state *lanes; // (nranks, lanes)
    struct inflight inflight;
    struct agenda agenda;
    struct clab_step *steps; // (width) of the stage at hand
    int nsteps;
    enum clab_load load;      // whether its rank sends and receives at once
    struct arrival *arrivals; // (width)
    long messages;
    int err;
};

static inline struct lane_state *full_lane(const struct full *s, int rank, int lane)
{
    return &s->lanes[(size_t)rank * (size_t)s->problem->lanes + (size_t)lane];
}

static inline bool is_receive(const struct clab_step *step)
{
    return step->op == CLAB_RECV || step->op == CLAB_RECV_REDUCE;
}

// ---- full.c --------------------------------------------------------------------------------------------------

// `lane` of `rank` can go on at its `when`.
void full_wake(struct full *s, int rank, int lane);

// ---- price.c -------------------------------------------------------------------------------------------------

// `seconds` of the rank's core from `from` on, or from when it is free; returns the end.
double price_core(struct rank_state *rank, double from, double seconds, enum part part);
// Bytes of `lane` that no stage brings to `out`: the executor copies them aside. Walks all stages, before the first
// call.
size_t price_aside(struct full *s, int rank, int lane);
// The copies and sends of the stage at hand, s->steps; messages are posted.
void price_entry(struct full *s, int rank, int lane);
// Receive what `step` gets; returns when it has landed. A sender that waits for it is told.
double price_landing(struct full *s, int rank, int lane, const struct clab_step *step, const struct message *message);
// What is copied home at the end of a lane, in place.
void price_finish(struct full *s, int rank, int lane);
