// SPDX-License-Identifier: MIT
// The command line of `commlab sim train`.

#include "cmd/sim/train.h"

#include <argp.h>
#include <float.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/err.h"
#include "core/base/json.h"
#include "core/base/log.h"
#include "core/base/output.h"
#include "core/base/text.h"
#include "core/base/units.h"
#include "cmd/bench/values.h"
#include "cmd/command.h"
#include "cmd/kit/kit.h"

enum {
    KEY_NET = 256,
    KEY_MODEL,
    KEY_BATCH,
    KEY_PRECISION,
    KEY_EFFICIENCY,
    KEY_COMPUTE,
    KEY_TYPE,
    KEY_OPTIMIZER,
    KEY_ACCUMULATE,
    KEY_BUCKETS,
    KEY_FIRST,
    KEY_OVERLAP,
    KEY_COMPRESS,
    KEY_FACTOR,
    KEY_STRAGGLER,
    KEY_JITTER,
    KEY_STEPS,
    KEY_SEED,
    KEY_CSV,
    KEY_PLOT,
    KEY_JSON,
    KEY_TIMELINE
};

static const struct argp_option options[] = {
    {NULL, 0, NULL, 0, "What is trained:", 1},
    {"model", KEY_MODEL, "NAME|FILE|WIDTHS", 0,
     "resnet50, bert-large, gpt2-small, gpt2-xl, llama-7b, a file, or a perceptron as 784x1024x10 (resnet50)", 1},
    {"batch", KEY_BATCH, "N", 0, "samples a rank and micro step (the model's)", 1},
    {"accumulate", KEY_ACCUMULATE, "K", 0, "micro steps to each reduction of gradients (1)", 1},
    {"precision", KEY_PRECISION, "NAME", 0, "of products: f64, f32, tf32, f16 (also bfloat16) or f8 (f16)", 1},
    {"efficiency", KEY_EFFICIENCY, "PERCENT", 0, "of the processor's peak that training reaches (40%)", 1},
    {"compute", KEY_COMPUTE, "TIME", 0, "a measured forward and backward pass, instead of flop by rate", 1},
    {"optimizer", KEY_OPTIMIZER, "NAME", 0, "sgd, momentum or adam: 12, 20 or 28 bytes a parameter (adam)", 1},
    {"type", KEY_TYPE, "NAME", 0, "of gradients, as they are reduced (float)", 1},
    {NULL, 0, NULL, 0, "Where and how:", 2},
    {"net", KEY_NET, "NAME|FILE", 0, "the network: `commlab nets` lists them (machine, which wants --compute)", 2},
    {"ranks", 'r', "LIST", 0, "ranks: `2,4,8`, or a range, as 1-131072 (8)", 2},
    {"buckets", KEY_BUCKETS, "LIST", 0,
     "a bucket is full when it holds so much, at least 1K; a list or range for a curve (25M)", 2},
    {"first-bucket", KEY_FIRST, "SIZE", 0, "the same of the first (1M, or less if buckets are smaller)", 2},
    {"overlap", KEY_OVERLAP, "NAMES", 0,
     "none: buckets after the backward pass; bucket: beside it, then the update (PyTorch's DDP); full: also the update "
     "of a bucket beside those that follow; commas between them, or all (bucket)",
     2},
    {"compress", KEY_COMPRESS, "NAMES", 0, "none, fp16, bf16, int8, powersgd:RANK, commas between them (none)", 2},
    {"algo", 'a', "NAME", 0, "of the allreduce; auto: the fastest by price for each bucket (auto)", 2},
    {"factor", KEY_FACTOR, "N", 0, "ranges grow by this factor (2)", 2},
    {NULL, 0, NULL, 0, "What disturbs it:", 3},
    {"straggler", KEY_STRAGGLER, "RANK=F|PART%=F", 0,
     "this rank, or so many of them, computes F times as long; may be given again", 3},
    {"jitter", KEY_JITTER, "NAME:PERCENT", 0,
     "each rank's computation in each step varies: normal:5%, lognormal:5%, exp:5% (that much longer on average), "
     "pareto:SHAPE:5% (likewise, with a heavy tail)",
     3},
    {"steps", KEY_STEPS, "N", 0, "steps (200 with jitter, else 1)", 3},
    {"seed", KEY_SEED, "N", 0, "of the jitter (1)", 3},
    {NULL, 0, NULL, 0, "What is done with it:", 4},
    {"timeline", KEY_TIMELINE, NULL, 0, "print all buckets, also where there are many", 4},
    {"csv", KEY_CSV, "FILE", 0, "a row for each number of ranks, size of buckets, overlap and compression", 4},
    {"plot", KEY_PLOT, "FILE", 0,
     "the curve, as FILE.svg and FILE.png; its words as FILE.txt, and without --csv its data as FILE.csv", 4},
    {"json", KEY_JSON, NULL, 0, "print JSON", 4},
    {0},
};

static const char doc[] =
    "Predict a step of data parallel training: what it takes, and how much of the communication can be seen.\v"
    "Computation is flop by the rate that the network's [compute] section gives, times the efficiency; backward takes "
    "twice forward. Each bucket is an allreduce, priced by the simulator; they follow each other. Scaling efficiency "
    "is a step of one undisturbed rank by this one: each rank has a batch of its own. Example:\n\n"
    "  commlab sim train --model bert-large --net dgx-h100 --ranks 1-1024 --overlap all --plot bert.svg\n\n"
    "sim/train/README.md says what is modelled, and the columns of the CSV.";

// ---- names ---------------------------------------------------------------------------------------------------

static const char *overlap_name(int i)
{
    return clab_train_overlap_name((enum clab_train_overlap)i);
}

static const char *codec_name(int i)
{
    return clab_train_codec_name((enum clab_train_codec)i);
}

static const char *type_name(int i)
{
    return clab_type_name((enum clab_type)i);
}

static const char *precision_name(int i)
{
    return clab_precision_name((enum clab_precision)i);
}

static const char *optimizer_name(int i)
{
    return train_optimizer_name((enum train_optimizer)i);
}

static const char *jitter_name(int i)
{
    static const char *const names[] = {"none", "normal", "lognormal", "exp", "pareto"};
    return names[i];
}

static const struct bench_names overlaps = {CLAB_TRAIN_OVERLAPS, overlap_name},
                                codecs = {CLAB_TRAIN_CODECS, codec_name}, types = {CLAB_TYPE_COUNT, type_name},
                                precisions = {CLAB_PRECISIONS, precision_name},
                                optimizers = {TRAIN_OPTIMIZERS, optimizer_name},
                                jitters = {CLAB_TRAIN_JITTERS, jitter_name};

// A name of `names` at the beginning of `text`, which ends there or with `end`; *rest_p: what follows that.
static int take_name(struct bench_names names, const char *flag, const char *text, char end, int *number_p,
                     const char **rest_p)
{
    const char *stop = strchr(text, end);
    const size_t length = stop ? (size_t)(stop - text) : strlen(text);
    const int number = bench_find_name(names, flag, text, length);
    if (number < 0)
        return CLAB_EINVAL;
    *number_p = number;
    *rest_p = stop ? stop + 1 : text + length;
    return CLAB_OK;
}

static int take_whole_name(struct bench_names names, const char *flag, const char *text, int *number_p)
{
    const int number = bench_find_name(names, flag, text, strlen(text));
    *number_p = number < 0 ? *number_p : number;
    return number < 0 ? CLAB_EINVAL : CLAB_OK;
}

// ---- values --------------------------------------------------------------------------------------------------

static int refuse(const char *flag, const char *text, const char *expected)
{
    clab_error("%s '%s' is not %s", flag, text, expected);
    return CLAB_EINVAL;
}

// "5%" as 0.05; above 0 and at most `most`
static int take_percent(const char *flag, const char *text, double most, double *part_p)
{
    char number[32], expected[80];
    double value;
    const size_t length = strlen(text);
    snprintf(expected, sizeof expected, "a percentage above 0, at most %g%%, such as 5%%", 100 * most);
    if (length < 2 || length > sizeof number || text[length - 1] != '%')
        return refuse(flag, text, expected);
    snprintf(number, sizeof number, "%.*s", (int)length - 1, text);
    if (clab_parse_number(number, &value) || value <= 0 || value > 100 * most)
        return refuse(flag, text, expected);
    *part_p = value / 100;
    return CLAB_OK;
}

// RANK=FACTOR or PART%=FACTOR
static int take_straggler(const char *text, struct train_request *r)
{
    static const char expected[] = "RANK=FACTOR or PART%=FACTOR with a factor above 0, as 3=1.5 or 1%=2";
    char who[32];
    double factor;
    const char *equals = strchr(text, '=');
    struct clab_train *t = &r->train;
    if (!equals || (size_t)(equals - text) >= sizeof who || clab_parse_number(equals + 1, &factor) || factor <= 0)
        return refuse("--straggler", text, expected);
    snprintf(who, sizeof who, "%.*s", (int)(equals - text), text);
    if (strchr(who, '%')) {
        if (t->slow_part > 0)
            return refuse("--straggler", text, "the only part of the ranks that is slow: one PART%=FACTOR at most");
        t->slow_factor = factor;
        return take_percent("--straggler", who, 1, &t->slow_part);
    }
    if (t->nstragglers == (int)(sizeof r->stragglers / sizeof *r->stragglers))
        return refuse("--straggler", text, "one of at most 64");
    struct clab_train_straggler *s = &r->stragglers[t->nstragglers++];
    s->factor = factor;
    return clab_parse_int(who, 0, 1 << 24, &s->rank) ? refuse("--straggler", text, expected) : CLAB_OK;
}

// NAME:PERCENT, pareto:SHAPE:PERCENT
static int take_jitter(const char *text, struct train_request *r)
{
    int kind;
    const char *rest;
    char shape[32];
    CLAB_TRY(take_name(jitters, "--jitter", text, ':', &kind, &rest));
    r->train.jitter = (enum clab_train_jitter)kind;
    r->jitter = text;
    if (kind == CLAB_TRAIN_STEADY)
        return CLAB_OK;
    if (kind == CLAB_TRAIN_PARETO) {
        const char *colon = strchr(rest, ':');
        if (!colon || (size_t)(colon - rest) >= sizeof shape)
            return refuse("--jitter", text, "pareto:SHAPE:PERCENT, as pareto:3:5%");
        snprintf(shape, sizeof shape, "%.*s", (int)(colon - rest), rest);
        if (clab_parse_number(shape, &r->train.shape) || r->train.shape <= 1)
            return refuse("--jitter", text, "pareto:SHAPE:PERCENT with a shape above 1, as pareto:3:5%");
        rest = colon + 1;
    }
    return take_percent("--jitter", rest, 10, &r->train.amount);
}

// none, fp16, ... or powersgd:RANK
static int take_coding(const char *word, size_t length, struct train_request *r)
{
    int codec;
    const char *rest;
    char text[128];
    snprintf(text, sizeof text, "%.*s", (int)length, word);
    struct train_coding *c = &r->codings[r->ncodings];
    if (r->ncodings == TRAIN_CODINGS)
        return refuse("--compress", text, "one of at most 8");
    CLAB_TRY(take_name(codecs, "--compress", text, ':', &codec, &rest));
    snprintf(c->name, sizeof c->name, "%.*s", (int)sizeof c->name - 1, text);
    c->codec = (enum clab_train_codec)codec;
    if (codec == CLAB_TRAIN_POWERSGD ? clab_parse_int(rest, 1, 4096, &c->rank) : *rest)
        return refuse("--compress", text, "none, fp16, bf16, int8 or powersgd:RANK, as powersgd:4");
    r->ncodings++;
    return CLAB_OK;
}

static int take_codings(const char *text, struct train_request *r)
{
    size_t length;
    r->ncodings = 0;
    for (const char *word; (word = clab_list_next(&text, &length));)
        CLAB_TRY(take_coding(word, length, r));
    return CLAB_OK;
}

static int take_compute(const char *text, struct train_request *r)
{
    return clab_parse_seconds_within(text, DBL_MIN, 3600, &r->compute)
               ? refuse("--compute", text, "a time above 0 and up to 3600s with its unit, such as 120ms")
               : CLAB_OK;
}

// ---- flags ---------------------------------------------------------------------------------------------------

static error_t parse_what(int key, char *arg, struct train_request *r)
{
    switch (key) {
    case KEY_MODEL: r->model_name = arg; return 0;
    case KEY_BATCH: return bench_take_int("--batch", arg, 1, 1 << 20, &r->batch);
    case KEY_ACCUMULATE: return bench_take_int("--accumulate", arg, 1, 1 << 20, &r->train.accumulate);
    case KEY_PRECISION: return take_whole_name(precisions, "--precision", arg, (int *)&r->precision);
    case KEY_EFFICIENCY: return take_percent("--efficiency", arg, 1, &r->efficiency);
    case KEY_COMPUTE: return take_compute(arg, r);
    case KEY_OPTIMIZER: return take_whole_name(optimizers, "--optimizer", arg, (int *)&r->optimizer);
    case KEY_TYPE: return take_whole_name(types, "--type", arg, (int *)&r->type);
    case KEY_STRAGGLER: return take_straggler(arg, r);
    case KEY_JITTER: return take_jitter(arg, r);
    case KEY_STEPS: return bench_take_int("--steps", arg, 1, CLAB_TRAIN_STEPS, &r->train.steps);
    case KEY_SEED: return bench_take_seed(arg, &r->train.seed);
    default: return ARGP_ERR_UNKNOWN;
    }
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
    struct train_request *r = state->input;
    switch (key) {
    case 'r': r->ranks_text = arg; return 0;
    case 'a': r->train.algorithm = arg; return 0;
    case KEY_NET: r->net_name = arg; return 0;
    case KEY_BUCKETS: r->buckets_text = arg; return 0;
    case KEY_FIRST: return bench_take_size("--first-bucket", arg, &r->first_bucket);
    case KEY_OVERLAP: return bench_take_list(overlaps, "--overlap", arg, r->overlaps);
    case KEY_COMPRESS: return take_codings(arg, r);
    case KEY_FACTOR: return bench_take_int("--factor", arg, 2, 1 << 20, &r->factor);
    case KEY_CSV: r->csv = arg; return 0;
    case KEY_PLOT: r->plot = arg; return 0;
    case KEY_JSON: r->json = true; return 0;
    case KEY_TIMELINE: r->timeline = true; return 0;
    default: return parse_what(key, arg, r);
    }
}

// ---- what must fit together ----------------------------------------------------------------------------------

// 25 would be 25 B, an allreduce for every few parameters: who writes that means 25M.
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
    if (r->json)
        CLAB_TRY(clab_json_check());
    return r->csv ? clab_output_check(r->csv) : CLAB_OK;
}

int train_options_parse(int argc, char **argv, struct train_request *request_p)
{
    static const struct argp argp = {.options = options, .parser = parse, .doc = doc};
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
    argp_err_exit_status = STATUS_USAGE;
    if (argp_parse(&argp, argc, argv, 0, NULL, r))
        return CLAB_EINVAL;
    CLAB_TRY(sim_list_parse("--ranks", r->ranks_text, sim_take_ranks, r->factor, &r->ranks));
    CLAB_TRY(sim_list_parse("--buckets", r->buckets_text, sim_take_size, r->factor, &r->buckets));
    r->train.steps = r->train.steps ? r->train.steps : r->train.jitter ? 200 : 1;
    r->train.stragglers = r->stragglers;
    return r->command ? check(r) : CLAB_ENOMEM;
}
