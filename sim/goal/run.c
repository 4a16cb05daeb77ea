// SPDX-License-Identifier: MIT
// Running a GOAL program: events in the order of time, and of what can start then, the one whose cause is oldest.
//
// - An operation is *ready* once nothing is left for which it waits. A calculation then waits for its core, a send for
//   what its link needs (message.c); a receive is posted at once.
// - All that happens at a time happens before anything starts then, so that it does not matter in which order.
// - Of operations that become ready together, sends go first, then receives, then calculations, as in LogGOPSim.
// Source: Hoefler, Schneider and Lumsdaine 2010, "LogGOPSim", for the rules; the code is this kit's.

#include "sim/goal/run.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/clock.h"
#include "core/base/err.h"
#include "core/base/log.h"
#include "core/base/vector.h"

// ---- events --------------------------------------------------------------------------------------------------

// As many as a run_queue has room for.
enum { MOST_EVENTS = 1 << 24 };

static int refuse_events(const struct run *run)
{
    clab_error("%s: more than %d operations and messages are on their way at once: run it for fewer ranks",
               run->goal->path, MOST_EVENTS);
    return CLAB_EINVAL;
}

int run_event(struct run *run, double when, struct run_event event)
{
    int32_t i = run->spare_event;
    if (i != RUN_NONE) {
        run->spare_event = run->events[i].next;
    } else {
        if (run->nevents == MOST_EVENTS)
            return refuse_events(run);
        CLAB_TRY(CLAB_RESERVE(run->events, run->event_room, run->nevents + 1));
        i = (int32_t)run->nevents++;
        if (!run_queue_reserve(&run->queue, i + 1))
            return CLAB_ENOMEM;
    }
    run->events[i] = event;
    run_queue_push(&run->queue, run_later(when, run->now), i);
    return CLAB_OK;
}

int run_touch(struct run *run, uint32_t rank)
{
    if (run->hosts[rank].is_dirty)
        return CLAB_OK;
    run->hosts[rank].is_dirty = 1;
    return CLAB_PUSH(run->dirty, run->ndirty, run->dirty_room, rank);
}

int run_wait(struct run *run, uint32_t rank, struct run_work work)
{
    struct host_line *line;
    const struct host_waiting waiting = {
        .turn = HOST_WORKS * work.cause + work.work, .order = run->orders++, .item = work.item};
    CLAB_TRY(host_find_line(&run->hosts[rank], work.work, work.a, work.b, &line));
    CLAB_TRY(host_wait(&run->pool, line, waiting));
    return run_touch(run, rank);
}

// ---- operations ----------------------------------------------------------------------------------------------

static int wait_for_core(struct run *run, uint32_t rank, uint32_t op, uint64_t cause)
{
    const int core = host_port(HOST_CORE, 0, run_op(run, rank, op)->cpu);
    return run_wait(run, rank, (struct run_work){HOST_CALC, core, HOST_NONE, op, cause});
}

static int become_ready(struct run *run, uint32_t rank, uint32_t op, uint64_t cause)
{
    switch ((enum clab_goal_type)run_op(run, rank, op)->type) {
    case CLAB_GOAL_SEND: return run_ask_to_send(run, rank, op, cause);
    case CLAB_GOAL_RECV: return run_post_receive(run, rank, op);
    default: return wait_for_core(run, rank, op, cause);
    }
}

// Handles what is ready, and what that makes ready.
static int handle_ready(struct run *run)
{
    for (size_t i = 0; i < run->nready; i++) {
        const struct run_ready ready = run->ready[i];
        CLAB_TRY(become_ready(run, ready.rank, ready.op, ready.cause));
    }
    run->nready = 0;
    return CLAB_OK;
}

// Those that were freed are ready, by their types.
static int release(struct run *run, uint32_t rank, uint64_t cause)
{
    const uint64_t types = run->nfreed > 1 ? CLAB_GOAL_CALC + 1 : 1; // one alone needs no order
    for (uint64_t type = 0; type < types; type++)
        for (size_t i = 0; i < run->nfreed; i++) {
            const struct run_ready ready = {rank, run->freed[i], cause};
            if (types == 1 || run_op(run, rank, ready.op)->type == type)
                CLAB_TRY(CLAB_PUSH(run->ready, run->nready, run->ready_room, ready));
        }
    run->nfreed = 0;
    return CLAB_OK;
}

static int let_go_on(struct run *run, uint32_t rank, uint32_t op, uint32_t begun, uint64_t cause)
{
    const struct clab_goal *goal = run->goal;
    const size_t first = goal->ranks[rank].first, at = first + op;
    for (uint32_t f = goal->after[at]; f < goal->after[at + 1]; f++)
        if (goal->followers[f] % 2 == begun && --run->left[first + goal->followers[f] / 2] == 0)
            CLAB_TRY(CLAB_PUSH(run->freed, run->nfreed, run->freed_room, goal->followers[f] / 2));
    return run->nfreed > 0 ? release(run, rank, cause) : CLAB_OK;
}

int run_begun(struct run *run, uint32_t rank, uint32_t op, uint64_t cause)
{
    return let_go_on(run, rank, op, 1, cause);
}

int run_ended(struct run *run, uint32_t rank, uint32_t op, uint64_t cause)
{
    struct host *h = &run->hosts[rank];
    h->end = run_later(h->end, run->now);
    run->done++;
    CLAB_TRY(run_touch(run, rank));
    return let_go_on(run, rank, op, 0, cause);
}

static int calculate(struct run *run, uint32_t rank, uint32_t op, struct host_line line)
{
    struct host *h = &run->hosts[rank];
    const double seconds = ticks_round(run->costs.ticks, 1e-9 * (double)run_op(run, rank, op)->size);
    const double end = run->now + seconds;
    h->resources[line.a].free = end;
    host_spend(h, HOST_REDUCE, run->now, end);
    const uint64_t cause = run->causes++;
    CLAB_TRY(run_begun(run, rank, op, cause));
    if (seconds == 0)
        return run_ended(run, rank, op, cause);
    return run_event(run, end, (struct run_event){.kind = RUN_ENDS, .rank = rank, .item = op, .cause = cause});
}

// ---- starting ------------------------------------------------------------------------------------------------

// Of the cores that the ranks of a node share, the one that is free first.
static double *core_of_node(const struct run *run, uint32_t rank)
{
    const int per_node = run->net->cores_per_node;
    double *cores = run->cores + (size_t)(rank / (uint32_t)run->net->ranks_per_node) * (size_t)per_node, *least = cores;
    for (int i = 1; i < per_node; i++)
        if (cores[i] < *least)
            least = &cores[i];
    return least;
}

// Containers of one machine: a rank keeps its core until it has to wait (sim/engine/full.c).
double run_shared_core(const struct run *run, uint32_t rank)
{
    if (!run->cores)
        return 0;
    if (!run->owners)
        return *core_of_node(run, rank);
    const uint32_t core = rank % (uint32_t)run->net->machine_cores;
    return run->cores[core] + (run->owners[core] == rank ? 0 : run->switch_cost);
}

// From `end` on the core is free.
static void use_core(struct run *run, uint32_t rank, double end)
{
    if (!run->cores)
        return;
    if (!run->owners) {
        *core_of_node(run, rank) = end;
        return;
    }
    const uint32_t core = rank % (uint32_t)run->net->machine_cores;
    run->cores[core] = end;
    run->owners[core] = rank;
}

static bool uses_core(const struct host *h, const struct host_line *line)
{
    return line->a != HOST_NONE && h->resources[line->a].id >> 9 == HOST_CORE;
}

// When the head of a line can start.
static double ready_at(const struct run *run, uint32_t rank, const struct host_line *line)
{
    const struct host *h = &run->hosts[rank];
    double when = line->a == HOST_NONE ? h->begin : h->resources[line->a].free;
    if (line->b != HOST_NONE)
        when = run_later(when, h->resources[line->b].free);
    return uses_core(h, line) ? run_later(when, run_shared_core(run, rank)) : when;
}

static bool is_older(const struct run *run, const struct host_line *a, const struct host_line *b)
{
    const struct host_waiting *x = &run->pool.all[a->head], *y = &run->pool.all[b->head];
    return x->turn < y->turn || (x->turn == y->turn && x->order < y->order);
}

// The line whose head starts now; NULL: none can. *next_p: when one will.
static struct host_line *choose(const struct run *run, uint32_t rank, double *next_p)
{
    const struct host *h = &run->hosts[rank];
    struct host_line *chosen = NULL;
    *next_p = INFINITY;
    for (struct host_line *line = h->lines; line < h->lines + h->nlines; line++) {
        if (line->head == HOST_NONE)
            continue;
        const double when = ready_at(run, rank, line);
        if (when > run->now)
            *next_p = when < *next_p ? when : *next_p;
        else if (!chosen || is_older(run, line, chosen))
            chosen = line;
    }
    return chosen;
}

static int start(struct run *run, uint32_t rank, struct host_line *line)
{
    const struct host_waiting waiting = host_leave(&run->pool, line);
    const struct host_line copy = *line; // more lines may come
    int err = copy.work == HOST_CALC   ? calculate(run, rank, waiting.item, copy)
              : copy.work == HOST_SEND ? run_send(run, rank, waiting.item, copy)
              : copy.work == HOST_TAKE ? run_take(run, waiting.item, copy)
                                       : run_receive(run, waiting.item, copy);
    if (uses_core(&run->hosts[rank], &copy))
        use_core(run, rank, run->hosts[rank].resources[copy.a].free);
    return err;
}

static int look_at(struct run *run, uint32_t rank)
{
    struct host *h = &run->hosts[rank];
    struct host_line *line;
    double next;
    h->is_dirty = 0;
    while ((line = choose(run, rank, &next))) {
        CLAB_TRY(start(run, rank, line));
        CLAB_TRY(handle_ready(run));
    }
    if (next >= h->wake || next == INFINITY)
        return CLAB_OK;
    h->wake = next;
    return run_event(run, next, (struct run_event){.kind = RUN_WAKES, .rank = rank});
}

// ---- the loop ------------------------------------------------------------------------------------------------

// What waits for nothing is ready when its rank begins.
static int begin_rank(struct run *run, uint32_t rank)
{
    const struct clab_goal_rank *r = &run->goal->ranks[rank];
    for (uint32_t op = 0; op < r->nops; op++)
        if (run->left[r->first + op] == 0)
            CLAB_TRY(CLAB_PUSH(run->freed, run->nfreed, run->freed_room, op));
    return release(run, rank, run->causes++);
}

static int handle(struct run *run, struct run_event event)
{
    struct host *h = &run->hosts[event.rank];
    switch (event.kind) {
    case RUN_BEGINS: return begin_rank(run, event.rank);
    case RUN_WAKES:
        if (h->wake <= run->now)
            h->wake = INFINITY;
        return run_touch(run, event.rank);
    case RUN_ENDS: return run_ended(run, event.rank, event.item, event.cause);
    default: return run_message_event(run, &event);
    }
}

static int next_event(struct run *run)
{
    int i;
    run_queue_pop(&run->queue, &i);
    const struct run_event event = run->events[i];
    memcpy(&run->now, &run->queue.items[i].when, sizeof run->now);
    run->events[i].next = run->spare_event;
    run->spare_event = i;
    CLAB_TRY(handle(run, event));
    return handle_ready(run);
}

// Whether something happens, still at run->now.
static bool more_now(const struct run *run)
{
    return run->queue.count > 0 && run_queue_first(&run->queue) <= run->now;
}

static int settle(struct run *run)
{
    for (size_t i = 0; i < run->ndirty; i++) // some come while others are looked at
        CLAB_TRY(look_at(run, run->dirty[i]));
    run->ndirty = 0;
    return CLAB_OK;
}

// Whether a flow is what ends next.
static bool flow_is_next(struct run *run, double *when_p)
{
    if (!run->flows || run->flows->n == 0)
        return false;
    *when_p = flows_next(run->flows);
    return run->queue.count == 0 || *when_p < run_queue_first(&run->queue);
}

static int run_all(struct run *run)
{
    double when;
    for (;;) {
        if (flow_is_next(run, &when)) {
            run->now = run_later(run->now, when);
            CLAB_TRY(run_end_flows(run, when));
            CLAB_TRY(handle_ready(run));
        } else if (run->queue.count > 0) {
            CLAB_TRY(next_event(run));
        } else if (run->ndirty == 0) {
            return CLAB_OK;
        }
        if (!more_now(run))
            CLAB_TRY(settle(run));
    }
}

static int begin(struct run *run)
{
    for (int rank = 0; rank < run->goal->nranks; rank++)
        CLAB_TRY(
            run_event(run, run->hosts[rank].begin, (struct run_event){.kind = RUN_BEGINS, .rank = (uint32_t)rank}));
    return run_all(run);
}

// ---- the answer ----------------------------------------------------------------------------------------------

static int refuse_receive(const struct run *run, const struct match_entry *entry)
{
    const uint32_t rank = entry->key.dst;
    const struct clab_goal_op *op = run_op(run, rank, entry->item);
    char who[32] = "any rank";
    if (op->peer != CLAB_GOAL_ANY_PEER)
        snprintf(who, sizeof who, "rank %d", op->peer);
    clab_error("%s:%u: rank %u waits here for ever: %s sends no such message, or waits in a circle itself",
               run->goal->path, op->line, rank, who);
    return CLAB_EDEADLOCK;
}

static int refuse_message(const struct run *run, const struct match_entry *entry)
{
    const struct run_message *m = &run->messages[entry->item];
    clab_error("%s:%u: rank %u: rank %u never receives this message", run->goal->path,
               run_op(run, m->src, m->send)->line, m->src, m->dst);
    return CLAB_EDEADLOCK;
}

// All operations have ended, and all messages have been received.
static int check_end(const struct run *run)
{
    struct match_entry entry;
    if (match_left(&run->match, MATCH_RECEIVES, &entry))
        return refuse_receive(run, &entry);
    if (match_left(&run->match, MATCH_MESSAGES, &entry))
        return refuse_message(run, &entry);
    return CLAB_OK;
}

static void fill(const struct run *run, const struct clab_sim_options *options, struct clab_sim_result *result)
{
    const struct host *slowest = &run->hosts[0];
    for (const struct host *h = run->hosts; h < run->hosts + run->goal->nranks; h++)
        slowest = h->end > slowest->end ? h : slowest;
    *result = (struct clab_sim_result){.seconds = slowest->end,
                                       .whole = slowest->end,
                                       .latency = slowest->spent[HOST_LATENCY],
                                       .bandwidth = slowest->spent[HOST_BANDWIDTH],
                                       .reduce = slowest->spent[HOST_REDUCE],
                                       .engine = CLAB_ENGINE_EVENTS,
                                       .messages = run->sent,
                                       .ranks = run->goal->nranks,
                                       .peak_bytes = run_bytes(run)};
    result->wait = run_later(0, result->seconds - result->latency - result->bandwidth - result->reduce);
    for (int rank = 0; options->ends && rank < run->goal->nranks; rank++)
        options->ends[rank] = run->hosts[rank].end;
}

static int check(const struct clab_goal *goal, const struct clab_net *net, const struct clab_sim_options *options)
{
    if (options->calls > 1 || options->record) {
        clab_error("%s: operations run once, one by one: neither several calls nor a record can be had of them",
                   goal->path);
        return CLAB_EINVAL;
    }
    return clab_net_check_ranks(net, goal->nranks);
}

int clab_sim_goal(const struct clab_goal *goal, const struct clab_net *net, const struct clab_sim_options *options,
                  struct clab_sim_result *result_p)
{
    struct run run = {.goal = goal, .net = net};
    const double start = clab_now();
    CLAB_TRY(check(goal, net, options));
    int err = run_open(&run, options);
    if (!err)
        err = begin(&run);
    if (!err)
        err = check_end(&run);
    if (err == CLAB_ENOMEM)
        clab_error("%s: to run it takes more memory than there is", goal->path);
    if (!err) {
        fill(&run, options, result_p);
        snprintf(result_p->why, sizeof result_p->why, "operations one by one");
        result_p->engine_seconds = clab_now() - start;
    }
    run_close(&run);
    return err;
}
