// SPDX-License-Identifier: MIT
// The model of lab 13: the floor of each claim, by 2 (n - 1) / n, and the simulator's times of a ring and a tree. Before
// believes: its floor is 0, its claims are possible, and its speedup is the published one.

#include "cmd/lab/lab.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static const double as_published = 2450.0 / 1234.0;

struct claim {
    double n, bytes, microseconds, gigabits;
};

// Claim `number`, from 1 on, of the run's option.
static bool find_claim(const struct lab_context *context, int number, struct claim *claim_p)
{
    const char *text = context->conf->options.count ? context->conf->options.words[0] : "";
    for (int i = 1; i < number && text; i++)
        text = (text = strchr(text, ',')) ? text + 1 : NULL;
    return text && sscanf(text, "%lf:%lf:%lf:%lf", &claim_p->n, &claim_p->bytes, &claim_p->microseconds,
                          &claim_p->gigabits) == 4;
}

static double predict(const struct lab_context *context, enum lab_program program, int ranks, const char *quantity)
{
    char what[16], word[16];
    size_t number;
    struct claim c;
    if (sscanf(quantity, "%15[^/]/%15[^/]/%zu", what, word, &number) != 3)
        return NAN;
    if (!strcmp(what, "speedup"))
        return program == LAB_BEFORE ? as_published
                                     : lab_predict_allreduce(context, ranks, "ring", number) /
                                           lab_predict_allreduce(context, ranks, "tree", number);
    if (!find_claim(context, (int)number, &c))
        return NAN;
    const double least = program == LAB_BEFORE ? 0 : 2 * (c.n - 1) / c.n * c.bytes / (c.gigabits * 1e9 / 8);
    return !strcmp(what, "floor") ? least : 1e-6 * c.microseconds >= least;
}

const struct lab_model LAB_MODEL = {.predict = predict};
