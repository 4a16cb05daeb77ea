// SPDX-License-Identifier: MIT
// The pieces of the page: plain HTML without scripts, figures within it, so that the file can be sent alone. Only links
// lead to other files.
//
// - One section per result file: its figures, their data as a table, the command and the machine that made it, its
//   warnings.
// - All that is not ours goes through put_text, or through put_url where it is part of an address: results files, their
//   names, and the paths to them may come from anyone.
// - A figure's heading is its finding, and its text for those who can not see it is what the plot script wrote
//   (OUT.txt).

#include "cmd/report/report.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

static const char head[] =
    "<!DOCTYPE html>\n"
    "<!-- SPDX-License-Identifier: CC-BY-4.0 -->\n"
    "<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
    "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
    "<title>commlab: what this machine measured</title>\n"
    "<style>\n"
    "body { font: 16px/1.5 system-ui, sans-serif; color: #1a1a1a; background: #fff; "
    "max-width: 62rem; margin: 0 auto; padding: 1rem 1.5rem 4rem; }\n"
    "h1 { font-size: 1.9rem; line-height: 1.2; }\n"
    "h2 { font-size: 1.45rem; border-top: 2px solid #0072b2; padding-top: 1rem; margin-top: 3rem; }\n"
    "h3 { font-size: 1.12rem; margin: 2rem 0 0.3rem; } a { color: #005a8c; }\n"
    "figure { margin: 0.5rem 0 1rem; } figure img { width: 100%; height: auto; border: 1px solid #ddd; }\n"
    "figcaption, .small { font-size: 0.9rem; color: #404040; }\n"
    ".warning { border-left: 4px solid #d55e00; padding: 0.3rem 0.8rem; background: #fff6f0; }\n"
    "dl { display: grid; grid-template-columns: max-content 1fr; gap: 0.1rem 1rem; font-size: 0.9rem; }\n"
    "dt { font-weight: 600; } dd { margin: 0; overflow-wrap: anywhere; }\n"
    "details { margin: 0.6rem 0; } summary { cursor: pointer; color: #005a8c; }\n"
    ".scroll { overflow: auto; max-height: 30rem; border: 1px solid #ddd; }\n"
    ".whole { overflow-x: auto; } .whole table { white-space: normal; }\n"
    ".whole td { vertical-align: top; min-width: 6rem; } .whole td:first-child { min-width: 0; }\n"
    "table { border-collapse: collapse; font-size: 0.8rem; white-space: nowrap; }\n"
    "th, td { padding: 0.15rem 0.6rem; border-bottom: 1px solid #e4e4e4; text-align: left; }\n"
    ".n { text-align: right; font-variant-numeric: tabular-nums; }\n"
    "th { position: sticky; top: 0; background: #f3f3f3; }\n"
    "</style>\n</head>\n<body>\n<main>\n";

static const char reading[] =
    "<p>Each figure has measured points with their 95 % intervals (of fewer than six runs their range, as it says), "
    "what was predicted as lines, and physical limits dashed in grey. Predictions of collectives were computed from "
    "point-to-point messages, copies and reductions alone; what a lab adds to that (probes of its own) its lab.md "
    "says. The rows behind the figures, the command that measured them and the machine stand below each group.</p>\n";

static const char foot[] =
    "</main>\n<footer class=\"small\"><p>Written by <code>./commlab report</code>. Text and figures: "
    "<a href=\"https://creativecommons.org/licenses/by/4.0/\">CC BY 4.0</a>.</p></footer>\n</body>\n</html>\n";

// ---- text ----------------------------------------------------------------------------------------------------

// At most so many bytes of foreign text, and rows of a table: the page stays one that a browser opens, whatever it is of.
enum { MOST_TEXT = 4096, MOST_CELL = 256, MOST_ROWS = 1000 };

// What fits of a text that is UTF-8, in bytes.
static size_t whole_signs(const char *text, size_t most)
{
    size_t bytes = strnlen(text, most + 1);
    if (bytes <= most)
        return bytes;
    for (bytes = most; bytes > most - 4 && ((unsigned char)text[bytes] & 0xc0) == 0x80;)
        bytes--;
    return bytes;
}

static void put_most(FILE *out, const char *text, size_t most)
{
    const char *end = text + whole_signs(text, most);
    const bool is_cut = *end;
    for (; text < end; text++)
        switch (*text) {
        case '&': fputs("&amp;", out); break;
        case '<': fputs("&lt;", out); break;
        case '>': fputs("&gt;", out); break;
        case '"': fputs("&quot;", out); break;
        case '\'': fputs("&#39;", out); break;
        case '\t': fputc(' ', out); break;
        default: fputs((unsigned char)*text < ' ' || *text == 0x7f ? "\xef\xbf\xbd" : (char[2]){*text, 0}, out);
        }
    if (is_cut)
        fputs(" …", out);
}

static void put_text(FILE *out, const char *text)
{
    put_most(out, text, MOST_TEXT);
}

// Part of an address, or a section's name: characters with a meaning in addresses, such as ':' and '#', are encoded.
// Source: RFC 3986, section 2.3.
static void put_url(FILE *out, const char *path)
{
    for (; *path; path++)
        if ((*path >= 'a' && *path <= 'z') || (*path >= 'A' && *path <= 'Z') || (*path >= '0' && *path <= '9') ||
            strchr("-._~/", *path))
            fputc(*path, out);
        else
            fprintf(out, "%%%02X", (unsigned char)*path);
}

static bool is_number(const char *text)
{
    char *end;
    strtod(text, &end);
    return *text && !*end;
}

// A number to four digits, if it has more.
static void put_cell(FILE *out, const char *text)
{
    if (is_number(text) && strpbrk(text, ".e") && strlen(text) > 7)
        fprintf(out, "%.4g", strtod(text, NULL));
    else
        put_most(out, text, MOST_CELL);
}

static void put_base64(FILE *out, FILE *in)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    unsigned char b[3];
    for (size_t n; (n = fread(b, 1, 3, in)) > 0;) {
        const unsigned bits = (unsigned)b[0] << 16 | (n > 1 ? (unsigned)b[1] << 8 : 0) | (n > 2 ? b[2] : 0);
        for (size_t i = 0; i < 4; i++)
            fputc(i <= n ? digits[bits >> (18 - 6 * i) & 63] : '=', out);
    }
}

// ---- figures -------------------------------------------------------------------------------------------------

// The line `key: value` of FIGURE.txt.
static void read_note(const char *figure, const char *key, char *value, size_t room)
{
    char path[4096], line[1024];
    snprintf(path, sizeof path, "%s.txt", figure);
    FILE *file = fopen(path, "r");
    *value = 0;
    while (file && fgets(line, sizeof line, file)) {
        const size_t length = strlen(key);
        if (strncmp(line, key, length) || strncmp(line + length, ": ", 2))
            continue;
        line[strcspn(line, "\n")] = 0;
        snprintf(value, room, "%s", line + length + 2);
    }
    if (file)
        fclose(file);
}

static void put_image(FILE *out, const char *figure, const char *alt)
{
    char path[4096];
    snprintf(path, sizeof path, "%s.svg", figure);
    FILE *file = fopen(path, "r");
    if (!file)
        return;
    fputs("<img src=\"data:image/svg+xml;base64,", out);
    put_base64(out, file);
    fputs("\" alt=\"", out);
    put_text(out, alt);
    fputs("\">\n", out);
    fclose(file);
}

// A link from `folder` to `path`: both are below the kit's folder, or the link is the whole path.
static void put_link(FILE *out, const char *folder, const char *path, const char *text)
{
    size_t same = 0;
    for (size_t i = 0; folder[i] && folder[i] == path[i]; i++)
        if (folder[i] == '/')
            same = i + 1;
    fputs("<a href=\"", out);
    for (const char *p = folder + same; same > 1 && *p; p++)
        if (p[1] == '/' || !p[1])
            fputs("../", out);
    put_url(out, same > 1 ? path + same : path);
    fputs("\">", out);
    put_text(out, text);
    fputs("</a>", out);
}

static void put_figure(FILE *out, const char *folder, const char *figure)
{
    char title[1024], alt[1024], path[4096];
    read_note(figure, "title", title, sizeof title);
    read_note(figure, "alt", alt, sizeof alt);
    fputs("<h3>", out);
    put_text(out, title);
    fputs("</h3>\n<figure>\n", out);
    put_image(out, figure, alt);
    fputs("<figcaption>", out);
    put_text(out, alt);
    fputs(" Files: ", out);
    snprintf(path, sizeof path, "%s.svg", figure);
    put_link(out, folder, path, "SVG");
    fputs(", ", out);
    snprintf(path, sizeof path, "%s.png", figure);
    put_link(out, folder, path, "PNG");
    fputs(".</figcaption>\n</figure>\n", out);
}

// ---- sections ------------------------------------------------------------------------------------------------

static void put_table(FILE *out, const struct clab_csv *data)
{
    fprintf(out,
            "<details>\n<summary>The data behind this: %d rows</summary>\n<div class=\"scroll\" tabindex=\"0\">\n"
            "<table>\n<thead><tr>",
            data->nrows);
    for (int i = 0; i < data->ncolumns; i++) {
        fputs("<th scope=\"col\">", out);
        put_text(out, data->cells[i]);
        fputs("</th>", out);
    }
    fputs("</tr></thead>\n<tbody>\n", out);
    for (int row = 1; row <= data->nrows && row <= MOST_ROWS; row++) {
        fputs("<tr>", out);
        for (int i = 0; i < data->ncolumns; i++) {
            const char *text = data->cells[row * data->ncolumns + i];
            fputs(is_number(text) ? "<td class=\"n\">" : "<td>", out);
            put_cell(out, text);
            fputs("</td>", out);
        }
        fputs("</tr>\n", out);
    }
    fputs("</tbody>\n</table>\n</div>\n", out);
    if (data->nrows > MOST_ROWS)
        fprintf(out, "<p class=\"small\">These are the first %d rows. The file has all of them.</p>\n", MOST_ROWS);
    fputs("</details>\n", out);
}

// "2 ranks on 2 cores, shm", or of several backends, a job each: "2 ranks on 2 cores, shm, ofi". (A manifest has values
// of one key with "; " between them.)
static void put_job(FILE *out, const char *job)
{
    const char *first = job;
    for (const char *end; (end = strstr(job, "; ")); job = end + 2) {
        char *part = strndup(job, (size_t)(end - job));
        const char *name = part && job != first ? strrchr(part, ',') : NULL;
        put_text(out, name ? name : part ? part : "");
        free(part);
    }
    const char *name = job != first ? strrchr(job, ',') : NULL;
    put_text(out, name ? name : job);
}

static void put_title(FILE *out, const struct report_section *s)
{
    const char *lab = clab_manifest_get(&s->data.manifest, "lab"), *job = clab_manifest_get(&s->data.manifest, "job");
    fputs(lab ? "Lab " : "Collectives: ", out);
    if (lab || !job)
        put_text(out, lab ? lab : s->name);
    else
        put_job(out, job);
    if (lab) { // it may have run in several settings
        fputs(" (", out);
        put_text(out, s->name);
        fputs(")", out);
    }
}

static void put_manifest(FILE *out, const struct report_section *s)
{
    fputs("<details>\n<summary>How this was measured</summary>\n<dl>\n", out);
    for (int i = 0; i < s->data.manifest.count; i++) {
        fputs("<dt>", out);
        put_text(out, s->data.manifest.entries[i].key);
        fputs("</dt><dd>", out);
        put_text(out, s->data.manifest.entries[i].value);
        fputs("</dd>\n", out);
    }
    fputs("</dl>\n</details>\n", out);
}

static void put_section(FILE *out, const char *folder, const struct report_section *s)
{
    const char *warning = clab_manifest_get(&s->data.manifest, "warning");
    const char *plain = clab_manifest_get(&s->data.manifest, "plain");
    const char *command = clab_manifest_get(&s->data.manifest, "command");
    const char *machine = clab_manifest_get(&s->data.manifest, "machine");
    fputs("<section id=\"", out);
    put_url(out, s->name);
    fputs("\">\n<h2>", out);
    put_title(out, s);
    fputs("</h2>\n<p class=\"small\">Command: <code>", out);
    put_text(out, command ? command : "unknown");
    fputs("</code><br>Machine: ", out);
    put_text(out, machine ? machine : "unknown");
    fputs("<br>Data: ", out);
    put_link(out, folder, s->csv, strrchr(s->csv, '/') ? strrchr(s->csv, '/') + 1 : s->csv);
    fputs("</p>\n", out);
    if (plain) {
        fputs("<p>Without an emulated wire: ", out);
        put_text(out, plain);
        fputs("</p>\n", out);
    }
    if (warning) {
        fputs("<p class=\"warning\"><strong>Warning:</strong> ", out);
        put_text(out, warning);
        fputs("</p>\n", out);
    }
    for (int i = 0; i < s->nfigures; i++)
        put_figure(out, folder, s->figures[i]);
    if (!s->nfigures && s->is_refused)
        fputs("<p>No figure was drawn: <code>./commlab report</code> says what is wrong with this file.</p>\n", out);
    else if (!s->nfigures)
        fputs("<p>No figure was drawn: install gnuplot (gnuplot-nox on Debian), then "
              "<code>./commlab report</code>.</p>\n",
              out);
    put_table(out, &s->data);
    put_manifest(out, s);
    fputs("</section>\n", out);
}

static void put_claims(FILE *out, const struct report_claims *claims)
{
    static const char *const headings[] = {"", "claim", "claimed", "measured here", "by the model, on", "verdict"};
    fputs(
        "<section id=\"claims\">\n<h2>What was claimed</h2>\n<p>Claims of the material that this kit grew from, each "
        "of a before and an after. Numbers without a unit are ratios, time before over time after. What was measured "
        "is what lies in results/; what the model says is computed anew, for the hardware that is named.</p>\n"
        "<div class=\"whole\" tabindex=\"0\">\n<table>\n<thead><tr>",
        out);
    for (size_t i = 0; i < sizeof headings / sizeof *headings; i++)
        fprintf(out, "<th scope=\"col\">%s</th>", headings[i]);
    fputs("</tr></thead>\n<tbody>\n", out);
    for (int row = 0; row < claims->data.nrows; row++) {
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
            put_text(out, texts[i]);
            fputs("</td>", out);
        }
        fputs("</tr>\n", out);
    }
    fputs("</tbody>\n</table>\n</div>\n<p class=\"small\">Rows: <code>labs/claims.csv</code>, with the commands that "
          "price each. The same as CSV: claims.csv, beside this page.</p>\n</section>\n",
          out);
}

static void put_contents(FILE *out, const struct report_section *sections, int n, const struct report_claims *claims)
{
    fputs("<nav aria-label=\"Contents\">\n<ul>\n", out);
    if (claims)
        fputs("<li><a href=\"#claims\">What was claimed</a></li>\n", out);
    for (int i = 0; i < n; i++) {
        fputs("<li><a href=\"#", out);
        put_url(out, sections[i].name);
        fputs("\">", out);
        put_title(out, &sections[i]);
        fputs("</a></li>\n", out);
    }
    fputs("</ul>\n</nav>\n", out);
}

void report_html_page(FILE *out, const char *folder, const struct report_section *sections, int nsections,
                      const struct report_claims *claims)
{
    fputs(head, out);
    fputs("<h1>What this machine measured, and what was predicted</h1>\n", out);
    fputs(reading, out);
    report_steppers_link(out);
    put_contents(out, sections, nsections, claims);
    if (claims)
        put_claims(out, claims);
    for (int i = 0; i < nsections; i++)
        put_section(out, folder, &sections[i]);
    fputs(foot, out);
}
