// SPDX-License-Identifier: MIT
// One result file as a section: its figures, the data behind each, the command and the machine that made it, its
// warnings. And the claims.

#include "cmd/report/page/page.h"

#include <stdlib.h>
#include <string.h>

#include "cmd/report/page/text.h"

// "2 ranks on 2 cores, shm", or of several backends, a job each: "2 ranks on 2 cores, shm, ofi". (A manifest has values
// of one key with "; " between them.)
static void put_job(FILE *out, const char *job)
{
    const char *first = job;
    for (const char *end; (end = strstr(job, "; ")); job = end + 2) {
        char *part = strndup(job, (size_t)(end - job));
        const char *name = part && job != first ? strrchr(part, ',') : NULL;
        page_text(out, name ? name : part ? part : "");
        free(part);
    }
    const char *name = job != first ? strrchr(job, ',') : NULL;
    page_text(out, name ? name : job);
}

void page_section_title(FILE *out, const struct report_section *s)
{
    const char *lab = clab_manifest_get(&s->data.manifest, "lab"), *job = clab_manifest_get(&s->data.manifest, "job");
    fputs(lab ? "Lab " : "Collectives: ", out);
    if (lab || !job)
        page_text(out, lab ? lab : s->name);
    else
        put_job(out, job);
    if (lab) { // it may have run in several settings
        fputs(" (", out);
        page_text(out, s->name);
        fputs(")", out);
    }
}

static void put_manifest(FILE *out, const struct report_section *s)
{
    fputs("<details>\n<summary>How this was measured</summary>\n<dl>\n", out);
    for (int i = 0; i < s->data.manifest.count; i++) {
        fputs("<dt>", out);
        page_text(out, s->data.manifest.entries[i].key);
        fputs("</dt><dd>", out);
        page_text(out, s->data.manifest.entries[i].value);
        fputs("</dd>\n", out);
    }
    fputs("</dl>\n</details>\n", out);
}

static void put_warnings(FILE *out, const struct report_section *s)
{
    const char *warning = clab_manifest_get(&s->data.manifest, "warning");
    const char *plain = clab_manifest_get(&s->data.manifest, "plain");
    if (plain) {
        fputs("<p>Without an emulated wire: ", out);
        page_text(out, plain);
        fputs("</p>\n", out);
    }
    if (warning) {
        fputs("<p class=\"warning\"><strong>Warning:</strong> ", out);
        page_text(out, warning);
        fputs("</p>\n", out);
    }
}

void page_origin(FILE *out, const char *folder, const struct report_section *s)
{
    const char *command = clab_manifest_get(&s->data.manifest, "command");
    const char *machine = clab_manifest_get(&s->data.manifest, "machine");
    fputs("<p class=\"small\">Command: <code>", out);
    page_text(out, command ? command : "unknown");
    fputs("</code><br>Machine: ", out);
    page_text(out, machine ? machine : "unknown");
    fputs("<br>Data: ", out);
    page_link(out, folder, s->csv, strrchr(s->csv, '/') ? strrchr(s->csv, '/') + 1 : s->csv);
    fputs("</p>\n", out);
    put_warnings(out, s);
}

static void put_no_figure(FILE *out, const struct report_section *s)
{
    if (s->is_refused)
        fputs("<p>No figure was drawn: <code>./commlab report</code> says what is wrong with this file.</p>\n", out);
    else if (s->is_compared)
        fputs("<p>Its rows are in the <a href=\"#benchmarks\">figures of all benchmarks</a>.</p>\n", out);
    else
        fputs("<p>No figure was drawn: install gnuplot (gnuplot-nox on Debian), then "
              "<code>./commlab report</code>.</p>\n",
              out);
    page_table(out, s, NULL);
}

void page_section(FILE *out, const char *folder, const struct report_section *s)
{
    fputs("<section id=\"", out);
    page_url(out, s->name);
    fputs("\">\n<h2>", out);
    page_section_title(out, s);
    fputs("</h2>\n", out);
    page_origin(out, folder, s);
    for (int i = 0; i < s->nfigures; i++) {
        page_figure(out, folder, s->figures[i].path);
        page_table(out, s, &s->figures[i]);
    }
    if (!s->nfigures)
        put_no_figure(out, s);
    put_manifest(out, s);
    fputs("</section>\n", out);
}

// ---- claims --------------------------------------------------------------------------------------------------

static void put_claim(FILE *out, const struct report_claims *claims, int row)
{
    const struct report_verdict *v = &claims->verdicts[row];
    const char *const texts[] = {clab_csv_cell(&claims->data, row, "id"),
                                 clab_csv_cell(&claims->data, row, "claim"),
                                 v->claimed,
                                 v->measured,
                                 v->model,
                                 v->verdict};
    fputs("<tr>", out);
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        fputs("<td>", out);
        page_text(out, texts[i]);
        fputs("</td>", out);
    }
    fputs("</tr>\n", out);
}

void page_claims(FILE *out, const struct report_claims *claims)
{
    static const char *const headings[] = {"", "claim", "claimed", "measured here", "by the model, on", "verdict"};
    fputs(
        "<section id=\"claims\">\n<h2>Published claims</h2>\n<p>Claims of the material that this kit grew from, each "
        "of a before and an after. Numbers without a unit are ratios, time before over time after. What was measured "
        "is what lies in results/; what the model says is computed anew, for the hardware that is named.</p>\n"
        "<div class=\"whole\" tabindex=\"0\">\n<table>\n<thead><tr>",
        out);
    for (size_t i = 0; i < sizeof headings / sizeof *headings; i++)
        fprintf(out, "<th scope=\"col\">%s</th>", headings[i]);
    fputs("</tr></thead>\n<tbody>\n", out);
    for (int row = 0; row < claims->data.nrows; row++)
        put_claim(out, claims, row);
    fputs("</tbody>\n</table>\n</div>\n<p class=\"small\">Rows: <code>labs/claims.csv</code>, with the commands that "
          "price each. The same as CSV: claims.csv, beside this page.</p>\n</section>\n",
          out);
}
