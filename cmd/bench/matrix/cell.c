// SPDX-License-Identifier: MIT
// One cell, measured by a bench of its own: a child that writes its row and its samples to hidden files beside the
// results, and what it complains of to a third.
//
// - A call is a batch: each begins at a barrier, and its time is the slowest rank's.

#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cmd/bench/matrix/matrix.h"
#include "cmd/bench/options.h"
#include "cmd/command.h"
#include "cmd/kit/child.h"
#include "core/base/clock.h"
#include "core/base/files/csv.h"
#include "core/base/err.h"
#include "core/base/files/output.h"
#include "core/base/log.h"
#include "core/base/text.h"

enum { WORDS = 40, NUMBER = 32, LINE = 1024 };
static const double least_seconds = 0.02, least_limit = 1, noisy_width = 0.05;

// ---- its files -------------------------------------------------------------------------------------------------

void matrix_job_path(const struct matrix *matrix, const struct matrix_cell *cell, enum matrix_part part,
                     char path_p[PATH_MAX])
{
    static const char *const parts[] = {"row", "raw", "log"};
    const char *path = matrix->files[cell->file].path, *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
    struct clab_text text = clab_text_begin(path_p, PATH_MAX);
    if (*matrix->scratch)
        clab_text_add(&text, "%s/%s", matrix->scratch, parts[part]);
    else
        clab_text_add(&text, "%.*s.%s.%s", (int)(name - path), path, name, parts[part]);
}

void matrix_job_clear(const struct matrix *matrix, const struct matrix_cell *cell)
{
    char path[PATH_MAX];
    for (int part = MATRIX_ROWS; part <= MATRIX_LOG; part++) {
        matrix_job_path(matrix, cell, (enum matrix_part)part, path);
        clab_output_remove(path);
    }
}

// The first error that the child wrote, without its prefix; else its last line; else `otherwise`.
static void read_why(const char *path, const char *otherwise, char *why)
{
    char line[LINE];
    FILE *file = fopen(path, "re");
    snprintf(why, MATRIX_REASON, "%s", otherwise);
    while (file && fgets(line, sizeof line, file)) {
        const char *error = strstr(line, "error: ");
        line[strcspn(line, "\n")] = '\0';
        if (*line)
            snprintf(why, MATRIX_REASON, "%.*s", MATRIX_REASON - 1, error ? error + strlen("error: ") : line);
        if (error)
            break;
    }
    if (file)
        fclose(file);
}

// ---- its process -----------------------------------------------------------------------------------------------

struct line {
    char *words[WORDS];
    char numbers[WORDS][NUMBER];
    int n;
};

static void add(struct line *line, const char *word)
{
    line->words[line->n++] = (char *)(uintptr_t)word;
}

static void add_number(struct line *line, const char *flag, const char *format, double number)
{
    snprintf(line->numbers[line->n], NUMBER, format, number);
    add(line, flag);
    add(line, line->numbers[line->n - 1]);
}

static void make_line(const struct matrix *matrix, const struct matrix_job *job, const char *row, const char *raw,
                      struct line *line)
{
    const struct matrix_cell *cell = job->cell;
    const double bytes = (double)bench_bytes(&cell->row);
    const char *const start[] = {"commlab", "bench", clab_collective_name(cell->row.problem.collective),
                                 "--backend", matrix_backends[cell->backend].name, "--csv", row, "--samples", raw};
    for (size_t i = 0; i < sizeof start / sizeof *start; i++)
        add(line, start[i]);
    add_number(line, "-n", "%.0f", cell->row.problem.nranks);
    if (bench_has_data(cell->row.problem.collective)) {
        add_number(line, "-b", "%.0f", bytes);
        add_number(line, "-e", "%.0f", bytes);
    }
    add_number(line, "--in-place", "%.0f", cell->placement == BENCH_IN_PLACE);
    add_number(line, "--iters", "%.0f", 1);
    add_number(line, "-w", "%.0f", job->warmup);
    add_number(line, "--batches", "%.0f", job->iterations);
    add_number(line, "--seconds", "%.6fs", job->seconds);
    add(line, "--seed");
    snprintf(line->numbers[line->n], NUMBER, "%llu", (unsigned long long)matrix->files[cell->file].seed);
    add(line, line->numbers[line->n]);
    if (matrix->options.emulate) {
        add(line, "--emulate");
        add(line, matrix->options.emulate);
    }
    if (matrix->options.net) {
        add(line, "--net");
        add(line, matrix->options.net);
    }
}

static void become_child(const char *log, char *const words[])
{
    child_set_environment(NULL);
    if (freopen("/dev/null", "w", stdout) && freopen(log, "w", stderr))
        execv("/proc/self/exe", words);
    _exit(EXIT_FAILURE);
}

// It has written the row, and then the samples.
static enum matrix_end judge(int status, const char *raw, const char *log, char *why)
{
    char otherwise[64];
    if (WIFSIGNALED(status))
        snprintf(otherwise, sizeof otherwise, "its bench was ended by signal %d (%s)", WTERMSIG(status),
                 strsignal(WTERMSIG(status)));
    else
        snprintf(otherwise, sizeof otherwise, "its bench ended with status %d", WEXITSTATUS(status));
    *why = '\0';
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
        return MATRIX_DONE;
    read_why(log, otherwise, why);
    if (WIFEXITED(status) && (WEXITSTATUS(status) == STATUS_LACKING || WEXITSTATUS(status) == STATUS_USAGE))
        return MATRIX_NOT_HERE;
    return access(raw, F_OK) == 0 ? MATRIX_DONE : MATRIX_BROKE;
}

int matrix_job_run(const struct matrix *matrix, const struct matrix_job *job, enum matrix_end *end_p, char *why)
{
    char row[PATH_MAX], raw[PATH_MAX], log[PATH_MAX];
    struct line line = {.n = 0};
    int status;
    bool is_late;
    matrix_job_clear(matrix, job->cell);
    matrix_job_path(matrix, job->cell, MATRIX_ROWS, row);
    matrix_job_path(matrix, job->cell, MATRIX_RAW, raw);
    matrix_job_path(matrix, job->cell, MATRIX_LOG, log);
    make_line(matrix, job, row, raw, &line);
    const pid_t pid = child_fork();
    if (pid == 0)
        become_child(log, line.words);
    if (pid < 0) {
        clab_error("can not start a bench: %m");
        return CLAB_ESYS;
    }
    CLAB_TRY(child_wait_until(pid, job->limit, &status, &is_late));
    if (child_ended_by())
        return CLAB_EPEER;
    *end_p = is_late ? MATRIX_TOO_LATE : judge(status, raw, log, why);
    if (is_late)
        snprintf(why, MATRIX_REASON, "it had not ended after %.0f s", job->limit);
    return CLAB_OK;
}

// ---- its result ------------------------------------------------------------------------------------------------

// The budget is over while it runs: no failure of its own.
static void judge_late(const struct matrix *matrix, struct matrix_cell *cell, const char *why)
{
    if (matrix_time_left(matrix) <= 0) {
        matrix_cell_skip(cell, "the budget of %g s was over before it ended", matrix->options.budget);
    } else {
        matrix_cell_skip(cell, "%s", why);
        cell->status = MATRIX_FAILED;
    }
}

// kept: the timed calls that count.
static void judge_row(struct matrix_cell *cell, const struct clab_csv *csv, int kept, const char *why)
{
    const double time = clab_csv_real(csv, 0, "usec");
    const double width = (clab_csv_real(csv, 0, "usec_high") - clab_csv_real(csv, 0, "usec_low")) / 2 / time;
    const bool few = kept < BENCH_ENOUGH && !matrix_backends[cell->backend].is_exact;
    snprintf(cell->reason, sizeof cell->reason, "%s", why);
    cell->status = *why ? MATRIX_FAILED : few || width > noisy_width ? MATRIX_NOISY : MATRIX_OK;
    if (cell->status == MATRIX_NOISY && few)
        snprintf(cell->reason, sizeof cell->reason, "%d of %d timed calls count: so few have no 95 %% interval", kept,
                 cell->iterations);
    else if (cell->status == MATRIX_NOISY)
        snprintf(cell->reason, sizeof cell->reason, "the median's interval is +-%.0f %%", 100 * width);
}

static int take_row(struct matrix *matrix, struct matrix_cell *cell, const char *why)
{
    char path[PATH_MAX];
    struct clab_csv csv;
    int kept;
    matrix_job_path(matrix, cell, MATRIX_RAW, path);
    CLAB_TRY(matrix_samples_add(&matrix->files[cell->file], path, &cell->iterations, &kept));
    matrix_job_path(matrix, cell, MATRIX_ROWS, path);
    CLAB_TRY(clab_csv_load(path, &csv));
    judge_row(cell, &csv, kept, why);
    const int err = matrix_file_fill(matrix, cell, &csv);
    clab_csv_free(&csv);
    return err;
}

// Time that no cell needs goes to this one, if it turns out to be slower than estimated.
static double slack(const struct matrix *matrix)
{
    double others = 0;
    for (int i = 0; i < matrix->ncells; i++)
        if (matrix->cells[i].status == MATRIX_WAITING && !matrix->cells[i].is_late)
            others += matrix_estimate_cell(&matrix->cells[i]);
    return fmax(0, matrix_time_left(matrix) - others);
}

// Seconds after which a cell hangs, whatever is left of the budget.
static double patience(double estimated)
{
    return fmax(60, 10 * estimated);
}

// What its bench came to, after so many seconds.
static int conclude(struct matrix *matrix, struct matrix_cell *cell, enum matrix_end end, const char *why,
                    double seconds)
{
    if (end == MATRIX_DONE) {
        matrix_estimate_learn(matrix, cell, seconds);
        return take_row(matrix, cell, why);
    }
    if (end == MATRIX_TOO_LATE) {
        judge_late(matrix, cell, why);
        return CLAB_OK;
    }
    matrix_cell_skip(cell, "%s", why);
    cell->status = end == MATRIX_NOT_HERE ? MATRIX_SKIPPED : MATRIX_FAILED;
    return CLAB_OK;
}

int matrix_cell_measure(struct matrix *matrix, struct matrix_cell *cell)
{
    const double timed = cell->call * (cell->warmup + cell->iterations) + slack(matrix);
    const double longest = patience(matrix_estimate_cell(cell));
    const struct matrix_job job = {
        .cell = cell,
        .warmup = cell->warmup,
        .iterations = cell->iterations,
        .seconds = fmin(BENCH_MOST_SECONDS, fmax(least_seconds, timed)),
        .limit = fmax(least_limit, fmin(matrix_time_left(matrix), longest)),
    };
    const double start = clab_now();
    enum matrix_end end;
    char why[MATRIX_REASON];
    int err = matrix_job_run(matrix, &job, &end, why);
    if (err == CLAB_OK)
        err = conclude(matrix, cell, end, why, clab_now() - start);
    matrix_job_clear(matrix, cell);
    return err;
}
