// SPDX-License-Identifier: MIT
// The series of a figure (series.h).

#include "cmd/report/findings/series.h"

#include <string.h>

#include "core/base/text.h"

enum { LINES = 1000 };

// ---- names ---------------------------------------------------------------------------------------------------

struct series_names series_names_of(const struct report_rows *rows, const struct report_row *const list[], int n)
{
    struct series_names names = {.rows = rows, .source = n ? list[0]->source : 0};
    for (int i = 1; i < n; i++) {
        const struct report_source *one = &rows->sources[list[i]->source], *first = &rows->sources[list[0]->source];
        names.has_devices |= strcmp(list[i]->device, list[0]->device) != 0;
        names.has_machines |= strcmp(one->machine, first->machine) != 0;
        names.has_wires |= strcmp(one->wire, first->wire) != 0;
        names.has_settings |= strcmp(one->settings, first->settings) != 0;
        names.has_ranks |= list[i]->ranks != list[0]->ranks;
    }
    return names;
}

void series_name(const struct series_names *names, const struct report_row *row, char out[SERIES_NAME])
{
    struct clab_text text = clab_text_begin(out, SERIES_NAME);
    clab_text_add(&text, "%.20s", row->backend);
    if (names->has_devices && *row->device)
        clab_text_add(&text, " %.8s", row->device);
    if (names->has_ranks)
        clab_text_add(&text, " %d ranks", row->ranks);
    const char *wire = names->rows->sources[row->source].wire;
    if (names->has_wires && *wire)
        clab_text_add(&text, " as %.20s", wire);
    const char *settings = names->rows->sources[row->source].settings;
    if (names->has_settings && *settings)
        clab_text_add(&text, " with %.24s", settings);
    if (names->has_machines)
        clab_text_add(&text, " on %s", report_machine_letter(names->rows, row->source));
}

void series_machines(const struct series_names *names, char out[300])
{
    struct clab_text text = clab_text_begin(out, 300);
    const struct report_rows *rows = names->rows;
    const char *last = "";
    if (!names->has_machines)
        clab_text_add(&text, "%s", rows->sources[names->source].machine);
    for (int i = 0; i < rows->nsources && names->has_machines; i++) {
        const char *letter = report_machine_letter(rows, i);
        if (strcmp(letter, last) > 0)
            clab_text_add(&text, "%s%s: %.60s", i ? "; " : "", letter, rows->sources[i].machine);
        last = strcmp(letter, last) > 0 ? letter : last;
    }
}

// ---- files ---------------------------------------------------------------------------------------------------

const struct clab_column series_columns[SERIES_COLUMNS] = {
    CLAB_COLUMN(TEXT, "series"), CLAB_COLUMN(INTEGER, "bytes"), CLAB_COLUMN(REAL, "usec"),
    CLAB_COLUMN(REAL, "usec_low"), CLAB_COLUMN(REAL, "usec_high"), CLAB_COLUMN(REAL, "busbw_GBps"),
    CLAB_COLUMN(INTEGER, "crowded"), CLAB_COLUMN(TEXT, "source"), CLAB_COLUMN(TEXT, "line"),
    CLAB_COLUMN(INTEGER, "runs"),
};

// "b.csv;c.csv" and "3;4": of each run.
static void name_lines(const struct report_rows *rows, const struct report_row *row, char files[LINES], char lines[LINES])
{
    struct clab_text file = clab_text_begin(files, LINES), line = clab_text_begin(lines, LINES);
    for (int i = 0; i < (row->nruns ? row->nruns : 1); i++) {
        const struct report_row *run = row->nruns ? row->runs[i] : row;
        clab_text_add(&file, "%s%s", i ? ";" : "", rows->sources[run->source].file);
        clab_text_add(&line, "%s%d", i ? ";" : "", run->line);
    }
}

int series_add_row(struct clab_table *table, const struct series_names *names, const struct report_row *row)
{
    char name[SERIES_NAME], files[LINES], lines[LINES];
    series_name(names, row, name);
    name_lines(names->rows, row, files, lines);
    const struct clab_cell cells[SERIES_COLUMNS] = {clab_cell_text(name),
                                             clab_cell_integer(row->bytes),
                                             clab_cell_real(row->usec),
                                             clab_cell_real(row->low),
                                             clab_cell_real(row->high),
                                             clab_cell_real(row->busbw),
                                             clab_cell_integer(row->is_crowded),
                                             clab_cell_text(files),
                                             clab_cell_text(lines),
                                             clab_cell_integer(row->nruns ? row->nruns : 1)};
    return clab_table_add_row(table, cells);
}
