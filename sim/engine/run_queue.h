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
struct run_queue_item {
    uint64_t when; // the bits of a time, s; times are not negative, so that their bits are ordered as they are
    int32_t next;  // in its list
    int32_t who;
};

struct run_queue_list {
    int32_t first, last;
};

enum { RUN_QUEUE_NONE = -1, RUN_QUEUE_LISTS = 64, RUN_QUEUE_LEVELS = 4 };

// A set of numbers below 64^4. Bit i of level 0 is number i; a bit of a level above says whether a word below has any.
struct run_queue_set {
    uint64_t *words[RUN_QUEUE_LEVELS];
};

static inline void run_queue_set_add(struct run_queue_set *set, uint32_t i)
{
    for (int level = 0; level < RUN_QUEUE_LEVELS; level++, i >>= 6)
        set->words[level][i >> 6] |= (uint64_t)1 << (i & 63);
}

static inline bool run_queue_set_is_empty(const struct run_queue_set *set)
{
    return set->words[RUN_QUEUE_LEVELS - 1][0] == 0;
}

static inline uint32_t run_queue_set_take_least(struct run_queue_set *set) // that is not empty
{
    uint32_t i = 0, word;
    for (int level = RUN_QUEUE_LEVELS - 1; level >= 0; level--)
        i = i << 6 | (uint32_t)__builtin_ctzll(set->words[level][i]);
    word = i;
    for (int level = 0; level < RUN_QUEUE_LEVELS; level++, word >>= 6)
        if ((set->words[level][word >> 6] &= ~((uint64_t)1 << (word & 63))) != 0)
            break;
    return i;
}

struct run_queue {
    struct run_queue_item *items; // (room)
    int room, count;
    bool by_time;
    uint64_t now;                                 // what left last
    struct run_queue_set due;                     // at `now`
    struct run_queue_list lists[RUN_QUEUE_LISTS]; // list i: those whose highest bit that is not as in `now` is i
    uint64_t filled;                              // bit i: list i has some
};

// Room for `room` >= 1 items.  errors: CLAB_ENOMEM
int run_queue_init(struct run_queue *run_queue, int room, bool by_time);
void run_queue_free(struct run_queue *run_queue);

bool run_queue_reserve(struct run_queue *run_queue, int room); // who < room may come; false: there is no memory
double run_queue_first(const struct run_queue *run_queue);     // by time: when it is; count > 0
void run_queue_refill(struct run_queue *run_queue);            // what is due next; count > 0, nothing is due

static inline void run_queue_append(struct run_queue *run_queue, struct run_queue_list *list, bool is_empty,
                                    int32_t who)
{
    run_queue->items[who].next = RUN_QUEUE_NONE;
    *(is_empty ? &list->first : &run_queue->items[list->last].next) = who;
    list->last = who;
}

// In the list where its time belongs.
static inline void run_queue_file(struct run_queue *run_queue, int32_t who)
{
    uint64_t when = run_queue->items[who].when;
    if (when <= run_queue->now) {
        run_queue_set_add(&run_queue->due, (uint32_t)who);
        return;
    }
    int list = 63 - __builtin_clzll(when ^ run_queue->now);
    run_queue_append(run_queue, &run_queue->lists[list], !(run_queue->filled >> list & 1), who);
    run_queue->filled |= (uint64_t)1 << list;
}

// run_queue_push and run_queue_pop, where time does not matter.
static inline void run_queue_stack(struct run_queue *run_queue, int who)
{
    run_queue->items[run_queue->count++].who = who;
}
static inline int run_queue_unstack(struct run_queue *run_queue) // count > 0
{
    return run_queue->items[--run_queue->count].who;
}

static inline void run_queue_push(struct run_queue *run_queue, double when, int who)
{
    if (!run_queue->by_time) {
        run_queue_stack(run_queue, who);
        return;
    }
    if (run_queue->count++ == 0)
        run_queue->now = 0;
    memcpy(&run_queue->items[who].when, &when, sizeof when);
    run_queue_file(run_queue, who);
}

static inline bool run_queue_pop(struct run_queue *run_queue, int *who_p) // false: nothing is left
{
    if (run_queue->count == 0)
        return false;
    if (!run_queue->by_time) {
        *who_p = run_queue_unstack(run_queue);
        return true;
    }
    if (run_queue_set_is_empty(&run_queue->due))
        run_queue_refill(run_queue);
    *who_p = (int)run_queue_set_take_least(&run_queue->due);
    run_queue->count--;
    return true;
}
