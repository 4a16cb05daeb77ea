// SPDX-License-Identifier: MIT
// A topological order: the file's own where it is one.
// Source: Kahn 1962, "Topological sorting of large networks".

#include "core/schedule/formats/goal_order.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/err.h"
#include "core/base/order.h"

// Fills ops[] with the rank's operations, each as soon as all for which it waits are in. waits: (nops) room
static void sort_rank(const struct clab_goal *goal, const struct clab_goal_rank *rank, int *waits, int *ops)
{
    int n = 0;
    memset(waits, 0, rank->nops * sizeof *waits);
    for (uint32_t f = goal->after[rank->first]; f < goal->after[rank->first + rank->nops]; f++)
        waits[goal->followers[f] / 2]++;
    for (uint32_t i = 0; i < rank->nops; i++)
        if (waits[i] == 0)
            ops[n++] = (int)i;
    for (int taken = 0; taken < n; taken++) {
        const size_t i = rank->first + (size_t)ops[taken];
        for (uint32_t f = goal->after[i]; f < goal->after[i + 1]; f++)
            if (--waits[goal->followers[f] / 2] == 0)
                ops[n++] = (int)(goal->followers[f] / 2);
    }
}

// Whether each operation comes after all for which it waits as they are.
static bool is_sorted(const struct clab_goal *goal, const struct clab_goal_rank *rank)
{
    for (uint32_t i = 0; i < rank->nops; i++)
        for (uint32_t f = goal->after[rank->first + i]; f < goal->after[rank->first + i + 1]; f++)
            if (goal->followers[f] / 2 <= i)
                return false;
    return true;
}

static int by_op(const void *a, const void *b)
{
    const struct goal_wait *x = a, *y = b;
    return CLAB_ORDER(x->op, y->op) ?: CLAB_ORDER(x->on, y->on) ?: CLAB_ORDER(x->begun, y->begun);
}

// places: (nops) where each operation stands. Returns how many waits there are.
static size_t list_waits(const struct clab_goal *goal, const struct clab_goal_rank *rank, const int *places,
                         struct goal_wait *waits)
{
    size_t n = 0, kept = 0;
    for (uint32_t i = 0; i < rank->nops; i++)
        for (uint32_t f = goal->after[rank->first + i]; f < goal->after[rank->first + i + 1]; f++)
            waits[n++] = (struct goal_wait){places[goal->followers[f] / 2], places[i], goal->followers[f] % 2};
    if (n > 1)
        qsort(waits, n, sizeof *waits, by_op);
    for (size_t i = 0; i < n; i++)
        if (i == 0 || by_op(&waits[i], &waits[i - 1]) != 0)
            waits[kept++] = waits[i];
    return kept;
}

static void order_rank(const struct clab_goal *goal, int rank, int *room, struct goal_order *order)
{
    const struct clab_goal_rank *r = &goal->ranks[rank];
    int *ops = order->ops + r->first;
    if (is_sorted(goal, r))
        for (uint32_t i = 0; i < r->nops; i++)
            ops[i] = (int)i;
    else
        sort_rank(goal, r, room, ops);
    for (uint32_t place = 0; place < r->nops; place++)
        room[ops[place]] = (int)place;
    order->first[rank + 1] = order->first[rank] + list_waits(goal, r, room, order->waits + order->first[rank]);
}

int goal_order_make(const struct clab_goal *goal, struct goal_order *order)
{
    int *room = malloc((goal->nops + 1) * sizeof *room);
    *order = (struct goal_order){.ops = malloc((goal->nops + 1) * sizeof *order->ops),
                                 .waits = malloc((goal->nfollowers + 1) * sizeof *order->waits),
                                 .first = calloc((size_t)goal->nranks + 1, sizeof *order->first)};
    const bool there_is_memory = room && order->ops && order->waits && order->first;
    for (int rank = 0; there_is_memory && rank < goal->nranks; rank++)
        order_rank(goal, rank, room, order);
    free(room);
    return there_is_memory ? CLAB_OK : CLAB_ENOMEM;
}

void goal_order_free(struct goal_order *order)
{
    free(order->ops);
    free(order->waits);
    free(order->first);
}
