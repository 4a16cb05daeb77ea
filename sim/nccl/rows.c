// SPDX-License-Identifier: MIT
// Choices for NCCL, read and written (rows.h).

#include "sim/nccl/rows.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/err.h"
#include "core/base/vector.h"

enum { WHY = CLAB_NCCL_WHY };

static const char *const functions[] = {"broadcast", "reduce", "allgather", "reducescatter", "allreduce", NULL};
static const char *const algorithms[] = {"tree", "ring", "collnet_direct", "collnet_chain", "nvls", "nvls_tree",
                                         "pat",  NULL};
static const char *const protocols[] = {"ll", "ll128", "simple", NULL};

// ---- words ---------------------------------------------------------------------------------------------------

const char *clab_nccl_function_word(int function)
{
    return functions[function];
}

const char *clab_nccl_algorithm_word(int algorithm)
{
    return algorithms[algorithm];
}

const char *clab_nccl_protocol_word(int protocol)
{
    return protocols[protocol];
}

static int find(const char *const words[], const char *word)
{
    for (int i = 0; words[i]; i++)
        if (clab_choice_is_named(words[i], word))
            return i;
    return -1;
}

int clab_nccl_function_find(const char *word)
{
    return find(functions, word);
}

int clab_nccl_algorithm_find(const char *word)
{
    return find(algorithms, word);
}

int clab_nccl_protocol_find(const char *word)
{
    return find(protocols, word);
}

// ---- reading -------------------------------------------------------------------------------------------------

static int take_word(const struct clab_choices_reader *r, const char *what, const char *const words[],
                     const char *text, int *p)
{
    char known[128] = "";
    if ((*p = find(words, text)) >= 0)
        return CLAB_OK;
    for (int i = 0; words[i]; i++)
        snprintf(known + strlen(known), sizeof known - strlen(known), " %s", words[i]);
    return clab_choices_refuse(r, "there is no %s '%.24s'; there is:%s", what, text, known);
}

// Without a protocol it is one of the kit's own algorithms (core/comm/table.h), and not for NCCL.
static int take(const struct clab_choices_reader *r, const struct clab_choice *c)
{
    struct clab_nccl_rows *rows = r->into;
    struct clab_nccl_row row = {.first = c->first,
                                .last = c->last,
                                .channels = c->channels,
                                .nodes = c->nodes,
                                .ranks = c->ranks,
                                .ops = c->ops,
                                .registered = c->registered,
                                .line = c->line};
    if (!strcmp(c->protocol, "-1")) {
        rows->others++;
        return CLAB_OK;
    }
    CLAB_TRY(take_word(r, "collective", functions, c->collective, &row.function));
    CLAB_TRY(take_word(r, "algorithm", algorithms, c->algorithm, &row.algorithm));
    CLAB_TRY(take_word(r, "protocol", protocols, c->protocol, &row.protocol));
    rows->short_rows += c->is_short;
    return CLAB_PUSH(rows->rows, rows->n, rows->room, row);
}

static int read_with(FILE *file, const char *path, struct clab_nccl_rows *rows_p, char why[WHY])
{
    struct clab_nccl_rows rows = {0};
    struct clab_choices_reader reader = {.path = path, .take = take, .into = &rows, .why = why};
    int err = file ? clab_choices_read(file, &reader) : clab_choices_load(&reader);
    if (!err && rows.n == 0) {
        snprintf(why, WHY, "%.220s: %d rows are for commlab's own algorithms (protocol -1), none for NCCL", path,
                 rows.others);
        err = CLAB_EPARSE;
    }
    rows.fingerprint = reader.fingerprint;
    if (err)
        clab_nccl_rows_free(&rows);
    else
        *rows_p = rows;
    return err;
}

int clab_nccl_rows_read(FILE *file, const char *path, struct clab_nccl_rows *rows_p, char why[WHY])
{
    return read_with(file, path, rows_p, why);
}

int clab_nccl_rows_load(const char *path, struct clab_nccl_rows *rows_p, char why[WHY])
{
    return read_with(NULL, path, rows_p, why);
}

void clab_nccl_rows_free(struct clab_nccl_rows *rows)
{
    free(rows->rows);
    *rows = (struct clab_nccl_rows){0};
}

// ---- asking --------------------------------------------------------------------------------------------------

static bool is_or_any(int wanted, size_t value)
{
    return wanted == CLAB_NCCL_ANY || (size_t)wanted == value;
}

bool clab_nccl_row_is_for(const struct clab_nccl_row *row, size_t nodes, size_t ranks)
{
    return is_or_any(row->nodes, nodes) && is_or_any(row->ranks, ranks);
}

bool clab_nccl_row_fits(const struct clab_nccl_row *row, int function, size_t bytes, int ops, int registered)
{
    return row->function == function && row->first <= bytes && bytes <= row->last &&
           (row->ops == CLAB_NCCL_ANY || row->ops == ops) &&
           (row->registered == CLAB_NCCL_ANY || row->registered == !!registered);
}

// ---- writing -------------------------------------------------------------------------------------------------

void clab_nccl_rows_write_heading(bool gains, FILE *out)
{
    fprintf(out,
            "# collective_type,min_bytes,max_bytes,algorithm,protocol,channels,nNodes,nRanks,numPipeOps,regBuff%s\n",
            gains ? ",gain" : "");
}

void clab_nccl_rows_write(const struct clab_nccl_row *row, double gain, FILE *out)
{
    fprintf(out, "%s,%zu,%zu,%s,%s,%d,%d,%d,%d,%d", functions[row->function], row->first, row->last,
            algorithms[row->algorithm], protocols[row->protocol], row->channels, row->nodes, row->ranks, row->ops,
            row->registered);
    if (gain > 0)
        fprintf(out, ",%.3f", gain);
    fputc('\n', out);
}
