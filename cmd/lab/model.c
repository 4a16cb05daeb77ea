// SPDX-License-Identifier: MIT
// What the labs' models share, and which models there are.
//
// - A model is labs/NN-name/model.c. The build finds each one, and lists them all in LAB_MODELS (the Makefile).
// - An allreduce takes what the simulator says. Where ranks share cores, oversubscription.c says it instead.
// - Single messages take alpha + bytes * beta, as on the machine card: the closed forms of the labs' texts.

#include "cmd/lab/lab.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/err.h"
#include "sim/net/net.h"
#include "sim/net/topology.h"

// ---- which there are -----------------------------------------------------------------------------------------

#define DECLARE(folder, model) extern const struct lab_model model;
#define ENTRY(folder, model)   {folder, &model},
LAB_MODELS(DECLARE)

static const struct {
    const char *folder;
    const struct lab_model *model;
} models[] = {LAB_MODELS(ENTRY)};

const struct lab_model *lab_model_find(const char *folder)
{
    for (size_t i = 0; i < sizeof models / sizeof *models; i++)
        if (!strcmp(models[i].folder, folder))
            return models[i].model;
    return NULL;
}

// ---- progress ------------------------------------------------------------------------------------------------

enum clab_progress_kind lab_progress(const struct lab_context *context, int ranks, const char **why_p)
{
    const struct clab_progress_place place = {.job_ranks = ranks,
                                              .ranks = ranks,
                                              .cores = context->cores,
                                              .mover = context->is_exact     ? CLAB_MOVED_BY_ITSELF
                                                       : context->is_delayed ? CLAB_MOVED_BY_CLOCK
                                                                             : CLAB_MOVED_BY_CORES,
                                              .has_nap = context->has_nap};
    return clab_progress_rule(&place, why_p);
}

// ---- an allreduce --------------------------------------------------------------------------------------------

struct clab_problem lab_problem(const struct clab_algorithm *algorithm, int ranks, size_t bytes)
{
    return (struct clab_problem){.collective = algorithm->collective,
                                 .nranks = ranks,
                                 .lanes = algorithm->default_lanes,
                                 .count = bytes / clab_type_bytes(CLAB_F32)};
}

double lab_simulate(const struct clab_net *net, const struct clab_problem *problem,
                    const struct clab_algorithm *algorithm, struct clab_sim_options how)
{
    struct clab_sim_result result;
    struct clab_problem grouped = *problem;
    grouped.group = clab_net_group(net, problem->nranks);
    how.element_bytes = clab_type_bytes(CLAB_F32);
    return clab_sim_run(&grouped, algorithm, net, &how, &result) == CLAB_OK ? result.seconds : NAN;
}

double lab_predict(const struct lab_context *context, int ranks, enum clab_collective collective, const char *name,
                   size_t bytes, struct clab_sim_options how)
{
    const struct clab_algorithm *algorithm = clab_algorithm_find(collective, name);
    if (!algorithm || !context->net)
        return NAN;
    const struct clab_problem problem = lab_problem(algorithm, ranks, bytes);
    if (!algorithm->supports(&problem))
        return NAN;
    if (lab_oversubscribed(context, ranks))
        return lab_oversubscribed_predict(context, &problem, algorithm);
    const double without = context->machine ? lab_simulate(context->machine, &problem, algorithm, how) : 0;
    how.probed.line = lab_latency(context->probe, LAB_AFTER, ranks);
    return fmax(without, lab_simulate(context->net, &problem, algorithm, how));
}

double lab_predict_allreduce(const struct lab_context *context, int ranks, const char *algorithm, size_t bytes)
{
    return lab_predict(context, ranks, CLAB_ALLREDUCE, algorithm, bytes, lab_calls(context));
}

enum { CALLS = 16 }; // one after another: one more always adds the same

struct clab_sim_options lab_calls(const struct lab_context *context)
{
    return (struct clab_sim_options){.calls = context->is_exact ? 1 : CALLS};
}

// ---- single messages -----------------------------------------------------------------------------------------

enum { SHORT = 8, LONG = 1 << 20 };

static double exchange(const struct clab_net *net, size_t bytes)
{
    const struct clab_algorithm *algorithm = clab_algorithm_find(CLAB_SENDRECV, "shift");
    const struct clab_problem problem = lab_problem(algorithm, 2, bytes);
    return lab_simulate(net, &problem, algorithm, (struct clab_sim_options){.calls = CALLS});
}

struct lab_line lab_line_of(const struct clab_net *net, const struct clab_link *link)
{
    const bool is_profile = *net->date && link == &net->intra;
    if (!is_profile)
        return (struct lab_line){link->alpha, link->beta};
    const double first = exchange(net, SHORT), last = exchange(net, LONG);
    return (struct lab_line){first, (last - first) / (LONG - SHORT)};
}

double lab_predict_message(const struct clab_net *net, int from, int to, size_t bytes)
{
    const struct lab_line line = lab_line_of(net, clab_net_link(net, from, to));
    const double hop = net->topology.hop;
    return line.alpha + (double)bytes * line.beta + (hop > 0 ? clab_net_hops(net, from, to) * hop : 0);
}

double lab_predict_fan(const struct clab_net *net, int ranks, size_t bytes, double done[])
{
    double ports[2] = {0}; // within the node, to other nodes
    done[0] = 0;
    for (int r = 1; r < ranks; r++) {
        const struct clab_link *link = clab_net_link(net, 0, r);
        double *port = &ports[link != &net->intra && link != &net->pair];
        done[r] = *port += lab_predict_message(net, 0, r, bytes);
    }
    return fmax(ports[0], ports[1]);
}
