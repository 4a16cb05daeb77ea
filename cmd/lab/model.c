// SPDX-License-Identifier: MIT
// The models by which labs are predicted, before anything is measured.
//
// - algorithms  an allreduce of each size by each algorithm: time/ALGORITHM/BYTES is the simulator's, messages and
//               bytes_sent are counted on the schedule. "by_hand" is what lab 07's before writes out: every rank gets
//               every other's buffer, as in an alltoall, and then adds them up.
// - backends    two backends, each a line of alpha and beta (labs/04-gloo-vs-nccl/model.c).
// - noise       how sure an A/A test is after so many pairs (labs/00-noise/model.c).
// - reinit      a communicator made once, or each iteration (labs/01-reinit-comm/model.c).
// - straggler   a rank that does more than the others (labs/06-straggler/model.c).
// - fragment    buffers of a heap or an arena, registered (labs/05-fragmentation/model.c).
// - dataparallel  a step through rank 0, or of replicas (labs/03-dataparallel/model.c).
// - buckets     gradients averaged one by one, all at once, or in buckets (labs/08-buckets/model.c).
// - overlap     gradients reduced after the backward pass, or beside it (labs/02-no-overlap/model.c).
//
// Where ranks share cores, times are oversubscription.c's; in virtual time, where nothing is left to chance, exact.c's.

#include "cmd/lab/lab.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "core/base/err.h"
#include "sim/net/net.h"

extern const struct lab_model lab_model_backends, lab_model_buckets, lab_model_dataparallel, lab_model_fragment,
    lab_model_noise, lab_model_overlap, lab_model_reinit, lab_model_straggler;

static struct clab_problem problem_of(const struct clab_algorithm *algorithm, int ranks, size_t bytes)
{
    return (struct clab_problem){.collective = algorithm->collective,
                                 .nranks = ranks,
                                 .lanes = algorithm->default_lanes,
                                 .count = bytes / clab_type_bytes(CLAB_F32)};
}

// line: between the cores, in seconds (latency.c)
static double simulate(const struct clab_net *net, double line, const struct clab_problem *problem,
                       const struct clab_algorithm *algorithm)
{
    const struct clab_sim_options options = {
        .element_bytes = clab_type_bytes(CLAB_F32), .calls = 16, .look = {.line = line}};
    struct clab_sim_result result;
    return clab_sim_run(problem, algorithm, net, &options, &result) == CLAB_OK ? result.seconds : NAN;
}

double lab_predict_allreduce(const struct lab_context *context, int ranks, const char *name, size_t bytes)
{
    const struct clab_algorithm *algorithm = clab_algorithm_find(CLAB_ALLREDUCE, name);
    if (!algorithm || !context->net)
        return NAN;
    const struct clab_problem problem = problem_of(algorithm, ranks, bytes);
    if (context->is_virtual)
        return lab_exact_allreduce(context->net, ranks, name, bytes);
    if (lab_crowded(context, ranks))
        return lab_crowd_predict(context, &problem, algorithm);
    const double seconds = simulate(context->net, lab_line(context->probe, LAB_AFTER, ranks), &problem, algorithm);
    return context->machine ? fmax(seconds, simulate(context->machine, 0, &problem, algorithm)) : seconds;
}

// Everyone's buffer to everyone, then P - 1 additions out of one's own memory.
static double predict_by_hand(const struct lab_context *context, int ranks, size_t bytes)
{
    const struct clab_algorithm *algorithm = clab_algorithm_find(CLAB_ALLTOALL, "pairwise");
    if (!algorithm || !context->net)
        return NAN;
    if (context->is_virtual)
        return lab_exact_allreduce(context->net, ranks, NULL, bytes);
    if (lab_crowded(context, ranks))
        return lab_crowd_predict_by_hand(context, ranks, bytes);
    const struct clab_problem problem = problem_of(algorithm, ranks, bytes);
    const double line = lab_line(context->probe, LAB_BEFORE, ranks);
    const struct clab_net *core = context->is_emulated ? context->machine : context->net; // whose memory is added
    const double wire = simulate(context->net, line, &problem, algorithm);
    if (!core)
        return wire;
    const struct clab_level level =
        clab_net_level(clab_net_placed(core, (struct clab_look){.line = line}), (size_t)(ranks + 2) * bytes);
    return fmax(wire, context->machine ? simulate(core, 0, &problem, algorithm) : 0) +
           (ranks - 1.0) * (double)bytes * level.reduce[CLAB_KEPT][CLAB_BOTH];
}

static double predict_algorithms(const struct lab_context *context, enum lab_program program, int ranks,
                                 const char *quantity)
{
    char name[64], word[64];
    size_t bytes;
    if (sscanf(quantity, "%63[^/]/%63[^/]/%zu", name, word, &bytes) != 3)
        return NAN;
    const struct clab_algorithm *algorithm =
        clab_algorithm_find(CLAB_ALLREDUCE, program == LAB_BEFORE ? "naive" : word);
    if (!algorithm)
        return NAN;
    const struct clab_problem problem = problem_of(algorithm, ranks, bytes);
    if (!strcmp(name, "time"))
        return program == LAB_BEFORE ? predict_by_hand(context, ranks, bytes)
                                     : lab_predict_allreduce(context, ranks, word, bytes);
    if (!strcmp(name, "messages"))
        return lab_count(&problem, algorithm).messages;
    return !strcmp(name, "bytes_sent") ? lab_count(&problem, algorithm).bytes_sent : NAN;
}

// ---- all of them ---------------------------------------------------------------------------------------------

static const struct lab_model model_algorithms = {"algorithms", predict_algorithms};

bool lab_model_is_by_hand(const struct lab_model *model)
{
    return model == &model_algorithms;
}

const struct lab_model *lab_model_find(const char *name)
{
    static const struct lab_model *const models[] = {
        &model_algorithms, &lab_model_backends, &lab_model_buckets, &lab_model_dataparallel, &lab_model_fragment,
        &lab_model_noise,  &lab_model_overlap,  &lab_model_reinit,  &lab_model_straggler};
    for (size_t i = 0; i < sizeof models / sizeof *models; i++)
        if (!strcmp(models[i]->name, name))
            return models[i];
    return NULL;
}
