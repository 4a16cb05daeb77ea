// SPDX-License-Identifier: MIT
// The job part of clab.h: from a command line to a rank with a backend.
//
// - A process that finds a job in its environment joins it, whoever launched it; one that does not, or is alone in it,
//   launches copies of itself and becomes their launcher for the rest of its life.

#include "core/clab.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/log.h"
#include "core/base/variables.h"
#include "core/flight/dump.h"
#include "core/clab/counts.h"
#include "core/clab/inside.h"
#include "core/clab/options.h"
#include "core/comm/progress.h"
#include "core/trace/buffer.h"
#include "core/job/job.h"

// --net has an effect only with a backend whose time comes from a network.
static int check_net(const struct clab_job_options *options)
{
    const char *name = clab_variable_text(CLAB_VARIABLE_BACKEND);
    const struct clab_backend *backend = options->net && name ? clab_backend_find(name) : NULL;
    if (!options->net || (backend && backend->time->is_exact))
        return CLAB_OK;
    if (name && !backend)
        return CLAB_EINVAL;
    clab_error("--net is the network of --backend sim; on others, --emulate NAME delays messages as that would");
    return CLAB_EINVAL;
}

// Become a rank of a new job. The parent does not return: the copies run what the caller has left to run, and its
// atexit handlers.
static int launch_copies(const struct clab_job_options *options, int nranks)
{
    const struct clab_launch launch = {
        .nranks = nranks,
        .backend = options->backend,
        .pin = true,
        .grace = CLAB_GRACE_DEFAULT,
        .flights = &clab_flight_reader,
    };
    int rank, status;
    CLAB_TRY(clab_launch_ranks(&launch, &rank, &status));
    if (rank < 0)
        _exit(status);
    return CLAB_OK;
}

// The backend by option, by variable, or the program's usual one, for this process and its ranks. Our launcher has set
// the variable for all ranks; under another launcher all ranks get the same option.
static int choose_backend(const struct clab_job_options *options)
{
    const char *backend = clab_variable_text(CLAB_VARIABLE_BACKEND);
    const char *chosen = options->backend || backend ? options->backend : options->usual_backend;
    if (!chosen)
        return CLAB_OK;
    if (clab_variable_is_set(CLAB_VARIABLE_JOB_FD) && backend && strcmp(chosen, backend) != 0) {
        clab_error("--backend %s, but the job that this rank belongs to uses %s: put it before the program, as in "
                   "`commlab run --backend %s -- PROGRAM`",
                   chosen, backend, chosen);
        return CLAB_EINVAL;
    }
    clab_variable_set(CLAB_VARIABLE_BACKEND, chosen);
    return CLAB_OK;
}

static int attach(struct clab_bootstrap *boot, struct clab_job *job)
{
    const char *name = clab_variable_text(CLAB_VARIABLE_BACKEND);
    const char *emulated = clab_variable_given(CLAB_VARIABLE_EMULATE);
    job->bootstrap = boot;
    job->rank = boot->rank;
    job->ranks = boot->nranks;
    job->backend = clab_backend_find(name ? name : clab_backend_usual(boot->nnodes));
    if (!job->backend)
        return CLAB_EINVAL;
    job->flight = clab_flight_open(boot);
    CLAB_TRY(clab_attach(job->backend, boot, &job->domain));
    job->backend_name = job->backend->name;
    int err = clab_choice_table_load(&job->table);
    if (err == CLAB_OK && emulated)
        err = clab_backend_emulate(boot, emulated, &job->domain);
    job->backend = job->domain->backend;
    if (err == CLAB_OK)
        err = clab_progress_choose(job);
    if (err == CLAB_OK)
        err = clab_trace_open(&(struct clab_trace_job){boot, job->domain, job->backend_name}, &job->trace);
    if (err != CLAB_OK) {
        job->backend->detach(job->domain);
        clab_choice_table_free(&job->table);
    }
    return err;
}

static int join(struct clab_job **job_p)
{
    struct clab_bootstrap *boot;
    CLAB_TRY(clab_bootstrap_open(&boot));
    clab_log_set_rank(boot->rank);
    struct clab_job *job = calloc(1, sizeof *job);
    clab_flight_share_log(boot); // a wrong setting is that of all ranks
    const int err = job ? attach(boot, job) : CLAB_ENOMEM;
    clab_log_share(NULL);
    if (err != CLAB_OK) {
        free(job);
        boot->refuse(boot);
        clab_bootstrap_close(boot);
        return err;
    }
    clab_time_follow(job->domain);
    CLAB_TRY(clab_count_open(job)); // the program ends: what it has opened ends with it
    *job_p = job;
    return CLAB_OK;
}

// The options are wrong, as `held` says, and so they are at all ranks of a running job: one of them writes the line.
static int refuse(int err, const struct clab_log_held *held)
{
    struct clab_bootstrap *boot;
    if (!clab_variable_is_set(CLAB_VARIABLE_JOB_FD) || clab_bootstrap_open(&boot) != CLAB_OK) {
        clab_error("%s", held->text);
        return err;
    }
    clab_flight_refuse(boot, held->text);
    clab_bootstrap_close(boot);
    return err;
}

// argv: to take the options from, or NULL.
static int prepare(int *argc, char **argv, struct clab_job_options *options)
{
    struct clab_log_held held;
    clab_log_hold(&held);
    int err = argv ? clab_job_options_take(argc, argv, options) : CLAB_OK;
    if (err == CLAB_OK)
        err = choose_backend(options);
    if (err == CLAB_OK)
        err = check_net(options);
    clab_log_release(&held);
    return err == CLAB_OK ? CLAB_OK : refuse(err, &held);
}

static int open_job(int *argc, char **argv, struct clab_job_options options, struct clab_job **job_p)
{
    struct clab_launch_plan plan;
    CLAB_TRY(prepare(argc, argv, &options));
    clab_job_options_apply(&options);
    CLAB_TRY(clab_job_plan(options.nranks, &plan));
    if (!plan.joins) {
        CLAB_TRY(clab_trace_check());
        CLAB_TRY(launch_copies(&options, plan.nranks));
    }
    return join(job_p);
}

int clab_job_open_with(const struct clab_job_options *options, struct clab_job **job_p)
{
    return open_job(NULL, NULL, *options, job_p);
}

int clab_job_open(int *argc, char **argv, struct clab_job **job_p)
{
    return open_job(argc, argv, (struct clab_job_options){0}, job_p);
}

int clab_job_close(struct clab_job *job)
{
    if (!job)
        return CLAB_OK;
    clab_progress_end(job);
    int err = clab_count_close(job);
    const int traced =
        clab_trace_close(&(struct clab_trace_job){job->bootstrap, job->domain, job->backend_name}, job->trace);
    err = err ? err : traced;
    // First: a peer that still waits for this rank would be waited for by detach.
    const struct clab_notice leaves = {
        .kind = CLAB_NOTICE_LEFT, .reporter = job->rank, .culprit = job->rank, .err = CLAB_EPEER};
    job->bootstrap->notify(job->bootstrap, &leaves);
    clab_time_follow(NULL);
    job->backend->detach(job->domain);
    clab_bootstrap_close(job->bootstrap);
    clab_choice_table_free(&job->table);
    free(job->hosts);
    free(job);
    return err;
}

int clab_job_rank(const struct clab_job *job)
{
    return job->rank;
}

int clab_job_ranks(const struct clab_job *job)
{
    return job->ranks;
}

const struct clab_device *clab_job_device(const struct clab_job *job)
{
    return job->backend->device;
}

const char *clab_job_backend(const struct clab_job *job)
{
    return job->backend_name;
}
