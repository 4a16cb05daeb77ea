// SPDX-License-Identifier: MIT
// The user's table of choices (table.h).

#include "core/comm/table.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/log.h"
#include "core/base/variables.h"
#include "core/base/vector.h"
#include "core/schedule/formats/choices.h"

static int find_collective(const char *word)
{
    for (int c = 0; c < CLAB_COLLECTIVE_COUNT; c++)
        if (clab_choice_is_named(word, clab_collective_name((enum clab_collective)c)))
            return c;
    return -1;
}

static const struct clab_algorithm *find_algorithm(enum clab_collective collective, const char *word)
{
    for (int i = 0; clab_algorithms[i]; i++)
        if (clab_algorithms[i]->collective == collective && clab_choice_is_named(word, clab_algorithms[i]->name))
            return clab_algorithms[i];
    return NULL;
}

static int refuse_algorithm(const struct clab_choices_reader *r, enum clab_collective collective, const char *word)
{
    char known[192] = "";
    for (int i = 0; clab_algorithms[i]; i++)
        if (clab_algorithms[i]->collective == collective)
            snprintf(known + strlen(known), sizeof known - strlen(known), " %s", clab_algorithms[i]->name);
    return clab_choices_refuse(r, "%s has no algorithm '%.24s'; it has:%s", clab_collective_name(collective), word,
                               known);
}

static int take(const struct clab_choices_reader *r, const struct clab_choice *c)
{
    struct clab_choice_table *table = r->into;
    const int collective = find_collective(c->collective);
    if (strcmp(c->protocol, "-1") != 0) // NCCL's
        return CLAB_OK;
    if (collective < 0)
        return clab_choices_refuse(r, "there is no collective '%.24s'", c->collective);
    if (c->is_short)
        return clab_choices_refuse(r, "6 fields: it does not say for how many nodes and ranks; append ,-1,-1 for any");
    if (c->channels > CLAB_MAX_LANES)
        return clab_choices_refuse(r, "channels '%d': an algorithm has at most %d lanes", c->channels, CLAB_MAX_LANES);
    const struct clab_table_row row = {.collective = (enum clab_collective)collective,
                                       .algorithm = find_algorithm((enum clab_collective)collective, c->algorithm),
                                       .first = c->first,
                                       .last = c->last,
                                       .lanes = c->channels > 0 ? c->channels : 0,
                                       .nodes = c->nodes,
                                       .ranks = c->ranks,
                                       .line = c->line};
    if (!row.algorithm)
        return refuse_algorithm(r, row.collective, c->algorithm);
    return CLAB_PUSH(table->rows, table->n, table->room, row);
}

int clab_choice_table_read(const char *path, struct clab_choice_table *table_p)
{
    char why[CLAB_CHOICE_WHY] = "";
    struct clab_choice_table table = {0};
    struct clab_choices_reader reader = {.path = path, .take = take, .into = &table, .why = why};
    const int err = clab_choices_load(&reader);
    if (!err) {
        *table_p = table;
        return CLAB_OK;
    }
    clab_error("CLAB_TUNER: %s", why);
    clab_choice_table_free(&table);
    return err;
}

int clab_choice_table_load(struct clab_choice_table *table_p)
{
    const char *path = clab_variable_given(CLAB_VARIABLE_TUNER);
    *table_p = (struct clab_choice_table){0};
    return path ? clab_choice_table_read(path, table_p) : CLAB_OK;
}

void clab_choice_table_free(struct clab_choice_table *table)
{
    free(table->rows);
    *table = (struct clab_choice_table){0};
}

static bool is_or_any(int wanted, int value)
{
    return wanted == CLAB_CHOICE_ANY || wanted == value;
}

const struct clab_table_row *clab_choice_table_find(const struct clab_choice_table *table,
                                                    const struct clab_table_row *from,
                                                    const struct clab_problem *problem, size_t bytes, int nodes)
{
    for (const struct clab_table_row *row = from; row < table->rows + table->n; row++)
        if (row->collective == problem->collective && row->first <= bytes && bytes <= row->last &&
            is_or_any(row->ranks, problem->nranks) && is_or_any(row->nodes, nodes))
            return row;
    return NULL;
}
