// SPDX-License-Identifier: MIT
// The model of lab 10: the three ways to sum on a described network, and the bytes that leave a host (price.h).
//
// - In virtual time and over an emulated wire, hosts are the network's. On any other backend all ranks are on this host:
//   nothing leaves it, and all three ways are rings in its memory.
// - Over an emulated wire a prediction is the longer one of the wire's and of this machine's without it.

#include "cmd/lab/lab.h"
#include "price.h"

#include <stdio.h>

// Of one collective among ranks of this host that share its cores.
static double crowded(const struct lab_context *context, enum clab_collective collective, const char *name, int ranks,
                      size_t count, struct clab_placement placement)
{
    struct clab_problem problem = {.collective = collective, .nranks = ranks, .lanes = 1, .count = count};
    const struct clab_algorithm *algorithm =
        name ? clab_algorithm_find(collective, name) : clab_select(&problem, sizeof(float), placement);
    return algorithm ? lab_oversubscribed_predict(context, &problem, algorithm) : NAN;
}

static double crowded_seconds(const struct lab_context *context, const struct price *p, enum price_way way)
{
    const size_t count = p->bytes / sizeof(float), block = count / (size_t)p->ranks;
    if (way != PRICE_TWO_LEVEL)
        return crowded(context, CLAB_ALLREDUCE, "ring", p->ranks, count, p->placement);
    return crowded(context, CLAB_REDUCE_SCATTER, NULL, p->ranks, block, p->placement) +
           crowded(context, CLAB_ALLGATHER, NULL, p->ranks, block, p->placement);
}

static double seconds(const struct lab_context *context, const struct price *p, enum price_way way)
{
    if (lab_oversubscribed(context, p->ranks))
        return crowded_seconds(context, p, way);
    struct price here = *p;
    here.net = context->machine;
    return fmax(here.net ? price_seconds(&here, way) : 0, price_seconds(p, way));
}

static double predict(const struct lab_context *context, enum lab_program program, int ranks, const char *quantity)
{
    char name[64], word[64];
    struct price p = {.net = context->net, .ranks = ranks, .calls = lab_calls(context).calls};
    enum price_way way = 0;
    (void)program;
    if (sscanf(quantity, "%63[^/]/%63[^/]/%zu", name, word, &p.bytes) != 3 || !p.net)
        return NAN;
    p.placement = (struct clab_placement){.crowded = ranks > context->cores && !context->is_exact,
                                          .cores = context->cores};
    while (way < PRICE_WAYS && strcmp(price_names[way], word) != 0)
        way++;
    if (way == PRICE_WAYS)
        return NAN;
    if (!strcmp(name, "time"))
        return seconds(context, &p, way);
    return !strcmp(name, "across") ? price_bytes_across(&p, way) : NAN;
}

const struct lab_model LAB_MODEL = {.predict = predict};
