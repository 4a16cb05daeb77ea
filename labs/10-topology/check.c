// SPDX-License-Identifier: MIT
// What a mended lab 10 must show: right sums; few bytes between hosts, so ranks of a host follow each other, or sum among
// themselves first; and no rank that carries more of them than its part. For each size the best of the program's methods
// counts.
// before: Each message of your ring goes to another host
//
// - Hosts: all but the least send 2 (P - 1)/P of the buffer where a ring is in order, and 2 (H - 1)/H in two levels. So
//   twice the buffer is enough for both, and a ring of dealt ranks sends g times as much.
// - Ranks: in two levels each of the g ranks of a host sends a g-th of what leaves it.
// - Time: as price.h says of two levels.

#include "cmd/course/check.h"
#include "lab.h"
#include "price.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LARGE = 393216 }; // divided by 2, 3 and 4 hosts of 8 ranks
static const double slack = 1.05;

struct setting {
    const char *net;
    int ranks, per_host;
};
static const struct setting shared = {"cluster-25gbe", 32, 8}, own = {"dgx-h100", 32, 8}, three = {"dgx-h100", 24, 8};

static int hosts_of(const struct setting *s)
{
    return s->ranks / s->per_host;
}

// ---- what one call of a method sends -------------------------------------------------------------------------

static double across_of(const struct check_run *run, const char *span, int rank)
{
    return (double)check_span(run, rank, span, 0).bytes_across;
}

// By the busiest host.
static double across_of_host(const struct check_run *run, const struct setting *s, const char *span)
{
    double most = 0;
    for (int host = 0; host < hosts_of(s); host++) {
        double sum = 0;
        for (int i = 0; i < s->per_host; i++)
            sum += across_of(run, span, host * s->per_host + i);
        most = fmax(most, sum);
    }
    return most;
}

static double across_of_rank(const struct check_run *run, const struct setting *s, const char *span)
{
    (void)s;
    return (double)check_most(run, span, 0).bytes_across;
}

static double seconds_of(const struct check_run *run, const struct setting *s, const char *span)
{
    (void)s;
    return check_most(run, span, 0).seconds;
}

// The method with the least of that, and the least; "": the program has no spans of this size.
static const char *best(const struct check_run *run, const struct setting *s,
                        double (*of)(const struct check_run *, const struct setting *, const char *), double *least_p)
{
    const char *found = "";
    *least_p = INFINITY;
    for (int i = 0; *check_span_name(run, 0, i); i++) {
        const char *name = check_span_name(run, 0, i), *slash = strrchr(name, '/');
        if (!slash || strtoull(slash + 1, NULL, 10) != LARGE || of(run, s, name) >= *least_p)
            continue;
        *least_p = of(run, s, name);
        found = name;
    }
    return found;
}

static const struct check_run *run_on(struct check *c, const struct setting *s)
{
    char words[32];
    double seconds;
    snprintf(words, sizeof words, "%d", LARGE);
    const struct check_run *run =
        s->net ? check_run(c, "sim", s->net, s->ranks, words) : check_run_hosts(c, hosts_of(s), s->ranks, words);
    check_require(c, *best(run, s, seconds_of, &seconds),
                  "The check counts one call per method and size in a span that is named METHOD/BYTES. Put the lines "
                  "back that begin and end it, as they are in before.c, around a call that sums the buffer.",
                  "rank 0, spans that are named METHOD/%d: got 0, expected at least 1", LARGE);
    return run;
}

// ---- between hosts -------------------------------------------------------------------------------------------

static const char not_ordered[] =
    "Each message of your ring goes to another host: ranks of a host do not follow each other. A rank's number does not say "
    "on which host it is, since a launcher may deal ranks out. Ask clab_comm_host, and make it the key of clab_comm_split.";
static const char whole_across[] =
    "All ranks of a host send whole sums to other hosts, so the same bytes leave it many times. After the sum in the host, "
    "let each rank keep one block (clab_reduce_scatter), and send no more than that. Or you took a rank's number for its "
    "host: ask clab_comm_host.";
static const char order_only[] =
    "Your ring is in order, so few bytes leave a host. But one rank per host sends all of them, and the adapters of the "
    "others are idle. Sum in the host first (clab_reduce_scatter), and let each rank carry its block to the others.";
static const char leaders_only[] =
    "One rank per host carries all that leaves it, while the others wait: a leader. Where each rank has an adapter, let "
    "each carry one block: clab_reduce_scatter in the host, not clab_reduce to a leader.";

static const char no_ring[] =
    "Each rank carries a block, but `across` sends it more than 2 (H - 1)/H times, for H hosts: choose ring for it "
    "(clab_comm_set_algorithm).";

// All that a rank of a dealt ring sends leaves its host.
static const char *why_many(const struct check_run *run, const char *span)
{
    const struct clab_counts rank = check_span(run, 0, span, 0);
    return rank.bytes_across == rank.bytes_sent ? not_ordered : whole_across;
}

static void hold_hosts(struct check *c, const struct setting *s)
{
    const struct check_run *run = run_on(c, s);
    double got;
    const char *span = best(run, s, across_of_host, &got);
    check_require(c, got <= 2 * slack * LARGE, why_many(run, span),
                  "%d ranks on %d hosts, a buffer of %d bytes, sent by the busiest host to others: got %.0f bytes, "
                  "expected at most %.0f",
                  s->ranks, hosts_of(s), LARGE, got, 2.0 * LARGE);
}

// In a ring, who sends to another host sends nothing else. With leaders, some send nothing there.
static const char *why_one_rank(const struct check_run *run, const struct setting *s, const char *span)
{
    bool is_mixed = false, all_send = true;
    for (int rank = 0; rank < s->ranks; rank++) {
        const struct clab_counts counts = check_span(run, rank, span, 0);
        is_mixed |= counts.bytes_across > 0 && counts.bytes_across != counts.bytes_sent;
        all_send &= counts.bytes_across > 0;
    }
    return !is_mixed ? order_only : all_send ? no_ring : leaders_only;
}

static void hold_ranks(struct check *c, const struct setting *s)
{
    const struct check_run *run = run_on(c, s);
    const double H = hosts_of(s), most = 2 * (H - 1) / H * LARGE / s->per_host;
    double got;
    const char *span = best(run, s, across_of_rank, &got);
    check_require(c, got <= slack * most, why_one_rank(run, s, span),
                  "%d ranks on %d hosts, a buffer of %d bytes, sent by the busiest rank to other hosts: got %.0f bytes, "
                  "expected at most %.0f",
                  s->ranks, hosts_of(s), LARGE, got, most);
}

static void hold_time(struct check *c, const struct setting *s)
{
    const struct check_run *run = run_on(c, s);
    struct price p = {.ranks = s->ranks, .bytes = LARGE, .calls = 1};
    struct clab_net *net;
    double got;
    if (!check_require(c, clab_net_load(s->net, &net) == CLAB_OK, "Run ./commlab doctor.", "the network %s has no price",
                       s->net))
        return;
    p.net = net;
    const double most = 1.3 * price_seconds(&p, PRICE_TWO_LEVEL);
    clab_net_free(net);
    best(run, s, seconds_of, &got);
    check_require(c, got <= most,
                  "The bytes between hosts are few, but they do not travel at the same time, or a host takes long by "
                  "itself. Let all ranks of a host work in each of the three steps.",
                  "%d ranks on %d hosts of %s, a buffer of %d bytes, virtual time: got %.4g us, expected at most %.4g us",
                  s->ranks, hosts_of(s), s->net, LARGE, 1e6 * got, 1e6 * most);
}

// ---- the cases -----------------------------------------------------------------------------------------------

static const char wrong[] =
    "Each rank's data.out must become the sum of all ranks' data.in. NaN (nan) means that nothing was written there. A rank's "
    "block has data.count / (ranks of its host) elements, and begins at its number in its host times so many.";
static const char mismatch[] =
    "Ranks of a communicator must call the same. Each rank of a host is in one communicator with its host's ranks, and in "
    "one with a rank of each other host: the color of the second is its number in the first.";

static void check(struct check *c)
{
    static const struct setting sockets = {NULL, 4, 2};
    check_advise(c, CHECK_WRONG, wrong);
    check_advise(c, CHECK_MISMATCH, mismatch);
    if (check_case(c, "4 ranks, shared memory: the sums are right, whatever the buffers held before"))
        check_sum(c, check_run(c, "shm", NULL, 4, "4096 65536"), "checksum/sum/65536", lab_checksum(4, 65536));
    if (check_case(c, "32 ranks on cluster-25gbe, 8 per host: few bytes leave a host"))
        hold_hosts(c, &shared);
    if (check_case(c, "24 ranks on 3 hosts: the same"))
        hold_hosts(c, &three);
    if (check_case(c, "32 ranks on dgx-h100, an adapter per rank: each rank carries its part of them"))
        hold_ranks(c, &own);
    if (check_case(c, "24 ranks on dgx-h100: the same, and as fast as two levels")) {
        hold_ranks(c, &three);
        hold_time(c, &three);
    }
    if (check_has_hosts() && check_case(c, "4 ranks on 2 hosts, over sockets: the same bytes leave a host")) {
        hold_hosts(c, &sockets);
        hold_ranks(c, &sockets);
    }
}

const struct lab_check LAB_CHECK = {.check = check};
