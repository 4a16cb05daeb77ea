// SPDX-License-Identifier: MIT
// commlab sim links: what links carry, and how long an exchange of gradients takes on each.
//
// - sim/nets/links.csv has the links: their line rates of one direction, in gigabits per second. All else is computed.
// - An exchange is an allreduce whose ranks each send 2 (P - 1)/P of the gradients, at the rate of one direction: the
//   least that the link allows. Headers, latency and computing come on top.

#include "cmd/sim/commands.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/files/csv.h"
#include "core/base/err.h"
#include "core/base/options.h"
#include "core/base/files/output.h"
#include "core/base/files/table.h"
#include "core/base/type.h"
#include "cmd/command.h"
#include "sim/net/net.h"
#include "sim/train/model.h"

static const char doc[] =
    "List what links carry, in gigabits and in gigabytes per second, in one direction and in both; and how long an "
    "allreduce of a model's gradients takes at least.\v"
    "1 GB/s = 8 Gb/s. A link with two directions carries twice its rate if both are busy; a ring sends and receives at "
    "the rate of one. Time = 2 (P - 1)/P * bytes of the gradients / rate of one direction. A row `all adapters` has the "
    "adapters of one host together: P ranks are then P hosts.\n\n"
    "sim/nets/links.csv has the rates and their sources; sim/models has the models.";

enum { FIXED = 5, MODELS = 5, COLUMNS = FIXED + MODELS, WIDTH = 12 };
static const char *const usual_models[MODELS] = {"resnet50", "gpt2-small", "bert-large", "gpt2-xl", "llama-7b"};

struct links {
    int ranks;
    enum clab_type type;
    const char *csv;
    struct clab_csv data;
    char headings[MODELS][CLAB_MODEL_NAME];
    double bytes[MODELS]; // of the gradients
    struct clab_column columns[COLUMNS];
    struct clab_table table;
};

static const struct clab_option options[] = {
    {"ranks", 'r', "P", "ranks, each with this link (8)", CLAB_INT(struct links, ranks, 2, 1 << 24)},
    {"type", 0, "NAME", "type of a gradient: float, f16, bf16 (float)", CLAB_NAME(struct links, type, &clab_type_names)},
    {"csv", 0, "FILE", "write the table to FILE, in s and B/s", CLAB_TEXT_AT(struct links, csv)},
    {0},
};

static int load_links(struct links *l)
{
    char path[PATH_MAX], *folder;
    CLAB_TRY(clab_net_folder(&folder));
    const int length = snprintf(path, sizeof path, "%s/links.csv", folder);
    free(folder);
    return length < (int)sizeof path ? clab_csv_load(path, &l->data) : CLAB_ENOENT;
}

static int load_models(struct links *l)
{
    for (int i = 0; i < MODELS; i++) {
        struct clab_model *model;
        CLAB_TRY(clab_model_load(usual_models[i], &model));
        l->bytes[i] = (double)clab_model_parameters(model) * (double)clab_type_bytes(l->type);
        snprintf(l->headings[i], sizeof l->headings[i], "%s", model->name);
        clab_model_free(model);
    }
    return CLAB_OK;
}

static void make_columns(struct links *l)
{
    static const struct clab_column fixed[FIXED] = {
        {"link", NULL, NULL, CLAB_KIND_TEXT, -18, 0, NULL},
        {"where", NULL, NULL, CLAB_KIND_TEXT, -12, 0, NULL},
        {"one_way_Gbps", "one way", "Gb/s", CLAB_KIND_REAL, 7, 0, NULL},
        {"one_way_GBps", "one way", "GB/s", CLAB_KIND_REAL, 7, 2, NULL},
        {"both_ways_GBps", "both ways", "GB/s", CLAB_KIND_REAL, 9, 2, NULL},
    };
    memcpy(l->columns, fixed, sizeof fixed);
    for (int i = 0; i < MODELS; i++)
        l->columns[FIXED + i] = (struct clab_column){.name = l->headings[i],
                                                     .unit = "ms",
                                                     .kind = CLAB_KIND_REAL,
                                                     .width = WIDTH,
                                                     .digits = 3,
                                                     .group = "allreduce of the gradients, at least"};
}

static const char *where_of(const char *word)
{
    return !strcmp(word, "host") ? "all adapters" : word;
}

static int add_row(struct links *l, int row)
{
    const double rate = clab_csv_real(&l->data, row, "one_way_Gbps"), share = 2 * (l->ranks - 1.0) / l->ranks;
    struct clab_cell cells[COLUMNS] = {
        clab_cell_text(clab_csv_cell(&l->data, row, "link")),
        clab_cell_text(where_of(clab_csv_cell(&l->data, row, "where"))),
        clab_cell_real(rate),
        clab_cell_real(rate / 8),
        clab_cell_real(2 * rate / 8),
    };
    if (!(rate > 0))
        return clab_csv_refuse(&l->data, row, "one_way_Gbps", "expected gigabits per second above 0");
    for (int i = 0; i < MODELS; i++)
        cells[FIXED + i] = clab_cell_real(1e3 * share * l->bytes[i] / (1e9 * rate / 8));
    return clab_table_add_row(&l->table, cells);
}

static void print_heading(const struct links *l)
{
    printf("# what links carry, and the least time of an allreduce among %d ranks; gradients of %s:", l->ranks,
           clab_type_name(l->type));
    for (int i = 0; i < MODELS; i++)
        printf("%s %s %.3g GB", i ? "," : "", l->headings[i], 1e-9 * l->bytes[i]);
    printf("\n# 1 GB/s = 8 Gb/s; one way: what a ring is limited by, since it sends and receives at the same time\n");
}

static int tell(struct links *l)
{
    make_columns(l);
    clab_table_init(&l->table, l->columns, COLUMNS);
    int err = CLAB_OK;
    for (int row = 0; row < l->data.nrows && !err; row++)
        err = add_row(l, row);
    if (!err) {
        print_heading(l);
        clab_table_print(&l->table, stdout);
    }
    if (!err && l->csv)
        err = clab_table_write_csv(&l->table, &l->data.manifest, l->csv);
    clab_table_free(&l->table);
    return err;
}

int sim_links(int argc, char **argv)
{
    static const struct clab_command_line line = {.options = options, .about = doc};
    struct links l = {.ranks = 8, .type = CLAB_F32};
    if (clab_options_parse(&line, argc, argv, &l))
        return STATUS_USAGE;
    int err = l.csv ? clab_output_announce(l.csv) : CLAB_OK;
    if (!err)
        err = load_links(&l);
    if (!err)
        err = load_models(&l);
    if (!err)
        err = tell(&l);
    clab_csv_free(&l.data);
    return command_status(err);
}
