// SPDX-License-Identifier: MIT
// The bench: what collectives cost, against what they should, and whether their results are right.
//
// - bench.c          the subcommand: the order of events in the launcher and in its ranks.
// - options.c        the command line, checked before anything is started.
// - values.c         what flags take.
// - plan.c           the rows: every collective, type, operation, root, algorithm and size that was asked for.
// - call.c           a collective from outside: its buffers, its bytes, the call itself.
// - data.c           what ranks give, and whether what they got is right.
// - limits.c         what the machine can do at most.
// - time.c           batches of calls until their median is known.
// - sweep.c          the rows, measured one by one on all ranks.
// - predict.c        the simulator's time for a row, and how far all of them were off.
// - table.c          the screen.
// - files.c          the manifest, CSV, JSON.
// - several.c        several backends in turns, in one table.
#pragma once

#include <math.h>
#include <stdbool.h>
#include <stdint.h>

#include "core/transport/backend.h"
#include "core/base/machine.h"
#include "core/base/manifest.h"
#include "core/base/stats.h"
#include "core/base/table.h"
#include "core/clab.h"
#include "sim/sim.h"
#include "cmd/probe/tcp_limit.h"

// What a time means; measurement.md's three.
enum bench_mode {
    BENCH_THROUGHPUT, // calls back to back: total / calls, of the slowest rank
    BENCH_LATENCY,    // one call from a common start: last exit - last entry
    BENCH_LOCAL,      // each rank's own mean: mean, least and most over ranks
    BENCH_MODES
};
const char *bench_mode_name(enum bench_mode mode);

enum bench_placement { BENCH_OUT_OF_PLACE, BENCH_IN_PLACE, BENCH_PLACEMENTS };

// ---- options.c -----------------------------------------------------------------------------------------------

enum { BENCH_ALL_ROOTS = -1, BENCH_MOST_SECONDS = 3600 }; // the latter for a row

struct bench_options {
    enum clab_collective collectives[CLAB_COLLECTIVE_COUNT]; // in the order they were named
    int ncollectives;
    const char *algorithms; // as given: "auto", "all", or names with commas
    bool types[CLAB_TYPE_COUNT], ops[CLAB_OP_COUNT];
    int nranks, cores;                  // cores: that the ranks share
    bool joins;                         // a job that is there, which knows the cores and the backend better
    bool has_provider;                  // --provider was given
    const char *backend_name;           // as given; NULL: the job's
    const struct clab_backend *backend; // that it is; NULL: these are several
    int lanes;                          // 0: each algorithm's own
    int root;                           // or BENCH_ALL_ROOTS
    size_t first, last;                 // bytes
    bool is_short;                      // `last` is what fits this machine, and less than usual
    size_t step;                        // bytes; 0: sizes grow by `factor`
    int factor;
    enum bench_mode mode;
    bool placements[BENCH_PLACEMENTS];
    int warmup, iterations; // calls; -1: as many as are needed
    bool check;
    double budget;      // seconds a row and placement
    bool shared_memory; // buffers of clab_alloc
    const char *net, *csv, *json;
    uint64_t seed;
    char *command; // the whole line, for the manifest
};

// Ranks that share a core while they check: hundreds, in virtual time; of others only so many that it does not matter.
int bench_crowd(const struct bench_options *options);

// The options of `argv`, complete and possible on this machine as far as can be known before ranks are started.
//   errors: CLAB_EINVAL and others, with one line each; wrong syntax exits with 2
int bench_options_parse(int argc, char **argv, struct bench_options *options_p);

// ---- values.c ------------------------------------------------------------------------------------------------
// errors of all: CLAB_EINVAL, with the line

// A kind of names: how many, and each.
struct bench_names {
    int count;
    const char *(*name)(int);
};
// The number of the name that is the first `length` characters of `text`; -1 after one line that lists those there are.
int bench_find_name(struct bench_names names, const char *flag, const char *text, size_t length);
// Names with commas between them, or "all".  out: chosen (names.count)
int bench_take_list(struct bench_names names, const char *flag, const char *text, bool chosen[]);
// One of two or more words, ended by NULL: its number.
int bench_take_word(const char *flag, const char *text, const char *const words[], int *number_p);
int bench_take_int(const char *flag, const char *text, int low, int high, int *value_p);
int bench_take_size(const char *flag, const char *text, size_t *bytes_p); // above 0
int bench_take_seconds(const char *text, double *seconds_p); // with or without a unit, up to BENCH_MOST_SECONDS
int bench_take_seed(const char *text, uint64_t *seed_p);

// ---- plan.c --------------------------------------------------------------------------------------------------

enum { BENCH_NAME = 64 }; // room for an algorithm's

// One row of the table: all but what is measured.
struct bench_row {
    struct clab_problem problem;            // lanes as they are run
    const struct clab_algorithm *algorithm; // that runs; may be clab_native_algorithm (comm.h)
    bool automatic;                         // it is the library's own choice
    enum clab_type type;
    enum clab_op op;
};

// An algorithm that was asked for and can not run, and why.
struct bench_skip {
    enum clab_collective collective;
    char algorithm[BENCH_NAME];
    const char *reason;
};

struct bench_plan {
    struct bench_row *rows;
    struct bench_skip *skips;
    int nrows, nskips, row_room, skip_room;
    size_t buffer_bytes; // that each of a rank's two buffers must hold
};

//   errors: CLAB_ENOENT (an algorithm nobody has), CLAB_EINVAL (nothing to do, larger than memory), CLAB_ENOMEM
int bench_plan_make(const struct bench_options *options, struct bench_plan *plan_p);
void bench_plan_free(struct bench_plan *plan);

// ---- call.c --------------------------------------------------------------------------------------------------

bool bench_has_data(enum clab_collective collective); // a barrier has none
bool bench_has_in_place(enum clab_collective collective);

// The size of the problem as nccl-tests counts it: all blocks.
size_t bench_bytes(const struct bench_row *row);
// busbw = algbw * this: what a link must carry, whatever the number of ranks.
double bench_bus_factor(enum clab_collective collective, int nranks);

// Where a rank's data lies: in and out are parts of two buffers, or of one.
struct bench_buffers {
    char *in, *out;
};
struct bench_buffers bench_place(const struct bench_row *row, int rank, enum bench_placement placement,
                                 struct bench_buffers whole);

// One call.  errors: the collective's
int bench_call(struct clab_comm *comm, const struct bench_row *row, struct bench_buffers buffers);

// ---- data.c --------------------------------------------------------------------------------------------------

// Elements [first, first + count) of what `rank` gives, from `seed` alone.  out: (count)
void bench_data_fill(const struct clab_device *device, uint64_t seed, const struct bench_row *row, int rank,
                     size_t first, size_t count, void *out);

// Windows of 512 elements out of which `rank` looks at one, for a check to stay cheap where `crowd` ranks share a core.
// 1: every element is checked.
size_t bench_data_stride(const struct bench_row *row, int rank, int crowd);

// How many elements of `out`, of those that are looked at, are not what the collective promises to `rank`.
//   out: (clab_problem_out_blocks, count). Integers and moved data are held exactly, float sums and products within
//   bounds.
size_t bench_data_check(const struct clab_device *device, uint64_t seed, const struct bench_row *row, int rank,
                        const void *out, size_t stride);

// Likewise of `in`, which no call may have written.  in: (clab_problem_in_blocks, count)
size_t bench_data_check_input(const struct clab_device *device, uint64_t seed, const struct bench_row *row, int rank,
                              const void *in, size_t stride);

// ---- limits.c ------------------------------------------------------------------------------------------------

// What no collective can beat.
struct bench_limits {
    double copy_one, copy_all; // B/s from memory to memory: rank 0 alone; the sum of all ranks at once
    double copy_peak;          // B/s within a core's first-level cache, or a GPU's cache, of the fastest rank
    double line;               // s of a cache line from rank 0 to rank 1 and back, at best; NAN: not measured
    struct tcp_limit tcp;      // where the backend goes over TCP; else trip and rate are NAN
};

struct bench;

// Measure them, in about a second; collective. Meaningful at rank 0.  errors: CLAB_ENOMEM, CLAB_EPEER, ...
int bench_limits_measure(struct bench *bench, struct bench_limits *limits_p);

// The least seconds that a call can take; *why_p says what sets them.
double bench_limits_floor(const struct bench_limits *limits, const struct bench_row *row,
                          enum bench_placement placement, int cores, const char **why_p);

// ---- time.c --------------------------------------------------------------------------------------------------

struct bench_time {
    double seconds, low, high; // a call: median and its 95 % interval; in local mode mean, least and most over ranks
    double half_width;         // of the median's interval, as a fraction of the median
    bool noisy;                // the interval is wider than was wanted
    double by_device;      // s a call of another batch, of kernels by the device's clock at rank 0; NAN: it has none
    int calls;             // a batch
    struct clab_look look; // what was seen of the cores meanwhile (cmd/probe/latency.h); zeros: not looked at
};

// Time calls of `row` on all ranks; collective. *time_p is set at rank 0.  errors: the collective's, CLAB_ENOMEM
int bench_time_calls(struct bench *bench, const struct bench_row *row, struct bench_buffers buffers,
                     struct bench_time *time_p);

// ---- sweep.c -------------------------------------------------------------------------------------------------

// What a row's placement came to.
struct bench_result {
    bool measured; // this placement was asked for, and there is one
    struct bench_time time;
    long long wrong;     // elements over all ranks; -1: not checked
    long long sent;      // bytes by the busiest rank, a call; -1: not known
    double predicted;    // seconds; NAN: not predicted
    const char *refused; // why the time can not be; NULL: it can
    double floor;        // s, that refused it
};

// A rank's part of a bench.
struct bench {
    const struct bench_options *options;
    const struct bench_plan *plan;
    const struct clab_net *net; // NULL: no predictions
    char why[CLAB_NET_WHY];     // there are none
    struct clab_manifest *manifest;
    struct clab_machine machine; // this rank's; in a job that is there, with the cores that its ranks share
    struct clab_job *job;        // NULL: it is not there yet
    struct clab_comm *comm;      // that is measured
    struct clab_comm *alone;     // this rank's, for cmd/probe/latency.h; NULL: nobody has looked yet
    struct clab_comm *control;   // by which ranks agree: its calls are not counted as the other's
    int rank, nranks;
    uint64_t seed;
    struct bench_buffers whole; // (plan->buffer_bytes) each
    void *look_room;            // for cmd/probe/latency.h
    struct bench_limits limits;
    struct bench_result (*results)[BENCH_PLACEMENTS]; // (plan->nrows)
    double *latencies;                                // time.c's room
    int verdict;                                      // what rank 0 says of a bench that ran to its end
};

// Measure all rows, and print them as they come; collective.  errors: the collectives', CLAB_ENOMEM
int bench_sweep(struct bench *bench);

// Time row `index` once more, without checks, for the noise of a repeat; collective.
int bench_sweep_repeat(struct bench *bench, int index, enum bench_placement placement, struct bench_time *time_p);

// ---- predict.c -----------------------------------------------------------------------------------------------

// The network that predicts, or NULL where the machine has no profile that can be read, and why.
//   errors: clab_net_load's of --net
int bench_predict_open(const struct bench_options *options, char why[CLAB_NET_WHY], struct clab_net **net_p);

// A batch of calls, as it was timed.
struct bench_batch {
    enum bench_mode mode;
    enum bench_placement placement;
    int calls;
    struct clab_look look; // at the cores, meanwhile (cmd/probe/latency.h); zeros: nobody looked
};

// Seconds of a call of such a batch by the simulator on `net`; NAN if it can not say, or `net` is NULL.
double bench_predict(const struct clab_net *net, const struct bench_row *row, const struct bench_batch *batch);

// (measured - predicted) / measured
double bench_residual(const struct bench_result *result);

// How far rows are from themselves when they are measured again, as a fraction: the median over those of which both
// looks are of one placement of the cores, 12 at most. NAN: fewer than three are.  first, again: (n), the same rows
double bench_repeat_noise(const struct bench_time first[], const struct bench_time again[], int n);

// The last lines: how far predictions were off, beside how far a repeat is off; collective.
int bench_predict_report(struct bench *bench);

// ---- table.c -------------------------------------------------------------------------------------------------

// To stdout, by rank 0.
void bench_table_print_header(const struct bench *bench, const struct clab_manifest *manifest);
int bench_table_print_row(const struct bench *bench, int index);
// A line on a terminal that says what is under way; nothing where there is no terminal.
void bench_progress_show(const struct bench *bench, int index, const char *what);
void bench_progress_clear(void);

// The words for what a row has: "none" and -1 where it has none.
const char *bench_type_name(const struct bench_row *row);
const char *bench_op_name(const struct bench_row *row);
int bench_root(const struct bench_row *row);

// ---- files.c -------------------------------------------------------------------------------------------------

// What a reader must know, as far as it is known before there are ranks; then what they measured.  errors: CLAB_ENOMEM
int bench_manifest_make(const struct bench *bench, struct clab_manifest *manifest_p);
int bench_manifest_add_limits(const struct bench *bench, struct clab_manifest *manifest);

// Of the files.
extern const struct clab_column bench_columns[];
extern const int bench_ncolumns;

// The files that were asked for: a row a placement.  errors: CLAB_EIO, CLAB_ENOMEM
int bench_files_write(const struct bench *bench, const struct clab_manifest *manifest);

// ---- several.c -----------------------------------------------------------------------------------------------

// Bench each of the backends that `options` names with commas, and put them into one table.
//   argv: as bench was called
//   errors: CLAB_EUNSUPPORTED (this machine has none of them), CLAB_EINVAL, CLAB_EPEER (a job failed), CLAB_EIO, ...
int bench_several(const struct bench_options *options, int argc, char **argv);
