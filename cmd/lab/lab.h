// SPDX-License-Identifier: MIT
// A lab run: two programs, a description, predictions, pairs of measurements, a table and a figure.
//
// - lab.c               the subcommand: which labs, one after another.
// - session.c           one lab: the order of events.
// - request.c           the command line.
// - find.c              which labs there are.
// - conf.c              lab.conf, checked.
// - net.c               the network that predicts.
// - attach.c            whether a plugin's backend works here.
// - run.c               starts a lab's programs and collects what they report.
// - model.c             what the labs' models share; labs/NN-name/model.c is a lab's own.
// - step.h              a step of the training job on paper, for the models of labs 03 and 08.
// - oversubscription.c  predicts times where ranks share cores.
// - latency.c           the latency probe: how far apart the cores are meanwhile.
// - table.c             pairs, ratios, residuals; the screen's table and the CSV file.
#pragma once

#include <stdbool.h>
#include <stdio.h>

#include "core/base/files/manifest.h"
#include "core/comm/progress.h"
#include "core/transport/backend.h"
#include "sim/sim.h"

struct lab_conf;
struct lab_words;

// ---- request.c -----------------------------------------------------------------------------------------------

struct lab_request {
    const char *lab, *backend;
    const char *net;     // NULL: the machine's profile, if there is one; with an exact clock, the default
    const char *emulate; // the network whose wire is put between the ranks; NULL: lab.conf's, if there is one, or none
    const char *options, *sizes, *iterations; // NULL: lab.conf's
    const char *results;                      // folder; NULL: results/ of the kit
    int ranks, pairs;                         // 0: lab.conf's
    bool no_wire;                             // --emulate none: not lab.conf's either
    bool no_sweep, no_plot;
    char *command; // the whole line, for the manifest; for the caller to free; NULL: no memory
};

// The command line; what is wrong with it ends the program with STATUS_USAGE.
void lab_request_parse(int argc, char **argv, struct lab_request *request_p);

// Whether it asks for other work than lab.conf's, of which no student has predicted anything.
bool lab_request_is_other(const struct lab_request *request);

// Where no network is asked for, emulate lab.conf's; not on a backend that has its own (sim), or moves a device's memory
// (nccl).  returns: whether it does now
bool lab_request_usual_wire(struct lab_request *request, const struct lab_conf *conf,
                            const struct clab_backend *backend);

// Where virtual time is of no network that is asked for, by --net or CLAB_NET, let it be of lab.conf's.
void lab_request_usual_net(struct lab_request *request, const struct lab_conf *conf, const struct clab_backend *backend);

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

// ---- session.c -----------------------------------------------------------------------------------------------

// Run the lab of labs/FOLDER below `root`, with the programs of `build`: from its lab.conf to its table and figure.
//   errors: CLAB_EINVAL, CLAB_ENOENT, CLAB_EPARSE, CLAB_EUNSUPPORTED, CLAB_ENOMEM, CLAB_EIO, and lab_run's
int lab_session(const struct lab_request *request, const char *root, const char *build, const char *folder);

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
    double most;      // no value is above it; INFINITY: not said
    bool is_message;  // a time in which at least one message arrives; a name that ends in bytes: so many
};

struct lab_model;

// A setting of [lab VARIANT]: it goes before that of [lab] on the backend of that name, or if VARIANT is "emulate",
// over a delayed wire.
struct lab_override {
    char *variant, *name, *value;
};

struct lab_conf {
    char *folder;              // "07-ring-vs-tree"
    char *id, *title;          // "07"
    char *headline;            // what the row `ratio` compares: the last quantity that begins so
    struct lab_words backends; // that it runs on
    int ranks, least_ranks, pairs; // least_ranks: fewer show nothing; 0: any number does
    struct lab_words options, sizes, iterations; // the programs' arguments, in this order
    struct lab_words sweep; // other numbers of ranks, with `sweep_iterations` in place of `iterations`
    struct lab_words sweep_iterations;
    int sweep_pairs;
    struct lab_words
        before_backends; // before runs on the first of these that there is, and that is not after's; none: on after's
    char *before_net;    // NULL; or before runs on after's backend, but with this network (sim, emulate)
    char *emulate;       // the wire between the ranks where none is asked for: there the lesson shows; NULL: none
    char *net;           // that virtual time is of where none is asked for; NULL: the backend's usual one
    char *plain_why;     // without that wire: why the effect is small; NULL: there is nothing to say
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

// The network that predicts a run on `backend`; with an exact clock also the one that is simulated (CLAB_NET is set).
//   errors: CLAB_ENOENT, CLAB_EPARSE (logged), CLAB_ENOMEM
int lab_nets_load(const struct lab_request *request, const struct clab_backend *backend, struct lab_nets *nets);
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
    bool is_exact;               // the backends' time (core/transport/backend.h)
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
    const struct clab_net *net;        // NULL: there is none; what needs one is not predicted
    const struct clab_net *before_net; // before's, where conf->before_net names one; else NULL
    const char *before_backend;        // that before runs on
    const struct clab_net *machine;    // over a delayed wire: this machine without it; else NULL
    const struct lab_results *probe;   // what the short runs reported, and the latency probe between runs
    int ranks, cores;                  // of the run; the sweep has other ranks
    bool is_exact;                     // the time of the backends is that of `net`
    bool is_delayed;                   // messages of this machine's backend take as long as `net` says
    bool has_nap;                      // after's backend lets a thread make progress (core/comm/progress.h)
};

// What moves after's messages on while it computes with `ranks`; *why_p (or NULL): in words.
enum clab_progress_kind lab_progress(const struct lab_context *context, int ranks, const char **why_p);

// A lab's model.c defines one, by the name that the build gives it:
//   const struct lab_model LAB_MODEL = {.predict = predict};
struct lab_model {
    // What `program` will report for `quantity` with `ranks`; NAN if the model does not predict it.
    double (*predict)(const struct lab_context *context, enum lab_program program, int ranks, const char *quantity);
    bool has_buffer_per_peer; // each rank of before has a buffer of the run's size for each other rank
};

// That of labs/FOLDER/model.c, or NULL: this build has none.
const struct lab_model *lab_model_find(const char *folder);

// `bytes` of float32 in the algorithm's own number of lanes.
struct clab_problem lab_problem(const struct clab_algorithm *algorithm, int ranks, size_t bytes);

// Seconds of float32 on `net`; NAN: the simulator can not price it.
double lab_simulate(const struct clab_net *net, const struct clab_problem *problem,
                    const struct clab_algorithm *algorithm, struct clab_sim_options how);

// As the labs' programs time calls: many in a row, one with an exact clock.
struct clab_sim_options lab_calls(const struct lab_context *context);

// Seconds of a collective of float32 in an after program; bytes: of a rank's block. The simulator says it, or where
// ranks share cores oversubscription.c. Over a delayed wire it is the longer one of that and of this machine
// without it. NAN: there is no network, no such algorithm, or not for so many ranks.
double lab_predict(const struct lab_context *context, int ranks, enum clab_collective collective, const char *algorithm,
                   size_t bytes, struct clab_sim_options how);
double lab_predict_allreduce(const struct lab_context *context, int ranks, const char *algorithm, size_t bytes);

// What a message costs in closed forms: the machine card's numbers. Of a described network, the link's. A profile of this
// machine has other costs in each cache and for each size: there it is the line through 8 B and 1 MiB of what the simulator
// says two ranks take that exchange, call after call, as lab_calls has it.
struct lab_line {
    double alpha, beta; // s, s/B
};
struct lab_line lab_line_of(const struct clab_net *net, const struct clab_link *link);

// Seconds of a message: alpha + bytes * beta of the line of the link between the two ranks.
double lab_predict_message(const struct clab_net *net, int from, int to, size_t bytes);

// Rank 0 sends a message to each other rank, in order of their numbers. Those within its node and those to other nodes
// go at the same time, each kind one after another.
//   done:    (ranks) s, until each has its message; 0 for rank 0
//   returns: s, until all have theirs
double lab_predict_fan(const struct clab_net *net, int ranks, size_t bytes, double done[]);

// ---- latency.c -----------------------------------------------------------------------------------------------

// Probe the latency between two cores, and add it to *results as the quantity `latency` of that program and number of
// ranks. It forks, so the caller has one thread only.
//   errors: the launcher's, CLAB_EWRONG (a rank failed, and has said why), CLAB_ENOMEM
int lab_latency_probe(const char *backend, enum lab_program program, int ranks, struct lab_results *results);

// The median of what was probed before runs of `program`: half a round trip of 8 bytes between two ranks, in seconds;
// 0: not known.
double lab_latency(const struct lab_results *results, enum lab_program program, int ranks);

// ---- oversubscription.c --------------------------------------------------------------------------------------

// What a schedule does in one call of float32, in bytes.
struct lab_counts {
    double messages, bytes_sent, stages; // of the busiest rank
    double copied, reduced[2];           // by all ranks together; reduced: inputs, and what has just been written
};
struct lab_counts lab_count(const struct clab_problem *problem, const struct clab_algorithm *algorithm);

// Whether the network is this machine's profile, and `ranks` are more than it has cores.
bool lab_oversubscribed(const struct lab_context *context, int ranks);

// Seconds of `problem` in an after program where ranks share cores, and of the exchange by hand of a before program.
double lab_oversubscribed_predict(const struct lab_context *context, const struct clab_problem *problem,
                                  const struct clab_algorithm *algorithm);
double lab_oversubscribed_by_hand(const struct lab_context *context, int ranks, size_t bytes);

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
