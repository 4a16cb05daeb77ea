// SPDX-License-Identifier: MIT
// Half round trips, of a word and of what the other has just written (line.h).

#include "line.h"

#include <sys/resource.h>

#include "base/clock.h"
#include "base/stats.h"

enum { RUNS = 5, TURNS = 50, FRESH_TURNS = 5, MOST = 4096 };

static int turn(struct clab_comm *comm, int rank, void *data, size_t words)
{
    if (rank == 0)
        CLAB_TRY(clab_send(comm, data, words, CLAB_I64, 1));
    CLAB_TRY(clab_recv(comm, data, words, CLAB_I64, !rank));
    return rank == 1 ? clab_send(comm, data, words, CLAB_I64, 0) : CLAB_OK;
}

// Half a round trip in seconds, the mean of `turns`.
static int time_turns(struct clab_comm *comm, int turns, void *data, size_t words, double *seconds_p)
{
    const int rank = clab_comm_rank(comm);
    const double begin = clab_now();
    if (clab_comm_ranks(comm) == 1) {
        *seconds_p = 0;
        return CLAB_OK;
    }
    for (int i = 0; i < turns && rank < 2; i++)
        CLAB_TRY(turn(comm, rank, data, words));
    *seconds_p = (clab_now() - begin) / turns / 2;
    return CLAB_OK;
}

int line_look(struct clab_comm *comm, void *room, struct clab_look *look_p)
{
    long long word = 0;
    double line, fresh;
    CLAB_TRY(time_turns(comm, TURNS, &word, 1, &line));
    CLAB_TRY(time_turns(comm, 1, room, LINE_ROOM / sizeof word, &fresh)); // the first has not just been written
    CLAB_TRY(time_turns(comm, FRESH_TURNS, room, LINE_ROOM / sizeof word, &fresh));
    *look_p = (struct clab_look){line, fresh / LINE_ROOM};
    return CLAB_OK;
}

double line_interruptions(void)
{
    struct rusage usage;
    return getrusage(RUSAGE_SELF, &usage) ? 0 : (double)usage.ru_nivcsw;
}

int line_measure(struct clab_comm *comm, double *seconds_p)
{
    double runs[RUNS], seconds = 0;
    long long word = 0;
    for (int run = 0; run < RUNS && clab_comm_ranks(comm) > 1; run++) {
        CLAB_TRY(time_turns(comm, TURNS, &word, 1, &runs[run]));
        seconds = clab_quantile(runs, run + 1, 0.5);
    }
    CLAB_TRY(clab_broadcast(comm, &seconds, &seconds, 1, CLAB_F64, 0));
    *seconds_p = seconds;
    return CLAB_OK;
}

// One of them, also of an even number: between two placements there is none.
static double middle(const double values[], int n)
{
    return clab_quantile(values, n, n > 1 ? (double)((n - 1) / 2) / (n - 1) : 0);
}

// Only those that were not interrupted, if there are enough of them: `values` and their looks; returns how many.
static int keep_undisturbed(double values[], const struct clab_look looks[], int n, struct clab_look kept[])
{
    int calm = 0, found = 0;
    for (int i = 0; i < n; i++)
        calm += looks[i].line > 0;
    for (int i = 0; i < n; i++)
        if (4 * calm < n || looks[i].line > 0) {
            values[found] = values[i];
            kept[found++] = looks[i];
        }
    return found;
}

int line_keep_same(double values[], const struct clab_look looks[], int n, struct clab_look *look_p)
{
    struct clab_look calm[MOST];
    double lines[MOST] = {0}, fresh[MOST] = {0};
    int kept = 0;
    n = keep_undisturbed(values, looks, n < MOST ? n : MOST, calm);
    for (int i = 0; i < n; i++)
        fresh[i] = calm[i].fresh;
    const struct clab_look usual = {0, middle(fresh, n)};
    for (int i = 0; i < n; i++)
        if (clab_look_is_same(calm[i], usual)) {
            values[kept] = values[i];
            lines[kept] = calm[i].line;
            fresh[kept++] = calm[i].fresh;
        }
    *look_p = (struct clab_look){middle(lines, kept), middle(fresh, kept)};
    return kept;
}

bool line_is_same(double a, double b)
{
    return a <= b * LINE_FACTOR && b <= a * LINE_FACTOR;
}
