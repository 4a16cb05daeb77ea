// SPDX-License-Identifier: MIT
// What a mended lab 09 must show: the averages of all ranks are equal, and at most one step of the common scale away; a
// gradient travels as one byte each way; and all work on memory is within the timed span.
// before: Gradients travel as float32

#include "cmd/course/check.h"

#include <math.h>
#include <stdio.h>

#include "core/base/err.h"
#include "sim/net/net.h"
#include "sim/sim.h"

static const char different[] =
    "Ranks read the codes back with different scales, so a code does not mean the same everywhere. Use one scale: the largest "
    "gradient of all ranks (CLAB_MAX) / 127. Or the means of other ranks are missing: gather them.";
static const char not_divided[] =
    "That is the sum, not the average. Divide the sum of the codes by the number of ranks.";
static const char overflows[] =
    "Sums of codes do not fit 8 bits: 100 + 100 is -56 there. Add them up in 32 bits (`t->sums`), and divide before you round "
    "to 8 bits again.";
static const char mixed_up[] =
    "Some averages are wrong by more than rounding. Is the scale the largest gradient of all ranks / 127, in encode and in "
    "decode? Do `sums` begin at 0? Is each mean rounded by `nearest`? A block has t->share codes: block r of `pieces` is from "
    "rank r, and block r of `codes` are in the end the means of rank r.";
static const char unchanged[] =
    "Nothing came back: `gradients` still holds the rank's own ones. Read the gathered codes back with `decode`.";
static const char no_number[] =
    "Memory beyond a block was overwritten. A block has t->share codes, not t->count: give t->share to the collectives.";
static const char as_floats[] =
    "Gradients travel as float32, 4 bytes each. Encode them, and send the codes, 1 byte each.";
static const char as_sums[] =
    "You compute with 8 bits, but 4 bytes per gradient travel. Send codes (CLAB_I8): an alltoall brings each rank its share of "
    "all ranks' codes, an allgather sends the means to all.";
static const char too_many[] = "More travels than one byte per gradient and direction. Send each code once.";
static const char outside[] =
    "Part of the quantiser runs outside the timer, so the time to average looks too short. Call averaging_begins before "
    "anything else, and averaging_ends after the last line.";

enum { LAYERS = 3, WIDTH = 30, COUNT = LAYERS * WIDTH * (WIDTH + 1) };
static const char arguments[] = "3 30 4 1 3"; // 2,790 gradients: a share is no whole number of them on 4 ranks

// A right file sends 2 (P - 1) shares of codes, and a few bytes for the scale: of halving and doubling, or what is
// gathered from P ranks.
static void require_bytes(struct check *c, const struct check_run *run)
{
    const struct clab_counts step = check_most(run, "averaging", 0);
    const size_t ranks = (size_t)check_ranks(run), share = (COUNT + ranks - 1) / ranks;
    const size_t codes = 2 * (ranks - 1) * share, most = codes + 16 * ranks;
    const char *why = check_collectives(&step) == 1                   ? as_floats
                      : (double)step.bytes_sent > 3.5 * (double)codes ? as_sums
                                                                      : too_many;
    check_require(c, step.bytes_sent <= most, why, "bytes that a rank sends per step: got %zu, expected %zu at most",
                  step.bytes_sent, most);
}

// Each gradient is read to find the largest, read and written to encode, and again to decode: 4 + 5 + 5 bytes. decode also
// charges for the sums of a share (training.h). So a clock that misses any of the three calls is too short.
static void require_work(struct check *c, const struct check_run *run, const char *name)
{
    struct clab_net *net;
    const int ranks = check_ranks(run);
    const double share = (COUNT + ranks - 1) / ranks;
    double expected = 0;
    if (!check_require(c, clab_net_load(name, &net) == CLAB_OK, "Run ./commlab doctor.", "there is no network %s",
                       name))
        return;
    if (clab_net_compute(net, CLAB_FP32, 0, 14.0 * COUNT + (9.0 * ranks + 5) * share, &expected) != CLAB_OK)
        expected = 0;
    clab_net_free(net);
    const double got = check_most(run, "averaging", 0).computed;
    check_require(c, got > 0.99 * expected, outside,
                  "work on memory between averaging_begins and averaging_ends: got %.3g us, expected %.3g us at least",
                  1e6 * got, 1e6 * expected);
}

static void hold(struct check *c, const char *net, int ranks)
{
    const struct check_run *run = check_run(c, "sim", net, ranks, arguments);
    if (check_has(c, run, "averaging", 1)) {
        require_bytes(c, run);
        require_work(c, run, net);
    }
}

static void check(struct check *c)
{
    check_advise_when(c, CHECK_WRONG, "the rank's own gradients", unchanged);
    check_advise_when(c, CHECK_WRONG, "not a number", no_number);
    check_advise_when(c, CHECK_WRONG, "ranks have different averages", different);
    check_advise_when(c, CHECK_WRONG, "times P too large", not_divided);
    check_advise_when(c, CHECK_WRONG, "a sum has lost 256 codes", overflows);
    check_advise_when(c, CHECK_WRONG, "further than one scale away", mixed_up);
    if (check_case(c,
                   "4 ranks on 100mbit: all have the right averages; a gradient is one byte; the quantiser is timed"))
        hold(c, "100mbit", 4);
    if (check_case(c, "2 ranks, shared memory: the averages are right"))
        check_has(c, check_run(c, "shm", NULL, 2, arguments), "averaging", 1);
    if (check_case(c, "3 ranks, shared memory: the same, with shares of another size"))
        check_has(c, check_run(c, "shm", NULL, 3, arguments), "averaging", 1);
    if (check_case(c, "8 ranks on dgx-h100: as with 4"))
        hold(c, "dgx-h100", 8);
}

const struct lab_check LAB_CHECK = {.check = check};
