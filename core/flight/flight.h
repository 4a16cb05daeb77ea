// SPDX-License-Identifier: MIT
// The flight recorder: the last operations of each rank of a host, in memory that they share and that outlives them.
//
// - A rank records when an operation begins and ends and, once it has waited for some time, the rank it waits for. No
//   other rank writes there. A reader may find a record half overwritten: it detects that, and skips the record.
// - Recording costs a few stores to one cache line. The time of an operation is from a clock of some ms resolution,
//   read at every eighth small operation; the begin of a wait is exact.
// - flight.c  the recorder.   find.c  which rank is behind, and where.   dump.c  the report after a failure.
#pragma once

#include <stdatomic.h>

#include "core/transport/backend.h"
#include "core/base/clock.h"
#include "core/base/log.h"

enum { CLAB_FLIGHT_OPS = 64, CLAB_FLIGHT_TEXT = 160 };

// The kind of an operation: an enum clab_collective, or one of these.
enum { CLAB_FLIGHT_SEND = CLAB_COLLECTIVE_COUNT, CLAB_FLIGHT_RECEIVE, CLAB_FLIGHT_CREATE };
enum clab_flight_state { CLAB_FLIGHT_BEGUN, CLAB_FLIGHT_WAITS, CLAB_FLIGHT_DONE, CLAB_FLIGHT_FAILED };
enum { CLAB_FLIGHT_NATIVE = 255 };

struct clab_flight_op {
    _Alignas(64) _Atomic uint64_t serial; // of the rank's operations: 1, 2, ...; 0: none, or being written
    uint64_t comm;                        // its id
    uint64_t count;                       // elements; CREATE: members
    double begun;                         // s of clab_now, of 4 ms and up to 7 small operations before it
    uint32_t sequence;                    // of the communicator's collectives
    int16_t root;                         // of the job, as all ranks here. SEND, RECEIVE: the peer
    uint8_t what, type, op, lanes;
    uint8_t algorithm;     // 1 + its index in clab_algorithms; 0: none; CLAB_FLIGHT_NATIVE
    _Atomic uint8_t state; // enum clab_flight_state
    // in the states WAITS and FAILED:
    _Atomic int16_t waits_for; // a rank of the job; -1: none, or not known
    _Atomic int16_t stage;     // -1: not known
    _Atomic double since;      // s of clab_now
};

struct clab_flight {
    _Atomic int32_t pid; // 0: no rank has been here
    int32_t rank;        // of the job
    uint64_t serial;     // of the last operation
    double now;          // when the clock was asked last
    // of the host, in the first rank's only: who reports a failure (dump.c)
    _Alignas(64) _Atomic uint64_t claimed, reported;
    struct clab_log_said said; // likewise: why its ranks can not join
    struct clab_flight_op ops[CLAB_FLIGHT_OPS];
};
_Static_assert(sizeof(struct clab_flight_op) == 64, "an operation is a cache line");
_Static_assert(sizeof(struct clab_flight) <= CLAB_FLIGHT_BYTES, "a recorder has room");

static inline struct clab_flight *clab_flight_at(char *flights, int local_rank)
{
    return (struct clab_flight *)(flights + (size_t)local_rank * CLAB_FLIGHT_BYTES);
}

// ---- flight.c: what all ranks of a host say once -------------------------------------------------------------

// Until clab_log_share(NULL), an error that several ranks of this host find is written by the first of them, but by each
// of those that were started by hand, in terminals of their own.
void clab_flight_share_log(struct clab_bootstrap *boot);
// No rank can go on, for the same reason: one of them says `why`. The caller ends its process.
void clab_flight_refuse(struct clab_bootstrap *boot, const char *why);

// ---- flight.c: writing ---------------------------------------------------------------------------------------

// Take the recorder of this rank.
struct clab_flight *clab_flight_open(struct clab_bootstrap *boot);

// Whether to ask the clock before an operation of `count` elements: it costs 5 ns, of the 170 that the smallest take.
static inline bool clab_flight_is_old(const struct clab_flight *flight, size_t count)
{
    return count >= 1024 || flight->serial % 8 == 0;
}

static inline void clab_flight_tick(struct clab_flight *flight)
{
    flight->now = clab_now_coarse();
}

// The record of the next operation, for the caller to fill in down to `algorithm`, and then to begin. It is overwritten
// 64 operations later.
static inline struct clab_flight_op *clab_flight_next(struct clab_flight *flight)
{
    struct clab_flight_op *op = &flight->ops[(flight->serial + 1) % CLAB_FLIGHT_OPS];
    atomic_store_explicit(&op->serial, 0, memory_order_relaxed);
    atomic_thread_fence(memory_order_release);
    op->begun = flight->now;
    return op;
}

// Its serial.
static inline uint64_t clab_flight_begin(struct clab_flight *flight, struct clab_flight_op *op)
{
    const uint64_t serial = ++flight->serial;
    atomic_store_explicit(&op->state, CLAB_FLIGHT_BEGUN, memory_order_relaxed);
    atomic_store_explicit(&op->serial, serial, memory_order_release);
    return serial;
}

static inline void clab_flight_end(struct clab_flight_op *op, enum clab_flight_state state)
{
    atomic_store_explicit(&op->state, (uint8_t)state, memory_order_relaxed);
}

// It waits since `since` for `rank` of the job in `stage`; -1: not known.
void clab_flight_wait(struct clab_flight_op *op, int rank, int stage, double since);

// ---- flight.c: reading ---------------------------------------------------------------------------------------

// The serial of the last operation; 0: there is none.
uint64_t clab_flight_last(struct clab_flight *flight);
// Operation `serial`, which is one of the last CLAB_FLIGHT_OPS; false if it has been overwritten.
bool clab_flight_read(struct clab_flight *flight, uint64_t serial, struct clab_flight_op *op_p);
// The serial from which on operations may be there, given the last.
static inline uint64_t clab_flight_first(uint64_t last)
{
    return last < CLAB_FLIGHT_OPS ? 1 : last + 1 - CLAB_FLIGHT_OPS;
}

static inline bool clab_flight_is_collective(const struct clab_flight_op *op)
{
    return op->what < CLAB_COLLECTIVE_COUNT;
}

// Whether the last operation is not over; with `shortest`: and has waited for so many seconds.
bool clab_flight_has_waited(struct clab_flight *flight, double shortest);
// Whether the last operation has failed.
bool clab_flight_has_failed(struct clab_flight *flight);

// Whether the communicator's members must agree that these are the same.
bool clab_flight_is_same(const struct clab_flight_op *a, const struct clab_flight_op *b);

// "allreduce (ring) of 64 float sum", "send of 8 float to rank 1"; returned.
const char *clab_flight_text(const struct clab_flight_op *op, char text[CLAB_FLIGHT_TEXT]);
