// SPDX-License-Identifier: MIT
// The whole page (page.h): what comes first is what most readers want, all benchmarks together and what they say; then
// training runs, labs, single files, the claims.

#include "cmd/report/page/page.h"

#include <string.h>

#include "cmd/report/page/text.h"

static const char head[] = "<!DOCTYPE html>\n"
                           "<!-- SPDX-License-Identifier: CC-BY-4.0 -->\n"
                           "<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
                           "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
                           "<title>commlab: what this machine measured</title>\n";

static const char reading[] =
    "<p>Each figure has measured points with their 95 % intervals (of fewer than six runs their range, as it says), "
    "what was predicted as lines, and physical limits dashed in grey. Predictions of collectives were computed from "
    "point-to-point messages, copies and reductions alone; what a lab adds to that (probes of its own) its lab.md "
    "says. Below each figure are the rows behind it. On a narrow screen, figures and tables scroll sideways.</p>\n";

static const char foot[] =
    "</main>\n<footer class=\"small\"><p>Written by <code>./commlab report</code>. Text and figures: "
    "<a href=\"https://creativecommons.org/licenses/by/4.0/\">CC BY 4.0</a>.</p></footer>\n</body>\n</html>\n";

// ---- contents ------------------------------------------------------------------------------------------------

static void put_entry(FILE *out, const struct report_section *s)
{
    fputs("<li><a href=\"#", out);
    page_url(out, s->name);
    fputs("\">", out);
    if (s->kind != REPORT_TRAINING)
        page_section_title(out, s);
    if (s->kind != REPORT_LAB) { // whose title has the file's name
        fputs(s->kind == REPORT_TRAINING ? "" : ": ", out);
        page_text_most(out, s->name, 80);
    }
    fputs("</a></li>\n", out);
}

static void put_entries(FILE *out, const struct report_results *r, const char *title, enum report_kind from,
                        enum report_kind to)
{
    bool is_open = false;
    for (int i = 0; i < r->nsections; i++) {
        if (r->sections[i].kind < from || r->sections[i].kind > to)
            continue;
        if (!is_open)
            fprintf(out, "<p>%s:</p>\n<ul>\n", title);
        is_open = true;
        put_entry(out, &r->sections[i]);
    }
    fputs(is_open ? "</ul>\n" : "", out);
}

static void put_contents(FILE *out, const struct report_page *page)
{
    fputs("<nav aria-label=\"Contents\">\n<ul>\n", out);
    if (page->results->rows.n)
        fputs("<li><a href=\"#benchmarks\">All benchmarks together</a></li>\n", out);
    if (page->claims)
        fputs("<li><a href=\"#claims\">Published claims</a></li>\n", out);
    fputs("</ul>\n", out);
    put_entries(out, page->results, "Training runs", REPORT_TRAINING, REPORT_TRAINING);
    put_entries(out, page->results, "Labs", REPORT_LAB, REPORT_LAB);
    put_entries(out, page->results, "Single files", REPORT_OTHER, REPORT_BENCH);
    fputs("</nav>\n", out);
}

// ---- other files ---------------------------------------------------------------------------------------------

static void put_traces(FILE *out, const struct report_page *page)
{
    if (!page->results->ntraces) {
        fputs("<p>No trace lies beside the results. <code>./commlab bench allreduce -n 2 --trace "
              "results/trace.json</code> writes one: who did what when.</p>\n",
              out);
        return;
    }
    fputs("<p>Traces, to be opened in <a href=\"https://ui.perfetto.dev\">Perfetto</a>:", out);
    for (int i = 0; i < page->results->ntraces; i++) {
        const char *path = page->results->traces[i];
        fputs(i ? ", " : " ", out);
        page_link(out, page->folder, path, strrchr(path, '/') ? strrchr(path, '/') + 1 : path);
    }
    fputs(".</p>\n", out);
}

static void put_left_out(FILE *out, const struct report_results *r)
{
    if (!r->nleft_out)
        return;
    fputs("<section id=\"left-out\">\n<h2>Files and rows that are left out</h2>\n<ul>\n", out);
    for (int i = 0; i < r->nleft_out; i++) {
        const char *why = r->left_out[i].why, *folder = strstr(why, r->folder);
        fputs("<li>", out);
        page_text_most(out, folder == why ? why + strlen(r->folder) + 1 : why, 400);
        fputs("</li>\n", out);
    }
    fputs("</ul>\n</section>\n", out);
}

static void put_sections(FILE *out, const struct report_page *page, enum report_kind from, enum report_kind to)
{
    for (int i = 0; i < page->results->nsections; i++) {
        const struct report_section *s = &page->results->sections[i];
        if (s->kind < from || s->kind > to)
            continue;
        if (s->kind == REPORT_TRAINING)
            page_training(out, page, s);
        else
            page_section(out, page->folder, s);
    }
}

void report_page_write(FILE *out, const struct report_page *page)
{
    fputs(head, out);
    fputs(page_style, out);
    fputs("</head>\n<body>\n<main>\n<h1>Measurements and predictions</h1>\n", out);
    fputs(reading, out);
    report_steppers_link(out);
    put_traces(out, page);
    put_contents(out, page);
    page_benchmarks(out, page);
    put_sections(out, page, REPORT_TRAINING, REPORT_TRAINING);
    put_sections(out, page, REPORT_LAB, REPORT_LAB);
    put_sections(out, page, REPORT_OTHER, REPORT_BENCH);
    if (page->claims)
        page_claims(out, page->claims);
    put_left_out(out, page->results);
    fputs(foot, out);
}
