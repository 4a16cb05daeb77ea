// SPDX-License-Identifier: MIT
// The messages in flight: sent, and not yet received. A hash table of queues, one per (source, destination, lane).
// - 24 bytes a message and 8 a bucket; what is received is used again.
// - Messages of a queue leave in the order in which they came. No answer depends on the order of the table.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { INFLIGHT_NONE = -1 };

struct message {
    double head;      // when its first fragment is at the receiver
    int32_t src, dst; // ranks
    int32_t next;     // in its bucket, or in its receiver's list
    uint16_t lane;
    bool fresh;  // the data has been written during this collective
    bool landed; // received out of order (full.c, release): head is then when it had landed
};

struct bucket {
    int32_t first, last;
};

struct inflight {
    struct message *messages;
    struct bucket *buckets;
    int32_t room, used, spare; // messages; spare is a list
    uint32_t mask;             // buckets - 1
    int32_t queued;            // messages in the table
};

// errors: CLAB_ENOMEM
int inflight_init(struct inflight *f);
void inflight_free(struct inflight *f);
size_t inflight_bytes(const struct inflight *f);

// Append to its queue.  errors: CLAB_ENOMEM
int inflight_post(struct inflight *f, struct message message);
// Take the first of a queue out of the table; it stays valid until dropped. INFLIGHT_NONE if there is none.
int32_t inflight_take(struct inflight *f, int src, int dst, int lane);
// The first of a queue that has not landed, left where it is.
int32_t inflight_peek(const struct inflight *f, int src, int dst, int lane);
void inflight_drop(struct inflight *f, int32_t message);
