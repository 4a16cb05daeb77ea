// SPDX-License-Identifier: MIT
// The table of messages in flight.

#include "sim/engine/inflight.h"

#include <stdlib.h>

#include "core/base/err.h"
#include "core/base/vector.h"

enum { FIRST_ROOM = 64 };

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

// Twice the buckets; each queue keeps its order, since a bucket is emptied from its front.
int inflight_widen(struct inflight *f)
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
            inflight_append(f, m);
        }
    free(old);
    return CLAB_OK;
}

int inflight_enlarge(struct inflight *f)
{
    return CLAB_RESERVE(f->messages, f->room, f->room + 1);
}

int32_t inflight_peek(const struct inflight *f, int src, int dst, int lane)
{
    int32_t index = inflight_bucket(f, src, dst, lane)->first;
    while (index != INFLIGHT_NONE && (f->messages[index].landed || !inflight_is(&f->messages[index], src, dst, lane)))
        index = f->messages[index].next;
    return index;
}
