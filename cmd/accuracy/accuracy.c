// SPDX-License-Identifier: MIT
// commlab accuracy: the command line, and the order of events (accuracy.h).
//
// - Beside the tables it leaves build/accuracy/, what was fitted and measured, and build/plots/accuracy.svg. Of another
//   backend than shm the figure and its rows are called accuracy-NAME.

#include "cmd/accuracy/accuracy.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/bench/options.h"
#include "core/base/files/conf.h"
#include "core/base/log.h"
#include "core/base/machine/machine.h"
#include "core/base/options.h"
#include "cmd/command.h"
#include "core/job/job.h"
#include "cmd/kit/kit.h"
#include "core/base/err.h"
#include "sim/net/net.h"
#include "sim/sim.h"

enum { ROUND_FILES = 256 };
static const char doc[] =
    "How good predictions are here: fit this machine, measure all collectives by all algorithms twice, and compare.\v"
    "With FILE...: judge these results of `commlab bench all --algo all --csv FILE` instead, the second half of the "
    "files being the same rows as the first, measured once more; --net says what predicts. "
    "cmd/accuracy/README.md explains the terms. It takes three to five minutes, in which nothing else should run.";

struct request {
    struct accuracy_plan plan;
    const char *files[ROUND_FILES];
    int nfiles;
    bool draws;
};

// ---- the command line ----------------------------------------------------------------------------------------

#define REQUEST struct request

static const struct clab_option options[] = {
    {"ranks", 'n', "N", "ranks (2)", CLAB_INT(REQUEST, plan.nranks, 2, CLAB_MAX_RANKS)},
    {"backend", 0, "NAME", "what moves their bytes (shm)", CLAB_TEXT_AT(REQUEST, plan.backend)},
    {"maxbytes", 'e', "SIZE", "largest size (32M)", CLAB_SIZE(REQUEST, plan.last, 8)},
    {"seconds", 0, "TIME", "time for a row and placement, in each of two rounds (0.025s)",
     CLAB_BARE_SECONDS(REQUEST, plan.seconds, BENCH_MOST_SECONDS)},
    {"net", 0, "NAME|FILE", "the network that predicts, instead of one that is fitted first",
     CLAB_TEXT_AT(REQUEST, plan.net)},
    {"no-plot", 0, NULL, "draw nothing", CLAB_OFF(REQUEST, draws)},
    {0},
};

static int take_file(const char *text, void *into)
{
    struct request *r = into;
    if (r->nfiles == ROUND_FILES) {
        clab_error("accuracy: '%s' is too much: %d files at most", text, ROUND_FILES);
        return CLAB_EINVAL;
    }
    r->files[r->nfiles++] = text;
    return CLAB_OK;
}

// ---- before --------------------------------------------------------------------------------------------------

// Whether there is what was asked for: the backend, and a network that can be read.
static bool can_begin(const struct request *r)
{
    struct clab_net *net = NULL;
    const bool has_net = !r->plan.net || clab_net_load(r->plan.net, &net) == CLAB_OK;
    clab_net_free(net);
    return has_net && (r->nfiles || clab_backend_find(r->plan.backend));
}

static void print_header(const struct accuracy_plan *plan)
{
    struct clab_machine machine;
    struct clab_manifest warnings = {0};
    clab_machine_read(&machine);
    printf("# accuracy of predictions: %s, %d ranks on %d cores, %s\n", plan->backend, plan->nranks, machine.cores,
           machine.cpu);
    if (plan->net)
        printf("# predicts on %s, and measures all collectives by all algorithms twice: some minutes\n", plan->net);
    else
        printf(
            "# fits messages, copies and reductions, then measures all collectives by all algorithms twice: three to "
            "five minutes\n");
    if (clab_machine_warn(&machine, plan->nranks, &warnings) == CLAB_OK && clab_manifest_get(&warnings, "warning"))
        printf("# warning: %s\n", clab_manifest_get(&warnings, "warning"));
    clab_manifest_free(&warnings);
    fflush(stdout);
}

static int load(const struct request *r, struct accuracy_rows *rows, struct clab_net **net_p)
{
    const int half = (r->nfiles + 1) / 2;
    for (int i = 0; i < r->nfiles; i++)
        CLAB_TRY(accuracy_rows_add(rows, r->files[i], i >= half));
    return clab_net_load(r->plan.net, net_p);
}

// ---- after ---------------------------------------------------------------------------------------------------

static int draw(const struct accuracy_rows *rows, const struct clab_net *net, const struct accuracy_plan *plan,
                const char *root, const char *build)
{
    const bool is_usual = !strcmp(plan->backend, clab_backend_usual(1));
    char csv[4096], figure[4096];
    snprintf(csv, sizeof csv, "%s/accuracy%s%s.csv", plan->folder, is_usual ? "" : "-", is_usual ? "" : plan->backend);
    snprintf(figure, sizeof figure, "%s/plots/accuracy%s%s", build, is_usual ? "" : "-", is_usual ? "" : plan->backend);
    CLAB_TRY(accuracy_write(rows, net, csv));
    const int err = kit_plot(root, "plots/accuracy.gp", csv, figure);
    return err == CLAB_EUNSUPPORTED ? CLAB_OK : err; // it has been said that there is no gnuplot
}

static int judge(struct accuracy_rows *rows, const struct clab_net *net, const struct request *r, const char *root,
                 const char *build)
{
    accuracy_rows_predict(rows, net);
    if (!rows->n) {
        clab_error("accuracy: no row that was measured has a prediction");
        return CLAB_EINVAL;
    }
    if (r->draws)
        CLAB_TRY(draw(rows, net, &r->plan, root, build));
    return accuracy_report(rows, net);
}

// ---- all of it -----------------------------------------------------------------------------------------------

static int find_folder(struct accuracy_plan *plan, char **root_p, char **build_p, char **folder_p)
{
    CLAB_TRY(kit_root(root_p));
    CLAB_TRY(kit_made(build_p));
    if (asprintf(folder_p, "%s/accuracy", *build_p) < 0)
        return CLAB_ENOMEM;
    plan->folder = *folder_p;
    return kit_make_folder(*folder_p);
}

static int run_request(struct request *r)
{
    struct accuracy_rows rows = {0};
    struct clab_net *net = NULL;
    char *root = NULL, *build = NULL, *folder = NULL;
    int err = find_folder(&r->plan, &root, &build, &folder);
    if (!err && !r->nfiles)
        print_header(&r->plan);
    if (!err)
        err = r->nfiles ? load(r, &rows, &net) : accuracy_sweep(&r->plan, &rows, &net);
    if (!err)
        err = judge(&rows, net, r, root, build);
    accuracy_rows_free(&rows);
    clab_net_free(net);
    free(root);
    free(build);
    free(folder);
    return err;
}

static int run(int argc, char **argv)
{
    static const struct clab_command_line line = {
        .options = options, .arguments = "[FILE...]", .about = doc, .argument = take_file};
    struct request request = {
        .plan = {.backend = clab_backend_usual(1), .nranks = 2, .last = 32 << 20, .seconds = 0.025},
        .draws = true,
    };
    if (clab_options_parse(&line, argc, argv, &request))
        return STATUS_USAGE;
    if (request.nfiles && !request.plan.net) {
        clab_error("accuracy: '%s': say by --net what predicts the rows of these files", request.files[0]);
        return STATUS_USAGE;
    }
    if (clab_conf_check("networks"))
        return STATUS_LACKING;
    if (!can_begin(&request))
        return STATUS_USAGE;
    const int err = run_request(&request);
    if (request.nfiles || err == CLAB_EUNSUPPORTED)
        return command_status(err);
    return err ? EXIT_FAILURE : EXIT_SUCCESS; // of what was measured, not of what was asked
}

const struct clab_command cmd_accuracy = {"accuracy", "compare predictions with measurements on this machine", run};
