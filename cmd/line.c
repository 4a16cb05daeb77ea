// SPDX-License-Identifier: MIT
// Half a round trip: the median of a few short runs, so that one interruption does not count.

#include "line.h"

#include "base/clock.h"
#include "base/stats.h"

enum { RUNS = 5, TURNS = 50 };

static int turn(struct clab_comm *comm, int rank)
{
    long long word = 0;
    if (rank == 0)
        CLAB_TRY(clab_send(comm, &word, 1, CLAB_I64, 1));
    CLAB_TRY(clab_recv(comm, &word, 1, CLAB_I64, !rank));
    return rank == 1 ? clab_send(comm, &word, 1, CLAB_I64, 0) : CLAB_OK;
}

int line_measure(struct clab_comm *comm, double *seconds_p)
{
    int rank = clab_comm_rank(comm);
    double runs[RUNS], seconds = 0;
    for (int run = 0; run < RUNS && rank < 2 && clab_comm_ranks(comm) > 1; run++) {
        double begin = clab_now();
        for (int i = 0; i < TURNS; i++)
            CLAB_TRY(turn(comm, rank));
        runs[run] = (clab_now() - begin) / TURNS / 2;
        seconds = clab_quantile(runs, run + 1, 0.5);
    }
    CLAB_TRY(clab_broadcast(comm, &seconds, &seconds, 1, CLAB_F64, 0));
    *seconds_p = seconds;
    return CLAB_OK;
}

bool line_is_same(double a, double b)
{
    return a <= b * LINE_FACTOR && b <= a * LINE_FACTOR;
}
