// SPDX-License-Identifier: MIT
// Which launcher started this process: commlab itself, torchrun, Open MPI, MPICH's hydra or Slurm; and how its ranks find
// the store (store.h), which they use for everything else.
//
// - launcher.c  reads the environment in a fixed order, and logs variables that are missing or contradict each other.
// - pmi.c       PMI-1's text protocol over PMI_FD (hydra, srun --mpi=pmi2).   pmix.c  PMIx, if libpmix is there.
// - slurm.c     srun --mpi=none has no key-value store: host and port are derived from the step.
// - siblings.c  ranks of this host that have ended before they joined (siblings.h).
// - core/job/store/token.c   the secret of jobs whose launcher has no key-value store.
//
// The order: a launcher that starts another one comes after it.
//
//   launcher     known by                              rank and size              where the store is
//   commlab      CLAB_STORE, or CLAB_JOB_FD: one node  RANK, WORLD_SIZE           at CLAB_STORE, is running
//   torchrun     TORCHELASTIC_RUN_ID                   RANK, WORLD_SIZE           at MASTER_*, or the port after that
//                                                                                 (TORCHELASTIC_USE_AGENT_STORE)
//   by hand      these four                            RANK, WORLD_SIZE           at MASTER_ADDR, MASTER_PORT
//   Open MPI     OMPI_COMM_WORLD_SIZE                  OMPI_COMM_WORLD_RANK       shared by PMIx
//   MPICH hydra  PMI_SIZE, not of Slurm's step         PMI_RANK                   shared by PMI-1
//   Slurm        SLURM_STEP_NUM_TASKS of srun's step   SLURM_PROCID               shared by PMI-1 or PMIx, or derived
//
// - With the last three, MASTER_ADDR and MASTER_PORT say where the store is; RANK and WORLD_SIZE must agree if set.
// - Shells inside sbatch, salloc and srun --pty are not ranks, whatever SLURM_NTASKS says.
// - A process that has shared by PMI-1 or PMIx stays connected until it exits: a later MPI_Init would not find its
//   launcher after a finalize. Slurm's PMI-1 accepts one init only, so under srun --mpi=pmi2 with CLAB_BACKEND=mpi the
//   store's address is derived.
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "core/transport/backend.h"

enum { CLAB_TOKEN_BYTES = 16, CLAB_HOST_BYTES = 256, CLAB_SHARED_BYTES = 512 };

// A launcher's own key-value store.
enum clab_share { CLAB_SHARE_NONE, CLAB_SHARE_PMI, CLAB_SHARE_PMIX };

struct clab_launched {
    const char *by;            // "commlab", "torchrun", "the environment", "Open MPI", "MPICH hydra", "Slurm"
    const char *rank_variable; // that has said `rank`, in the environment of each rank
    bool is_by_hand;
    int rank, nranks;
    int local_rank, local_ranks; // on this host; -1: not known
    // The store's address, if the environment gives it: rank 0, or its launcher, opens the store there.
    char host[CLAB_HOST_BYTES]; // "": not known; rank 0 opens it at any address and shares that (clab_launcher_share)
    int port;
    bool is_running;                       // the launcher has opened it already
    unsigned char token[CLAB_TOKEN_BYTES]; // where `host` is known: the secret of those who join
    enum clab_share share;
};

// Read the environment of this process.
//   errors: CLAB_ENOENT (no launcher: the process is alone), CLAB_EPARSE (contradictory or unreadable; logged)
int clab_launcher_find(struct clab_launched *launched_p);

// Rank 0's `text` (at most CLAB_SHARED_BYTES, ended by 0) to all ranks, by the launcher's own key-value store.
// Collective over the job; used once, where launched.host is "".
//   errors: CLAB_EUNSUPPORTED (this launcher has none, logged with the remedy), CLAB_ETIMEOUT, CLAB_ESYS
int clab_launcher_share(const struct clab_launched *launched, double timeout, char text[CLAB_SHARED_BYTES]);

// The secret of a job without a key-value store: only processes that prove to know it may join. It is CLAB_TOKEN (32
// hexadecimal digits), else the user's own, in a file that the first use makes with mode 0600 (commlab/token in
// XDG_CONFIG_HOME or ~/.config).
//   errors: CLAB_EPARSE, CLAB_ESYS, with one line
int clab_launcher_token(unsigned char token[CLAB_TOKEN_BYTES]);

// ---- between the files; pure functions, which tests and fuzzers call, too --------------------------------------

// The value of `key` in a line of PMI-1, "cmd=get_result rc=0 value=x\n"; whether there is one that fits.
//   out: (room), ended by 0
bool launcher_pmi_value(const char *line, const char *key, char *out, size_t room);

// The first host of a list of Slurm's, "node[01-03,7],x" -> "node01".  errors: CLAB_EPARSE, not logged
int launcher_slurm_host(const char *list, char host_p[CLAB_HOST_BYTES]);
// A port for this step, below those that systems give out by themselves (from 32768).
int launcher_slurm_port(unsigned job, unsigned step);

// Hexadecimal digits, two per byte.  errors: CLAB_EPARSE, not logged: other characters, or another length
void launcher_hex(const void *bytes, size_t n, char *text_p); // (2 n + 1)
int launcher_unhex(const char *text, void *bytes_p, size_t n);

// As clab_launcher_share.
int launcher_share_pmi(int rank, double timeout, char text[CLAB_SHARED_BYTES]);
int launcher_share_pmix(int rank, double timeout, char text[CLAB_SHARED_BYTES]);
extern const bool launcher_has_pmix; // this build
