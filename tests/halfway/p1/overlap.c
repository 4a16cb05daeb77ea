// SPDX-License-Identifier: MIT
// expects: Some numbers belong to more than one rank
// p1, mended wrongly: neighbours both add the number between their pieces.

#include <stdio.h>
#include <stdlib.h>

#include "clab.h"

int main(int argc, char **argv)
{
    struct clab_job *job;
    struct clab_comm *comm;
    must(clab_job_open(&argc, argv, &job)); // from here on there are as many processes as -n says
    must(clab_comm_create(job, &comm));
    const int rank = clab_comm_rank(comm), ranks = clab_comm_ranks(comm);
    const int last = argc > 1 ? atoi(argv[1]) : 100;

    double sum = 0, added = 0;
    for (int i = 1 + rank * last / ranks; i <= (rank + 1) * last / ranks + (rank + 1 < ranks); i++) {
        sum += i;
        added++;
    }
    printf("rank %d of %d: I added %g numbers, and their sum is %g\n", rank, ranks, added, sum);

    must(clab_allreduce(comm, &sum, &sum, 1, CLAB_F64, CLAB_SUM));     // the sum of all ranks' sums: see unit p4
    must(clab_allreduce(comm, &added, &added, 1, CLAB_F64, CLAB_MAX)); // the largest of all ranks' counts
    must(clab_report(comm, "sum", "1", &sum, 1));
    must(clab_report(comm, "most_added", "1", &added, 1));
    clab_comm_destroy(comm);
    must(clab_job_close(job));
    return 0;
}
