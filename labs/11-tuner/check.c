// SPDX-License-Identifier: MIT
// What a mended lab 11 must show: its measured table is used, and where it is, no algorithm is faster. Given tables show the
// rule: the first row that fits, -1 for any, the default where none fits, and no short row. Which algorithm ran, its messages say.
// before: Your table is measured, and dropped

#include "cmd/course/check.h"
#include "lab.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { SMALL = 8, LARGE = 524288 };

static const char dropped[] =
    "Your table is measured, and dropped without a word, so every size still takes the default. Write rows with as many fields "
    "as take_row wants: nNodes and nRanks, too. And let take_row refuse a short row instead of returning.";
static const char none_fits[] =
    "Your rows are kept, but none fits, so the default runs. Look at nNodes and nRanks: -1 fits any number of nodes, and "
    "the last field is the number of ranks.";
static const char short_row[] =
    "A short row must end the program and say where it is; else its owner believes that the table is used. In take_row, print "
    "`line` and the number of fields, then must(CLAB_EPARSE).";
static const char wildcard[] =
    "-1 in nNodes or nRanks means any: a row that says -1 fits every number of nodes or ranks. A comparison with == alone "
    "never finds it.";
static const char first[] =
    "The first row that fits is taken, not the last. Then a table can end with a row for everything else.";
static const char fallback[] =
    "No row fits, so the library's default must run: choose returns \"auto\" then. A row for other ranks or sizes was measured "
    "elsewhere, and says nothing of this call.";
static const char other_ranks[] = "A row for 4 ranks was taken on 8. Compare nRanks with the number of ranks.";
static const char slow[] =
    "The table is used, but another algorithm is faster at this size. Look at the sizes for which a row of yours holds.";

// What the busiest rank sends in one call by this algorithm.
static size_t messages_of(const struct check_run *run, const char *algorithm, size_t bytes)
{
    char span[32];
    snprintf(span, sizeof span, "%s/%zu", algorithm, bytes);
    return check_most(run, span, 0).messages;
}

// The choice at this size sends as many messages as `algorithm`.
static void require_algorithm(struct check *c, const char *table, size_t bytes, const char *algorithm, const char *advice)
{
    char words[256];
    snprintf(words, sizeof words, "%s %zu", table, bytes);
    const struct check_run *run = check_run(c, "sim", "dgx-h100", 8, words);
    char span[32];
    snprintf(span, sizeof span, "chosen/%zu", bytes);
    check_has(c, run, span, 1);
    const size_t got = messages_of(run, "chosen", bytes), expected = messages_of(run, algorithm, bytes);
    check_require(c, got == expected, advice,
                  "8 ranks, %zu bytes, table \"%s\", messages of the busiest rank in the chosen call: got %zu, expected %zu, as "
                  "%s sends",
                  bytes, table, got, expected, algorithm);
}

static double seconds_of(const struct check_run *run, const char *name, size_t bytes)
{
    char span[32];
    snprintf(span, sizeof span, "%s/%zu", name, bytes);
    return check_most(run, span, 0).seconds;
}

static void require_best(struct check *c, const char *net, int ranks)
{
    static const char *const algorithms[] = {"doubling", "halving_doubling", "ring", "double_tree", "hierarchical"};
    const struct check_run *run = check_run(c, "sim", net, ranks, "measured 8 524288");
    check_has(c, run, "chosen/524288", 1);
    double least = INFINITY;
    for (size_t i = 0; i < sizeof algorithms / sizeof *algorithms; i++)
        least = fmin(least, seconds_of(run, algorithms[i], LARGE));
    const double got = seconds_of(run, "chosen", LARGE);
    const bool is_default = messages_of(run, "chosen", LARGE) == messages_of(run, "ring", LARGE);
    const bool keeps = check_reported(run, "rows/kept/table") > 0;
    check_require(c, got <= 1.05 * least, is_default && keeps ? none_fits : is_default ? dropped : slow,
                  "%d ranks on %s, %d bytes, virtual time of the chosen call: got %.4g us, expected at most %.4g us, what the "
                  "best algorithm takes, and 5 %%",
                  ranks, net, LARGE, 1e6 * got, 1e6 * 1.05 * least);
}

static void check(struct check *c)
{
    check_advise_when(c, CHECK_CRASHES, "fields, not 8",
                      "Your own rows are refused: write_row must write nNodes and nRanks behind the channels.");
    if (check_case(c, "16 ranks on dgx-h100: the measured table is used, and no algorithm is faster"))
        require_best(c, "dgx-h100", 16);
    if (check_case(c, "8 ranks on 1gbe: the same"))
        require_best(c, "1gbe", 8);
    if (check_case(c, "a row with -1 fits any number of nodes and ranks"))
        require_algorithm(c, "allreduce,0,-1,ring,-1,-1,-1,-1", SMALL, "ring", wildcard);
    if (check_case(c, "of two rows that fit, the first is taken")) {
        require_algorithm(c, "allreduce,0,1023,ring,-1,-1,-1,8;allreduce,0,-1,doubling,-1,-1,-1,-1", SMALL, "ring", first);
        require_algorithm(c, "allreduce,0,1023,ring,-1,-1,-1,8;allreduce,0,-1,doubling,-1,-1,-1,-1", LARGE, "doubling",
                          fallback);
    }
    if (check_case(c, "a row for other ranks or sizes does not fit, and the default runs")) {
        require_algorithm(c, "allreduce,0,-1,ring,-1,-1,-1,4;allreduce,0,-1,halving_doubling,-1,-1,-1,8", SMALL,
                          "halving_doubling", other_ranks);
        require_algorithm(c, "allreduce,1024,-1,ring,-1,-1,-1,8", SMALL, "doubling", fallback);
    }
    if (check_case(c, "a short row ends the program with the number of its line"))
        check_refuses(c, "sim", "dgx-h100", 8, "allreduce,0,-1,ring,-1,-1,-1,8;allreduce,0,-1,doubling,-1,-1 8",
                      "(^|[^a-z])(line|row|table)[^0-9]*2([^0-9]|$)", "that names line 2", short_row);
    if (check_case(c, "4 ranks, shared memory: the sums are right by any choice"))
        check_sum(c, check_run(c, "shm", NULL, 4, "measured 8 65536"), "checksum/sum/65536", lab_checksum(4, 65536));
}

const struct lab_check LAB_CHECK = {.check = check};
