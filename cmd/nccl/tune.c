// SPDX-License-Identifier: MIT
// commlab tune: a table of choices, for our own `auto` or for the tuner that NCCL loads, from measurements, files, or
// NCCL's own model (tune.h).

#include "cmd/nccl/tune.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/transport/backend.h"
#include "core/base/err.h"
#include "core/base/log.h"
#include "core/base/files/output.h"
#include "core/base/units.h"
#include "cmd/bench/options.h"
#include "core/clab.h"
#include "cmd/command.h"
#include "cmd/lab/lab.h"

enum { MOST_FILES = 256 };

static const char doc[] =
    "Measure all algorithms, and write a table of the best: for `--algo auto` (CLAB_TUNER=FILE), or for NCCL's tuner "
    "plugin, build/backends/libnccl-tuner-commlab.so.\v"
    "COLLECTIVE is allreduce, broadcast, reduce, allgather or reduce_scatter; without it, all of them (on other backends "
    "than nccl: any, or all; allreduce unless told). Examples:\n"
    "  commlab tune --backend sim --net dgx-h100 -n 16 -o tune.csv     (the kit's own algorithms)\n"
    "  CLAB_TUNER=tune.csv commlab bench --backend sim --net dgx-h100 -n 16\n"
    "  commlab tune -n 8 allreduce -o tune.csv                 (NCCL's, with 8 GPUs)\n"
    "  commlab tune --from own.txt --from ring/ll=a.txt --from tree/simple=b.txt -o tune.csv\n"
    "  commlab tune --model --gpus 8 --nodes 4 --channels 8 --intra-bw 48 --inter-bw 48 -o tune.csv\n"
    "A file is one of these: CSV of `commlab bench --backend nccl --algo native`, made with NCCL_ALGO and NCCL_PROTO; "
    "output of nccl-tests, from 1.0 on (a file that does not say it: name the collective and -n RANKS); CSV with columns collective, ranks, nodes, bytes, algorithm, protocol, usec. gain is the "
    "time of NCCL's own choice divided by the time of the table's choice, over the sizes of the row. If NCCL's own "
    "choice is as good, there is no row; without rows there is no file. A table from --model pins the choices that "
    "NCCL's model makes. regret is the time of a choice divided by the time of the best; with --channels and --intra-bw "
    "also that of NCCL's model. With a table for NCCL, run a program with\n"
    "  NCCL_TUNER_PLUGIN=$PWD/build/backends/libnccl-tuner-commlab.so NCCL_TUNER_CONFIG_FILE=$PWD/tune.csv";

struct request {
    bool functions[CLAB_NCCL_FUNCTIONS], any_function, is_model;
    const char *files[MOST_FILES], *output;
    int nfiles;
    double gain; // percent
    struct tune_run run;
    struct tune_ours ours; // what run has not
    struct nccl_given given;
};

// ---- the command line ----------------------------------------------------------------------------------------

__attribute__((format(printf, 1, 2))) static void refuse(const char *format, ...)
{
    char text[512];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    clab_error("%s", text);
    exit(STATUS_USAGE);
}

static const char *function_name(int function)
{
    return function == CLAB_NCCL_REDUCE_SCATTER ? "reduce_scatter" : clab_nccl_function_word(function);
}

static const struct clab_names functions = {CLAB_NCCL_FUNCTIONS, NULL, function_name};

// The kit's own algorithms, on a backend that is not NCCL's.
static bool is_ours(const struct request *r)
{
    return !r->is_model && !r->nfiles && strcmp(r->run.backend, "nccl") != 0;
}

static int take_ours(const char *text, struct request *r)
{
    const bool is_all = !strcmp(text, "all");
    const int collective = is_all ? 0 : clab_names_find(&clab_collective_names, "tune", text, strlen(text));
    if (collective < 0)
        return CLAB_EINVAL;
    for (int c = 0; c < CLAB_COLLECTIVE_COUNT && is_all; c++)
        r->ours.collectives[c] = true;
    r->ours.collectives[collective] = r->any_function = true;
    return CLAB_OK;
}

static int take_collective(const char *text, void *into)
{
    struct request *r = into;
    if (is_ours(r))
        return take_ours(text, r);
    const int function = clab_names_find(&functions, "tune", text, strlen(text));
    if (function < 0)
        return CLAB_EINVAL;
    r->functions[function] = r->any_function = true;
    return CLAB_OK;
}

static int take_file(const char *flag, const char *text, void *into)
{
    struct request *r = into;
    if (r->nfiles == MOST_FILES)
        return clab_refuse(flag, text, "one of at most 256 files");
    r->files[r->nfiles++] = text;
    return CLAB_OK;
}

// We check the bench's flags here, and pass them on as given.
static int take_ranks(const char *flag, const char *text, void *into)
{
    int ranks;
    ((struct request *)into)->run.ranks = text;
    return clab_parse_int(text, 2, CLAB_MAX_RANKS, &ranks) ? clab_refuse(flag, text, "a number of ranks from 2 on")
                                                           : CLAB_OK;
}

static int take_seconds(const char *flag, const char *text, void *into)
{
    double seconds;
    ((struct request *)into)->run.seconds = text;
    return clab_take_bare_seconds(flag, text, BENCH_MOST_SECONDS, &seconds);
}

#define REQUEST struct request

static const struct clab_option options[] = {
    CLAB_HEADING("What it is made of:"),
    {"from", 0, "[ALGORITHM/PROTOCOL=]FILE",
     "times in a file: of this choice (ring/ll, tree/ll128/8 with 8 channels), or of NCCL's own; may be given often",
     CLAB_CALL(take_file)},
    {"model", 0, NULL, "times by NCCL's own model, for the machine below", CLAB_ON(REQUEST, is_model)},
    CLAB_HEADING("The machine (--nodes: of files that do not say, too):"),
    CLAB_TABLE(REQUEST, given, nccl_given_options),
    CLAB_HEADING("Else it is measured here:"),
    {"ranks", 'n', "N", "ranks, one GPU per rank (2); with --from: those of files that do not say", CLAB_CALL(take_ranks)},
    {"minbytes", 'b', "SIZE", "smallest size (8)", CLAB_TEXT_AT(REQUEST, run.first)},
    {"maxbytes", 'e', "SIZE", "largest size (64M)", CLAB_TEXT_AT(REQUEST, run.last)},
    {"stepfactor", 'f', "N", "sizes grow by this factor (4)", CLAB_TEXT_AT(REQUEST, run.factor)},
    {"seconds", 0, "TIME", "the most time per size (0.3s)", CLAB_CALL(take_seconds)},
    {"backend", 0, "NAME", "nccl, or any other with the kit's own algorithms (nccl)", CLAB_TEXT_AT(REQUEST, run.backend)},
    {"net", 0, "NAME|FILE", "of the backend sim: its network", CLAB_TEXT_AT(REQUEST, ours.net)},
    {"emulate", 0, "NAME|FILE", "delay messages as this network would", CLAB_TEXT_AT(REQUEST, ours.emulate)},
    {"rounds", 0, "N", "measure each algorithm so often; not of nccl (3)", CLAB_INT(REQUEST, ours.rounds, 1, 99)},
    CLAB_HEADING("What is done with it:"),
    {"output", 'o', "FILE", "write the table, for CLAB_TUNER (nccl: or NCCL_TUNER_CONFIG_FILE)", CLAB_TEXT_AT(REQUEST, output)},
    {"csv", 0, "FILE", NULL, CLAB_TEXT_AT(REQUEST, output)}, // the same
    {"gain", 0, "PERCENT", "the least gain for another choice (3)", CLAB_NUMBER(REQUEST, gain, 0, 1000)},
    {0},
};

static void check(struct request *r)
{
    const struct tune_run *run = &r->run;
    if (r->is_model && r->nfiles)
        refuse("--model or --from: times are one or the other's");
    if (r->is_model && run->ranks)
        refuse("-n is for what is measured here, or for files that do not say it; --model has --nodes and --gpus");
    if ((r->is_model || r->nfiles) && (run->first || run->last || run->factor || run->seconds))
        refuse("-b, -e, -f and --seconds are for what is measured here; %s has its own", r->is_model ? "--model" : "--from");
    if (!is_ours(r) && (r->ours.net || r->ours.emulate))
        refuse("--net and --emulate are for measurements of the kit's own algorithms: add --backend sim or shm");
    for (int f = 0; f < CLAB_NCCL_FUNCTIONS; f++)
        r->functions[f] |= !r->any_function;
}

// ---- times ---------------------------------------------------------------------------------------------------

// Of a log that says neither: the one collective that was named, and the ranks.
static struct tune_missing missing(const struct request *r)
{
    struct tune_missing m = {.function = -1, .nodes = nccl_given_nodes(&r->given)};
    int named = 0;
    for (int f = 0; f < CLAB_NCCL_FUNCTIONS && r->any_function; f++)
        if (r->functions[f]) {
            named++;
            m.function = f;
        }
    if (named != 1)
        m.function = -1;
    if (r->run.ranks)
        (void)clab_parse_int(r->run.ranks, 2, CLAB_MAX_RANKS, &m.ranks); // take_ranks has read it
    return m;
}

static int read_file(const struct request *r, const char *text, struct tune_times *times)
{
    const char *path = strchr(text, '=');
    struct tune_label label = {.is_own = true, .channels = CLAB_NCCL_ANY};
    char name[64];
    // A path may have an = in it, too.
    if (path && (size_t)(path - text) < sizeof name && memchr(text, '/', (size_t)(path - text)) && *text != '/' &&
        *text != '.') {
        snprintf(name, sizeof name, "%.*s", (int)(path - text), text);
        if (tune_label_read(name, &label)) {
            clab_error("--from %s: '%s' is not ALGORITHM/PROTOCOL or ALGORITHM/PROTOCOL/CHANNELS, as in ring/ll or "
                       "tree/ll128/8",
                       text, name);
            return CLAB_EPARSE;
        }
        text = path + 1;
    }
    return tune_read(text, label, missing(r), times);
}

// Drop the times of collectives that the user does not want.
static void keep_wanted(const struct request *r, struct tune_times *times)
{
    int n = 0;
    for (int i = 0; i < times->n; i++)
        if (r->functions[times->all[i].function])
            times->all[n++] = times->all[i];
    times->n = n;
}

static int find_times(struct request *r, struct tune_times *times, int *status_p)
{
    *status_p = 0;
    if (r->is_model)
        return tune_model(&r->given, r->functions, times);
    for (int i = 0; i < r->nfiles; i++)
        CLAB_TRY(read_file(r, r->files[i], times));
    if (r->nfiles) {
        keep_wanted(r, times);
        return CLAB_OK;
    }
    r->run.nodes = nccl_given_nodes(&r->given);
    if (lab_attach(r->run.backend) || !clab_backend_find(r->run.backend)) { // both log the reason
        *status_p = STATUS_LACKING;
        return CLAB_OK;
    }
    return tune_run(&r->run, r->functions, times, status_p);
}

// ---- the answer ----------------------------------------------------------------------------------------------

static void name_source(const struct request *r, char source[200])
{
    if (r->is_model)
        snprintf(source, 200, "NCCL %s's own model: it pins what that version takes",
                 clab_nccl_tables_find(r->given.version)->version);
    else if (r->nfiles)
        snprintf(source, 200, "%d file%s, %.120s%s", r->nfiles, r->nfiles == 1 ? "" : "s", r->files[0],
                 r->nfiles == 1 ? "" : ", ...");
    else
        snprintf(source, 200, "measurements on this machine");
}

static int count_rows(const struct tune_choice *choices, int n)
{
    int rows = 0;
    for (int i = 0; i < n; i++)
        rows += !choices[i].is_own;
    return rows;
}

// The table, if it has a row: the plugin refuses one without.
static int write_rows(const struct request *r, const struct tune_choice *choices, int n, const struct tune_words *words,
                      const char *source)
{
    if (!r->output || !count_rows(choices, n))
        return CLAB_OK;
    CLAB_TRY(clab_output_announce(r->output));
    return tune_write(choices, n, words, source, r->output);
}

// A table of an earlier time would still be in use.
static void say_unwritten(const char *path, const char *why, const char *variable)
{
    printf("no row, so nothing is written to %s: %s\n", path, why);
    if (access(path, F_OK) == 0)
        printf("%s is as it was: remove it, or %s still chooses by it\n", path, variable);
}

static void sum_up(const struct request *r, const struct tune_choice *choices, int n)
{
    const int rows = count_rows(choices, n);
    int unknown = 0;
    for (int i = 0; i < n; i++)
        unknown += isnan(choices[i].gain);
    if (unknown)
        printf("# without a run that leaves the choice to NCCL (--from FILE) there is no gain\n");
    if (rows < n)
        printf("# NCCL's own: as good as any, to %g %%: no row\n", r->gain);
    if (r->output && rows)
        printf("%d row%s in %s: NCCL_TUNER_PLUGIN=$PWD/build/backends/libnccl-tuner-commlab.so "
               "NCCL_TUNER_CONFIG_FILE=%s\n",
               rows, rows == 1 ? "" : "s", r->output, r->output);
    else if (r->output)
        say_unwritten(r->output, "NCCL needs no table here", "NCCL_TUNER_CONFIG_FILE");
}

static int answer(const struct request *r, struct tune_times *times)
{
    const bool is_measured = !r->is_model && !r->nfiles;
    const struct tune_rule rule = {
        .margin = 1 + r->gain / 100, .pins = r->is_model, .registered = is_measured ? tune_run_registers() : CLAB_NCCL_ANY};
    struct tune_choice *choices;
    char source[200];
    int n;
    CLAB_TRY(tune_choose(times, rule, &choices, &n));
    name_source(r, source);
    printf("# from %s\n", source);
    int err = tune_print(choices, n, &tune_words_nccl);
    if (!err)
        err = write_rows(r, choices, n, &tune_words_nccl, source);
    if (!err)
        sum_up(r, choices, n);
    free(choices);
    return err;
}

// ---- the kit's own algorithms --------------------------------------------------------------------------------

static int answer_ours(const struct request *r, struct tune_times *times)
{
    const struct tune_rule rule = {.margin = 1 + r->gain / 100, .registered = CLAB_NCCL_ANY};
    const bool has_model = r->given.channels || r->given.log_path;
    const char *net = r->ours.net ? r->ours.net : r->ours.emulate;
    struct tune_choice *choices;
    char source[200];
    int n;
    CLAB_TRY(tune_choose(times, rule, &choices, &n)); // and sort
    snprintf(source, sizeof source, "measurements on backend %s%s%.100s", r->run.backend, net ? ", network " : "",
             net ? net : "");
    printf("# from %s\n# regret: time of the choice / least time of all algorithms, and its interval over rounds\n",
           source);
    int err = tune_regret_print(times, rule, has_model ? &r->given : NULL);
    if (!err)
        err = tune_print(choices, n, &tune_words_ours);
    const int rows = count_rows(choices, n);
    if (!err)
        err = write_rows(r, choices, n, &tune_words_ours, source);
    if (!err && r->output && rows)
        printf("%d row%s in %s: CLAB_TUNER=%s lets auto choose by them\n", rows, rows == 1 ? "" : "s", r->output,
               r->output);
    else if (!err && r->output)
        say_unwritten(r->output, "the default is as good as any", "CLAB_TUNER");
    free(choices);
    return err;
}

// NCCL's model is of a machine with as many GPUs as ranks.
static void check_model(const struct request *r)
{
    int ranks = 2;
    if (r->run.ranks)
        clab_parse_int(r->run.ranks, 2, CLAB_MAX_RANKS, &ranks);
    const int nodes = nccl_given_nodes(&r->given), gpus = nccl_given_gpus(&r->given);
    if (r->given.channels && nodes * gpus != ranks)
        refuse("--nodes %d --gpus %d are %d GPUs, but there are %d ranks (-n)", nodes, gpus, nodes * gpus, ranks);
}

static int run_ours(struct request *r)
{
    struct tune_times times = {0};
    struct tune_ours *ours = &r->ours;
    int status = 0;
    check_model(r);
    if (lab_attach(r->run.backend))
        return STATUS_LACKING;
    const struct clab_backend *backend = clab_backend_find(r->run.backend);
    if (!backend)
        return STATUS_USAGE;
    ours->backend = r->run.backend;
    ours->ranks = r->run.ranks, ours->first = r->run.first, ours->last = r->run.last;
    ours->factor = r->run.factor, ours->seconds = r->run.seconds;
    ours->collectives[CLAB_ALLREDUCE] |= !r->any_function;
    ours->rounds = backend->time->is_exact ? 1 : ours->rounds;
    int err = tune_ours_measure(ours, &times, &status);
    if (!err && !status)
        err = answer_ours(r, &times);
    tune_times_free(&times);
    return status ? status : command_status(err);
}

static int run(int argc, char **argv)
{
    static const struct clab_command_line line = {
        .options = options, .arguments = "[COLLECTIVE...]", .about = doc, .argument = take_collective};
    struct request request = {.gain = 3, .run = {.backend = "nccl"}, .ours = {.rounds = 3}, .given = nccl_given_default};
    struct tune_times times = {0};
    int status;
    if (clab_options_parse(&line, argc, argv, &request))
        return STATUS_USAGE;
    check(&request);
    if (request.output && clab_output_check(request.output))
        return EXIT_FAILURE;
    if (is_ours(&request))
        return run_ours(&request);
    int err = find_times(&request, &times, &status);
    if (err && (request.is_model || request.nfiles))
        status = STATUS_USAGE;
    if (!err && !status && times.n == 0) {
        clab_error("tune: there are no times of the wanted collectives: name others, or give other files by --from");
        err = CLAB_ENOENT;
    }
    if (!err && !status)
        err = answer(&request, &times);
    tune_times_free(&times);
    return status ? status : err ? EXIT_FAILURE : EXIT_SUCCESS;
}

const struct clab_command cmd_tune = {"tune", "measure all algorithms, and write a table of the best, for auto and for NCCL", run};
