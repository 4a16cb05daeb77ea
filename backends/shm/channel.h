// SPDX-License-Identifier: MIT
// A channel: messages in one direction between two ranks on one lane, in order, through cache lines in shared memory.
// - The sender writes a line's payload, then its number; the receiver looks at the one line that comes next.
// - The receiver counts what it has consumed; the sender reads that count only when all lines seem full, or to learn
//   that a pull is over. So a small message moves exactly one cache line.
// - Several transfers may be posted on a channel: they take their turns in the order of start().
#pragma once

#include "backends/shm/shm.h"

enum shm_protocol { SHM_INLINE, SHM_SLOTTED, SHM_PULL };

struct shm_line {
    _Atomic uint32_t number; // 1, 2, ...: the line's content is message fragment `number`
    uint16_t protocol;       // enum shm_protocol
    uint16_t call;           // clab_transfer.call
    uint64_t message_bytes;
    union {
        char payload[SHM_INLINE_BYTES];
        uint64_t address; // PULL: offset in the file
    };
};

// In shared memory; lies in the receiver's share.
struct shm_queue {
    _Alignas(SHM_LINE_BYTES) struct shm_line lines[SHM_LINES];
    _Alignas(SHM_LINE_BYTES) _Atomic uint32_t consumed;             // lines, written by the receiver
    _Alignas(SHM_LINE_BYTES) char slots[SHM_SLOTS][SHM_SLOT_BYTES]; // that of line n: n % SHM_SLOTS
};

// An endpoint's memory in its rank's share. It outlives close() until every member has closed (areas.h), since a peer
// may still wait for `consumed`. The kernel maps a page when it is first touched, and must unmap it later: a member
// without messages costs no page.
struct shm_area {
    // The owner has failed: the memory that it offered no longer holds its messages.
    _Alignas(SHM_LINE_BYTES) _Atomic bool is_revoked;
    struct shm_queue queues[]; // (members, CLAB_LANES): what member m sends to the owner on a lane
};

// In private memory; one at each end.
struct shm_channel {
    struct shm_queue *queue;
    uint32_t lines;    // written, or consumed
    uint32_t seen;     // sender: the peer's `consumed` when last read; receiver: what it last published
    bool is_behind;    // receiver: SHM_BEHIND lines wait for it
    uint64_t posted;   // transfers started
    uint64_t finished; // the turn of the transfer that is next
};

struct shm_endpoint {
    struct clab_endpoint base;
    struct shm_domain *domain;
    int rank, nranks;
    unsigned sends_alone;         // sends since the last receive
    int *job_ranks;               // (nranks)
    struct shm_channel *send;     // (nranks, lanes)
    struct shm_channel *receive;  // (nranks, lanes)
    struct shm_area *area;        // the queues towards this rank
    struct shm_area **peer_areas; // (nranks)
    char *board;                  // (group->board_bytes), in member 0's share
    struct shm_closed *closed;    // for close(), which can not fail
};

// Move what can be moved of `t` through its channel; sets t->done.
//   errors: CLAB_EMISMATCH (the ends differ in bytes or call), CLAB_EPEER (it has failed)
int shm_channel_send(struct shm_endpoint *endpoint, struct shm_channel *channel, struct clab_transfer *t);
int shm_channel_receive(struct shm_endpoint *endpoint, struct shm_channel *channel, struct clab_transfer *t);
