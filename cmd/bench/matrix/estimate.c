// SPDX-License-Identifier: MIT
// What cells take, and how the budget is divided among them.
//
// - A trial of a few calls by each backend gives the time of a call, and of all that comes with it: starting ranks,
//   limits, data, checks. Other cells follow by what the simulator predicts for both, on this machine's profile, or,
//   without a profile, by their bytes. Where ranks share cores, all takes that many times as long.
// - Each cell that ends corrects the estimates of its backend's other cells.
// - Where the budget is short, the longest cells get fewer calls: no cell gets more time than the largest share with
//   which all fit. Cells that do not fit with the fewest calls are late, the longest first.

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "cmd/bench/matrix/matrix.h"
#include "cmd/bench/predict.h"
#include "core/base/clock.h"
#include "core/base/files/csv.h"
#include "core/base/err.h"
#include "core/base/log.h"
#include "core/comm/comm.h"
#include "sim/sim.h"

enum { TRIAL_BYTES = 1 << 20, TRIAL_WARMUP = 1, TRIAL_CALLS = 3, CHECKS = 2 }; // CHECKS: calls that are not timed
static const double trial_seconds = 2e-3, trial_limit = 60, margin = 0.9, least_overhead = 0.05;
static const double fill_rate = 0.5e9; // B/s per core to touch, fill and check buffers; cells correct it

double matrix_time_left(const struct matrix *matrix)
{
    return matrix->options.budget - (clab_now() - matrix->start);
}

// ---- predictions -----------------------------------------------------------------------------------------------

// Seconds per call by the simulator if each rank had a core, by the kit's own choice of algorithm.
static double simulate(const struct clab_net *net, const struct matrix_cell *cell)
{
    struct bench_row row = cell->row;
    const struct clab_placement placement = {.cores = row.problem.nranks,
                                             .sockets = matrix_backends[cell->backend].sockets};
    const struct bench_batch batch = {.mode = BENCH_THROUGHPUT, .placement = cell->placement, .calls = 1};
    if (!net || row.problem.collective == CLAB_SENDRECV)
        return NAN;
    row.algorithm = clab_select(&row.problem, clab_type_bytes(row.type), placement);
    return row.algorithm ? bench_predict(net, &row, &batch) : NAN;
}

// The network that --net names, or the one that delays messages, or the backend's profile, or that of shared memory; NULL: there is none.
static int load_net(const struct matrix *matrix, int backend, struct clab_net **net_p)
{
    char why[CLAB_NET_WHY];
    *net_p = NULL;
    if (matrix->options.net || matrix->options.emulate)
        return clab_net_load(matrix->options.net ? matrix->options.net : matrix->options.emulate, net_p);
    CLAB_TRY(clab_net_load_profile(matrix_backends[backend].name, why, net_p));
    if (*net_p || matrix_backends[backend].device == MATRIX_CUDA)
        return CLAB_OK;
    return clab_net_load_profile(matrix_backends[MATRIX_SHM].name, why, net_p);
}

static int name_simulator(struct matrix *matrix, int backend, const struct clab_net *net)
{
    for (int i = 0; i < matrix->ncells && net; i++)
        if (matrix->cells[i].backend == backend)
            return clab_manifest_add(&matrix->files[matrix->cells[i].file].manifest, "simulator",
                                     "%s: sim_usec is of the network %s%s%s", matrix_backends[backend].name, net->name,
                                     net->date[0] ? " of " : "", net->date);
    return CLAB_OK;
}

// Of all waiting cells of the backend; those with more ranks than the network has are skipped.
static void predict(struct matrix *matrix, int backend, const struct clab_net *net)
{
    for (int i = 0; i < matrix->ncells; i++) {
        struct matrix_cell *cell = &matrix->cells[i];
        struct clab_log_held held;
        if (cell->backend != backend)
            continue;
        clab_log_hold(&held);
        const bool fits = !net || clab_net_check_ranks(net, cell->row.problem.nranks) == CLAB_OK;
        if (fits)
            cell->simulated = simulate(net, cell);
        clab_log_release(&held);
        if (!fits && cell->status == MATRIX_WAITING)
            matrix_cell_skip(cell, "%s", held.text);
    }
}

// ---- trials ----------------------------------------------------------------------------------------------------

// The cell of fewest ranks that waits for this backend, with few bytes; false: none waits.
static bool choose_trial(const struct matrix *matrix, int backend, struct matrix_cell *cell_p)
{
    const struct matrix_cell *chosen = NULL;
    for (int i = 0; i < matrix->ncells; i++) {
        const struct matrix_cell *cell = &matrix->cells[i];
        if (cell->backend == backend && cell->status == MATRIX_WAITING &&
            (!chosen || cell->row.problem.nranks < chosen->row.problem.nranks))
            chosen = cell;
    }
    if (!chosen)
        return false;
    *cell_p = *chosen;
    const size_t bytes = bench_bytes(&chosen->row);
    if (bytes > TRIAL_BYTES)
        cell_p->row.problem.count = chosen->row.problem.count / (bytes / TRIAL_BYTES);
    return true;
}

static void end_all(struct matrix *matrix, int backend, enum matrix_end end, const char *why)
{
    for (int i = 0; i < matrix->ncells; i++)
        if (matrix->cells[i].backend == backend && matrix->cells[i].status == MATRIX_WAITING) {
            matrix_cell_skip(&matrix->cells[i], "%s", why);
            if (end != MATRIX_NOT_HERE)
                matrix->cells[i].status = MATRIX_FAILED;
        }
}

static int read_trial(const struct matrix *matrix, struct matrix_trial *trial, double seconds)
{
    char path[PATH_MAX];
    struct clab_csv csv;
    matrix_job_path(matrix, &trial->cell, MATRIX_ROWS, path);
    CLAB_TRY(clab_csv_load(path, &csv));
    trial->call = 1e-6 * clab_csv_real(&csv, 0, "usec");
    clab_csv_free(&csv);
    if (!(trial->call > 0))
        trial->call = seconds / (TRIAL_WARMUP + TRIAL_CALLS + CHECKS);
    trial->overhead = fmax(least_overhead, seconds - (TRIAL_WARMUP + TRIAL_CALLS + CHECKS) * trial->call);
    trial->factor = 1;
    return CLAB_OK;
}

static int try_backend(struct matrix *matrix, int backend, const struct clab_net *net)
{
    struct matrix_trial *trial = &matrix->trials[backend];
    enum matrix_end end;
    char why[MATRIX_REASON];
    if (!choose_trial(matrix, backend, &trial->cell) || matrix_time_left(matrix) <= 0)
        return CLAB_OK;
    trial->cell.simulated = simulate(net, &trial->cell);
    const double limit = fmax(1, fmin(trial_limit, matrix_time_left(matrix)));
    const struct matrix_job job = {&trial->cell, TRIAL_WARMUP, TRIAL_CALLS, trial_seconds, limit};
    const double start = clab_now();
    int err = matrix_job_run(matrix, &job, &end, why);
    if (!err && end == MATRIX_DONE)
        err = read_trial(matrix, trial, clab_now() - start);
    else if (!err && (end != MATRIX_TOO_LATE || matrix_time_left(matrix) > 0))
        end_all(matrix, backend, end, why);
    matrix_job_clear(matrix, &trial->cell);
    return err;
}

int matrix_estimate_begin(struct matrix *matrix)
{
    for (int b = 0; b < MATRIX_BACKENDS; b++) {
        struct clab_net *net = NULL;
        if (!matrix->options.backends[b])
            continue;
        CLAB_TRY(load_net(matrix, b, &net));
        predict(matrix, b, net);
        int err = name_simulator(matrix, b, net);
        if (err == CLAB_OK)
            err = try_backend(matrix, b, net);
        clab_net_free(net);
        CLAB_TRY(err);
    }
    return CLAB_OK;
}

// ---- a cell ----------------------------------------------------------------------------------------------------

// How many times as long a call takes because ranks share cores. With an exact clock the work of all ranks is done here.
static double crowd(const struct matrix *matrix, const struct matrix_cell *cell)
{
    const bool shares = cell->oversubscribed || matrix_backends[cell->backend].is_exact;
    return shares ? fmax(1, (double)cell->row.problem.nranks / matrix->hardware.cores) : 1;
}

// Bytes that take as long as a call, in proportion. Of fewer, fixed costs are the larger part.
static double work(const struct matrix_cell *cell)
{
    const double factor = bench_bus_factor(cell->row.problem.collective, cell->row.problem.nranks);
    return fmax((double)bench_bytes(&cell->row), TRIAL_BYTES / 16) * fmax(factor, 0.5);
}

static void estimate(const struct matrix *matrix, struct matrix_cell *cell)
{
    const struct matrix_trial *trial = &matrix->trials[cell->backend];
    const bool predicted = !matrix_backends[cell->backend].is_exact && cell->simulated > 0 && trial->cell.simulated > 0;
    const double more = predicted ? cell->simulated / trial->cell.simulated : work(cell) / work(&trial->cell);
    const double ranks = cell->row.problem.nranks, of_trial = trial->cell.row.problem.nranks;
    const double touched = ranks * (double)bench_bytes(&cell->row) / fmin(ranks, matrix->hardware.cores);
    cell->call = trial->factor * trial->call * more * crowd(matrix, cell) / crowd(matrix, &trial->cell);
    cell->overhead = trial->factor * (trial->overhead * (1 + ranks / of_trial) / 2 + touched / fill_rate);
}

static double cost(const struct matrix_cell *cell, int warmup, int iterations)
{
    return cell->overhead + cell->call * (warmup + iterations + CHECKS);
}

double matrix_estimate_cell(const struct matrix_cell *cell)
{
    return cost(cell, cell->warmup, cell->iterations);
}

void matrix_estimate_learn(struct matrix *matrix, const struct matrix_cell *cell, double seconds)
{
    struct matrix_trial *trial = &matrix->trials[cell->backend];
    trial->factor *= (1 + seconds / cost(cell, cell->warmup, cell->iterations)) / 2;
}

// ---- all of them -----------------------------------------------------------------------------------------------

static int fewest(int asked, int few)
{
    return asked < few ? asked : few;
}

double matrix_estimate_least(const struct matrix *matrix, const struct matrix_cell *cell)
{
    return cost(cell, fewest(matrix->options.warmup, 1), fewest(matrix->options.iterations, MATRIX_FEWEST));
}

static double most_cost(const struct matrix *matrix, const struct matrix_cell *cell)
{
    return cost(cell, matrix->options.warmup, matrix->options.iterations);
}

static bool is_due(const struct matrix_cell *cell)
{
    return cell->status == MATRIX_WAITING && !cell->is_late;
}

// What all that are due take if none gets more than `share`, but each its fewest calls.
static double sum(const struct matrix *matrix, double share)
{
    double seconds = 0;
    for (int i = 0; i < matrix->ncells; i++)
        if (is_due(&matrix->cells[i]))
            seconds += fmax(matrix_estimate_least(matrix, &matrix->cells[i]), fmin(share, most_cost(matrix, &matrix->cells[i])));
    return seconds;
}

static void drop_longest(struct matrix *matrix)
{
    struct matrix_cell *longest = NULL;
    for (int i = 0; i < matrix->ncells; i++) {
        struct matrix_cell *cell = &matrix->cells[i];
        if (is_due(cell) && (!longest || matrix_estimate_least(matrix, cell) >= matrix_estimate_least(matrix, longest)))
            longest = cell;
    }
    if (longest)
        longest->is_late = true;
}

static void set_calls(const struct matrix *matrix, struct matrix_cell *cell, double share)
{
    const int few = fewest(matrix->options.iterations, MATRIX_FEWEST);
    const double calls = (share - cell->overhead) / cell->call - CHECKS;
    cell->warmup = matrix->options.warmup;
    cell->iterations = matrix->options.iterations;
    if (share >= most_cost(matrix, cell))
        return;
    if (calls < cell->warmup + few)
        cell->warmup = fewest(cell->warmup, 1);
    const double timed = calls - cell->warmup;
    cell->iterations = timed < few ? few : timed < cell->iterations ? (int)timed : cell->iterations;
}

// The budget may have been over before.
static bool is_tried(const struct matrix_trial *trial)
{
    return trial->factor > 0;
}

double matrix_estimate_divide(struct matrix *matrix)
{
    const double left = margin * matrix_time_left(matrix);
    double low = 0, high = fmax(left, 0), seconds = 0;
    for (int i = 0; i < matrix->ncells; i++)
        if (matrix->cells[i].status == MATRIX_WAITING) {
            matrix->cells[i].is_late = left <= 0 || !is_tried(&matrix->trials[matrix->cells[i].backend]);
            if (!matrix->cells[i].is_late)
                estimate(matrix, &matrix->cells[i]);
        }
    while (sum(matrix, 0) > left && sum(matrix, 0) > 0)
        drop_longest(matrix);
    for (int halving = 0; halving < 40; halving++) {
        const double middle = (low + high) / 2;
        *(sum(matrix, middle) > left ? &high : &low) = middle;
    }
    for (int i = 0; i < matrix->ncells; i++)
        if (is_due(&matrix->cells[i])) {
            set_calls(matrix, &matrix->cells[i], low);
            seconds += matrix_estimate_cell(&matrix->cells[i]);
        }
    return seconds;
}
