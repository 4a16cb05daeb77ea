// SPDX-License-Identifier: MIT
// What the parts of the sandbox share: who is who. The caller starts a keeper; it starts the first process, which is
// process 1 where there are namespaces; that starts the program.
#pragma once

#include "cmd/sandbox/sandbox.h"

struct sandbox_setup {
    const struct sandbox *box;
    char *const *argv;
    int output;
    int say;          // a pipe: struct sandbox_word, of the first process
};

// What the first process says: first what guards the program, then how it ended.
struct sandbox_word {
    struct sandbox_walls walls;
    bool has_ended;
    int status;
};

// The keeper. Never returns.
void sandbox_keep(struct sandbox_setup *setup) __attribute__((noreturn));

// ---- walls.c: each is true if it stands from now on, for this process and all that it starts -------------------

// A user with no rights, if we are root and `path` is a program that it may run; `folder` becomes its own.
bool sandbox_leave_root(const char *folder, const char *path);
// Processes, network and shared memory of its own. The processes are those that it starts from now on.
bool sandbox_unshare(void);
bool sandbox_close_files(const struct sandbox *box, const char *program);
void sandbox_limit(const struct sandbox *box);

// ---- filter.c ------------------------------------------------------------------------------------------------

// For the program that this process becomes: it may send signals to itself alone.
bool sandbox_filter_calls(void);

// ---- tree.c --------------------------------------------------------------------------------------------------

struct sandbox_tree {
    int processes;
    size_t memory; // bytes: what each holds alone, and the largest part that they share
};
// All descendants of `root`.
struct sandbox_tree sandbox_look(pid_t root);
// Whether a folder holds more files than `most`, more bytes than `most_bytes` on the disk, or a folder that can not be
// opened.
bool sandbox_is_full(const char *folder, int most, size_t most_bytes);
// End all descendants of `root`, and wait until there are none: it gets those whose parents have ended.
void sandbox_end_all(pid_t root);
