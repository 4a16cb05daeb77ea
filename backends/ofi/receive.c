// SPDX-License-Identifier: MIT
// The receiving half: an eager part finds its receive or waits for it; segments land in buffers posted for them.

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

// An eager part has found its receive. Any message back acknowledges it; at a quarter of the window, a credit message.
static void take_eager(struct ofi_endpoint *e, int peer, int lane_, size_t bytes)
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

// ---- eager parts ---------------------------------------------------------------------------------------------

// The op of a receive that waits for its eager part, out of its lane; NULL: it has not begun.
static struct ofi_op *take_receive(struct ofi_lane *lane, uint32_t number)
{
    struct ofi_op *op = lane->receives.first;
    while (op && op->number % OFI_NUMBERS != number)
        op = op->next;
    if (op)
        ofi_ops_remove(&lane->receives, op);
    return op;
}

// Whether a member may send this eager part before its receive begins: it is within the window, and not sent twice.
static bool may_come_early(const struct ofi_lane *lane, uint32_t number, size_t bytes)
{
    const int64_t ahead = ofi_ahead(number, lane->taken);
    return ahead >= (int64_t)(lane->receives_begun - lane->taken) && ahead < OFI_WINDOW &&
           lane->units_early + ofi_units(bytes) <= OFI_WINDOW;
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

static void land_eager(struct ofi_endpoint *e, struct clab_transfer *t, uint64_t immediate, const char *data,
                       size_t bytes)
{
    if (!is_as_expected(e, t, immediate))
        return;
    if (bytes != ofi_eager_bytes(t->bytes)) { // never beyond dst, whoever wrote it
        clab_error("ofi: rank %d's message begins with %zu bytes", e->peers[t->peer].job_rank, bytes);
        e->err = CLAB_EMISMATCH;
        return;
    }
    land(t, 0, data, bytes);
    t->moved += bytes;
    take_eager(e, t->peer, t->lane, t->bytes);
}

static void finish_if_complete(struct ofi_endpoint *e, struct ofi_op *op)
{
    if (op->eager_done && op->t->moved == op->bytes)
        ofi_op_finish(e, op);
}

void ofi_receive_eager(struct ofi_endpoint *e, int peer, int lane, uint32_t number, uint64_t immediate,
                       const char *data, size_t bytes)
{
    struct ofi_lane *l = ofi_lane(e, peer, lane);
    struct ofi_op *op = take_receive(l, number);
    struct ofi_early **link = op || !may_come_early(l, number, bytes) ? NULL : place_for(l, number);
    if (!op && !link) {
        ofi_distrust(e, peer, "has sent a message twice, or more messages than it may before they are received");
        return;
    }
    if (!op) {
        keep_eager(e, l, link, number, immediate, data, bytes);
        return;
    }
    land_eager(e, op->t, immediate, data, bytes);
    op->eager_done = true;
    if (!e->err)
        finish_if_complete(e, op);
}

// ---- segments ------------------------------------------------------------------------------------------------

// So many earlier messages still lack their eager part that numbers modulo OFI_NUMBERS could be confused.
static bool is_far_ahead(const struct ofi_lane *lane, const struct ofi_op *op)
{
    return (int32_t)(op->number - lane->taken) >= OFI_AHEAD;
}

static bool post_segments(struct ofi_endpoint *e, struct ofi_op *op)
{
    if (is_far_ahead(ofi_lane(e, op->peer, op->lane), op))
        return false;
    while (op->posted < op->bytes && op->pending < OFI_SEGMENTS)
        if (!ofi_wire_segment(e, op))
            return false;
    return true;
}

static bool say_ready(struct ofi_endpoint *e, struct ofi_op *op)
{
    const uint64_t immediate = ofi_immediate(op->t->call, op->bytes);
    if (!op->ready && ofi_wire_control(e, op->peer, OFI_READY, op->lane, op->number, immediate))
        ofi_receive_told(e, op);
    return op->ready;
}

void ofi_receive_push(struct ofi_endpoint *e, struct ofi_op *op)
{
    if (!op->waits && (!post_segments(e, op) || !say_ready(e, op)))
        ofi_work_add(e, op);
}

struct ofi_op *ofi_receive_untold(const struct ofi_endpoint *e, const struct ofi_op *send)
{
    struct ofi_op *op = ofi_lane(e, send->peer, send->lane)->unready;
    return op && op->bytes == send->bytes && op->t->call == send->t->call ? op : NULL;
}

void ofi_receive_told(struct ofi_endpoint *e, struct ofi_op *op)
{
    struct ofi_lane *lane = ofi_lane(e, op->peer, op->lane);
    op->ready = true;
    if (lane->unready == op)
        lane->unready = NULL;
}

void ofi_receive_completed(struct ofi_endpoint *e, struct ofi_request *request, size_t bytes)
{
    struct ofi_op *op = request->op;
    op->pending--;
    if (!op->ready) { // its READY may still wait with it
        ofi_distrust(e, op->peer, "has sent the rest of a message before this rank was ready for it");
        return;
    }
    if (bytes != request->bytes) {
        clab_info("ofi: rank %d sent a segment of %zu bytes, not %zu", op->peer, bytes, request->bytes);
        ofi_fail(e, CLAB_EMISMATCH);
        return;
    }
    if (request->memory)
        land(op->t, request->offset, request->memory, bytes);
    op->t->moved += bytes;
    ofi_request_give(e, request);
    if (op->posted < op->bytes)
        ofi_receive_push(e, op);
    else
        finish_if_complete(e, op);
}

// ---- from this rank itself -----------------------------------------------------------------------------------

static void land_own(struct ofi_endpoint *e, struct ofi_op *send, struct clab_transfer *t)
{
    struct ofi_lane *lane = ofi_lane(e, e->rank, t->lane);
    if (!is_as_expected(e, t, ofi_immediate(send->t->call, send->bytes)))
        return;
    land(t, 0, send->t->src, send->bytes);
    lane->taken++;
    t->moved = send->t->moved = send->bytes;
    ofi_ops_remove(&lane->sends, send);
    ofi_op_finish(e, send);
}

void ofi_receive_own(struct ofi_endpoint *e, struct ofi_op *send)
{
    struct ofi_op *op = take_receive(ofi_lane(e, e->rank, send->lane), send->number % OFI_NUMBERS);
    if (!op)
        return;
    land_own(e, send, op->t);
    if (!e->err)
        ofi_op_finish(e, op);
}

static bool was_sent_by_ourselves(struct ofi_endpoint *e, struct ofi_lane *lane, struct clab_transfer *t)
{
    for (struct ofi_op *send = lane->sends.first; send; send = send->next)
        if (send->number == (uint32_t)t->turn) {
            land_own(e, send, t);
            t->done = !e->err;
            return true;
        }
    return false;
}

// ---- starting ------------------------------------------------------------------------------------------------

void ofi_receive_start(struct ofi_endpoint *e, struct clab_transfer *t)
{
    struct ofi_lane *lane = ofi_lane(e, t->peer, t->lane);
    const size_t bytes = t->bytes;
    t->done = false;
    t->moved = 0;
    t->turn = lane->receives_begun++;
    struct ofi_early *early = lane->eager ? recall_eager(lane, (uint32_t)t->turn % OFI_NUMBERS) : NULL;
    if (early) {
        land_eager(e, t, early->immediate, early->data, early->bytes);
        free(early);
        t->done = !e->err && t->moved == bytes;
    } else if (t->peer == e->rank && was_sent_by_ourselves(e, lane, t)) {
        return;
    }
    if (t->done || e->err)
        return;
    struct ofi_op *op = ofi_op_begin(e, t, OFI_RECEIVE);
    if (!op)
        return;
    op->posted = ofi_eager_bytes(bytes); // that comes through the pool
    op->eager_done = early != NULL;
    if (!op->eager_done)
        ofi_ops_append(&lane->receives, op);
    if (op->posted < op->bytes && t->peer != e->rank) {
        if (post_segments(e, op) && !lane->unready)
            lane->unready = op;
        ofi_work_add(e, op);
    }
}
