// SPDX-License-Identifier: MIT
// What a mended p3 must show: no deadlock at any size and number of ranks, and all messages at the same time.
// before: Every rank waits in its send

#include "cmd/course/check.h"

static const char receive_first[] =
    "Every rank waits in clab_recv, and nobody has sent yet. To swap the two lines is not enough: start one of the two "
    "calls (_start), do the other one, then wait.";
static const char send_first[] =
    "Every rank waits in its send until its right neighbour receives, but that one waits in a send, too. Start to "
    "receive before you send: clab_recv_start, clab_send, clab_work_wait.";
static const char around[] =
    "Two ranks pass, more do not: with two ranks, left and right are the same neighbour. Send to the right, and "
    "receive from the left.";
static const char from_right[] =
    "You receive from the right. With two ranks, that is also the left neighbour, so two ranks pass. Send to the "
    "right, and receive from the left: clab_recv_start with `left`.";
static const char to_left[] =
    "You send to the left. With two ranks, that is also the right neighbour, so two ranks pass. Send to the right, and "
    "receive from the left.";
static const char wrong[] =
    "Read what you receive only after clab_work_wait has returned. Each start needs a variable and a wait of its own: "
    "if two starts share one variable, nobody waits for the first one. Receive from the left, send to the right.";
static const char never[] =
    "Nobody waits for a send or a receive that you started. Each start needs a variable and a wait of its own: if two "
    "starts share one variable, the second one overwrites the first.";
static const char address[] =
    "A start or a wait got no valid address. Give the address of your variable to the start, `&work`, and the variable "
    "itself to clab_work_wait. Was there a warning of the compiler?";
static const char size[] =
    "A send and its receive have the same count and the same type: `count` elements of CLAB_F64.";
static const char ended[] =
    "A rank ended before its job was closed. Each start needs a variable and a wait of its own; wait only once for "
    "each.";
static const char short_ones[] =
    "You cut the array into short messages. That works only while the library has room to copy them; on another "
    "machine it is stuck. One send and one receive per rank are enough.";
static const char chain[] =
    "Messages wait for each other: some rank receives before it sends. If each rank starts to receive, then sends, and "
    "then waits, all messages travel at the same time. (In virtual time no send waits for its receiver. On a real "
    "network, such a chain takes even longer.)";
// Of 5 ranks: a call to the right, a receive from there, a send to the left.
#define TO_RIGHT   "rank (0: .* to rank 1|1: .* to rank 2|2: .* to rank 3|3: .* to rank 4|4: .* to rank 0):"
#define FROM_RIGHT "rank (0: .* from rank 1|1: .* from rank 2|2: .* from rank 3|3: .* from rank 4|4: .* from rank 0):"
#define TO_LEFT    "rank (0: .* to rank 4|1: .* to rank 0|2: .* to rank 1|3: .* to rank 2|4: .* to rank 3):"

enum { LONG = 100000 };

// What nobody waits for is right only if it happens to be done in time.
static void require_right(struct check *c, const struct check_run *run, int nranks)
{
    for (int rank = 0; rank < nranks; rank++) {
        const struct clab_counts n = check_total(run, rank);
        check_require(c, n.waited_for == n.started, never,
                      "rank %d, sends and receives that were started and have no wait: got %zu, expected 0", rank,
                      n.started - n.waited_for);
    }
    const double got = check_reported(run, "wrong");
    check_require(c, got == 0, wrong,
                  "numbers that are not those of the left neighbour, on all ranks: got %g, expected 0", got);
}

// One send and one receive of the whole array. The collectives after it send a few bytes more.
static void require_one_message(struct check *c, const struct check_run *run, int rank)
{
    const struct clab_counts n = check_total(run, rank);
    const size_t least = LONG * sizeof(double), most = least + 4096;
    check_require(c, n.sends == 1 && n.receives == 1, short_ones,
                  "rank %d: got %zu sends and %zu receives, expected 1 and 1", rank, n.sends, n.receives);
    check_require(c, n.bytes_sent >= least && n.bytes_sent < most, wrong, "rank %d, bytes sent: got %zu, expected %zu",
                  rank, n.bytes_sent, least);
}

// What else a run takes, one of a single number takes, too.
// In virtual time no send waits for its receiver. A rank that receives first shows by its own send, which is late.
static void require_at_once(struct check *c)
{
    const double with = check_most(check_run(c, "sim", "1gbe", 8, "100000"), NULL, 0).seconds;
    const double got = with - check_most(check_run(c, "sim", "1gbe", 8, "1"), NULL, 0).seconds;
    const double one = check_message(c, "1gbe", LONG * sizeof(double)) - check_message(c, "1gbe", 0);
    check_require(c, got <= 1.5 * one, chain,
                  "slowest rank: got %.3g ms for the bytes, expected %.3g ms, those of one message", got * 1e3,
                  one * 1e3);
}

static void check(struct check *c)
{
    check_advise(c, CHECK_HANGS, receive_first);
    check_advise(c, CHECK_CRASHES, ended);
    check_advise(c, CHECK_MISMATCH, size);
    check_advise_when(c, CHECK_CRASHES, "Segmentation fault|Bus error", address);
    if (check_case(c, "2 ranks, 100 numbers: each rank gets its left neighbour's"))
        require_right(c, check_run(c, "shm", NULL, 2, "100"), 2);
    check_advise(c, CHECK_HANGS, send_first);
    if (check_case(c, "2 ranks, 100000 numbers: nobody waits for ever"))
        require_right(c, check_run(c, "shm", NULL, 2, "100000"), 2);
    check_advise(c, CHECK_HANGS, around);
    check_advise_when(c, CHECK_HANGS, TO_LEFT, to_left);
    check_advise_when(c, CHECK_HANGS, TO_RIGHT "|" FROM_RIGHT, from_right);
    if (check_case(c, "5 ranks on 1gbe, 100000 numbers: one send and one receive per rank")) {
        const struct check_run *run = check_run(c, "sim", "1gbe", 5, "100000");
        require_right(c, run, 5);
        for (int rank = 0; rank < 5; rank++)
            require_one_message(c, run, rank);
    }
    if (check_case(c, "8 ranks on 1gbe: all messages travel at the same time"))
        require_at_once(c);
}

const struct lab_check LAB_CHECK = {.check = check};
