// SPDX-License-Identifier: MIT
// Result files: a table of any text that is written is read as the same, but for formulas; any file that is read has a
// name for each cell; and whatever it holds is text on the page, never markup.

#include "tests/fuzz/fuzz.h"

#include "core/base/err.h"
#include "core/base/files/table.h"
#include "cmd/report/report.h"

static const char path[] = "a.csv";

// The text is taken apart.
static int read_text(char *text, size_t size, struct clab_csv *data_p)
{
    fuzz_log_clear();
    return clab_csv_parse(text, size, path, data_p);
}

// ---- written and read ----------------------------------------------------------------------------------------

enum { COLUMNS = 3, MOST_CELLS = 60 };

// Cells are what stands between zeros, of one line each: a cell is a line's part.
static int cells_of(const char *data, size_t size, const char *cells[MOST_CELLS])
{
    int n = 0;
    for (size_t at = 0; at < size && n < MOST_CELLS; at += strlen(data + at) + 1)
        cells[n++] = data + at;
    return n - n % COLUMNS;
}

// Line breaks are spaces in a file of lines, and what a spreadsheet would take for a formula has ' in front.
static void check_cell(const char *written, const char *read)
{
    if (*written && strchr("=+-@\t", *written))
        must_hold(*read++ == '\'');
    for (size_t at = 0; at <= strlen(written); at++)
        must_hold(read[at] == written[at] || (strchr("\r\n", written[at]) && read[at] == ' '));
}

static void check_table(char *data, size_t size)
{
    static const struct clab_column columns[COLUMNS] = {CLAB_COLUMN(TEXT, "a"), CLAB_COLUMN(TEXT, "b"),
                                                        CLAB_COLUMN(TEXT, "c")};
    const char *cells[MOST_CELLS];
    struct clab_csv read;
    struct clab_table table;
    char *text;
    size_t text_size;
    const int n = cells_of(data, size, cells);
    clab_table_init(&table, columns, COLUMNS);
    for (int i = 0; i < n; i++)
        must_hold(clab_table_add(&table, clab_cell_text(cells[i])) == CLAB_OK);
    FILE *file = open_memstream(&text, &text_size);
    must_hold(file);
    clab_table_print_csv(&table, NULL, file);
    fclose(file);
    must_hold(read_text(text, text_size, &read) == CLAB_OK);
    must_hold(read.nrows == n / COLUMNS && read.ncolumns == COLUMNS);
    for (int i = 0; i < n; i++)
        check_cell(cells[i], clab_csv_cell(&read, i / COLUMNS, columns[i % COLUMNS].name));
    clab_csv_free(&read);
    clab_table_free(&table);
    free(text);
}

// ---- the page ------------------------------------------------------------------------------------------------

static int count(const char *text, char sign)
{
    int n = 0;
    for (; *text; text++)
        n += *text == sign;
    return n;
}

// Freed by the caller.
static char *page_of(const struct clab_csv *data)
{
    struct report_section section = {.csv = "/r/a.csv", .name = "a", .data = *data};
    const struct report_results results = {.root = "/", .folder = "/r", .sections = &section, .nsections = 1};
    char *text;
    size_t size;
    FILE *file = open_memstream(&text, &size);
    must_hold(file);
    report_page_write(file, &(struct report_page){.folder = "/r", .results = &results});
    fclose(file);
    must_hold(strlen(text) == size);
    return text;
}

// The page has as much markup as when every text is an x. Numbers are in cells of another class, and stay.
static void check_page(struct clab_csv *data)
{
    static const char signs[] = "<>\"";
    char *page = page_of(data), *end;
    for (int i = 0; i < (data->nrows + 1) * data->ncolumns; i++)
        if (*data->cells[i] && (strtod(data->cells[i], &end), *end))
            strcpy(data->cells[i], "x");
    for (int i = 0; i < data->manifest.count; i++)
        if (*data->manifest.entries[i].value)
            strcpy(data->manifest.entries[i].value, "x");
    char *plain = page_of(data);
    for (int i = 0; signs[i]; i++)
        must_hold(count(page, signs[i]) == count(plain, signs[i]));
    free(plain);
    free(page);
}

static void check_data(struct clab_csv *data)
{
    must_hold(data->ncolumns >= 1 && data->nrows >= 0);
    for (int i = 0; i < (data->nrows + 1) * data->ncolumns; i++)
        must_hold(data->cells[i] && !strchr(data->cells[i], '\n'));
    for (int i = 0; i < data->ncolumns; i++) {
        int first = 0;
        while (strcmp(data->cells[first], data->cells[i]))
            first++;
        for (int row = 0; row < data->nrows; row++)
            must_hold(clab_csv_cell(data, row, data->cells[i]) == data->cells[(row + 1) * data->ncolumns + first]);
    }
    must_hold(!*clab_csv_cell(data, data->nrows, data->cells[0]));
    check_page(data);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct clab_csv read;
    char *text = fuzz_text(data, size);
    const int err = read_text(text, size, &read);
    must_hold(err == CLAB_OK || err == CLAB_EPARSE);
    if (err) {
        must_say_once(path);
    } else {
        must_hold(fuzz_log_errors == 0);
        check_data(&read);
        clab_csv_free(&read);
    }
    free(text);
    text = fuzz_text(data, size);
    check_table(text, size);
    free(text);
    return 0;
}
