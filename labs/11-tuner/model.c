// SPDX-License-Identifier: MIT
// The model of lab 11: the simulator prices each algorithm at each size, as the program measures them. After chooses the
// least of these, before what the library chooses without a table (clab_select).

#include "cmd/lab/lab.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/comm/comm.h"

static const char *const algorithms[] = {"doubling", "halving_doubling", "ring", "double_tree", "hierarchical"};

static double best(const struct lab_context *context, int ranks, size_t bytes)
{
    double least = INFINITY;
    for (size_t i = 0; i < sizeof algorithms / sizeof *algorithms; i++)
        least = fmin(least, lab_predict_allreduce(context, ranks, algorithms[i], bytes));
    return isfinite(least) ? least : NAN;
}

static double by_default(const struct lab_context *context, int ranks, size_t bytes)
{
    struct clab_problem problem = {
        .collective = CLAB_ALLREDUCE, .nranks = ranks, .lanes = 1, .count = bytes / clab_type_bytes(CLAB_F32)};
    const struct clab_placement placement = {.crowded = !context->is_exact && ranks > context->cores,
                                             .cores = context->cores};
    const struct clab_algorithm *algorithm = clab_select(&problem, clab_type_bytes(CLAB_F32), placement);
    return algorithm ? lab_predict_allreduce(context, ranks, algorithm->name, bytes) : NAN;
}

static double chosen(const struct lab_context *context, enum lab_program program, int ranks, size_t bytes)
{
    return program == LAB_BEFORE ? by_default(context, ranks, bytes) : best(context, ranks, bytes);
}

static double in_all(const struct lab_context *context, enum lab_program program, int ranks)
{
    const struct lab_words *sizes = &context->conf->sizes;
    double logs = 0;
    for (int i = 0; i < sizes->count; i++) {
        const size_t bytes = strtoull(sizes->words[i], NULL, 10);
        logs += log(fmax(1, chosen(context, program, ranks, bytes) / best(context, ranks, bytes)));
    }
    return exp(logs / sizes->count);
}

static double by_lanes(const struct lab_context *context, int ranks, int lanes)
{
    const struct lab_words *sizes = &context->conf->sizes;
    const struct clab_algorithm *algorithm = clab_algorithm_find(CLAB_ALLREDUCE, "double_tree");
    struct clab_problem problem = lab_problem(algorithm, ranks, strtoull(sizes->words[sizes->count - 1], NULL, 10));
    problem.lanes = lanes;
    return context->is_exact ? lab_simulate(context->net, &problem, algorithm, lab_calls(context)) : NAN;
}

static double predict(const struct lab_context *context, enum lab_program program, int ranks, const char *quantity)
{
    char what[16], word[16];
    size_t number;
    if (!strcmp(quantity, "rows/kept/table"))
        return program == LAB_BEFORE ? 0 : context->conf->sizes.count;
    if (!context->net)
        return NAN;
    if (!strcmp(quantity, "regret/chosen/all"))
        return in_all(context, program, ranks);
    if (sscanf(quantity, "%15[^/]/%15[^/]/%zu", what, word, &number) != 3)
        return NAN;
    if (!strcmp(what, "regret"))
        return fmax(1, chosen(context, program, ranks, number) / best(context, ranks, number));
    if (strcmp(what, "time") != 0)
        return NAN;
    return !strcmp(word, "lanes")  ? by_lanes(context, ranks, (int)number)
           : !strcmp(word, "best") ? fmin(best(context, ranks, number), chosen(context, program, ranks, number))
                                   : chosen(context, program, ranks, number);
}

const struct lab_model LAB_MODEL = {.predict = predict};
