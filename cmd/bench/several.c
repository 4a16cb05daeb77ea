// SPDX-License-Identifier: MIT
// Several backends in one bench: how do the libraries compare that a user could choose?
//
// - Each backend runs as a bench of its own, a child process that writes CSV. Backends take turns for ROUNDS rounds,
//   each time with that part of the time per row. So what disturbs the machine for a while disturbs all of them.
// - The children are new processes with a command line of their own, since mpirun starts its ranks by that line again.
// - In a job that is running already, each rank does all this, and its children are ranks (turns.h). Rank 0 prints.
//   Backends whose library must start the ranks are refused there: it starts them once per process.
// - Of a row's rounds the one with the median time counts, with everything that was measured together with it.
// - A backend that this machine lacks is named and left out. If a backend's job fails, the bench fails.
// - On the screen each backend has two columns: its time by its fastest algorithm, and how many times the time of the
//   best backend that is. Predictions are in the files only.

#include "cmd/bench/several.h"

#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cmd/bench/files.h"
#include "cmd/bench/options.h"
#include "cmd/bench/turns.h"
#include "cmd/kit/child.h"
#include "cmd/kit/progress.h"
#include "core/base/files/csv.h"
#include "core/base/err.h"
#include "core/base/log.h"
#include "core/base/text.h"
#include "core/base/units.h"
#include "core/transport/backend.h"

enum { MOST = 8, ROUNDS = 3, NAME = 32, LACKING = 3 };

struct several {
    const struct bench_options *options;
    struct bench_turns turns;
    int argc;
    char **argv;
    char names[MOST][NAME];
    int n;
    char folder[PATH_MAX];
    struct clab_csv rounds[MOST][ROUNDS];
    struct clab_table table; // of all backends
};

// ---- their jobs ----------------------------------------------------------------------------------------------

static int count_names(const char *list)
{
    int n = 0;
    size_t length;
    while (clab_list_next(&list, &length))
        n += length > 0;
    return n;
}

static int find_backends(struct several *s)
{
    const int names = count_names(s->options->job.backend);
    size_t length;
    if (names < 1 || names > MOST) {
        clab_error("--backend '%s' has %d names: give 1 to %d with commas between them", s->options->job.backend,
                   names, MOST);
        return CLAB_EINVAL;
    }
    for (const char *word, *rest = s->options->job.backend; (word = clab_list_next(&rest, &length));)
        if (length) {
            snprintf(s->names[s->n], NAME, "%.*s", length < NAME ? (int)length : NAME - 1, word);
            s->n += clab_backend_find(s->names[s->n]) != NULL;
        }
    return s->n ? CLAB_OK : CLAB_EUNSUPPORTED;
}

// ---- one job ---------------------------------------------------------------------------------------------------

// The last one of two equal flags counts, so those that are added here do. The file of --json is of all backends, and
// no child's.
static int run_bench(struct several *s, const char *backend, const char *csv, int *status_p)
{
    char **words = calloc((size_t)s->argc + 12, sizeof *words), seconds[32];
    int n = 0;
    if (!words)
        return CLAB_ENOMEM;
    snprintf(seconds, sizeof seconds, "%gs", s->options->budget / ROUNDS);
    words[n++] = "commlab";
    words[n++] = "bench";
    for (int i = 1; i < s->argc; i++)
        words[n++] = s->argv[i];
    const char *const more[] = {"--backend", backend, "--csv", csv, "--seconds", seconds, "--json", "/dev/null"};
    const size_t nmore = sizeof more / sizeof *more;
    for (size_t i = 0; i < (s->options->json ? nmore : nmore - 2); i++)
        words[n++] = (char *)(uintptr_t)more[i];
    const int err = bench_turns_run(&s->turns, words, status_p);
    free(words);
    return err;
}

static int run_one(struct several *s, int backend, int round)
{
    char csv[PATH_MAX + 16];
    int status = -1;
    snprintf(csv, sizeof csv, "%s/%d.csv", s->folder, backend);
    if (bench_turns_tells(&s->turns))
        kit_progress("round %d of %d: %s", round + 1, ROUNDS, s->names[backend]);
    CLAB_TRY(run_bench(s, s->names[backend], csv, &status));
    kit_progress_clear();
    if (WIFEXITED(status) && WEXITSTATUS(status) == 2)
        return CLAB_EINVAL; // the child has logged it
    if (WIFEXITED(status) && WEXITSTATUS(status) == LACKING)
        return CLAB_EUNSUPPORTED;
    if (child_ended_by())
        return CLAB_EPEER;
    if (status && bench_turns_tells(&s->turns))
        clab_error("the bench of backend %s fails", s->names[backend]);
    if (status)
        return CLAB_EPEER;
    if (!bench_turns_tells(&s->turns))
        return CLAB_OK; // rank 0 has the file
    const int err = clab_csv_load(csv, &s->rounds[backend][round]);
    unlink(csv);
    return err;
}

static void leave_out(struct several *s, int backend)
{
    s->n--;
    memmove(s->names[backend], s->names[backend + 1], (size_t)(s->n - backend) * sizeof *s->names);
}

// Without a terminal, print one line per round.
static void tell_round(const struct several *s, int round)
{
    if (isatty(STDERR_FILENO) || !bench_turns_tells(&s->turns))
        return;
    fprintf(stderr, "commlab bench: round %d of %d:", round + 1, ROUNDS);
    for (int b = 0; b < s->n; b++)
        fprintf(stderr, " %s", s->names[b]);
    fprintf(stderr, "\n");
}

static int run_rounds(struct several *s)
{
    for (int round = 0; round < ROUNDS; round++) {
        tell_round(s, round);
        for (int b = 0; b < s->n; b++) {
            const int err = run_one(s, b, round);
            if (err == CLAB_EUNSUPPORTED && round == 0)
                leave_out(s, b--); // the next backend takes its place
            else if (err)
                return err;
        }
    }
    return s->n ? CLAB_OK : CLAB_EUNSUPPORTED;
}

// ---- one table -----------------------------------------------------------------------------------------------

static double usec(const struct clab_csv *data, int row)
{
    return clab_csv_real(data, row, "usec");
}

// The round whose time of `row` is the median.
static const struct clab_csv *middle(const struct clab_csv rounds[ROUNDS], int row)
{
    for (int i = 0; i < ROUNDS; i++) {
        int less = 0, more = 0;
        for (int j = 0; j < ROUNDS; j++) {
            less += usec(&rounds[j], row) < usec(&rounds[i], row);
            more += usec(&rounds[j], row) > usec(&rounds[i], row);
        }
        if (less <= ROUNDS / 2 && more <= ROUNDS / 2 && row < rounds[i].nrows)
            return &rounds[i];
    }
    return &rounds[0];
}

static int merge(struct several *s)
{
    clab_table_init(&s->table, bench_columns, bench_ncolumns);
    for (int b = 0; b < s->n; b++)
        for (int row = 0; row < s->rounds[b][0].nrows; row++) {
            const struct clab_csv *data = middle(s->rounds[b], row);
            for (int c = 0; c < bench_ncolumns; c++)
                CLAB_TRY(clab_table_add(
                    &s->table, bench_cell_read(&bench_columns[c], clab_csv_cell(data, row, bench_columns[c].name))));
        }
    return CLAB_OK;
}

// ---- files ---------------------------------------------------------------------------------------------------

static int write_files(const struct several *s)
{
    const struct clab_manifest *first = &s->rounds[0][0].manifest;
    struct clab_manifest m = {0};
    int err = clab_manifest_add(&m, "command", "%s", s->options->command);
    for (int i = 0; i < first->count && !err; i++)
        if (strcmp(first->entries[i].key, "command") && strcmp(first->entries[i].key, "job"))
            err = clab_manifest_add(&m, first->entries[i].key, "%s", first->entries[i].value);
    for (int b = 0; b < s->n && !err; b++)
        err = clab_manifest_add(&m, "job", "%s", clab_manifest_get(&s->rounds[b][0].manifest, "job"));
    if (!err)
        err =
            clab_manifest_add(&m, "rounds", "%d, backends taking turns; a row is of the median of its rounds", ROUNDS);
    if (!err)
        err = clab_table_write(&s->table, &m, s->options->csv, s->options->json);
    clab_manifest_free(&m);
    return err;
}

// ---- the screen ----------------------------------------------------------------------------------------------

enum {
    COLLECTIVE = 0,
    BACKEND = 2,
    BYTES = 4,
    TYPE = 6,
    OP = 7,
    ROOT = 8,
    IN_PLACE = 9,
    USEC = 11
}; // of bench_columns

static struct clab_cell cell(const struct several *s, int row, int column)
{
    return clab_table_cell(&s->table, row, column);
}

static bool is_same(const struct several *s, int a, int b, const int columns[], int n)
{
    for (int i = 0; i < n; i++) {
        const struct clab_cell x = cell(s, a, columns[i]), y = cell(s, b, columns[i]);
        if (x.kind == CLAB_KIND_TEXT ? strcmp(x.text, y.text) != 0 : x.integer != y.integer)
            return false;
    }
    return true;
}

// Whether both rows are in the same block of the screen, and on the same line.
static bool is_of_block(const struct several *s, int a, int b)
{
    static const int columns[] = {COLLECTIVE, TYPE, OP, ROOT, IN_PLACE};
    return is_same(s, a, b, columns, 5);
}

static bool is_of_line(const struct several *s, int a, int b)
{
    static const int columns[] = {BYTES};
    return is_of_block(s, a, b) && is_same(s, a, b, columns, 1);
}

// The fastest time of `backend` on the line of `row`, in µs; NAN: it has none.
static double fastest(const struct several *s, int row, const char *backend)
{
    double least = NAN;
    for (int r = 0; r < clab_table_rows(&s->table); r++)
        if (is_of_line(s, row, r) && !strcmp(cell(s, r, BACKEND).text, backend) && cell(s, r, USEC).kind)
            least = fmin(least, cell(s, r, USEC).real);
    return least;
}

static void print_line(const struct several *s, int row)
{
    double times[MOST], best = NAN;
    const char *winner = "-";
    char size[CLAB_TEXT];
    printf(" %10s", clab_size_text((size_t)cell(s, row, BYTES).integer, size));
    for (int b = 0; b < s->n; b++)
        best = fmin(best, times[b] = fastest(s, row, s->names[b]));
    for (int b = 0; b < s->n; b++) {
        const int digits = times[b] < 10 ? 2 : times[b] < 100 ? 1 : 0;
        if (isnan(times[b]))
            printf(" | %9s %6s", "-", "-");
        else
            printf(" | %9.*f %5.*fx", digits, times[b], times[b] < 99.5 * best ? 1 : 0, times[b] / best);
        winner = times[b] == best ? s->names[b] : winner;
    }
    printf(" | %s\n", winner);
}

static void print_block(const struct several *s, int first)
{
    const long long root = cell(s, first, ROOT).integer;
    printf("# %s", cell(s, first, COLLECTIVE).text);
    if (root >= 0)
        printf(" from or to rank %lld", root);
    printf(", %s, %s, %s: us a call, and how many times the best\n# %9s", cell(s, first, TYPE).text,
           cell(s, first, OP).text,
           bench_placement_name(cell(s, first, IN_PLACE).integer ? BENCH_IN_PLACE : BENCH_OUT_OF_PLACE), "size");
    for (int b = 0; b < s->n; b++)
        printf(" | %16s", s->names[b]);
    printf(" | best\n");
    for (int row = first; row < clab_table_rows(&s->table); row++) {
        bool is_new = is_of_block(s, first, row);
        for (int before = first; before < row && is_new; before++)
            is_new = !is_of_line(s, before, row);
        if (is_new)
            print_line(s, row);
    }
}

static void print(const struct several *s)
{
    static const char *const shown[] = {"machine", "mode", "check", "warning"};
    for (size_t i = 0; i < sizeof shown / sizeof *shown; i++)
        if (clab_manifest_get(&s->rounds[0][0].manifest, shown[i]))
            printf("# %s: %s\n", shown[i], clab_manifest_get(&s->rounds[0][0].manifest, shown[i]));
    printf("# job: %d ranks, %d rounds in turns; a time is the median of its rounds\n", s->options->nranks, ROUNDS);
    for (int row = 0; row < clab_table_rows(&s->table); row++) {
        bool is_new = true;
        for (int before = 0; before < row && is_new; before++)
            is_new = !is_of_block(s, before, row);
        if (is_new)
            print_block(s, row);
    }
}

// ---- all of it -----------------------------------------------------------------------------------------------

// Rank 0 says it for all.
static int check_launchers(const struct several *s)
{
    for (int b = 0; s->turns.boot && b < s->n; b++)
        if (clab_backend_find(s->names[b])->launcher) {
            if (bench_turns_tells(&s->turns))
                clab_error("--backend %s: the library of %s starts the ranks itself, once: under a launcher name it alone, "
                           "or leave the launcher out and give -n",
                           s->options->job.backend, s->names[b]);
            return CLAB_EINVAL;
        }
    return CLAB_OK;
}

static int run(struct several *s)
{
    CLAB_TRY(find_backends(s));
    CLAB_TRY(check_launchers(s));
    CLAB_TRY(run_rounds(s));
    if (!bench_turns_tells(&s->turns))
        return CLAB_OK;
    CLAB_TRY(merge(s));
    print(s);
    return s->options->csv || s->options->json ? write_files(s) : CLAB_OK;
}

int bench_several(const struct bench_options *options, int argc, char **argv)
{
    struct several s = {.options = options, .argc = argc, .argv = argv};
    CLAB_TRY(bench_turns_open(options->joins, &s.turns));
    child_watch();
    int err = child_folder_make(s.folder);
    if (!err) {
        err = run(&s);
        child_folder_remove(s.folder);
    }
    bench_turns_close(&s.turns);
    const int ended_by = child_unwatch();
    for (int b = 0; b < MOST; b++)
        for (int round = 0; round < ROUNDS; round++)
            clab_csv_free(&s.rounds[b][round]);
    clab_table_free(&s.table);
    if (ended_by)
        raise(ended_by);
    return err;
}
