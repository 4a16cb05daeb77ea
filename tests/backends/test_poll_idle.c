// SPDX-License-Identifier: MIT
// How a rank waits for what it can only look at again (clab_poll_idle). The kernel counts when the thread has slept: a
// voluntary switch, which a yield is not.

#include "tests/fixtures/capture.h"

#include <sys/resource.h>

#include "core/base/clock.h"
#include "core/transport/backend.h"

enum { SPINS = 10, YIELDS = 1000 };

static long sleeps(void)
{
    struct rusage usage;
    assert_int_equal(getrusage(RUSAGE_THREAD, &usage), 0);
    return usage.ru_nvcsw;
}

// How often the thread sleeps in a wait of so many seconds.
static long sleeps_in(double seconds, bool crowded)
{
    const struct clab_bootstrap boot = {.crowded = crowded};
    const long before = sleeps();
    const double end = clab_now() + seconds;
    for (unsigned fruitless = 0; clab_now() < end; fruitless++)
        clab_poll_idle(&boot, SPINS, fruitless);
    return sleeps() - before;
}

// A sleep takes 0.1 ms, which is above 1/200 of a wait until 20 ms.
static void test_a_wait_of_milliseconds_is_not_rounded_up_by_sleeps(void **state)
{
    for (int i = 0; i < 3; i++)
        assert_int_equal(sleeps_in(15e-3, false), 0);
}

// On a busy machine the yields before the first sleep take seconds, since each gives the core away.
static void test_a_long_wait_sleeps(void **state)
{
    const struct clab_bootstrap boot = {0};
    const long before = sleeps();
    const double end = clab_now() + 20;
    for (unsigned fruitless = 0; clab_now() < end && sleeps() == before; fruitless++)
        clab_poll_idle(&boot, SPINS, fruitless);
    assert_true(sleeps() > before);
}

static void test_a_wait_sleeps_soon_where_no_core_is_free(void **state)
{
    const struct clab_bootstrap boot = {.crowded = true};
    const long before = sleeps();
    for (unsigned fruitless = 0; fruitless < YIELDS + 20; fruitless++)
        clab_poll_idle(&boot, SPINS, fruitless);
    assert_in_range(sleeps() - before, 20, 25);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_wait_of_milliseconds_is_not_rounded_up_by_sleeps),
        cmocka_unit_test(test_a_long_wait_sleeps),
        cmocka_unit_test(test_a_wait_sleeps_soon_where_no_core_is_free),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
