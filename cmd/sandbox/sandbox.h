// SPDX-License-Identifier: MIT
// Runs a program that nobody trusts: a student's. Whatever it does, it ends in time, costs others nothing, and leaves
// nothing behind.
//
//   const struct sandbox box = {.folder = folder, .seconds = 20, .memory = 2 << 30, .processes = 40, .file_bytes = 1 << 26};
//   struct sandbox_result result;
//   CLAB_TRY(sandbox_run(&box, argv, -1, errors, &result));
//
// - Always: a deadline; limits of processor time, of memory, of processes, and of the size of files (setrlimit, and a watch
//   that looks 50 times a second); a session of its own; all that it started is ended with it, also what has detached itself.
// - Where the kernel has them, each by itself: no file outside `folder` is written, and, if wanted, none is read but the
//   system's (Landlock, Linux 5.13); no sockets, no memory that no process holds, no signals to other processes, no mounts,
//   tracing or namespaces (seccomp, by libseccomp); processes, network and shared memory of its own (namespaces); another
//   user than root's, if root may and that user reads the program.
// - sandbox_walls says which of these there are: a grade is the same with all and with none, a guest is not.
// - Without Landlock, it does not hide files that its user can read. It does not make times equal.
// - Sources: landlock(7), seccomp(2), user_namespaces(7), setrlimit(2).
#pragma once

#include <stddef.h>
#include <stdbool.h>
#include <sys/types.h>

// What guards the program, besides limits.
struct sandbox_walls {
    bool files, calls, namespaces, user; // Landlock, seccomp, namespaces, not root
};

struct sandbox {
    const char *folder;     // the only one whose files it may write, and where it starts; with an exact path
    double seconds;         // until it is ended
    size_t memory;          // bytes that all its processes hold together
    int processes;          // at the same time, threads not counted
    size_t file_bytes;      // of each file that it writes; of all of them together, four times as many
    bool reads_system_only; // besides `folder`; a compiler needs more
    struct sandbox_walls without; // walls that are not built: how it is on hosts that lack them
};

enum sandbox_end {
    SANDBOX_ENDED,     // by itself: result.status is waitpid's
    SANDBOX_LATE,      // its time was over
    SANDBOX_MEMORY,    // it held too much
    SANDBOX_PROCESSES, // it started too many
    SANDBOX_FILES,     // its folder held too many of them, or too much
    SANDBOX_ENDS
};
extern const char *const sandbox_end_texts[SANDBOX_ENDS]; // "took longer than it may", for a message

struct sandbox_result {
    enum sandbox_end end;
    int status;
    double seconds;       // from its start to its end
    size_t most_memory;   // bytes, as far as the watch saw
    int most_processes;
};

// No process of our user reads or writes our memory from now on, and none that we start until it runs a program. What runs
// a sandbox does this by itself; a command that starts such commands calls it.
void sandbox_close_memory(void);

// Run argv[0], and wait for its end. The caller has no other children meanwhile: all are ended. output: where it writes and complains, or -1
// to throw that away. The environment is ours, which a caller cleans first.
//   errors: CLAB_ESYS (logged: no process, or argv[0] can not be started), CLAB_EPEER (a signal ended us)
int sandbox_run(const struct sandbox *box, char *const argv[], int output, struct sandbox_result *result_p);

// What there is here, tried with a program that does nothing. errors: those of sandbox_run
int sandbox_try(struct sandbox_walls *walls_p);
