// SPDX-License-Identifier: MIT
// The diagnosis: from the records of a host's ranks, one sentence that says why a communicator hangs.
#pragma once

#include "core/flight/flight.h"

// Where a rank is, on one communicator.
struct clab_flight_place {
    int rank; // of the job
    enum clab_presence presence;
    bool is_stopped; // by a signal
    bool has_called; // the rank has called a collective of the communicator, the last one is `last`; else undefined
    struct clab_flight_op last;
    bool is_elsewhere; // it is in `other`: a send, a receive, or an operation of another communicator
    struct clab_flight_op other;
};

// Look up where the rank of `flight` is on `comm`. The caller fills in its presence.
struct clab_flight_place clab_flight_find(struct clab_flight *flight, uint64_t comm);

// The first collective of `comm` that the two ranks have called differently, among those that both still record.
bool clab_flight_differ(struct clab_flight *a, struct clab_flight *b, uint64_t comm, struct clab_flight_op *a_p,
                        struct clab_flight_op *b_p);
// The last send to `peer`, or receive from it.
bool clab_flight_find_message(struct clab_flight *flight, uint64_t comm, int peer, struct clab_flight_op *op_p);

static inline bool clab_flight_is_open(const struct clab_flight_op *op)
{
    return atomic_load_explicit(&op->state, memory_order_relaxed) != CLAB_FLIGHT_DONE;
}

// "rank 3 has not called number 17: its last is ...; ranks 0-2 wait in number 17".
//   places: (n), by rank; now: s of clab_now; text: (room)
void clab_flight_diagnosis(const struct clab_flight_place *places, int n, double now, char *text, size_t room);
// "in number 17, allreduce (ring) of 64 float sum: stage 2, has waited 30 s for rank 3"
void clab_flight_where(const struct clab_flight_place *place, double now, char *text, size_t room);
