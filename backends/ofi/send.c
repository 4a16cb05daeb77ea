// SPDX-License-Identifier: MIT
// The sending half: the eager part as soon as the lane's window permits, the rest once the receiver is ready.

#include <stdlib.h>

#include "core/base/log.h"
#include "backends/ofi/wire.h"

// What a rank that shares its core lies ahead of the others, they must keep until they run.
static uint32_t window(const struct ofi_endpoint *e)
{
    return e->domain->boot->crowded ? OFI_WINDOW / 2 : OFI_WINDOW;
}

// Copies of long messages into a packet take time from the other ranks of the core.
static size_t most_joined(const struct ofi_endpoint *e)
{
    return e->domain->boot->crowded ? OFI_JOINED_BYTES / 2 : OFI_JOINED_BYTES;
}

static bool may_go(const struct ofi_endpoint *e, const struct ofi_lane *lane, uint32_t number, size_t bytes)
{
    return number == lane->eager_sent && lane->units_sent - lane->units_taken + ofi_units(bytes) <= window(e);
}

static void note_gone(struct ofi_lane *lane, size_t bytes)
{
    lane->eager_sent++;
    lane->units_sent += ofi_units(bytes);
}

// ---- READY messages that came before the send ----------------------------------------------------------------

// Whether a member may be ready for a message whose send has not begun: it has received all but the last OFI_AHEAD
// before it.
static bool may_be_early(const struct ofi_lane *lane, uint32_t number)
{
    for (const struct ofi_early *early = lane->readies; early; early = early->next)
        if (early->number == number)
            return false;
    return ofi_ahead(number, lane->sends_begun) < OFI_AHEAD;
}

static void remember_ready(struct ofi_endpoint *e, int peer, struct ofi_lane *lane, uint32_t number, uint64_t immediate)
{
    if (!may_be_early(lane, number)) {
        ofi_distrust(e, peer, "has been ready for a message twice, or for one that is too far ahead");
        return;
    }
    struct ofi_early *early = malloc(sizeof *early);
    if (!early) {
        ofi_fail(e, CLAB_ENOMEM);
        return;
    }
    *early = (struct ofi_early){.next = lane->readies, .number = number % OFI_NUMBERS, .immediate = immediate};
    lane->readies = early;
}

static void check_ready(struct ofi_endpoint *e, struct ofi_op *op, uint64_t immediate)
{
    if (immediate == ofi_immediate(op->t->call, op->bytes))
        op->ready = true;
    else
        ofi_mismatch(e, op->t, immediate);
}

static void recall_ready(struct ofi_endpoint *e, struct ofi_lane *lane, struct ofi_op *op)
{
    for (struct ofi_early **link = &lane->readies, *early; (early = *link); link = &early->next)
        if (early->number == op->number % OFI_NUMBERS) {
            *link = early->next;
            check_ready(e, op, early->immediate);
            free(early);
            return;
        }
}

// ---- an op ---------------------------------------------------------------------------------------------------

static void push_eager(struct ofi_endpoint *e, struct ofi_lane *lane, struct ofi_op *op)
{
    if (!may_go(e, lane, op->number, op->bytes) || !ofi_wire_eager(e, op)) {
        ofi_work_add(e, op);
        return;
    }
    note_gone(lane, op->bytes);
    op->eager_done = true;
}

void ofi_send_push(struct ofi_endpoint *e, struct ofi_op *op)
{
    struct ofi_lane *lane = ofi_lane(e, op->peer, op->lane);
    if (op->waits)
        return;
    if (!op->eager_done)
        push_eager(e, lane, op);
    if (!op->eager_done || (op->posted < op->bytes && !op->ready))
        return;
    while (op->posted < op->bytes && !e->err)
        if (!ofi_wire_segment(e, op)) {
            ofi_work_add(e, op);
            return;
        }
    ofi_ops_remove(&lane->sends, op);
}

void ofi_send_completed(struct ofi_endpoint *e, struct ofi_request *request)
{
    struct ofi_op *op = request->op;
    op->t->moved += request->bytes;
    op->pending--;
    e->sending--;
    ofi_request_give(e, request);
    if (op->eager_done && op->t->moved == op->bytes && !op->pending)
        ofi_op_finish(e, op);
}

void ofi_send_ready(struct ofi_endpoint *e, int peer, int lane, uint32_t number, uint64_t immediate)
{
    struct ofi_lane *l = ofi_lane(e, peer, lane);
    for (struct ofi_op *op = l->sends.first; op; op = op->next)
        if (op->number % OFI_NUMBERS == number) {
            check_ready(e, op, immediate);
            if (op->ready && op->eager_done)
                ofi_send_push(e, op);
            return;
        }
    if (ofi_ahead(number, l->sends_begun) >= 0) {
        remember_ready(e, peer, l, number, immediate);
    } else {
        clab_info("ofi: rank %d waits for the rest of a message that has none", peer);
        ofi_fail(e, CLAB_EMISMATCH);
    }
}

// ---- starting ------------------------------------------------------------------------------------------------

static struct ofi_op *begin(struct ofi_endpoint *e, struct ofi_lane *lane, struct clab_transfer *t)
{
    struct ofi_op *op = ofi_op_begin(e, t, OFI_SEND);
    if (op)
        ofi_ops_append(&lane->sends, op);
    return op;
}

// To this rank itself: a small message goes the same way as to any other rank.
static void start_own(struct ofi_endpoint *e, struct ofi_lane *lane, struct clab_transfer *t)
{
    const size_t bytes = t->bytes;
    if (!lane->sends.first && bytes <= OFI_EAGER_BYTES && lane->units_early + ofi_units(bytes) <= OFI_WINDOW) {
        ofi_receive_eager(e, t->peer, t->lane, (uint32_t)t->turn % OFI_NUMBERS, ofi_immediate(t->call, bytes), t->src,
                          bytes);
        t->moved = bytes;
        t->done = !e->err;
        return;
    }
    struct ofi_op *op = begin(e, lane, t);
    if (op && lane->receives.first)
        ofi_receive_own(e, op);
}

void ofi_send_start(struct ofi_endpoint *e, struct clab_transfer *t)
{
    struct ofi_lane *lane = ofi_lane(e, t->peer, t->lane);
    t->done = false;
    t->moved = 0;
    t->turn = lane->sends_begun++;
    if (t->peer == e->rank) {
        start_own(e, lane, t);
        return;
    }
    const size_t bytes = t->bytes;
    if (e->domain->joins && bytes <= most_joined(e) && !lane->sends.first && !lane->readies &&
        may_go(e, lane, (uint32_t)t->turn, bytes) && ofi_packets_take(e, t)) {
        note_gone(lane, bytes);
        t->moved = bytes;
        t->done = true;
        return;
    }
    if (e->peers[t->peer].held)
        ofi_packets_push(e, t->peer);
    if (bytes <= e->inject_bytes && !lane->readies && may_go(e, lane, (uint32_t)t->turn, bytes) &&
        ofi_wire_eager_copy(e, t, (uint32_t)t->turn)) {
        note_gone(lane, bytes);
        t->moved = bytes;
        t->done = true;
        return;
    }
    struct ofi_op *op = begin(e, lane, t);
    if (!op)
        return;
    recall_ready(e, lane, op);
    if (op->ready) { // the rest follows later: what is begun together with it must not wait behind it
        push_eager(e, lane, op);
        ofi_work_add(e, op);
    } else {
        ofi_send_push(e, op);
    }
}
