// SPDX-License-Identifier: MIT
// The agenda of the dataflow engine.

#include "agenda.h"

#include <stdlib.h>

#include "base/err.h"

int agenda_init(struct agenda *agenda, int room, bool by_time)
{
    *agenda = (struct agenda){.items = malloc((size_t)room * sizeof *agenda->items), .by_time = by_time};
    return agenda->items ? CLAB_OK : CLAB_ENOMEM;
}

void agenda_free(struct agenda *agenda)
{
    free(agenda->items);
    *agenda = (struct agenda){0};
}

static bool is_before(const struct agenda_item *a, const struct agenda_item *b)
{
    return a->when < b->when || (a->when == b->when && a->who < b->who);
}

static void sift_up(struct agenda_item *items, int i, struct agenda_item item)
{
    for (; i > 0 && is_before(&item, &items[(i - 1) / 2]); i = (i - 1) / 2)
        items[i] = items[(i - 1) / 2];
    items[i] = item;
}

static void sift_down(struct agenda_item *items, int n, struct agenda_item item)
{
    int i = 0;
    for (int child; (child = 2 * i + 1) < n; i = child) {
        if (child + 1 < n && is_before(&items[child + 1], &items[child]))
            child++;
        if (is_before(&item, &items[child]))
            break;
        items[i] = items[child];
    }
    items[i] = item;
}

void agenda_push(struct agenda *agenda, double when, int who)
{
    struct agenda_item item = {when, who};
    if (agenda->by_time)
        sift_up(agenda->items, agenda->count, item);
    else
        agenda->items[agenda->count] = item;
    agenda->count++;
}

bool agenda_pop(struct agenda *agenda, int *who_p)
{
    if (agenda->count == 0)
        return false;
    agenda->count--;
    if (agenda->by_time) {
        *who_p = agenda->items[0].who;
        sift_down(agenda->items, agenda->count, agenda->items[agenda->count]);
    } else {
        *who_p = agenda->items[agenda->count].who;
    }
    return true;
}
