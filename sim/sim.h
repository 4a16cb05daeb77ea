// SPDX-License-Identifier: MIT
// The simulator: what a schedule costs on a described network. Prices the very stage() functions that the executor
// runs.
//
// - closed form: cost() times alpha, beta, gamma. What a student derives on paper.
// - folded: the dataflow of a few ranks that stand for all, where schedule and network are symmetric: to the bit, full.
// - operations: of GOAL, and of every schedule on a LogGP network, one by one (sim/goal).
// - full: the dataflow, a clock per rank, run to block, over a piecewise LogGP network; sees skew and protocols.
// - A network is a text file, sim/nets/NAME.net, or a profile in the same format that `commlab fit` wrote.
#pragma once

#include "sim/net/net.h"
#include "core/schedule/schedule.h"
#include "core/base/type.h"

struct clab_record;
struct clab_goal;

// The network called `name` (sim/nets/NAME.net; "machine": what `commlab fit` wrote), or the file at that path.
//   errors: CLAB_ENOENT, CLAB_EPARSE; the logged line names file, line, what was expected
int clab_net_load(const char *name, struct clab_net **net_p);

// This machine's own profile of a backend. That it is missing or broken is no error, but a reason to predict nothing.
//   out:    *net_p, NULL without one; `why` then: what is wrong, and the remedy
//   errors: CLAB_ENOMEM
enum { CLAB_NET_WHY = 1024 };
int clab_net_load_profile(const char *backend, char why[CLAB_NET_WHY], struct clab_net **net_p);
void clab_net_free(struct clab_net *net);

#define CLAB_SIM_ENGINES(X)         \
    X(CLAB_ENGINE_AUTO, "auto")     \
    X(CLAB_ENGINE_CLOSED, "closed") \
    X(CLAB_ENGINE_FOLDED, "folded") \
    X(CLAB_ENGINE_FULL, "full")     \
    X(CLAB_ENGINE_EVENTS, "events")

#define X(name, text) name,
enum clab_sim_engine { CLAB_SIM_ENGINES(X) CLAB_ENGINES };
#undef X

const char *clab_sim_engine_name(enum clab_sim_engine engine);

// What is priced besides the problem itself.
struct clab_sim_options {
    enum clab_sim_engine engine;
    size_t element_bytes;  // of the problem's count
    bool in_place;         // out-of-place runs touch `in` first, and may copy it
    int calls;             // back-to-back calls; the mean time of one is the result (throughput mode). 0 is 1
    const double *delays;  // (nranks) s after which each rank begins: stragglers; NULL: all at once
    double compute;        // s of each rank's core before each call
    const int *members;    // (nranks) which of the network's ranks they are; NULL: the first
    double *ends;          // (nranks) s: filled with when each rank has ended its last call; NULL: nobody asks
    size_t footprint;      // bytes all ranks touch together; 0: what this problem's programs touch, or, if they are
                           // long, the ranks' in, out and scratch memory
    size_t core_footprint; // of them what one core touches; 0: the same, or not known
    size_t core_writes;    // and what it writes
    // Such a call has just ended: no port has anything left to let go ahead (net.h, burst), and what it wrote in place
    // is fresh.
    bool busy;
    double pause; // s between the end of that call and the begin of the first: what ports let go ahead comes back
    struct clab_placement_sample probed; // predict for this placement (net.h); zeros: the one of the fit
    bool force;                          // simulate more than 50 million messages, too
    struct clab_record *record;          // to be filled (record.h), also after an error; or NULL
};

enum { CLAB_SIM_WHY = 128 };

struct clab_sim_result {
    double seconds;                          // predicted time of one call, the slowest rank's
    double whole;                            // s until the last of all calls has ended, from a common start
    double latency, bandwidth, reduce, wait; // where it goes, on the critical rank; they add up to seconds
    enum clab_sim_engine engine;             // that answered: never AUTO
    char why[CLAB_SIM_WHY];                  // this engine, in a few words
    double engine_seconds;                   // what the prediction itself cost
    long messages;                           // that were simulated
    int ranks;                               // likewise: folded, those that stand for all
    size_t peak_bytes;                       // memory of the engine
};

//   errors: CLAB_EINVAL, CLAB_EDEADLOCK, CLAB_ENOMEM
int clab_sim_run(const struct clab_problem *problem, const struct clab_algorithm *algorithm, const struct clab_net *net,
                 const struct clab_sim_options *options, struct clab_sim_result *result_p);

// The same of a GOAL program (core/schedule/formats/goal.h), operation by operation: it need not be a schedule. Of the
// options: delays, compute, ends.
//   errors: CLAB_EINVAL, CLAB_EPARSE (logged: a message is larger than its receive), CLAB_EDEADLOCK (logged: a message or
//           receive without the other), CLAB_ENOMEM
int clab_sim_goal(const struct clab_goal *goal, const struct clab_net *net, const struct clab_sim_options *options,
                  struct clab_sim_result *result_p);
