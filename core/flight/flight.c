// SPDX-License-Identifier: MIT
// The flight recorder: writing it, reading it, and what an operation is called.

#include "core/flight/flight.h"

#include <string.h>
#include <unistd.h>

#include "core/base/text.h"

// ---- what all ranks say once ---------------------------------------------------------------------------------

void clab_flight_share_log(struct clab_bootstrap *boot)
{
    if (!boot->by_hand)
        clab_log_share(&clab_flight_at(boot->flights, 0)->said);
}

void clab_flight_refuse(struct clab_bootstrap *boot, const char *why)
{
    clab_flight_share_log(boot);
    clab_log_set_rank(-1);
    clab_error("%s", why);
    clab_log_share(NULL);
    boot->refuse(boot);
}

// ---- writing -------------------------------------------------------------------------------------------------

struct clab_flight *clab_flight_open(struct clab_bootstrap *boot)
{
    struct clab_flight *flight = clab_flight_at(boot->flights, boot->local_rank);
    flight->rank = boot->rank;
    atomic_store(&flight->pid, (int32_t)getpid());
    return flight;
}

void clab_flight_wait(struct clab_flight_op *op, int rank, int stage, double since)
{
    atomic_store_explicit(&op->waits_for, (int16_t)rank, memory_order_relaxed);
    atomic_store_explicit(&op->stage, (int16_t)(stage < INT16_MAX ? stage : INT16_MAX), memory_order_relaxed);
    atomic_store_explicit(&op->since, since, memory_order_relaxed);
    atomic_store_explicit(&op->state, CLAB_FLIGHT_WAITS, memory_order_relaxed);
}

// ---- reading -------------------------------------------------------------------------------------------------

uint64_t clab_flight_last(struct clab_flight *flight)
{
    uint64_t last = 0;
    for (int i = 0; i < CLAB_FLIGHT_OPS; i++) {
        const uint64_t serial = atomic_load_explicit(&flight->ops[i].serial, memory_order_relaxed);
        last = serial > last ? serial : last;
    }
    return last;
}

bool clab_flight_read(struct clab_flight *flight, uint64_t serial, struct clab_flight_op *op_p)
{
    struct clab_flight_op *op = &flight->ops[serial % CLAB_FLIGHT_OPS];
    if (atomic_load_explicit(&op->serial, memory_order_acquire) != serial)
        return false;
    memcpy((void *)op_p, (const void *)op, sizeof *op_p);
    atomic_thread_fence(memory_order_acquire);
    return atomic_load_explicit(&op->serial, memory_order_relaxed) == serial;
}

static bool read_last(struct clab_flight *flight, struct clab_flight_op *op_p)
{
    const uint64_t last = clab_flight_last(flight);
    return last && clab_flight_read(flight, last, op_p);
}

bool clab_flight_has_waited(struct clab_flight *flight, double shortest)
{
    struct clab_flight_op op;
    if (!read_last(flight, &op) || op.state >= CLAB_FLIGHT_DONE)
        return false;
    return shortest == 0 || (op.state == CLAB_FLIGHT_WAITS && clab_now() - op.since >= shortest);
}

bool clab_flight_has_failed(struct clab_flight *flight)
{
    struct clab_flight_op op;
    return read_last(flight, &op) && op.state == CLAB_FLIGHT_FAILED;
}

bool clab_flight_is_same(const struct clab_flight_op *a, const struct clab_flight_op *b)
{
    return a->comm == b->comm && a->sequence == b->sequence && a->what == b->what && a->algorithm == b->algorithm &&
           a->lanes == b->lanes && a->count == b->count && a->type == b->type && a->op == b->op && a->root == b->root;
}

static const char *algorithm_name(uint8_t number)
{
    if (number == CLAB_FLIGHT_NATIVE)
        return "native";
    for (int i = 0; number && clab_algorithms[i]; i++)
        if (i + 1 == number)
            return clab_algorithms[i]->name;
    return "?";
}

static void add_collective(struct clab_text *text, const struct clab_flight_op *op)
{
    const enum clab_collective collective = (enum clab_collective)op->what;
    clab_text_add(text, "%s (%s", clab_collective_name(collective), algorithm_name(op->algorithm));
    if (op->lanes > 1)
        clab_text_add(text, ", %d lanes", op->lanes);
    clab_text_add(text, ")");
    if (collective != CLAB_BARRIER && op->type < CLAB_TYPE_COUNT)
        clab_text_add(text, " of %llu %s", (unsigned long long)op->count, clab_type_name((enum clab_type)op->type));
    if (clab_collective_reduces(collective) && op->op < CLAB_OP_COUNT)
        clab_text_add(text, " %s", clab_op_name((enum clab_op)op->op));
    if (clab_collective_rooted(collective))
        clab_text_add(text, ", root %d", op->root);
}

static void add_message(struct clab_text *text, const struct clab_flight_op *op)
{
    const bool is_send = op->what == CLAB_FLIGHT_SEND;
    clab_text_add(text, "%s of %llu %s %s rank %d", is_send ? "send" : "receive", (unsigned long long)op->count,
                  op->type < CLAB_TYPE_COUNT ? clab_type_name((enum clab_type)op->type) : "?", is_send ? "to" : "from",
                  op->root);
}

const char *clab_flight_text(const struct clab_flight_op *op, char at[CLAB_FLIGHT_TEXT])
{
    struct clab_text text = clab_text_begin(at, CLAB_FLIGHT_TEXT);
    if (clab_flight_is_collective(op))
        add_collective(&text, op);
    else if (op->what == CLAB_FLIGHT_CREATE)
        clab_text_add(&text, "making a communicator of %llu ranks", (unsigned long long)op->count);
    else
        add_message(&text, op);
    return at;
}
