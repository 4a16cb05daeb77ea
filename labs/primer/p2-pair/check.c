// SPDX-License-Identifier: MIT
// What a mended p2 must show: each round trip is one message there, and then one back, of the right size.
// before: Nothing is sent

#include <math.h>

#include "cmd/course/check.h"

// As in the program: one round trip to warm up and 20 timed ones, of 1000, 10,000, 100,000 and 1,000,000 bytes.
enum { TRIPS = 4 * 21 };
static const size_t bytes = 21 * (1000 + 10000 + 100000 + 1000000);

static const char nothing[] = "Nothing is sent. Write clab_send and clab_recv in round_trip, where the TODO is.";
static const char pair[] =
    "In each round trip, rank 0 sends once and receives once, and so does rank 1. A send of one rank is a receive of "
    "the other one.";
static const char both_first[] =
    "The ranks wait for each other, or one waits for itself. If both send first, a long message waits for a receive "
    "that comes only later; if both receive first, nobody sends. Rank 0 sends, then receives. Rank 1 receives, then "
    "sends.";
static const char itself[] =
    "A rank sends to itself, or receives from itself. The last argument is the other rank: 1 where rank 0 calls, 0 "
    "where rank 1 calls.";
static const char address[] =
    "A rank used a wrong address, or changed memory that is not its own. `bytes` is an address already, without `&`; "
    "it has `count` elements of CLAB_U8. Was there a warning of the compiler?";
static const char size[] = "Send and receive all `count` bytes, at both ranks.";
static const char add[] =
    "Rank 1 adds 1 to bytes[0] after it has received the bytes, and before it sends them back. Rank 0 receives into "
    "the same array.";
static const char others[] =
    "Ranks 2 and up have no partner. round_trip must do nothing there: `else if (rank == 1)`, not `else`.";
static const char slow[] = "The round trip has more messages one after another than the two it needs, or fewer.";

// What rank 0 or 1 must have counted, of two ranks or more.
static void require_counts(struct check *c, const struct check_run *run, int rank)
{
    const struct clab_counts n = check_total(run, rank);
    check_require(c, n.sends == TRIPS, n.sends + n.receives ? pair : nothing, "rank %d, sends: got %zu, expected %d",
                  rank, n.sends, TRIPS);
    check_require(c, n.receives == TRIPS, pair, "rank %d, receives: got %zu, expected %d", rank, n.receives, TRIPS);
    check_require(c, n.bytes_sent >= bytes, size, "rank %d, bytes sent: got %zu, expected %zu", rank, n.bytes_sent,
                  bytes);
}

static void require_added(struct check *c, const struct check_run *run)
{
    const double got = check_reported(run, "bytes_0");
    check_require(c, got == TRIPS, add, "rank 0, index 0: got %g, expected %d, one per round trip", got, TRIPS);
}

static void require_time(struct check *c, const struct check_run *run, const char *quantity, double count)
{
    const double got = check_reported(run, quantity), expected = check_message(c, "1gbe", count);
    check_require(c, fabs(got - expected) < 0.02 * expected, slow, "%s on 1gbe: got %.4g us, expected %.4g us",
                  quantity, got * 1e6, expected * 1e6);
}

static void check(struct check *c)
{
    check_advise_when(c, CHECK_HANGS, "rank 0: .* (to|from) rank 0:|rank 1: .* (to|from) rank 1:", itself);
    check_advise(c, CHECK_HANGS, both_first);
    check_advise(c, CHECK_CRASHES, address);
    check_advise(c, CHECK_MISMATCH, size);
    if (check_case(c, "2 ranks: one message there, one back")) {
        const struct check_run *run = check_run(c, "sim", "1gbe", 2, NULL);
        require_counts(c, run, 0);
        require_counts(c, run, 1);
    }
    if (check_case(c, "2 ranks: rank 1 has changed what comes back")) {
        require_added(c, check_run(c, "sim", "1gbe", 2, NULL));
        require_added(c, check_run(c, "shm", NULL, 2, NULL));
    }
    if (check_case(c, "2 ranks on 1gbe: the times of messages are those of the network")) {
        require_time(c, check_run(c, "sim", "1gbe", 2, NULL), "time/1000", 1000);
        require_time(c, check_run(c, "sim", "1gbe", 2, NULL), "time/1000000", 1000000);
    }
    check_advise(c, CHECK_HANGS, others);
    check_advise(c, CHECK_CRASHES, others);
    if (check_case(c, "4 ranks: those that have no partner do nothing")) {
        const struct check_run *run = check_run(c, "sim", "1gbe", 4, NULL);
        require_counts(c, run, 1);
        for (int rank = 2; rank < 4; rank++)
            check_require(c, check_total(run, rank).sends == 0, others, "rank %d, sends: got %zu, expected 0", rank,
                          check_total(run, rank).sends);
    }
}

const struct lab_check LAB_CHECK = {.check = check};
