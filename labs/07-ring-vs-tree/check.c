// SPDX-License-Identifier: MIT
// What a mended lab 07 must show: right sums, few bytes per rank for large buffers, and few messages one after another
// for small ones. For each size the best of the program's methods counts.
// before: You still send whole buffers to everyone
//
// - Large: a ring's rank sends 2 (P - 1) chunks of S / P. No rank can get the sum of all chunks with less.
// - Small: the library's tree takes 4 (ceil(log2 P) - 1) messages one after another, doubling ceil(log2 P) where P is a
//   power of two.
// - By hand in virtual time: (2 P - 3) messages one after another, each of the whole buffer (model.c).

#include "cmd/course/check.h"
#include "lab.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SMALL = 8, LARGE = 262144 };
static const double slack = 1.05; // what the first bytes and the additions take

static int levels(int ranks)
{
    int n = 0;
    while (1 << n < ranks)
        n++;
    return n;
}

// What a ring's rank sends: chunks of whole floats, rounded up.
static size_t ring_bytes(int ranks)
{
    const size_t count = LARGE / sizeof(float), p = (size_t)ranks;
    return 2 * (p - 1) * ((count + p - 1) / p) * sizeof(float);
}

// What the busiest or slowest rank did in one call with `bytes`, by the best of the methods.
static struct clab_counts best(const struct check_run *run, size_t bytes, bool by_time)
{
    struct clab_counts best = {0};
    bool any = false;
    for (int i = 0; *check_span_name(run, 0, i); i++) {
        const char *name = check_span_name(run, 0, i), *slash = strrchr(name, '/');
        if (!slash || strtoull(slash + 1, NULL, 10) != bytes)
            continue;
        const struct clab_counts one = check_most(run, name, 0);
        if (!any || (by_time ? one.seconds < best.seconds : one.bytes_sent < best.bytes_sent))
            best = one;
        any = true;
    }
    return best;
}

// The program with both sizes, the large one first.
static const struct check_run *run_on(struct check *c, const char *net, int ranks)
{
    char words[32];
    snprintf(words, sizeof words, "%d %d", LARGE, SMALL);
    const struct check_run *run = check_run(c, "sim", net, ranks, words);
    for (int i = 0; i < 2; i++)
        check_require(
            c, best(run, i ? SMALL : LARGE, true).seconds > 0,
            "The check counts one call per method and size in a span that is named METHOD/BYTES. Put the lines "
            "back that begin and end it, as they are in before.c, around a call that sums the buffer.",
            "rank 0, spans that are named METHOD/%d and take time: got 0, expected at least 1", i ? SMALL : LARGE);
    return run;
}

// ---- large buffers -------------------------------------------------------------------------------------------

// The reason for too many bytes: which rank sends them, and how long they take.
static const char *why_many(struct check *c, const struct check_run *run, size_t sent, double seconds)
{
    const int ranks = check_ranks(run);
    const double whole = check_message(c, "1gbe", LARGE);
    size_t least = sent;
    for (int rank = 0; rank < ranks; rank++) {
        const size_t one = check_span(run, rank, check_span_name(run, rank, 0), 0).bytes_sent;
        least = one < least ? one : least;
    }
    if (2 * least < sent)
        return "One rank sends most of the bytes: sums and results all pass through it, and the others wait. Let every "
               "rank add up one chunk of the buffer.";
    if (sent < (size_t)(ranks - 1) * LARGE)
        return "Whole buffers are exchanged in a few rounds. That is good for small buffers, where bytes cost nothing. "
               "For large ones choose a method that cuts the buffer into P chunks, also where P is no power of two.";
    if (seconds < 1.3 * (ranks - 1) * whole)
        return "Whole buffers go around your ring, so each rank sends all P - 1 of them. Cut the buffer into P chunks: "
               "add up one chunk per step on the way around, then pass the finished chunks on.";
    return "You still send whole buffers to everyone: (P - 1) S bytes per rank. A rank that adds before it sends on "
           "saves the others those bytes: a ring sends 2 (P - 1) / P of one buffer.";
}

static void hold_bytes(struct check *c, int ranks)
{
    const struct check_run *run = run_on(c, "1gbe", ranks);
    const struct clab_counts got = best(run, LARGE, false);
    check_require(c, got.bytes_sent <= ring_bytes(ranks), why_many(c, run, got.bytes_sent, got.seconds),
                  "%d ranks, %d bytes, sent by the busiest rank: got %zu bytes, expected at most %zu, as in a ring",
                  ranks, LARGE, got.bytes_sent, ring_bytes(ranks));
}

static void hold_large_time(struct check *c, const char *net, int ranks, double most, const char *advice)
{
    const double got = best(run_on(c, net, ranks), LARGE, true).seconds;
    check_require(c, got <= most, advice,
                  "%d ranks on %s, %d bytes, virtual time: got %.4g ms, expected at most %.4g ms", ranks, net,
                  LARGE, 1e3 * got, 1e3 * most);
}

// ---- small buffers -------------------------------------------------------------------------------------------

static void hold_small_time(struct check *c, const char *net, int ranks)
{
    const double got = best(run_on(c, net, ranks), SMALL, true).seconds;
    const double alpha = check_message(c, net, 0);
    const int tree = 4 * (levels(ranks) - 1), by_hand = 2 * ranks - 3, most = tree < by_hand ? tree : by_hand - 1;
    check_require(
        c, got <= slack * most * alpha,
        "For small buffers only the number of messages one after another counts, and a ring has the most of "
        "them: 2 (P - 1). Choose by size: doubling or a tree for small buffers, chunks for large ones.",
        "%d ranks on %s, %d bytes, messages one after another: got %.1f (%.3g us), expected at most %d, as in "
        "a tree",
        ranks, net, SMALL, got / alpha, 1e6 * got, most);
}

// ---- the cases -----------------------------------------------------------------------------------------------

static const char hangs[] =
    "Ranks wait for each other. clab_send may wait until the receiver takes the message: if all ranks send first, none "
    "ever receives. Begin with clab_recv_start or clab_send_start, and wait for it after the other call.";
static const char receives_first[] =
    "Ranks wait to receive what nobody sends: if all ranks receive first, none ever sends. To swap the two lines is not "
    "enough, since clab_send may wait, too. Begin with clab_recv_start, then send, then wait for what you started.";
static const char endless[] =
    "A rank is in a loop that does not end, or it waits twice for the same work. Each start needs a variable and a wait of "
    "its own.";
static const char never[] =
    "Nobody waits for a send or a receive that you started. Each start needs a variable and a wait of its own: if two starts "
    "share one variable, the second one overwrites the first.";
static const char wrong[] =
    "Each rank's data.out must become the sum of all ranks' data.in. NaN (nan) means that nothing was written there. Look "
    "at which chunk a rank adds in which step, and at chunks that are shorter than the others.";
static const char one_by_one[] =
    "The bytes are few, but they do not travel at the same time: a rank receives its chunk before it sends its own, so "
    "ranks take turns. Start the send and the receive of a step together, then wait for both.";
static const char as_by_hand[] = "That is as slow as sending whole buffers to everyone. Read what each of your methods "
                                 "costs: ./commlab show ring --ranks 8, and the table in lab.md.";

// What nobody waits for is right only if it happens to be done in time.
static void require_waits(struct check *c, const struct check_run *run)
{
    for (int rank = 0; rank < check_ranks(run); rank++) {
        const struct clab_counts n = check_total(run, rank);
        check_require(c, n.waited_for == n.started, never, "rank %d, sends and receives that were started and have no wait: got %zu, expected 0", rank,
                      n.started - n.waited_for);
    }
}

// Twice what a ring's messages take one after another: 2 (P - 1) of S / P bytes.
static double twice_a_ring(struct check *c, int ranks)
{
    return 2 * 2 * (ranks - 1) * check_message(c, "1gbe", (double)LARGE / ranks);
}

static void check(struct check *c)
{
    check_advise(c, CHECK_HANGS, hangs);
    check_advise(c, CHECK_WRONG, wrong);
    check_advise_when(c, CHECK_HANGS, "^the program did not end", endless);
    check_advise_when(c, CHECK_HANGS, "send of |clab_send\\(", hangs);
    check_advise_when(c, CHECK_HANGS, "receive of ", receives_first);
    check_advise_when(c, CHECK_WRONG, "that were started and have no wait", never);
    if (check_case(c, "4 ranks, shared memory: the sums are right, whatever the buffers held before")) {
        const struct check_run *run = check_run(c, "shm", NULL, 4, "8 65536");
        check_sum(c, run, "checksum/sum/65536", lab_checksum(4, 65536));
        require_waits(c, run);
    }
    if (check_case(c, "5 ranks, shared memory: also where P does not divide the buffer"))
        check_sum(c, check_run(c, "shm", NULL, 5, "4 28 4096"), "checksum/sum/28", lab_checksum(5, 28));
    for (int i = 0; i < 3; i++) {
        static const int ranks[] = {4, 5, 8};
        char title[128];
        snprintf(title, sizeof title,
                 "%d ranks on 1gbe: few bytes per rank at 256 KiB, few messages in a row at 8 bytes", ranks[i]);
        if (!check_case(c, title))
            continue;
        hold_bytes(c, ranks[i]);
        hold_large_time(c, "1gbe", ranks[i], twice_a_ring(c, ranks[i]), one_by_one);
        hold_small_time(c, "1gbe", ranks[i]);
    }
    if (check_case(c, "8 ranks on dgx-h100: better than by hand at both sizes")) {
        hold_small_time(c, "dgx-h100", 8);
        hold_large_time(c, "dgx-h100", 8, (2 * 8 - 3) * check_message(c, "dgx-h100", LARGE), as_by_hand);
    }
}

const struct lab_check LAB_CHECK = {.check = check};
