// SPDX-License-Identifier: MIT
// Handing messages to the provider (wire.h).

#include "backends/ofi/wire.h"

// ---- names ---------------------------------------------------------------------------------------------------

enum { TAKEN_AT = 12, LANE_AT = 24, SOURCE_AT = 29, WORD_AT = 39, MARK_BITS = 20 };

_Static_assert(CLAB_LANES <= 1 << (SOURCE_AT - LANE_AT), "a lane has 5 bits of the tag");
_Static_assert(CLAB_MAX_RANKS <= 1 << (WORD_AT - SOURCE_AT), "a rank has 10 bits of the tag");
_Static_assert((int)OFI_SEGMENT <= 8 && OFI_TAG_BITS == WORD_AT + 4, "a word has 4 bits of the tag");

static const uint64_t segment_bit = UINT64_C(8) << WORD_AT; // set in segments alone

static uint64_t tag_of(uint64_t mark, struct ofi_name name)
{
    return mark | (uint64_t)name.word << WORD_AT | (uint64_t)name.source << SOURCE_AT | (uint64_t)name.lane << LANE_AT |
           (uint64_t)(name.taken % OFI_NUMBERS) << TAKEN_AT | name.number % OFI_NUMBERS;
}

struct ofi_name ofi_name_of(uint64_t tag)
{
    return (struct ofi_name){
        .word = (enum ofi_word)(tag >> WORD_AT & 15),
        .source = (int)(tag >> SOURCE_AT & (CLAB_MAX_RANKS - 1)),
        .lane = (int)(tag >> LANE_AT & 31),
        .taken = (uint32_t)(tag >> TAKEN_AT) % OFI_NUMBERS,
        .number = (uint32_t)tag % OFI_NUMBERS,
    };
}

uint64_t ofi_mark(uint64_t random, int tag_bits)
{
    const int bits = tag_bits - OFI_TAG_BITS < MARK_BITS ? tag_bits - OFI_TAG_BITS : MARK_BITS;
    return (random & ((UINT64_C(1) << bits) - 1)) << OFI_TAG_BITS;
}

uint64_t ofi_immediate(uint16_t call, size_t bytes)
{
    return (uint64_t)call << 48 | bytes;
}

size_t ofi_immediate_bytes(uint64_t immediate)
{
    return immediate & ((UINT64_C(1) << 48) - 1);
}

uint16_t ofi_immediate_call(uint64_t immediate)
{
    return (uint16_t)(immediate >> 48);
}

// ---- handing over --------------------------------------------------------------------------------------------

// Judge the provider's answer, 0 or -errno, to a request of `op` (NULL: of no transfer).
static bool is_handed(struct ofi_endpoint *e, const struct ofi_op *op, ssize_t answer)
{
    if (answer != 0 && answer != -FI_EAGAIN)
        ofi_report(e, op, (int)-answer, NULL);
    return answer == 0;
}

// A registration for the request's memory, where the provider wants one; and what it calls it.
static bool describe(struct ofi_endpoint *e, struct ofi_request *request, const void *memory, size_t bytes,
                     void **descriptor_p)
{
    *descriptor_p = NULL;
    if (!e->domain->registers || bytes == 0)
        return true;
    const int err = request->registration
                        ? CLAB_OK // a buffer that is posted again
                        : ofi_registrations_use(&e->domain->registrations, memory, bytes, &request->registration);
    if (err)
        ofi_fail(e, err);
    else
        *descriptor_p = fi_mr_desc(request->registration->handle);
    return !err;
}

// The same for the size behind an eager part. It lies in the endpoint's own memory, which is held anyway.
static bool describe_size(struct ofi_endpoint *e, struct ofi_request *request, void **descriptor_p)
{
    struct ofi_registration *held;
    *descriptor_p = NULL;
    if (!e->domain->registers)
        return true;
    const int err = ofi_registrations_use(&e->domain->registrations, &request->behind, sizeof request->behind, &held);
    if (err) {
        ofi_fail(e, err);
        return false;
    }
    *descriptor_p = fi_mr_desc(held->handle);
    ofi_registrations_drop(&e->domain->registrations, held);
    return true;
}

// Each tag acknowledges what this rank has taken from `peer` on the lane.
static uint64_t tag_to(struct ofi_endpoint *e, int peer, enum ofi_word word, int lane, uint32_t number)
{
    const uint32_t taken = ofi_lane(e, peer, lane)->units_landed;
    return tag_of(e->peers[peer].key.mark, (struct ofi_name){word, e->rank, lane, number, taken});
}

static void note_acknowledged(struct ofi_endpoint *e, int peer, int lane)
{
    struct ofi_lane *l = ofi_lane(e, peer, lane);
    l->units_reported = l->units_landed;
    e->peers[peer].met = true;
}

bool ofi_wire_control(struct ofi_endpoint *e, int peer, enum ofi_word word, int lane, uint32_t number,
                      uint64_t immediate)
{
    const uint64_t tag = tag_to(e, peer, word, lane, number);
    const struct ofi_peer *to = &e->peers[peer];
    const ssize_t answer = fi_tinjectdata(e->ep, &immediate, sizeof immediate, to->key.word, to->address, tag);
    if (!is_handed(e, NULL, answer))
        return false;
    note_acknowledged(e, peer, lane);
    return true;
}

bool ofi_wire_eager_copy(struct ofi_endpoint *e, const struct clab_transfer *t, uint32_t number)
{
    const size_t bytes = t->bytes;
    const uint64_t tag = tag_to(e, t->peer, OFI_EAGER, t->lane, number);
    const struct ofi_peer *to = &e->peers[t->peer];
    const ssize_t answer = fi_tinjectdata(e->ep, t->src, bytes, to->key.word | t->call, to->address, tag);
    if (!is_handed(e, NULL, answer))
        return false;
    note_acknowledged(e, t->peer, t->lane);
    return true;
}

bool ofi_wire_packet(struct ofi_endpoint *e, int peer, int lane, struct ofi_request *request)
{
    const struct ofi_peer *to = &e->peers[peer];
    const uint64_t tag = tag_to(e, peer, OFI_PACKET, lane, 0);
    void *descriptor;
    if (!describe(e, request, request->memory, request->bytes, &descriptor) ||
        !is_handed(
            e, NULL,
            fi_tsenddata(e->ep, request->memory, request->bytes, descriptor, to->key.word, to->address, tag, request)))
        return false;
    e->sending++;
    note_acknowledged(e, peer, lane);
    return true;
}

// A request of `op` for its next `bytes`; NULL: it waits, or the endpoint has failed.
static struct ofi_request *request_for(struct ofi_endpoint *e, struct ofi_op *op, size_t bytes)
{
    struct ofi_request *request = ofi_request_take(e);
    if (!request)
        return NULL;
    request->op = op;
    request->offset = op->posted;
    request->bytes = bytes;
    request->memory = NULL;
    request->registration = NULL;
    return request;
}

static bool settle(struct ofi_endpoint *e, struct ofi_op *op, struct ofi_request *request, bool handed)
{
    if (!handed) {
        ofi_request_give(e, request);
        return false;
    }
    op->posted += request->bytes;
    op->pending++;
    return true;
}

// The first bytes of the message, and how long it is if there are more.
static bool send_eager(struct ofi_endpoint *e, struct ofi_op *op, struct ofi_request *request)
{
    const struct ofi_peer *to = &e->peers[op->peer];
    const bool is_long = op->bytes > request->bytes;
    struct ofi_op *receive = is_long ? ofi_receive_untold(e, op) : NULL;
    void *descriptors[2];
    request->kind = OFI_EAGER_OUT;
    request->behind =
        ofi_immediate(receive ? (uint16_t)(OFI_ALSO_READY | receive->number % OFI_NUMBERS) : 0, op->bytes);
    const struct iovec parts[] = {{(void *)op->t->src, request->bytes}, {&request->behind, sizeof request->behind}};
    const struct fi_msg_tagged message = {
        .msg_iov = parts,
        .desc = descriptors,
        .iov_count = is_long ? 2 : 1,
        .addr = to->address,
        .tag = tag_to(e, op->peer, is_long ? OFI_HEAD : OFI_EAGER, op->lane, op->number),
        .context = request,
        .data = to->key.word | op->t->call,
    };
    if (!describe(e, request, op->t->src, request->bytes, &descriptors[0]) ||
        (is_long && !describe_size(e, request, &descriptors[1])) ||
        !is_handed(e, op, fi_tsendmsg(e->ep, &message, FI_REMOTE_CQ_DATA | FI_COMPLETION)))
        return false;
    if (receive)
        ofi_receive_told(e, receive);
    return true;
}

bool ofi_wire_eager(struct ofi_endpoint *e, struct ofi_op *op)
{
    struct ofi_request *request = request_for(e, op, ofi_eager_bytes(op->bytes));
    if (!request)
        return false;
    if (!settle(e, op, request, send_eager(e, op, request)))
        return false;
    e->sending++;
    note_acknowledged(e, op->peer, op->lane);
    return true;
}

// Each segment has a name of its own: where one is dropped, the next must not land in its place.
static uint64_t segment_tag(uint64_t mark, int source, const struct ofi_request *request)
{
    const struct ofi_op *op = request->op;
    const uint32_t place = (uint32_t)(request->offset / OFI_SEGMENT_BYTES);
    return tag_of(mark, (struct ofi_name){OFI_SEGMENT, source, op->lane, op->number, place});
}

static bool send_segment(struct ofi_endpoint *e, struct ofi_op *op, struct ofi_request *request)
{
    const struct ofi_peer *to = &e->peers[op->peer];
    const char *from = (const char *)op->t->src + request->offset;
    const uint64_t tag = segment_tag(to->key.mark, e->rank, request);
    void *descriptor;
    request->kind = OFI_SEGMENT_OUT;
    if (!describe(e, request, from, request->bytes, &descriptor) ||
        !is_handed(e, op,
                   fi_tsenddata(e->ep, from, request->bytes, descriptor, to->key.word, to->address, tag, request)))
        return false;
    e->sending++;
    return true;
}

bool ofi_wire_post(struct ofi_endpoint *e, struct ofi_request *request)
{
    const struct ofi_op *op = request->op;
    char *to = request->memory ? request->memory : (char *)op->t->dst + request->offset;
    const bool pooled = request->kind == OFI_POOLED;
    const uint64_t tag = pooled ? e->key.mark : segment_tag(e->key.mark, op->peer, request);
    const uint64_t ignored = pooled ? segment_bit - 1 : 0;
    void *descriptor;
    return describe(e, request, to, request->bytes, &descriptor) &&
           is_handed(e, op, fi_trecv(e->ep, to, request->bytes, descriptor, FI_ADDR_UNSPEC, tag, ignored, request));
}

// Received data lands in the user's buffer. Data to be reduced lands in a small buffer that stays in the cache.
static bool expect_segment(struct ofi_endpoint *e, struct ofi_op *op, struct ofi_request *request)
{
    request->kind = OFI_SEGMENT_IN;
    if (op->t->op == CLAB_RECV_REDUCE && !(request->memory = ofi_bounce_take(e)))
        return false;
    return ofi_wire_post(e, request);
}

bool ofi_wire_segment(struct ofi_endpoint *e, struct ofi_op *op)
{
    struct ofi_request *request = request_for(e, op, ofi_segment_bytes(op->bytes, op->posted));
    if (!request)
        return false;
    return settle(e, op, request, op->kind == OFI_SEND ? send_segment(e, op, request) : expect_segment(e, op, request));
}
