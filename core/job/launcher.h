// SPDX-License-Identifier: MIT
// Who started this process: commlab itself, torchrun, Open MPI, MPICH's hydra, Slurm; and how its ranks find the store
// (store.h), over which they then do everything else.
//
// - launcher.c  reads the environment, in a fixed order, and names what is missing or contradicts itself.
// - pmi.c       PMI-1's text protocol over PMI_FD (hydra, srun --mpi=pmi2).   pmix.c  PMIx, where libpmix is there.
// - slurm.c     srun --mpi=none has no key-value store: host and port are derived from the step.
#pragma once

#include "backend.h"

enum { CLAB_TOKEN_BYTES = 16, CLAB_HOST_BYTES = 256, CLAB_SHARED_BYTES = 512 };

struct clab_launched {
    const char *by; // "commlab", "torchrun", "Open MPI", "MPICH hydra", "Slurm"
    int rank, nranks;
    int local_rank; // -1: not said
    // Where the store is, if that is known without asking: rank 0, or a launcher before it, opens it there.
    char host[CLAB_HOST_BYTES]; // "": not known; rank 0 opens it anywhere and tells the others (clab_launcher_share)
    int port;
    bool is_running; // the launcher has opened it already
    unsigned char token[CLAB_TOKEN_BYTES];
};

// What the environment says of this process.
//   errors: CLAB_ENOENT (nobody started a job: the process is alone), CLAB_EPARSE (contradictory or unreadable; logged)
int clab_launcher_find(struct clab_launched *launched_p);

// Rank 0's `text` (at most CLAB_SHARED_BYTES, ended by 0) to all ranks, by the launcher's own key-value store. Collective
// over the job; used once, where launched.host is "".
//   errors: CLAB_EUNSUPPORTED (this launcher has none, logged with the remedy), CLAB_ETIMEOUT, CLAB_ESYS
int clab_launcher_share(const struct clab_launched *launched, double timeout, char text[CLAB_SHARED_BYTES]);

// The secret that joiners of a job without a key-value store present: CLAB_TOKEN (32 hexadecimal digits), else the
// user's own, which is made at first use with mode 0600 (commlab/token in XDG_CONFIG_HOME or ~/.config).
//   errors: CLAB_EPARSE, CLAB_ESYS, with one line
int clab_launcher_token(unsigned char token[CLAB_TOKEN_BYTES]);
