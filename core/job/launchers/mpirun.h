// SPDX-License-Identifier: MIT
// Jobs whose ranks a library must start itself: MPI's, by its mpirun.
#pragma once

#include "core/transport/backend.h"

// Become the launcher of `backend`'s library, and start `nranks` of `program` (NULL: of this process's own, with its
// arguments). Ranks then find the job as under any launcher (launcher.h). Returns on failure only.
//   errors: CLAB_EUNSUPPORTED (this build knows of no launcher), CLAB_ESYS, CLAB_ENOMEM; all with one line
int clab_mpirun_become(const struct clab_backend *backend, int nranks, char *const program[]);
