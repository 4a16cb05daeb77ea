// SPDX-License-Identifier: MIT
// The page: plain HTML without scripts, figures within it, so that the file can be sent alone. Only links lead to other
// files.
//
// - page.c       head, contents, order of the sections, foot.
// - style.c      how it looks: from a phone to a projector, dark and light, on paper.
// - figure.c     a figure with the table behind it.
// - section.c    one result file; the claims.
// - benchmarks.c all benchmarks together: figures, findings, what is wrong.
// - training.c   training reports.
// - text.c       text, escaped.
//
// A figure's heading is its finding, and its text for those who can not see it is what the plot script wrote (OUT.txt).
// Each number that was read from a file has an attribute data-from, "FILE:LINE:COLUMN".
#pragma once

#include "cmd/report/report.h"

extern const char page_style[]; // of the head

// ---- figure.c ------------------------------------------------------------------------------------------------

// Heading, picture, text, links.
void page_figure(FILE *out, const char *folder, const char *figure);

// Rows of a file, folded away; figure NULL: all rows and columns. Of many rows the first 1000.
void page_table(FILE *out, const struct report_section *s, const struct report_figure *figure);
// A cell that was read from `column` at `line` of the file at `path`.
void page_from(FILE *out, const char *path, int line, const char *column, const char *text);

// ---- section.c, benchmarks.c, training.c ---------------------------------------------------------------------

void page_section_title(FILE *out, const struct report_section *s);
// The command and the machine that made it, the file, its warnings.
void page_origin(FILE *out, const char *folder, const struct report_section *s);
void page_section(FILE *out, const char *folder, const struct report_section *s);
void page_claims(FILE *out, const struct report_claims *claims);
void page_benchmarks(FILE *out, const struct report_page *page);
void page_training(FILE *out, const struct report_page *page, const struct report_section *s);
