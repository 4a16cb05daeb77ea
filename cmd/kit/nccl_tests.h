// SPDX-License-Identifier: MIT
// The text that the programs of nccl-tests print, from 1.0 (2017) on: the lines with # above a table, and where the
// values of its rows are. Columns are found by the names above them:
//
//   1.0    #  bytes    N        type      op         time  algbw  busbw     res   time ...    times in ms
//   2.0    #   size   count     type   redop         time  algbw  busbw   error   time ...    redop, root, both, or neither
//   2.13   #   size   count     type   redop   root  time  algbw  busbw  #wrong   time ...
//   2.19   #   size   count     type   redop   root  time  algbw  busbw  #wrong   i_min  i_max  i_p99  i_cv%  time ...  timestamp
//
// - `cputime` is `time`. `res` and `error` are the largest error of an element, #wrong counts elements.
// - Rows of 2.13 and older may lack redop and root, although the line above names them.
// Source: nccl-tests, src/common.cu, src/*.cu and src/util.cu of each version.
#pragma once

#include <stdbool.h>

enum { TESTS_PLACEMENTS = 2, TESTS_WORDS = 40 }; // out of place, in place

// The columns of a table.
struct tests_head {
    int columns;                // 0: there was no line above it yet
    int op, root;               // of a row's words; -1: none
    int first;                  // word of the first placement
    int placements, width;      // of each
    int wrong;                  // word of a placement; -1: none
    bool has_date;              // two more words at the end
    bool counts_wrong, is_msec; // what `wrong` is; the unit of times
};

// What follows a launcher's label: "[1,0]<stdout>:" (mpirun --tag-output), "[0] " (mpiexec -l), "0: " (srun -l). Without
// one, the line itself.
char *tests_unlabelled(char *line);

// Whether `line` names the columns of a table.
bool tests_head_read(const char *line, struct tests_head *head_p);

// The words of a row; "" for what it has not.
struct tests_row {
    const char *bytes, *count, *type, *op, *root;
    int placements;
    struct tests_values {
        const char *time, *algbw, *busbw, *wrong;
    } values[TESTS_PLACEMENTS];
};
// Whether a line is a row: it begins with a number and white space. Others are somebody's log.
bool tests_is_row(const char *line);
// Take a row apart; the line is cut.  *words_p: how many it has, in any case
//   errors: CLAB_EPARSE, not logged: other columns than the line above names
int tests_row_read(const struct tests_head *head, char *line, struct tests_row *row_p, int *words_p);

// ---- lines above the table ---------------------------------------------------------------------------------------

// `#  Rank  0 Group  0 Pid   1887 on   worker-1 device  0 [0x8d] NVIDIA H100`; without Group until 2.13, without Pid in
// 1.0.  Whether it is one, of a rank below 2^20.  host: ended by 0
bool tests_rank_read(const char *line, int *rank_p, char host_p[64]);

// Our name of the collective in a program's name, or in a file's that is called like it ("all_reduce_perf.txt"); NULL:
// there is none.
const char *tests_collective(const char *text);
// That of "# Collective test starting: all_reduce_perf"; NULL: the line is another.
const char *tests_collective_started(const char *line);

// That of a command in a log, "mpirun -n 8 ./build/all_reduce_perf -b 8": with an option, so that what a compiler says is
// none. NULL: the line has none.
const char *tests_collective_called(const char *line);
// Whether a line is among the first of a run: a log may have several, one after another.
bool tests_begins(const char *line);

// "# commlab bench: backend shm, algorithm ring, mode latency": our own bench, in this form. Whether it is that line.
struct tests_bench {
    char backend[32], algorithm[64], mode[16];
};
bool tests_bench_read(const char *line, struct tests_bench *bench_p);
