// SPDX-License-Identifier: MIT
// What a mended lab 13 must show: the least time of an allreduce on its links, verdicts that follow from it, and a speedup
// that was measured. The bound: a rank must send 2 (n - 1) / n of the buffer (Thakur et al. 2005).
// before: You believe the published time

#include "cmd/course/check.h"
#include "lab.h"

#include <math.h>
#include <stdio.h>

static const char believed[] =
    "You believe the published time. Compute the least time that the links allow: the bytes that a rank must send, divided by "
    "the rate of its link.";
static const char bits[] = "A link of 100 Gb/s carries 12.5 GB/s: 8 bits are a byte.";
static const char once[] =
    "A rank sends more than the buffer once: (n - 1) / n of it to add up, and as much again to pass the sums on.";
static const char twice[] =
    "2 S is the limit for many ranks. For 2 ranks it is twice too much, and calls a true claim impossible: 2 (n - 1) / n.";
static const char other[] = "The floor is 2 (n - 1) / n of the buffer, divided by the rate of a link, in seconds.";
static const char verdict[] =
    "A claim is possible if its time is not below the floor. Compare both in seconds, the right way around.";
static const char published[] =
    "The speedup is what somebody published. Measure both algorithms here: seconds_of runs, checks and times one.";

static const char reversed[] =
    "You divided the tree's time by the ring's. A tree's speedup is above 1 where it is faster: time of a ring / time of a tree.";

struct published {
    double n, bytes, time, link; // s, Gb/s
};
static const struct published claims[] = {
    {8, 1e8, 2450e-6, 100},            // 003's ring: the floor is 14 ms
    {8, 1073741824, 22450.12e-6, 2400}, // nccl-tests on NVLink: true
    {2, 1e9, 85e-3, 100},              // two ranks: the floor is 80 ms
    {64, 1e9, 155e-3, 100},            // many: 157.5 ms
};
enum { CLAIMS = sizeof claims / sizeof *claims };

static double least(const struct published *c)
{
    return 2 * (c->n - 1) / c->n * c->bytes / (c->link * 1e9 / 8);
}

static const char *why(const struct published *c, double got)
{
    const double once_s = c->bytes / (c->link * 1e9 / 8), near = 1e-6;
    return got == 0                                          ? believed
           : fabs(got / (least(c) / 8) - 1) < near           ? bits
           : fabs(got / (once_s / 8) - 1) < near             ? bits
           : fabs(got / once_s - 1) < near && c->n != 2      ? once
           : fabs(got / (2 * once_s) - 1) < near             ? twice
                                                             : other;
}

static const struct check_run *run_claims(struct check *c, const char *net, int ranks, const char *sizes)
{
    char words[256] = "";
    for (int i = 0; i < CLAIMS; i++)
        snprintf(words + strlen(words), sizeof words - strlen(words), "%s%.17g:%.17g:%.17g:%.17g", i ? "," : "", claims[i].n,
                 claims[i].bytes, 1e6 * claims[i].time, claims[i].link);
    snprintf(words + strlen(words), sizeof words - strlen(words), " %s", sizes);
    return check_run(c, "sim", net, ranks, words);
}

static void require_floors(struct check *c, const struct check_run *run)
{
    for (int i = 0; i < CLAIMS; i++) {
        char name[32];
        snprintf(name, sizeof name, "floor/claim/%d", i + 1);
        const double got = check_reported(run, name);
        check_require(c, fabs(got / least(&claims[i]) - 1) < 1e-6, why(&claims[i], got),
                      "%g ranks, %.4g bytes, links of %g Gb/s: got a floor of %.4g ms, expected %.4g ms", claims[i].n,
                      claims[i].bytes, claims[i].link, 1e3 * got, 1e3 * least(&claims[i]));
    }
}

static void require_verdicts(struct check *c, const struct check_run *run)
{
    for (int i = 0; i < CLAIMS; i++) {
        char name[32];
        snprintf(name, sizeof name, "possible/claim/%d", i + 1);
        const double got = check_reported(run, name), expected = claims[i].time >= least(&claims[i]);
        check_require(c, got == expected, verdict,
                      "%g ranks, %.4g bytes in %.4g ms, the floor is %.4g ms: got %g, expected %g (1: possible)", claims[i].n,
                      claims[i].bytes, 1e3 * claims[i].time, 1e3 * least(&claims[i]), got, expected);
    }
}

// On a network whose ranks leave a barrier together, spans are the times that are divided.
static void require_speedup(struct check *c, const struct check_run *run, size_t bytes)
{
    char ring[32], tree[32], name[32];
    snprintf(ring, sizeof ring, "ring/%zu", bytes);
    snprintf(tree, sizeof tree, "tree/%zu", bytes);
    snprintf(name, sizeof name, "speedup/tree/%zu", bytes);
    check_require(c, check_spans(run, 0, ring) > 0 && check_spans(run, 0, tree) > 0, published,
                  "%zu bytes, spans %s and %s: got none, expected one of each at least", bytes, ring, tree);
    const double expected = check_most(run, ring, 0).seconds / check_most(run, tree, 0).seconds;
    const double got = check_reported(run, name);
    check_require(c, fabs(got / expected - 1) < 0.05, fabs(got * expected - 1) < 0.05 ? reversed : published,
                  "%zu bytes, time of a ring / time of a tree: got %.3f, expected %.3f, as the calls took in virtual time", bytes,
                  got, expected);
}

static void check(struct check *c)
{
    if (check_case(c, "floors: the least time of four published claims"))
        require_floors(c, run_claims(c, "1gbe", 2, "8"));
    if (check_case(c, "verdicts: two of the four are possible"))
        require_verdicts(c, run_claims(c, "1gbe", 2, "8"));
    if (check_case(c, "8 ranks on 1gbe: the speedup of a tree is measured")) {
        require_speedup(c, run_claims(c, "1gbe", 8, "64 262144"), 64);
        require_speedup(c, run_claims(c, "1gbe", 8, "64 262144"), 262144);
    }
}

const struct lab_check LAB_CHECK = {.check = check};
