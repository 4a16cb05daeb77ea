// SPDX-License-Identifier: MIT
// Cores, ports and lines of a rank.

#include "sim/goal/host.h"

#include <stdlib.h>

#include "core/base/err.h"
#include "core/base/vector.h"

enum { FEW = 4, MOST = INT16_MAX };

void host_free(struct host *h)
{
    free(h->resources);
    free(h->lines);
}

// A rank has few of them.
static int grow(void *items_p, uint16_t *room, size_t item_bytes)
{
    void **items = items_p;
    const size_t more = *room ? 2 * (size_t)*room : FEW;
    void *grown = more <= MOST ? realloc(*items, more * item_bytes) : NULL;
    if (!grown)
        return CLAB_ENOMEM;
    *items = grown;
    *room = (uint16_t)more;
    return CLAB_OK;
}

int host_find(struct host *h, int id, int *resource_p)
{
    int i = 0;
    while (i < h->nresources && h->resources[i].id != id)
        i++;
    if (i == h->nresources) {
        if (h->nresources == h->resource_room)
            CLAB_TRY(grow(&h->resources, &h->resource_room, sizeof *h->resources));
        h->resources[h->nresources++] = (struct host_resource){id, h->begin};
    }
    *resource_p = i;
    return CLAB_OK;
}

static int find_or_none(struct host *h, int id, int16_t *resource_p)
{
    int found = HOST_NONE;
    if (id != HOST_NONE)
        CLAB_TRY(host_find(h, id, &found));
    *resource_p = (int16_t)found;
    return CLAB_OK;
}

static int id_of(const struct host *h, int16_t resource)
{
    return resource == HOST_NONE ? HOST_NONE : h->resources[resource].id;
}

int host_find_line(struct host *h, enum host_work work, int a, int b, struct host_line **line_p)
{
    struct host_line new = {.work = work, .head = HOST_NONE};
    for (int i = 0; i < h->nlines; i++) {
        struct host_line *line = &h->lines[i];
        if (line->work == work && id_of(h, line->a) == a && id_of(h, line->b) == b) {
            *line_p = line;
            return CLAB_OK;
        }
    }
    CLAB_TRY(find_or_none(h, a, &new.a));
    CLAB_TRY(find_or_none(h, b, &new.b));
    if (h->nlines == h->line_room)
        CLAB_TRY(grow(&h->lines, &h->line_room, sizeof *h->lines));
    *line_p = &h->lines[h->nlines++];
    **line_p = new;
    return CLAB_OK;
}

static int is_before(const struct host_waiting *a, const struct host_waiting *b)
{
    return a->turn < b->turn || (a->turn == b->turn && a->order < b->order);
}

// Of two heaps one; returns its head.
static int32_t meld(struct host_waiting *all, int32_t a, int32_t b)
{
    if (a == HOST_NONE || b == HOST_NONE)
        return a == HOST_NONE ? b : a;
    if (is_before(&all[b], &all[a])) {
        const int32_t c = a;
        a = b;
        b = c;
    }
    all[b].sibling = all[a].child;
    all[a].child = b;
    return a;
}

int host_wait(struct host_pool *pool, struct host_line *line, struct host_waiting waiting)
{
    int32_t i = pool->spare;
    if (i != HOST_NONE) {
        pool->spare = pool->all[i].sibling;
    } else {
        if (pool->used == INT32_MAX)
            return CLAB_ENOMEM;
        CLAB_TRY(CLAB_RESERVE(pool->all, pool->room, pool->used + 1));
        i = (int32_t)pool->used++;
    }
    pool->all[i] = waiting;
    pool->all[i].child = pool->all[i].sibling = HOST_NONE;
    line->head = meld(pool->all, line->head, i);
    return CLAB_OK;
}

// Melds siblings two by two, and then the pairs from the last one on.
static int32_t meld_all(struct host_waiting *all, int32_t first)
{
    int32_t pairs = HOST_NONE, head = HOST_NONE;
    while (first != HOST_NONE) {
        const int32_t a = first, b = all[a].sibling;
        first = b == HOST_NONE ? HOST_NONE : all[b].sibling;
        all[a].sibling = HOST_NONE;
        if (b != HOST_NONE)
            all[b].sibling = HOST_NONE;
        const int32_t pair = meld(all, a, b);
        all[pair].sibling = pairs;
        pairs = pair;
    }
    while (pairs != HOST_NONE) {
        const int32_t next = all[pairs].sibling;
        all[pairs].sibling = HOST_NONE;
        head = meld(all, head, pairs);
        pairs = next;
    }
    return head;
}

struct host_waiting host_leave(struct host_pool *pool, struct host_line *line)
{
    const int32_t i = line->head;
    line->head = meld_all(pool->all, pool->all[i].child);
    pool->all[i].sibling = pool->spare;
    pool->spare = i;
    return pool->all[i];
}

void host_spend(struct host *h, enum host_part part, double begin, double end)
{
    begin = begin > h->seen ? begin : h->seen;
    if (end <= begin)
        return;
    h->spent[part] += end - begin;
    h->seen = end;
}
