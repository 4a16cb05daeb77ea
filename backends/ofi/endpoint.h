// SPDX-License-Identifier: MIT
// The types that the files of this backend share (ofi.h): the domain, an endpoint, and its requests and transfers.
#pragma once

#include <rdma/fi_eq.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_tagged.h>

#include "core/transport/backend.h"
#include "backends/ofi/fabric.h"
#include "backends/ofi/key.h"
#include "backends/ofi/protocol.h"
#include "backends/ofi/registrations.h"

struct ofi_domain {
    struct clab_domain base;
    struct clab_bootstrap *boot;
    struct ofi_fabric fabric;
    bool registers; // the provider needs a registration of all memory that it reads and writes
    struct ofi_registrations registrations;
    uint64_t keys;                  // of registrations, ever: some providers leave it to us to keep them apart
    struct ofi_endpoint *endpoints; // that are open
    struct ofi_endpoint *closing;   // closed, but a peer may not know yet
    bool has_failed;                // an endpoint has failed: its peers may be stopped, and send nothing more
    struct ofi_refusals refusals;   // of messages without the key

    struct ofi_packet *held;         // packets that are being filled
    double sending_since, sent_last; // s: calls that only send follow each other since then; the last; 0: none
    double held_since;               // s: the first message of the oldest packet
    bool joins;                      // the next short message may join a packet
};

// A request to the provider.
struct ofi_request {
    struct fi_context2 provider; // its own, while the request is under way; first, since completions point here
    enum { OFI_POOLED, OFI_EAGER_OUT, OFI_SEGMENT_OUT, OFI_SEGMENT_IN, OFI_PACKET_OUT } kind;
    struct ofi_op *op;    // NULL: POOLED, PACKET_OUT
    size_t offset, bytes; // the part of the message
    uint64_t behind;      // EAGER_OUT of a long message: its bytes (wire.h)
    char *memory;         // POOLED, PACKET_OUT, and SEGMENT_IN of what is reduced: a buffer of the endpoint
    struct ofi_registration *registration; // NULL: none is needed
    struct ofi_request *next;              // of the free ones
    struct ofi_request *made;              // of all
};

enum ofi_kind { OFI_SEND, OFI_RECEIVE, OFI_CREDIT, OFI_GOODBYE };

// A transfer under way, or a message without one.
struct ofi_op {
    enum ofi_kind kind;
    struct clab_transfer *t; // NULL: CREDIT, GOODBYE
    int peer, lane;
    uint32_t number;          // of its message
    size_t bytes;             // of the whole message
    bool eager_done;          // the eager part has been sent, or has landed
    bool ready;               // SEND: the peer's READY has come; RECEIVE: ours has been sent
    size_t posted;            // bytes handed over: the eager part, then segments in order
    unsigned pending;         // requests with the provider
    bool waits;               // is in endpoint->work
    struct ofi_op *next;      // of its lane, or of the free ones
    struct ofi_op *next_work; // of the endpoint
};

struct ofi_ops {
    struct ofi_op *first, *last; // last: only where there is a first
};

// Messages to a peer that wait for more of them, to leave as one.
struct ofi_packet {
    struct ofi_request request; // first: what completes is the packet. Its memory and bytes are those so far
    struct ofi_endpoint *endpoint;
    struct ofi_packet *next; // of domain->held, or of the endpoint's free ones
    int peer, lane;          // the lane of its first message
    int messages;
};

// An eager part or a `ready` that came before its transfer began.
struct ofi_early {
    struct ofi_early *next;
    uint32_t number;
    uint64_t immediate; // as it came (wire.h)
    size_t bytes;
    char data[]; // (bytes)
};

// The state of one lane with one peer. Messages count from 0 in each direction; on the wire, modulo OFI_NUMBERS.
struct ofi_lane {
    struct ofi_ops sends; // begun and not all handed over, in order
    uint32_t sends_begun, eager_sent;
    uint32_t units_sent, units_taken; // of eager parts; those taken by the peer, by its last acknowledgement
    struct ofi_early *readies;        // of sends that have not begun

    struct ofi_ops receives; // begun, eager part not come, in order
    struct ofi_op *unready;  // a receive of a long message that has its buffers, but READY has not been sent; or NULL
    uint32_t receives_begun;
    uint32_t taken;                        // eager parts that found their receive
    uint32_t units_landed, units_reported; // theirs; those of them acknowledged to the peer
    bool acknowledges;                     // a credit message waits to be sent
    struct ofi_early *eager, *last_eager;  // of receives that have not begun, by number
    uint32_t units_early;                  // theirs
};

struct ofi_peer {
    fi_addr_t address;
    struct ofi_key key;  // for messages to it
    uint64_t listens;    // its address, by name (connections.h); 0: that is not one of IP
    uint64_t made, came; // the connection with it, by where it is from: as we have made it, or as it says; 0: not so
    int job_rank;
    bool elsewhere;          // on a core that is not this rank's
    bool met;                // a message was sent to it, or has come from it
    bool knows;              // we have told it that we are connected with all ranks
    bool settled;            // it has told us the same
    struct ofi_packet *held; // messages to it that wait to leave; NULL: none
    bool gone;               // its BYE has come
    bool parted;             // our BYE has been sent, or is about to be
};

struct ofi_endpoint {
    struct clab_endpoint base;
    struct ofi_domain *domain;
    struct ofi_endpoint *next; // of domain->endpoints, or domain->closing
    int rank, nranks;
    struct ofi_key key; // for messages to this rank
    bool knows_made;    // peers[].made are known
    struct fid_ep *ep;
    struct fid_cq *cq;
    struct fid_av *av;
    bool sleeps;         // the queue can be waited for
    size_t inject_bytes; // of a message that is copied when it is sent

    struct ofi_peer *peers;          // (nranks)
    struct ofi_lane *lanes;          // (nranks, CLAB_LANES)
    struct ofi_op *work, **work_end; // ops that have something to hand over, in order
    int under_way;                   // transfers begun and not done
    int sending;                     // requests for sends with the provider
    bool awaits_elsewhere;           // what was started last comes from other cores, too
    unsigned vain;                   // polls to skip, since they would find nothing
    int err;                         // the first error: all calls answer with it

    char *pool;                   // (npool, OFI_POOLED_STRIDE)
    struct ofi_request *pooled;   // (npool)
    struct ofi_request *unposted; // buffers of the pool, and of segments, that are to be posted
    int npool;
    struct ofi_packet *packets, *spare_packets; // (OFI_PACKETS), NULL until the first is used; the free ones
    int packets_sent;                           // that the provider has
    bool lacks_packets;                         // there was no memory for them: each message is sent by itself
    struct ofi_op *spare_ops;
    struct ofi_request *spare_requests, *requests; // the free ones, and all
    struct ofi_block *blocks; // the memory of ops, requests and bounce buffers
    char *bounces;            // free buffers of OFI_SEGMENT_BYTES, each beginning with a pointer to the next
};

static inline struct ofi_lane *ofi_lane(const struct ofi_endpoint *e, int peer, int lane)
{
    return &e->lanes[(size_t)peer * CLAB_LANES + (size_t)lane];
}

// A buffer of the pool, aligned to a cache line: for a packet, or an eager part and behind it the length of the message.
enum {
    OFI_LONG_BYTES = OFI_HEAD_BYTES + sizeof(uint64_t),
    OFI_POOLED_BYTES = OFI_PACKET_BYTES,
    OFI_POOLED_STRIDE = OFI_PACKET_BYTES + 64,
};

static inline size_t ofi_eager_bytes(size_t message_bytes)
{
    return message_bytes <= OFI_EAGER_BYTES ? message_bytes : OFI_HEAD_BYTES;
}

// What the eager part of such a message takes of its lane's window.
static inline uint32_t ofi_units(size_t message_bytes)
{
    const size_t bytes = ofi_eager_bytes(message_bytes);
    return bytes > OFI_UNIT_BYTES ? (uint32_t)((bytes + OFI_UNIT_BYTES - 1) / OFI_UNIT_BYTES) : 1;
}

static inline size_t ofi_segment_bytes(size_t message_bytes, size_t offset)
{
    return message_bytes - offset < OFI_SEGMENT_BYTES ? message_bytes - offset : OFI_SEGMENT_BYTES;
}

// ---- memory.c ------------------------------------------------------------------------------------------------

// 64-byte aligned, from 2 MiB on in huge pages, and known to the fabric.  errors: CLAB_ENOMEM, CLAB_ESYS, logged
int ofi_memory_alloc(struct clab_domain *domain, size_t bytes, void **memory_p);
// The same for memory of which only parts may ever be touched: in small pages.
int ofi_memory_alloc_sparse(struct clab_domain *domain, size_t bytes, void **memory_p);
void ofi_memory_free(struct clab_domain *domain, void *memory);
int ofi_memory_pin(struct clab_domain *domain, void *memory, size_t bytes, struct clab_registration **registration_p);
void ofi_memory_unpin(struct clab_domain *domain, struct clab_registration *registration);
void ofi_memory_open(struct ofi_domain *domain);
void ofi_memory_close(struct ofi_domain *domain);

// Of an endpoint; NULL after the endpoint has failed with CLAB_ENOMEM.
struct ofi_op *ofi_op_take(struct ofi_endpoint *e);
struct ofi_op *ofi_op_begin(struct ofi_endpoint *e, struct clab_transfer *t, enum ofi_kind kind); // under way now
void ofi_op_give(struct ofi_endpoint *e, struct ofi_op *op);
void ofi_ops_append(struct ofi_ops *ops, struct ofi_op *op); // at the end
void ofi_ops_remove(struct ofi_ops *ops, struct ofi_op *op); // which is in it
struct ofi_request *ofi_request_take(struct ofi_endpoint *e);
void ofi_request_give(struct ofi_endpoint *e, struct ofi_request *request);
char *ofi_bounce_take(struct ofi_endpoint *e);
void ofi_bounce_give(struct ofi_endpoint *e, char *bounce);
void ofi_blocks_free(struct ofi_endpoint *e);

// ---- send.c, receive.c ---------------------------------------------------------------------------------------
// Errors stay in e->err.

void ofi_send_start(struct ofi_endpoint *e, struct clab_transfer *t);
void ofi_send_push(struct ofi_endpoint *e, struct ofi_op *op);
// The peer is ready for the rest of message `number`.
void ofi_send_ready(struct ofi_endpoint *e, int peer, int lane, uint32_t number, uint64_t immediate);
void ofi_send_completed(struct ofi_endpoint *e, struct ofi_request *request);

void ofi_receive_start(struct ofi_endpoint *e, struct clab_transfer *t);
void ofi_receive_push(struct ofi_endpoint *e, struct ofi_op *op);
// The receive whose READY can go with the message of `send`: both mean the same call and length; NULL: none.
struct ofi_op *ofi_receive_untold(const struct ofi_endpoint *e, const struct ofi_op *send);
// READY of this receive has been sent.
void ofi_receive_told(struct ofi_endpoint *e, struct ofi_op *op);
// An eager part has come; `data` is the caller's again on return.
void ofi_receive_eager(struct ofi_endpoint *e, int peer, int lane, uint32_t number, uint64_t immediate,
                       const char *data, size_t bytes);
void ofi_receive_completed(struct ofi_endpoint *e, struct ofi_request *request, size_t bytes);
// The message of a transfer from this rank to itself.
void ofi_receive_own(struct ofi_endpoint *e, struct ofi_op *send);
// Tell the peer how much of what it has sent has been taken.
void ofi_credit_push(struct ofi_endpoint *e, struct ofi_op *op);

// ---- packets.c -----------------------------------------------------------------------------------------------

// These are about to be started.
void ofi_packets_note(struct ofi_domain *domain, const struct clab_transfer transfers[], int n);
// What was started last is waited for.
void ofi_packets_note_wait(struct ofi_domain *domain);
// Put the message of `t` into a packet, if it may wait there. Then it is done.
bool ofi_packets_take(struct ofi_endpoint *e, const struct clab_transfer *t);
// Hand over the packet of messages to `peer`, if there is one: what follows must not come before it.
void ofi_packets_push(struct ofi_endpoint *e, int peer);
void ofi_packets_flush(struct clab_domain *domain);
// Whether messages of this endpoint have not been handed over yet.
bool ofi_packets_wait(const struct ofi_endpoint *e);
// The provider is done with the packet of `request`.
void ofi_packets_sent(struct ofi_endpoint *e, struct ofi_request *request);
// The endpoint's are dropped.
void ofi_packets_forget(struct ofi_endpoint *e);
// A packet has come.
void ofi_packets_open(struct ofi_endpoint *e, int peer, const char *data, size_t bytes);
// Lasts as long as the endpoint. NULL: there is none, which the endpoint can do without; memory.c
char *ofi_memory_take(struct ofi_endpoint *e, size_t bytes);

// ---- progress.c ----------------------------------------------------------------------------------------------

// Hand over what waits.
void ofi_work_push(struct ofi_endpoint *e);
// Read what has been completed, and hand over what waits.
void ofi_progress(struct ofi_endpoint *e);
// The same, after at most a millisecond in which nothing may happen.
void ofi_progress_sleep(struct ofi_endpoint *e);
// `op` has something to hand over that could not be handed over now.
void ofi_work_add(struct ofi_endpoint *e, struct ofi_op *op);
// The transfer of `op` is over.
void ofi_op_finish(struct ofi_endpoint *e, struct ofi_op *op);
// `t`'s peer means another message than we do.
void ofi_mismatch(struct ofi_endpoint *e, const struct clab_transfer *t, uint64_t immediate);
// `peer` has done `what`, which no member does: it is another program, or a broken one.
void ofi_distrust(struct ofi_endpoint *e, int peer, const char *what);
// libfabric has refused a request of `op` (NULL: of no transfer), or the request has failed. Log it, with the
// provider's text if there is one. As backend.h asks: an error that only shows a peer's end is not logged.
void ofi_report(struct ofi_endpoint *e, const struct ofi_op *op, int fi_errno, const char *provider);
void ofi_fail(struct ofi_endpoint *e, int err);
// The code for libfabric's `fi_errno` (positive).
int ofi_err(int fi_errno);

// ---- endpoint.c ----------------------------------------------------------------------------------------------

//   errors: as clab_backend.open
int ofi_endpoint_open(struct clab_domain *domain, struct clab_group *group, struct clab_endpoint **endpoint_p);
void ofi_endpoint_close(struct clab_endpoint *e, bool failed);
void ofi_bye_push(struct ofi_endpoint *e, struct ofi_op *op);
// Closed endpoints: go on, and free those that nobody needs. Whether some are left.
bool ofi_closing_progress(struct ofi_domain *domain);
// Wait until none is left, or the job's timeout is over.
void ofi_closing_finish(struct ofi_domain *domain);
