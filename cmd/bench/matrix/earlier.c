// SPDX-License-Identifier: MIT
// The files of a matrix: their names and plans, and what an earlier run left in them.
//
// - The line `# plan:` says what was asked for. A later run of the same plan keeps the rows that were measured, and
//   measures the others, also those that were skipped or failed. Another plan, or another machine, is refused.
// - A row counts if all of its samples are there.

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "cmd/bench/matrix/matrix.h"
#include "cmd/kit/kit.h"
#include "core/base/files/csv.h"
#include "core/base/err.h"
#include "core/base/files/input.h"
#include "core/base/log.h"
#include "core/base/files/output.h"
#include "core/base/files/table.h"
#include "core/base/text.h"
#include "core/base/variables.h"

// ---- its plan --------------------------------------------------------------------------------------------------

// The backend of a file of its own.
static int backend_of(const struct matrix *matrix, int file)
{
    int n = 0;
    for (int b = 0; b < MATRIX_BACKENDS; b++)
        if (matrix->options.backends[b] && n++ == file)
            return b;
    return -1;
}

static bool has_backend(const struct matrix *matrix, int file, int backend)
{
    return matrix->options.output ? matrix->options.backends[backend] : backend == backend_of(matrix, file);
}

//   errors: CLAB_EINVAL, logged: two plans that are cut could look alike
static int describe_plan(const struct matrix *matrix, int file, struct matrix_file *f)
{
    const struct matrix_options *o = &matrix->options;
    struct clab_text text = clab_text_begin(f->plan, sizeof f->plan);
    const char *between = "";
    for (int c = 0; c < CLAB_COLLECTIVE_COUNT; c++)
        if (o->collectives[c]) {
            clab_text_add(&text, "%s%s", between, clab_collective_name((enum clab_collective)c));
            between = ",";
        }
    between = " over ";
    for (int b = 0; b < MATRIX_BACKENDS; b++)
        if (has_backend(matrix, file, b)) {
            clab_text_add(&text, "%s%s", between, matrix_backends[b].name);
            between = ",";
        }
    for (int i = 0; i < o->nranks; i++)
        clab_text_add(&text, "%s%d", i ? "," : "; ", o->ranks[i]);
    for (int i = 0; i < o->nsizes; i++)
        clab_text_add(&text, "%s%zu", i ? "," : " ranks; ", o->sizes[i]);
    clab_text_add(&text, " B of float; %d warm-up and %d timed calls, in place where there is that", o->warmup,
                  o->iterations);
    if (o->net)
        clab_text_add(&text, "; network %s", o->net);
    if (o->emulate)
        clab_text_add(&text, "; delayed as on %s", o->emulate);
    if (has_backend(matrix, file, MATRIX_OFI) && clab_variable_given(CLAB_VARIABLE_PROVIDER))
        clab_text_add(&text, "; provider %s", clab_variable_given(CLAB_VARIABLE_PROVIDER));
    if (text.used + 1 < text.room)
        return CLAB_OK;
    clab_error("the plan takes more than %zu letters: give fewer sizes or numbers of ranks, or shorter names of files",
               text.room - 2);
    return CLAB_EINVAL;
}

static int name_file(const struct matrix *matrix, int file, struct matrix_file *f)
{
    const struct matrix_options *o = &matrix->options;
    const struct matrix_backend *backend = &matrix_backends[backend_of(matrix, file)];
    char *root = NULL, home[PATH_MAX] = "";
    if (!o->output && !o->results) {
        CLAB_TRY(kit_root(&root));
        const int err = kit_home(root, home);
        free(root);
        CLAB_TRY(err);
    }
    const int n =
        o->output ? snprintf(f->path, PATH_MAX, "%s", o->output)
                  : snprintf(f->path, PATH_MAX, "%s%s/%s_%s_benchmark.csv", *home ? home : o->results,
                             *home ? "/results" : "", backend->name, backend->device == MATRIX_CUDA ? "gpu" : "cpu");
    if (n + (int)strlen("_samples") >= PATH_MAX) {
        clab_error("the name of the file has %d bytes: it is too long", n);
        return CLAB_EINVAL;
    }
    memcpy(f->samples, f->path, (size_t)n);
    strcpy(f->samples + n - strlen(".csv"), "_samples.csv");
    return CLAB_OK;
}

static int make_manifest(const struct matrix *matrix, struct matrix_file *f)
{
    struct clab_manifest *m = &f->manifest;
    int most = 0;
    for (int i = 0; i < matrix->options.nranks; i++)
        most = matrix->options.ranks[i] > most ? matrix->options.ranks[i] : most;
    const char *samples = strrchr(f->samples, '/');
    CLAB_TRY(clab_manifest_add(m, "command", "%s", matrix->options.command));
    CLAB_TRY(clab_manifest_add(m, "plan", "%s", f->plan));
    CLAB_TRY(clab_manifest_add(m, "seed", "%llu", (unsigned long long)f->seed));
    CLAB_TRY(clab_manifest_add(m, "mode", "each call is timed alone, from a barrier, at the slowest rank; usec: median"));
    CLAB_TRY(clab_manifest_add(m, "samples", "%s: each rank's time of each timed call",
                               samples ? samples + 1 : f->samples));
    if (matrix->hardware.is_wsl2)
        CLAB_TRY(clab_manifest_add(m, "warning", "WSL2: Windows shares cores and memory, and its times vary more"));
    CLAB_TRY(clab_machine_warn(&matrix->machine, most, m));
    return clab_machine_describe_as(&matrix->machine, m);
}

// ---- an earlier run --------------------------------------------------------------------------------------------

// A last line without its end was torn by a kill. A file of one line only is left as it is: no kill of ours leaves that.
static bool cut_torn(struct clab_input *input)
{
    const char *end = memrchr(input->text, '\n', input->bytes);
    if (!end || end + 1 == input->text + input->bytes)
        return false;
    input->bytes = (size_t)(end + 1 - input->text);
    input->text[input->bytes] = '\0';
    return true;
}

int matrix_load(const char *path, struct matrix_found *found_p)
{
    struct matrix_found found = {.is_there = access(path, F_OK) == 0 || errno != ENOENT};
    struct clab_input input;
    *found_p = found;
    if (!found.is_there)
        return CLAB_OK;
    CLAB_TRY(clab_input_open(path, CLAB_INPUT_TABLE, &input));
    found.is_torn = cut_torn(&input);
    const int err = clab_csv_parse(input.text, input.bytes, path, &found.csv);
    if (err) {
        clab_input_close(&input);
        return err;
    }
    found.csv.input = input;
    *found_p = found;
    return CLAB_OK;
}

void matrix_say_torn(const struct matrix *matrix, const char *path)
{
    if (!matrix->options.plan_only)
        fprintf(stderr, "commlab bench: %s: its last line was torn, and is measured anew\n", path);
}

struct matrix_cell *matrix_file_cell(struct matrix *matrix, const struct clab_csv *csv, int row)
{
    for (int i = 0; i < matrix->ncells; i++) {
        struct matrix_cell *cell = &matrix->cells[i];
        if (clab_csv_real(csv, row, "ranks") == cell->row.problem.nranks &&
            clab_csv_real(csv, row, "bytes") == (double)bench_bytes(&cell->row) &&
            !strcmp(clab_csv_cell(csv, row, "backend"), matrix_backends[cell->backend].name) &&
            !strcmp(clab_csv_cell(csv, row, "collective"), clab_collective_name(cell->row.problem.collective)))
            return cell;
    }
    return NULL;
}

// A row can not have more calls than were asked for.
static bool has_possible_calls(const struct matrix *matrix, const struct clab_csv *csv, int row)
{
    const double warmup = clab_csv_real(csv, row, "num_warmup"), iterations = clab_csv_real(csv, row, "num_iters");
    return warmup >= 0 && warmup <= matrix->options.warmup && iterations >= 1 &&
           iterations <= matrix->options.iterations;
}

static int keep_row(struct matrix *matrix, const struct clab_csv *csv, int row)
{
    int n;
    const struct clab_column *columns = matrix_columns(&n);
    struct matrix_cell *cell = matrix_file_cell(matrix, csv, row);
    const char *status = clab_csv_cell(csv, row, "status");
    const bool ok = !strcmp(status, "ok"), noisy = !strcmp(status, "noisy");
    if (!cell || cell->values || (!ok && !noisy) || !has_possible_calls(matrix, csv, row))
        return CLAB_OK;
    cell->values = calloc((size_t)n, sizeof *cell->values);
    for (int c = 0; cell->values && c < n; c++)
        if (!(cell->values[c] = strdup(clab_csv_cell(csv, row, columns[c].name))))
            return CLAB_ENOMEM;
    cell->status = ok ? MATRIX_OK : MATRIX_NOISY;
    cell->kept = true;
    cell->warmup = (int)clab_csv_real(csv, row, "num_warmup");
    cell->iterations = (int)clab_csv_real(csv, row, "num_iters");
    snprintf(cell->reason, sizeof cell->reason, "%s", clab_csv_cell(csv, row, "reason"));
    return cell->values ? CLAB_OK : CLAB_ENOMEM;
}

static int check_plan(const struct matrix *matrix, const struct matrix_file *f, const struct clab_csv *csv)
{
    const char *plan = clab_manifest_get(&csv->manifest, "plan"), *seed = clab_manifest_get(&csv->manifest, "seed");
    const char *machine = clab_manifest_get(&csv->manifest, "machine");
    const bool other_seed = matrix->options.seeded && (!seed || strtoull(seed, NULL, 10) != f->seed);
    static const char remedy[] = "--fresh replaces it, --output FILE.csv writes elsewhere";
    if (!plan)
        clab_error("%s is no file of bench --matrix: it has no line `# plan:`; %s", f->path, remedy);
    else if (strcmp(plan, f->plan))
        clab_error("%s holds another plan (%s; now: %s): %s", f->path, plan, f->plan, remedy);
    else if (other_seed)
        clab_error("%s is of --seed %s: %s", f->path, seed ? seed : "(none)", remedy);
    else if (!machine || strcmp(machine, matrix->machine_text))
        clab_error("%s was measured on another machine (%s; this is %s): %s", f->path, machine ? machine : "unknown",
                   matrix->machine_text, remedy);
    else
        return CLAB_OK;
    return CLAB_EINVAL;
}

static int read_earlier(struct matrix *matrix, int file)
{
    struct matrix_file *f = &matrix->files[file];
    struct matrix_found found;
    CLAB_TRY(matrix_load(f->path, &found));
    if (!found.is_there)
        return CLAB_OK;
    int err = check_plan(matrix, f, &found.csv);
    const char *seed = clab_manifest_get(&found.csv.manifest, "seed");
    if (!err && found.is_torn)
        matrix_say_torn(matrix, f->path);
    if (!err && seed)
        f->seed = strtoull(seed, NULL, 10);
    for (int row = 0; row < found.csv.nrows && !err; row++)
        err = keep_row(matrix, &found.csv, row);
    clab_csv_free(&found.csv);
    return err;
}

// ---- all of them -----------------------------------------------------------------------------------------------

// One matrix at a time in a folder: two would disturb each other's times, too.
static int lock_folder(struct matrix *matrix)
{
    const char *path = matrix->files[0].path, *slash = strrchr(path, '/');
    char folder[PATH_MAX];
    snprintf(folder, sizeof folder, "%.*s", slash ? (int)(slash - path) : 1, slash ? path : ".");
    CLAB_TRY(kit_make_folder(folder));
    matrix->lock = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (matrix->lock >= 0 && flock(matrix->lock, LOCK_EX | LOCK_NB) == 0)
        return CLAB_OK;
    if (matrix->lock >= 0 && errno == EWOULDBLOCK)
        clab_error("%s: another bench --matrix writes there now: wait for its end, or give another folder by --results",
                   folder);
    else
        clab_error("%s: %m", folder);
    return CLAB_EIO;
}

int matrix_files_open(struct matrix *matrix)
{
    for (int i = 0; i < matrix->nfiles; i++) {
        struct matrix_file *f = &matrix->files[i];
        f->seed = matrix->options.seed;
        CLAB_TRY(name_file(matrix, i, f));
        CLAB_TRY(describe_plan(matrix, i, f));
    }
    if (!matrix->options.plan_only)
        CLAB_TRY(lock_folder(matrix));
    for (int i = 0; i < matrix->nfiles; i++) {
        struct matrix_file *f = &matrix->files[i];
        if (!matrix->options.fresh)
            CLAB_TRY(read_earlier(matrix, i));
        else if (!matrix->options.plan_only)
            CLAB_TRY(clab_output_announce(f->path));
        CLAB_TRY(make_manifest(matrix, f));
        CLAB_TRY(matrix_samples_open(matrix, i));
    }
    return CLAB_OK;
}

void matrix_files_close(struct matrix *matrix)
{
    for (int i = 0; i < matrix->nfiles; i++)
        clab_manifest_free(&matrix->files[i].manifest);
    for (int i = 0; i < matrix->ncells; i++)
        matrix_file_drop(&matrix->cells[i]);
    if (matrix->lock >= 0)
        close(matrix->lock);
}
