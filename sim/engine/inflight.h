// SPDX-License-Identifier: MIT
// The messages in flight: sent, and not yet received. A hash table of queues, one per (source, destination, lane).
// - 32 bytes per message and 8 per bucket; the memory of a received message is used again.
// - Messages of a queue leave in the order in which they came. No answer depends on the order of the table.
#pragma once

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { INFLIGHT_NONE = -1 };

struct message {
    double head;      // when its first fragment is at the receiver
    double late;      // s that its last byte comes later than on a link of its own
    int32_t src, dst; // ranks
    int32_t next;     // in its bucket, or in its receiver's list
    uint16_t lane;
    bool landed : 1; // received out of order (full.c, release): head is then when it had landed
    bool joins : 1;  // it came in one packet with an earlier one
    bool kept : 1;   // nobody writes it: it lies in its sender's `in`
};

static_assert(sizeof(struct message) == 32, "two messages a cache line");

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

// Twice the room, twice the buckets.  errors: CLAB_ENOMEM
int inflight_enlarge(struct inflight *f);
int inflight_widen(struct inflight *f);

// Messages to neighbouring ranks over the same distance, as in most stages, are in neighbouring buckets.
static inline struct bucket *inflight_bucket(const struct inflight *f, int src, int dst, int lane)
{
    uint32_t distance = (uint32_t)src - (uint32_t)dst;
    return &f->buckets[((uint32_t)dst + (distance * 0x9E3779B1u >> 8) + (uint32_t)lane * 0xC2B2AE3Du) & f->mask];
}

// A place for a message, which is in no queue yet; INFLIGHT_NONE: there is no memory.
static inline int32_t inflight_new(struct inflight *f)
{
    int32_t index = f->spare;
    if (index != INFLIGHT_NONE)
        f->spare = f->messages[index].next;
    else if (f->used < f->room || inflight_enlarge(f) == 0)
        index = f->used++;
    return index;
}

static inline void inflight_drop(struct inflight *f, int32_t message)
{
    f->messages[message].next = f->spare;
    f->spare = message;
}

static inline void inflight_append(struct inflight *f, int32_t index)
{
    struct message *m = &f->messages[index];
    struct bucket *b = inflight_bucket(f, m->src, m->dst, m->lane);
    m->next = INFLIGHT_NONE;
    *(b->last == INFLIGHT_NONE ? &b->first : &f->messages[b->last].next) = index;
    b->last = index;
}

// Append a message to its queue; false: there is no memory.
static inline bool inflight_queue(struct inflight *f, int32_t message)
{
    if ((uint32_t)f->queued > f->mask && inflight_widen(f))
        return false;
    inflight_append(f, message);
    f->queued++;
    return true;
}

static inline bool inflight_is(const struct message *m, int src, int dst, int lane)
{
    return m->src == src && m->dst == dst && m->lane == lane;
}

// Take the first of a queue out of the table; it stays valid until dropped. INFLIGHT_NONE if there is none.
static inline int32_t inflight_take(struct inflight *f, int src, int dst, int lane)
{
    struct bucket *b = inflight_bucket(f, src, dst, lane);
    int32_t before = INFLIGHT_NONE, index = b->first;
    while (index != INFLIGHT_NONE && !inflight_is(&f->messages[index], src, dst, lane)) {
        before = index;
        index = f->messages[index].next;
    }
    if (index == INFLIGHT_NONE)
        return INFLIGHT_NONE;
    *(before == INFLIGHT_NONE ? &b->first : &f->messages[before].next) = f->messages[index].next;
    if (b->last == index)
        b->last = before;
    f->queued--;
    return index;
}

// The first of a queue that has not landed, left where it is.
int32_t inflight_peek(const struct inflight *f, int src, int dst, int lane);
