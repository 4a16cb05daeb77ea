// SPDX-License-Identifier: MIT
// What can go on: (rank, lane) pairs, each at most once.
// - With one lane, ranks may run in any order, since a rank's clock depends on messages only: last in, first out, so
//   that what was just written is read while it is in the caches.
// - Where lanes share a rank's core, the order in which they get it matters: the earliest first, by a binary heap.
//   Ties go to the lower rank and lane, so that an answer is the same each time.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// when, in the upper half, and who: rank * lanes + lane. Times are not negative, so that their bits are ordered as they
// are, and one comparison does.
typedef unsigned __int128 agenda_item;

struct agenda {
    agenda_item *items; // (room): a stack, or a heap
    int room, count;
    int acting; // who is first, and at it
    bool by_time;
};

// Room for `room` >= 1 items.  errors: CLAB_ENOMEM
int agenda_init(struct agenda *agenda, int room, bool by_time);
void agenda_free(struct agenda *agenda);

void agenda_push(struct agenda *agenda, double when, int who);
bool agenda_reserve(struct agenda *agenda, int n); // room for n more; false: there is no memory
double agenda_first(const struct agenda *agenda);  // by time: when it is; count > 0
// agenda_push, where time does not matter.
static inline void agenda_stack(struct agenda *agenda, int who)
{
    agenda->items[agenda->count++] = (unsigned)who;
}
static inline int agenda_unstack(struct agenda *agenda) // count > 0
{
    return (int)agenda->items[--agenda->count];
}
// By time: the first begins; it stays until agenda_end, while others may be pushed that are no earlier. It goes on at
// `when`, or it does not.
int agenda_begin(struct agenda *agenda);
void agenda_end(struct agenda *agenda, bool on, double when);
bool agenda_pop(struct agenda *agenda, int *who_p); // false: nothing is left
