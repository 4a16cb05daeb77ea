// SPDX-License-Identifier: MIT
// What can go on: (rank, lane) pairs, rank * lanes + lane, each at most once.
// - With one lane, ranks may run in any order, since a rank's clock depends on messages only: last in, first out, so
//   that what was just written is read while it is in the caches.
// - Where lanes share a rank's core, the order in which they get it matters: the earliest first. What comes at the same
//   time leaves in the order in which it came, so that an answer is the same each time.
// - By time it is a radix heap: nothing comes that is earlier than what left last (what does goes next), so that lists
//   by the highest bit in which a time differs from that are enough. An item moves to a lower list a few times, and is
//   compared with few others.
// Source: Ahuja, Mehlhorn, Orlin and Tarjan 1990, "Faster algorithms for the shortest path problem".
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

// By time, item `who` is that of `who`; else they are a stack.
struct agenda_item {
    uint64_t when; // the bits of a time, s; times are not negative, so that their bits are ordered as they are
    int32_t next;  // in its list
    int32_t who;
};

struct agenda_list {
    int32_t first, last;
};

enum { AGENDA_NONE = -1, AGENDA_LISTS = 64 };

struct agenda {
    struct agenda_item *items; // (room)
    int room, count;
    bool by_time;
    uint64_t now;                           // what left last
    struct agenda_list due;                 // at `now`
    struct agenda_list lists[AGENDA_LISTS]; // list i: those whose highest bit that is not as in `now` is i
    uint64_t filled;                        // bit i: list i has some
};

// Room for `room` >= 1 items.  errors: CLAB_ENOMEM
int agenda_init(struct agenda *agenda, int room, bool by_time);
void agenda_free(struct agenda *agenda);

bool agenda_reserve(struct agenda *agenda, int room); // who < room may come; false: there is no memory
double agenda_first(const struct agenda *agenda);     // by time: when it is; count > 0
void agenda_refill(struct agenda *agenda);            // what is due next; count > 0, nothing is due

static inline void agenda_append(struct agenda *agenda, struct agenda_list *list, bool is_empty, int32_t who)
{
    agenda->items[who].next = AGENDA_NONE;
    *(is_empty ? &list->first : &agenda->items[list->last].next) = who;
    list->last = who;
}

// In the list where its time belongs.
static inline void agenda_file(struct agenda *agenda, int32_t who)
{
    uint64_t when = agenda->items[who].when;
    if (when <= agenda->now) {
        agenda_append(agenda, &agenda->due, agenda->due.first == AGENDA_NONE, who);
        return;
    }
    int list = 63 - __builtin_clzll(when ^ agenda->now);
    agenda_append(agenda, &agenda->lists[list], !(agenda->filled >> list & 1), who);
    agenda->filled |= (uint64_t)1 << list;
}

// agenda_push and agenda_pop, where time does not matter.
static inline void agenda_stack(struct agenda *agenda, int who)
{
    agenda->items[agenda->count++].who = who;
}
static inline int agenda_unstack(struct agenda *agenda) // count > 0
{
    return agenda->items[--agenda->count].who;
}

static inline void agenda_push(struct agenda *agenda, double when, int who)
{
    if (!agenda->by_time) {
        agenda_stack(agenda, who);
        return;
    }
    if (agenda->count++ == 0)
        agenda->now = 0;
    memcpy(&agenda->items[who].when, &when, sizeof when);
    agenda_file(agenda, who);
}

static inline bool agenda_pop(struct agenda *agenda, int *who_p) // false: nothing is left
{
    if (agenda->count == 0)
        return false;
    if (!agenda->by_time) {
        *who_p = agenda_unstack(agenda);
        return true;
    }
    if (agenda->due.first == AGENDA_NONE)
        agenda_refill(agenda);
    *who_p = agenda->due.first;
    agenda->due.first = agenda->items[agenda->due.first].next;
    agenda->count--;
    return true;
}
