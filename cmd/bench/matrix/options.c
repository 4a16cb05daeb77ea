// SPDX-License-Identifier: MIT
// The command line of bench --matrix. Flags that take lists take them as Python's argparse does, `2 4 6`, or with
// commas, `2,4,6`.

#include <float.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "cmd/bench/matrix/matrix.h"
#include "cmd/bench/time.h"
#include "cmd/kit/kit.h"
#include "core/base/err.h"
#include "core/base/log.h"
#include "core/base/options.h"
#include "core/base/text.h"
#include "core/base/units.h"
#include "core/job/job.h"

#define OPTIONS struct matrix_options

enum { WORD = 64, MINUTE = 60, HOUR = 3600 };
static const double longest_budget = 100 * HOUR, megabyte = 1e6, most_bytes = 1e12;

// ---- lists -----------------------------------------------------------------------------------------------------

// The next word of a list, cut to WORD; false at its end.
static bool take_word(const char **list_p, char word[WORD])
{
    size_t length = 0;
    const char *at;
    while ((at = clab_list_next(list_p, &length)) && !length)
        continue;
    if (at)
        snprintf(word, WORD, "%.*s", (int)length, at);
    return at != NULL;
}

static int refuse_long_list(const char *flag)
{
    clab_error("%s: give at most %d values", flag, MATRIX_LIST);
    return CLAB_EINVAL;
}

static int take_ranks(const char *flag, const char *text, void *into)
{
    struct matrix_options *o = into;
    char word[WORD];
    o->nranks = 0;
    while (take_word(&text, word)) {
        int ranks;
        bool is_new = true;
        CLAB_TRY(clab_take_int(flag, word, 1, CLAB_MAX_RANKS, &ranks));
        for (int i = 0; i < o->nranks; i++)
            is_new &= o->ranks[i] != ranks;
        if (is_new && o->nranks == MATRIX_LIST)
            return refuse_long_list(flag);
        if (is_new)
            o->ranks[o->nranks++] = ranks;
    }
    return o->nranks ? CLAB_OK : clab_refuse(flag, "", "a list of numbers of ranks, such as 2 4 6");
}

// "10" and "0.5" are MB of 1e6 bytes; "8K", "1.5MiB" are what their units say.
static int parse_size(const char *text, size_t *bytes_p)
{
    char *rest, one[WORD];
    size_t unit;
    const double number = strtod(text, &rest);
    if (strspn(text, "0123456789.") != (size_t)(rest - text) || rest == text)
        return CLAB_EPARSE;
    snprintf(one, sizeof one, "1%s", rest);
    if (*rest && clab_parse_size(one, &unit) != CLAB_OK)
        return CLAB_EPARSE;
    const double bytes = number * (*rest ? (double)unit : megabyte);
    if (!(bytes >= 1 && bytes <= most_bytes))
        return CLAB_EPARSE;
    *bytes_p = (size_t)(bytes + 0.5);
    return CLAB_OK;
}

static int take_sizes(const char *flag, const char *text, void *into)
{
    struct matrix_options *o = into;
    char word[WORD];
    o->nsizes = 0;
    while (take_word(&text, word)) {
        size_t bytes;
        if (parse_size(word, &bytes) != CLAB_OK)
            return clab_refuse(flag, word, "a size in MB above 0, such as 10 or 0.5, or one with its unit, such as 8K");
        if (o->nsizes == MATRIX_LIST)
            return refuse_long_list(flag);
        o->sizes[o->nsizes++] = bytes;
    }
    return o->nsizes ? CLAB_OK : clab_refuse(flag, "", "a list of sizes in MB, such as 1 10 100");
}

static const char *backend_name(int i)
{
    return matrix_backends[i].name;
}
static const struct clab_names backend_names = {MATRIX_BACKENDS, NULL, backend_name};

// "5min", "1h", or seconds with or without their unit.
static int take_budget(const char *flag, const char *text, void *into)
{
    struct matrix_options *o = into;
    char *rest;
    const double number = strtod(text, &rest);
    const double unit = !strcmp(rest, "min") ? MINUTE : !strcmp(rest, "h") ? HOUR : 0;
    double seconds = number * unit;
    if (strspn(text, "0123456789.") != (size_t)(rest - text) || rest == text)
        seconds = 0;
    else if (unit == 0)
        CLAB_TRY(clab_take_bare_seconds(flag, text, longest_budget, &seconds));
    if (!(seconds > 0 && seconds <= longest_budget))
        return clab_refuse(flag, text, "a time above 0, such as 90s, 5min or 1h, at most 100h");
    o->budget = seconds;
    return CLAB_OK;
}

static int take_seed(const char *flag, const char *text, void *into)
{
    struct matrix_options *o = into;
    o->seeded = true;
    return clab_take_seed(flag, text, &o->seed);
}

static int take_collective(const char *text, void *into)
{
    struct matrix_options *o = into;
    bool chosen[CLAB_COLLECTIVE_COUNT];
    CLAB_TRY(clab_names_take(&clab_collective_names, "bench --matrix", text, chosen));
    for (int c = 0; c < CLAB_COLLECTIVE_COUNT; c++)
        o->collectives[c] |= chosen[c];
    return CLAB_OK;
}

// ---- the table -------------------------------------------------------------------------------------------------

static const struct clab_option options[] = {
    CLAB_HEADING("What is measured:"),
    {"num-processes", 0, "N...", "numbers of ranks (2 4 6)", CLAB_CALL(take_ranks)},
    {"data-sizes", 0, "MB...", "sizes of the whole buffer in MB of 1,000,000 bytes; 8K, 1MiB with units (1 10 100 1000)",
     CLAB_CALL(take_sizes)},
    {"backend", 0, "NAMES", "gloo, nccl, shm, ofi, mpi, sim, with commas between them (gloo; with --device cuda nccl)",
     CLAB_NAME_LIST(OPTIONS, backends, &backend_names)},
    {"device", 0, "cpu|cuda", "whose memory holds the data; nccl's is the GPU's, all others' the processor's",
     CLAB_NAME(OPTIONS, device, &CLAB_NAMES("cpu", "cuda"))},
    {"emulate", 0, "NAME|FILE", "delay messages as this network would, and predict by it",
     CLAB_TEXT_AT(OPTIONS, emulate), .variable = CLAB_VARIABLE_EMULATE},
    {"net", 0, "NAME|FILE", "the network that predicts, and whose time it is on sim", CLAB_TEXT_AT(OPTIONS, net)},
    CLAB_HEADING("How:"),
    {"num-warmup", 0, "N", "calls before those that are timed (5)", CLAB_INT(OPTIONS, warmup, 0, 100000)},
    {"num-iters", 0, "N", "timed calls (50)", CLAB_INT(OPTIONS, iterations, 1, BENCH_MOST_BATCHES)},
    {"budget", 0, "TIME", "time for all, such as 90s or 5min; where it is short, fewer calls are timed (5min)",
     CLAB_CALL(take_budget)},
    {"seed", 0, "N", "of the data, to repeat a run", CLAB_CALL(take_seed)},
    {"master-port", 0, "PORT", "accepted and not needed: ranks of one host meet in shared memory",
     CLAB_INT(OPTIONS, port, 1, 65535)},
    CLAB_HEADING("Where it goes:"),
    {"output", 0, "FILE", "one file for all (results/BACKEND_DEVICE_benchmark.csv for each backend)",
     CLAB_TEXT_AT(OPTIONS, output)},
    {"results", 0, "DIR", "the folder of those files (results/)", CLAB_TEXT_AT(OPTIONS, results)},
    {"fresh", 0, NULL, "measure all anew; else rows of an earlier run of the same plan are kept", CLAB_ON(OPTIONS, fresh)},
    {"dry-run", 0, NULL, "print the plan, and stop", CLAB_ON(OPTIONS, plan_only)},
    {"root", 0, "DIR", "read DIR/proc, DIR/sys and DIR/dev, copies of another machine's, to see what fits",
     CLAB_TEXT_AT(OPTIONS, root)},
    {0},
};

static const char doc[] =
    "Measure collectives on several numbers of ranks, sizes and backends, within a time that is announced.\v"
    "COLLECTIVE is allreduce (the default), another one that `commlab bench --help` lists, or all. The same command "
    "goes on where an earlier run was ended, even by kill -9. Cells that this machine can not run are skipped, with the "
    "reason. Raw samples of each rank lie beside each file, as FILE_samples.csv. Exit status: 0; 1 if a cell failed or "
    "an element was wrong; 2 for wrong usage; 3 if no cell can be measured here.";

// ---- words -----------------------------------------------------------------------------------------------------

static bool is_number(const char *word)
{
    return strspn(word, "0123456789") > 0 || (word[0] == '.' && strspn(word + 1, "0123456789") > 0);
}

static bool is_backend(const char *word)
{
    char name[WORD];
    const char *rest = word;
    bool is = take_word(&rest, name);
    for (rest = word; is && take_word(&rest, name);) {
        bool known = false;
        for (int b = 0; b < MATRIX_BACKENDS; b++)
            known |= !strcmp(matrix_backends[b].name, name);
        is &= known;
    }
    return is;
}

// Whether `word` belongs to the list of the flag before it.
typedef bool belongs_fn(const char *word);
static belongs_fn *list_of(const char *word)
{
    static const struct {
        const char *flag;
        belongs_fn *belongs;
    } lists[] = {{"--num-processes", is_number}, {"--data-sizes", is_number}, {"--backend", is_backend}};
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++) {
        const size_t length = strlen(lists[i].flag);
        if (!strncmp(word, lists[i].flag, length) && (word[length] == '\0' || word[length] == '='))
            return lists[i].belongs;
    }
    return NULL;
}

// argv with each list as one word, `--num-processes=2,4,6`: at most as many words as before. The array and its words
// are one allocation, for the caller to free after the options, which point into it.
static int join_lists(int argc, char **argv, char ***words_p, int *n_p)
{
    const size_t pointers = ((size_t)argc + 1) * sizeof(char *);
    size_t letters = 0;
    for (int i = 0; i < argc; i++)
        letters += strlen(argv[i]) + 2;
    char **words = calloc(1, pointers + letters), *at = (char *)words + pointers;
    int n = 0;
    if (!words)
        return CLAB_ENOMEM;
    for (int i = 0; i < argc; i++) {
        belongs_fn *belongs = i ? list_of(argv[i]) : NULL;
        words[n++] = at;
        at += sprintf(at, "%s", argv[i]);
        for (bool first = belongs && !strchr(argv[i], '='); belongs && i + 1 < argc; first = false) {
            if (first ? argv[i + 1][0] == '-' : !belongs(argv[i + 1]))
                break;
            at += sprintf(at, "%s%s", first ? "=" : ",", argv[++i]);
        }
        at++;
    }
    *words_p = words;
    *n_p = n;
    return CLAB_OK;
}

// ---- what must fit together ------------------------------------------------------------------------------------

static int resolve_backends(struct matrix_options *o)
{
    bool any = false;
    for (int b = 0; b < MATRIX_BACKENDS; b++) {
        any |= o->backends[b];
        if (o->backends[b] && o->device != MATRIX_ANY && o->device != matrix_backends[b].device) {
            clab_error("--device %s: %s moves the memory of %s only: drop it, or say --device %s",
                       matrix_device_name(o->device), matrix_backends[b].name,
                       matrix_backends[b].device == MATRIX_CUDA ? "GPUs" : "the processor",
                       matrix_device_name(matrix_backends[b].device));
            return CLAB_EINVAL;
        }
    }
    if (!any)
        o->backends[o->device == MATRIX_CUDA ? MATRIX_NCCL : MATRIX_GLOO] = true;
    if (o->backends[MATRIX_SIM] && !o->net) {
        clab_error("--backend sim needs the network whose time it is: add --net NAME (./commlab nets lists them)");
        return CLAB_EINVAL;
    }
    return CLAB_OK;
}

static int resolve_seed(struct matrix_options *o)
{
    uint32_t drawn;
    if (!o->seeded && getrandom(&drawn, sizeof drawn, 0) != sizeof drawn)
        return CLAB_ESYS;
    if (!o->seeded)
        o->seed = drawn;
    return CLAB_OK;
}

static int check_place(const struct matrix_options *o)
{
    if (o->output && o->results)
        clab_error("--output names one file for all, and --results the folder of a file per backend: give one of them");
    else if (o->output && (strlen(o->output) < 5 || strcmp(o->output + strlen(o->output) - 4, ".csv")))
        clab_error("--output '%s': its name must end in .csv, since NAME_samples.csv lies beside it", o->output);
    else if (*o->root && access(o->root, X_OK) != 0)
        clab_error("--root %s: %m", o->root);
    else
        return CLAB_OK;
    return CLAB_EINVAL;
}

int matrix_options_parse(int argc, char **argv, struct matrix_options *options_p)
{
    static const struct clab_command_line line = {
        .options = options, .arguments = "[COLLECTIVE...]", .about = doc, .argument = take_collective};
    struct matrix_options o = {
        .ranks = {2, 4, 6}, .nranks = 3,
        .sizes = {1000000, 10000000, 100000000, 1000000000}, .nsizes = 4,
        .device = MATRIX_ANY,
        .warmup = 5, .iterations = 50,
        .budget = 5 * MINUTE,
        .root = "",
    };
    int n;
    CLAB_TRY(join_lists(argc, argv, &options_p->words, &n));
    o.words = options_p->words;
    CLAB_TRY(clab_options_parse(&line, n, o.words, &o));
    bool any = false;
    for (int c = 0; c < CLAB_COLLECTIVE_COUNT; c++)
        any |= o.collectives[c];
    o.collectives[CLAB_ALLREDUCE] |= !any;
    CLAB_TRY(resolve_backends(&o));
    CLAB_TRY(resolve_seed(&o));
    CLAB_TRY(check_place(&o));
    if (!o.emulate)
        o.emulate = clab_variable_given(CLAB_VARIABLE_EMULATE);
    o.command = kit_command_line(argc, argv);
    *options_p = o;
    return o.command ? CLAB_OK : CLAB_ENOMEM;
}

void matrix_options_free(struct matrix_options *options)
{
    free(options->command);
    free(options->words);
}
