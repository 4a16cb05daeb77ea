// SPDX-License-Identifier: MIT
// expects: Ranks 2 and up have no partner
// p2, mended wrongly: all ranks but 0 wait for a message of rank 0.

#include <stdio.h>

#include "clab.h"

enum { TRIPS = 20, MOST = 1000000 };

// One round trip: `bytes` go from rank 0 to rank 1, and back. Rank 1 adds 1 to bytes[0] in between.
static void round_trip(struct clab_comm *comm, unsigned char *bytes, size_t count)
{
    const int rank = clab_comm_rank(comm);
    if (rank == 0) {
        must(clab_send(comm, bytes, count, CLAB_U8, 1));
        must(clab_recv(comm, bytes, count, CLAB_U8, 1));
    } else {
        must(clab_recv(comm, bytes, count, CLAB_U8, 0));
        bytes[0]++;
        must(clab_send(comm, bytes, count, CLAB_U8, 0));
    }
}

int main(int argc, char **argv)
{
    static const char *const names[] = {"time/1000", "time/10000", "time/100000", "time/1000000"};
    static unsigned char bytes[MOST];
    struct clab_job *job;
    struct clab_comm *comm;
    must(clab_job_open(&argc, argv, &job));
    must(clab_comm_create(job, &comm));
    for (size_t i = 0, count = 1000; count <= MOST; i++, count *= 10) {
        round_trip(comm, bytes, count); // not timed: the first one takes longer
        const double start = clab_seconds();
        for (int trip = 0; trip < TRIPS; trip++)
            round_trip(comm, bytes, count);
        const double one_way = (clab_seconds() - start) / (2 * TRIPS); // two messages per round trip
        must(clab_report(comm, names[i], "s", &one_way, 1));
    }
    must(clab_report(comm, "bytes_0", "1", &(double){bytes[0]}, 1));
    clab_comm_destroy(comm);
    must(clab_job_close(job));
    return 0;
}
