// SPDX-License-Identifier: MIT
// The training report: the order of events (training.h).

#include "cmd/report/training/run.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "cmd/kit/child.h"
#include "cmd/kit/kit.h"
#include "core/base/err.h"
#include "core/base/files/json.h"
#include "core/base/log.h"
#include "core/job/job.h"

enum { PAIRS = 6, RANKS = 2 };

// A small network where ranks compute for milliseconds; in virtual time one with the batch of an accelerator.
static void choose_model(struct training *t)
{
    t->width = t->context.is_exact ? 512 : 256;
    t->rows = t->context.is_exact ? 2 : 128;
    t->repeat = t->context.is_exact ? 16384 : 1;
    t->shape = clab_mlp_even(TRAINING_LAYERS, t->width, t->width, t->width, t->rows, t->widths);
    t->shape.repeat = t->repeat;
}

static void choose_rivals(struct training *t)
{
    static const char *const names[TRAINING_RIVALS][2] = {{"nccl", "NCCL_backend"}, {"gloo", "Gloo_backend"},
                                                          {"ucx", "UCX_backend"},   {"ofi", "ofi_backend"},
                                                          {"mpi", "MPI_backend"},   {"shm", "shm_backend"}};
    for (int i = 0; i < TRAINING_RIVALS; i++) {
        t->rivals[i].name = names[i][0];
        t->rivals[i].title = names[i][1];
    }
    if (t->context.is_exact) {
        t->rivals[TRAINING_RIVALS - 1].name = t->backend->name;
        t->rivals[TRAINING_RIVALS - 1].title = "simulated_backend";
    }
}

static int find_backend(struct training *t)
{
    t->backend = clab_backend_find(t->request->backend ? t->request->backend : "shm");
    if (!t->backend)
        return CLAB_EINVAL;
    t->context.is_exact = t->backend->time->is_exact;
    if (t->context.is_exact && t->request->emulate)
        clab_error("report: --emulate %s: the backend %s has a network of its own; say --net %s instead",
                   t->request->emulate, t->backend->name, t->request->emulate);
    else if (!t->context.is_exact && t->request->net)
        clab_error("report: --net %s is for the backend sim: --emulate %s delays messages of %s", t->request->net,
                   t->request->net, t->backend->name);
    else
        return CLAB_OK;
    return CLAB_EINVAL;
}

static int prepare(struct training *t)
{
    const struct lab_request nets = {.emulate = t->request->emulate, .net = t->request->net};
    t->ranks = t->request->ranks ? t->request->ranks : RANKS;
    t->cores = clab_cores();
    clab_machine_read(&t->machine);
    CLAB_TRY(find_backend(t));
    t->pairs = t->context.is_exact ? 1 : t->request->pairs ? t->request->pairs : PAIRS;
    choose_model(t);
    choose_rivals(t);
    CLAB_TRY(lab_nets_load(&nets, t->backend, &t->nets));
    CLAB_TRY(lab_words_split("1", " ", &t->conf.probe_ranks)); // what a rank computes is known from runs by one
    t->context.conf = &t->conf;
    t->context.net = t->nets.net;
    t->context.machine = t->nets.machine;
    t->context.ranks = t->ranks;
    t->context.cores = t->cores;
    t->context.is_delayed = t->request->emulate;
    t->context.has_nap = t->backend->nap;
    t->context.probe = &t->results;
    return t->context.is_exact ? clab_net_check_ranks(t->nets.net, t->ranks) : CLAB_OK;
}

// Of a run with another setting, another file.
static int name_file(const struct training *t, const char *folder, const char *suffix, char **path_p)
{
    return asprintf(path_p, "%s/training-%.32s-%.64s-%d%s", folder, t->backend->name, t->nets.name, t->ranks, suffix) < 0
               ? CLAB_ENOMEM
               : CLAB_OK;
}

// Keep what an earlier run has written: FILE.1, or the next number that is free.
static int keep_older(const char *path)
{
    struct stat status;
    char *kept;
    if (stat(path, &status) != 0)
        return CLAB_OK;
    for (int n = 1;; n++) {
        if (asprintf(&kept, "%s.%d", path, n) < 0)
            return CLAB_ENOMEM;
        if (stat(kept, &status) != 0)
            break;
        free(kept);
    }
    const int err = rename(path, kept) == 0 ? CLAB_OK : CLAB_EIO;
    if (err)
        clab_error("%s can not be renamed to %s: %m", path, kept);
    else
        printf("kept: %s, which an earlier run wrote\n", kit_relative(kept));
    free(kept);
    return err;
}

struct paths {
    char *csv, *text, *trace;
};

static int run(struct training *t, const struct paths *paths)
{
    struct training_prediction prediction;
    if (paths->trace)
        CLAB_TRY(keep_older(paths->trace));
    CLAB_TRY(training_run(t, paths->trace));
    CLAB_TRY(training_run_rivals(t));
    training_predict(t, &prediction);
    CLAB_TRY(keep_older(paths->csv));
    CLAB_TRY(keep_older(paths->text));
    CLAB_TRY(training_fields_write(t, &prediction, paths->csv, paths->text));
    printf("\ntraining: %s, and the same as text, .txt\n", kit_relative(paths->csv));
    if (paths->trace)
        printf("trace: %s, for https://ui.perfetto.dev\n", kit_relative(paths->trace));
    return CLAB_OK;
}

static int name_files(const struct training *t, const char *folder, struct paths *paths)
{
    struct clab_log_held held;
    CLAB_TRY(name_file(t, folder, ".csv", &paths->csv));
    CLAB_TRY(name_file(t, folder, ".txt", &paths->text));
    clab_log_hold(&held);
    const int err = clab_json_check(); // a build without jansson writes no trace
    clab_log_release(&held);
    return err ? CLAB_OK : name_file(t, folder, ".trace.json", &paths->trace);
}

int training_report(const struct training_request *request, const char *folder)
{
    struct training t = {.request = request};
    struct paths paths = {0};
    int err = prepare(&t);
    if (!err)
        err = name_files(&t, folder, &paths);
    child_watch();
    if (!err)
        err = run(&t, &paths);
    const int ended_by = child_unwatch();
    free(paths.csv);
    free(paths.text);
    free(paths.trace);
    lab_nets_free(&t.nets);
    lab_results_free(&t.results);
    lab_words_free(&t.conf.probe_ranks);
    if (ended_by)
        raise(ended_by);
    return err == CLAB_ENOENT || err == CLAB_EPARSE ? CLAB_EINVAL : err;
}
