// SPDX-License-Identifier: MIT
// Sentences with marks (marked.h): FROM cells THEN shown END.

#include "cmd/report/findings/marked.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/report/page/text.h"
#include "core/base/err.h"
#include "core/base/units.h"

enum { FROM = 1, THEN = 2, END = 3, MOST_RUNS = 8, MOST_NAME = 100, MOST_CELLS = 32 };

int marked_begin(const struct report_rows *rows, struct marked *marked_p)
{
    *marked_p = (struct marked){.rows = rows};
    marked_p->out = open_memstream(&marked_p->text, &marked_p->size);
    return marked_p->out ? CLAB_OK : CLAB_ENOMEM;
}

char *marked_end(struct marked *marked)
{
    const bool is_bad = ferror(marked->out);
    if (fclose(marked->out) == 0 && !is_bad)
        return marked->text;
    free(marked->text);
    return NULL;
}

void marked_name(struct marked *marked, const char *name)
{
    const size_t whole = page_whole_signs(name, MOST_NAME);
    for (size_t i = 0; i < whole; i++)
        fputc((unsigned char)name[i] < ' ' || name[i] == 0x7f ? '?' : name[i], marked->out);
    fputs(name[whole] ? "…" : "", marked->out);
}

// What a file of nccl-tests calls that column.
static const char *column_of(const struct report_source *source, const char *column)
{
    static const char *const names[][2] = {{"usec", "time"}, {"busbw_GBps", "busbw"}, {"bytes", "size"}};
    for (size_t i = 0; source->is_text && i < sizeof names / sizeof *names; i++)
        if (!strcmp(column, names[i][0]))
            return names[i][1];
    return column;
}

// The median of very many runs names its first ones only: the page must stay one that a browser opens.
void marked_cells(FILE *out, const struct report_rows *rows, struct marked_from from)
{
    const struct report_source *source = &rows->sources[from.row->source];
    for (int i = 0; i < from.row->nruns && i < MOST_RUNS; i++) {
        fputs(i ? " " : "", out);
        marked_cells(out, rows, (struct marked_from){from.row->runs[i], from.column});
    }
    if (from.row->nruns)
        return;
    page_url_name(out, source->file);
    fprintf(out, ":%d:%s", from.row->line, column_of(source, from.column));
}

void marked_value(struct marked *marked, const char *shown, struct marked_from a, struct marked_from b)
{
    fputc(FROM, marked->out);
    marked_cells(marked->out, marked->rows, a);
    if (b.row) {
        fputc(' ', marked->out);
        marked_cells(marked->out, marked->rows, b);
    }
    fprintf(marked->out, "%c%s%c", THEN, shown, END);
}

void marked_time(struct marked *marked, const struct report_row *row)
{
    char text[CLAB_TEXT], low[CLAB_TEXT], high[CLAB_TEXT];
    marked_value(marked, clab_seconds_text(1e-6 * row->usec, text), (struct marked_from){row, "usec"},
                 (struct marked_from){0});
    if (!isfinite(row->low) || !isfinite(row->high))
        return;
    clab_seconds_text(1e-6 * row->low, low);
    clab_seconds_text(1e-6 * row->high, high);
    fputs(" (", marked->out);
    marked_value(marked, low, (struct marked_from){row, "usec_low"}, (struct marked_from){0});
    fputs(" to ", marked->out);
    marked_value(marked, high, (struct marked_from){row, "usec_high"}, (struct marked_from){0});
    fputc(')', marked->out);
}

void marked_rate(struct marked *marked, const struct report_row *row)
{
    char text[CLAB_TEXT];
    marked_value(marked, clab_rate_text(1e9 * row->busbw, text), (struct marked_from){row, "busbw_GBps"},
                 (struct marked_from){0});
}

void marked_size(struct marked *marked, const struct report_row *row)
{
    char text[32];
    marked_value(marked, clab_size_text((size_t)row->bytes, text), (struct marked_from){row, "bytes"},
                 (struct marked_from){0});
}

// ---- shown ---------------------------------------------------------------------------------------------------

// Whether the first `length` bytes of `cell`, a file and a line, are among the n that were printed.
static bool is_printed(const char *const rows[], const size_t lengths[], int n, const char *cell, size_t length)
{
    for (int i = 0; i < n; i++)
        if (lengths[i] == length && !strncmp(rows[i], cell, length))
            return true;
    return false;
}

// The files and lines behind a sentence, each once.
static void print_rows(FILE *out, const char *text)
{
    const char *rows[MOST_CELLS];
    size_t lengths[MOST_CELLS];
    int n = 0;
    for (const char *at = text; (at = strchr(at, FROM)) && n < MOST_CELLS;)
        for (at++; *at != THEN && *at && n < MOST_CELLS;) {
            const size_t file = strcspn(at, ":") + 1, row = file + strcspn(at + file, ":");
            const size_t whole = strcspn(at, " \x02");
            if (!is_printed(rows, lengths, n, at, row)) {
                fprintf(out, "%s%.*s", n ? ", " : " [", (int)row, at);
                rows[n] = at;
                lengths[n++] = row;
            }
            at += whole + (at[whole] == ' ');
        }
    fputs(n ? "]" : "", out);
}

void marked_print(FILE *out, const char *text)
{
    bool is_from = false;
    for (const char *at = text; *at; at++) {
        if (*at == FROM || *at == THEN)
            is_from = *at == FROM;
        else if (*at != END && !is_from)
            fputc(*at, out);
    }
    print_rows(out, text);
}

void marked_print_html(FILE *out, const char *text)
{
    while (*text) {
        const size_t words = strcspn(text, "\x01\x02\x03");
        char *piece = strndup(text, words);
        if (piece)
            page_text(out, piece);
        free(piece);
        text += words;
        if (*text == FROM) {
            const size_t cells = strcspn(text, "\x02");
            fputs("<data data-from=\"", out);
            fprintf(out, "%.*s\">", (int)cells - 1, text + 1); // encoded when it was written
            text += cells;
        } else if (*text == END) {
            fputs("</data>", out);
        }
        text += *text != 0;
    }
}
