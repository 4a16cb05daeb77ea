// SPDX-License-Identifier: MIT
// What a mended p1 must show: the ranks add each number exactly once, and share them evenly.
// before: Every rank adds all the numbers

#include <stdio.h>

#include "cmd/course/check.h"

static const char all[] =
    "Every rank adds all the numbers, so each number is in the total once per rank. Let the loop of a rank begin at a "
    "number that depends on `rank`, and leave out those of the other ranks.";
static const char constant[] =
    "You wrote a number where `ranks` belongs: it is right with 4 ranks, and wrong with any other number of them. "
    "`ranks` is how many there are in this run.";
static const char gap[] =
    "Some numbers belong to no rank. Does a loop end one too early? Did you write a number where `ranks` belongs? If "
    "you cut 1..LAST into pieces of LAST / ranks numbers, the rest of that division is lost.";
static const char twice[] = "Some numbers belong to more than one rank. Each number must have one owner.";
static const char zero[] =
    "Rank 0 adds the number 0, which is not among 1 to LAST. Does the loop begin at `rank`? Rank 0 begins with 1.";
static const char uneven[] =
    "One rank adds more than its share, and all others wait for it. Deal the numbers out like cards: the shares differ "
    "by one number at most.";
static const char never_comes[] =
    "Some rank never comes to clab_allreduce, where the others wait for it. Does its loop never end? `i += rank` adds "
    "0 at rank 0: go on by `ranks`. Or does the call stand in an `if` or in the loop? Every rank calls it once.";
static const char ended[] =
    "A rank ended too early. Do you divide by `rank`? It is 0 at rank 0. Each rank comes to the end of main.";
static const char different[] =
    "The ranks do not make the same calls in the same order. Every rank calls clab_allreduce for `sum`, and then for "
    "`added`, whatever its share is.";

// What 4 in place of `ranks` adds up to, if cards are dealt.
static double sum_by_fours(int ranks, int last)
{
    double sum = 0;
    for (int rank = 0; rank < ranks; rank++)
        for (int i = 1 + rank; i <= last; i += 4)
            sum += i;
    return sum;
}

static const char *advice_for_sum(int ranks, int last, double got, double expected)
{
    if (ranks > 1 && got == ranks * expected)
        return all;
    if (ranks != 4 && got == sum_by_fours(ranks, last))
        return constant;
    return got < expected ? gap : twice;
}

static void require_sum(struct check *c, const char *backend, const char *net, int ranks, int last)
{
    char arguments[16];
    snprintf(arguments, sizeof arguments, "%d", last);
    const double got = check_reported(check_run(c, backend, net, ranks, arguments), "sum");
    const double expected = last * (last + 1) / 2;
    check_require(c, got == expected, advice_for_sum(ranks, last, got, expected),
                  "%d ranks, the sum of the numbers 1 to %d: got %.9g, expected %.9g", ranks, last, got, expected);
}

static void require_share(struct check *c, int ranks, int last)
{
    char arguments[16];
    snprintf(arguments, sizeof arguments, "%d", last);
    const double got = check_reported(check_run(c, "sim", "1gbe", ranks, arguments), "most_added");
    const int most = (last + ranks - 1) / ranks;
    check_require(c, got <= most, got == last / ranks + 1 ? zero : uneven,
                  "%d ranks, the most numbers that one rank adds: got %g of %d, expected %d", ranks, got, last, most);
}

static void check(struct check *c)
{
    check_advise(c, CHECK_HANGS, never_comes);
    check_advise(c, CHECK_CRASHES, ended);
    check_advise(c, CHECK_MISMATCH, different);
    if (check_case(c, "4 ranks: each of 100 numbers is added exactly once"))
        require_sum(c, "shm", NULL, 4, 100);
    if (check_case(c, "3, 7 and 1 ranks: also where they do not divide 100, and alone")) {
        require_sum(c, "shm", NULL, 3, 100);
        require_sum(c, "sim", "1gbe", 7, 100);
        require_sum(c, "shm", NULL, 1, 100);
    }
    if (check_case(c, "8 ranks, 5 numbers: some ranks have nothing to add"))
        require_sum(c, "sim", "1gbe", 8, 5);
    if (check_case(c, "2 to 8 ranks: the shares differ by one number at most"))
        for (int ranks = 2; ranks <= 8; ranks++)
            require_share(c, ranks, 100);
}

const struct lab_check LAB_CHECK = {.check = check};
