// SPDX-License-Identifier: MIT
// All rows, the settings, and the findings as files for people (findings.h): full_results.md, summary_by_config.md,
// analysis.txt.

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/report/findings/findings.h"
#include "cmd/report/findings/marked.h"
#include "cmd/report/page/text.h"
#include "core/base/err.h"
#include "core/base/files/output.h"
#include "core/base/units.h"

enum { MOST_ROWS = 20000, MOST_CELL = 100 };

// A cell of a Markdown table: a name of others can neither end it nor begin markup.
static void put_name(FILE *out, const char *text)
{
    const size_t whole = page_whole_signs(text, MOST_CELL);
    for (size_t i = 0; i < whole; i++) {
        if (strchr("|\\`*_<>[]&!#~$", text[i]))
            fputc('\\', out);
        fputc((unsigned char)text[i] < ' ' || text[i] == 0x7f ? '?' : text[i], out);
    }
    fputs(whole ? "" : "-", out);
}

static void put_plain(FILE *out, const char *text)
{
    const size_t whole = page_whole_signs(text, MOST_CELL);
    for (size_t i = 0; i < whole; i++)
        fputc((unsigned char)text[i] < ' ' || text[i] == 0x7f ? '?' : text[i], out);
}

static void put_cell(FILE *out, const char *text)
{
    put_name(out, text);
    fputs(" | ", out);
}

static void put_time(FILE *out, double usec)
{
    char text[CLAB_TEXT];
    fprintf(out, "%s | ", isfinite(usec) ? clab_seconds_text(1e-6 * usec, text) : "-");
}

static void put_rate(FILE *out, double gigabytes)
{
    char text[CLAB_TEXT];
    fprintf(out, "%s | ", isfinite(gigabytes) ? clab_rate_text(1e9 * gigabytes, text) : "-");
}

static void put_row(FILE *out, const struct report_rows *rows, const struct report_row *row)
{
    char size[32];
    fputs("| ", out);
    put_cell(out, row->collective);
    put_cell(out, row->backend);
    put_cell(out, row->device);
    put_cell(out, row->algorithm);
    fprintf(out, "%d | %s | ", row->ranks, row->bytes >= 0 ? clab_size_text((size_t)row->bytes, size) : "-");
    put_cell(out, row->is_in_place ? "in place" : "out of place");
    put_time(out, row->usec);
    put_time(out, row->low);
    put_time(out, row->high);
    put_rate(out, row->algbw);
    put_rate(out, row->busbw);
    fprintf(out, row->wrong < 0 ? "- | " : "%lld | ", row->wrong);
    put_cell(out, *row->reason ? row->reason : report_status_name(report_row_status(row)));
    put_cell(out, rows->sources[row->source].machine);
    put_cell(out, rows->sources[row->source].file);
    fprintf(out, "%d |\n", row->line);
}

int report_full_write(const struct report_rows *rows, const char *path)
{
    struct clab_output output;
    CLAB_TRY(clab_output_open(path, &output));
    fputs("<!-- SPDX-License-Identifier: CC-BY-4.0 -->\n# All results\n\n"
          "A row is one size of one collective. Low and high are the 95 % interval of the time. "
          "File and line say where the row was read.\n\n"
          "| collective | backend | device | algorithm | ranks | size | placement | time | low | high | algbw | busbw | #wrong | "
          "status | machine | file | line |\n"
          "|---|---|---|---|--:|--:|---|--:|--:|--:|--:|--:|--:|---|---|---|--:|\n",
          output.file);
    for (int i = 0; i < rows->n && i < MOST_ROWS; i++)
        put_row(output.file, rows, &rows->rows[i]);
    if (rows->n > MOST_ROWS)
        fprintf(output.file, "\nThese are the first %d rows of %d. combined_benchmark.csv has all of them.\n", MOST_ROWS,
                rows->n);
    return clab_output_close(&output);
}

// ---- by setting ----------------------------------------------------------------------------------------------

// "2 (1.4 times apart)".
static void put_runs(FILE *out, const struct report_row *row)
{
    if (row->nruns)
        fprintf(out, "%d (%.3g times apart) | ", row->nruns,
                report_runs_slowest(row)->usec / report_runs_fastest(row)->usec);
    else
        fputs("1 | ", out);
}

static void put_lines(FILE *out, const struct report_rows *rows, const struct report_row *row)
{
    for (int i = 0; i < row->nruns; i++) {
        fputs(i ? ", " : "", out);
        put_lines(out, rows, row->runs[i]);
    }
    if (row->nruns)
        return;
    put_name(out, rows->sources[row->source].file);
    fprintf(out, ":%d", row->line);
}

static void put_head(FILE *out, const struct report_rows *rows, const struct report_row *row)
{
    const struct report_source *source = &rows->sources[row->source];
    fprintf(out, "\n## %s, ", row->collective);
    put_name(out, row->backend);
    fputs(*row->device ? " on " : "", out);
    if (*row->device)
        put_name(out, row->device);
    fprintf(out, ", %d ranks%s\n\nMachine: ", row->ranks, row->is_crowded ? " (more ranks than cores)" : "");
    put_name(out, source->machine);
    fputs(". Type: ", out);
    put_name(out, row->type);
    fputs(", operation: ", out);
    put_name(out, row->op);
    fputs(", mode: ", out);
    put_name(out, row->mode);
    fputs(*source->wire ? ", delayed as on " : "", out);
    if (*source->wire)
        put_name(out, source->wire);
    fputs(*source->settings ? ", settings: " : "", out);
    if (*source->settings)
        put_name(out, source->settings);
    fputs(".\n\n| size | fastest algorithm | runs | time | low | high | algbw | busbw | of the best busbw | file and line |\n"
          "|--:|---|--:|--:|--:|--:|--:|--:|--:|---|\n",
          out);
}

int report_summary_write(const struct report_picks *picks, const char *path)
{
    struct clab_output output;
    char size[32];
    CLAB_TRY(clab_output_open(path, &output));
    fputs("<!-- SPDX-License-Identifier: CC-BY-4.0 -->\n# By setting: the fastest algorithm of each size\n\n"
          "Of several runs: the median of their times; low and high reach over all of their intervals.\n",
          output.file);
    for (int i = 0, end; i < picks->n; i = end) {
        double most = 0;
        end = report_series_end(picks, i);
        put_head(output.file, picks->rows, picks->picks[i].row);
        for (int k = i; k < end; k++)
            most = fmax(most, picks->picks[k].row->busbw);
        for (int k = i; k < end; k++) {
            const struct report_row *row = picks->picks[k].row;
            fprintf(output.file, "| %s | ", clab_size_text((size_t)row->bytes, size));
            put_cell(output.file, row->algorithm);
            put_runs(output.file, row);
            put_time(output.file, row->usec);
            put_time(output.file, row->low);
            put_time(output.file, row->high);
            put_rate(output.file, row->algbw);
            put_rate(output.file, row->busbw);
            fprintf(output.file, most > 0 && isfinite(row->busbw) ? "%.0f %% | " : "- | ", 100 * row->busbw / most);
            put_lines(output.file, picks->rows, row);
            fputs(" |\n", output.file);
        }
    }
    return clab_output_close(&output);
}

// ---- findings ------------------------------------------------------------------------------------------------

// Rows whose results are wrong come before all else: their times mean nothing.
static void put_wrong_rows(FILE *out, const struct report_rows *rows)
{
    for (int i = 0; i < rows->n; i++) {
        const struct report_row *row = &rows->rows[i];
        char size[CLAB_TEXT];
        if (row->wrong <= 0)
            continue;
        fprintf(out, "- %lld elements are wrong in ", row->wrong);
        put_plain(out, row->collective);
        fprintf(out, " of %s by %d ranks, so this row is compared with none. [", clab_size_text((size_t)row->bytes, size),
                row->ranks);
        put_plain(out, rows->sources[row->source].file);
        fprintf(out, ":%d]\n", row->line);
    }
}

static void put_machines(FILE *out, const struct report_rows *rows)
{
    for (int i = 0; i < rows->nsources; i++) {
        fprintf(out, "  machine %s: ", report_machine_letter(rows, i));
        put_plain(out, rows->sources[i].machine);
        fputs(" (", out);
        put_plain(out, rows->sources[i].file);
        fputs(")\n", out);
    }
    fputs("\n", out);
}

static void put_marked(FILE *out, const char *before, const char *text)
{
    fputs(before, out);
    marked_print(out, text);
}

static void put_findings(FILE *out, const struct report_findings *f)
{
    for (int i = 0; i < f->n; i++) {
        put_marked(out, "- ", f->findings[i].text);
        fputs("\n", out);
    }
    if (!f->n)
        fputs("- Nothing to compare: there is one setting only, or no row has a time.\n", out);
    fputs("\nWhat is wrong, its likely cause, and the command to type next\n\n", out);
    for (int i = 0; i < f->ntroubles; i++) {
        put_marked(out, "- ", f->troubles[i].what);
        put_marked(out, "\n  cause: ", f->troubles[i].cause);
        put_marked(out, "\n  next:  ", f->troubles[i].next);
        fputs("\n", out);
    }
    if (!f->ntroubles)
        fputs("- Nothing: no sweep is below 80 % of its limit, no interval is wide, no bandwidth drops at one size.\n", out);
}

int report_analysis_write(const struct report_rows *rows, const struct report_findings *f, const char *path)
{
    struct clab_output output;
    CLAB_TRY(clab_output_open(path, &output));
    fprintf(output.file,
            "What %d rows of %d files say\n\n"
            "Each sentence is computed from rows, which its end names as [FILE:LINE]. Times have their 95 %% intervals in\n"
            "brackets. Where intervals overlap there is no measurable difference. Of several runs of one setting the median\n"
            "of their times counts, with an interval over all of theirs; a sentence says how far apart they are.\n\n",
            rows->n, rows->nsources);
    put_machines(output.file, rows);
    put_wrong_rows(output.file, rows);
    put_findings(output.file, f);
    return clab_output_close(&output);
}
