// SPDX-License-Identifier: MIT
// The lanes and stages of GOAL's operations.

#include <stdlib.h>
#include <string.h>

#include "core/base/err.h"
#include "core/base/log.h"
#include "core/schedule/formats/goal_lowering.h"

// ---- lanes ---------------------------------------------------------------------------------------------------

static int root_of(struct lower_node *nodes, int i)
{
    while (nodes[i].parent != i)
        i = nodes[i].parent = nodes[nodes[i].parent].parent;
    return i;
}

// The earlier of two roots stays one.
static void join(struct lower_node *nodes, int a, int b)
{
    a = root_of(nodes, a);
    b = root_of(nodes, b);
    nodes[a > b ? a : b].parent = a > b ? b : a;
}

static void join_all(struct lowering *w)
{
    for (int i = 0; i < w->n; i++)
        if (w->nodes[i].op->type == CLAB_GOAL_SEND)
            join(w->nodes, i, w->nodes[i].partner);
    for (int rank = 0; rank < w->goal->nranks; rank++)
        for (size_t i = w->order.first[rank]; i < w->order.first[rank + 1]; i++)
            join(w->nodes, w->first[rank] + w->order.waits[i].op, w->first[rank] + w->order.waits[i].on);
}

// A lane for each root: one that no other root with operations in a rank of its own has. next: (nranks) lanes taken
static int give_lanes(struct lowering *w, int *next)
{
    struct lower_node *nodes = w->nodes;
    int *last = malloc(((size_t)w->n + 1) * sizeof *last), *before = malloc(((size_t)w->n + 1) * sizeof *before);
    int err = last && before ? CLAB_OK : CLAB_ENOMEM;
    for (int i = 0; !err && i < w->n; i++) { // the operations of a root, in a chain from its last one
        int root = root_of(nodes, i);
        before[i] = root == i ? LOWER_NOBODY : last[root];
        last[root] = i;
    }
    for (int i = 0; !err && i < w->n; i++) {
        if (root_of(nodes, i) != i)
            continue;
        int lane = 0;
        bool does_something = false;
        for (int j = last[i]; j != LOWER_NOBODY; j = before[j]) {
            lane = next[nodes[j].rank] > lane ? next[nodes[j].rank] : lane;
            does_something |= nodes[j].op->type != CLAB_GOAL_CALC || nodes[j].op->size > 0;
        }
        if (!does_something)
            continue;
        for (int j = last[i]; j != LOWER_NOBODY; j = before[j]) {
            next[nodes[j].rank] = lane + 1;
            nodes[j].lane = lane;
        }
        w->nlanes = lane + 1 > w->nlanes ? lane + 1 : w->nlanes;
        if (lane >= LOWER_LANES)
            err = lower_fail(w, i, "more than 64 independent sequences of operations: let some wait for each other");
    }
    free(last);
    free(before);
    return err;
}

int lower_give_lanes(struct lowering *w)
{
    join_all(w);
    int *next = calloc((size_t)w->goal->nranks, sizeof *next);
    const int err = next ? give_lanes(w, next) : CLAB_ENOMEM;
    free(next);
    return err;
}

// ---- stages --------------------------------------------------------------------------------------------------

static void find_followers(struct lowering *w, int rank)
{
    const struct goal_wait *first = w->order.waits + w->order.first[rank];
    const struct goal_wait *limit = w->order.waits + w->order.first[rank + 1];
    struct lower_node *nodes = w->nodes + w->first[rank];
    for (const struct goal_wait *wait = first; wait < limit; wait++)
        nodes[wait->on].dependents++;
    for (const struct goal_wait *wait = first; wait < limit; wait++) {
        const bool alone = (wait == first || wait[-1].op != wait->op) && (wait + 1 == limit || wait[1].op != wait->op);
        struct lower_node *calc = &nodes[wait->op], *on = &nodes[wait->on];
        if (alone && !wait->begun && calc->op->type == CLAB_GOAL_CALC && calc->op->size > 0 &&
            on->op->type == CLAB_GOAL_RECV && on->dependents == 1) {
            calc->follows = true;
            on->follower = w->first[rank] + wait->op;
        }
    }
}

// Operations of the stage before that `node` is known to wait for. (Its own may be among those of its joins.)
static int covers(const struct lower_node *node)
{
    return node->direct > node->joined ? node->direct : node->joined;
}

// `node` begins in `level` or later, and waits for more of the stage before that.
static void wait_for(struct lower_node *node, int level, int direct, int joined)
{
    if (level > node->level)
        node->direct = node->joined = 0;
    if (level < node->level || level == 0)
        return;
    node->level = level;
    node->direct += direct;
    node->joined = joined > node->joined ? joined : node->joined;
}

static void find_levels(struct lowering *w, int rank)
{
    const struct goal_wait *wait = w->order.waits + w->order.first[rank];
    const struct goal_wait *limit = w->order.waits + w->order.first[rank + 1];
    struct lower_node *nodes = w->nodes + w->first[rank];
    for (int i = 0; i < w->first[rank + 1] - w->first[rank]; i++) {
        struct lower_node *node = &nodes[i];
        node->joins = node->op->type == CLAB_GOAL_CALC && node->op->size == 0;
        for (; wait < limit && wait->op == i; wait++) {
            const struct lower_node *on = &nodes[wait->on];
            if (node->follows || on->joins || wait->begun) // begins with the receive, what is joined, the other
                wait_for(node, on->level, 0, covers(on));
            else
                wait_for(node, on->level + 1, 1, 0);
        }
    }
}

static int check_covers(struct lowering *w, int rank, int *sizes)
{
    int first = w->first[rank], end = w->first[rank + 1];
    size_t levels = (size_t)(end - first) + 1;
    memset(sizes, 0, levels * (size_t)w->nlanes * sizeof *sizes);
    for (int i = first; i < end; i++)
        if (!w->nodes[i].joins && !w->nodes[i].follows)
            sizes[(size_t)w->nodes[i].lane * levels + (size_t)w->nodes[i].level]++;
    for (int i = first; i < end; i++) {
        const struct lower_node *node = &w->nodes[i];
        if (node->joins || node->level == 0)
            continue;
        int all = sizes[(size_t)node->lane * levels + (size_t)node->level - 1];
        if (covers(node) < all) {
            clab_error("%s:%u: rank %d: this waits for %d of the %d operations that begin together before it; only "
                       "schedules of stages are read, in which what follows waits for all of them",
                       w->goal->path, node->op->line, rank, covers(node), all);
            return CLAB_EPARSE;
        }
    }
    return CLAB_OK;
}

int lower_find_stages(struct lowering *w)
{
    int most = 0, err = CLAB_OK;
    for (int rank = 0; rank < w->goal->nranks; rank++)
        most = (int)w->goal->ranks[rank].nops > most ? (int)w->goal->ranks[rank].nops : most;
    int *sizes = calloc(((size_t)most + 1) * (size_t)w->nlanes, sizeof *sizes);
    if (!sizes)
        return CLAB_ENOMEM;
    for (int rank = 0; rank < w->goal->nranks && !err; rank++) {
        find_followers(w, rank);
        find_levels(w, rank);
        err = check_covers(w, rank, sizes);
    }
    free(sizes);
    return err;
}
