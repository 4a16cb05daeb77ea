// SPDX-License-Identifier: MIT
// --why: the critical path as a table, its parts, and the changes that would help.

#include "cmd/sim/why.h"

#include <stdio.h>

#include "core/base/err.h"
#include "core/base/files/table.h"
#include "core/base/units.h"
#include "sim/engine/record.h"
#include "sim/explain/why.h"

enum { ROWS_SHOWN = 60 };

// ---- words ---------------------------------------------------------------------------------------------------

static const struct clab_column columns[] = {
    {"part", NULL, NULL, CLAB_KIND_TEXT, -9, 0, NULL},      {"what", NULL, NULL, CLAB_KIND_TEXT, -24, 0, NULL},
    {"link", NULL, NULL, CLAB_KIND_TEXT, -6, 0, NULL},      {"stages", NULL, NULL, CLAB_KIND_TEXT, -9, 0, NULL},
    {"message", NULL, "B", CLAB_KIND_INTEGER, 10, 0, NULL}, {"times", NULL, NULL, CLAB_KIND_INTEGER, 6, 0, NULL},
    {"time", NULL, "us", CLAB_KIND_REAL, 12, 3, NULL},      {"share", NULL, "%", CLAB_KIND_REAL, 6, 1, NULL},
    {"ranks", NULL, NULL, CLAB_KIND_TEXT, -8, 0, NULL},
};

static const char *stages_text(const struct clab_why_row *row, char text[32])
{
    if (row->stage_last < 0)
        snprintf(text, 32, "-");
    else if (row->stage_first == row->stage_last)
        snprintf(text, 32, "%d", row->stage_last);
    else
        snprintf(text, 32, "%d-%d", row->stage_first, row->stage_last);
    return text;
}

static double share_of(const struct clab_why *why, double seconds)
{
    return why->seconds > 0 ? 100 * seconds / why->seconds : 0;
}

// ---- the screen ----------------------------------------------------------------------------------------------

static int add_row(const struct sim_why *w, const struct clab_why *why, const struct clab_why_row *row,
                   struct clab_table *table)
{
    char ranks[CLAB_WHY_TEXT], stages[32];
    const struct clab_why_piece *p = &why->pieces[row->first];
    const char *link = clab_why_link(w->net, p->link);
    const struct clab_cell cells[] = {
        clab_cell_text(clab_record_part_name(clab_did_part((enum clab_did)p->did))),
        clab_cell_text(clab_did_text((enum clab_did)p->did)),
        *link ? clab_cell_text(link) : clab_cell_none(),
        clab_cell_text(stages_text(row, stages)),
        p->peer >= 0 && p->bytes ? clab_cell_integer((long long)p->bytes) : clab_cell_none(),
        clab_cell_integer(row->times),
        clab_cell_real(1e6 * row->seconds),
        clab_cell_real(share_of(why, row->seconds)),
        clab_cell_text(clab_why_ranks(why, row, ranks)),
    };
    return clab_table_add_row(table, cells);
}

static int print_rows(const struct sim_why *w, const struct clab_why *why)
{
    struct clab_table table;
    int err = CLAB_OK, shown = why->nrows < ROWS_SHOWN ? why->nrows : ROWS_SHOWN;
    double left = why->seconds;
    clab_table_init(&table, columns, sizeof columns / sizeof *columns);
    for (int i = 0; i < shown && !err; i++) {
        err = add_row(w, why, &why->rows[i], &table);
        left -= why->rows[i].seconds;
    }
    if (!err)
        clab_table_print(&table, stdout);
    clab_table_free(&table);
    if (!err && shown < why->nrows)
        printf("... and %d rows more, %.1f %% of the time (all of them: --json)\n", why->nrows - shown,
               share_of(why, left));
    return err;
}

static void print_parts(const struct clab_why *why)
{
    printf("on this path:");
    for (int i = 0; i < CLAB_PART_COUNT; i++)
        printf("%s %s %.1f %%", i ? "," : "", clab_record_part_name((enum clab_record_part)i),
               share_of(why, why->parts[i]));
    printf("\n");
}

static int print_why(const struct sim_why *w, const struct clab_record *record, const struct clab_why *why,
                     const char *remedy, double saves)
{
    char time[CLAB_TEXT];
    printf("\n# why: the critical path of %s, %d pieces that add up to %s\n", w->algorithm->name, why->npieces,
           clab_seconds_text(why->seconds, time));
    if (record->folded)
        printf("# folded: ranks are alike, and %d stand for all %d; the path is theirs\n", record->nranks,
               w->problem->nranks);
    CLAB_TRY(print_rows(w, why));
    print_parts(why);
    if (*remedy)
        printf("%s would save %.1f %%\n", remedy, 100 * saves);
    return CLAB_OK;
}

// ---- JSON ----------------------------------------------------------------------------------------------------

static void fill_row(struct clab_json *json, const struct sim_why *w, const struct clab_why *why,
                     const struct clab_why_row *row)
{
    char ranks[CLAB_WHY_TEXT];
    const struct clab_why_piece *p = &why->pieces[row->first];
    clab_json_add(json, "part", clab_cell_text(clab_record_part_name(clab_did_part((enum clab_did)p->did))));
    clab_json_add(json, "what", clab_cell_text(clab_did_text((enum clab_did)p->did)));
    clab_json_add(json, "link", clab_cell_text(clab_why_link(w->net, p->link)));
    clab_json_add(json, "stage_first", clab_cell_integer(row->stage_first));
    clab_json_add(json, "stage_last", clab_cell_integer(row->stage_last));
    clab_json_add(json, "bytes", clab_cell_integer((long long)p->bytes));
    clab_json_add(json, "times", clab_cell_integer(row->times));
    clab_json_add(json, "seconds", clab_cell_real(row->seconds));
    clab_json_add(json, "ranks", clab_cell_text(clab_why_ranks(why, row, ranks)));
}

static void fill_why(struct clab_json *json, const struct sim_why *w, const struct clab_record *record,
                     const struct clab_why *why, const char *remedy, double saves)
{
    struct clab_json *parts = clab_json_add_object(json, "parts"), *rows = clab_json_add_list(json, "path");
    clab_json_add(json, "seconds", clab_cell_real(why->seconds));
    clab_json_add(json, "pieces", clab_cell_integer(why->npieces));
    clab_json_add(json, "folded_ranks", record->folded ? clab_cell_integer(record->nranks) : clab_cell_none());
    for (int i = 0; i < CLAB_PART_COUNT; i++)
        clab_json_add(parts, clab_record_part_name((enum clab_record_part)i), clab_cell_real(why->parts[i]));
    for (int i = 0; i < why->nrows; i++)
        fill_row(clab_json_add_object(rows, NULL), w, why, &why->rows[i]);
    clab_json_add(json, "remedy", *remedy ? clab_cell_text(remedy) : clab_cell_none());
    clab_json_add(json, "saves", clab_cell_real(saves));
}

// ---- the whole -----------------------------------------------------------------------------------------------

static int explain(const struct sim_why *w, const struct clab_record *record, struct clab_json *json)
{
    struct clab_why why;
    char remedy[CLAB_WHY_TEXT];
    double saves;
    CLAB_TRY(clab_why_find(record, &why));
    int err = clab_why_remedy(w->problem, w->algorithm, w->net, w->options, &why, remedy, &saves);
    if (!err && json)
        fill_why(clab_json_add_object(json, "why"), w, record, &why, remedy, saves);
    else if (!err)
        err = print_why(w, record, &why, remedy, saves);
    clab_why_free(&why);
    return err;
}

int sim_why(const struct sim_why *w, struct clab_json *json)
{
    struct clab_record record = {0};
    struct clab_sim_options options = *w->options;
    struct clab_sim_result result;
    options.record = &record;
    int err = clab_sim_run(w->problem, w->algorithm, w->net, &options, &result);
    if (!err && w->why)
        err = explain(w, &record, json);
    if (!err && w->trace)
        err = sim_trace_write(w, &record);
    clab_record_free(&record);
    return err;
}
