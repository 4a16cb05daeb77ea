// SPDX-License-Identifier: MIT
// The agenda of the dataflow engine.

#include "agenda.h"

#include <stdlib.h>
#include <string.h>

#include "base/err.h"

int agenda_init(struct agenda *agenda, int room, bool by_time)
{
    *agenda = (struct agenda){.items = malloc((size_t)room * sizeof *agenda->items), .room = room, .by_time = by_time};
    return agenda->items ? CLAB_OK : CLAB_ENOMEM;
}

void agenda_free(struct agenda *agenda)
{
    free(agenda->items);
    *agenda = (struct agenda){0};
}

static agenda_item item_of(double when, int who)
{
    uint64_t bits;
    memcpy(&bits, &when, sizeof bits);
    return (agenda_item)bits << 64 | (unsigned)who;
}

// Four children a node: half as deep as with two, and they are neighbours in memory.
static void sift_up(agenda_item *items, int i, agenda_item item)
{
    for (; i > 0 && item < items[(i - 1) / 4]; i = (i - 1) / 4)
        items[i] = items[(i - 1) / 4];
    items[i] = item;
}

// The first of the children from `child` on, child < n.
static int first_of(const agenda_item *items, int n, int child)
{
    if (child + 3 < n) {
        int a = items[child + 1] < items[child] ? child + 1 : child;
        int b = items[child + 3] < items[child + 2] ? child + 3 : child + 2;
        return items[b] < items[a] ? b : a;
    }
    int first = child;
    while (++child < n)
        first = items[child] < items[first] ? child : first;
    return first;
}

static void sift_down(agenda_item *items, int n, agenda_item item)
{
    int i = 0;
    while (4 * i + 1 < n) {
        int first = first_of(items, n, 4 * i + 1);
        if (item < items[first])
            break;
        items[i] = items[first];
        i = first;
    }
    items[i] = item;
}

void agenda_push(struct agenda *agenda, double when, int who)
{
    if (agenda->by_time)
        sift_up(agenda->items, agenda->count, item_of(when, who));
    else
        agenda->items[agenda->count] = (unsigned)who;
    agenda->count++;
}

bool agenda_reserve(struct agenda *agenda, int n)
{
    if (agenda->room - agenda->count >= n)
        return true;
    int room = 2 * agenda->room + n;
    agenda_item *more = realloc(agenda->items, (size_t)room * sizeof *more);
    if (!more)
        return false;
    agenda->items = more;
    agenda->room = room;
    return true;
}

double agenda_first(const struct agenda *agenda)
{
    uint64_t bits = (uint64_t)(agenda->items[0] >> 64);
    double when;
    memcpy(&when, &bits, sizeof when);
    return when;
}

bool agenda_pop(struct agenda *agenda, int *who_p)
{
    if (agenda->count == 0)
        return false;
    agenda->count--;
    if (agenda->by_time) {
        *who_p = (int)agenda->items[0];
        sift_down(agenda->items, agenda->count, agenda->items[agenda->count]);
    } else {
        *who_p = (int)agenda->items[agenda->count];
    }
    return true;
}

int agenda_begin(struct agenda *agenda)
{
    agenda->acting = (int)agenda->items[0];
    agenda->items[0] = 0; // nobody passes it
    return agenda->acting;
}

void agenda_end(struct agenda *agenda, bool on, double when)
{
    if (on)
        sift_down(agenda->items, agenda->count, item_of(when, agenda->acting));
    else if (--agenda->count > 0)
        sift_down(agenda->items, agenda->count, agenda->items[agenda->count]);
}
