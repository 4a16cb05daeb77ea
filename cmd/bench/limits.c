// SPDX-License-Identifier: MIT
// What this machine can do at most (limits.h): copies, the way of a cache line between cores, and plain TCP where the
// backend uses it.
//
// - Rates count the bytes that arrive; the memory moves twice as many. Each figure is the best of a few windows, since
//   disturbances only make it worse.
// - The cache line lies in a memory file of rank 0, which rank 1 opens through /proc: no backend is involved.
// - A time under the floor that follows is refused, because the work was not done. A floor is no prediction: real calls
//   take much longer.

#include "cmd/bench/limits.h"

#include <fcntl.h>
#include <math.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "cmd/bench/bench.h"
#include "core/base/clock.h"
#include "core/base/err.h"
#include "core/base/numbers/copy.h"
#include "core/base/variables.h"
#include "core/clab.h"
#include "core/comm/job.h"
#include "core/transport/backend.h"

enum { WINDOWS = 4, ROUNDS = 100 };
enum { CACHED = 16 << 10, CACHED_FAR = 16 << 20 };                // bytes, by the processor, by a GPU
enum { SMALL = 4 << 20, LARGE = 32 << 20, TOGETHER = 256 << 20 }; // bytes
enum { TCP_LEAST = 64 << 10, TCP_MOST = 64 << 20 };
enum { LINE_WINDOWS = 5 }; // that the exchange of a line lasts
static const double window_least = 2e-3, window_most = 20e-3, patience_seconds = 2, line_at_most = 3e-6;

// Seconds: as long as a row, so that who wants a quick bench does not wait for its limits, but not too short to tell.
static double window_of(const struct bench *bench)
{
    return fmax(window_least, fmin(window_most, bench->options->budget));
}

bool bench_limits_have_time(const struct bench_options *options)
{
    return options->budget >= window_least;
}

// ---- copies --------------------------------------------------------------------------------------------------

struct pair {
    char *to, *from;
    size_t bytes;                     // each
    const struct clab_device *device; // whose memory it is; NULL: the processor's
};

// Rates over a window, in B/s.
struct rates {
    double best, mean;
};

struct copies {
    const struct pair *pair;
    int n;
};

static void make_copies(void *of)
{
    const struct copies *copies = of;
    const struct pair *pair = copies->pair;
    for (int i = 0; i < copies->n; i++) {
        if (pair->device)
            pair->device->copy(pair->to, pair->from, pair->bytes);
        else
            clab_bytes_copy(pair->to, pair->from, pair->bytes);
        atomic_signal_fence(memory_order_seq_cst); // each copy is made
    }
}

// Seconds by the device's own clock: the processor takes longer to start a GPU's copy, and to wait for it, than most
// copies take. INFINITY: the copy failed, as the next call reports.
static double time_copies(struct copies copies)
{
    const double start = clab_now();
    if (copies.pair->device) {
        const double seconds = copies.pair->device->time(make_copies, &copies);
        return seconds > 0 ? seconds : INFINITY;
    }
    make_copies(&copies);
    return clab_now() - start;
}

static struct rates copy_for_a_window(struct pair pair, double window)
{
    const size_t far = (size_t)(TOGETHER * window / window_most), some = pair.device ? far : SMALL; // for the clock
    const struct copies copies = {&pair, pair.bytes < some ? (int)(some / pair.bytes) : 1};
    const double start = clab_now(), bytes = (double)copies.n * (double)pair.bytes;
    double least = INFINITY, copied = 0, spent = 0;
    while (clab_now() - start < window) {
        const double seconds = time_copies(copies);
        least = seconds < least ? seconds : least;
        copied += bytes;
        spent += seconds;
    }
    return (struct rates){bytes / least, copied / spent};
}

// The best of all windows: one rank's rate, or the sum of the rates of all ranks at once.
static int copy_rate(struct bench *bench, struct pair pair, bool take_part, bool at_once, double *rate_p)
{
    double best = 0;
    for (int w = 0; w < WINDOWS; w++) {
        CLAB_TRY(clab_barrier(bench->control));
        const struct rates rates = take_part ? copy_for_a_window(pair, window_of(bench)) : (struct rates){0};
        double rate = at_once ? rates.mean : rates.best;
        CLAB_TRY(clab_allreduce(bench->control, &rate, &rate, 1, CLAB_F64, at_once ? CLAB_SUM : CLAB_MAX));
        best = rate > best ? rate : best;
    }
    *rate_p = best;
    return CLAB_OK;
}

// Bytes of each of two buffers: so many that they lie in memory, if there is time for that.
static size_t buffer_bytes(const struct bench *bench, bool is_far)
{
    const size_t part = TOGETHER / (size_t)bench->nranks;
    if (!bench_limits_have_time(bench->options))
        return is_far ? CACHED_FAR / 2 : CACHED;
    return part < SMALL ? SMALL : part > LARGE ? LARGE : part;
}

static int measure_copies(struct bench *bench, struct bench_limits *limits)
{
    const struct clab_backend *backend = bench->job->backend;
    const bool is_far = !backend->reaches(bench->job->domain, limits);
    const size_t bytes = buffer_bytes(bench, is_far);
    void *allocated; // allocated like the buffers that are timed later: pages may be larger than malloc's
    CLAB_TRY(clab_alloc(bench->job, 2 * bytes, &allocated));
    char *memory = allocated;
    backend->device->set(memory, 1, 2 * bytes); // pages of its own
    const struct clab_device *device = is_far ? backend->device : NULL;
    const struct pair far = {memory, memory + bytes, bytes, device};
    const size_t cached = !is_far ? CACHED : CACHED_FAR < 2 * bytes ? CACHED_FAR : 2 * bytes;
    const struct pair near = {memory, memory + cached / 2, cached / 2, device};
    const bool has_time = bench_limits_have_time(bench->options);
    int err = has_time ? copy_rate(bench, far, bench->rank == 0, false, &limits->copy_one) : CLAB_OK;
    if (err == CLAB_OK && has_time)
        err = copy_rate(bench, far, true, true, &limits->copy_all);
    if (err == CLAB_OK)
        err = copy_rate(bench, near, true, false, &limits->copy_peak);
    if (limits->copy_peak < limits->copy_one) // small copies of a GPU take longer to start than to make
        limits->copy_peak = limits->copy_one;
    clab_free(bench->job, memory);
    return err;
}

// ---- a cache line --------------------------------------------------------------------------------------------

static const uint32_t over = UINT32_MAX;

struct line {
    _Alignas(64) _Atomic uint32_t turn; // 2 i + 1: rank 0 has written; 2 i + 2: rank 1 has answered
};

// Wait for `turn`; false if the exchange is over, or after too long.
static bool await_turn(struct line *line, uint32_t turn, double deadline)
{
    for (unsigned spins = 1;; spins++) {
        const uint32_t now = atomic_load_explicit(&line->turn, memory_order_acquire);
        if (now == turn)
            return true;
        if (now == over || (spins % 4096 == 0 && clab_now() > deadline))
            return false;
    }
}

// The best mean of a few hundred round trips, in seconds; NAN if the other rank does not answer.
static double serve(struct line *line, double seconds)
{
    const double end = clab_now() + seconds;
    double best = NAN, start = clab_now();
    for (uint32_t i = 0; start < end;) {
        for (int round = 0; round < ROUNDS; round++, i += 2) {
            atomic_store_explicit(&line->turn, i + 1, memory_order_release);
            if (!await_turn(line, i + 2, end + patience_seconds))
                return NAN;
        }
        const double now = clab_now(), mean = (now - start) / ROUNDS;
        best = mean < best || isnan(best) ? mean : best;
        start = now;
    }
    atomic_store(&line->turn, over);
    return best;
}

static void answer(struct line *line)
{
    const double deadline = clab_now() + patience_seconds;
    for (uint32_t i = 0; await_turn(line, i + 1, deadline); i += 2)
        atomic_store_explicit(&line->turn, i + 2, memory_order_release);
}

static int create_line(void)
{
    const int file = memfd_create("line", MFD_CLOEXEC);
    if (file < 0 || ftruncate(file, sizeof(struct line)) == 0)
        return file;
    close(file);
    return -1;
}

// Rank 0 sends {process, descriptor} of its memory file, and rank 1 opens it.
static int open_line(struct bench *bench, int *file_p)
{
    int where[2] = {getpid(), bench->rank == 0 ? create_line() : -1};
    char path[64];
    *file_p = where[1];
    CLAB_TRY(clab_broadcast(bench->control, where, where, 2, CLAB_I32, 0));
    snprintf(path, sizeof path, "/proc/%d/fd/%d", where[0], where[1]);
    if (bench->rank == 1)
        *file_p = open(path, O_RDWR | O_CLOEXEC);
    return CLAB_OK;
}

// Only where ranks 0 and 1 have a core each. Otherwise this would measure the scheduler.
static int measure_line(struct bench *bench, struct bench_limits *limits)
{
    int file, ready = 1;
    limits->line = NAN;
    if (bench->nranks < 2 || bench->nranks > bench->options->cores)
        return CLAB_OK;
    CLAB_TRY(open_line(bench, &file));
    void *memory = MAP_FAILED;
    if (bench->rank < 2 && file >= 0)
        memory = mmap(NULL, sizeof(struct line), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (bench->rank < 2 && memory == MAP_FAILED)
        ready = 0; // on another host, or not allowed: not measured
    int err = clab_allreduce(bench->control, &ready, &ready, 1, CLAB_I32, CLAB_MIN);
    if (err == CLAB_OK && ready && bench->rank == 0)
        limits->line = serve(memory, LINE_WINDOWS * window_of(bench));
    if (limits->line > line_at_most)
        limits->line = NAN; // the scheduler was measured
    if (err == CLAB_OK && ready && bench->rank == 1)
        answer(memory);
    if (memory != MAP_FAILED)
        munmap(memory, sizeof(struct line));
    if (file >= 0)
        close(file);
    return err;
}

// ---- plain TCP -----------------------------------------------------------------------------------------------

static bool goes_over_tcp(const char *backend)
{
    const char *provider = clab_variable_text(CLAB_VARIABLE_PROVIDER);
    if (clab_variable_is_set(CLAB_VARIABLE_EMULATE))
        return false;
    return strcmp(backend, "gloo") == 0 ||
           (strcmp(backend, "ofi") == 0 && (!provider || !*provider || strcmp(provider, "tcp") == 0));
}

// The address at which rank 1 finds rank 0: that of node 0.
static const char *address_of_rank_0(const struct bench *bench)
{
    const char *master = getenv("MASTER_ADDR");
    return bench->job->bootstrap->nnodes > 1 && master ? master : "127.0.0.1";
}

static int measure_tcp(struct bench *bench, struct bench_limits *limits)
{
    size_t bytes = TCP_LEAST;
    for (int i = 0; i < bench->plan->nrows; i++)
        bytes = bench_bytes(&bench->plan->rows[i]) > bytes ? bench_bytes(&bench->plan->rows[i]) : bytes;
    limits->tcp = (struct tcp_limit){.trip = NAN, .rate = NAN};
    if (bench->nranks < 2 || !goes_over_tcp(clab_job_backend(bench->job)))
        return CLAB_OK;
    return tcp_limit_measure(bench->job, bench->control, address_of_rank_0(bench), bytes < TCP_MOST ? bytes : TCP_MOST,
                             &limits->tcp);
}

int bench_limits_measure(struct bench *bench, struct bench_limits *limits_p)
{
    struct bench_limits limits = {.copy_one = NAN, .copy_all = NAN, .line = NAN, .tcp = {.trip = NAN, .rate = NAN}};
    if (bench->options->backend->time->is_exact) { // the work is not this machine's
        *limits_p = limits;
        return CLAB_OK;
    }
    CLAB_TRY(measure_copies(bench, &limits));
    CLAB_TRY(measure_line(bench, &limits));
    CLAB_TRY(measure_tcp(bench, &limits));
    *limits_p = limits;
    return CLAB_OK;
}

// ---- the floor -----------------------------------------------------------------------------------------------

// The fewest bytes that the busiest rank must write.
static double least_written(const struct bench_row *row, enum bench_placement placement)
{
    const struct clab_problem *p = &row->problem;
    int most = 0;
    if (clab_listing_is_custom(p->listing)) // it may leave all as it is
        return 0;
    for (int rank = 0; rank < p->nranks; rank++) {
        const int blocks = clab_problem_out_blocks(p, rank);
        most = blocks > most ? blocks : most;
    }
    const bool there_already = p->collective == CLAB_ALLGATHER || p->collective == CLAB_GATHER || p->nranks == 1;
    if (placement == BENCH_IN_PLACE && there_already)
        most--; // a rank's own block
    return (double)most * (double)p->count * (double)clab_type_bytes(row->type);
}

// Whether each rank must hear from another one before its next call.
static bool binds_all(enum clab_collective collective)
{
    return collective == CLAB_ALLREDUCE || collective == CLAB_ALLGATHER || collective == CLAB_REDUCE_SCATTER ||
           collective == CLAB_ALLTOALL || collective == CLAB_BARRIER;
}

// A core may be faster by so much when a row is timed than when its copies were: a neighbour on the host had left it.
static const double pace = 1.25;

double bench_limits_floor(const struct bench_limits *limits, const struct bench_row *row,
                          enum bench_placement placement, int cores, const char **why_p)
{
    const double copied = least_written(row, placement) / (pace * limits->copy_peak);
    const bool waits = binds_all(row->problem.collective) && !clab_listing_is_custom(row->problem.listing) &&
                       row->problem.nranks > 1 && row->problem.nranks <= cores;
    const double heard = waits && !isnan(limits->line) ? limits->line / 4 : 0; // half of one way, as a margin for noise
    *why_p = copied > heard ? "its bytes at 1.25 times the rate of the fastest copy, within a cache"
                            : "half the time that a cache line needs from core to core";
    return copied > heard ? copied : heard;
}
