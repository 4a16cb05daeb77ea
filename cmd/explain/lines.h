// SPDX-License-Identifier: MIT
// The lines of a log, one at a time, in a fixed amount of memory. A log is data from elsewhere: whatever it holds, what
// comes out is short UTF-8 without control characters, safe to print on a terminal.
//
// - Sequences for terminals (colours, titles) are taken out; other control characters become blanks; bytes that are not
//   UTF-8 become question marks.
// - A carriage return ends a piece, as progress bars draw over their line. Its line number is that of the line.
// - What stands behind LOG_LINE_BYTES bytes of a piece is not read, and counted in `cut`. Reading ends after
//   LOG_MOST_BYTES.
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

enum { LOG_LINE_BYTES = 4096 };
#define LOG_MOST_BYTES ((uint64_t)1 << 30)

struct log_lines {
    FILE *file;
    char text[LOG_LINE_BYTES + 1]; // of the piece at hand
    long number;                   // of its line, from 1; 0 before the first
    long cut;                      // pieces that were too long
    uint64_t bytes;                // read so far
    bool is_new;                   // the next piece begins a line
    bool is_over;                  // more than LOG_MOST_BYTES
};

struct log_lines log_lines_begin(FILE *file);
// The next piece; false after the last, with ferror(file) if that failed.
bool log_lines_next(struct log_lines *lines);
