// SPDX-License-Identifier: MIT
// A host's memory file: the control pages of its ranks first (control.h), the backend's part behind them.
//
// - It is sparse, and has no name: nothing is left of it when ranks are killed. A process that has it open finds it
//   as /proc/PID/fd/N.
#pragma once

#include "core/job/pages/control.h"

// Make the file for `nranks` ranks of this host, which share `cores`, and map its control pages.
//   inherited: programs that ranks exec have it open, too
//   errors: CLAB_ESYS
int clab_memory_make(int nranks, int cores, bool inherited, int *fd_p, struct clab_control **control_p);
// Map the control pages of a file that has been made for `nranks`.
//   errors, not logged: CLAB_EINVAL (not a memory file), CLAB_ESYS (errno), CLAB_EPARSE (of another job or version)
int clab_memory_map(int fd, int nranks, struct clab_control **control_p);
void clab_memory_unmap(struct clab_control *control);
