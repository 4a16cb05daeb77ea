// SPDX-License-Identifier: MIT
// Run a program as a job that writes a trace, and look at its processes meanwhile.
#pragma once

#include "cmd/bottleneck/account.h"

// Run `program` (NULL ends the words) with CLAB_TRACE=path, what it prints on our standard error. *status_p is waitpid's.
// *seen_p is what its ranks' sockets and cores were like, at their worst.
//   errors: CLAB_ENOENT (it can not be run; logged), CLAB_ESYS
int bottleneck_watch(char *const program[], const char *path, int *status_p, struct bottleneck_seen *seen_p);
