// SPDX-License-Identifier: MIT
// What the command line asks of a lab run, and how that changes what lab.conf says.

#include "cmd/lab/lab.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/err.h"
#include "core/base/log.h"
#include "core/base/options.h"
#include "core/base/units.h"
#include "core/base/variables.h"
#include "cmd/command.h"
#include "cmd/kit/kit.h"

#define REQUEST struct lab_request

static const struct clab_option options[] = {
    {"backend", 0, "NAME", "what moves the bytes (the lab's first)", CLAB_TEXT_AT(REQUEST, backend)},
    {"ranks", 'n', "N", "ranks (the lab's number)", CLAB_INT(REQUEST, ranks, 1, CLAB_MAX_RANKS)},
    {"net", 0, "NAME",
     "predict by this network: a name or a file (machine: what commlab fit wrote); on sim, it is the network's time",
     CLAB_TEXT_AT(REQUEST, net)},
    {"emulate", 0, "NAME",
     "put the wire of this network between the ranks, and predict by it: a name or a file, `commlab nets` lists them; "
     "none: not even the lab's own",
     CLAB_TEXT_AT(REQUEST, emulate), .variable = CLAB_VARIABLE_EMULATE},
    {"pairs", 0, "K", "pairs of runs (the lab's number); a 95 % interval needs 6", CLAB_INT(REQUEST, pairs, 1, 1000)},
    {"options", 0, "WORDS", "other options of the programs, spaces between (their --help lists them)",
     CLAB_TEXT_AT(REQUEST, options)},
    {"sizes", 0, "LIST", "other sizes in bytes, for labs that have them: 8,4096", CLAB_TEXT_AT(REQUEST, sizes)},
    {"iterations", 0, "LIST", "other numbers of iterations, for labs that have them: 1,16",
     CLAB_TEXT_AT(REQUEST, iterations)},
    {"results", 0, "DIR", "where the CSV file goes (results/)", CLAB_TEXT_AT(REQUEST, results)},
    {"no-sweep", 0, NULL, "leave out other numbers of ranks", CLAB_ON(REQUEST, no_sweep)},
    {"no-plot", 0, NULL, "draw nothing", CLAB_ON(REQUEST, no_plot)},
    {0},
};

static const char doc[] =
    "Run the programs before and after of lab NN in pairs, and set beside each measured quantity what was predicted of "
    "it.\v"
    "Writes results/NN-BACKEND-NET-RANKS.csv and draws build/plots/NN-BACKEND-NET-RANKS; NET is the network that "
    "predicts: the emulated one, or machine, what commlab fit wrote. Some labs emulate a slow wire unless told otherwise: with it "
    "you see their effect on two cores. `all` runs every lab there is, one by one.\n\n"
    "Example: ./commlab lab 07 -n 2 --emulate 1gbe";

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

void lab_request_usual_net(struct lab_request *r, const struct lab_conf *conf, const struct clab_backend *backend)
{
    if (backend->time->is_exact && !r->net && !clab_variable_given(CLAB_VARIABLE_NET))
        r->net = conf->net;
}

bool lab_request_is_other(const struct lab_request *r)
{
    return r->sizes || r->iterations || r->options;
}

bool lab_request_usual_wire(struct lab_request *r, const struct lab_conf *conf, const struct clab_backend *backend)
{
    const bool can = !backend->time->is_exact && !backend->bounces;
    if (!can || r->emulate || r->no_wire || r->net)
        return false;
    r->emulate = conf->emulate;
    return r->emulate;
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
    if (conf->ranks < conf->least_ranks) {
        clab_error("lab: -n %d: lab %s compares how ranks work together; type -n %d or more", conf->ranks, conf->id,
                   conf->least_ranks);
        return CLAB_EINVAL;
    }
    return CLAB_OK;
}

// One network at a time: an emulated one is what predicts. The programs take one from the environment, too.
static void check_emulate(struct lab_request *r)
{
    r->emulate = r->emulate ? r->emulate : clab_variable_given(CLAB_VARIABLE_EMULATE);
    r->no_wire = r->emulate && !strcmp(r->emulate, "none");
    if (r->no_wire) {
        r->emulate = NULL;
        clab_variable_set(CLAB_VARIABLE_EMULATE, ""); // the programs', too
    }
    if (!r->emulate || !r->net)
        return;
    clab_error("lab: --net %s, --emulate %s: give one of them; an emulated network also predicts", r->net, r->emulate);
    exit(STATUS_USAGE);
}

void lab_request_parse(int argc, char **argv, struct lab_request *request_p)
{
    static const struct clab_command_line line = {
        .options = options, .arguments = "NN|all", .about = doc, CLAB_ONE(struct lab_request, lab, "one lab at a time, or all")};
    struct lab_request request = {.command = kit_command_line(argc, argv)};
    if (clab_options_parse(&line, argc, argv, &request))
        exit(STATUS_USAGE);
    check_emulate(&request);
    *request_p = request;
}
