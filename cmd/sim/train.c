// SPDX-License-Identifier: MIT
// commlab sim train: predict the time of a step of data parallel training on a described network.

#include "cmd/sim/train.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/err.h"
#include "core/base/log.h"
#include "cmd/command.h"
#include "cmd/kit/kit.h"
#include "sim/sim.h"

// Reads and writes of 4 B each: w and g, then w; with a momentum m, also m twice; Adam's v likewise.
static const struct {
    const char *name;
    int bytes;
} optimizers[] = {{"sgd", 12}, {"momentum", 20}, {"adam", 28}};

const char *train_optimizer_name(enum train_optimizer optimizer)
{
    return optimizers[optimizer].name;
}

int train_optimizer_bytes(enum train_optimizer optimizer)
{
    return optimizers[optimizer].bytes;
}

// ---- the answers ---------------------------------------------------------------------------------------------

// Seconds per flop: measured, or by the processor's rate.
static int flop_seconds(const struct train_request *r, double *seconds_p)
{
    double peak;
    if (r->compute > 0) {
        *seconds_p = r->compute / (3 * clab_model_flop(r->model) * r->batch);
        return CLAB_OK;
    }
    if (!r->net->compute.present) {
        clab_error(
            "network '%s' does not state its processor's speed: give --compute TIME, or its file a section [compute]",
            r->net->name);
        return CLAB_EINVAL;
    }
    CLAB_TRY(clab_net_compute(r->net, r->precision, 1, 0, &peak));
    *seconds_p = peak / r->efficiency;
    return CLAB_OK;
}

int train_answer(const struct train_request *r, struct train_row *row)
{
    const size_t mebibyte = (size_t)1 << 20;
    const size_t first = r->first_bucket ? r->first_bucket : row->cap < mebibyte ? row->cap : mebibyte;
    struct clab_train_setting setting = {.batch = r->batch,
                                         .element_bytes = clab_type_bytes(r->type),
                                         .cap = row->cap,
                                         .first_cap = first,
                                         .codec_rank = row->coding->rank};
    CLAB_TRY(flop_seconds(r, &setting.flop_seconds));
    CLAB_TRY(clab_train_plan_make(r->model, &setting, &row->plan));
    struct clab_train train = r->train;
    train.net = r->net;
    train.nranks = row->nranks;
    train.element_bytes = setting.element_bytes;
    train.buckets = row->plan.buckets;
    train.nbuckets = row->plan.nbuckets;
    train.compute = row->plan.compute;
    train.memory = r->net->compute.memory;
    train.update = (double)clab_model_parameters(r->model) * train_optimizer_bytes(r->optimizer) * train.memory;
    train.overlap = row->overlap;
    train.codec = row->coding->codec;
    train.codec_rank = row->coding->rank;
    return clab_train_run(&train, &row->result);
}

// Whether the stragglers are among `nranks` ranks, and the network has room for all ranks.
static int check_ranks(const struct train_request *r, int nranks)
{
    for (int i = 0; i < r->train.nstragglers; i++)
        if (r->stragglers[i].rank >= nranks) {
            clab_error("--straggler %d: there is no such rank among %d ranks", r->stragglers[i].rank, nranks);
            return CLAB_EINVAL;
        }
    return clab_net_check_ranks(r->net, nranks);
}

static int answer_all(const struct train_request *r, struct train_rows *rows)
{
    for (int i = 0; i < r->ranks.n; i++)
        CLAB_TRY(check_ranks(r, (int)r->ranks.values[i]));
    rows->rows = calloc((size_t)(r->ranks.n * r->buckets.n * r->ncodings) * CLAB_TRAIN_OVERLAPS, sizeof *rows->rows);
    if (!rows->rows)
        return CLAB_ENOMEM;
    for (int c = 0; c < r->ncodings; c++)
        for (int o = 0; o < CLAB_TRAIN_OVERLAPS; o++)
            for (int b = 0; b < r->buckets.n && r->overlaps[o]; b++)
                for (int i = 0; i < r->ranks.n; i++) {
                    struct train_row *row = &rows->rows[rows->n++];
                    *row = (struct train_row){.nranks = (int)r->ranks.values[i],
                                              .cap = r->buckets.values[b],
                                              .overlap = (enum clab_train_overlap)o,
                                              .coding = &r->codings[c]};
                    CLAB_TRY(train_answer(r, row));
                }
    return CLAB_OK;
}

// ---- the figure ----------------------------------------------------------------------------------------------

static int draw(const struct train_request *r, const char *csv)
{
    char *root, *figure;
    CLAB_TRY(kit_root(&root));
    int err = kit_figure_path(r->plot, &figure);
    if (!err) {
        err = kit_plot(root, "plots/train.gp", csv, figure);
        if (!err && !r->json)
            printf("figure: %s.svg\n", kit_relative(figure));
        free(figure);
    }
    free(root);
    return err;
}

// The CSV where the user wants it or, for the figure alone, beside the figure.
static int write_files(const struct train_request *r, const struct train_rows *rows)
{
    char *csv = NULL, *figure = NULL;
    if (!r->csv && !r->plot)
        return CLAB_OK;
    if (r->csv)
        csv = strdup(r->csv);
    else if (kit_figure_path(r->plot, &figure) == CLAB_OK && asprintf(&csv, "%s.csv", figure) < 0)
        csv = NULL;
    free(figure);
    int err = csv ? train_write_csv(r, rows, csv) : CLAB_ENOMEM;
    if (!err && r->plot)
        err = draw(r, csv);
    free(csv);
    return err;
}

static int load(struct train_request *r)
{
    CLAB_TRY(clab_model_load(r->model_name, &r->model));
    r->batch = r->batch ? r->batch : r->model->batch;
    return clab_net_load(r->net_name, &r->net);
}

static void rows_free(struct train_rows *rows)
{
    for (int i = 0; i < rows->n; i++) {
        clab_train_plan_free(&rows->rows[i].plan);
        clab_train_free(&rows->rows[i].result);
    }
    free(rows->rows);
}

int sim_train(int argc, char **argv)
{
    struct train_request r;
    struct train_rows rows = {0};
    int err = train_options_parse(argc, argv, &r);
    if (!err)
        err = load(&r);
    if (!err)
        err = answer_all(&r, &rows);
    if (!err)
        err = r.json ? train_print_json(&r, &rows) : train_print(&r, &rows);
    if (!err && r.break_even)
        err = train_break_even(&r, &rows);
    if (!err)
        err = write_files(&r, &rows);
    rows_free(&rows);
    free(r.ranks.values);
    free(r.buckets.values);
    free(r.command);
    clab_model_free(r.model);
    clab_net_free(r.net);
    return command_status(err);
}
