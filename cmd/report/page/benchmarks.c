// SPDX-License-Identifier: MIT
// All benchmarks together: figures per collective with the rows behind them, what the rows say, what is wrong and what to
// type next.

#include "cmd/report/page/page.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/report/findings/marked.h"
#include "cmd/report/page/text.h"
#include "core/base/units.h"

enum { MOST_ROWS = 1000, MOST_RUNS = 8 };

// ---- the rows behind a figure --------------------------------------------------------------------------------

static void put_shown(FILE *out, const struct report_rows *rows, const struct report_row *row, const char *column,
                      const char *text)
{
    fputs("<td class=\"n\" data-from=\"", out);
    marked_cells(out, rows, (struct marked_from){row, column});
    fputs("\">", out);
    page_cell(out, text);
    fputs("</td>", out);
}

static void put_number(FILE *out, const struct report_rows *rows, const struct report_row *row, const char *column,
                       double value)
{
    char text[32];
    snprintf(text, sizeof text, "%.4g", value);
    if (isfinite(value))
        put_shown(out, rows, row, column, text);
    else
        fputs("<td class=\"n\">-</td>", out);
}

// The file and line, of each run.
static void put_lines(FILE *out, const struct report_rows *rows, const struct report_row *row)
{
    for (int i = 0; i < row->nruns && i < MOST_RUNS; i++) {
        fputs(i ? ", " : "", out);
        put_lines(out, rows, row->runs[i]);
    }
    if (row->nruns) {
        fputs(row->nruns > MOST_RUNS ? " …" : "", out);
        return;
    }
    page_text_most(out, rows->sources[row->source].file, 60);
    fprintf(out, ":%d", row->line);
}

static void put_row(FILE *out, const struct report_rows *rows, const struct report_row *row)
{
    const char *const texts[] = {row->backend, row->device, row->algorithm};
    char size[32];
    fputs("<tr>", out);
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        fputs("<td>", out);
        page_cell(out, *texts[i] ? texts[i] : "-");
        fputs("</td>", out);
    }
    fprintf(out, "<td class=\"n\">%d%s</td>", row->ranks, row->is_crowded ? "*" : "");
    put_shown(out, rows, row, "bytes", clab_size_text((size_t)row->bytes, size));
    put_number(out, rows, row, "usec", row->usec);
    put_number(out, rows, row, "usec_low", row->low);
    put_number(out, rows, row, "usec_high", row->high);
    put_number(out, rows, row, "busbw_GBps", row->busbw);
    fputs("<td>", out);
    fputs(report_machine_letter(rows, row->source), out);
    fprintf(out, "</td><td class=\"n\">%d</td><td>", row->nruns ? row->nruns : 1);
    put_lines(out, rows, row);
    fputs("</td></tr>\n", out);
}

static void begin_table(FILE *out)
{
    static const char *const names[] = {"backend", "device", "algorithm", "ranks", "size", "time, µs",
                                        "low, µs", "high, µs", "busbw, GB/s", "machine", "runs", "row"};
    fputs("<details>\n<summary>The data behind this</summary>\n<div class=\"scroll\" tabindex=\"0\">\n<table>\n"
          "<thead><tr>",
          out);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        fprintf(out, "<th scope=\"col\">%s</th>", names[i]);
    fputs("</tr></thead>\n<tbody>\n", out);
}

static void end_table(FILE *out)
{
    fputs("</tbody>\n</table>\n</div>\n<p class=\"small\">* more ranks than cores. Of several runs: the median of their "
          "times, low and high over all of their intervals.</p>\n</details>\n",
          out);
}

static void put_sweep_rows(FILE *out, const struct report_page *page, const struct report_chart *chart)
{
    begin_table(out);
    for (int i = 0; i < chart->nrows && i < MOST_ROWS; i++)
        put_row(out, page->picks->rows, chart->rows[i]);
    end_table(out);
}

static void put_contest_rows(FILE *out, const struct report_page *page, const struct report_contest *contest)
{
    begin_table(out);
    for (int i = 0; i < contest->n; i++)
        put_row(out, page->picks->rows, contest->rows[i]);
    end_table(out);
}

static void put_chart(FILE *out, const struct report_page *page, const struct report_chart *chart)
{
    if (chart->backends) {
        page_figure(out, page->folder, chart->backends);
        put_contest_rows(out, page, &chart->contest);
    }
    if (chart->time)
        page_figure(out, page->folder, chart->time);
    if (chart->time || !chart->bandwidth)
        put_sweep_rows(out, page, chart);
    if (chart->bandwidth) {
        page_figure(out, page->folder, chart->bandwidth);
        put_sweep_rows(out, page, chart);
    }
}

// Those of one collective lie together; the first collective's are open.
static void put_charts(FILE *out, const struct report_page *page)
{
    const struct report_charts *charts = page->charts;
    bool has_contest = false;
    for (int i = 0; i < charts->n; i++)
        has_contest |= charts->charts[i].contest.n > 1;
    if (!has_contest)
        fputs("<p>There is no figure of backends at one size: no two backends of these files have a size and a number "
              "of ranks in common. <code>./commlab bench allreduce -n 2 --backend shm,ofi --csv FILE</code> measures "
              "two.</p>\n",
              out);
    for (int i = 0, end; i < charts->n; i = end) {
        const char *collective = charts->charts[i].collective;
        for (end = i; end < charts->n && !strcmp(charts->charts[end].collective, collective);)
            end++;
        fprintf(out, "<details%s>\n<summary>Figures of %s</summary>\n", i ? "" : " open", collective);
        for (int k = i; k < end; k++)
            put_chart(out, page, &charts->charts[k]);
        fputs("</details>\n", out);
    }
    if (charts->left_out)
        fprintf(out,
                "<p>%d more collectives, devices, placements or modes have no figure of their own, since the page would "
                "become too long. Their rows are in summary_by_config.md: report a folder with fewer files.</p>\n",
                charts->left_out);
}

// ---- sentences -----------------------------------------------------------------------------------------------

// Findings of one collective lie together; those of allreduce are open.
static void put_findings(FILE *out, const struct report_findings *f)
{
    const char *now = NULL;
    bool is_open = false;
    fputs("<h3>What the rows say</h3>\n<p>Each sentence is computed. Where 95 % intervals (in brackets) overlap, there is "
          "no measurable difference.</p>\n",
          out);
    for (int i = 0; i < f->n; i++) {
        const char *about = f->findings[i].collective ? f->findings[i].collective : "";
        if (!now || strcmp(now, about)) {
            fputs(is_open ? "</ul>\n</details>\n" : "", out);
            fprintf(out, "<details%s>\n<summary>%s</summary>\n<ul class=\"findings\">\n",
                    !strcmp(about, "allreduce") || !*about ? " open" : "", *about ? about : "The files");
            now = about;
            is_open = true;
        }
        fputs("<li>", out);
        marked_print_html(out, f->findings[i].text);
        fputs("</li>\n", out);
    }
    fputs(is_open ? "</ul>\n</details>\n" : "<p>Nothing to compare: there is one setting only.</p>\n", out);
}

static void put_troubles(FILE *out, const struct report_findings *f)
{
    fputs("<h3>What is wrong, and what to type next</h3>\n", out);
    if (!f->ntroubles)
        fputs("<p>Nothing: no sweep is below 80 % of its limit, no interval is wide, no bandwidth drops at one size.</p>\n",
              out);
    for (int i = 0; i < f->ntroubles; i++) {
        fputs("<div class=\"trouble\">\n<p>", out);
        marked_print_html(out, f->troubles[i].what);
        fputs("</p>\n<p>Likely cause: ", out);
        marked_print_html(out, f->troubles[i].cause);
        fputs("</p>\n<p>Next: <code>", out);
        marked_print_html(out, f->troubles[i].next);
        fputs("</code></p>\n</div>\n", out);
    }
}

// Where the rows are from.
static void put_sources(FILE *out, const struct report_rows *rows)
{
    fputs("<details>\n<summary>The files and their machines</summary>\n<dl>\n", out);
    for (int i = 0; i < rows->nsources; i++) {
        fputs("<dt>", out);
        page_text_most(out, rows->sources[i].file, 100);
        fprintf(out, "</dt><dd>machine %s: ", report_machine_letter(rows, i));
        page_text(out, rows->sources[i].machine);
        fputs("</dd>\n", out);
    }
    fputs("</dl>\n</details>\n", out);
}

// That settings were measured again, which the figures do not show.
static void put_runs(FILE *out, const struct report_picks *picks)
{
    const struct report_row *most = NULL;
    int n = 0, differ = 0;
    for (int i = 0; i < picks->n; i++) {
        const struct report_row *row = picks->picks[i].row;
        n += row->nruns > 0;
        differ += report_runs_differ(row);
        if (row->nruns && (!most || row->nruns > most->nruns))
            most = row;
    }
    if (n)
        fprintf(out,
                "<p>Of %d settings and sizes, %d were measured several times, up to %d times. There the median of the runs "
                "counts, with an interval over all of theirs. In %d of them, the runs differ measurably: the findings below "
                "say how far apart they are.</p>\n",
                picks->n, n, most->nruns, differ);
}

void page_benchmarks(FILE *out, const struct report_page *page)
{
    const struct report_rows *rows = &page->results->rows;
    if (!rows->n)
        return;
    fprintf(out,
            "<section id=\"benchmarks\">\n<h2>All benchmarks together</h2>\n<p>%d rows of %d file%s. As files, beside this "
            "page: <a href=\"combined_benchmark.csv\">combined_benchmark.csv</a>, "
            "<a href=\"full_results.md\">full_results.md</a>, <a href=\"summary_by_config.md\">summary_by_config.md</a>, "
            "<a href=\"analysis.txt\">analysis.txt</a>.</p>\n",
            rows->n, rows->nsources, rows->nsources == 1 ? "" : "s");
    if (page->picks->is_cut)
        fputs("<p class=\"warning\">There are too many rows: the first 20000 are compared.</p>\n", out);
    put_sources(out, rows);
    put_runs(out, page->picks);
    if (page->picks->n)
        put_charts(out, page);
    put_findings(out, page->findings);
    put_troubles(out, page->findings);
    fputs("</section>\n", out);
}
