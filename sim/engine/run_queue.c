// SPDX-License-Identifier: MIT
// The agenda of the dataflow engine.

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
static bool set_grow(struct agenda_set *set, int before, int room)
{
    for (int level = 0; level < AGENDA_LEVELS; level++) {
        const size_t had = before ? words_of(before, level) : 0, words = words_of(room, level);
        uint64_t *more = realloc(set->words[level], words * sizeof *more);
        if (!more)
            return false;
        memset(more + had, 0, (words - had) * sizeof *more);
        set->words[level] = more;
    }
    return true;
}

static bool grow(struct agenda *agenda, int room)
{
    struct agenda_item *more = realloc(agenda->items, (size_t)room * sizeof *more);
    if (!more)
        return false;
    agenda->items = more;
    if (agenda->by_time && !set_grow(&agenda->due, agenda->room, room))
        return false;
    agenda->room = room;
    return true;
}

int agenda_init(struct agenda *agenda, int room, bool by_time)
{
    *agenda = (struct agenda){.by_time = by_time};
    if (grow(agenda, room))
        return CLAB_OK;
    agenda_free(agenda);
    return CLAB_ENOMEM;
}

void agenda_free(struct agenda *agenda)
{
    free(agenda->items);
    for (int level = 0; level < AGENDA_LEVELS; level++)
        free(agenda->due.words[level]);
    *agenda = (struct agenda){0};
}

bool agenda_reserve(struct agenda *agenda, int room)
{
    return agenda->room >= room || grow(agenda, 2 * room);
}

// The earliest of those who are not due.
static uint64_t earliest(const struct agenda *agenda)
{
    uint64_t when = UINT64_MAX;
    for (int32_t i = agenda->lists[__builtin_ctzll(agenda->filled)].first; i != AGENDA_NONE; i = agenda->items[i].next)
        when = agenda->items[i].when < when ? agenda->items[i].when : when;
    return when;
}

double agenda_first(const struct agenda *agenda)
{
    uint64_t bits = !agenda_set_is_empty(&agenda->due) ? agenda->now : earliest(agenda);
    double when;
    memcpy(&when, &bits, sizeof when);
    return when;
}

// All of the lowest list agree with the earliest of them in more bits than with `now`.
void agenda_refill(struct agenda *agenda)
{
    int32_t who = agenda->lists[__builtin_ctzll(agenda->filled)].first;
    agenda->now = earliest(agenda);
    agenda->filled &= agenda->filled - 1;
    for (int32_t next; who != AGENDA_NONE; who = next) {
        next = agenda->items[who].next;
        agenda_file(agenda, who);
    }
}
