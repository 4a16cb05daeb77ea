// SPDX-License-Identifier: MIT
// A training report: its fields by groups, measured beside predicted, or why they were not measured.

#include "cmd/report/page/page.h"

#include <stdlib.h>
#include <string.h>

#include "cmd/report/page/text.h"
#include "cmd/report/training/format.h"

static const char *cell(const struct report_section *s, int row, const char *name)
{
    return clab_csv_cell(&s->data, row, name);
}

// A value in words, in a cell that names where it was read.
static void put_value(FILE *out, const struct report_section *s, int row, const char *column)
{
    char text[TRAINING_TEXT];
    training_value_text(cell(s, row, column), cell(s, row, "unit"), text);
    if (page_is_number(cell(s, row, column))) {
        page_from(out, s->csv, s->data.lines[row + 1], column, text);
        return;
    }
    fputs("<td>", out);
    page_text_most(out, *text ? text : "-", 120);
    fputs("</td>", out);
}

static void put_row(FILE *out, const struct report_section *s, int row)
{
    char name[TRAINING_TEXT];
    const bool is_not = !*cell(s, row, "value");
    training_name_text(cell(s, row, "field"), name);
    fputs("<tr><td>", out);
    page_text(out, name);
    fputs("</td>", out);
    if (is_not) {
        fputs("<td class=\"not\" colspan=\"5\">", out);
        page_text_most(out, cell(s, row, "how"), 400);
        fputs("</td></tr>\n", out);
        return;
    }
    put_value(out, s, row, "value");
    put_value(out, s, row, "low");
    put_value(out, s, row, "high");
    put_value(out, s, row, "predicted");
    fputs("<td>", out);
    page_text_most(out, cell(s, row, "how"), 400);
    fputs("</td></tr>\n", out);
}

static void put_group(FILE *out, const struct report_section *s, int first, int end)
{
    static const char *const headings[] = {"", "measured", "low", "high", "predicted", "how"};
    char name[TRAINING_TEXT];
    training_name_text(cell(s, first, "group"), name);
    fputs("<h4>", out);
    page_text(out, name);
    fputs("</h4>\n<div class=\"whole fields\" tabindex=\"0\">\n<table>\n<thead><tr>", out);
    for (size_t i = 0; i < sizeof headings / sizeof *headings; i++)
        fprintf(out, "<th scope=\"col\">%s</th>", headings[i]);
    fputs("</tr></thead>\n<tbody>\n", out);
    for (int row = first; row < end; row++)
        put_row(out, s, row);
    fputs("</tbody>\n</table>\n</div>\n", out);
}

void page_training(FILE *out, const struct report_page *page, const struct report_section *s)
{
    fputs("<section id=\"", out);
    page_url(out, s->name);
    fputs("\">\n<h2>A training run: ", out);
    page_text_most(out, s->name, 80);
    fputs("</h2>\n", out);
    page_origin(out, page->folder, s);
    for (int first = 0, end; first < s->data.nrows; first = end) {
        for (end = first + 1; end < s->data.nrows && !strcmp(cell(s, end, "group"), cell(s, first, "group"));)
            end++;
        put_group(out, s, first, end);
    }
    fputs("</section>\n", out);
}
