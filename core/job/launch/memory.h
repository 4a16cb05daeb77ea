// SPDX-License-Identifier: MIT
// A host's memory file: the control pages of its ranks first (control.h), the backend's part behind them.
//
// - It is sparse, and has no name: nothing is left of it when ranks are killed. Who has it open finds it again as
//   /proc/PID/fd/N.
#pragma once

#include "core/job/control.h"

// Make the file for `nranks` ranks of this host, that share `cores`, and map its control pages. `inherited`: by exec.
//   errors: CLAB_ESYS
int clab_memory_make(int nranks, int cores, bool inherited, int *fd_p, struct clab_control **control_p);
// Map the control pages of a file that has been made for `nranks`.
//   errors, not logged: CLAB_EINVAL (it is no such file), CLAB_ESYS (errno), CLAB_EPARSE (of others, another version)
int clab_memory_map(int fd, int nranks, struct clab_control **control_p);
void clab_memory_unmap(struct clab_control *control);
