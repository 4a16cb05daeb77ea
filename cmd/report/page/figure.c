// SPDX-License-Identifier: MIT
// A figure, and the table behind it (page.h).

#include "cmd/report/page/page.h"

#include <stdlib.h>
#include <string.h>

#include "cmd/report/page/text.h"
#include "core/base/text.h"

enum { MOST_ROWS = 1000 };

// The line `key: value` of FIGURE.txt; "" without one.
static void note(const char *figure, const char *key, char *value, size_t room)
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
    fputs("<div class=\"picture\" tabindex=\"0\"><img src=\"data:image/svg+xml;base64,", out);
    page_base64(out, file);
    fputs("\" alt=\"", out);
    page_text(out, alt);
    fputs("\"></div>\n", out);
    fclose(file);
}

void page_figure(FILE *out, const char *folder, const char *figure)
{
    char title[1024], alt[1024], path[4096];
    note(figure, "title", title, sizeof title);
    note(figure, "alt", alt, sizeof alt);
    fputs("<h3>", out);
    page_text(out, title);
    fputs("</h3>\n<figure>\n", out);
    put_image(out, figure, alt);
    fputs("<figcaption>", out);
    page_text(out, alt);
    fputs(" Files: ", out);
    snprintf(path, sizeof path, "%s.svg", figure);
    page_link(out, folder, path, "SVG");
    fputs(", ", out);
    snprintf(path, sizeof path, "%s.png", figure);
    page_link(out, folder, path, "PNG");
    fputs(".</figcaption>\n</figure>\n", out);
}

// ---- tables --------------------------------------------------------------------------------------------------

void page_from(FILE *out, const char *path, int line, const char *column, const char *text)
{
    const char *slash = strrchr(path, '/');
    fputs("<td class=\"n\" data-from=\"", out);
    page_url_name(out, slash ? slash + 1 : path);
    fprintf(out, ":%d:", line);
    page_url_name(out, column);
    fputs("\">", out);
    page_cell(out, text);
    fputs("</td>", out);
}

static bool is_shown(const struct report_section *s, const struct report_figure *figure, int row)
{
    if (!figure || !figure->collective)
        return true;
    if (!strcmp(figure->collective, "*"))
        return *clab_csv_cell(&s->data, row, "predicted_usec") != 0;
    return !strcmp(clab_csv_cell(&s->data, row, "collective"), figure->collective);
}

static bool has_column(const struct report_figure *figure, const char *name)
{
    return !figure || !figure->columns || clab_list_has(figure->columns, name);
}

static void put_row(FILE *out, const struct report_section *s, const struct report_figure *figure, int row)
{
    const struct clab_csv *data = &s->data;
    fputs("<tr>", out);
    for (int i = 0; i < data->ncolumns; i++) {
        const char *text = data->cells[(row + 1) * data->ncolumns + i];
        if (!has_column(figure, data->cells[i]))
            continue;
        if (page_is_number(text)) {
            page_from(out, s->csv, data->lines[row + 1], data->cells[i], text);
            continue;
        }
        fputs("<td>", out);
        page_cell(out, text);
        fputs("</td>", out);
    }
    fputs("</tr>\n", out);
}

static void put_head(FILE *out, const struct report_section *s, const struct report_figure *figure)
{
    fputs("<thead><tr>", out);
    for (int i = 0; i < s->data.ncolumns; i++)
        if (has_column(figure, s->data.cells[i])) {
            fputs("<th scope=\"col\">", out);
            page_text(out, s->data.cells[i]);
            fputs("</th>", out);
        }
    fputs("</tr></thead>\n", out);
}

void page_table(FILE *out, const struct report_section *s, const struct report_figure *figure)
{
    int all = 0, shown = 0;
    for (int row = 0; row < s->data.nrows; row++)
        all += is_shown(s, figure, row);
    fprintf(out,
            "<details>\n<summary>The data behind this: %d rows</summary>\n<div class=\"scroll\" tabindex=\"0\">\n"
            "<table>\n",
            all);
    put_head(out, s, figure);
    fputs("<tbody>\n", out);
    for (int row = 0; row < s->data.nrows && shown < MOST_ROWS; row++)
        if (is_shown(s, figure, row)) {
            put_row(out, s, figure, row);
            shown++;
        }
    fputs("</tbody>\n</table>\n</div>\n", out);
    if (all > MOST_ROWS)
        fprintf(out, "<p class=\"small\">These are the first %d rows. The file has all of them.</p>\n", MOST_ROWS);
    fputs("</details>\n", out);
}
