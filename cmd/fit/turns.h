// SPDX-License-Identifier: MIT
// The turns of the probes: a few lines each, on both ranks, between three buffers of positive floats.
// - An error stays in ranks->err, and later turns do nothing.
// - Buffers: x is never written. y receives. z and y alternate in turns that send on the message received last.
#pragma once

#include "core/comm/comm.h"
#include "sim/fit/fit.h"

enum { FIT_STREAM = 4 }; // messages of turn_stream

struct fit_ranks {
    struct clab_comm *comm, *alone; // of both ranks; of this one
    int rank;
    char *x, *y, *z;                                   // floats > 0
    size_t room;                                       // bytes of each
    char *probe_room;                                  // for cmd/probe/placement.h
    bool turned;                                       // y and z have changed places
    int lane;                                          // of all messages
    struct clab_transfer transfers[CLAB_FIT_LANES][2]; // of each lane: what was sent last, and what was received
    double clock_cost;                                 // s that reading the clock takes
    double each;                                       // s/B of a wire, about
    int err;
};

typedef void fit_turn(struct fit_ranks *ranks, size_t bytes);

// Without messages: a call whose one stage is empty, one of several such stages, one on many lanes; a copy by rank 0, by both.
fit_turn fit_turn_call, fit_turn_stages, fit_turn_laned, fit_turn_copy, fit_turn_copy_both;
// z = z + z, by rank 0, by both; the same, and then rank 0 sends z to rank 1, or both send it. The sum touches no memory
// but z.
fit_turn fit_turn_sum, fit_turn_sum_both, fit_turn_one_way_summed, fit_turn_exchange_summed;
// Rank 0 to rank 1: y = x of the other, y = x + that, y = y + that; a message on each lane, one after another or all at
// once; a few in a row.
fit_turn fit_turn_one_way, fit_turn_one_way_reduce, fit_turn_one_way_add, fit_turn_lanes, fit_turn_all_lanes;
fit_turn fit_turn_stream;
// Rank 1 to rank 0.
fit_turn fit_turn_one_way_back;
// To rank 1 and back: x; the message received last; the same, and the receiver adds it to its own.
// x, and each rank makes a call before it answers.
fit_turn fit_turn_answer, fit_turn_round_trip, fit_turn_round_trip_fresh, fit_turn_round_trip_fresh_add;
// Both at once. If a rank reduces or adds, it is rank 1, while rank 0 copies: the memory is busy, but that is no
// allreduce.
fit_turn fit_turn_exchange, fit_turn_exchange_reduce, fit_turn_exchange_add;
fit_turn fit_turn_exchange_fresh, fit_turn_exchange_fresh_add;
// z = y of the other; then each reads its own y again, and y = z. So y has been read by both when it is written.
fit_turn fit_turn_exchange_home;

// Seconds that rank 0 needs to look for a message that has not come. Rank 1 sends it afterwards.
double fit_time_poll(struct fit_ranks *ranks);

// A fence: both ranks have come here. Rank 0 learns that rank 1 has.
void fit_meet(struct fit_ranks *ranks);
void fit_tell(struct fit_ranks *ranks);
