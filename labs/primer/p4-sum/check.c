// SPDX-License-Identifier: MIT
// What a mended p4 must show: right sums both ways, of sends and receives, and as many as the ways need.
// before: The ring is still empty

#include "cmd/course/check.h"

static const char empty[] =
    "The ring is still empty, or one array is not in the sum, or twice. In each of ranks - 1 rounds: receive `other`, "
    "send `pass`, and add `other` to `out`.";
static const char too_often[] =
    "Your own array is in the sum twice: after ranks - 1 rounds each array has been here, and one round more brings "
    "your own. Do you count the rounds from 0 to ranks - 2?";
static const char pass_on[] =
    "Two ranks get the right sum, but more ranks do not. Pass on what you have just received, and nothing else: not "
    "your own array again, and not the sum, in which your own array is, too.";
static const char stuck[] =
    "Some ranks wait for ever: in a send that nobody receives, or for a message that nobody sends. In each round: "
    "start to receive from the left, send to the right, then wait, as in p3.";
static const char address[] =
    "A rank used a wrong address. Give `&receive` to clab_recv_start and `receive` to clab_work_wait. Arrays have "
    "`count` elements. Was there a warning of the compiler?";
static const char nobody_wrote[] =
    "A sum with NaN: you added, or passed on, an array in which nobody had written yet. Begin `out` and `pass` as "
    "copies of `in`. Receive into `other`, and read it only after clab_work_wait has returned.";
static const char size[] = "All messages have `count` elements of CLAB_F32, in both ways.";
static const char after_you[] =
    "Your two ways are right, but the library's sum after them is wrong. Did a way change `in`, or write behind the "
    "end of an array?";
static const char own[] = "around_ring is to be made of sends and receives: the library's allreduce is the third way.";
static const char rounds[] = "Each rank sends one array and receives one array in each of ranks - 1 rounds.";
static const char star[] =
    "through_rank_0 was right: every other rank sends once and receives once, and rank 0 does the rest.";
static const char chain[] =
    "The messages go one after another. In each round, all ranks send at the same time, each to its right: start to "
    "receive, send, then wait.";

enum { BYTES = 65536 };

static void require_ring(struct check *c, const struct check_run *run, int rank)
{
    const struct clab_counts n = check_span(run, rank, "ring", 0);
    const size_t expected = (size_t)check_ranks(run) - 1;
    check_require(c, check_collectives(&n) == 0, own, "rank %d, collectives in around_ring: got %zu, expected 0", rank,
                  check_collectives(&n));
    check_require(c, n.sends == expected && n.receives == expected, rounds,
                  "rank %d, around the ring: got %zu sends and %zu receives, expected %zu of each", rank, n.sends,
                  n.receives, expected);
    check_require(c, n.bytes_sent == expected * BYTES, rounds,
                  "rank %d, bytes sent around the ring: got %zu, expected %zu", rank, n.bytes_sent, expected * BYTES);
}

static void require_star(struct check *c, const struct check_run *run, int rank)
{
    const struct clab_counts n = check_span(run, rank, "rank_0", 0);
    const size_t expected = rank == 0 ? (size_t)check_ranks(run) - 1 : 1;
    check_require(c, n.sends == expected && n.receives == expected, star,
                  "rank %d, through rank 0: got %zu sends and %zu receives, expected %zu of each", rank, n.sends,
                  n.receives, expected);
}

static void require_at_once(struct check *c, const struct check_run *run)
{
    const double message = check_message(c, "1gbe", BYTES), rounds_time = (check_ranks(run) - 1) * message;
    const double got = check_most(run, "ring", 0).seconds;
    check_require(c, got <= 1.5 * rounds_time, chain,
                  "slowest rank, around the ring: got %.4g ms, expected about %.4g ms", got * 1e3, rounds_time * 1e3);
}

static void check(struct check *c)
{
    check_advise(c, CHECK_HANGS, stuck);
    check_advise(c, CHECK_WRONG, empty);
    check_advise(c, CHECK_CRASHES, address);
    check_advise(c, CHECK_MISMATCH, size);
    check_advise_when(c, CHECK_WRONG, "\\(library", after_you);
    check_advise_when(c, CHECK_WRONG, "\\(rank_0", star);
    check_advise_when(c, CHECK_WRONG, "got -?nan", nobody_wrote);
    check_advise_when(c, CHECK_WRONG, "more than the sum(.|\n)*mine -n 2 ", too_often);
    if (check_case(c, "2 ranks: both ways give the right sum"))
        check_run(c, "shm", NULL, 2, "65536");
    check_advise(c, CHECK_WRONG, pass_on);
    if (check_case(c, "3 and 5 ranks: both ways give the right sum")) {
        check_run(c, "shm", NULL, 3, "65536");
        check_run(c, "sim", "1gbe", 5, "12");
    }
    if (check_case(c, "5 ranks: messages and bytes are those of a ring")) {
        const struct check_run *run = check_run(c, "sim", "1gbe", 5, "65536");
        for (int rank = 0; rank < 5; rank++)
            require_ring(c, run, rank);
        for (int rank = 0; rank < 5; rank++)
            require_star(c, run, rank);
    }
    if (check_case(c, "8 ranks on 1gbe: in each round of the ring, all ranks send at the same time"))
        require_at_once(c, check_run(c, "sim", "1gbe", 8, "65536"));
}

const struct lab_check LAB_CHECK = {.check = check};
