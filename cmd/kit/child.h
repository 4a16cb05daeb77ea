// SPDX-License-Identifier: MIT
// Our own subcommands as children, one after another: for those that put many measurements together.
// - Who ends us ends the child under way, whose launcher ends its ranks; then we clean up, and go as we always do.
#pragma once

#include <limits.h>
#include <sys/types.h>

// From here on signals that would end us are noted, and passed on to the child; those that are ignored stay so.
void child_watch(void);
// As before child_watch; returns the signal that came meanwhile, or 0. Raise it: then an outer watch notes it, too.
int child_unwatch(void);
// The signal that has come since child_watch, or 0.
int child_ended_by(void);

// A new folder for what children write, below TMPDIR or else /tmp. Made after child_watch and removed before who ends
// us is answered, it is never left behind.
//   errors: CLAB_EIO (logged)
int child_folder_make(char path_p[PATH_MAX]);
// With the files that are in it.
void child_folder_remove(const char *path);

// Run this program with `words` (NULL ends them; the first is "commlab"), its output thrown away, what it complains of
// shown. *status_p is waitpid's.
//   errors: CLAB_ESYS
int child_run(char *const words[], int *status_p);
// As fork(2); signals end the child as they usually do. For who launches ranks: a launcher takes the signals of the
// process that it runs in, those as well that come when its ranks have just ended, which would be lost on us.
pid_t child_fork(void);
// Wait for a child that was started so, or otherwise; signals are passed on to it meanwhile. *status_p is waitpid's.
//   errors: CLAB_ESYS
int child_wait(pid_t pid, int *status_p);
