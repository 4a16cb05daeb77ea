// SPDX-License-Identifier: MIT
// Progress: read completions in batches and hand each to its request; then retry requests that the provider could not
// take before. With `tcp`, data moves only while this runs.

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "core/base/clock.h"
#include "core/base/log.h"
#include "backends/ofi/wire.h"

enum { BATCH = 16 };
static const long nap_ns = 50000; // where the queue can not be waited for

// ---- errors --------------------------------------------------------------------------------------------------

void ofi_fail(struct ofi_endpoint *e, int err)
{
    if (!e->err)
        e->err = err;
}

int ofi_err(int fi_errno)
{
    switch (fi_errno) {
    case FI_ECONNREFUSED:
    case FI_ECONNRESET:
    case FI_ECONNABORTED:
    case FI_ENOTCONN:
    case FI_ESHUTDOWN:
    case FI_EHOSTDOWN:
    case FI_EHOSTUNREACH:
    case FI_ENETUNREACH:
    case FI_ETIMEDOUT:
    case FI_EIO:
    case EPIPE: return CLAB_EPEER;
    case FI_ETRUNC: return CLAB_EMISMATCH;
    case FI_ENOMEM: return CLAB_ENOMEM;
    default: return CLAB_ESYS;
    }
}

void ofi_report(struct ofi_endpoint *e, const struct ofi_op *op, int fi_errno, const char *provider)
{
    const int err = ofi_err(fi_errno);
    const enum clab_log_level level =
        err == CLAB_EPEER || err == CLAB_EMISMATCH || e->err ? CLAB_LOG_INFO : CLAB_LOG_ERROR;
    const char *why = e->domain->fabric.library->strerror(fi_errno);
    char peer[32] = "a peer";
    if (op)
        snprintf(peer, sizeof peer, "rank %d", op->peer);
    clab_log_at(level, "ofi: %s %s: %s%s%s", op && op->kind == OFI_SEND ? "sending to" : "receiving from", peer, why,
                provider ? ": " : "", provider ? provider : "");
    ofi_fail(e, err);
}

void ofi_distrust(struct ofi_endpoint *e, int peer, const char *what)
{
    clab_error("ofi: rank %d %s", e->peers[peer].job_rank, what);
    ofi_fail(e, CLAB_EMISMATCH);
}

void ofi_mismatch(struct ofi_endpoint *e, const struct clab_transfer *t, uint64_t immediate)
{
    clab_info("ofi: rank %d means %zu bytes, and this rank %zu%s", t->peer, ofi_immediate_bytes(immediate), t->bytes,
              ofi_immediate_call(immediate) == t->call ? "" : ", of another call");
    ofi_fail(e, CLAB_EMISMATCH);
}

static void repost(struct ofi_endpoint *e, struct ofi_request *request)
{
    if (ofi_wire_post(e, request))
        return;
    request->next = e->unposted;
    e->unposted = request;
}

static bool is_buffer(const struct ofi_request *request)
{
    return request->kind == OFI_POOLED || request->kind == OFI_SEGMENT_IN;
}

// Count and drop a message that is from no member.  request: NULL, or the buffer that holds it
static void refuse(struct ofi_endpoint *e, struct ofi_request *request)
{
    ofi_refusals_add(&e->domain->refusals, clab_now());
    if (request)
        repost(e, request);
}

static bool has_key(const struct ofi_endpoint *e, uint64_t beside)
{
    return (beside & UINT64_MAX << OFI_CALL_BITS) == e->key.word;
}

// Whether an error is due to a message of a foreign process: longer than any of the members', or broken off. `net`
// reports the key of such a message. With a provider that does not, the bootstrap still notices a lost member.
static bool is_foreign(const struct ofi_endpoint *e, const struct ofi_request *request,
                       const struct fi_cq_err_entry *entry)
{
    const bool is_lacking = !has_key(e, entry->data);
    if (!request)
        return (entry->flags & (FI_REMOTE_READ | FI_REMOTE_WRITE)) != 0;
    if (request->kind == OFI_SEGMENT_IN)
        return is_lacking && entry->flags & FI_REMOTE_CQ_DATA;
    return request->kind == OFI_POOLED && is_lacking &&
           (entry->err == FI_ETRUNC || entry->err == FI_ECANCELED || ofi_err(entry->err) == CLAB_EPEER);
}

static void read_error(struct ofi_endpoint *e)
{
    struct fi_cq_err_entry entry = {0};
    char provider[128] = "";
    if (fi_cq_readerr(e->cq, &entry, 0) < 0)
        return;
    struct ofi_request *request = entry.op_context;
    if (request && request->kind == OFI_PACKET_OUT)
        ofi_packets_sent(e, request); // which is free again, whether or not its messages have come
    else if (request && !is_buffer(request))
        e->sending--;
    if (e->err)
        return;
    if (is_foreign(e, request, &entry)) {
        refuse(e, request);
        return;
    }
    if (entry.err == FI_ECANCELED) {
        if (request && request->kind == OFI_POOLED)
            repost(e, request);
        return;
    }
    const char *text = fi_cq_strerror(e->cq, entry.prov_errno, entry.err_data, provider, sizeof provider);
    ofi_report(e, request ? request->op : NULL, entry.err, text);
}

// ---- completions ---------------------------------------------------------------------------------------------

void ofi_op_finish(struct ofi_endpoint *e, struct ofi_op *op)
{
    op->t->done = true;
    e->under_way--;
    ofi_op_give(e, op);
}

static void note_taken(struct ofi_endpoint *e, int peer, struct ofi_lane *lane, uint32_t taken)
{
    const int more = ofi_ahead(taken, lane->units_taken);
    if (more > (int64_t)(lane->units_sent - lane->units_taken))
        ofi_distrust(e, peer, "acknowledges messages that this rank has not sent");
    else if (more > 0)
        lane->units_taken += (uint32_t)more;
}

static void take_taken(struct ofi_peer *peer, uint64_t immediate)
{
    if (!(immediate & OFI_HAS_MET_ALL))
        return;
    peer->settled = true;
    peer->came = immediate >> 1;
}

static uint64_t number_at(const char *memory)
{
    uint64_t number;
    memcpy(&number, memory, sizeof number);
    return number;
}

static void take_eager(struct ofi_endpoint *e, const struct ofi_name *name, const char *data,
                       const struct fi_cq_tagged_entry *entry)
{
    const bool is_long = name->word == OFI_HEAD;
    const uint64_t behind = is_long ? number_at(data + OFI_HEAD_BYTES) : entry->len;
    const uint64_t immediate = ofi_immediate((uint16_t)entry->data, ofi_immediate_bytes(behind));
    ofi_receive_eager(e, name->source, name->lane, name->number, immediate, data,
                      is_long ? OFI_HEAD_BYTES : entry->len);
    if (ofi_immediate_call(behind) & OFI_ALSO_READY)
        ofi_send_ready(e, name->source, name->lane, ofi_immediate_call(behind) % OFI_NUMBERS, immediate);
}

// A message has come into the pool.
static void take_pooled(struct ofi_endpoint *e, struct ofi_request *request, const struct fi_cq_tagged_entry *entry)
{
    const struct ofi_name name = ofi_name_of(entry->tag);
    if (name.source >= e->nranks || name.lane >= CLAB_LANES) {
        clab_warn("ofi: a message with the tag %#llx is for no receive of this rank", (unsigned long long)entry->tag);
        return;
    }
    struct ofi_lane *lane = ofi_lane(e, name.source, name.lane);
    e->peers[name.source].met = true;
    note_taken(e, name.source, lane, name.taken);
    switch (name.word) {
    case OFI_EAGER:
    case OFI_HEAD: take_eager(e, &name, request->memory, entry); break;
    case OFI_READY: ofi_send_ready(e, name.source, name.lane, name.number, number_at(request->memory)); break;
    case OFI_BYE: e->peers[name.source].gone = true; break;
    case OFI_PACKET: ofi_packets_open(e, name.source, request->memory, entry->len); break;
    case OFI_TAKEN: take_taken(&e->peers[name.source], number_at(request->memory)); break;
    default: break;
    }
}

// Whether a message in the pool has a length that its kind allows.
static bool is_as_long(const struct fi_cq_tagged_entry *entry)
{
    const enum ofi_word word = ofi_name_of(entry->tag).word;
    if (word == OFI_PACKET)
        return entry->len <= OFI_PACKET_BYTES;
    if (word == OFI_EAGER)
        return entry->len <= OFI_EAGER_BYTES;
    return entry->len == (word == OFI_HEAD ? OFI_LONG_BYTES : sizeof(uint64_t));
}

// The one place where it is decided whether a message counts.
static bool is_members(const struct ofi_endpoint *e, const struct ofi_request *request,
                       const struct fi_cq_tagged_entry *entry)
{
    return has_key(e, entry->data) && (request->kind != OFI_POOLED || is_as_long(entry));
}

static void take(struct ofi_endpoint *e, const struct fi_cq_tagged_entry *entry)
{
    struct ofi_request *request = entry->op_context;
    if (!request || (is_buffer(request) && !is_members(e, request, entry))) { // NULL: somebody's write to our memory
        refuse(e, request);
        return;
    }
    switch (request->kind) {
    case OFI_POOLED:
        take_pooled(e, request, entry);
        repost(e, request);
        break;
    case OFI_EAGER_OUT:
    case OFI_SEGMENT_OUT: ofi_send_completed(e, request); break;
    case OFI_PACKET_OUT: ofi_packets_sent(e, request); break;
    case OFI_SEGMENT_IN: ofi_receive_completed(e, request, entry->len); break;
    }
}

// Handle the result of reading the queue.
static void take_all(struct ofi_endpoint *e, const struct fi_cq_tagged_entry entries[], ssize_t n)
{
    if (n == -FI_EAVAIL)
        read_error(e);
    else if (n < 0 && n != -FI_EAGAIN && n != -FI_EINTR && n != -FI_ECANCELED)
        ofi_fail(e, ofi_err((int)-n));
    for (ssize_t i = 0; i < n; i++)
        take(e, &entries[i]);
}

// ---- what waits ----------------------------------------------------------------------------------------------

void ofi_work_add(struct ofi_endpoint *e, struct ofi_op *op)
{
    if (op->waits)
        return;
    op->waits = true;
    op->next_work = NULL;
    *e->work_end = op;
    e->work_end = &op->next_work;
}

static void push(struct ofi_endpoint *e, struct ofi_op *op)
{
    switch (op->kind) {
    case OFI_SEND: ofi_send_push(e, op); break;
    case OFI_RECEIVE: ofi_receive_push(e, op); break;
    case OFI_CREDIT: ofi_credit_push(e, op); break;
    case OFI_GOODBYE: ofi_bye_push(e, op); break;
    }
}

// Each once, in their order; what still can not be handed over comes back.
static void push_all(struct ofi_endpoint *e)
{
    struct ofi_op *op = e->work, *next;
    e->work = NULL;
    e->work_end = &e->work;
    for (; op; op = next) {
        next = op->next_work;
        op->waits = false;
        push(e, op);
    }
}

static void push_pool(struct ofi_endpoint *e)
{
    struct ofi_request *request = e->unposted, *next;
    e->unposted = NULL;
    for (; request; request = next) {
        next = request->next;
        repost(e, request);
    }
}

void ofi_work_push(struct ofi_endpoint *e)
{
    if (e->work && !e->err)
        push_all(e);
    if (e->unposted && !e->err)
        push_pool(e);
}

// ---- calls ---------------------------------------------------------------------------------------------------

void ofi_progress(struct ofi_endpoint *e)
{
    struct fi_cq_tagged_entry entries[BATCH];
    take_all(e, entries, fi_cq_read(e->cq, entries, BATCH));
    ofi_work_push(e);
}

void ofi_progress_sleep(struct ofi_endpoint *e)
{
    struct fi_cq_tagged_entry entries[BATCH];
    if (e->sleeps) {
        take_all(e, entries, fi_cq_sread(e->cq, entries, BATCH, NULL, (int)(CLAB_NAP * 1e3)));
        ofi_work_push(e);
    } else {
        nanosleep(&(struct timespec){.tv_nsec = nap_ns}, NULL);
        ofi_progress(e);
    }
}
