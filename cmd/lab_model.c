// SPDX-License-Identifier: MIT
// The models by which labs are predicted, before anything is measured.
//
// - algorithms  an allreduce of each size by each algorithm: time/ALGORITHM/BYTES is the simulator's; messages and
//               bytes_sent are counted on the schedule. "by_hand" is the naive schedule, written out by the program.
// - reinit      a communicator made once, or each iteration (lab_reinit.c).

#include "lab.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"

extern const struct lab_model lab_model_reinit;

double lab_predict_allreduce(const struct lab_context *context, int ranks, const char *algorithm, size_t bytes)
{
    const struct clab_algorithm *found = clab_algorithm_find(CLAB_ALLREDUCE, algorithm);
    const size_t element = clab_type_bytes(CLAB_F32);
    struct clab_sim_result result;
    if (!found || !context->net)
        return NAN;
    const struct clab_problem problem = {CLAB_ALLREDUCE, ranks, 0, found->default_lanes, 0, bytes / element};
    const struct clab_sim_options options = {.element_bytes = element, .calls = 16};
    if (clab_sim_run(&problem, found, context->net, &options, &result) != CLAB_OK)
        return NAN;
    return result.seconds * fmax(1, (double)ranks / context->cores);
}

// ---- algorithms ----------------------------------------------------------------------------------------------

struct sent {
    double messages, bytes;
};

// What `rank` sends in one call of `problem`: its stages, walked.
static struct sent count_sent(const struct clab_problem *problem, const struct clab_algorithm *algorithm, int rank,
                              struct clab_step *steps)
{
    const int chunks = algorithm->chunks(problem);
    struct sent sent = {0};
    for (int lane = 0; lane < problem->lanes; lane++)
        for (int stage = 0, n; (n = algorithm->stage(problem, rank, lane, stage, steps)) != CLAB_DONE; stage++)
            for (int i = 0; i < n; i++) {
                const struct clab_span span = steps[i].src;
                size_t start;
                if (steps[i].op != CLAB_SEND)
                    continue;
                sent.messages++;
                for (int c = span.first; c < span.first + span.count; c++)
                    sent.bytes += (double)clab_problem_elements(problem, chunks, lane, c, &start);
            }
    sent.bytes *= (double)clab_type_bytes(CLAB_F32);
    return sent;
}

// What the busiest rank sends.
static struct sent count_busiest(const struct clab_algorithm *algorithm, int ranks, size_t bytes)
{
    const struct clab_problem problem = {CLAB_ALLREDUCE,           ranks, 0,
                                         algorithm->default_lanes, 0,     bytes / clab_type_bytes(CLAB_F32)};
    struct clab_step *steps = malloc((size_t)algorithm->width(&problem) * sizeof *steps);
    struct sent busiest = {steps ? 0 : NAN, steps ? 0 : NAN};
    for (int rank = 0; steps && rank < ranks; rank++) {
        const struct sent sent = count_sent(&problem, algorithm, rank, steps);
        busiest.messages = fmax(busiest.messages, sent.messages);
        busiest.bytes = fmax(busiest.bytes, sent.bytes);
    }
    free(steps);
    return busiest;
}

static double predict_algorithms(const struct lab_context *context, enum lab_program program, int ranks,
                                 const char *quantity)
{
    char name[64], algorithm[64];
    size_t bytes;
    if (sscanf(quantity, "%63[^/]/%63[^/]/%zu", name, algorithm, &bytes) != 3)
        return NAN;
    const struct clab_algorithm *found =
        clab_algorithm_find(CLAB_ALLREDUCE, program == LAB_BEFORE ? "naive" : algorithm);
    if (!found)
        return NAN;
    if (!strcmp(name, "time"))
        return lab_predict_allreduce(context, ranks, found->name, bytes);
    if (!strcmp(name, "messages"))
        return count_busiest(found, ranks, bytes).messages;
    return !strcmp(name, "bytes_sent") ? count_busiest(found, ranks, bytes).bytes : NAN;
}

// ---- all of them ---------------------------------------------------------------------------------------------

static const struct lab_model model_algorithms = {"algorithms", predict_algorithms};

const struct lab_model *lab_model_find(const char *name)
{
    static const struct lab_model *const models[] = {&model_algorithms, &lab_model_reinit};
    for (size_t i = 0; i < sizeof models / sizeof *models; i++)
        if (!strcmp(models[i]->name, name))
            return models[i];
    return NULL;
}
