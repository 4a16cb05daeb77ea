// SPDX-License-Identifier: MIT
// The agenda of the dataflow engine.

#include "agenda.h"

#include <stdlib.h>

#include "base/err.h"

int agenda_init(struct agenda *agenda, int room, bool by_time)
{
    *agenda = (struct agenda){.items = malloc((size_t)room * sizeof *agenda->items),
                              .room = room,
                              .by_time = by_time,
                              .due = {AGENDA_NONE, AGENDA_NONE}};
    return agenda->items ? CLAB_OK : CLAB_ENOMEM;
}

void agenda_free(struct agenda *agenda)
{
    free(agenda->items);
    *agenda = (struct agenda){0};
}

bool agenda_reserve(struct agenda *agenda, int room)
{
    if (agenda->room >= room)
        return true;
    struct agenda_item *more = realloc(agenda->items, 2 * (size_t)room * sizeof *more);
    if (!more)
        return false;
    agenda->items = more;
    agenda->room = 2 * room;
    return true;
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
    uint64_t bits = agenda->due.first != AGENDA_NONE ? agenda->now : earliest(agenda);
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
