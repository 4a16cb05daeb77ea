// SPDX-License-Identifier: MIT
// A lab run: two programs, a description, predictions, pairs of measurements, a table and a figure.
//
// - lab.c          the subcommand: options, order of events.
// - request.c      the command line.
// - find.c         which labs there are.
// - conf.c         lab.conf, checked.
// - net.c          the network that predicts.
// - run.c          starts a lab's programs and collects what they report.
// - model.c        predicts what they will report, by the lab's model; labs/01-reinit-comm/model.c and labs/02-no-overlap/model.c are not short.
// - step.h         a step of the training job on paper; labs/03-dataparallel/model.c and labs/08-buckets/model.c are its models.
// - oversubscription.c predicts times where more ranks than cores share them.
// - analytic_replay.c ranks' clocks through a program's calls; exact.c: those of labs 01 and 07, in virtual time.
// - latency.c      how far apart the cores are, meanwhile.
// - table.c        pairs, ratios, residuals; the screen's table and the CSV file.
#pragma once

#include <stdbool.h>
#include <stdio.h>

#include "core/base/manifest.h"
#include "sim/sim.h"

struct lab_conf;
struct lab_words;

// ---- request.c -----------------------------------------------------------------------------------------------

struct lab_request {
    const char *lab, *backend;
    const char *net;     // NULL: the machine's profile, if there is one; in virtual time, the default
    const char *emulate; // the network whose wire is put between the ranks; NULL: none
    const char *options, *sizes, *iterations; // NULL: lab.conf's
    const char *results;                      // folder; NULL: results/ of the kit
    int ranks, pairs;                         // 0: lab.conf's
    bool no_sweep, no_plot;
    char *command; // the whole line, for the manifest; for the caller to free; NULL: no memory
};

// The command line; what is wrong with it ends the program with STATUS_USAGE.
void lab_request_parse(int argc, char **argv, struct lab_request *request_p);

// Whether `conf` runs on the backend that is asked for (the lab's first unless told); the line says on which it does.
//   out:    *backend_p, one of conf->backends
//   errors: CLAB_EINVAL
int lab_request_backend(const struct lab_request *request, const struct lab_conf *conf, const char **backend_p);

// Whether `backend` works on this machine, if it is a plugin: tried by a job of one rank.
//   errors: the backend's, CLAB_EUNSUPPORTED (a double for tests: nothing is measured on it), CLAB_ESYS
int lab_attach(const char *backend);

// The backend that before runs on, if after's is `backend`: by conf->before_backends.
//   out:    *before_p, `backend` or one of conf->before_backends
//   errors: CLAB_EUNSUPPORTED (this build has none of them; logged)
int lab_request_before(const struct lab_conf *conf, const char *backend, const char **before_p);

// What the command line says goes before what lab.conf says.
//   errors: CLAB_EINVAL (the lab has no such list, ...; logged), CLAB_ENOMEM
int lab_request_apply(const struct lab_request *request, struct lab_conf *conf);

// ---- find.c --------------------------------------------------------------------------------------------------

// The folders of the labs that `id` means: "07", "7" or a whole name is one, "all" are all. Freed by lab_words_free.
//   errors: CLAB_ENOENT, with a line that lists the labs there are (also when `id` is NULL), CLAB_ENOMEM
int lab_select(const char *root, const char *id, struct lab_words *folders);

// ---- conf.c --------------------------------------------------------------------------------------------------

enum lab_program { LAB_BEFORE, LAB_AFTER };

enum { LAB_MAX_WORDS = 32, LAB_MAX_QUANTITIES = 16, LAB_MAX_OVERRIDES = 32 };

// Words of one setting, in order: "8 64 512".
struct lab_words {
    char *words[LAB_MAX_WORDS];
    int count;
};

// What a lab measures: `name` is what comes before the first '/' of a reported quantity.
struct lab_quantity {
    char *name, *unit;
    double tolerance; // percent by which a prediction may be off; NAN: it is not predicted
    bool equal;       // before and after report the same value, or one of them is wrong
    double apart;     // percent by which they may differ all the same, where sums have another order
};

struct lab_model;

// A setting of [lab VARIANT]: it goes before that of [lab] on the backend of that name, or if VARIANT is "emulate",
// over an emulated wire.
struct lab_override {
    char *variant, *name, *value;
};

struct lab_conf {
    char *folder;              // "07-ring-vs-tree"
    char *id, *title;          // "07"
    char *headline;            // what the row `ratio` compares: the last quantity that begins so
    struct lab_words backends; // that it runs on
    int ranks, pairs;
    struct lab_words options, sizes, iterations; // the programs' arguments, in this order
    struct lab_words sweep; // other numbers of ranks, with `sweep_iterations` in place of `iterations`
    struct lab_words sweep_iterations;
    int sweep_pairs;
    struct lab_words
        before_backends; // before runs on the first of these that there is, and that is not after's; none: on after's
    char *before_net;    // NULL; or before runs on after's backend, but with this network (sim, emulate)
    char *not_measured;  // what the lab would compare, too, and why it can not; NULL: nothing
    char *probe_program; // "before", "after" or "both"; NULL: before
    struct lab_words probe_ranks; // of short runs of it that feed the model, with `probe_iterations`; none: no probe
    struct lab_words probe_iterations;
    const struct lab_model *model;
    struct lab_quantity quantities[LAB_MAX_QUANTITIES];
    int nquantities;
    struct lab_override overrides[LAB_MAX_OVERRIDES];
    int noverrides;
};

// Set *words to the words of `text` between any of `separators`.
//   errors: CLAB_ENOMEM, CLAB_EINVAL (more than 32)
int lab_words_split(const char *text, const char *separators, struct lab_words *words);
void lab_words_free(struct lab_words *words);

// Read labs/FOLDER/lab.conf below `root`.  errors: CLAB_ENOENT, CLAB_EPARSE, CLAB_ENOMEM, CLAB_EUNSUPPORTED
int lab_conf_load(const char *root, const char *folder, struct lab_conf *conf_p);
// The same from a file that is open, and stays so; `path` is what lines that refuse call it. It has no folder yet.
int lab_conf_read(FILE *file, const char *path, struct lab_conf *conf_p);
void lab_conf_free(struct lab_conf *conf);

bool lab_conf_probes(const struct lab_conf *conf, enum lab_program program);

// Let the settings of [lab VARIANT] go before those of [lab].  errors: CLAB_ENOMEM
int lab_conf_use(struct lab_conf *conf, const char *variant);

// What lab.conf says of the reported `quantity` ("time/ring/8": of "time"), or NULL.
const struct lab_quantity *lab_conf_quantity(const struct lab_conf *conf, const char *quantity);

// ---- net.c ---------------------------------------------------------------------------------------------------

struct lab_nets {
    struct clab_net *net;     // NULL: there is none, and times are not predicted
    struct clab_net *machine; // with --emulate: this machine without the wire; NULL: not known, or no wire
    const char *name;         // for file names: the network's, "machine", or "none"
    char why[CLAB_NET_WHY];   // there is none
};

// The network that predicts a run on `backend`; in virtual time also the one that is simulated (CLAB_NET is set).
//   errors: CLAB_ENOENT, CLAB_EPARSE (logged), CLAB_ENOMEM
int lab_nets_load(const struct lab_request *request, const char *backend, bool is_virtual, struct lab_nets *nets);
void lab_nets_free(struct lab_nets *nets);

// ---- run.c ---------------------------------------------------------------------------------------------------

extern const char *const lab_program_names[2];

// One quantity of one program at one number of ranks: a sample per run of the program.
struct lab_series {
    enum lab_program program;
    int ranks;
    char quantity[64], unit[16];
    double *samples;
    int n, room;
};

struct lab_results {
    struct lab_series *series;
    int count, room;
};

// A way to run a lab's programs. Their output goes to `log`, which a failure leaves for the reader.
struct lab_setting {
    const char *build, *backend; // build: where the labs' programs are
    const char *emulate;         // a network; NULL: none
    const char *before_backend;  // before's, which may be the same
    bool is_virtual;             // the backends' time
    const struct lab_conf *conf;
    const char *log;
};

// Run `program` once with `ranks`, the lab's options and sizes, and `iterations`; add what it reports to *results.
//   errors: CLAB_ENOENT (not built), CLAB_ESYS, CLAB_EIO, CLAB_EPARSE, CLAB_ENOMEM, CLAB_EWRONG (it failed: it, or its
//           launcher, has said why), CLAB_EPEER (a signal has ended it, and is to end us)
int lab_run(const struct lab_setting *setting, enum lab_program program, int ranks, const struct lab_words *iterations,
            struct lab_results *results);
void lab_results_free(struct lab_results *results);

// Add the rows that a program has written to `file`; `path` is what lines that refuse them call it.
//   errors: CLAB_EPARSE, CLAB_EIO, CLAB_ENOMEM
int lab_rows_read(FILE *file, const char *path, enum lab_program program, int ranks, struct lab_results *results);

// Add one more sample to the series of that program, number of ranks and quantity.  errors: CLAB_ENOMEM
int lab_results_add(struct lab_results *results, const struct lab_series *key, double sample);

// The series, or NULL.
const struct lab_series *lab_results_find(const struct lab_results *results, enum lab_program program, int ranks,
                                          const char *quantity);
double lab_series_median(const struct lab_series *series);

// ---- model.c -------------------------------------------------------------------------------------------------

struct lab_context {
    const struct lab_conf *conf;
    const struct clab_net *net;        // NULL: none was given; what needs one is not predicted
    const struct clab_net *before_net; // before's, where conf->before_net names one; else NULL
    const char *before_backend;        // that before runs on
    const struct clab_net *machine;    // where a wire is emulated: what hides behind it; else NULL
    const struct lab_results *probe;   // what probes reported, and `line` (latency.c) between runs
    int ranks, cores;                  // of the run; the sweep has other ranks
    bool is_virtual;                   // time is the network's, and exact
    bool is_emulated;                  // `net` is a wire on top of a backend of this machine
};

struct lab_model {
    const char *name;
    // What `program` will report for `quantity` with `ranks`; NAN if the model says nothing.
    double (*predict)(const struct lab_context *context, enum lab_program program, int ranks, const char *quantity);
};

const struct lab_model *lab_model_find(const char *name); // or NULL
// Whether a rank of its before has a buffer of the run's size for each other rank.
bool lab_model_is_by_hand(const struct lab_model *model);

// Seconds of an allreduce of float32 by `algorithm`, in an after program; NAN without a network. It is the simulator's,
// or where ranks share the cores of one machine oversubscription.c's; over an emulated wire the longer one of the wire's and
// of the machine's without it.
double lab_predict_allreduce(const struct lab_context *context, int ranks, const char *algorithm, size_t bytes);

// ---- latency.c -----------------------------------------------------------------------------------------------

// Measure it, and add it to *results as quantity `line` of that program and number of ranks. With one thread only: it
// forks.
//   errors: the launcher's, CLAB_EWRONG (a rank failed, and has said why), CLAB_ENOMEM
int lab_line_measure(const char *backend, enum lab_program program, int ranks, struct lab_results *results);

// What it was at the median before runs of `program`: half a round trip of 8 bytes between two ranks, in seconds; 0:
// not known.
double lab_line(const struct lab_results *results, enum lab_program program, int ranks);

// ---- oversubscription.c --------------------------------------------------------------------------------------

// What a schedule does in one call of float32, in bytes.
struct lab_counts {
    double messages, bytes_sent, stages; // of the busiest rank
    double copied, reduced[2];           // by all ranks together; reduced: inputs, and what has just been written
};
struct lab_counts lab_count(const struct clab_problem *problem, const struct clab_algorithm *algorithm);

// Whether the network is this machine's profile, and `ranks` are more than it has cores.
bool lab_crowded(const struct lab_context *context, int ranks);

// Seconds of `problem` in an after program where ranks are crowded, and of the exchange by hand of a before program.
double lab_crowd_predict(const struct lab_context *context, const struct clab_problem *problem,
                         const struct clab_algorithm *algorithm);
double lab_crowd_predict_by_hand(const struct lab_context *context, int ranks, size_t bytes);

// ---- analytic_replay.c ---------------------------------------------------------------------------------------

// The clocks of all ranks of a program, as backend sim has them (backends/model/clock.h), without the program.
struct lab_walk {
    const struct clab_net *net;
    int nranks;
    struct clab_clock *clocks; // (nranks)
    double *delays, *ends;     // (nranks) s
    int *members;              // (nranks) 0, 1, ...
};

// All clocks are at 0.  errors: CLAB_ENOMEM
int lab_walk_begin(const struct clab_net *net, int nranks, struct lab_walk *walk_p);
void lab_walk_free(struct lab_walk *walk);
double lab_walk_now(const struct lab_walk *walk, int rank);      // s
void lab_walk_note(const struct lab_walk *walk, double times[]); // (nranks) s: every clock
// A rank computes for so long.
void lab_walk_work(struct lab_walk *walk, int rank, double seconds);

// All call a collective, by the algorithm of that name, or NULL: by the library's choice, and wait for it.
//   errors: CLAB_ENOENT (no such algorithm, or not for so many ranks), the simulator's
int lab_walk_call(struct lab_walk *walk, enum clab_collective collective, const char *name, size_t count,
                  enum clab_type type);
int lab_walk_barrier(struct lab_walk *walk);
// All call the monitored barrier, in time: message by message, as core/comm/monitor.c has them.  errors: CLAB_ENOMEM
int lab_walk_monitored_barrier(struct lab_walk *walk);
// All make a communicator of all: they find each other; then they connect.
void lab_walk_rendezvous(struct lab_walk *walk);
void lab_walk_connect(struct lab_walk *walk);
// Each starts to send `bytes` to each other, its right neighbour first, waits for theirs in the same order, touches so
// many bytes of its memory after each, and then waits for its own.
//   errors: CLAB_ENOMEM, clab_net_compute's
int lab_walk_exchange(struct lab_walk *walk, size_t bytes, double touched);

// ---- exact.c -------------------------------------------------------------------------------------------------

// Seconds of an allreduce of float32 in virtual time, as lab 07 times it; `algorithm` NULL: its before's, by hand. NAN:
// it can not be priced.
double lab_exact_allreduce(const struct clab_net *net, int ranks, const char *algorithm, size_t bytes);

// What the slowest rank spends on an iteration of lab 01's loop of ks[n - 1], in s; and on each phase of it. ks: (n)
// the loops that the program is told to run up to then.
enum lab_phase { LAB_RENDEZVOUS, LAB_CONNECT, LAB_FIRST_OP, LAB_OP, LAB_PHASES };
struct lab_loop {
    double iteration, phases[LAB_PHASES];
};
//   errors: CLAB_ENOMEM, the simulator's
int lab_exact_loop(const struct clab_net *net, enum lab_program program, int ranks, const int ks[], int n, size_t bytes,
                   struct lab_loop *loop_p);

// ---- table.c -------------------------------------------------------------------------------------------------

// The series of the before program that `after` is compared with: of the same quantity, or, where the programs' middle
// words differ (time/by_hand/8, time/ring/8), of the same first and last one. NULL: there is none.
const struct lab_series *lab_counterpart(const struct lab_results *results, const struct lab_series *after);

// Whether before and after agree on all that must be equal.  errors: CLAB_EWRONG, with the line that says where
int lab_check_equal(const struct lab_conf *conf, const struct lab_results *results);

// Print the table for people.  errors: CLAB_ENOMEM
int lab_table_print(const struct lab_context *context, const struct lab_results *results);
// Write it for programs.  errors: CLAB_EIO, CLAB_ENOMEM
int lab_table_write(const struct lab_context *context, const struct lab_results *results, const char *backend,
                    const char *net, const struct clab_manifest *manifest, const char *path);
