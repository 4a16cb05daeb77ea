// SPDX-License-Identifier: MIT
// What the command line asks of a lab run, and how that changes what lab.conf says.

#include "cmd/lab/lab.h"

#include <argp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/err.h"
#include "core/base/log.h"
#include "core/base/units.h"
#include "core/base/variables.h"
#include "cmd/command.h"
#include "core/job/job.h"
#include "cmd/kit/kit.h"

enum {
    KEY_BACKEND = 256,
    KEY_NET,
    KEY_EMULATE,
    KEY_PAIRS,
    KEY_OPTIONS,
    KEY_SIZES,
    KEY_ITERATIONS,
    KEY_RESULTS,
    KEY_NO_SWEEP,
    KEY_NO_PLOT
};

static const struct argp_option options[] = {
    {"backend", KEY_BACKEND, "NAME", 0, "what moves the bytes (the lab's first)", 0},
    {"ranks", 'n', "N", 0, "ranks (the lab's number)", 0},
    {"net", KEY_NET, "NAME", 0,
     "predict by this network: a name or a file (machine: what commlab fit wrote); on sim, it is the network's time",
     0},
    {"emulate", KEY_EMULATE, "NAME", 0,
     "put the wire of this network between the ranks, and predict by it: a name or a file, `commlab nets` lists them",
     0},
    {"pairs", KEY_PAIRS, "K", 0, "pairs of runs (the lab's number)", 0},
    {"options", KEY_OPTIONS, "WORDS", 0, "other options of the programs, spaces between (their --help lists them)", 0},
    {"sizes", KEY_SIZES, "LIST", 0, "other sizes in bytes, for labs that have them: 8,4096", 0},
    {"iterations", KEY_ITERATIONS, "LIST", 0, "other numbers of iterations, for labs that have them: 1,16", 0},
    {"results", KEY_RESULTS, "DIR", 0, "where the CSV file goes (results/)", 0},
    {"no-sweep", KEY_NO_SWEEP, NULL, 0, "leave out other numbers of ranks", 0},
    {"no-plot", KEY_NO_PLOT, NULL, 0, "draw nothing", 0},
    {0},
};

static const char doc[] =
    "Run the programs before and after of lab NN in pairs, and set beside each measured quantity what was predicted of "
    "it.\v"
    "Writes results/NN-BACKEND-NET-RANKS.csv and draws build/plots/NN-BACKEND-NET-RANKS; NET is the network that "
    "predicts: the emulated one, or machine, what commlab fit wrote. `all` runs every lab there is, one by one.\n\n"
    "Example: ./commlab lab 07 -n 2 --emulate 1gbe";

static error_t take_number(const char *option, const char *text, int high, int *value_p)
{
    if (clab_parse_int(text, 1, high, value_p) == CLAB_OK)
        return 0;
    clab_error("lab: %s '%s' is not a whole number from 1 to %d", option, text, high);
    exit(STATUS_USAGE);
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
    struct lab_request *r = state->input;
    switch (key) {
    case 'n': return take_number("-n", arg, CLAB_MAX_RANKS, &r->ranks);
    case KEY_PAIRS: return take_number("--pairs", arg, 1000, &r->pairs);
    case KEY_BACKEND: r->backend = arg; return 0;
    case KEY_NET: r->net = arg; return 0;
    case KEY_EMULATE: r->emulate = arg; return 0;
    case KEY_OPTIONS: r->options = arg; return 0;
    case KEY_SIZES: r->sizes = arg; return 0;
    case KEY_ITERATIONS: r->iterations = arg; return 0;
    case KEY_RESULTS: r->results = arg; return 0;
    case KEY_NO_SWEEP: r->no_sweep = true; return 0;
    case KEY_NO_PLOT: r->no_plot = true; return 0;
    case ARGP_KEY_ARG:
        if (r->lab)
            return ARGP_ERR_UNKNOWN;
        r->lab = arg;
        return 0;
    default: return ARGP_ERR_UNKNOWN;
    }
}

// A list of numbers from the command line in place of lab.conf's.
static int override_words(const char *option, const char *list, struct lab_words *words)
{
    int number;
    if (!list)
        return CLAB_OK;
    const int err = lab_words_split(list, ",", words);
    if (err == CLAB_ENOMEM)
        return err;
    bool numbers = !err && words->count;
    for (int i = 0; i < words->count; i++)
        numbers &= clab_parse_int(words->words[i], 1, 1 << 30, &number) == CLAB_OK;
    if (numbers)
        return CLAB_OK;
    clab_error("lab: %s '%s': expected at most %d whole numbers with commas between, as in 8,4096", option, list,
               LAB_MAX_WORDS);
    return CLAB_EINVAL;
}

// The command line's list in place of lab.conf's, if it has one.
static int override_numbers(const char *option, const char *list, const char *id, struct lab_words *words)
{
    if (!list || words->count)
        return override_words(option, list, words);
    clab_error("lab: %s: lab %s has none", option, id);
    return CLAB_EINVAL;
}

int lab_request_backend(const struct lab_request *r, const struct lab_conf *conf, const char **backend_p)
{
    char names[256] = "";
    for (int i = 0; i < conf->backends.count; i++) {
        if (!r->backend || !strcmp(r->backend, conf->backends.words[i])) {
            *backend_p = conf->backends.words[i];
            return CLAB_OK;
        }
        snprintf(names + strlen(names), sizeof names - strlen(names), " %s", conf->backends.words[i]);
    }
    clab_error("lab: --backend %s: lab %s runs on:%s", r->backend, conf->id, names);
    return CLAB_EINVAL;
}

static bool is_there(const char *backend)
{
    for (int i = 0; clab_backend_name(i); i++)
        if (!strcmp(clab_backend_name(i), backend))
            return true;
    return false;
}

int lab_request_before(const struct lab_conf *conf, const char *backend, const char **before_p)
{
    const struct lab_words *words = &conf->before_backends;
    char names[256] = "";
    if (!words->count || conf->before_net) {
        *before_p = backend;
        return CLAB_OK;
    }
    for (int i = 0; i < words->count; i++) {
        if (strcmp(words->words[i], backend) != 0 && is_there(words->words[i])) {
            *before_p = words->words[i];
            return CLAB_OK;
        }
        snprintf(names + strlen(names), sizeof names - strlen(names), " %s", words->words[i]);
    }
    clab_error("lab: lab %s compares %s with another backend, and this build has none of:%s", conf->id, backend, names);
    return CLAB_EUNSUPPORTED;
}

int lab_request_apply(const struct lab_request *r, struct lab_conf *conf)
{
    CLAB_TRY(override_numbers("--sizes", r->sizes, conf->id, &conf->sizes));
    CLAB_TRY(override_numbers("--iterations", r->iterations, conf->id, &conf->iterations));
    if (r->options && lab_words_split(r->options, " ", &conf->options) != CLAB_OK) {
        clab_error("lab: --options '%s': at most %d words", r->options, LAB_MAX_WORDS);
        return CLAB_EINVAL;
    }
    conf->pairs = r->pairs ? r->pairs : conf->pairs;
    conf->ranks = r->ranks ? r->ranks : conf->ranks;
    return CLAB_OK;
}

// One network at a time: an emulated one is what predicts. The programs take one from the environment, too.
static void check_emulate(struct lab_request *r)
{
    const char *variable = clab_variable_text(CLAB_VARIABLE_EMULATE);
    if (!r->emulate && variable && *variable)
        r->emulate = variable;
    if (!r->emulate || !r->net)
        return;
    clab_error("lab: --net %s, --emulate %s: give one of them; an emulated network also predicts", r->net, r->emulate);
    exit(STATUS_USAGE);
}

void lab_request_parse(int argc, char **argv, struct lab_request *request_p)
{
    static const struct argp argp = {.options = options, .parser = parse, .args_doc = "NN|all", .doc = doc};
    struct lab_request request = {.command = kit_command_line(argc, argv)};
    argp_err_exit_status = STATUS_USAGE;
    argp_parse(&argp, argc, argv, 0, NULL, &request);
    check_emulate(&request);
    *request_p = request;
}
