// SPDX-License-Identifier: MIT
// One line per event on stderr, by level: `commlab: error: rank 3: ...`.
// - CLAB_LOG=error|warn|info|debug chooses the level; warn is the default.
// - A message is one line, names the file, line, rank or flag, and ends with the remedy where there is one.
#pragma once

#include <stdint.h>

enum clab_log_level { CLAB_LOG_ERROR, CLAB_LOG_WARN, CLAB_LOG_INFO, CLAB_LOG_DEBUG };

void clab_log_at(enum clab_log_level level, const char *format, ...) __attribute__((format(printf, 2, 3)));

// Between hold and release this thread's first error is kept, not written, so that the caller can put it into a line of
// its own. It has no level and no rank, and is cut to the buffer. Holds may be nested.
struct clab_log_held {
    char text[1024]; // "": there was no error
    struct clab_log_held *around;
};
void clab_log_hold(struct clab_log_held *held);
void clab_log_release(struct clab_log_held *held);

// Between share(said) and share(NULL), processes that share *said write each error once: one that another process has
// written is not written again. Errors differ if their words do, apart from the rank.
struct clab_log_said { // all zero at first; in memory that they share
    uint64_t lines[8]; // hashes of the errors written so far; later ones are always written
};
void clab_log_share(struct clab_log_said *said);

// The rank that messages name; -1, the initial value: none.
void clab_log_set_rank(int rank);

#define clab_error(...) clab_log_at(CLAB_LOG_ERROR, __VA_ARGS__)
#define clab_warn(...)  clab_log_at(CLAB_LOG_WARN, __VA_ARGS__)
#define clab_info(...)  clab_log_at(CLAB_LOG_INFO, __VA_ARGS__)
#define clab_debug(...) clab_log_at(CLAB_LOG_DEBUG, __VA_ARGS__)
