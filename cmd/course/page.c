// SPDX-License-Identifier: MIT
// The pages of a unit on a terminal (page.h).

#include "cmd/course/page.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/machine/called.h"
#include "core/base/err.h"
#include "core/base/files/input.h"

// ---- one line ------------------------------------------------------------------------------------------------

// The length of a tag of ours at `text`: 0 where there is none, as in "a < b".
static size_t tag_length(const char *text)
{
    static const char *const tags[] = {"<details>", "</details>", "<summary>", "</summary>"};
    for (size_t i = 0; i < sizeof tags / sizeof *tags; i++)
        if (!strncmp(text, tags[i], strlen(tags[i])))
            return strlen(tags[i]);
    return 0;
}

// "](target)" at `text`: its length; 0: no link ends here.
static size_t target_length(const char *text)
{
    const char *end = strncmp(text, "](", 2) ? NULL : strchr(text, ')');
    return end ? (size_t)(end - text) + 1 : 0;
}

static bool is_link(const char *bracket)
{
    const char *end = strchr(bracket, ']');
    return *bracket == '[' && end && target_length(end) > 0;
}

// Bytes at `text` that are markup, and not shown.
static size_t markup_length(const char *text)
{
    if (!strncmp(text, "**", 2))
        return 2;
    return is_link(text) ? 1 : *text == ']' ? target_length(text) : tag_length(text);
}

static bool is_code(const char *line)
{
    return !strncmp(line, "    ", 4);
}

// The first `length` bytes of a line without markup. Returns how wide that is: characters of UTF-8.
static int print_part(const char *line, size_t length, FILE *out)
{
    int width = 0;
    for (const char *end = line + length; line < end;) {
        const size_t skipped = markup_length(line);
        if (!skipped && out)
            putc(*line, out);
        width += !skipped && ((unsigned char)*line & 0xc0) != 0x80;
        line += skipped ? skipped : 1;
    }
    return width;
}

static void print_line(const char *said, FILE *out)
{
    char *named = clab_called_text(said);
    const char *line = named ? named : said;
    if (is_code(line))
        fputs(line, out);
    else
        print_part(line, strlen(line), out);
    putc('\n', out);
    free(named);
}

static bool is_comment(const char *line)
{
    return !strncmp(line, "<!--", 4);
}

static bool is_blank(const char *line)
{
    return !line[strspn(line, " \t\r")];
}

// ---- a page --------------------------------------------------------------------------------------------------

// The lines of a page, cut apart in place.
struct page {
    struct clab_input input;
    char *next; // NULL: there is none
};

static int page_open(const struct course *course, const struct course_unit *unit, const char *file, struct page *page_p)
{
    char path[PATH_MAX];
    CLAB_TRY(course_unit_path(course, unit, file, path));
    CLAB_TRY(clab_input_open(path, CLAB_INPUT_SETTINGS, &page_p->input));
    page_p->next = page_p->input.text;
    return CLAB_OK;
}

static char *next_line(struct page *page)
{
    char *line = page->next;
    char *end = line ? strchr(line, '\n') : NULL;
    if (end)
        *end = 0;
    page->next = end ? end + 1 : NULL;
    return line && !end && !*line ? NULL : line;
}

int page_print(const struct course *course, const struct course_unit *unit, const char *file, FILE *out)
{
    struct page page;
    CLAB_TRY(page_open(course, unit, file, &page));
    for (char *line; (line = next_line(&page));)
        if (!is_comment(line))
            print_line(line, out);
    clab_input_close(&page.input);
    return CLAB_OK;
}

// ---- a section -----------------------------------------------------------------------------------------------

static bool has_word(const char *heading, const char *words)
{
    while (*words) {
        char word[32];
        const size_t length = strcspn(words, "|");
        snprintf(word, sizeof word, "%.*s", (int)length, words);
        if (strcasestr(heading, word))
            return true;
        words += length + (words[length] == '|');
    }
    return false;
}

// Go on behind the heading that has one of the words.  Returns it, or NULL.
static char *seek_section(struct page *page, const char *words)
{
    for (char *line; (line = next_line(page));)
        if (!strncmp(line, "## ", 3) && has_word(line, words))
            return line + 3;
    return NULL;
}

// Go on behind the line that begins with `start`. Returns it, or NULL.
static char *seek_line(struct page *page, const char *start)
{
    for (char *line; (line = next_line(page));)
        if (!strncmp(line, start, strlen(start)))
            return line;
    return NULL;
}

// ---- a table -------------------------------------------------------------------------------------------------

enum { ROWS = 40, COLUMNS = 8 };

// The cell at `text`, which follows a "|": its length without blanks around it; 0 behind the last one. `*text_p`: where it
// begins, and `*next_p` what follows its "|".
static size_t find_cell(const char **text_p, const char **next_p)
{
    *text_p += strspn(*text_p, " \t");
    const char *end = strchr(*text_p, '|');
    size_t length = end ? (size_t)(end - *text_p) : 0;
    *next_p = end ? end + 1 : NULL;
    while (length && (*text_p)[length - 1] == ' ')
        length--;
    return length;
}

// |---|---|
static bool is_rule(const char *row)
{
    return !row[strspn(row, "|-: ")];
}

// A row with its columns two blanks apart; widths: at least those of its cells, from then on. out NULL: only measured.
static void print_row(const char *row, int widths[COLUMNS], FILE *out)
{
    const char *text = row + 1, *next;
    for (int c = 0, gap = 0; c < COLUMNS; c++, text = next) {
        const size_t length = find_cell(&text, &next);
        if (!next)
            return;
        if (out)
            fprintf(out, "%*s", gap, "");
        const int width = print_part(text, length, out);
        widths[c] = width > widths[c] ? width : widths[c];
        gap = widths[c] - width + 2;
    }
}

static void print_table(char *const rows[], int n, FILE *out)
{
    int widths[COLUMNS] = {0};
    for (int r = 0; r < n; r++)
        if (!is_rule(rows[r]))
            print_row(rows[r], widths, NULL);
    for (int r = 0; r < n; r++) {
        if (!is_rule(rows[r]))
            print_row(rows[r], widths, out);
        for (int c = 0; c < COLUMNS && is_rule(rows[r]); c++)
            for (int i = 0; i < widths[c] + 2 && (i < widths[c] || (c + 1 < COLUMNS && widths[c + 1])); i++)
                putc(i < widths[c] ? '-' : ' ', out);
        putc('\n', out);
    }
}

// The table that begins with `line`. Returns the line behind it.
static char *take_table(struct page *page, char *line, FILE *out)
{
    char *rows[ROWS];
    int n = 0;
    for (; line && *line == '|' && n < ROWS; line = next_line(page))
        rows[n++] = line;
    print_table(rows, n, out);
    return line;
}

// ---- some of a section -----------------------------------------------------------------------------------------

// A paragraph, list or table, whole. Returns the line behind it.
static char *take_block(struct page *page, char *line, int *printed_p, FILE *out)
{
    while (line && !is_blank(line)) {
        const bool is_table = *line == '|';
        if (!is_table)
            print_line(line, out);
        line = is_table ? take_table(page, line, out) : next_line(page);
        ++*printed_p;
    }
    return line;
}

// Print text until the next heading or the next commands. After `most` lines or more no further paragraph, list or table
// begins. Gaps are one line, and none at the end.
static void print_some(struct page *page, char *line, int most, FILE *out)
{
    for (int printed = 0; line && printed < most;) {
        while (line && is_blank(line))
            line = next_line(page);
        if (!line || *line == '#' || is_code(line) || tag_length(line))
            return;
        if (printed)
            putc('\n', out);
        line = take_block(page, line, &printed, out);
    }
}

int page_print_task(const struct course *course, const struct course_unit *unit, int most, FILE *out)
{
    char heading[128];
    struct page page;
    CLAB_TRY(page_find_section(course, unit, PAGE_TASK, heading, sizeof heading));
    CLAB_TRY(page_open(course, unit, "lab.md", &page));
    if (*heading && seek_section(&page, PAGE_TASK))
        print_some(&page, next_line(&page), most, out);
    else
        print_some(&page, seek_line(&page, "**Goal.**"), most, out);
    clab_input_close(&page.input);
    return CLAB_OK;
}

int page_find_section(const struct course *course, const struct course_unit *unit, const char *words, char *heading_p,
                      size_t room)
{
    struct page page;
    CLAB_TRY(page_open(course, unit, "lab.md", &page));
    const char *heading = seek_section(&page, words);
    snprintf(heading_p, room, "%s", heading ? heading : "");
    clab_input_close(&page.input);
    return CLAB_OK;
}
