// SPDX-License-Identifier: MIT
// What a mended lab 01 must show: communicators do not grow with iterations, and sums are right.
// before: You make a communicator in every iteration

#include "cmd/course/check.h"

static const char advice[] =
    "You make a communicator in every iteration: all ranks meet and connect each time. Make it once, before the loop, and "
    "destroy it after the loop.";

static void check(struct check *c)
{
    if (check_case(c, "4 ranks, shared memory: the sums are right"))
        check_run(c, "shm", NULL, 4, "4096 4");
    if (check_case(c, "4 ranks on 1gbe: communicators do not grow with iterations")) {
        const struct check_run *few = check_run(c, "sim", "1gbe", 4, "4096 8"),
                               *many = check_run(c, "sim", "1gbe", 4, "4096 16");
        const size_t a = check_total(few, 0).communicators, b = check_total(many, 0).communicators;
        check_require(c, a == b, advice, "rank 0, communicators made: got %zu with 16 iterations, expected %zu, as with 8",
                      b, a);
    }
}

const struct lab_check LAB_CHECK = {.check = check};
