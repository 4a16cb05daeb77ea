// SPDX-License-Identifier: MIT
// What rows of benchmarks say, in sentences that are computed from them.
//
// - picks.c         of each setting and size the fastest algorithm.
// - runs.c          several runs of one setting: which time counts, and how far apart they are.
// - compare.c       which is faster, and by how much: only where intervals do not overlap.
// - diagnose.c      what is wrong with a sweep, the likely cause, and the command to type next.
// - tables.c        all of it as files: full_results.md, summary_by_config.md, analysis.txt.
//
// Sentences have marks (marked.h), so that each number names the cells behind it.
#pragma once

#include "cmd/report/combine/rows.h"

// ---- picks.c -------------------------------------------------------------------------------------------------

// The fastest algorithm's row of a collective, root, type, operation, mode, backend, device, machine, emulated wire,
// settings, number of ranks and size; and of a file that both are of, the next fastest algorithm's, NULL without one.
struct report_pick {
    const struct report_row *row, *rival;
};

struct report_picks {
    const struct report_rows *rows;
    struct report_pick *picks; // (n), each series together, its sizes rising
    int n;
    bool is_cut; // of more than 20000 rows the first 20000
    const struct report_row **sorted; // the rows that count; those of several runs of one setting are neighbours
    struct report_row *merged;        // what such runs come to
};

//   errors: CLAB_ENOMEM
int report_picks_make(const struct report_rows *rows, struct report_picks *picks_p);
void report_picks_free(struct report_picks *picks);

// Whether two rows are of the same collective, root, type, operation, mode and placement.
bool report_is_same_work(const struct report_row *a, const struct report_row *b);
// Whether they are of the same backend, device, machine, emulated wire and settings.
bool report_is_same_place(const struct report_rows *rows, const struct report_row *a, const struct report_row *b);
// The picks from `first` on that are of one series: the same work, place and number of ranks. Returns its end.
int report_series_end(const struct report_picks *picks, int first);

// ---- runs.c --------------------------------------------------------------------------------------------------

// What n runs of one setting come to, fastest first: the median of their times, with an interval that reaches over all
// of theirs. Without intervals only six runs or more have one: their range.
struct report_row report_runs_merge(const struct report_row *const *runs, int n);
// Leave one of rows that are copies: of the same time and interval to the last digit. Returns how many are left.
int report_runs_drop_copies(const struct report_row **runs, int n);
// The fastest run and the slowest; both are the row itself where it is one.
const struct report_row *report_runs_fastest(const struct report_row *row);
const struct report_row *report_runs_slowest(const struct report_row *row);
// Whether those two differ: their intervals do not overlap.
bool report_runs_differ(const struct report_row *row);

// ---- compare.c, diagnose.c -----------------------------------------------------------------------------------

struct report_finding {
    const char *collective; // that it is about; NULL: about a file
    char *text;
};

// Something wrong with a sweep.
struct report_trouble {
    char *what, *cause; // sentences
    char *next;         // a command line
};

struct report_findings {
    struct report_finding *findings;
    int n, room;
    struct report_trouble *troubles;
    int ntroubles, trouble_room;
};

//   errors: CLAB_ENOMEM
int report_compare(const struct report_picks *picks, struct report_findings *findings);
int report_diagnose(const struct report_picks *picks, struct report_findings *findings);
void report_findings_free(struct report_findings *findings);

// The comparison of a collective's backends that a figure shows: the work, the number of ranks and the size, which is 100 MB, or else
// the largest that all backends have.
struct report_contest {
    const struct report_row *rows[16]; // fastest first
    int n;                             // 0: there are not two backends with a size in common
    int left_out;                      // settings that lack this size
};
void report_contest_find(const struct report_picks *picks, const char *collective, struct report_contest *contest_p);

// ---- tables.c ------------------------------------------------------------------------------------------------

// Write full_results.md, summary_by_config.md or analysis.txt.  errors: CLAB_EIO (logged)
int report_full_write(const struct report_rows *rows, const char *path);
int report_summary_write(const struct report_picks *picks, const char *path);
int report_analysis_write(const struct report_rows *rows, const struct report_findings *findings, const char *path);
