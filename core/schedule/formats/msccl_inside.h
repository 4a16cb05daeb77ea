// SPDX-License-Identifier: MIT
// What the files that read, lower and write MSCCL's schedules share.
//
// - msccl_lower.c   the steps here of each step there, and the listing.
// - msccl_stages.c  the stages of foreign steps.
#pragma once

#include <stdbool.h>
#include <stdlib.h>

#include "core/schedule/formats/msccl.h"

// The buffer that `letter` means at `rank`, where in it the letter's chunks begin, and how many there are in the file.
enum clab_buffer msccl_buffer(const struct clab_msccl *m, int rank, char letter, int *first_p, int *size_p);

// The first stage of each step; what else it takes follows at once.
//   out:    *begin_p (nsteps), freed by the caller; on success only
//   errors: CLAB_EPARSE (logged: it waits for what is not there, or for itself), CLAB_ENOMEM
int msccl_stages(const struct clab_msccl *m, int **begin_p);
