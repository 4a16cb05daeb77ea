// SPDX-License-Identifier: MIT
// Sentences whose numbers say where they come from.
//
// - A sentence is written to a FILE: words by fputs, names of others by marked_name, numbers by marked_value. What is
//   written has marks (control characters, which names can not have).
// - It is shown as plain text, with the cells behind it at its end, or as HTML, where each number is a <data> element
//   whose attribute data-from names them: "FILE:LINE:COLUMN", several with a blank between. FILE is encoded as in an
//   address, so it has no blank and no colon.
#pragma once

#include <stdio.h>

#include "cmd/report/combine/rows.h"

// A cell: row->line of its file, and the column.
struct marked_from {
    const struct report_row *row; // NULL: there is none
    const char *column;
};

// A growing sentence; text is complete after marked_end.
struct marked {
    FILE *out; // write words here
    char *text;
    size_t size;
    const struct report_rows *rows;
};

//   errors: CLAB_ENOMEM
int marked_begin(const struct report_rows *rows, struct marked *marked_p);
// The sentence, to be freed by the caller; NULL: no memory.
char *marked_end(struct marked *marked);

// A name or text of others: control characters go, and what is longer than 100 bytes.
void marked_name(struct marked *marked, const char *name);
// A number as it is shown, and the one or two cells that it was computed from.
void marked_value(struct marked *marked, const char *shown, struct marked_from a, struct marked_from b);
// A time with its interval, where it has one: "1.5 ms (1.4 to 1.6)".
void marked_time(struct marked *marked, const struct report_row *row);
// A busbw: "12.3 GB/s".
void marked_rate(struct marked *marked, const struct report_row *row);
// The row's size: "100 MB", "64 MiB".
void marked_size(struct marked *marked, const struct report_row *row);

// The cell as an address has it, "FILE:LINE:COLUMN"; of a row of several runs the cell of each, with blanks between.
void marked_cells(FILE *out, const struct report_rows *rows, struct marked_from from);

void marked_print(FILE *out, const char *text);      // plain, and the cells
void marked_print_html(FILE *out, const char *text); // with <data> elements
