// SPDX-License-Identifier: MIT
// The state of a run of a GOAL program: run.c (the order of events), message.c (what messages do and cost), host.h
// (what operations wait for), match.h (which message is whose).
#pragma once

#include "core/schedule/formats/goal.h"
#include "sim/engine/corking.h"
#include "sim/engine/flows.h"
#include "sim/engine/loggp_cost.h"
#include "sim/engine/run_queue.h"
#include "sim/goal/host.h"
#include "sim/goal/match.h"
#include "sim/sim.h"

enum { RUN_NONE = -1 };
static const uint32_t run_no_operation = UINT32_MAX;

// Whatever begins is numbered, in the order of time: it is the *cause* of what it lets begin.
enum run_event_kind {
    RUN_BEGINS,  // a rank
    RUN_WAKES,   // a rank: something may be able to start
    RUN_ENDS,    // an operation of a rank
    RUN_POSTED,  // a message over shared links: its bytes begin to leave
    RUN_ARRIVES, // a message is at its receiver's adapter
    RUN_IS_IN,   // all of it has come in unasked
    RUN_TAKEN    // its receiver's core has taken it, unasked
};

struct run_event {
    enum run_event_kind kind;
    uint32_t rank;
    uint32_t item; // an operation, or a message
    int32_t next;  // of those that are free
    uint64_t cause;
};

struct run_message {
    uint32_t src, dst, tag, send; // send, receive: operations of their ranks; run_no_operation: none yet
    uint32_t receive;
    int32_t next; // of those that are free
    uint64_t size, cause;
    double head;          // s: when its first fragment is there
    double late;          // s: more, by links that are shared
    double posted, ready; // s: when its bytes began to leave; when its receive was posted
    uint8_t cpu, nic;     // of its send
    bool joins;           // of a socket: it leaves in one packet with an earlier one
};

struct run_ready {
    uint32_t rank, op;
    uint64_t cause;
};

struct run {
    const struct clab_goal *goal;
    const struct clab_net *net;
    uint32_t *left;     // (nops) how many each operation still waits for
    struct host *hosts; // (nranks)
    struct host_pool pool;
    struct match match;
    struct run_event *events;
    struct run_message *messages;
    size_t nevents, event_room, nmessages, message_room;
    int32_t spare_event, spare_message;
    struct run_queue queue;  // of events
    uint32_t *dirty, *freed; // ranks to look at; operations that wait for nothing any more
    struct run_ready *ready; // those of them that have not been handled yet
    size_t ndirty, dirty_room, nfreed, freed_room, nready, ready_room;
    struct loggp_costs costs;
    const struct clab_link *only; // between any two ranks; NULL: it depends
    double pull;                  // s/B of memory that is read
    struct flows *flows;          // NULL: no links are shared
    double *cores;                // (nodes * cores of a node) s: when each is free; NULL: each rank has its own
    int64_t *owners;              // (machine_cores) the ranks that have `cores`; NULL: nodes do not share cores
    double switch_cost;           // s, until another rank has such a core
    struct corking corking;       // where sockets buffer
    double now;
    uint64_t causes, orders; // so far
    size_t done;
    long sent;
};

static inline double run_later(double a, double b)
{
    return a > b ? a : b;
}

static inline const struct clab_goal_op *run_op(const struct run *run, uint32_t rank, uint32_t op)
{
    return &run->goal->ops[run->goal->ranks[rank].first + op];
}

// errors, of all that return int: CLAB_ENOMEM, not logged, or as stated
int run_open(struct run *run, const struct clab_sim_options *options);
void run_close(struct run *run);
size_t run_bytes(const struct run *run);

int run_event(struct run *run, double when, struct run_event event);
// When a core that the rank shares with others is free for it, 0 if it shares none.
double run_shared_core(const struct run *run, uint32_t rank);
int run_touch(struct run *run, uint32_t rank); // once all that happens now has happened, the rank is looked at

// What operation `op` of a rank lets go on as it begins, and as it ends, at run->now; its cause is `cause`.
int run_begun(struct run *run, uint32_t rank, uint32_t op, uint64_t cause);
int run_ended(struct run *run, uint32_t rank, uint32_t op, uint64_t cause);
// It waits in a rank's line for the resources of these ids (host.h) from run->now on.
struct run_work {
    enum host_work work;
    int a, b;
    uint32_t item;
    uint64_t cause;
};
int run_wait(struct run *run, uint32_t rank, struct run_work work);

// ---- message.c -----------------------------------------------------------------------------------------------

int run_ask_to_send(struct run *run, uint32_t rank, uint32_t op, uint64_t cause);
int run_send(struct run *run, uint32_t rank, uint32_t op, struct host_line line);
int run_post_receive(struct run *run, uint32_t rank, uint32_t op);
int run_receive(struct run *run, uint32_t index, struct host_line line);
int run_take(struct run *run, uint32_t index, struct host_line line);
int run_message_event(struct run *run, const struct run_event *event);
int run_end_flows(struct run *run, double when); // all that end then
