// SPDX-License-Identifier: MIT
// The jobs that a bench of several backends runs one after another. Alone, it starts each with ranks of its own. In a
// running job, under mpirun, srun or `commlab run`, each rank starts one program, and these programs are the ranks
// (core/job/store/nested.h).
#pragma once

#include <stdbool.h>

struct clab_bootstrap;

struct bench_turns {
    struct clab_bootstrap *boot; // of the running job; NULL: none is
    int jobs;                    // so far
};

// Join the running job, if there is one.  errors: those of clab_bootstrap_open
int bench_turns_open(bool joins, struct bench_turns *turns_p);
void bench_turns_close(struct bench_turns *turns);

// Whether this process prints and writes files: rank 0, or who is alone.
bool bench_turns_tells(const struct bench_turns *turns);

// Run this program with `words`, as child_run. Collective over the running job: all of its ranks get the same status,
// that of a program which was used wrongly, else of one that lacks something, else of one that failed, else 0.
//   errors: CLAB_ESYS, those of nested_job_open
int bench_turns_run(struct bench_turns *turns, char *const words[], int *status_p);
