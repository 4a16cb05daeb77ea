// SPDX-License-Identifier: MIT
// What a mended lab 06 must show: whoever has the most to do is named, by how much it is late is right, and one
// monitored barrier per step is enough.
// before: All ranks leave a barrier together
//
// - Who must be named, and the right lateness, follow from what the library has charged each rank for computing in the
//   step: in virtual time the ranks begin a step together, but for a few messages' time.

#include <math.h>
#include <string.h>

#include "cmd/course/check.h"

static const char by_steps[] =
    "All ranks leave a barrier together, so their step times are equal, whoever came last. Let clab_monitored_barrier say "
    "how late each rank came.";
static const char by_waiting[] =
    "A rank that waits long came early. The straggler comes last, and waits least. Name the rank whose late[r] is the "
    "largest.";
static const char by_limit[] =
    "A time limit finds ranks that do not come. A straggler does come, so the limit is never reached. Read late[] after the "
    "barrier.";
static const char by_own_clock[] =
    "Lateness counts from the moment at which the first rank came, not from the beginning of the step: a rank's own clock "
    "does not know that moment. The monitored barrier does: late[r].";
static const char too_often[] =
    "A monitored barrier costs rank 0 four messages per rank. Use one where the step ends, and clab_barrier elsewhere.";

enum { MEASURED = 1 };               // the number of the span: span 0 is the step that warms up
static const double most_off = 0.05; // of the lateness: messages take some microseconds of some hundred

// Who computes longest in a step, and by how many seconds longer than who is done first.
struct truth {
    int rank;
    double lateness;
};

static struct truth find_truth(const struct check_run *run)
{
    double least = INFINITY, most = -INFINITY;
    struct truth truth = {0};
    for (int rank = 0; rank < check_ranks(run); rank++) {
        const double computed = check_span(run, rank, "step", MEASURED).computed;
        truth.rank = computed > most ? rank : truth.rank;
        most = fmax(most, computed);
        least = fmin(least, computed);
    }
    truth.lateness = most - least;
    return truth;
}

static void require_straggler(struct check *c, const struct check_run *run, const char *extra)
{
    char named[32] = "named/", lateness[32] = "lateness/";
    strncat(named, extra, 16), strncat(lateness, extra, 16);
    if (!check_has(c, run, "step", MEASURED + 1))
        return;
    const struct truth truth = find_truth(run);
    const double who = check_reported(run, named), late = check_reported(run, lateness);
    const bool is_monitored = check_span(run, 0, "step", MEASURED).monitored_barriers > 0;
    check_require(c, is_monitored, by_steps,
                  "rank 0, monitored barriers in a step: got 0, expected 1; rank %g is named, rank %d came last", who,
                  truth.rank);
    check_require(c, late > 0, by_limit, "rank %d, lateness: got %g us, expected %.1f us", truth.rank, 1e6 * late,
                  1e6 * truth.lateness);
    check_require(c, who == truth.rank, by_waiting,
                  "the straggler: got rank %g, expected rank %d, which computed %.1f us "
                  "longer than the first to be done",
                  who, truth.rank, 1e6 * truth.lateness);
    check_require(c, fabs(late / truth.lateness - 1) <= most_off, by_own_clock,
                  "rank %d, lateness: got %.1f us, expected %.1f us within %g %%", truth.rank, 1e6 * late,
                  1e6 * truth.lateness, 100 * most_off);
}

static void check(struct check *c)
{
    if (check_case(c, "3 ranks, shared memory: the work is right"))
        check_run(c, "shm", NULL, 3, "1M 200");
    if (check_case(c, "4 ranks on dgx-h100: the last rank has more to do, and is named"))
        require_straggler(c, check_run(c, "sim", "dgx-h100", 4, "32M 1600"), "1600");
    if (check_case(c, "4 ranks: rank 1 takes 40 times as long to compute, and is named"))
        require_straggler(c, check_run(c, "sim", "dgx-h100", 4, "--straggle 1=40 32M 100"), "100");
    if (check_case(c, "7 ranks on dgx-a100: rank 0 is the slow one, and is named"))
        require_straggler(c, check_run(c, "sim", "dgx-a100", 7, "--straggle 0=60 32M 100"), "100");
    if (check_case(c, "8 ranks: one monitored barrier per step, no more")) {
        const struct check_run *run = check_run(c, "sim", "dgx-h100", 8, "16M 100 200");
        const size_t monitored = check_total(run, 0).monitored_barriers, steps = (size_t)check_spans(run, 0, "step");
        check_require(c, monitored <= steps, too_often,
                      "rank 0, monitored barriers in %zu steps: got %zu, expected %zu", steps, monitored, steps);
    }
}

const struct lab_check LAB_CHECK = {.check = check};
