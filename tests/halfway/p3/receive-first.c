// SPDX-License-Identifier: MIT
// expects: To swap the two lines is not enough
// p3, mended wrongly: all ranks receive first, and nobody sends.

#include <stdio.h>
#include <stdlib.h>

#include "clab.h"

int main(int argc, char **argv)
{
    struct clab_job *job;
    struct clab_comm *comm;
    must(clab_job_open(&argc, argv, &job));
    must(clab_comm_create(job, &comm));
    const int rank = clab_comm_rank(comm), ranks = clab_comm_ranks(comm);
    const int right = (rank + 1) % ranks, left = (rank + ranks - 1) % ranks;
    const size_t count = argc > 1 ? strtoul(argv[1], NULL, 10) : 100000;
    double *mine = malloc(count * sizeof *mine), *theirs = calloc(count, sizeof *theirs), wrong = 0;
    must(mine && theirs ? CLAB_OK : CLAB_ENOMEM);
    for (size_t i = 0; i < count; i++)
        mine[i] = rank + 1;

    must(clab_recv(comm, theirs, count, CLAB_F64, left));
    must(clab_send(comm, mine, count, CLAB_F64, right));

    for (size_t i = 0; i < count; i++)
        wrong += theirs[i] != left + 1;
    printf("rank %d: rank %d sent me %zu numbers, %g of them wrong\n", rank, left, count, wrong);
    must(clab_allreduce(comm, &wrong, &wrong, 1, CLAB_F64, CLAB_SUM));
    must(clab_report(comm, "wrong", "1", &wrong, 1));
    free(mine);
    free(theirs);
    clab_comm_destroy(comm);
    must(clab_job_close(job));
    return 0;
}
