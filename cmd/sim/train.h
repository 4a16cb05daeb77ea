// SPDX-License-Identifier: MIT
// commlab sim train: steps of data parallel training on a described network.
//
// - train.c              the command: questions, answers, the figure.
// - train_options.c      the command line.
// - train_break_even.c   below which bandwidth compression pays.
// - train_print.c        the printed answer, the CSV and JSON.
#pragma once

#include "core/base/files/manifest.h"
#include "sim/net/net.h"
#include "cmd/sim/commands.h"
#include "sim/train/model.h"

enum { TRAIN_CODINGS = 8 };

struct train_coding {
    enum clab_train_codec codec;
    int rank;      // of PowerSGD
    char name[24]; // "powersgd:4"
};

enum train_optimizer { TRAIN_SGD, TRAIN_MOMENTUM, TRAIN_ADAM, TRAIN_OPTIMIZERS };
const char *train_optimizer_name(enum train_optimizer optimizer);
// Bytes of memory per parameter that an update reads and writes.
int train_optimizer_bytes(enum train_optimizer optimizer);

struct train_request {
    const char *model_name, *net_name, *ranks_text, *buckets_text, *jitter, *csv, *plot;
    int factor;
    struct sim_list ranks, buckets;
    size_t first_bucket;
    bool overlaps[CLAB_TRAIN_OVERLAPS];
    struct train_coding codings[TRAIN_CODINGS];
    int ncodings;
    int batch;         // 0: the model's
    double compute;    // s per micro step; 0: by flop and rate
    double efficiency; // of the processor's peak
    enum clab_precision precision;
    enum clab_type type; // of gradients
    enum train_optimizer optimizer;
    struct clab_train train; // the part that all questions share
    struct clab_train_straggler stragglers[64];
    bool json, timeline, break_even;
    char *command;
    struct clab_net *net;
    struct clab_model *model;
};

// A question and its answer.
struct train_row {
    int nranks;
    size_t cap;
    enum clab_train_overlap overlap;
    const struct train_coding *coding;
    struct clab_train_plan plan;
    struct clab_train_result result;
};

struct train_rows {
    struct train_row *rows; // (n)
    int n;
};

// ---- train.c -------------------------------------------------------------------------------------------------

// The answer to a row's question.  errors: CLAB_EINVAL (logged), CLAB_ENOMEM, of clab_sim_run
int train_answer(const struct train_request *request, struct train_row *row);

// ---- train_break_even.c --------------------------------------------------------------------------------------

// Print for each row with compression below which bandwidth it pays.  errors: as train_answer
int train_break_even(const struct train_request *request, const struct train_rows *rows);

// ---- train_options.c -----------------------------------------------------------------------------------------

//   errors: CLAB_EINVAL (logged), CLAB_ENOMEM; wrong syntax exits with 2
int train_options_parse(int argc, char **argv, struct train_request *request_p);

// ---- train_print.c -------------------------------------------------------------------------------------------

// errors of all: CLAB_ENOMEM, CLAB_EIO, CLAB_EUNSUPPORTED
int train_print(const struct train_request *request, const struct train_rows *rows);
int train_print_json(const struct train_request *request, const struct train_rows *rows);
int train_write_csv(const struct train_request *request, const struct train_rows *rows, const char *path);
