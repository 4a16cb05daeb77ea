// SPDX-License-Identifier: MIT
// What a mended lab 05 must show: every step finds its memory, whatever the seed, and no memory is registered twice.
// before: A few small buffers that live long lie between large ones
//
// - A step is a span, which ends only if all its buffers have found memory. The library counts its nine sums.
// - Registered bytes: an arena registers each byte of its memory once at most, however many steps there are. In virtual
//   time registering is counted, and takes no time.

#include <math.h>
#include <stdio.h>

#include "cmd/course/check.h"
#include "labs/05-fragmentation/workload.h"

static const char fragmented[] =
    "A few small buffers that live long lie between large ones, and cut the free memory. Take buffers of at most SMALL "
    "granules from slabs (slabs.h), which lie apart.";
static const char not_reused[] =
    "Slabs grow, though most of their blocks are free. A block that is given back must serve the next request of its "
    "class: give small buffers back with slabs_give.";
static const char each_sum[] =
    "You register each buffer for one collective, and let it go again. Keep what is registered: the same memory comes back "
    "in the next step.";
static const char each_step[] =
    "You let go what is registered in every step, and register it again in the next. The memory stays yours until the end: "
    "let go once, after the training.";
static const char never_hit[] =
    "Your cache asks for a buffer of the same place and size, which seldom comes back. Ask for each piece of memory instead, "
    "in extents: the next buffer lies in the same ones.";

enum { ALONE = 1 }; // registrations that device.h makes by itself, to see whether the system lets it
enum { STEPS = 160, SUMS = MICROBATCHES + 1 };   // SUMS: of a step
enum { MEMORY = 8 << 20, REGISTERED_STEPS = 5 }; // bytes

// ---- memory --------------------------------------------------------------------------------------------------

// What was reported when the last step that got so far asked for its flat buffer; NAN: none did.
static double at_last_look(const struct check_run *run, const char *quantity)
{
    double value, last = NAN;
    char name[32];
    for (int step = 1; step <= STEPS + 1; step++) {
        snprintf(name, sizeof name, "%s/%d", quantity, step);
        value = check_reported(run, name);
        last = isnan(value) ? last : value;
    }
    return last;
}

// With slabs, twice as much as is used would be plenty.
static bool has_idle_slabs(const struct check_run *run)
{
    return at_last_look(run, "reserved") > 2 * at_last_look(run, "used");
}

static void require_steps(struct check *c, const struct check_run *run)
{
    for (int rank = 0; rank < check_ranks(run); rank++) {
        const int done = check_spans(run, rank, "step");
        check_require(
            c, done == STEPS, has_idle_slabs(run) ? not_reused : fragmented,
            "rank %d, steps that found their memory: got %d, expected %d; the step after wanted %g KiB in one "
            "piece, %g KiB were free, the largest piece had %g KiB",
            rank, done, STEPS, check_reported(run, "asked"), check_reported(run, "free"),
            check_reported(run, "largest"));
    }
    for (int step = 0; step < STEPS; step++) {
        const struct clab_counts counts = check_span(run, 0, "step", step);
        check_require(c, check_collectives(&counts) == SUMS, "Sum every buffer of a step over the ranks, once.",
                      "rank 0, step %d, collectives: got %zu, expected %d", step + 1, check_collectives(&counts), SUMS);
    }
}

static void check_seed(struct check *c, int seed)
{
    char arguments[32];
    snprintf(arguments, sizeof arguments, "128K %d %d", STEPS, seed);
    require_steps(c, check_run(c, "sim", "1gbe", 2, arguments));
}

// ---- registration --------------------------------------------------------------------------------------------

// What a program that registers more than its memory has misunderstood, by the registrations of its steps.
static const char *why_registered(const struct check_run *run)
{
    bool is_each_sum = true;
    for (int step = 0; step < REGISTERED_STEPS; step++)
        is_each_sum &= check_span(run, 0, "step", step).registrations == SUMS;
    const size_t first = check_span(run, 0, "step", 0).registrations,
                 last = check_span(run, 0, "step", REGISTERED_STEPS - 1).registrations;
    return is_each_sum ? each_sum : 2 * last >= first && last >= SUMS ? each_step : never_hit;
}

static void require_registrations(struct check *c, const struct check_run *run)
{
    size_t bytes = 0, times = 0;
    for (int step = 0; step < REGISTERED_STEPS; step++) {
        bytes += check_span(run, 0, "step", step).bytes_registered;
        times += check_span(run, 0, "step", step).registrations;
    }
    check_require(
        c, bytes <= MEMORY, why_registered(run),
        "rank 0, bytes registered in %d steps: got %zu in %zu registrations, expected at most %d, all of the memory",
        REGISTERED_STEPS, bytes, times, MEMORY);
    check_require(c, check_total(run, 0).registrations > ALONE, "Register what is summed: a network card would refuse it.",
                  "rank 0, registrations for sums: got 0, expected at least 1");
}

// --------------------------------------------------------------------------------------------------------------

static void check(struct check *c)
{
    if (check_case(c, "3 ranks, shared memory: the sums are right"))
        check_run(c, "shm", NULL, 3, "256K 12 3");
    if (check_case(c, "160 steps find their memory, with seed 1"))
        check_seed(c, 1);
    if (check_case(c, "160 steps find their memory, with seeds 2 and 4")) {
        check_seed(c, 2);
        check_seed(c, 4);
    }
    if (check_case(c, "5 steps register no byte of the memory twice"))
        require_registrations(c, check_run(c, "sim", "1gbe", 2, "8M 5 3"));
}

const struct lab_check LAB_CHECK = {.check = check};
