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

int line_look(struct clab_comm *comm, double *seconds_p)
{
    const int rank = clab_comm_rank(comm);
    const double begin = clab_now();
    if (clab_comm_ranks(comm) == 1) {
        *seconds_p = 0;
        return CLAB_OK;
    }
    for (int i = 0; i < TURNS && rank < 2; i++)
        CLAB_TRY(turn(comm, rank));
    *seconds_p = (clab_now() - begin) / TURNS / 2;
    return CLAB_OK;
}

int line_measure(struct clab_comm *comm, double *seconds_p)
{
    double runs[RUNS], seconds = 0;
    for (int run = 0; run < RUNS && clab_comm_ranks(comm) > 1; run++) {
        CLAB_TRY(line_look(comm, &runs[run]));
        seconds = clab_quantile(runs, run + 1, 0.5);
    }
    CLAB_TRY(clab_broadcast(comm, &seconds, &seconds, 1, CLAB_F64, 0));
    *seconds_p = seconds;
    return CLAB_OK;
}

int line_keep_same(double values[], const double lines[], int n, double *line_p)
{
    // One of them, also of an even number: between two placements there is none.
    const double line = clab_quantile(lines, n, n > 1 ? (double)((n - 1) / 2) / (n - 1) : 0);
    int kept = 0;
    for (int i = 0; i < n; i++)
        if (line_is_same(lines[i], line))
            values[kept++] = values[i];
    *line_p = line;
    return kept;
}

bool line_is_same(double a, double b)
{
    return a <= b * LINE_FACTOR && b <= a * LINE_FACTOR;
}
