// SPDX-License-Identifier: MIT
// commlab bottleneck: where the time of a training job goes, and which fault explains it.
//
// - It runs a program, or reads the trace of a run: run_trace.c takes it apart, account.c adds up, report.c prints.

#include "cmd/command.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "cmd/bottleneck/counted.h"
#include "cmd/bottleneck/report.h"
#include "cmd/bottleneck/watch.h"
#include "cmd/kit/child.h"
#include "cmd/trace/file.h"
#include "core/base/err.h"
#include "core/base/log.h"
#include "core/base/options.h"
#include "sim/sim.h"

enum { NAME = CLAB_NET_WHY + 16 }; // of a network, or why there is none

struct request {
    const char *net, *span;
    bool once;
    char **rest;
};

static const struct clab_option options[] = {
    {"net", 0, "NAME|FILE", "what the network should be (the run's own; on this machine, what `commlab fit` measured)",
     CLAB_TEXT_AT(struct request, net)},
    {"span", 0, "NAME", "the span in which the program does a step (iteration); without any, the whole job counts",
     CLAB_TEXT_AT(struct request, span)},
    {"once", 0, NULL, "run the program only once, also if its times point to a fault", CLAB_ON(struct request, once)},
    {0},
};

static const char doc[] =
    "Say where the time of a job goes, which fault explains it, and what its remedy would save.\v"
    "`commlab bottleneck -- PROGRAM -n 4 ...` runs a program of this kit, and looks at its cores and sockets meanwhile; "
    "what it prints goes to standard error. `commlab bottleneck FILE.json` reads the trace of a run "
    "(CLAB_TRACE=FILE.json). It also reads the counts of a run in virtual time (CLAB_COUNTS=FILE.csv). They show how much "
    "ranks compute, but not which fault there is.\n\n"
    "In real time, a fault is named if the steps agree on it, and a second run of the program shows it, too. Other programs "
    "slow ranks down: if they had the cores for more than 5 % of the time, and nothing is sure, the machine is too busy to "
    "tell.\n\n"
    "A step's time is divided into six classes. If communication that no computation hides takes more than 30 % of it, "
    "communication is the bottleneck. Targets are a scaling efficiency above 90 % and an overhead below 5 %. A fault is "
    "named if its remedy would save more than 5 %.";

// The network that the run should have had. NULL with a reason in `name`: not known.
static int find_net(const struct request *request, const struct bottleneck_run *run, char name[NAME],
                    struct clab_net **net_p)
{
    const char *wanted = request->net ? request->net : *run->expected ? run->expected : NULL;
    char why[CLAB_NET_WHY] = "";
    *net_p = NULL;
    if (wanted) {
        snprintf(name, NAME, "%s", wanted);
        return clab_net_load(wanted, net_p);
    }
    CLAB_TRY(clab_net_load_profile(run->backend, why, net_p));
    if (*net_p)
        snprintf(name, NAME, "machine");
    else
        snprintf(name, NAME, "unknown (%s)", why);
    return CLAB_OK;
}

// What one run has shown.
struct finding {
    struct bottleneck_run run;
    struct bottleneck_seen seen;
    struct bottleneck_account account;
    char net[NAME];
};

static void forget(struct finding *finding)
{
    bottleneck_run_free(&finding->run);
    *finding = (struct finding){0};
}

// Read the trace. To be forgotten in any case.
static int judge(const struct request *request, const char *path, struct finding *f)
{
    struct trace_file *file;
    struct clab_net *net = NULL;
    CLAB_TRY(trace_file_load(path, &file));
    int err = bottleneck_run_read(file, request->span, &f->run);
    trace_file_free(file);
    if (f->run.is_virtual)
        f->seen.sharing = 0; // the described machine's cores are others
    if (!err)
        err = find_net(request, &f->run, f->net, &net);
    if (!err)
        err = bottleneck_account(&f->run, net, &f->seen, &f->account);
    clab_net_free(net);
    return err;
}

static void report(const struct finding *f)
{
    bottleneck_report(&f->run, f->net, &f->account, &f->seen);
}

static int judge_file(const struct request *request, const char *path)
{
    struct finding finding = {0};
    const int err = judge(request, path, &finding);
    if (!err)
        report(&finding);
    forget(&finding);
    return err;
}

static int say_why(const char *program, int status)
{
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
        return CLAB_OK;
    clab_error("bottleneck: '%s' has failed (%s %d): what it said stands above", program,
               WIFSIGNALED(status) ? "signal" : "exit status",
               WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
    return CLAB_EWRONG;
}

static int run_once(const struct request *request, const char *path, struct finding *finding)
{
    int status = 0;
    CLAB_TRY(bottleneck_watch(request->rest, path, &status, &finding->seen));
    if (child_ended_by())
        return CLAB_OK;
    CLAB_TRY(say_why(request->rest[0], status));
    return judge(request, path, finding);
}

// A machine may slow one run down from its begin to its end. What a second run does not show, too, is no fault of the
// job. What is seen apart from times, and virtual time, need no second run.
static int repeat(const struct request *request, const char *path, struct finding *first)
{
    struct finding second = {0};
    const enum bottleneck_fault named = bottleneck_name(&first->account);
    if (request->once || child_ended_by() || first->run.is_virtual || named == BOTTLENECK_FAULTS ||
        bottleneck_is_seen(named, &first->seen))
        return CLAB_OK;
    fprintf(stderr, "bottleneck: the run points to '%s'; running the program again, to be sure (--once: do not)\n",
            bottleneck_fault_word(named));
    const int err = run_once(request, path, &second);
    if (!err && !child_ended_by())
        bottleneck_agree(&first->account, &second.account);
    forget(&second);
    return err;
}

static int run_and_judge(const struct request *request)
{
    char folder[PATH_MAX], path[PATH_MAX + 16];
    struct finding finding = {0};
    child_watch();
    int err = child_folder_make(folder);
    if (!err) {
        snprintf(path, sizeof path, "%s/trace.json", folder);
        err = run_once(request, path, &finding);
        if (!err)
            err = repeat(request, path, &finding);
        if (!err && !child_ended_by())
            report(&finding);
        child_folder_remove(folder);
    }
    forget(&finding);
    const int signal = child_unwatch();
    if (signal)
        raise(signal);
    return err;
}

// One word alone that ends so is a file of a run, not a program.
static bool is_file(char **rest, const char *end)
{
    const size_t length = strlen(rest[0]), tail = strlen(end);
    return !rest[1] && length > tail && !strcmp(rest[0] + length - tail, end);
}

static int run(int argc, char **argv)
{
    static const struct clab_command_line line = {.options = options,
                                                  .arguments = "FILE | [--] PROGRAM [ARGS...]",
                                                  .about = doc,
                                                  .has_rest = true,
                                                  .rest_at = offsetof(struct request, rest)};
    struct request request = {.span = "iteration"};
    if (clab_options_parse(&line, argc, argv, &request))
        return STATUS_USAGE;
    if (!request.rest) {
        clab_error("bottleneck: no program and no trace given: ./commlab bottleneck -- PROGRAM -n 4 [ARGS...]");
        return STATUS_USAGE;
    }
    if (is_file(request.rest, ".csv"))
        return command_status(bottleneck_counted(request.rest[0], request.span));
    if (is_file(request.rest, ".json"))
        return command_status(judge_file(&request, request.rest[0]));
    return command_status(run_and_judge(&request));
}

const struct clab_command cmd_bottleneck = {"bottleneck", "where a job's time goes, and which fault explains it", run};
