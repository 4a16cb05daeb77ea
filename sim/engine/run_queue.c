// SPDX-License-Identifier: MIT
// The run queue of the full engine.

#include "sim/engine/run_queue.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/err.h"

static size_t words_of(int room, int level)
{
    size_t words = (size_t)room;
    for (int l = 0; l <= level; l++)
        words = (words + 63) / 64;
    return words;
}

// From room for `before` to room for `room`.
static bool set_grow(struct run_queue_set *set, int before, int room)
{
    for (int level = 0; level < RUN_QUEUE_LEVELS; level++) {
        const size_t had = before ? words_of(before, level) : 0, words = words_of(room, level);
        uint64_t *more = realloc(set->words[level], words * sizeof *more);
        if (!more)
            return false;
        memset(more + had, 0, (words - had) * sizeof *more);
        set->words[level] = more;
    }
    return true;
}

static bool grow(struct run_queue *run_queue, int room)
{
    struct run_queue_item *more = realloc(run_queue->items, (size_t)room * sizeof *more);
    if (!more)
        return false;
    run_queue->items = more;
    if (run_queue->by_time && !set_grow(&run_queue->due, run_queue->room, room))
        return false;
    run_queue->room = room;
    return true;
}

int run_queue_init(struct run_queue *run_queue, int room, bool by_time)
{
    *run_queue = (struct run_queue){.by_time = by_time};
    if (grow(run_queue, room))
        return CLAB_OK;
    run_queue_free(run_queue);
    return CLAB_ENOMEM;
}

void run_queue_free(struct run_queue *run_queue)
{
    free(run_queue->items);
    for (int level = 0; level < RUN_QUEUE_LEVELS; level++)
        free(run_queue->due.words[level]);
    *run_queue = (struct run_queue){0};
}

bool run_queue_reserve(struct run_queue *run_queue, int room)
{
    return run_queue->room >= room || grow(run_queue, 2 * room);
}

// The earliest of those who are not due.
static uint64_t earliest(const struct run_queue *run_queue)
{
    uint64_t when = UINT64_MAX;
    for (int32_t i = run_queue->lists[__builtin_ctzll(run_queue->filled)].first; i != RUN_QUEUE_NONE;
         i = run_queue->items[i].next)
        when = run_queue->items[i].when < when ? run_queue->items[i].when : when;
    return when;
}

double run_queue_first(const struct run_queue *run_queue)
{
    uint64_t bits = !run_queue_set_is_empty(&run_queue->due) ? run_queue->now : earliest(run_queue);
    double when;
    memcpy(&when, &bits, sizeof when);
    return when;
}

// All of the lowest list agree with the earliest of them in more bits than with `now`.
void run_queue_refill(struct run_queue *run_queue)
{
    int32_t who = run_queue->lists[__builtin_ctzll(run_queue->filled)].first;
    run_queue->now = earliest(run_queue);
    run_queue->filled &= run_queue->filled - 1;
    for (int32_t next; who != RUN_QUEUE_NONE; who = next) {
        next = run_queue->items[who].next;
        run_queue_file(run_queue, who);
    }
}
