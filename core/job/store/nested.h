// SPDX-License-Identifier: MIT
// A job inside a job: each rank of a running job starts one program, and these programs are the ranks of a job of their
// own, with a store of its own. So `commlab bench --backend shm,ofi` measures one backend after another under any
// launcher.
//
// - The programs find their store as those of `commlab run --nodes` do (launcher.h). The outer launcher's key-value store
//   serves only the outer ranks: Slurm's answers a process once.
#pragma once

#include "core/job/job.h"
#include "core/job/launchers/launcher.h"

struct nested_job {
    char place[CLAB_HOST_BYTES + 16]; // "HOST:PORT", as CLAB_STORE has it
    char token[2 * CLAB_TOKEN_BYTES + 1];
    char rank[12], ranks[12], local_rank[12], local_ranks[12]; // as texts
    int lifeline;                                              // rank 0: of the store; -1
};

// Rank 0 starts the store, and all ranks of `boot` learn where it is. Collective.
//   number: of the job, other than those of the jobs before it
//   errors: CLAB_ESYS, CLAB_EINVAL, CLAB_EUNSUPPORTED, those of an exchange; one line logged
int nested_job_open(struct clab_bootstrap *boot, int number, struct nested_job *job_p);
// The store ends when all programs have left.
void nested_job_close(struct nested_job *job);
