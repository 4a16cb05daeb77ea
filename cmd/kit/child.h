// SPDX-License-Identifier: MIT
// Run our own subcommands as child processes, one after another: for commands that combine many measurements.
// - A signal that ends us also ends the running child, whose launcher ends its ranks. Then we clean up, and end as
//   usual.
#pragma once

#include <limits.h>
#include <stdbool.h>
#include <sys/types.h>

// From here on, note each signal that would end us, and pass it on to the child. Ignored signals stay ignored.
void child_watch(void);
// End the watch, and return the signal that came meanwhile, or 0. The caller raises it, so that an outer watch notes
// it, too.
int child_unwatch(void);
// The signal that has come since child_watch, or 0.
int child_ended_by(void);

// A new folder for the files of children, below TMPDIR or else /tmp. Made after child_watch and removed before
// child_unwatch, it is never left behind.
//   errors: CLAB_EIO (logged)
int child_folder_make(char path_p[PATH_MAX]);
// With the files that are in it.
void child_folder_remove(const char *path);

// A variable of a child's environment: its value, or NULL to take it away. is_default: a value that is there stays.
struct child_variable {
    const char *name, *value;
    bool is_default;
};
// In a child that is about to exec a program: its environment is ours, with what our flags have set
// (core/base/variables.h) and `changes`, which end with {0} (NULL: there are none).
void child_set_environment(const struct child_variable changes[]);

// Run this program with `words` (NULL ends them; the first is "commlab"), its output thrown away, what it complains of
// shown. *status_p is waitpid's.
//   errors: CLAB_ESYS
int child_run(char *const words[], const struct child_variable changes[], int *status_p);
// As fork(2); signals end the child as usual, and if this process ends, even by SIGKILL, it gets SIGTERM. Callers that
// launch ranks need it: a launcher handles the signals of its process, and in ours a signal that comes just after its
// ranks have ended would be lost.
pid_t child_fork(void);
// Wait for a child that was started so, or otherwise; signals are passed on to it meanwhile. *status_p is waitpid's.
//   errors: CLAB_ESYS
int child_wait(pid_t pid, int *status_p);
// The same, but a child that has not ended after `seconds` is ended by SIGTERM, and 3 s later by SIGKILL: *is_late_p. If
// it leads a process group, signals go to all of that.
//   errors: CLAB_ESYS
int child_wait_until(pid_t pid, double seconds, int *status_p, bool *is_late_p);
