// SPDX-License-Identifier: MIT
// The copy of a results file that figures are drawn from (plot_data.h). The file may come from anyone, so this lists
// the characters that are kept, not those that are removed.

#include "cmd/kit/plot_data.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/text.h"

enum { NAME = 80, SENTENCE = 300 }; // bytes

static bool is_in(char c, const char *also)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || (c && strchr(also, c));
}

// Bytes of the character beyond ASCII that `text` begins with; 0: none, or a control character (U+0080 to U+009F).
static size_t sign_bytes(const char *text)
{
    const size_t bytes = clab_utf8_bytes(text);
    const bool is_control = (unsigned char)text[0] == 0xc2 && (unsigned char)text[1] < 0xa0;
    return bytes > 1 && !is_control ? bytes : 0;
}

// Keep signs and what is in `also`; a blank or a control character becomes `blank`, everything else "?".
static void clean(const char *text, const char *also, char blank, char *out, size_t most)
{
    size_t used = 0;
    while (*text && used < most) {
        const size_t n = is_in(*text, also) ? 1 : sign_bytes(text);
        if (used + n > most)
            break;
        memcpy(out + used, text, n);
        used += n ? n : 1;
        if (!n)
            out[used - 1] = (unsigned char)*text <= ' ' || *text == 0x7f ? blank : '?';
        text += n ? n : 1;
    }
    out[used] = 0;
}

// A number as it is written, if that is plain; one that is not finite is an empty cell.
static void write_cell(FILE *out, const char *text)
{
    char *end, name[NAME + 1];
    const double value = strtod(text, &end);
    if (!*text || end == text || *end) {
        clean(text, "_+-./:=*", '_', name, NAME);
        fputs(name, out);
    } else if (isfinite(value) && strlen(text) <= NAME && !text[strspn(text, "0123456789.eE+-")]) {
        fputs(text, out);
    } else if (isfinite(value)) {
        fprintf(out, "%.17g", value);
    }
}

static void write_row(FILE *out, char *const *cells, int ncolumns)
{
    for (int i = 0; i < ncolumns; i++) {
        fputs(i ? "," : "", out);
        write_cell(out, cells[i]);
    }
    fputc('\n', out);
}

void plot_data_write(FILE *out, const struct clab_csv *data)
{
    char key[NAME + 1], value[SENTENCE + 1];
    for (int i = 0; i < data->manifest.count; i++) {
        clean(data->manifest.entries[i].key, " _", ' ', key, NAME);
        clean(data->manifest.entries[i].value, " _+-./:=*()[],;@%#!~", ' ', value, SENTENCE);
        fprintf(out, "# %s: %s\n", key, value);
    }
    for (int row = 0; row <= data->nrows; row++)
        write_row(out, data->cells + (size_t)row * (size_t)data->ncolumns, data->ncolumns);
}

// By the logarithm, as most axes are.
static double middle(double low, double high)
{
    return low > 0 ? sqrt(low) * sqrt(high) : (low + high) / 2;
}

void plot_yours_write(FILE *out, const struct clab_csv *yours)
{
    fputs("lab,program,backend,net,ranks,quantity,unit,value,low,high,predicted,residual_pct\n", out);
    for (int row = 0; row < yours->nrows; row++) {
        char cells[3][32];
        const double low = clab_csv_real(yours, row, "low"), high = clab_csv_real(yours, row, "high");
        if (!isfinite(low) || !isfinite(high))
            continue;
        snprintf(cells[0], sizeof cells[0], "%.9g", middle(low, high));
        snprintf(cells[1], sizeof cells[1], "%.9g", low);
        snprintf(cells[2], sizeof cells[2], "%.9g", high);
        char *const line[] = {"yours",
                              (char *)clab_csv_cell(yours, row, "program"),
                              "",
                              "",
                              (char *)clab_csv_cell(yours, row, "ranks"),
                              (char *)clab_csv_cell(yours, row, "quantity"),
                              (char *)clab_csv_cell(yours, row, "unit"),
                              cells[0],
                              cells[1],
                              cells[2],
                              "",
                              ""};
        write_row(out, line, sizeof line / sizeof *line);
    }
}
