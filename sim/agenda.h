// SPDX-License-Identifier: MIT
// What can go on: (rank, lane) pairs, each at most once.
// - With one lane, ranks may run in any order, since a rank's clock depends on messages only: last in, first out, so
//   that what was just written is read while it is in the caches.
// - Where lanes share a rank's core, the order in which they get it matters: the earliest first, by a binary heap.
//   Ties go to the lower rank and lane, so that an answer is the same each time.
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct agenda_item {
    double when; // s
    int who;     // rank * lanes + lane
};

struct agenda {
    struct agenda_item *items; // (room): a stack, or a heap
    int count;
    bool by_time;
};

// Room for `room` >= 1 items.  errors: CLAB_ENOMEM
int agenda_init(struct agenda *agenda, int room, bool by_time);
void agenda_free(struct agenda *agenda);

void agenda_push(struct agenda *agenda, double when, int who);
// agenda_push, where time does not matter.
static inline void agenda_stack(struct agenda *agenda, int who)
{
    agenda->items[agenda->count++].who = who;
}
static inline int agenda_unstack(struct agenda *agenda) // count > 0
{
    return agenda->items[--agenda->count].who;
}
bool agenda_pop(struct agenda *agenda, int *who_p); // false: nothing is left
