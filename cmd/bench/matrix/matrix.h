// SPDX-License-Identifier: MIT
// bench --matrix: ranks x sizes x backends x collectives, within a time that is announced before it begins.
//
// - A cell is one collective of one size on one number of ranks by one backend. It is measured by a bench of its own, a
//   child process: what fails or is killed there ends one cell only.
// - Each backend has a file, results/BACKEND_DEVICE_benchmark.csv, and beside it one of the raw samples. A cell is
//   written as soon as it is measured. The same command goes on where an earlier run was ended.
// - options   the command line.               hardware  what this machine has, and which cells it can not run.
// - cells     all cells, in the order in which they run.
// - estimate  what a cell takes, and what each may take so that all fit the budget.
// - file      the results, and their columns. earlier   their names and plans, and what an earlier run left.
// - samples   the raw samples beside them.
// - cell      one cell measured.              screen    plan, table and progress.
#pragma once

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

#include "cmd/bench/row.h"
#include "core/base/files/csv.h"
#include "core/base/machine/machine.h"
#include "core/base/files/manifest.h"

struct clab_column;
struct clab_net;

enum { MATRIX_LIST = 64, MATRIX_REASON = 320 };
enum { MATRIX_FEWEST = 8 }; // timed calls, where time is short: a median needs 6 for its interval, and not all count

// ---- backends --------------------------------------------------------------------------------------------------

enum matrix_device { MATRIX_CPU, MATRIX_CUDA, MATRIX_ANY };
enum { MATRIX_GLOO, MATRIX_NCCL, MATRIX_SHM, MATRIX_OFI, MATRIX_MPI, MATRIX_SIM, MATRIX_BACKENDS };

struct matrix_backend {
    const char *name;
    enum matrix_device device; // whose memory it moves
    bool sockets, is_exact;    // as in struct clab_backend
    int scratch;               // buffers of a call's size that the library may allocate per rank
    size_t shm_bytes;          // of /dev/shm per rank
};
extern const struct matrix_backend matrix_backends[MATRIX_BACKENDS];
const char *matrix_device_name(enum matrix_device device); // "cpu", "cuda", as in the column

// ---- the request -----------------------------------------------------------------------------------------------

struct matrix_options {
    int ranks[MATRIX_LIST], nranks;
    size_t sizes[MATRIX_LIST]; // bytes
    int nsizes;
    bool backends[MATRIX_BACKENDS];
    enum matrix_device device;
    bool collectives[CLAB_COLLECTIVE_COUNT];
    int warmup, iterations;
    double budget; // s
    const char *output, *results, *net, *emulate, *root; // emulate: NULL: no delays
    int port;
    uint64_t seed;
    bool seeded, fresh, plan_only;
    char *command;
    char **words; // the words that the texts above point into
};

// Read argv, without --matrix. Free *options_p afterwards, also if this fails.  errors: CLAB_EINVAL, logged
int matrix_options_parse(int argc, char **argv, struct matrix_options *options_p);
void matrix_options_free(struct matrix_options *options);

// ---- cells -----------------------------------------------------------------------------------------------------

enum matrix_status { MATRIX_WAITING, MATRIX_OK, MATRIX_NOISY, MATRIX_FAILED, MATRIX_SKIPPED };
const char *matrix_status_name(enum matrix_status status); // as in the column

struct matrix_cell {
    struct bench_row row;
    enum bench_placement placement;
    int backend, file;     // their numbers
    bool oversubscribed;   // more ranks than cores
    double simulated;      // s per call where each rank has a core; NAN: not known
    double call, overhead; // s, estimated: per call; for all else
    int warmup, iterations;        // calls, of those that were asked for, for which there is time
    bool kept;                     // an earlier run measured it
    bool is_late;                  // the budget has no time for it
    enum matrix_status status;
    char reason[MATRIX_REASON];
    char **values; // (columns) its row of the file; NULL: it has none yet
};

// A few calls by a backend, of which estimates are made.
struct matrix_trial {
    struct matrix_cell cell;
    double call, overhead; // s per call; for all else
    double factor;         // how much longer cells took since than was estimated
};

struct matrix_file {
    char path[PATH_MAX], samples[PATH_MAX];
    char plan[2048]; // as its line says it
    uint64_t seed;
    struct clab_manifest manifest;
};

struct matrix_hardware {
    int cores, gpus;                 // gpus: -1: not known
    size_t memory_bytes, shm_bytes;  // available; 0: not known, none
    bool is_wsl2, has_shm, may_share; // ranks may share a GPU
};

struct matrix {
    struct matrix_options options;
    struct matrix_hardware hardware;
    struct clab_machine machine;
    char machine_text[192]; // as in the column
    struct matrix_cell *cells;
    int ncells, cell_room;
    struct matrix_trial trials[MATRIX_BACKENDS];
    struct matrix_file files[MATRIX_BACKENDS];
    int nfiles;
    double start; // s of clab_now
    int lock;     // descriptor of the folder
    char scratch[PATH_MAX]; // of --dry-run, which leaves the folder of results alone; "": that folder
};

// All cells, and the files that they go to.  errors: CLAB_EINVAL (logged), CLAB_ENOMEM
int matrix_cells_make(struct matrix *matrix);
// "gloo, 4 ranks, 10 MB, allreduce"
const char *matrix_cell_text(const struct matrix_cell *cell, char *text, size_t room);
void matrix_cell_skip(struct matrix_cell *cell, const char *format, ...) __attribute__((format(printf, 2, 3)));
int matrix_count(const struct matrix *matrix, enum matrix_status status);

// ---- hardware --------------------------------------------------------------------------------------------------

void matrix_hardware_read(const char *root, struct matrix_hardware *hardware_p);
// Skip the cells that this machine can not run, each with its reason.
void matrix_hardware_fit(struct matrix *matrix);

// ---- time ------------------------------------------------------------------------------------------------------

// Try each backend that has a cell to measure with a few calls. One that is missing loses its cells.
//   errors: CLAB_EPEER (a signal came), CLAB_ENOMEM, CLAB_EIO
int matrix_estimate_begin(struct matrix *matrix);
// Give each waiting cell its calls, so that all end within what is left of the budget; cells for which there is no time
// become late. Returns the seconds that the others take.
double matrix_estimate_divide(struct matrix *matrix);
double matrix_estimate_cell(const struct matrix_cell *cell); // s, with its calls
double matrix_estimate_least(const struct matrix *matrix, const struct matrix_cell *cell); // s, with the fewest
// A cell took so long.
void matrix_estimate_learn(struct matrix *matrix, const struct matrix_cell *cell, double seconds);
double matrix_time_left(const struct matrix *matrix); // s of the budget

// ---- files -----------------------------------------------------------------------------------------------------

// Its columns: those of bench --csv, then ours.
const struct clab_column *matrix_columns(int *n_p);

// Lock the folder, and take over the rows of an earlier run of the same plan.
//   errors: CLAB_EINVAL (another plan, machine or kind of file), CLAB_EIO, CLAB_EPARSE, CLAB_ENOMEM; logged
int matrix_files_open(struct matrix *matrix);
// Write all rows that a file has so far.  errors: CLAB_EIO, CLAB_ENOMEM
int matrix_file_write(struct matrix *matrix, int file);
void matrix_files_close(struct matrix *matrix);
// The cell that a row of a file is of; NULL: none of these.
struct matrix_cell *matrix_file_cell(struct matrix *matrix, const struct clab_csv *csv, int row);
// The cell's row: what its bench wrote (NULL: nothing), and the columns that we add.  errors: CLAB_ENOMEM
int matrix_file_fill(struct matrix *matrix, struct matrix_cell *cell, const struct clab_csv *measured);

// The cell has no row (yet).
void matrix_file_drop(struct matrix_cell *cell);

// Keep those samples of the file whose cells are kept; a cell without all of its samples is not.
//   errors: CLAB_EIO, CLAB_EPARSE, CLAB_ENOMEM
int matrix_samples_open(struct matrix *matrix, int file);
// Add the samples that a cell's bench wrote to `path`. *calls_p: the timed calls; *kept_p: those that count
//   errors: likewise
int matrix_samples_add(const struct matrix_file *file, const char *path, int *calls_p, int *kept_p);
// What is there of a file. is_torn: its last line, which csv then lacks
struct matrix_found {
    bool is_there, is_torn;
    struct clab_csv csv; // if it is there; freed by clab_csv_free
};
// Read a file of an earlier run, which stays as it is.  errors: those of clab_csv_load, logged
int matrix_load(const char *path, struct matrix_found *found_p);
void matrix_say_torn(const struct matrix *matrix, const char *path);

// ---- running ---------------------------------------------------------------------------------------------------

// What a bench of one cell is to do, and came to.
struct matrix_job {
    const struct matrix_cell *cell;
    int warmup, iterations;
    double seconds, limit; // for the timed calls; for all, then it is ended
};
// DONE: there is a row. NOT_HERE: this machine or build lacks something, or the request does not fit it.
enum matrix_end { MATRIX_DONE, MATRIX_NOT_HERE, MATRIX_BROKE, MATRIX_TOO_LATE };

// The files of the bench that runs, beside those of its results; hidden, and removed by matrix_job_clear.
enum matrix_part { MATRIX_ROWS, MATRIX_RAW, MATRIX_LOG };
void matrix_job_path(const struct matrix *matrix, const struct matrix_cell *cell, enum matrix_part part,
                     char path_p[PATH_MAX]);
void matrix_job_clear(const struct matrix *matrix, const struct matrix_cell *cell);
// Run it. why: (MATRIX_REASON) what it complained of.  errors: CLAB_ESYS, CLAB_EPEER (a signal came)
int matrix_job_run(const struct matrix *matrix, const struct matrix_job *job, enum matrix_end *end_p, char *why);
// Measure the cell, and fill in its row.  errors: CLAB_EPEER (a signal came), those of the files
int matrix_cell_measure(struct matrix *matrix, struct matrix_cell *cell);

// ---- the screen ------------------------------------------------------------------------------------------------

void matrix_screen_plan(const struct matrix *matrix, double seconds);
void matrix_screen_cell(const struct matrix_cell *cell);
void matrix_screen_progress(const struct matrix *matrix, const struct matrix_cell *cell);
void matrix_screen_end(const struct matrix *matrix);

// The command: `argv` with --matrix in it. Returns the exit status.
int bench_matrix(int argc, char **argv);
