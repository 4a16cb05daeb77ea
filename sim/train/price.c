// SPDX-License-Identifier: MIT
// What a bucket's collective costs on the network, each size once.
//
// - By name, or by price: of all algorithms the one that the simulator finds fastest. Those that could not be faster
//   even if all links were the network's fastest are not simulated, nor those that take more than MESSAGES_AT_MOST
//   messages.
// - Ranks are alike only where they share a buffer equally. Where it would take many messages to simulate a buffer
//   that they do not, it is rounded up to the next that they do, by less than an element a chunk.

#include "sim/train/inside.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/err.h"
#include "core/base/log.h"
#include "core/base/nearest.h"
#include "core/base/vector.h"
#include "sim/engine/engine.h"
#include "sim/engine/in_network.h"
#include "sim/net/net.h"
#include "sim/sim.h"

#define MANY_MESSAGES    1e5
#define MESSAGES_AT_MOST 5e6

// ---- one algorithm -------------------------------------------------------------------------------------------

static struct clab_sim_options options_of(const struct train_price *price)
{
    return (struct clab_sim_options){.element_bytes = price->element_bytes,
                                     .in_place = price->collective == CLAB_ALLREDUCE};
}

static struct clab_problem problem_of(const struct clab_train *train, const struct train_price *price,
                                      const struct clab_algorithm *algorithm)
{
    struct clab_problem problem = {.collective = price->collective,
                                   .nranks = train->nranks,
                                   .lanes = algorithm ? algorithm->default_lanes : 1,
                                   .group = clab_net_group(train->net, train->nranks)};
    const size_t block = price->element_bytes * (size_t)clab_problem_blocks(&problem);
    problem.count = (price->bytes + block - 1) / block;
    return problem;
}

// Messages that have to be simulated; *folds_p: few ranks stand for all.
static double messages_of(const struct clab_net *net, const struct clab_problem *problem,
                          const struct clab_algorithm *algorithm, const struct clab_sim_options *options, bool *folds_p)
{
    int period;
    char why[CLAB_SIM_WHY];
    *folds_p = clab_engine_folds(problem, algorithm, net, options, &period, why);
    return *folds_p ? (double)algorithm->cost(problem).rounds * period : clab_engine_messages(problem, algorithm, 1);
}

// A buffer that ranks share equally, if that makes it simpler.
static double simplify(const struct clab_net *net, const struct clab_algorithm *algorithm,
                       const struct clab_sim_options *options, struct clab_problem *problem)
{
    bool folds;
    const double messages = messages_of(net, problem, algorithm, options, &folds);
    if (folds || messages < MANY_MESSAGES)
        return messages;
    struct clab_problem shared = *problem;
    const size_t chunks = (size_t)algorithm->chunks(problem) * (size_t)problem->lanes;
    shared.count = (problem->count + chunks - 1) / chunks * chunks;
    const double fewer = messages_of(net, &shared, algorithm, options, &folds);
    if (!folds)
        return messages;
    *problem = shared;
    return fewer;
}

static size_t sent_by(const struct train_price *price, const struct clab_problem *problem,
                      const struct clab_algorithm *algorithm)
{
    const double chunks = (double)algorithm->chunks(problem) * problem->lanes * clab_problem_blocks(problem);
    return (size_t)llround((double)price->bytes * (double)algorithm->cost(problem).sent_max / chunks);
}

// The price by `algorithm` in *price_p, if it is supported and less than what is there already.
static int try(const struct clab_train *train, const struct clab_algorithm *algorithm, double at_most,
               struct train_price *price_p)
{
    struct train_price price = *price_p;
    const struct clab_sim_options options = options_of(&price);
    struct clab_sim_result result;
    price.problem = problem_of(train, &price, algorithm);
    if (!algorithm->supports(&price.problem) || simplify(train->net, algorithm, &options, &price.problem) > at_most)
        return CLAB_OK;
    CLAB_TRY(clab_sim_run(&price.problem, algorithm, train->net, &options, &result));
    if (result.seconds >= price.seconds)
        return CLAB_OK;
    price.messages = clab_engine_messages(&price.problem, algorithm, 1);
    price.algorithm = algorithm;
    price.seconds = result.seconds;
    price.sent = sent_by(&price, &price.problem, algorithm);
    *price_p = price;
    return CLAB_OK;
}

// ---- the fastest ---------------------------------------------------------------------------------------------

static void note_fastest(const struct clab_link *link, double *alpha, double *beta)
{
    if (link->present) {
        *alpha = fmin(*alpha, link->alpha);
        *beta = fmin(*beta, link->beta);
    }
}

// No schedule is faster than its slowest lane would be alone, on the network's fastest links. 0 where links have
// protocols, of which alpha and beta do not tell all.
static double least_seconds(const struct clab_train *train, const struct train_price *price,
                            const struct clab_algorithm *algorithm)
{
    const struct clab_net *net = train->net;
    const struct clab_problem problem = problem_of(train, price, algorithm);
    double alpha = INFINITY, beta = INFINITY;
    if (net->nlevels || (net->intra.present && net->intra.nsegments > 1) ||
        (net->inter.present && net->inter.nsegments > 1))
        return 0;
    note_fastest(&net->intra, &alpha, &beta);
    note_fastest(&net->inter, &alpha, &beta);
    note_fastest(&net->pair, &alpha, &beta);
    const struct clab_cost cost = algorithm->cost(&problem);
    const double chunk = (double)(problem.count / (size_t)problem.lanes / (size_t)algorithm->chunks(&problem)) *
                         (double)price->element_bytes;
    return (double)cost.rounds * alpha + (double)cost.serial * chunk * beta;
}

// What takes few messages goes first, so that most of the others need not be simulated.
static int find_fastest(const struct clab_train *train, struct train_price *price)
{
    static const double at_most[] = {MANY_MESSAGES, MESSAGES_AT_MOST};
    for (int i = 0; i < 2; i++)
        for (const struct clab_algorithm *const *a = clab_algorithms; *a; a++)
            if ((*a)->collective == price->collective && least_seconds(train, price, *a) < price->seconds)
                CLAB_TRY(try(train, *a, at_most[i], price));
    if (price->algorithm)
        return CLAB_OK;
    clab_error("no algorithm of %s is known for %d ranks that needs less than %.0e messages to simulate",
               clab_collective_name(price->collective), train->nranks, MESSAGES_AT_MOST);
    return CLAB_EINVAL;
}

// ---- by name -------------------------------------------------------------------------------------------------

// The algorithm that is asked for; NULL: the fastest by price.
static const char *asked_for(const struct clab_train *train, size_t bytes)
{
    const struct clab_train_choice *choice = train->choices;
    while (choice && choice->up_to < bytes)
        choice++;
    const char *name = choice ? choice->algorithm : train->algorithm;
    return name && strcmp(name, "auto") ? name : NULL;
}

static int refuse(const char *name, const struct train_price *price)
{
    char names[512] = "";
    for (const struct clab_algorithm *const *a = clab_algorithms; *a; a++)
        if ((*a)->collective == price->collective)
            strcat(strcat(names, " "), (*a)->name);
    struct clab_nearest nearest = clab_nearest_to(name, strlen(name));
    clab_algorithm_offer(price->collective, &nearest);
    clab_error("%s has no algorithm '%s'%s; it has%s, in_network, or auto", clab_collective_name(price->collective),
               name, clab_nearest_hint(&nearest), names);
    return CLAB_ENOENT;
}

static int price_in_network(const struct clab_train *train, struct train_price *price)
{
    static const struct clab_algorithm switches = {.name = "in_network"};
    struct clab_sim_result result;
    const struct clab_problem problem = problem_of(train, price, NULL);
    CLAB_TRY(clab_sim_in_network(&problem, train->net, price->element_bytes, &result));
    price->algorithm = &switches;
    price->problem = problem;
    price->seconds = result.seconds;
    price->messages = INFINITY; // no rank has a clock
    price->sent = price->bytes;
    return CLAB_OK;
}

static int price_by_name(const struct clab_train *train, const char *name, struct train_price *price)
{
    if (strcmp(name, "in_network") == 0)
        return price_in_network(train, price);
    const struct clab_algorithm *algorithm = clab_algorithm_find(price->collective, name);
    if (!algorithm)
        return refuse(name, price);
    CLAB_TRY(try(train, algorithm, INFINITY, price));
    if (price->algorithm)
        return CLAB_OK;
    clab_error("%s does not support %d ranks", algorithm->name, train->nranks);
    return CLAB_EINVAL;
}

// ---- the book of prices --------------------------------------------------------------------------------------

static int add(struct train_prices *prices, const struct train_price *price)
{
    return CLAB_PUSH(prices->all, prices->n, prices->room, *price);
}

int train_price_find(struct train_prices *prices, const struct train_phase *phase, struct train_price *price_p)
{
    const struct clab_train *train = prices->train;
    for (int i = 0; i < prices->n; i++) {
        const struct train_price *p = &prices->all[i];
        if (p->collective == phase->collective && p->bytes == phase->bytes &&
            p->element_bytes == phase->element_bytes) {
            *price_p = *p;
            return CLAB_OK;
        }
    }
    struct train_price price = {.collective = phase->collective,
                                .bytes = phase->bytes,
                                .element_bytes = phase->element_bytes,
                                .seconds = INFINITY};
    // What a codec needs beside the allreduce is always chosen by price.
    const char *name = phase->collective == CLAB_ALLREDUCE ? asked_for(train, phase->bytes) : NULL;
    if (phase->bytes == 0)
        price.seconds = 0;
    else
        CLAB_TRY(name ? price_by_name(train, name, &price) : find_fastest(train, &price));
    CLAB_TRY(add(prices, &price));
    *price_p = price;
    return CLAB_OK;
}

void train_prices_free(struct train_prices *prices)
{
    free(prices->all);
    *prices = (struct train_prices){0};
}

int train_price_delayed(const struct clab_train *train, const struct train_price *price, const double *starts,
                        double *delays, double *ends)
{
    struct clab_sim_options options = options_of(price);
    struct clab_sim_result result;
    double first = INFINITY;
    for (int rank = 0; rank < train->nranks; rank++)
        first = fmin(first, starts[rank]);
    for (int rank = 0; rank < train->nranks; rank++)
        delays[rank] = starts[rank] - first;
    options.delays = delays;
    options.ends = ends;
    CLAB_TRY(clab_sim_run(&price->problem, price->algorithm, train->net, &options, &result));
    for (int rank = 0; rank < train->nranks; rank++)
        ends[rank] += first;
    return CLAB_OK;
}
