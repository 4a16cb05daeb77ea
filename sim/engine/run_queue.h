// SPDX-License-Identifier: MIT
// What can go on: (rank, lane) pairs, rank * lanes + lane, each at most once.
// - With one lane, ranks may run in any order, since a rank's clock depends on messages only: last in, first out, so
//   that what was just written is read while it is in the caches.
// - Where lanes share a rank's core, the order in which they get it matters: the earliest first, and of those at the
//   same time the lowest, however they came: the answer is the same each time, and from a schedule that is written
//   otherwise.
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

enum { AGENDA_NONE = -1, AGENDA_LISTS = 64, AGENDA_LEVELS = 4 };

// A set of numbers below 64^4. Bit i of level 0 is number i; a bit of a level above says whether a word below has any.
struct agenda_set {
    uint64_t *words[AGENDA_LEVELS];
};

static inline void agenda_set_add(struct agenda_set *set, uint32_t i)
{
    for (int level = 0; level < AGENDA_LEVELS; level++, i >>= 6)
        set->words[level][i >> 6] |= (uint64_t)1 << (i & 63);
}

static inline bool agenda_set_is_empty(const struct agenda_set *set)
{
    return set->words[AGENDA_LEVELS - 1][0] == 0;
}

static inline uint32_t agenda_set_take_least(struct agenda_set *set) // that is not empty
{
    uint32_t i = 0, word;
    for (int level = AGENDA_LEVELS - 1; level >= 0; level--)
        i = i << 6 | (uint32_t)__builtin_ctzll(set->words[level][i]);
    word = i;
    for (int level = 0; level < AGENDA_LEVELS; level++, word >>= 6)
        if ((set->words[level][word >> 6] &= ~((uint64_t)1 << (word & 63))) != 0)
            break;
    return i;
}

struct agenda {
    struct agenda_item *items; // (room)
    int room, count;
    bool by_time;
    uint64_t now;                           // what left last
    struct agenda_set due;                  // at `now`
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
        agenda_set_add(&agenda->due, (uint32_t)who);
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
    if (agenda_set_is_empty(&agenda->due))
        agenda_refill(agenda);
    *who_p = (int)agenda_set_take_least(&agenda->due);
    agenda->count--;
    return true;
}
