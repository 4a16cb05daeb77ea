// SPDX-License-Identifier: MIT
// Runs a lab's program as a student would, and reads what it reported.
//
// - The program launches its own ranks (-n). What it prints goes to a log file, what it complains of to our stderr.
// - Its rows (core/comm/report.c) come through a file of this run alone: one sample, the run's median, a quantity. The
//   file has no name but ours in /proc, so that nothing is left of it however we end.
// - A signal that ends us ends the program first (child.h): then there is nothing more to say.

#include "cmd/lab/lab.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/base/err.h"
#include "core/base/log.h"
#include "core/base/stats.h"
#include "core/base/machine/trust.h"
#include "core/base/vector.h"
#include "cmd/kit/child.h"

const char *const lab_program_names[2] = {"before", "after"};

// ---- what was reported ---------------------------------------------------------------------------------------

int lab_results_add(struct lab_results *results, const struct lab_series *key, double sample)
{
    struct lab_series *series = (struct lab_series *)lab_results_find(results, key->program, key->ranks, key->quantity);
    if (!series) {
        CLAB_TRY(CLAB_PUSH(results->series, results->count, results->room, *key));
        series = &results->series[results->count - 1];
    }
    return CLAB_PUSH(series->samples, series->n, series->room, sample);
}

// A row is quantity,unit,ranks,n,median,low,high.
static bool read_row(const char *line, struct lab_series *key, double *median_p)
{
    int end = -1;
    return sscanf(line, "%63[^,\n],%15[^,\n],%*d,%*d,%lf,%*f,%*f%n", key->quantity, key->unit, median_p, &end) == 3 &&
           end >= 0 && strcmp(line + end, "\n") == 0 && isfinite(*median_p);
}

int lab_rows_read(FILE *file, const char *path, enum lab_program program, int ranks, struct lab_results *results)
{
    char *line = NULL;
    size_t size = 0;
    int err = CLAB_OK;
    for (int number = 1; !err && getline(&line, &size, file) > 0; number++) {
        struct lab_series key = {.program = program, .ranks = ranks};
        double median;
        if (read_row(line, &key, &median)) {
            err = lab_results_add(results, &key, median);
        } else {
            clab_error("%s:%d: not a row of clab_report", path, number);
            err = CLAB_EPARSE;
        }
    }
    free(line);
    return err ? err : ferror(file) ? CLAB_EIO : CLAB_OK;
}

const struct lab_series *lab_results_find(const struct lab_results *results, enum lab_program program, int ranks,
                                          const char *quantity)
{
    for (int i = 0; i < results->count; i++) {
        const struct lab_series *s = &results->series[i];
        if (s->program == program && s->ranks == ranks && !strcmp(s->quantity, quantity))
            return s;
    }
    return NULL;
}

double lab_series_median(const struct lab_series *series)
{
    return series && series->n ? clab_quantile(series->samples, series->n, 0.5) : NAN;
}

void lab_results_free(struct lab_results *results)
{
    for (int i = 0; i < results->count; i++)
        free(results->series[i].samples);
    free(results->series);
    memset(results, 0, sizeof *results);
}

// ---- the program ---------------------------------------------------------------------------------------------

// Start argv[0] with its output in `log` and its rows in `rows`; wait for it.  *status_p is as of waitpid.
static int spawn(char **argv, const char *log, const char *rows, int *status_p)
{
    const pid_t pid = child_fork();
    if (pid == 0) {
        // A lab checks its results itself, and times the library alone, as the bench does.
        child_set_environment(
            (const struct child_variable[]){{"CLAB_RESULTS", rows, false}, {"CLAB_CHECK", "0", true}, {0}});
        if (freopen(log, "a", stdout))
            execv(argv[0], argv);
        clab_error("%s can not be started: %m", argv[0]);
        _exit(EXIT_FAILURE);
    }
    return pid < 0 ? CLAB_ESYS : child_wait(pid, status_p);
}

static int run_to_end(char **argv, const char *log, const char *rows)
{
    int status = 0;
    char real[PATH_MAX];
    if (access(argv[0], X_OK) != 0) {
        clab_error("%s is not there: build it first, with make", argv[0]);
        return CLAB_ENOENT;
    }
    CLAB_TRY(clab_trust(argv[0], real));
    CLAB_TRY(spawn(argv, log, rows, &status));
    if (child_ended_by())
        return CLAB_EPEER;
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
        return CLAB_OK;
    clab_error("%s -n %s failed; its output is in %s", argv[0], argv[2], log);
    return CLAB_EWRONG;
}

static int run_and_read(char **argv, const char *log, enum lab_program program, int ranks, struct lab_results *results)
{
    char path[64], name[4096 + 16];
    const int fd = memfd_create("commlab rows", MFD_CLOEXEC);
    FILE *file = fd >= 0 ? fdopen(fd, "r") : NULL;
    if (!file) {
        clab_error("no memory for the rows of %s: %s", argv[0], strerror(errno));
        if (fd >= 0)
            close(fd);
        return CLAB_EIO;
    }
    snprintf(path, sizeof path, "/proc/%d/fd/%d", (int)getpid(), fd); // ranks may not have inherited our descriptors
    snprintf(name, sizeof name, "rows of %s", argv[0]);
    int err = run_to_end(argv, log, path);
    if (!err)
        err = lab_rows_read(file, name, program, ranks, results);
    fclose(file);
    return err;
}

static int add_words(char **argv, int argc, const struct lab_words *words)
{
    for (int i = 0; i < words->count; i++)
        argv[argc++] = words->words[i];
    return argc;
}

int lab_run(const struct lab_setting *setting, enum lab_program program, int ranks, const struct lab_words *iterations,
            struct lab_results *results)
{
    char path[4096], number[16], *argv[8 + 3 * LAB_MAX_WORDS];
    int argc = 0;
    snprintf(path, sizeof path, "%s/labs/%s/%s", setting->build, setting->conf->folder, lab_program_names[program]);
    snprintf(number, sizeof number, "%d", ranks);
    argv[argc++] = path;
    argv[argc++] = "-n";
    argv[argc++] = number;
    argv[argc++] = "--backend";
    argv[argc++] = (char *)(program == LAB_BEFORE ? setting->before_backend : setting->backend);
    const char *net = program == LAB_BEFORE ? setting->conf->before_net : NULL; // after's is CLAB_NET
    if (setting->emulate || net) {
        argv[argc++] = setting->is_exact ? "--net" : "--emulate";
        argv[argc++] = (char *)(net ? net : setting->emulate);
    }
    argc = add_words(argv, argc, &setting->conf->options);
    argc = add_words(argv, argc, &setting->conf->sizes);
    argc = add_words(argv, argc, iterations);
    argv[argc] = NULL;
    return run_and_read(argv, setting->log, program, ranks, results);
}
