// SPDX-License-Identifier: MIT
// placement.h: what before and after share: ranks as a launcher deals them out, and who sends how much between hosts.
//
// - placement_deal gives the communicator that a launcher makes which deals ranks out to hosts like cards: rank 0 to the
//   first host, rank 1 to the second, and around again (srun --distribution=cyclic, mpirun --map-by node).
// - placement_per_host ends the program unless all hosts have as many ranks: all sizes are cut into so many blocks.
// - placement_report_across adds up what the ranks of each host have sent to other hosts.
#pragma once

#include "lab.h"

// How many ranks of `comm` before `end` run on `host`.
static inline int placement_count(const struct clab_comm *comm, int host, int end)
{
    int n = 0;
    for (int r = 0; r < end; r++)
        n += clab_comm_host(comm, r) == host;
    return n;
}

// All ranks of `all`, first the first rank of each host, then the second of each, and so on. Collective.
static inline struct clab_comm *placement_deal(struct clab_comm *all)
{
    struct clab_comm *dealt;
    const int me = clab_comm_rank(all), place = placement_count(all, clab_comm_host(all, me), me);
    must(clab_comm_split(all, 0, place, &dealt));
    return dealt;
}

// Ranks on each host: as many on all, or the program ends with status 2.
static inline int placement_per_host(const struct clab_comm *comm)
{
    const int P = clab_comm_ranks(comm), each = placement_count(comm, clab_comm_host(comm, 0), P);
    for (int r = 0; r < P; r++) {
        const int here = placement_count(comm, clab_comm_host(comm, r), P);
        if (here == each)
            continue;
        if (clab_comm_rank(comm) == 0)
            fprintf(stderr, "this lab wants as many ranks on each host: host %d has %d, host %d has %d; change -n\n",
                    clab_comm_host(comm, 0), each, clab_comm_host(comm, r), here);
        exit(2);
    }
    return each;
}

// Report what the busiest host sends to other hosts, in bytes.  mine: bytes that this rank has sent there
static inline void placement_report_across(struct clab_comm *comm, size_t mine, const char *method, size_t bytes)
{
    const int P = clab_comm_ranks(comm), host = clab_comm_host(comm, clab_comm_rank(comm));
    double *sent = calloc((size_t)P, sizeof *sent), most = 0; // of each rank; then of its host
    must(sent ? CLAB_OK : CLAB_ENOMEM);
    sent[clab_comm_rank(comm)] = (double)mine;
    must(clab_allreduce(comm, sent, sent, (size_t)P, CLAB_F64, CLAB_SUM));
    for (int r = 0; r < P; r++)
        most += clab_comm_host(comm, r) == host ? sent[r] : 0;
    free(sent);
    lab_report(comm, "B", &most, 1, "across/%s/%zu", method, bytes);
}
