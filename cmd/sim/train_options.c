// SPDX-License-Identifier: MIT
// The command line of `commlab sim train`.

#include "cmd/sim/train.h"

#include <float.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/err.h"
#include "core/base/files/json.h"
#include "core/base/log.h"
#include "core/base/options.h"
#include "core/base/files/output.h"
#include "core/base/text.h"
#include "core/base/units.h"
#include "cmd/kit/kit.h"

static const char doc[] =
    "Predict a step of data parallel training: its time, and how much of the communication is exposed.\v"
    "The time of computation is its flop divided by the rate in the network's [compute] section times the efficiency. "
    "The backward pass takes twice as long as the forward pass. Each bucket is one allreduce, which the simulator "
    "prices; they follow each other. Each rank has a batch of its own, so scaling efficiency is the time of an "
    "undisturbed step on one rank divided by the time of this step. Example:\n\n"
    "  commlab sim train --model bert-large --net dgx-h100 --ranks 1-1024 --overlap all --plot bert.svg\n\n"
    "sim/train/README.md explains the model, and the columns of the CSV.";

// ---- names ---------------------------------------------------------------------------------------------------

static const char *overlap_name(int i)
{
    return clab_train_overlap_name((enum clab_train_overlap)i);
}

static const char *codec_name(int i)
{
    return clab_train_codec_name((enum clab_train_codec)i);
}

static const char *optimizer_name(int i)
{
    return train_optimizer_name((enum train_optimizer)i);
}

static const struct clab_names overlaps = {CLAB_TRAIN_OVERLAPS, NULL, overlap_name},
                               codecs = {CLAB_TRAIN_CODECS, NULL, codec_name},
                               optimizers = {TRAIN_OPTIMIZERS, NULL, optimizer_name};

// One of `names` at the beginning of `text`, up to its end or to the character `end`; *rest_p: the text behind that.
static int take_name(const struct clab_names *names, const char *flag, const char *text, char end, int *number_p,
                     const char **rest_p)
{
    const char *stop = strchr(text, end);
    const size_t length = stop ? (size_t)(stop - text) : strlen(text);
    const int number = clab_names_find(names, flag, text, length);
    if (number < 0)
        return CLAB_EINVAL;
    *number_p = number;
    *rest_p = stop ? stop + 1 : text + length;
    return CLAB_OK;
}

// ---- values --------------------------------------------------------------------------------------------------

// RANK=FACTOR or PART%=FACTOR
static int take_straggler(const char *flag, const char *text, void *into)
{
    struct train_request *r = into;
    static const char expected[] = "RANK=FACTOR or PART%=FACTOR with a factor above 0, such as 3=1.5 or 1%=2";
    char who[32];
    double factor;
    const char *equals = strchr(text, '=');
    struct clab_train *t = &r->train;
    if (!equals || (size_t)(equals - text) >= sizeof who || clab_parse_number(equals + 1, &factor) || factor <= 0)
        return clab_refuse(flag, text, expected);
    snprintf(who, sizeof who, "%.*s", (int)(equals - text), text);
    if (strchr(who, '%')) {
        if (t->slow_part > 0)
            return clab_refuse(flag, text, "the only PART%=FACTOR: give one at most");
        t->slow_factor = factor;
        return clab_take_percent(flag, who, 1, &t->slow_part);
    }
    if (t->nstragglers == (int)(sizeof r->stragglers / sizeof *r->stragglers))
        return clab_refuse(flag, text, "taken: at most 64 ranks may straggle");
    struct clab_train_straggler *s = &r->stragglers[t->nstragglers++];
    s->factor = factor;
    return clab_parse_int(who, 0, 1 << 24, &s->rank) ? clab_refuse(flag, text, expected) : CLAB_OK;
}

// NAME:PERCENT, pareto:SHAPE:PERCENT
static int take_jitter(const char *flag, const char *text, void *into)
{
    struct train_request *r = into;
    int kind;
    const char *rest;
    char shape[32];
    CLAB_TRY(take_name(&CLAB_NAMES("none", "normal", "lognormal", "exp", "pareto"), flag, text, ':', &kind, &rest));
    r->train.jitter = (enum clab_train_jitter)kind;
    r->jitter = text;
    if (kind == CLAB_TRAIN_STEADY)
        return CLAB_OK;
    if (kind == CLAB_TRAIN_PARETO) {
        const char *colon = strchr(rest, ':');
        if (!colon || (size_t)(colon - rest) >= sizeof shape)
            return clab_refuse(flag, text, "pareto:SHAPE:PERCENT, as pareto:3:5%");
        snprintf(shape, sizeof shape, "%.*s", (int)(colon - rest), rest);
        if (clab_parse_number(shape, &r->train.shape) || r->train.shape <= 1)
            return clab_refuse(flag, text, "pareto:SHAPE:PERCENT with a shape above 1, as pareto:3:5%");
        rest = colon + 1;
    }
    return clab_take_percent(flag, rest, 10, &r->train.amount);
}

// none, fp16, ... or powersgd:RANK
static int take_coding(const char *flag, const char *word, size_t length, struct train_request *r)
{
    int codec;
    const char *rest;
    char text[128];
    snprintf(text, sizeof text, "%.*s", (int)length, word);
    struct train_coding *c = &r->codings[r->ncodings];
    if (r->ncodings == TRAIN_CODINGS)
        return clab_refuse(flag, text, "taken: at most 8 compressions");
    CLAB_TRY(take_name(&codecs, flag, text, ':', &codec, &rest));
    snprintf(c->name, sizeof c->name, "%.*s", (int)sizeof c->name - 1, text);
    c->codec = (enum clab_train_codec)codec;
    if (codec == CLAB_TRAIN_POWERSGD ? clab_parse_int(rest, 1, 4096, &c->rank) : *rest)
        return clab_refuse(flag, text, "none, fp16, bf16, int8 or powersgd:RANK, as powersgd:4");
    r->ncodings++;
    return CLAB_OK;
}

static int take_codings(const char *flag, const char *text, void *into)
{
    struct train_request *r = into;
    size_t length;
    r->ncodings = 0;
    for (const char *word; (word = clab_list_next(&text, &length));)
        CLAB_TRY(take_coding(flag, word, length, r));
    return CLAB_OK;
}

// ---- flags ---------------------------------------------------------------------------------------------------

#define REQUEST struct train_request

static const struct clab_option options[] = {
    CLAB_HEADING("What is trained:"),
    {"model", 0, "NAME|FILE|WIDTHS",
     "resnet50, bert-large, gpt2-small, gpt2-xl, llama-7b, a file, or a perceptron as 784x1024x10 (resnet50)",
     CLAB_TEXT_AT(REQUEST, model_name)},
    {"batch", 0, "N", "samples per rank and micro step (the model's)", CLAB_INT(REQUEST, batch, 1, 1 << 20)},
    {"accumulate", 0, "K", "micro steps per reduction of gradients (1)",
     CLAB_INT(REQUEST, train.accumulate, 1, 1 << 20)},
    {"precision", 0, "NAME", "precision of matrix products: f64, f32, tf32, f16 (also bfloat16) or f8 (f16)",
     CLAB_NAME(REQUEST, precision, &clab_precision_names)},
    {"efficiency", 0, "PERCENT", "the part of the processor's peak that training reaches (40%)",
     CLAB_PERCENT(REQUEST, efficiency, 1)},
    {"compute", 0, "TIME", "the measured time of a forward and backward pass, instead of flop and rate",
     CLAB_SECONDS(REQUEST, compute, DBL_MIN, 3600)},
    {"optimizer", 0, "NAME", "sgd, momentum or adam: 12, 20 or 28 bytes per parameter (adam)",
     CLAB_NAME(REQUEST, optimizer, &optimizers)},
    {"type", 0, "NAME", "type of gradients in the reduction (float)", CLAB_NAME(REQUEST, type, &clab_type_names)},
    CLAB_HEADING("Where and how:"),
    {"net", 0, "NAME|FILE", "the network: `commlab nets` lists them (machine)",
     CLAB_TEXT_AT(REQUEST, net_name)},
    {"ranks", 'r', "LIST", "ranks: `2,4,8`, or a range such as 1-131072 (8)", CLAB_TEXT_AT(REQUEST, ranks_text)},
    {"buckets", 0, "LIST", "bytes per bucket, at least 1K; a list or range for a curve (25M)",
     CLAB_TEXT_AT(REQUEST, buckets_text)},
    {"first-bucket", 0, "SIZE", "bytes of the first bucket (1M, or less if buckets are smaller)",
     CLAB_SIZE(REQUEST, first_bucket, 1)},
    {"overlap", 0, "NAMES",
     "none: buckets after the backward pass; bucket: beside it, then the update (PyTorch's DDP); full: also the update "
     "of a bucket beside those that follow; commas between them, or all (bucket)",
     CLAB_NAME_LIST(REQUEST, overlaps, &overlaps)},
    {"compress", 0, "NAMES", "none, fp16, bf16, int8, powersgd:RANK, commas between them (none)",
     CLAB_CALL(take_codings)},
    {"break-even", 0, NULL, "print below which bandwidth of the links each compression makes a step shorter",
     CLAB_ON(REQUEST, break_even)},
    {"algo", 'a', "NAME", "algorithm of the allreduce; auto: the fastest per bucket (auto)",
     CLAB_TEXT_AT(REQUEST, train.algorithm)},
    {"factor", 0, "N", "ranges grow by this factor (2)", CLAB_INT(REQUEST, factor, 2, 1 << 20)},
    CLAB_HEADING("What disturbs it:"),
    {"straggler", 0, "RANK=F|PART%=F", "this rank, or so many of them, computes F times as long; may be given again",
     CLAB_CALL(take_straggler)},
    {"jitter", 0, "NAME:PERCENT",
     "each rank's computation in each step varies: normal:5%, lognormal:5%, exp:5% (that much longer on average), "
     "pareto:SHAPE:5% (likewise, with a heavy tail)",
     CLAB_CALL(take_jitter)},
    {"steps", 0, "N", "steps (200 with jitter, else 1)", CLAB_INT(REQUEST, train.steps, 1, CLAB_TRAIN_STEPS)},
    {"seed", 0, "N", "seed of the jitter (1)", CLAB_SEED(REQUEST, train.seed)},
    CLAB_HEADING("What is done with it:"),
    {"timeline", 0, NULL, "print all buckets, even if there are many", CLAB_ON(REQUEST, timeline)},
    {"csv", 0, "FILE", "write a row per number of ranks, size of buckets, overlap and compression",
     CLAB_TEXT_AT(REQUEST, csv)},
    {"plot", 0, "FILE",
     "the curve, as FILE.svg and FILE.png; its words as FILE.txt, and without --csv its data as FILE.csv",
     CLAB_TEXT_AT(REQUEST, plot)},
    {"json", 0, NULL, "print JSON", CLAB_ON(REQUEST, json)},
    {0},
};

// ---- what must fit together ----------------------------------------------------------------------------------

// 25 would be 25 B, one allreduce per few parameters. A user who writes 25 means 25M.
static int check_bucket(const char *flag, size_t bytes)
{
    if (bytes >= 1 << 10)
        return CLAB_OK;
    clab_error("%s: a bucket of %zu B is below 1K: say the unit, as in %zuM", flag, bytes, bytes);
    return CLAB_EINVAL;
}

static int check(const struct train_request *r)
{
    CLAB_TRY(check_bucket("--buckets", r->buckets.values[0]));
    if (r->first_bucket)
        CLAB_TRY(check_bucket("--first-bucket", r->first_bucket));
    for (int i = 0; i < r->ncodings; i++) {
        const enum clab_train_codec codec = r->codings[i].codec;
        const bool halves = codec == CLAB_TRAIN_FP16 || codec == CLAB_TRAIN_BF16;
        if ((halves && clab_type_bytes(r->type) <= 2) || (codec == CLAB_TRAIN_INT8 && clab_type_bytes(r->type) <= 1)) {
            clab_error("--compress %s makes gradients of type %s no smaller", r->codings[i].name,
                       clab_type_name(r->type));
            return CLAB_EINVAL;
        }
    }
    if (r->plot && r->ranks.n == 1 && r->buckets.n == 1) {
        clab_error("--plot draws a curve: give a list or range to --ranks or --buckets");
        return CLAB_EINVAL;
    }
    if (r->break_even && (r->json || (r->ncodings == 1 && r->codings[0].codec == CLAB_TRAIN_WHOLE))) {
        clab_error(r->json ? "--break-even prints lines, and --json one object: take one of them"
                           : "--break-even compares compressions: name some, as in --compress fp16,int8,powersgd:4");
        return CLAB_EINVAL;
    }
    if (r->json)
        CLAB_TRY(clab_json_check());
    return r->csv ? clab_output_announce(r->csv) : CLAB_OK;
}

int train_options_parse(int argc, char **argv, struct train_request *request_p)
{
    static const struct clab_command_line line = {.options = options, .about = doc};
    struct train_request *r = request_p;
    *r = (struct train_request){.model_name = "resnet50",
                                .net_name = "machine",
                                .ranks_text = "8",
                                .buckets_text = "25M",
                                .factor = 2,
                                .overlaps[CLAB_TRAIN_BUCKET] = true,
                                .codings = {{.name = "none"}},
                                .ncodings = 1,
                                .efficiency = 0.4,
                                .precision = CLAB_FP16,
                                .type = CLAB_F32,
                                .optimizer = TRAIN_ADAM,
                                .train = {.accumulate = 1, .seed = 1, .algorithm = "auto"},
                                .command = kit_command_line(argc, argv)};
    CLAB_TRY(clab_options_parse(&line, argc, argv, r));
    CLAB_TRY(sim_list_parse("--ranks", r->ranks_text, sim_take_ranks, r->factor, &r->ranks));
    CLAB_TRY(sim_list_parse("--buckets", r->buckets_text, sim_take_size, r->factor, &r->buckets));
    r->train.steps = r->train.steps ? r->train.steps : r->train.jitter ? 200 : 1;
    r->train.stragglers = r->stragglers;
    return r->command ? check(r) : CLAB_ENOMEM;
}
