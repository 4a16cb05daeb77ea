// SPDX-License-Identifier: MIT
// Starts the ranks of a training report (run.h): this program again, with words of its own, so that mpirun can start it,
// too. Runs by 1 rank and by all take turns, so that what disturbs the machine for a while disturbs both.

#include "cmd/report/training/run.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cmd/kit/child.h"
#include "cmd/kit/progress.h"
#include "core/base/files/csv.h"
#include "core/base/err.h"
#include "core/base/log.h"
#include "core/transport/backend.h"

enum { MOST_WORDS = 24, NUMBER = 16, SAID = 360 };

bool training_is_modelled(const char *backend)
{
    static const char *const names[] = {"shm", "ofi", "sim"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (!strcmp(backend, names[i]))
            return true;
    return false;
}

// ---- one run -------------------------------------------------------------------------------------------------

struct words {
    char *words[MOST_WORDS], numbers[8][NUMBER];
    int n, nnumbers;
};

static void add(struct words *w, const char *word)
{
    w->words[w->n++] = (char *)(uintptr_t)word;
}

static void add_number(struct words *w, int number)
{
    char *text = w->numbers[w->nnumbers++];
    snprintf(text, NUMBER, "%d", number);
    add(w, text);
}

static void add_job(struct words *w, const struct training *t, int ranks)
{
    add(w, "-n");
    add_number(w, ranks);
    add(w, "--backend");
    add(w, t->backend->name);
    if (t->request->emulate) {
        add(w, "--emulate");
        add(w, t->request->emulate);
    }
    if (t->request->net) {
        add(w, "--net");
        add(w, t->request->net);
    }
}

static int judge(int err, int status, int ranks)
{
    if (child_ended_by())
        return CLAB_EPEER;
    if (err || (WIFEXITED(status) && WEXITSTATUS(status) == 0))
        return err;
    clab_error("report: the training run of %d rank%s failed", ranks, ranks == 1 ? "" : "s");
    return WIFEXITED(status) && WEXITSTATUS(status) == 2 ? CLAB_EINVAL : CLAB_EWRONG;
}

// What the ranks report goes to `rows`; NULL: nowhere.
static int run_ranks(const struct training *t, int ranks, const char *rows, const char *trace)
{
    struct words w = {0};
    int status = 0;
    add(&w, "commlab");
    add(&w, "report");
    add(&w, TRAINING_RANK);
    add_job(&w, t, ranks);
    add_number(&w, TRAINING_LAYERS);
    add_number(&w, t->width);
    add_number(&w, t->rows);
    add_number(&w, t->repeat);
    const struct child_variable changes[] = {
        {"CLAB_RESULTS", rows, false}, {"CLAB_TRACE", trace, false}, {"CLAB_CHECK", "0", true}, {0}};
    const int err = child_run(w.words, changes, &status);
    return judge(err, status, ranks);
}

static int run_and_read(struct training *t, int ranks)
{
    char path[64];
    const int fd = memfd_create("commlab rows", MFD_CLOEXEC);
    FILE *file = fd >= 0 ? fdopen(fd, "r") : NULL;
    if (!file) {
        clab_error("no memory for the rows of a training run: %s", strerror(errno));
        if (fd >= 0)
            close(fd);
        return CLAB_EIO;
    }
    snprintf(path, sizeof path, "/proc/%d/fd/%d", (int)getpid(), fd); // ranks may not have inherited our descriptors
    int err = run_ranks(t, ranks, path, NULL);
    if (!err)
        err = lab_rows_read(file, "rows of the training run", LAB_AFTER, ranks, &t->results);
    fclose(file);
    return err;
}

int training_run(struct training *t, const char *trace)
{
    for (int pair = 0; pair < t->pairs; pair++) {
        kit_progress("training: pair %d of %d", pair + 1, t->pairs);
        CLAB_TRY(run_and_read(t, 1));
        CLAB_TRY(run_and_read(t, t->ranks));
    }
    if (trace)
        CLAB_TRY(run_ranks(t, t->ranks, NULL, trace));
    kit_progress_clear();
    return CLAB_OK;
}

// ---- other backends ------------------------------------------------------------------------------------------

static void take_row(const struct clab_csv *data, struct training_rival *rival)
{
    const double rate = 1e9 * clab_csv_real(data, 0, "busbw_GBps"), usec = clab_csv_real(data, 0, "usec");
    rival->rate = rate;
    rival->low = rate * usec / clab_csv_real(data, 0, "usec_high");
    rival->high = rate * usec / clab_csv_real(data, 0, "usec_low");
}

// Run the words; the first line of what they complain of goes to `said`.
static int run_quietly(struct words *w, char said[SAID], int *status_p)
{
    const int fd = memfd_create("commlab complaints", MFD_CLOEXEC);
    FILE *file = fd >= 0 ? fdopen(fd, "r") : NULL;
    if (!file)
        return CLAB_EIO;
    const pid_t pid = child_fork();
    if (pid == 0) {
        child_set_environment((const struct child_variable[]){{"CLAB_LOG", "error", false}, {0}});
        if (dup2(fd, STDERR_FILENO) >= 0 && freopen("/dev/null", "w", stdout))
            execv("/proc/self/exe", w->words);
        _exit(EXIT_FAILURE);
    }
    const int err = pid < 0 ? CLAB_ESYS : child_wait(pid, status_p);
    rewind(file);
    if (!fgets(said, SAID, file))
        *said = 0;
    said[strcspn(said, "\n")] = 0;
    fclose(file);
    return err;
}

// The bench of the gradients' allreduce, over a rival.
static void add_bench(struct words *w, const struct training *t, const struct clab_backend *backend, const char *csv)
{
    const struct training of_rival = {.request = t->request, .backend = backend};
    add(w, "commlab");
    add(w, "bench");
    add(w, "allreduce");
    add_job(w, &of_rival, t->ranks);
    add(w, "-b");
    add_number(w, (int)(clab_mlp_count(&t->shape) * sizeof(float)));
    add(w, "-e");
    add_number(w, (int)(clab_mlp_count(&t->shape) * sizeof(float)));
    add(w, "--in-place");
    add(w, "1");
    add(w, "--seconds");
    add(w, "0.1s");
    add(w, "--csv");
    add(w, csv);
}

static int run_rival(struct training *t, const char *folder, struct training_rival *rival)
{
    struct words w = {0};
    struct clab_csv data;
    struct clab_log_held held;
    char path[PATH_MAX + 16], said[SAID] = "";
    int status = 0;
    snprintf(path, sizeof path, "%s/rival.csv", folder);
    clab_log_hold(&held);
    const struct clab_backend *backend = clab_backend_find(rival->name);
    clab_log_release(&held);
    if (!backend) {
        snprintf(rival->why, sizeof rival->why, "not measured, because %.300s", held.text);
        return CLAB_OK;
    }
    add_bench(&w, t, backend, path);
    const int err = run_quietly(&w, said, &status);
    if (child_ended_by())
        return CLAB_EPEER;
    if (err || status || clab_csv_load(path, &data)) {
        const char *mark = strstr(said, "error: ");
        snprintf(rival->why, sizeof rival->why, "not measured, because %s",
                 mark ? mark + strlen("error: ") : "its benchmark failed here: commlab doctor says what it lacks");
        return CLAB_OK;
    }
    take_row(&data, rival);
    clab_csv_free(&data);
    unlink(path);
    return CLAB_OK;
}

// In virtual time there is one network, not several libraries.
int training_run_rivals(struct training *t)
{
    char folder[PATH_MAX];
    CLAB_TRY(child_folder_make(folder));
    int err = CLAB_OK;
    for (int i = 0; i < TRAINING_RIVALS && !err; i++) {
        struct training_rival *rival = &t->rivals[i];
        const bool is_ours = !strcmp(rival->name, t->backend->name);
        rival->rate = rival->low = rival->high = NAN;
        if (!strcmp(rival->name, "ucx"))
            strcpy(rival->why, "not measured, because the kit has no backend of UCX; ofi (libfabric) is what comes nearest");
        else if (t->context.is_exact && !is_ours)
            strcpy(rival->why, "not measured, because the run is in virtual time");
        else {
            kit_progress("training: the backend %s", rival->name);
            err = run_rival(t, folder, rival);
        }
    }
    kit_progress_clear();
    child_folder_remove(folder);
    return err;
}
