// SPDX-License-Identifier: MIT
// The receiving half: a short message finds its receive or waits for it; segments land in buffers posted for them.

#include <stdlib.h>
#include <string.h>

#include "core/base/numbers/copy.h"
#include "core/base/log.h"
#include "core/base/numbers/reduce.h"
#include "backends/ofi/wire.h"

// Bytes [offset, offset + bytes) of the message have come, and lie at `from`.
static void land(struct clab_transfer *t, size_t offset, const void *from, size_t bytes)
{
    char *dst = (char *)t->dst + offset;
    if (bytes == 0)
        return;
    if (t->op == CLAB_RECV)
        clab_bytes_copy(dst, from, bytes);
    else
        clab_elements_reduce(t->type, t->redop, (const char *)t->src + offset, from, dst,
                             bytes / clab_type_bytes(t->type));
}

static bool is_as_expected(struct ofi_endpoint *e, const struct clab_transfer *t, uint64_t immediate)
{
    if (immediate == ofi_immediate(t->call, t->bytes))
        return true;
    ofi_mismatch(e, t, immediate);
    return false;
}

// ---- credit --------------------------------------------------------------------------------------------------

void ofi_credit_push(struct ofi_endpoint *e, struct ofi_op *op)
{
    struct ofi_lane *lane = ofi_lane(e, op->peer, op->lane);
    if (lane->units_landed != lane->units_reported && !ofi_wire_control(e, op->peer, OFI_TAKEN, op->lane, 0, 0)) {
        ofi_work_add(e, op);
        return;
    }
    lane->acknowledges = false;
    ofi_op_give(e, op);
}

// A message has come to its receive, or begun to. Any message back acknowledges it; at a quarter of the window, a credit
// message.
static void note_taken(struct ofi_endpoint *e, int peer, int lane_, size_t bytes)
{
    struct ofi_lane *lane = ofi_lane(e, peer, lane_);
    lane->taken++;
    lane->units_landed += ofi_units(bytes);
    if (peer == e->rank || lane->acknowledges || lane->units_landed - lane->units_reported < OFI_WINDOW / 4)
        return;
    struct ofi_op *op = ofi_op_take(e);
    if (!op)
        return;
    op->kind = OFI_CREDIT;
    op->peer = peer;
    op->lane = lane_;
    lane->acknowledges = true;
    ofi_credit_push(e, op);
}

// ---- short messages ------------------------------------------------------------------------------------------

// The op of a receive of which nothing has come; NULL: it has not begun.
static struct ofi_op *find_receive(const struct ofi_lane *lane, uint32_t number)
{
    struct ofi_op *op = lane->receives.first;
    while (op && op->number % OFI_NUMBERS != number)
        op = op->next;
    return op;
}

static void take_receive(struct ofi_endpoint *e, struct ofi_op *op)
{
    ofi_ops_remove(&ofi_lane(e, op->peer, op->lane)->receives, op);
    note_taken(e, op->peer, op->lane, op->bytes);
}

// Whether a member may send this before its receive begins: it is within the window, and not sent twice.
static bool may_come_early(const struct ofi_lane *lane, uint32_t number, size_t bytes)
{
    const int ahead = ofi_ahead(number, lane->receives_begun);
    return ahead >= 0 && ahead < OFI_WINDOW && lane->units_early + ofi_units(bytes) <= OFI_WINDOW;
}

// Where it belongs among those that came early: mostly at their end. NULL: it is there already.
static struct ofi_early **place_for(struct ofi_lane *lane, uint32_t number)
{
    struct ofi_early **link = &lane->eager;
    if (lane->eager && ofi_ahead(number, lane->last_eager->number) > 0)
        return &lane->last_eager->next;
    while (*link && ofi_ahead(number, (*link)->number) > 0)
        link = &(*link)->next;
    return *link && (*link)->number == number ? NULL : link;
}

static void keep_eager(struct ofi_endpoint *e, struct ofi_lane *lane, struct ofi_early **link, uint32_t number,
                       uint64_t immediate, const char *data, size_t bytes)
{
    struct ofi_early *early = malloc(sizeof *early + bytes);
    if (!early) {
        clab_error("ofi: no memory for a message of %zu bytes that came early", bytes);
        ofi_fail(e, CLAB_ENOMEM);
        return;
    }
    *early = (struct ofi_early){.next = *link, .number = number, .immediate = immediate, .bytes = bytes};
    if (bytes > 0) // else data may be NULL: a message of this rank's own
        memcpy(early->data, data, bytes);
    *link = early;
    if (!early->next)
        lane->last_eager = early;
    lane->units_early += ofi_units(bytes);
}

// Receives begin in order, so that it is the first if it is there.
static struct ofi_early *recall_eager(struct ofi_lane *lane, uint32_t number)
{
    struct ofi_early *early = lane->eager;
    if (early->number != number)
        return NULL;
    lane->eager = early->next;
    lane->units_early -= ofi_units(early->bytes);
    return early;
}

static void land_short(struct ofi_endpoint *e, struct clab_transfer *t, const char *data, size_t bytes)
{
    if (bytes != t->bytes) { // never beyond dst, whoever wrote it
        clab_error("ofi: rank %d's message has %zu bytes", e->peers[t->peer].job_rank, bytes);
        e->err = CLAB_EMISMATCH;
        return;
    }
    land(t, 0, data, bytes);
    t->moved = bytes;
}

void ofi_receive_eager(struct ofi_endpoint *e, int peer, int lane, uint32_t number, uint64_t immediate,
                       const char *data, size_t bytes)
{
    struct ofi_lane *l = ofi_lane(e, peer, lane);
    struct ofi_op *op = find_receive(l, number);
    struct ofi_early **link = op || !may_come_early(l, number, bytes) ? NULL : place_for(l, number);
    if (!op && !link) {
        ofi_distrust(e, peer, "has sent a message twice, or more messages than it may before they are received");
        return;
    }
    if (!op) {
        keep_eager(e, l, link, number, immediate, data, bytes);
        return;
    }
    if (!is_as_expected(e, op->t, immediate))
        return;
    land_short(e, op->t, data, bytes);
    take_receive(e, op);
    if (!e->err)
        ofi_op_finish(e, op);
}

void ofi_receive_head(struct ofi_endpoint *e, int peer, int lane, uint32_t number, uint64_t immediate)
{
    struct ofi_lane *l = ofi_lane(e, peer, lane);
    const struct ofi_op *op = find_receive(l, number);
    if (op)
        is_as_expected(e, op->t, immediate); // then READY is on its way
    else if (ofi_ahead(number, l->receives_begun) >= 0)
        ofi_receive_eager(e, peer, lane, number, immediate, NULL, 0);
}

// ---- segments ------------------------------------------------------------------------------------------------

// So many earlier messages have not come that numbers modulo OFI_NUMBERS could be confused.
static bool is_far_ahead(const struct ofi_lane *lane, const struct ofi_op *op)
{
    return (int32_t)(op->number - lane->taken) >= OFI_AHEAD;
}

void ofi_receive_push(struct ofi_endpoint *e, struct ofi_op *op)
{
    if (op->waits)
        return;
    if (is_far_ahead(ofi_lane(e, op->peer, op->lane), op)) {
        ofi_work_add(e, op);
        return;
    }
    while (op->posted < op->bytes && op->pending < OFI_SEGMENTS)
        if (!ofi_wire_segment(e, op)) {
            ofi_work_add(e, op);
            return;
        }
    if (op->ready)
        return;
    op->ready = ofi_wire_control(e, op->peer, OFI_READY, op->lane, op->number, ofi_immediate(op->t->call, op->bytes));
    if (!op->ready)
        ofi_work_add(e, op);
}

void ofi_receive_completed(struct ofi_endpoint *e, struct ofi_request *request, size_t bytes)
{
    struct ofi_op *op = request->op;
    op->pending--;
    if (bytes != request->bytes) {
        clab_info("ofi: rank %d sent a segment of %zu bytes, not %zu", op->peer, bytes, request->bytes);
        ofi_fail(e, CLAB_EMISMATCH);
        return;
    }
    if (request->memory)
        land(op->t, request->offset, request->memory, bytes);
    if (op->t->moved == 0)
        take_receive(e, op);
    op->t->moved += bytes;
    ofi_request_give(e, request);
    if (op->posted < op->bytes)
        ofi_receive_push(e, op);
    else if (op->t->moved == op->bytes)
        ofi_op_finish(e, op);
}

// ---- from this rank itself -----------------------------------------------------------------------------------

static void land_own(struct ofi_endpoint *e, struct ofi_op *send, struct clab_transfer *t)
{
    struct ofi_lane *lane = ofi_lane(e, e->rank, t->lane);
    if (!is_as_expected(e, t, ofi_immediate(send->t->call, send->bytes)))
        return;
    land(t, 0, send->t->src, send->bytes);
    t->moved = send->t->moved = send->bytes;
    ofi_ops_remove(&lane->sends, send);
    ofi_op_finish(e, send);
}

void ofi_receive_own(struct ofi_endpoint *e, struct ofi_op *send)
{
    struct ofi_lane *lane = ofi_lane(e, e->rank, send->lane);
    struct ofi_op *op = find_receive(lane, send->number % OFI_NUMBERS);
    if (!op)
        return;
    take_receive(e, op);
    land_own(e, send, op->t);
    if (!e->err)
        ofi_op_finish(e, op);
}

static bool was_sent_by_ourselves(struct ofi_endpoint *e, struct ofi_lane *lane, struct clab_transfer *t)
{
    for (struct ofi_op *send = lane->sends.first; send; send = send->next)
        if (send->number == (uint32_t)t->turn) {
            land_own(e, send, t);
            note_taken(e, e->rank, t->lane, t->bytes);
            t->done = !e->err;
            return true;
        }
    return false;
}

// ---- starting ------------------------------------------------------------------------------------------------

// A short message that came before its receive, or the HEAD of a long one, which says no more than what is meant.
static void take_early(struct ofi_endpoint *e, struct clab_transfer *t, struct ofi_early *early)
{
    if (is_as_expected(e, t, early->immediate) && !ofi_is_long(t->bytes)) {
        land_short(e, t, early->data, early->bytes);
        note_taken(e, t->peer, t->lane, t->bytes);
        t->done = !e->err;
    }
    free(early);
}

void ofi_receive_start(struct ofi_endpoint *e, struct clab_transfer *t)
{
    struct ofi_lane *lane = ofi_lane(e, t->peer, t->lane);
    t->done = false;
    t->moved = 0;
    t->turn = lane->receives_begun++;
    struct ofi_early *early = lane->eager ? recall_eager(lane, (uint32_t)t->turn % OFI_NUMBERS) : NULL;
    if (early)
        take_early(e, t, early);
    else if (t->peer == e->rank && was_sent_by_ourselves(e, lane, t))
        return;
    struct ofi_op *op = t->done || e->err ? NULL : ofi_op_begin(e, t, OFI_RECEIVE);
    if (!op)
        return;
    ofi_ops_append(&lane->receives, op);
    if (ofi_is_long(t->bytes) && t->peer != e->rank)
        ofi_receive_push(e, op);
}
