// SPDX-License-Identifier: MIT
// Choices on the screen and as the tuner's file (tune.h).

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "cmd/nccl/tune.h"

#include "core/base/err.h"
#include "core/base/files/output.h"
#include "core/base/files/table.h"
#include "core/base/units.h"

static const struct clab_column columns[] = {
    {"collective", NULL, NULL, CLAB_KIND_TEXT, -13, 0, NULL},  {"ranks", NULL, NULL, CLAB_KIND_INTEGER, 6, 0, NULL},
    {"nodes", NULL, NULL, CLAB_KIND_INTEGER, 6, 0, NULL},      {"from", NULL, NULL, CLAB_KIND_TEXT, -9, 0, NULL},
    {"below", NULL, NULL, CLAB_KIND_TEXT, -9, 0, NULL},        {"choice", NULL, NULL, CLAB_KIND_TEXT, -24, 0, NULL},
    {"own", "default", NULL, CLAB_KIND_TEXT, -21, 0, NULL}, {"gain", NULL, "x", CLAB_KIND_REAL, 6, 2, NULL},
    {"least", NULL, "x", CLAB_KIND_REAL, 6, 2, NULL},
};

enum { PAIR = 64 };

static const char *nccl_algorithm(int algorithm)
{
    return clab_nccl_algorithm_name((enum clab_nccl_algorithm)algorithm);
}

static const char *nccl_protocol(int protocol)
{
    return clab_nccl_protocol_name((enum clab_nccl_protocol)protocol);
}

const struct tune_words tune_words_nccl = {.library = "NCCL",
                                           .collective = clab_nccl_function_word,
                                           .algorithm = nccl_algorithm,
                                           .protocol = nccl_protocol,
                                           .heading = clab_nccl_rows_write_heading,
                                           .row = clab_nccl_rows_write};

static const char *pair_text(const struct tune_words *words, int algorithm, int protocol, int channels, char out[PAIR])
{
    if (algorithm == TUNE_UNKNOWN)
        return "not said";
    const char *p = words->protocol ? words->protocol(protocol) : "";
    snprintf(out, PAIR, "%s%s%s", words->algorithm(algorithm), *p ? " " : "", p);
    if (channels > 0)
        snprintf(out + strlen(out), PAIR - strlen(out), " on %d", channels);
    return out;
}

static int add_row(struct clab_table *table, const struct tune_choice *c, const struct tune_words *words)
{
    char kept[PAIR], first[CLAB_TEXT], last[CLAB_TEXT], choice[PAIR], own[PAIR];
    const struct clab_nccl_row *r = &c->row;
    snprintf(kept, sizeof kept, "%s's own", words->library);
    const struct clab_cell cells[] = {
        clab_cell_text(words->collective(r->function)),
        clab_cell_integer(r->ranks),
        clab_cell_integer(r->nodes),
        clab_cell_text(clab_size_text(r->first, first)),
        clab_cell_text(clab_size_text(r->last + (r->last < SIZE_MAX), last)),
        clab_cell_text(c->is_own ? kept : pair_text(words, r->algorithm, r->protocol, r->channels, choice)),
        clab_cell_text(pair_text(words, c->own_algorithm, c->own_protocol, CLAB_NCCL_ANY, own)),
        clab_cell_real(c->gain),
        clab_cell_real(c->least),
    };
    return clab_table_add_row(table, cells);
}

int tune_print(const struct tune_choice *choices, int n, const struct tune_words *words)
{
    struct clab_table table;
    int err = CLAB_OK;
    clab_table_init(&table, columns, sizeof columns / sizeof *columns);
    for (int i = 0; i < n && !err; i++)
        err = add_row(&table, &choices[i], words);
    if (!err)
        clab_table_print(&table, stdout);
    clab_table_free(&table);
    return err;
}

int tune_write(const struct tune_choice *choices, int n, const struct tune_words *words, const char *source,
               const char *path)
{
    struct clab_output output;
    bool gains = false;
    for (int i = 0; i < n; i++)
        gains |= !choices[i].is_own && !isnan(choices[i].gain);
    CLAB_TRY(clab_output_open(path, &output));
    fprintf(output.file, "# choices for %s, by commlab tune, from %s\n", words->library, source);
    words->heading(gains, output.file);
    for (int i = 0; i < n; i++)
        if (!choices[i].is_own)
            words->row(&choices[i].row, isnan(choices[i].gain) ? 0 : choices[i].gain, output.file);
    return clab_output_close(&output);
}
