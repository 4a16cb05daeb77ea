// SPDX-License-Identifier: MIT
// From GOAL's operations to stages.
//
// - Operations that depend on each other, or are two ends of a message, are of one lane. Lanes are independent.
// - The operations of a stage begin at the same time. That is exact only if each operation waits for every operation of
//   the stage before its own. A calculation of 0 ns only joins others. A calculation that is the only operation to wait
//   for a receive is part of that receive.
// - Messages of a pair match in the order of their tags' operations, and must not overtake each other.

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/err.h"
#include "core/base/log.h"
#include "core/schedule/formats/goal.h"
#include "core/schedule/formats/goal_order.h"

enum { MOST_LANES = 64, MOST_OPS = 1 << 26, NOBODY = -1 };

// An operation among all.
struct node {
    const struct clab_goal_op *op;
    int rank, lane;
    int parent;         // of its tree in the forest of joined operations
    int partner;        // the other end of a message
    int level;          // its stage; of a join, the stage of the operations that wait for it
    int direct, joined; // operations of the stage before that it waits for: itself, and by the best of its joins
    int follower;       // the calculation that is part of this receive, or NOBODY
    int dependents;     // operations that wait for it
    bool follows, joins;
    int order; // of emission
};

// A message, where they are sorted.
struct key {
    int src, dst;
    uint32_t kind;
    int order, node;
};

struct lowering {
    const struct clab_goal *goal;
    struct goal_order order;
    struct node *nodes; // (n), rank by rank, each after those for which it waits
    int *first;         // (nranks + 1) of each rank
    int n, nlanes, emitted;
    struct key *sends, *receives;
    int nsends, nreceives;
    size_t unit, longest;
};

static int fail(const struct lowering *w, int node, const char *what)
{
    clab_error("%s:%u: rank %d: %s", w->goal->path, w->nodes[node].op->line, w->nodes[node].rank, what);
    return CLAB_EPARSE;
}

// ---- messages ------------------------------------------------------------------------------------------------

static int by_key(const void *a, const void *b)
{
    const struct key *x = a, *y = b;
    if (x->src != y->src)
        return x->src < y->src ? -1 : 1;
    if (x->dst != y->dst)
        return x->dst < y->dst ? -1 : 1;
    if (x->kind != y->kind)
        return x->kind < y->kind ? -1 : 1;
    return x->order < y->order ? -1 : x->order > y->order;
}

// All messages, of a pair and kind (tag, or later lane) in order.
static void sort_messages(struct lowering *w, bool by_lane)
{
    w->nsends = w->nreceives = 0;
    for (int i = 0; i < w->n; i++) {
        const struct node *node = &w->nodes[i];
        struct key key = {node->rank, node->op->peer, by_lane ? (uint32_t)node->lane : node->op->tag,
                          by_lane ? node->order : i, i};
        if (node->op->type == CLAB_GOAL_SEND) {
            w->sends[w->nsends++] = key;
        } else if (node->op->type == CLAB_GOAL_RECV) {
            key.src = node->op->peer;
            key.dst = node->rank;
            w->receives[w->nreceives++] = key;
        }
    }
    if (w->nsends)
        qsort(w->sends, (size_t)w->nsends, sizeof *w->sends, by_key);
    if (w->nreceives)
        qsort(w->receives, (size_t)w->nreceives, sizeof *w->receives, by_key);
}

static int match(struct lowering *w)
{
    sort_messages(w, false);
    for (int i = 0; i < w->nsends || i < w->nreceives; i++) {
        const struct key *s = i < w->nsends ? &w->sends[i] : NULL, *r = i < w->nreceives ? &w->receives[i] : NULL;
        struct key a = s ? *s : *r, b = r ? *r : *s;
        a.order = b.order = 0;
        int order = by_key(&a, &b);
        if (!r || (s && order < 0))
            return fail(w, s->node, "this message is never received");
        if (!s || order > 0)
            return fail(w, r->node, "this message is never sent");
        struct node *sent = &w->nodes[s->node], *received = &w->nodes[r->node];
        if (sent->op->size != received->op->size) {
            clab_error("%s:%u: rank %d sends %zu bytes, and rank %d expects %zu in line %u", w->goal->path,
                       sent->op->line, sent->rank, (size_t)sent->op->size, received->rank, (size_t)received->op->size,
                       received->op->line);
            return CLAB_EPARSE;
        }
        sent->partner = r->node;
        received->partner = s->node;
    }
    return CLAB_OK;
}

// Messages of a pair in a lane come in the order in which they are sent.
static int check_order(struct lowering *w)
{
    sort_messages(w, true);
    for (int i = 0; i < w->nsends; i++)
        if (w->nodes[w->sends[i].node].partner != w->receives[i].node)
            return fail(w, w->sends[i].node,
                        "another message to this rank, of another tag, would be taken for this one: "
                        "receive them in the order in which they are sent");
    return CLAB_OK;
}

// ---- lanes ---------------------------------------------------------------------------------------------------

static int root_of(struct node *nodes, int i)
{
    while (nodes[i].parent != i)
        i = nodes[i].parent = nodes[nodes[i].parent].parent;
    return i;
}

// The earlier of two roots stays one.
static void join(struct node *nodes, int a, int b)
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
    struct node *nodes = w->nodes;
    int *last = malloc(((size_t)w->n + 1) * sizeof *last), *before = malloc(((size_t)w->n + 1) * sizeof *before);
    int err = last && before ? CLAB_OK : CLAB_ENOMEM;
    for (int i = 0; !err && i < w->n; i++) { // the operations of a root, in a chain from its last one
        int root = root_of(nodes, i);
        before[i] = root == i ? NOBODY : last[root];
        last[root] = i;
    }
    for (int i = 0; !err && i < w->n; i++) {
        if (root_of(nodes, i) != i)
            continue;
        int lane = 0;
        bool does_something = false;
        for (int j = last[i]; j != NOBODY; j = before[j]) {
            lane = next[nodes[j].rank] > lane ? next[nodes[j].rank] : lane;
            does_something |= nodes[j].op->type != CLAB_GOAL_CALC || nodes[j].op->size > 0;
        }
        if (!does_something)
            continue;
        for (int j = last[i]; j != NOBODY; j = before[j]) {
            next[nodes[j].rank] = lane + 1;
            nodes[j].lane = lane;
        }
        w->nlanes = lane + 1 > w->nlanes ? lane + 1 : w->nlanes;
        if (lane >= MOST_LANES)
            err = fail(w, i, "more than 64 independent sequences of operations: let some wait for each other");
    }
    free(last);
    free(before);
    return err;
}

// ---- stages --------------------------------------------------------------------------------------------------

static void find_followers(struct lowering *w, int rank)
{
    const struct goal_wait *first = w->order.waits + w->order.first[rank];
    const struct goal_wait *limit = w->order.waits + w->order.first[rank + 1];
    struct node *nodes = w->nodes + w->first[rank];
    for (const struct goal_wait *wait = first; wait < limit; wait++)
        nodes[wait->on].dependents++;
    for (const struct goal_wait *wait = first; wait < limit; wait++) {
        const bool alone = (wait == first || wait[-1].op != wait->op) && (wait + 1 == limit || wait[1].op != wait->op);
        struct node *calc = &nodes[wait->op], *on = &nodes[wait->on];
        if (alone && !wait->begun && calc->op->type == CLAB_GOAL_CALC && calc->op->size > 0 &&
            on->op->type == CLAB_GOAL_RECV && on->dependents == 1) {
            calc->follows = true;
            on->follower = w->first[rank] + wait->op;
        }
    }
}

// Operations of the stage before that `node` is known to wait for. (Its own may be among those of its joins.)
static int covers(const struct node *node)
{
    return node->direct > node->joined ? node->direct : node->joined;
}

// `node` begins in `level` or later, and waits for more of the stage before that.
static void wait_for(struct node *node, int level, int direct, int joined)
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
    struct node *nodes = w->nodes + w->first[rank];
    for (int i = 0; i < w->first[rank + 1] - w->first[rank]; i++) {
        struct node *node = &nodes[i];
        node->joins = node->op->type == CLAB_GOAL_CALC && node->op->size == 0;
        for (; wait < limit && wait->op == i; wait++) {
            const struct node *on = &nodes[wait->on];
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
        const struct node *node = &w->nodes[i];
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

static int find_stages(struct lowering *w)
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

// ---- the listing ---------------------------------------------------------------------------------------------

static size_t gcd(size_t a, size_t b)
{
    while (b) {
        size_t c = a % b;
        a = b;
        b = c;
    }
    return a;
}

static int measure(struct lowering *w)
{
    for (int i = 0; i < w->n; i++)
        if (w->nodes[i].op->type != CLAB_GOAL_CALC) {
            size_t size = w->nodes[i].op->size;
            w->unit = gcd(w->unit, size);
            w->longest = size > w->longest ? size : w->longest;
        }
    w->unit = w->unit ? w->unit : 1;
    if (w->longest / w->unit <= INT_MAX / (MOST_LANES * 4))
        return CLAB_OK;
    for (int i = 0; i < w->n; i++)
        if (w->nodes[i].op->type != CLAB_GOAL_CALC && w->nodes[i].op->size == w->longest)
            return fail(w, i, "too many bytes for sizes that have no greater common divisor: round them");
    return CLAB_OK;
}

static struct clab_step step_of(const struct lowering *w, const struct node *node)
{
    const struct clab_goal_op *op = node->op;
    struct clab_span span = {CLAB_DATA, 0, (int)(op->size / w->unit)};
    switch (op->type) {
    case CLAB_GOAL_SEND: return (struct clab_step){.op = CLAB_SEND, .peer = op->peer, .src = span};
    case CLAB_GOAL_RECV: return (struct clab_step){.op = CLAB_RECV, .peer = op->peer, .dst = span};
    default:
        return (struct clab_step){.op = CLAB_CALC,
                                  .src = {CLAB_DATA, (int)(op->size / 1000000000), (int)(op->size % 1000000000)}};
    }
}

static int by_stage(const void *a, const void *b)
{
    const struct node *x = *(struct node *const *)a, *y = *(struct node *const *)b;
    bool x_calcs = x->op->type == CLAB_GOAL_CALC, y_calcs = y->op->type == CLAB_GOAL_CALC;
    if (x->lane != y->lane)
        return x->lane - y->lane;
    if (x->level != y->level)
        return x->level - y->level;
    if (x_calcs != y_calcs) // what begins with the stage comes first
        return x_calcs ? -1 : 1;
    return x < y ? -1 : x > y;
}

static int emit(struct lowering *w, struct node *node, struct clab_listing *listing)
{
    struct clab_step step = step_of(w, node);
    node->order = w->emitted++;
    CLAB_TRY(clab_listing_add(listing, &step));
    if (node->follower == NOBODY)
        return CLAB_OK;
    step = step_of(w, &w->nodes[node->follower]);
    return clab_listing_add(listing, &step);
}

// sorted: room for a rank's operations
static int list_rank(struct lowering *w, int rank, struct node **sorted, struct clab_listing *listing)
{
    int n = 0, at = 0;
    for (int i = w->first[rank]; i < w->first[rank + 1]; i++)
        if (!w->nodes[i].joins && !w->nodes[i].follows)
            sorted[n++] = &w->nodes[i];
    if (n)
        qsort(sorted, (size_t)n, sizeof *sorted, by_stage);
    for (int lane = 0; lane < w->nlanes; lane++) {
        for (int level = NOBODY; at < n && sorted[at]->lane == lane; at++) {
            if (sorted[at]->level != level)
                CLAB_TRY(clab_listing_begin_stage(listing));
            level = sorted[at]->level;
            CLAB_TRY(emit(w, sorted[at], listing));
        }
        clab_listing_end_program(listing);
    }
    return CLAB_OK;
}

static int list(struct lowering *w, struct clab_listing *listing)
{
    struct node **sorted = malloc(((size_t)w->n + 1) * sizeof *sorted);
    int err = sorted ? CLAB_OK : CLAB_ENOMEM;
    for (int rank = 0; rank < w->goal->nranks && !err; rank++)
        err = list_rank(w, rank, sorted, listing);
    free(sorted);
    if (!err)
        err = check_order(w);
    if (!err && w->goal->head && !(listing->head = strdup(w->goal->head)))
        err = CLAB_ENOMEM;
    return err ? err : clab_listing_close(listing, w->goal->path);
}

static int make_listing(struct lowering *w, struct clab_listing **listing_p)
{
    struct clab_listing *listing;
    struct clab_problem problem = {.collective = CLAB_BARRIER, .nranks = w->goal->nranks, .lanes = w->nlanes};
    CLAB_TRY(measure(w));
    int chunks = w->longest ? (int)(w->longest / w->unit) : 1;
    problem.count = w->unit * (size_t)chunks * (size_t)w->nlanes;
    CLAB_TRY(clab_listing_create(&problem, w->goal->name, &listing));
    listing->loose = true;
    listing->unit = w->unit;
    listing->chunks = chunks;
    int err = list(w, listing);
    if (err)
        clab_listing_free(listing);
    else
        *listing_p = listing;
    return err;
}

// ---- interface -----------------------------------------------------------------------------------------------

static int refuse_operation(const struct clab_goal *goal, const struct clab_goal_op *op, const char *why)
{
    clab_error("%s:%u: a schedule of stages %s; `commlab sim --goal` runs the file as it is", goal->path, op->line,
               why);
    return CLAB_EPARSE;
}

static int check_rank(const struct clab_goal *goal, int rank)
{
    const struct clab_goal_op *op = goal->ops + goal->ranks[rank].first;
    for (uint32_t i = 0; i < goal->ranks[rank].nops; i++, op++) {
        if (op->type == CLAB_GOAL_CALC && !op->cpu && !op->nic)
            continue;
        if (op->cpu || op->nic)
            return refuse_operation(goal, op, "has one cpu and one nic per rank, both 0");
        if (op->peer == CLAB_GOAL_ANY_PEER || op->tag == CLAB_GOAL_ANY_TAG)
            return refuse_operation(goal, op, "knows which message it receives, not any");
        if (op->peer == rank)
            return refuse_operation(goal, op, "has no message of a rank to itself");
    }
    return CLAB_OK;
}

// What stages have no place for, and how much of it.
static int check_operations(struct lowering *w)
{
    const struct clab_goal *goal = w->goal;
    if (goal->nops > MOST_OPS) {
        clab_error("%s: %zu operations, and at most %d become stages; `commlab sim --goal` runs them as they are",
                   w->goal->path, goal->nops, MOST_OPS);
        return CLAB_EPARSE;
    }
    for (int rank = 0; rank < goal->nranks; rank++)
        CLAB_TRY(check_rank(goal, rank));
    return CLAB_OK;
}

static int set_up(struct lowering *w)
{
    const struct clab_goal *goal = w->goal;
    CLAB_TRY(check_operations(w));
    w->nodes = calloc(goal->nops + 1, sizeof *w->nodes);
    w->first = calloc((size_t)goal->nranks + 1, sizeof *w->first);
    w->sends = calloc(goal->nops + 1, sizeof *w->sends);
    w->receives = calloc(goal->nops + 1, sizeof *w->receives);
    if (!w->nodes || !w->first || !w->sends || !w->receives)
        return CLAB_ENOMEM;
    CLAB_TRY(goal_order_make(goal, &w->order));
    for (int rank = 0; rank < goal->nranks; rank++) {
        const struct clab_goal_rank *r = &goal->ranks[rank];
        w->first[rank] = w->n;
        for (uint32_t i = 0; i < r->nops; i++, w->n++)
            w->nodes[w->n] = (struct node){.op = &goal->ops[r->first + (size_t)w->order.ops[r->first + i]],
                                           .rank = rank,
                                           .parent = w->n,
                                           .partner = NOBODY,
                                           .follower = NOBODY};
    }
    w->first[goal->nranks] = w->n;
    return CLAB_OK;
}

static int lower(struct lowering *w, struct clab_listing **listing_p)
{
    CLAB_TRY(set_up(w));
    CLAB_TRY(match(w));
    join_all(w);
    int *next = calloc((size_t)w->goal->nranks, sizeof *next);
    int err = next ? give_lanes(w, next) : CLAB_ENOMEM;
    free(next);
    CLAB_TRY(err);
    CLAB_TRY(find_stages(w));
    return make_listing(w, listing_p);
}

int clab_goal_lower(const struct clab_goal *goal, struct clab_listing **listing_p)
{
    struct lowering w = {.goal = goal, .nlanes = 1};
    int err = lower(&w, listing_p);
    if (err == CLAB_ENOMEM)
        clab_error("%s: its stages need more memory than there is", goal->path);
    goal_order_free(&w.order);
    free(w.nodes);
    free(w.first);
    free(w.sends);
    free(w.receives);
    return err;
}
