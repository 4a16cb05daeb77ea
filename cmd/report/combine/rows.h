// SPDX-License-Identifier: MIT
// Rows of benchmarks from anywhere: this machine, another one, another tool. One form for all of them, so that they can
// be compared, drawn and merged into one file.
//
// - bench_csv.c     files of `commlab bench --csv` and `bench --matrix`, whatever machine wrote them.
// - nccl_tests.c    what the programs of nccl-tests print.
// - rates.c         whether a row's rates are those of its own time, size and ranks.
// - merge.c         all rows as combined_benchmark.csv.
//
// A row keeps the file, line and columns that it was read from: each number of the report is traced to them. Files are
// data: a value that is impossible refuses the whole file, in one line that names file, line and column. A row that
// contradicts itself stays, marked as failed, and is compared with none.
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "core/base/files/csv.h"

// What a file says of itself.
struct report_source {
    const char *file;      // its name, without folders
    char machine[160];     // "unknown machine" where it does not say
    int cores;             // of that machine; 0: not said
    double copy_all;       // B/s: memory copies by all ranks at once; 0: not said
    double tcp;            // B/s: plain TCP each way; 0: not said
    size_t cache;          // bytes of the largest cache; 0: not said
    char wire[64];         // the emulated network; "": none
    char settings[96];     // what else is not usual, such as "4 lanes": runs of other settings are no runs of the same
    bool is_busy;          // it warns that the machine was busy
    bool is_virtual;       // times of the simulator
    bool is_text;          // no CSV: columns are counted, not named
};

enum report_status { REPORT_OK, REPORT_NOISY, REPORT_SKIPPED, REPORT_FAILED };

// Texts belong to the rows. Times in µs; NAN: not measured, or not said.
struct report_row {
    int source; // of report_rows.sources
    int line;   // of the file
    const char *collective, *algorithm, *backend, *device, *type, *op, *mode, *reason;
    int ranks, root;
    long long bytes, count, wrong, sent, calls; // -1: not said
    bool is_in_place, is_crowded;               // crowded: more ranks than cores
    bool is_usual;                              // out of place, or in place where its file has nothing else
    double usec, low, high, algbw, busbw, predicted, simulated; // simulated: as if each rank had a core
    double place[3]; // line_nsec, fresh_psB, call_nsec: where a virtual machine's cores were
    enum report_status status;
    int warmup; // calls; -1: not said
    const struct report_row *const *runs; // of picks (findings.h): the rows it was put together from, fastest first
    int nruns;                            // 0: it was read from a file
};

struct report_rows {
    struct report_source *sources;
    int nsources, source_room;
    struct report_row *rows;
    int n, room;
    char **texts; // that rows point to
    int ntexts, text_room;
};

void report_rows_free(struct report_rows *rows);

// A copy of `text`, of which at most 64 bytes are kept; NULL: no memory.
const char *report_rows_text(struct report_rows *rows, const char *text);

// The name of a row's status, as files have it: "ok".
const char *report_status_name(enum report_status status);
// A row whose elements are wrong has failed, whatever its file says.
enum report_status report_row_status(const struct report_row *row);

// The letter of a source's machine, from "A" on in the order of files; "?" behind the 26th.
const char *report_machine_letter(const struct report_rows *rows, int source);

// Add the rows of a bench's file, all or none. file: its name, for the reader.
//   errors: CLAB_EPARSE (one line names file, line and column), CLAB_ENOMEM
int report_rows_add_csv(struct report_rows *rows, const struct clab_csv *data, const char *file);

// Whether a text is what nccl-tests prints: it says so in its first lines, or has the line above the table.
bool report_is_nccl_tests(const char *text);
// What a text of nccl-tests may not say; NULL and 0: not known either.
struct report_missing {
    const char *collective;
    int ranks;
};
// Add its rows, all or none; path: for messages, file: its name. The text is taken apart.
//   errors: as above
int report_rows_add_nccl_tests(struct report_rows *rows, char *text, const char *path, const char *file,
                               struct report_missing missing);

// ---- rates.c -------------------------------------------------------------------------------------------------

// A rate that a row states, and the one that its time, size and ranks come to; in GB/s.
struct report_contradiction {
    const char *name; // "algbw" or "busbw"
    double stated, computed;
};
// Whether one of the row's rates is not what its time, size and ranks come to.
bool report_row_contradicts(const struct report_rows *rows, const struct report_row *row,
                            struct report_contradiction *contradiction_p);
// Mark such rows from `first` on as failed, with the reason.  errors: CLAB_ENOMEM
int report_rows_mark_contradictions(struct report_rows *rows, int first);

// Write all rows, with their files and machines.  errors: CLAB_EIO (logged), CLAB_ENOMEM
int report_rows_write(const struct report_rows *rows, const char *path);

// A collective with a root has rank 0 unless its file says another one; others have none: -1.
void report_row_fix_root(struct report_row *row);
// Whether the row has a time that may be compared: measured, right, of the usual placement, of some size.
bool report_row_counts(const struct report_row *row);
