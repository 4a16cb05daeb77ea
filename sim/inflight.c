// SPDX-License-Identifier: MIT
// The table of messages in flight.

#include "inflight.h"

#include <stdlib.h>

#include "base/err.h"

enum { FIRST_ROOM = 64 };

static uint32_t hash(int src, int dst, int lane)
{
    uint32_t h = (uint32_t)src * 0x9E3779B1u ^ (uint32_t)dst * 0x85EBCA77u ^ (uint32_t)lane * 0xC2B2AE3Du;
    return h ^ h >> 15;
}

static void clear(struct bucket *buckets, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        buckets[i] = (struct bucket){INFLIGHT_NONE, INFLIGHT_NONE};
}

int inflight_init(struct inflight *f)
{
    *f = (struct inflight){.messages = malloc(FIRST_ROOM * sizeof *f->messages),
                           .buckets = malloc(FIRST_ROOM * sizeof *f->buckets),
                           .room = FIRST_ROOM,
                           .spare = INFLIGHT_NONE,
                           .mask = FIRST_ROOM - 1};
    if (!f->messages || !f->buckets) {
        inflight_free(f);
        return CLAB_ENOMEM;
    }
    clear(f->buckets, FIRST_ROOM);
    return CLAB_OK;
}

void inflight_free(struct inflight *f)
{
    free(f->messages);
    free(f->buckets);
    *f = (struct inflight){0};
}

size_t inflight_bytes(const struct inflight *f)
{
    return (size_t)f->room * sizeof *f->messages + ((size_t)f->mask + 1) * sizeof *f->buckets;
}

static void append(struct inflight *f, int32_t index)
{
    struct message *m = &f->messages[index];
    struct bucket *b = &f->buckets[hash(m->src, m->dst, m->lane) & f->mask];
    m->next = INFLIGHT_NONE;
    if (b->last == INFLIGHT_NONE)
        b->first = index;
    else
        f->messages[b->last].next = index;
    b->last = index;
}

// Twice the buckets; each queue keeps its order, since a bucket is emptied from its front.
static int widen(struct inflight *f)
{
    uint32_t n = f->mask + 1;
    struct bucket *old = f->buckets, *wide = malloc(2 * (size_t)n * sizeof *wide);
    if (!wide)
        return CLAB_ENOMEM;
    clear(wide, 2 * n);
    f->buckets = wide;
    f->mask = 2 * n - 1;
    for (uint32_t i = 0; i < n; i++)
        for (int32_t m = old[i].first, next; m != INFLIGHT_NONE; m = next) {
            next = f->messages[m].next;
            append(f, m);
        }
    free(old);
    return CLAB_OK;
}

static int enlarge(struct inflight *f)
{
    struct message *more = realloc(f->messages, 2 * (size_t)f->room * sizeof *more);
    if (!more)
        return CLAB_ENOMEM;
    f->messages = more;
    f->room *= 2;
    return CLAB_OK;
}

int inflight_post(struct inflight *f, struct message message)
{
    int32_t index = f->spare;
    if (index != INFLIGHT_NONE)
        f->spare = f->messages[index].next;
    else if (f->used == f->room)
        CLAB_TRY(enlarge(f));
    if (index == INFLIGHT_NONE)
        index = f->used++;
    if ((uint32_t)f->queued > f->mask)
        CLAB_TRY(widen(f));
    f->messages[index] = message;
    append(f, index);
    f->queued++;
    return CLAB_OK;
}

static bool is_of(const struct message *m, int src, int dst, int lane)
{
    return m->src == src && m->dst == dst && m->lane == lane;
}

int32_t inflight_take(struct inflight *f, int src, int dst, int lane)
{
    struct bucket *b = &f->buckets[hash(src, dst, lane) & f->mask];
    int32_t before = INFLIGHT_NONE, index = b->first;
    while (index != INFLIGHT_NONE && !is_of(&f->messages[index], src, dst, lane)) {
        before = index;
        index = f->messages[index].next;
    }
    if (index == INFLIGHT_NONE)
        return INFLIGHT_NONE;
    int32_t next = f->messages[index].next;
    if (before == INFLIGHT_NONE)
        b->first = next;
    else
        f->messages[before].next = next;
    if (b->last == index)
        b->last = before;
    f->queued--;
    return index;
}

int32_t inflight_peek(const struct inflight *f, int src, int dst, int lane)
{
    int32_t index = f->buckets[hash(src, dst, lane) & f->mask].first;
    while (index != INFLIGHT_NONE && (f->messages[index].landed || !is_of(&f->messages[index], src, dst, lane)))
        index = f->messages[index].next;
    return index;
}

void inflight_drop(struct inflight *f, int32_t message)
{
    f->messages[message].next = f->spare;
    f->spare = message;
}
