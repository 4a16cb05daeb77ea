// SPDX-License-Identifier: MIT
// clab_sim_run: check the question, choose the engine, time it.

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "core/base/clock.h"
#include "core/base/err.h"
#include "core/base/log.h"
#include "core/base/units.h"
#include "sim/engine/engine.h"
#include "sim/net/members.h"
#include "sim/engine/slices.h"
#include "sim/engine/touched.h"
#include "sim/net/topology.h"
#include "core/schedule/formats/goal.h"

// Above this many messages full and events would take more than some seconds; they do 10 million a second among
// thousands of ranks, 2 among a million.
#define MESSAGES_AT_MOST  5e7
#define MESSAGES_A_SECOND 5e6
// Of a LogGP network, whose operations are kept: messages, and bytes for each.
#define OPERATIONS_AT_MOST 1e7
#define MESSAGE_BYTES      200
// A run queue holds so many (rank, lane) pairs by time.
enum { LANES_AT_MOST = 1 << 24 };
// So many are recorded of all ranks, also where a few would stand for them.
#define MESSAGES_SHOWN 1e5

// Bytes of all ranks' buffers, and of the algorithm's scratch memory.
static size_t footprint_of(const struct clab_problem *p, const struct clab_algorithm *algorithm,
                           const struct clab_sim_options *options)
{
    size_t blocks = (size_t)p->nranks * (size_t)algorithm->scratch(p);
    for (int rank = 0; rank < p->nranks; rank++)
        blocks += (size_t)clab_problem_buffer_blocks(p, rank, options->in_place);
    return blocks * p->count * options->element_bytes;
}

// Programs say what they touch; longer ones would take longer to compile than to simulate.
enum { PROGRAM_MESSAGES_AT_MOST = 10000 };

static int find_footprint(const struct clab_problem *p, const struct clab_algorithm *algorithm,
                          struct clab_sim_options *options)
{
    struct touched touched;
    options->footprint = footprint_of(p, algorithm, options);
    if (p->listing || algorithm->cost(p).messages_max > PROGRAM_MESSAGES_AT_MOST)
        return CLAB_OK;
    struct clab_log_held held; // what can not be run can be priced
    clab_log_hold(&held);
    const int err = touched_by(p, algorithm, options->in_place, options->element_bytes, &touched);
    clab_log_release(&held);
    if (err == CLAB_OK) {
        options->footprint = touched.all;
        options->core_footprint = touched.core;
        options->core_writes = touched.written;
    }
    return err == CLAB_EUNSUPPORTED ? CLAB_OK : err;
}

double clab_engine_messages(const struct clab_problem *p, const struct clab_algorithm *algorithm, int calls)
{
    const struct clab_cost cost = algorithm->cost(p);
    const double by_rounds = (double)cost.rounds * p->lanes, by_rank = (double)cost.messages_max;
    return fmin(fmin(by_rounds, by_rank) * p->nranks, (double)cost.sent_total) * (calls > 1 ? calls : 1);
}

static int check(const struct clab_problem *problem, const struct clab_algorithm *algorithm, const struct clab_net *net,
                 const struct clab_sim_options *options)
{
    CLAB_TRY(clab_problem_check(problem, algorithm));
    if (problem->lanes > SIM_MAX_LANES) {
        clab_error("the simulator has at most %d lanes, not %d", SIM_MAX_LANES, problem->lanes);
        return CLAB_EINVAL;
    }
    if (problem->lanes > 1 && problem->nranks > LANES_AT_MOST / problem->lanes) {
        clab_error("the simulator has at most %d lanes of all ranks together, not %d of each of %d ranks", LANES_AT_MOST,
                   problem->lanes, problem->nranks);
        return CLAB_EINVAL;
    }
    if (options->element_bytes == 0) {
        clab_error("an element of 0 bytes can not be priced");
        return CLAB_EINVAL;
    }
    for (int rank = 0; rank < problem->nranks && options->delays; rank++)
        if (!(options->delays[rank] >= 0)) {
            clab_error("rank %d can not begin before the others do; its delay is %g s", rank, options->delays[rank]);
            return CLAB_EINVAL;
        }
    return clab_net_check_ranks(net, clab_members_reach(options->members, problem->nranks));
}

// ---- which engine --------------------------------------------------------------------------------------------

static const char *const engine_names[] = {
#define X(name, text) text,
    CLAB_SIM_ENGINES(X)
#undef X
};

const char *clab_sim_engine_name(enum clab_sim_engine engine)
{
    return engine_names[engine];
}

// Whether the formula is the whole truth: one link without protocols, no caches, one call.
static bool closed_knows(const struct clab_problem *problem, const struct clab_net *net,
                         const struct clab_sim_options *options)
{
    bool one_link = net->ranks_per_node == 1 || problem->nranks <= net->ranks_per_node;
    const struct clab_link *link = problem->nranks > net->ranks_per_node ? &net->inter : &net->intra;
    return one_link && clab_net_is_even(net, problem->nranks) && !clab_net_shares_links(net, problem->nranks) &&
           !clab_net_shares_cores(net, problem->nranks) && !clab_net_shares_machine(net, NULL, problem->nranks) &&
           link->nsegments == 1 && strcmp(link->segments[0].name, "hockney") == 0 && net->nlevels == 0 &&
           net->call == 0 && net->stage == 0 && problem->lanes == 1 && options->calls <= 1 && !options->members &&
           !options->delays && options->compute == 0;
}

struct choice {
    enum clab_sim_engine engine;
    int period; // folded
    char why[CLAB_SIM_WHY];
};

static const char *duration_text(double seconds, char text[CLAB_TEXT])
{
    if (seconds < 120)
        snprintf(text, CLAB_TEXT, "%.0f s", seconds);
    else if (seconds < 7200)
        snprintf(text, CLAB_TEXT, "%.0f min", seconds / 60);
    else
        snprintf(text, CLAB_TEXT, "%.0f h", seconds / 3600);
    return text;
}

static int check_messages(const struct clab_algorithm *algorithm, double messages,
                          const struct clab_sim_options *options, const char *why)
{
    char text[CLAB_TEXT];
    const bool is_chosen = options->engine == CLAB_ENGINE_FULL || options->engine == CLAB_ENGINE_EVENTS;
    if (messages <= MESSAGES_AT_MOST || options->force)
        return CLAB_OK;
    clab_error("%s: %.1e messages would be simulated one by one (%s), in about %s; %s, --force does it all the same",
               algorithm->name, messages, why, duration_text(messages / MESSAGES_A_SECOND, text),
               is_chosen ? "--engine auto looks for a shorter way" : "--engine closed has a formula's answer");
    return CLAB_EINVAL;
}

// LogGP is of operations: a schedule becomes a program of them.
static int choose_operations(const struct clab_problem *problem, const struct clab_algorithm *algorithm,
                             const struct clab_net *net, const struct clab_sim_options *options, struct choice *choice)
{
    if (options->engine != CLAB_ENGINE_AUTO && options->engine != CLAB_ENGINE_EVENTS) {
        clab_error("network '%s' is LogGP: engine %s has no such ports; --engine events runs the operations one by one",
                   net->name, clab_sim_engine_name(options->engine));
        return CLAB_EINVAL;
    }
    if (options->record || (options->calls > 1 && options->compute > 0)) {
        clab_error("network '%s' is LogGP, priced operation by operation: drop %s, or name another network", net->name,
                   options->record ? "--why and --trace" : "--compute or --calls");
        return CLAB_EINVAL;
    }
    const double messages = clab_engine_messages(problem, algorithm, options->calls);
    if (messages > OPERATIONS_AT_MOST && !options->force) {
        clab_error(
            "%s: the operations of %.1e messages would be kept, in about %.0f GB; --engine closed has a formula's "
            "answer, --force does it all the same",
            algorithm->name, messages, 1e-9 * MESSAGE_BYTES * messages);
        return CLAB_EINVAL;
    }
    choice->engine = CLAB_ENGINE_EVENTS;
    snprintf(choice->why, sizeof choice->why, "LogGP: operations one by one");
    return CLAB_OK;
}

static int choose(const struct clab_problem *problem, const struct clab_algorithm *algorithm,
                  const struct clab_net *net, const struct clab_sim_options *options, struct choice *choice)
{
    char why_not[CLAB_SIM_WHY];
    choice->engine = options->engine;
    snprintf(choice->why, sizeof choice->why, "chosen by --engine");
    if (options->engine == CLAB_ENGINE_CLOSED && options->record) {
        clab_error("the closed form has no messages to record; --engine full has");
        return CLAB_EINVAL;
    }
    if (options->engine == CLAB_ENGINE_CLOSED)
        return CLAB_OK;
    if (clab_net_is_loggp(net))
        return choose_operations(problem, algorithm, net, options, choice);
    double messages = clab_engine_messages(problem, algorithm, options->calls);
    if (options->engine != CLAB_ENGINE_AUTO && options->engine != CLAB_ENGINE_FOLDED)
        return check_messages(algorithm, messages, options, choice->why);
    bool folds = clab_engine_folds(problem, algorithm, net, options, &choice->period, why_not);
    if (folds && options->record && options->engine == CLAB_ENGINE_AUTO && messages <= MESSAGES_SHOWN) {
        choice->engine = CLAB_ENGINE_FULL;
        snprintf(choice->why, sizeof choice->why, "all ranks are recorded");
        return CLAB_OK;
    }
    if (folds) {
        choice->engine = CLAB_ENGINE_FOLDED;
        snprintf(choice->why, sizeof choice->why, "ranks are alike");
        return CLAB_OK;
    }
    const int reach = clab_members_reach(options->members, problem->nranks);
    bool links = clab_net_shares_links(net, reach),
         cores = clab_net_shares_cores(net, reach) || clab_net_shares_machine(net, options->members, problem->nranks);
    choice->engine = links || cores ? CLAB_ENGINE_EVENTS : CLAB_ENGINE_FULL;
    snprintf(choice->why, sizeof choice->why, "%s",
             links   ? "ranks share links"
             : cores ? "ranks share cores"
                     : why_not);
    if (messages > MESSAGES_AT_MOST && !options->force && !options->record && closed_knows(problem, net, options)) {
        choice->engine = CLAB_ENGINE_CLOSED;
        snprintf(choice->why, sizeof choice->why, "%.1e messages are too many to simulate", messages);
        return CLAB_OK;
    }
    return check_messages(algorithm, messages, options, choice->why);
}

static int run_calls(const struct clab_problem *problem, const struct clab_algorithm *algorithm,
                     const struct clab_net *net, const struct clab_sim_options *options, int calls,
                     struct clab_sim_result *result_p)
{
    struct clab_goal *goal;
    struct clab_sim_options once = *options;
    once.calls = 1; // of the program
    CLAB_TRY(clab_goal_of(problem, algorithm, options->element_bytes, net->gamma, calls, &goal));
    const int err = clab_sim_goal(goal, net, &once, result_p);
    clab_goal_free(goal);
    return err;
}

// Of several calls, what one more adds once they follow each other steadily: the later half.
static int run_operations(const struct clab_problem *problem, const struct clab_algorithm *algorithm,
                          const struct clab_net *net, const struct clab_sim_options *options,
                          struct clab_sim_result *result_p)
{
    const int calls = options->calls > 1 ? options->calls : 1, first = calls / 2;
    struct clab_sim_result half = {0};
    if (first > 0)
        CLAB_TRY(run_calls(problem, algorithm, net, options, first, &half));
    CLAB_TRY(run_calls(problem, algorithm, net, options, calls, result_p));
    const double seconds = (result_p->seconds - half.seconds) / (calls - first);
    const double share = result_p->seconds > 0 ? seconds / result_p->seconds : 0;
    result_p->seconds = seconds;
    result_p->latency *= share;
    result_p->bandwidth *= share;
    result_p->reduce *= share;
    result_p->wait *= share;
    return CLAB_OK;
}

static int answer(const struct choice *choice, const struct clab_problem *problem,
                  const struct clab_algorithm *algorithm, const struct clab_net *net,
                  const struct clab_sim_options *options, struct clab_sim_result *result_p)
{
    if (choice->engine == CLAB_ENGINE_CLOSED)
        return clab_engine_closed(problem, algorithm, net, options, result_p);
    if (clab_net_is_loggp(net))
        return run_operations(problem, algorithm, net, options, result_p);
    if (choice->engine == CLAB_ENGINE_FOLDED)
        return clab_engine_folded(problem, algorithm, net, options, choice->period, result_p);
    if (choice->engine == CLAB_ENGINE_EVENTS)
        return clab_engine_events(problem, algorithm, net, options, result_p);
    return clab_engine_full(problem, algorithm, net, options, result_p);
}

int clab_sim_run(const struct clab_problem *problem, const struct clab_algorithm *algorithm, const struct clab_net *net,
                 const struct clab_sim_options *options, struct clab_sim_result *result_p)
{
    CLAB_TRY(check(problem, algorithm, net, options));
    struct clab_sim_options o = *options;
    struct clab_sim_result result = {0};
    struct clab_net placed;
    struct choice choice;
    double begin = clab_now();
    clab_net_place(net, options->probed, &placed);
    if (o.members && clab_members_are_plain(o.members, problem->nranks, &placed))
        o.members = NULL;
    CLAB_TRY(choose(problem, algorithm, &placed, &o, &choice));
    if (o.footprint == 0 && placed.nlevels > 0)
        CLAB_TRY(find_footprint(problem, algorithm, &o));
    CLAB_TRY(answer(&choice, problem, algorithm, &placed, &o, &result));
    result.engine = choice.engine;
    memcpy(result.why, choice.why, sizeof result.why);
    result.engine_seconds = clab_now() - begin;
    *result_p = result;
    return CLAB_OK;
}
