// SPDX-License-Identifier: MIT
// The report: one page of all that was measured, with its figures, their data, and how each was made.
//
// - report.c       the subcommand: finds the results, has their figures drawn, writes the page.
// - html.c         the pieces of the page.
// - stepper.c      pages that play the algorithms of lab 07, beside it.
// - claims.c       what was claimed, beside what was measured here and what the simulator says.
#pragma once

#include <stdbool.h>
#include <stdio.h>

#include "core/base/csv.h"

// ---- html.c --------------------------------------------------------------------------------------------------

// What was found of a claim, in words.
struct report_verdict {
    char *claimed, *measured, *model, *verdict;
};

struct report_claims {
    struct clab_csv data;         // labs/claims.csv
    struct report_verdict *verdicts; // (data.nrows)
};

// What one section of the page is about.
struct report_section {
    char *csv;      // a result file
    char *name;     // "07-shm-machine-4": the file's, without suffix
    char **figures; // paths without suffix, of those that were drawn
    int nfigures, figure_room;
    bool is_refused; // one could not be drawn: it has been said
    struct clab_csv data;
};

// The whole page. Links are relative to `folder`, where it will lie. claims NULL: without them
void report_html_page(FILE *out, const char *folder, const struct report_section *sections, int nsections,
                      const struct report_claims *claims);

// ---- stepper.c -----------------------------------------------------------------------------------------------

// Write one page for each algorithm into `folder`.  errors: CLAB_EIO (logged), CLAB_ENOMEM
int report_steppers_write(const char *folder);
// A paragraph that links to them.
void report_steppers_link(FILE *out);

// ---- claims.c ------------------------------------------------------------------------------------------------

// What becomes of each claim of labs/claims.csv, with these results. Runs the simulator.
//   errors: CLAB_ENOENT, CLAB_EPARSE (labs/claims.csv; logged), CLAB_ENOMEM
int report_claims_load(const char *root, const struct report_section *sections, int n, struct report_claims *claims_p);
// For programs: id, claim, source, claimed, measured, model, verdict.  errors: CLAB_EIO, CLAB_ENOMEM
int report_claims_write(const struct report_claims *claims, const char *path);
void report_claims_free(struct report_claims *claims);
