// SPDX-License-Identifier: MIT
// The pages of a unit on a terminal (page.h).

#include "cmd/course/page.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/err.h"
#include "core/base/input.h"

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

static void print_line(const char *line, FILE *out)
{
    const bool keeps = is_code(line);
    while (*line) {
        const size_t skipped = keeps ? 0 : markup_length(line);
        if (!skipped)
            putc(*line, out);
        line += skipped ? skipped : 1;
    }
    putc('\n', out);
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

// Print text until the next heading or the next commands, or until `most` lines are printed; gaps are one line, and none at the end.
static void print_some(struct page *page, char *line, int most, FILE *out)
{
    bool is_gap = false;
    for (int printed = 0; line && printed < most && *line != '#' && !is_code(line) && !tag_length(line);
         line = next_line(page)) {
        if (!is_blank(line)) {
            if (is_gap && printed)
                putc('\n', out);
            print_line(line, out);
            printed++;
        }
        is_gap = is_blank(line);
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
