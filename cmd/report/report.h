// SPDX-License-Identifier: MIT
// The report: one page of all that was measured, with its figures, their data, and how each was made; and the same as
// files.
//
// - report.c       the subcommand: the order of events.
// - sections.c     finds the results, and has the figures of each file drawn.
// - stepper.c      pages that play the algorithms of lab 07, beside it.
// - claims.c       what was claimed, beside what was measured here and what the simulator says.
// - combine/       rows of benchmarks from anywhere, in one form.
// - findings/      what these rows say, and what is wrong with them.
// - training/      the training report: a real run of core/train, measured and predicted.
// - page/          HTML.
#pragma once

#include <stdbool.h>
#include <stdio.h>

#include "cmd/report/findings/findings.h"
#include "core/base/files/csv.h"

// ---- sections.c ----------------------------------------------------------------------------------------------

// A figure, and which rows of its file it shows.
struct report_figure {
    char *path;             // without suffix
    const char *columns;    // with commas; NULL: all
    const char *collective; // NULL: all rows; "*": those with a prediction
};

enum report_kind { REPORT_OTHER, REPORT_BENCH, REPORT_LAB, REPORT_TRAINING }; // in this order: single files first

// What one section of the page is about.
struct report_section {
    enum report_kind kind;
    char *csv;  // a result file
    char *name; // "07-shm-machine-4": the file's, without suffix
    struct report_figure *figures; // of those that were drawn
    int nfigures, figure_room;
    bool is_refused;  // one could not be drawn: it has been said
    bool is_compared; // it has no figure of its own, since its rows are in those of all benchmarks
    struct clab_csv data;
};

// A file that is left out, or a row, and why: the line that was logged.
struct report_left_out {
    char *why;
};

struct report_results {
    char *root, *folder, *plots; // the kit, the results, the figures
    struct report_missing missing; // of logs of nccl-tests
    struct report_section *sections;
    int nsections, section_room;
    struct report_left_out *left_out;
    int nleft_out, left_out_room;
    char **traces; // paths of files for Perfetto
    int ntraces, trace_room;
    struct report_rows rows; // of all benchmarks
    bool cannot_draw;        // there is no gnuplot: it has been said
};

// Read all results, and draw. Files that can not be read are named, and left out.
//   errors: CLAB_ENOENT (there are none; logged), CLAB_ENOMEM
int report_results_load(struct report_results *results);
void report_results_free(struct report_results *results);

// Draw the data of `csv` as a figure; *figure_p is NULL where that can not be, which has been said.
//   errors: CLAB_ENOMEM
int report_draw(struct report_results *results, const char *script, const char *csv, const char *name, char **figure_p);

// ---- findings/figures.c --------------------------------------------------------------------------------------

// Time and bandwidth against size of a collective on one device; and, with its first chart, the backends at one size.
struct report_chart {
    char *time, *bandwidth, *backends; // figures; NULL: not drawn
    const char *collective;
    const struct report_row **rows; // of the first two figures
    int nrows, row_room;
    struct report_contest contest;
};

struct report_charts {
    struct report_chart *charts; // those of allreduce first, those of a collective together
    int n, room, left_out;       // left_out: more than a page holds
};

// Draw them; their data go to `folder`.  errors: CLAB_EIO, CLAB_ENOMEM
int report_charts_draw(struct report_results *results, const struct report_picks *picks, const char *folder,
                       struct report_charts *charts_p);
void report_charts_free(struct report_charts *charts);

// ---- claims.c ------------------------------------------------------------------------------------------------

// What was found of a claim, in words.
struct report_verdict {
    char *claimed, *measured, *model, *verdict;
};

struct report_claims {
    struct clab_csv data;         // labs/claims.csv
    struct report_verdict *verdicts; // (data.nrows)
};

// What becomes of each claim of labs/claims.csv, with these results. Runs the simulator.
//   errors: CLAB_ENOENT, CLAB_EPARSE (labs/claims.csv; logged), CLAB_ENOMEM
int report_claims_load(const char *root, const struct report_section *sections, int n, struct report_claims *claims_p);
// For programs: id, claim, source, claimed, measured, model, verdict.  errors: CLAB_EIO, CLAB_ENOMEM
int report_claims_write(const struct report_claims *claims, const char *path);
void report_claims_free(struct report_claims *claims);

// ---- stepper.c -----------------------------------------------------------------------------------------------

// Write one page for each algorithm into `folder`.  errors: CLAB_EIO (logged), CLAB_ENOMEM
int report_steppers_write(const char *folder);
// A paragraph that links to them.
void report_steppers_link(FILE *out);

// ---- page/page.c ---------------------------------------------------------------------------------------------

// All that the page says.
struct report_page {
    const char *folder; // where it will lie: links are relative to it
    const struct report_results *results;
    const struct report_picks *picks;
    const struct report_findings *findings;
    const struct report_charts *charts;
    const struct report_claims *claims;
};
void report_page_write(FILE *out, const struct report_page *page);
