// SPDX-License-Identifier: MIT
// Half round trips, of a word and of what the other has just written, and empty calls (placement.h).

#include "cmd/probe/placement.h"

#include <math.h>
#include <sys/resource.h>

#include "core/base/clock.h"
#include "core/base/stats.h"

enum { RUNS = 5, TURNS = 50, FRESH_TURNS = 5, CALL_RUNS = 4, CALLS = 25, MOST = 4096 };
static const double calm = 1.15; // the factor within which calls are of one pace; a neighbour makes it 1.5 and more

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

int probe_alone(struct clab_comm *comm, struct clab_comm **alone_p)
{
    struct clab_comm *alone;
    CLAB_TRY(clab_comm_split(comm, clab_comm_rank(comm), 0, &alone));
    const int err = clab_comm_set_algorithm(alone, CLAB_BROADCAST, "flat", 1);
    if (err)
        clab_comm_destroy(alone);
    else
        *alone_p = alone;
    return err;
}

int probe_call(struct clab_comm *alone)
{
    static const float in;
    float out;
    return clab_broadcast(alone, &in, &out, 1, CLAB_F32, 0);
}

// An empty call of the slower core: the least of a few runs, since the first ones find cold caches.
static int time_calls(struct clab_comm *comm, struct clab_comm *alone, double *seconds_p)
{
    double least = INFINITY;
    for (int run = 0; run < CALL_RUNS; run++) {
        const double begin = clab_now();
        for (int i = 0; i < CALLS; i++)
            CLAB_TRY(probe_call(alone));
        least = fmin(least, (clab_now() - begin) / CALLS);
    }
    return clab_allreduce(comm, &least, seconds_p, 1, CLAB_F64, CLAB_MAX);
}

int probe_placement(struct clab_comm *comm, struct clab_comm *alone, void *room, struct clab_placement_sample *probed_p)
{
    long long word = 0;
    double line, fresh, call;
    CLAB_TRY(time_calls(comm, alone, &call));
    CLAB_TRY(time_turns(comm, TURNS, &word, 1, &line));
    CLAB_TRY(time_turns(comm, 1, room, PROBE_ROOM / sizeof word, &fresh)); // its first data are not fresh
    CLAB_TRY(time_turns(comm, FRESH_TURNS, room, PROBE_ROOM / sizeof word, &fresh));
    *probed_p = (struct clab_placement_sample){line, fresh / PROBE_ROOM, call};
    return CLAB_OK;
}

int probe_wire(struct clab_comm *comm, struct clab_placement_sample *probed_p)
{
    long long word = 0;
    double line;
    CLAB_TRY(time_turns(comm, PROBE_WIRE_TURNS, &word, 1, &line));
    *probed_p = (struct clab_placement_sample){.line = line};
    return CLAB_OK;
}

double probe_interruptions(void)
{
    struct rusage usage;
    return getrusage(RUSAGE_SELF, &usage) ? 0 : (double)usage.ru_nivcsw;
}

static double seconds_of(struct timeval t)
{
    return (double)t.tv_sec + (double)t.tv_usec * 1e-6;
}

struct probe_turns probe_turns(void)
{
    struct rusage usage;
    struct probe_turns turns = {.now = clab_now()};
    if (getrusage(RUSAGE_SELF, &usage) == 0) {
        turns.had = seconds_of(usage.ru_utime) + seconds_of(usage.ru_stime);
        turns.sleeps = (double)usage.ru_nvcsw;
    }
    return turns;
}

bool probe_are_taken(struct probe_turns sums, int ranks, int cores)
{
    const double nearly = 0.97; // ranks begin and end one after another
    return sums.sleeps == 0 && sums.had * ranks < nearly * sums.now * cores;
}

int probe_latency(struct clab_comm *comm, double *seconds_p)
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

// One of the values, also of an even number: the mean of two placements is no placement.
static double middle(const double values[], int n)
{
    return clab_quantile(values, n, n > 1 ? (double)((n - 1) / 2) / (n - 1) : 0);
}

// Keep the values that were not interrupted, if there are enough, and their samples. Returns how many.
static int keep_undisturbed(double values[], const struct clab_placement_sample all_probed[], int n,
                            struct clab_placement_sample kept[])
{
    int calm = 0, found = 0;
    for (int i = 0; i < n; i++)
        calm += all_probed[i].line > 0;
    for (int i = 0; i < n; i++)
        if (4 * calm < n || all_probed[i].line > 0) {
            values[found] = values[i];
            kept[found++] = all_probed[i];
        }
    return found;
}

bool probe_is_calm(double call, double least)
{
    return call <= least * calm;
}

// Of values with one placement, keep those at one pace: the fastest that a quarter of them have, else the usual.
static int keep_pace(double values[], struct clab_placement_sample all_probed[], int n)
{
    double calls[MOST] = {0};
    int fastest = 0, found = 0;
    for (int i = 0; i < n; i++)
        calls[i] = all_probed[i].call;
    const double least = clab_quantile(calls, n, 0), usual = middle(calls, n);
    for (int i = 0; i < n; i++)
        fastest += probe_is_calm(calls[i], least);
    const double from = 4 * fastest < n ? usual / calm : 0, pace = 4 * fastest < n ? usual : least;
    for (int i = 0; i < n; i++)
        if (calls[i] >= from && probe_is_calm(calls[i], pace)) {
            values[found] = values[i];
            all_probed[found++] = all_probed[i];
        }
    return found;
}

// The median of each number of the samples.
static struct clab_placement_sample middle_probed(const struct clab_placement_sample all_probed[], int n)
{
    double lines[MOST] = {0}, fresh[MOST] = {0}, calls[MOST] = {0};
    for (int i = 0; i < n; i++) {
        lines[i] = all_probed[i].line;
        fresh[i] = all_probed[i].fresh;
        calls[i] = all_probed[i].call;
    }
    return (struct clab_placement_sample){middle(lines, n), middle(fresh, n), middle(calls, n)};
}

int probe_keep_same(double values[], const struct clab_placement_sample all_probed[], int n,
                    struct clab_placement_sample *probed_p)
{
    struct clab_placement_sample seen[MOST] = {0};
    int kept = 0;
    n = keep_undisturbed(values, all_probed, n < MOST ? n : MOST, seen);
    const struct clab_placement_sample usual = {.fresh = middle_probed(seen, n).fresh};
    for (int i = 0; i < n; i++)
        if (clab_placement_is_same(seen[i], usual)) {
            values[kept] = values[i];
            seen[kept++] = seen[i];
        }
    if (usual.fresh > 0) // else most samples are zeros
        kept = keep_pace(values, seen, kept);
    *probed_p = middle_probed(seen, kept);
    return kept;
}

bool probe_is_same(double a, double b)
{
    return a <= b * PROBE_FACTOR && b <= a * PROBE_FACTOR;
}
