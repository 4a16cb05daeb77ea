// SPDX-License-Identifier: MIT
// A file that the user names, read whole before anything is parsed.
// - Each kind of file has a size limit. A larger file is refused in one line that names the file, the limit and the
//   remedy. An endless one is refused once the limit has been read.
// - A folder, a device or a named pipe is refused, and we never wait for it. A pipe without a name (a shell's
//   `<(...)`), a socket, a terminal and our own standard input are read to their end.
// - The parser reads from memory, so a file that changes meanwhile, or lies on a slow disk, does not disturb it.
#pragma once

#include <stddef.h>
#include <stdio.h>

enum clab_input_kind {
    CLAB_INPUT_SETTINGS, // lab.conf, networks, profiles, models: 1 MiB
    CLAB_INPUT_TABLE,    // CSV, tables of nccl-tests: 64 MiB
    CLAB_INPUT_LOG,      // of NCCL: 64 MiB
    CLAB_INPUT_SCHEDULE, // MSCCL's XML: 256 MiB
    CLAB_INPUT_TRACE,    // JSON: 256 MiB
    CLAB_INPUT_KINDS
};

struct clab_input {
    FILE *file;   // from its beginning; it has no descriptor
    char *text;   // the same bytes, and a 0 behind them
    size_t bytes; // without that
};

size_t clab_input_most(enum clab_input_kind kind); // bytes

// Read `path`. Closed by clab_input_close.
//   out:    *input_p, on success only
//   errors: CLAB_ENOENT (not there, may not be read, no file), CLAB_EIO, CLAB_EPARSE (too large), CLAB_ENOMEM; one line
//           is logged
int clab_input_open(const char *path, enum clab_input_kind kind, struct clab_input *input_p);
void clab_input_close(struct clab_input *input);

// Open `path` for a reader that needs little memory whatever the file's size: nothing is read, and there is no limit. The
// same kinds of files are refused. Closed by fclose.
//   out:    *file_p, on success only
//   errors: CLAB_ENOENT, logged
int clab_input_stream(const char *path, FILE **file_p);
