// SPDX-License-Identifier: MIT
// What a mended lab 01 must show: communicators do not grow with iterations and are all destroyed, each iteration runs
// one allreduce, and a long loop shares the communicator's cost. What is counted is the span "loop/ITERATIONS" around a loop.
// before: You make a communicator in every iteration

#include "cmd/course/check.h"
#include "lab.h"

enum { FEW = 4, MANY = 8, LONG = 16 };

static size_t made(const struct check_run *run, const char *loop, int index)
{
    return check_most(run, loop, index).communicators;
}

// ---- communicators -------------------------------------------------------------------------------------------

// The reason why more iterations make more communicators.
//   few, many, again: made in loops of FEW and MANY iterations, and in another loop of MANY
static const char *why_growing(size_t few, size_t many, size_t again)
{
    if (again < many)
        return "You keep communicators for later, one for each iteration of the longest loop so far: its first run still "
               "makes them all, and none is ever destroyed. All iterations can use the same one.";
    if (few == FEW && many == MANY)
        return "You make a communicator in every iteration: all ranks meet and connect each time. Make it once, before "
               "the loop, and destroy it after the loop.";
    return "You make fewer communicators, but still a new one after every few iterations, as in a loop around the loop. "
           "Nothing in a communicator wears out: make it once, before all iterations.";
}

static void hold_communicators(struct check *c, int ranks)
{
    const struct check_run *run = check_run(c, "sim", "1gbe", ranks, "4096 4 8 8");
    if (!check_has(c, run, "loop/4", 1) || !check_has(c, run, "loop/8", 2))
        return;
    const size_t few = made(run, "loop/4", 0), many = made(run, "loop/8", 0), again = made(run, "loop/8", 1);
    check_require(c, few == many, why_growing(few, many, again),
                  "%d ranks, communicators made in loops of %d and %d iterations: got %zu and %zu, expected the same "
                  "number: 1 is enough",
                  ranks, FEW, MANY, few, many);
}

static void hold_destroyed(struct check *c, int ranks)
{
    const struct check_run *run = check_run(c, "sim", "1gbe", ranks, "4096 4 8 8");
    for (int rank = 0; rank < ranks; rank++) {
        const struct clab_counts got = check_total(run, rank);
        check_require(c, got.communicators_destroyed == got.communicators,
                      "A communicator holds memory and connections until clab_comm_destroy gives them back; the end of a "
                      "loop does not do so. Destroy each one that you make: after the loop, or at the end of main.",
                      "rank %d, communicators destroyed: got %zu, expected %zu, as many as were made", rank,
                      got.communicators_destroyed, got.communicators);
    }
}

// ---- operations and time -------------------------------------------------------------------------------------

static void hold_operations(struct check *c, int ranks)
{
    const struct check_run *run = check_run(c, "sim", "1gbe", ranks, "4096 4");
    if (!check_has(c, run, "loop/4", 1))
        return;
    for (int rank = 0; rank < ranks; rank++) {
        const struct clab_counts got = check_span(run, rank, "loop/4", 0);
        check_require(c, check_collectives(&got) == FEW,
                      "Every iteration runs one allreduce of the gradients: no more, to warm up or to be sure, and no "
                      "fewer. Only the communicator is made less often.",
                      "rank %d, collectives in a loop of %d iterations, barriers apart: got %zu, expected %d", rank,
                      FEW, check_collectives(&got), FEW);
    }
}

// The communicator is made before all loops, which is even better: a loop of 1 has nothing to share.
static void hold_equal_time(struct check *c, const char *net, int ranks, double one, double each)
{
    check_require(c, each < 1.01 * one,
                  "Your communicator is made before all loops, so each iteration is one operation, in a loop of any "
                  "length. Look for what a longer loop does besides.",
                  "%d ranks on %s, virtual time per iteration of %d: got %.4g us, expected the %.4g us of a loop of 1",
                  ranks, net, LONG, 1e6 * each, 1e6 * one);
}

// T(1) = c; T(k) / k = c / k + o (1 - 1 / k): with k = 16 less than half of c where c > 2.3 o, as on these networks.
static void hold_time(struct check *c, const char *net, int ranks)
{
    const struct check_run *run = check_run(c, "sim", net, ranks, "4096 1 16");
    if (!check_has(c, run, "loop/1", 1) || !check_has(c, run, "loop/16", 1))
        return;
    const double one = check_most(run, "loop/1", 0).seconds, each = check_most(run, "loop/16", 0).seconds / LONG;
    if (made(run, "loop/1", 0) == 0) {
        hold_equal_time(c, net, ranks, one, each);
        return;
    }
    check_require(
        c, 2 * each < one,
        "In a loop of 16, an iteration carries only a 16th of the communicator's cost. If it takes as long as "
        "a loop of 1, each iteration still pays for something that is needed once.",
        "%d ranks on %s, virtual time per iteration of %d: got %.4g us, expected less than half of the %.4g us "
        "of a loop of 1",
        ranks, net, LONG, 1e6 * each, 1e6 * one);
}

// ---- the cases -----------------------------------------------------------------------------------------------

static const char hangs[] =
    "Some ranks wait for others that never come. clab_comm_create is collective: every rank of the job calls it, as "
    "often as the others do.";
static const char crashes[] =
    "A rank uses a communicator that it does not have. clab_comm_create is collective: every rank of the job calls it, "
    "and gets its own. It can be used until clab_comm_destroy.";

static void check(struct check *c)
{
    check_advise(c, CHECK_HANGS, hangs);
    check_advise(c, CHECK_MISMATCH, hangs);
    check_advise(c, CHECK_CRASHES, crashes);
    if (check_case(c, "4 ranks, shared memory: the sums are right, whatever the buffers held before"))
        check_sum(c, check_run(c, "shm", NULL, 4, "4096 1 2"), "checksum", lab_checksum(4, 4096));
    if (check_case(c, "2, 4 and 5 ranks on 1gbe: communicators do not grow with iterations"))
        for (int ranks = 2; ranks <= 5; ranks += ranks == 2 ? 2 : 1)
            hold_communicators(c, ranks);
    if (check_case(c, "4 ranks on 1gbe: each communicator is destroyed"))
        hold_destroyed(c, 4);
    if (check_case(c, "5 ranks on 1gbe: every iteration runs one allreduce"))
        hold_operations(c, 5);
    if (check_case(c, "4 ranks on 1gbe: an iteration of 16 takes less than half of a loop of 1"))
        hold_time(c, "1gbe", 4);
    if (check_case(c, "4 ranks on dgx-h100: likewise"))
        hold_time(c, "dgx-h100", 4);
}

const struct lab_check LAB_CHECK = {.check = check};
