// SPDX-License-Identifier: MIT
// How long others had a thread's core: with what the thread ran, it is all of its time; a child has its own.

#include "tests/fixtures/capture.h"

#include <math.h>
#include <sched.h>
#include <signal.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "core/base/clock.h"
#include "core/base/machine/kept.h"

static double now_by(clockid_t clock)
{
    struct timespec t;
    clock_gettime(clock, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void spin_until(double when)
{
    while (clab_now() < when)
        ;
}

static void stay_on_this_core(void)
{
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET((size_t)sched_getcpu(), &set);
    assert_int_equal(sched_setaffinity(0, sizeof set, &set), 0);
}

static void needs_the_kernel_s_count(void)
{
    if (!isnan(clab_kept()))
        return;
    print_message("skip: the kernel does not say how long threads wait (/proc/thread-self/schedstat)\n");
    skip();
}

static void test_who_shares_a_core_is_kept_from_it(void **state)
{
    needs_the_kernel_s_count();
    stay_on_this_core();
    const pid_t other = fork();
    if (other == 0)
        for (;;)
            ;
    assert_true(other > 0);
    const double start = clab_now(), kept = clab_kept(), ran = now_by(CLOCK_THREAD_CPUTIME_ID);
    spin_until(start + 0.4);
    const double wall = clab_now() - start, waited = clab_kept() - kept, worked = now_by(CLOCK_THREAD_CPUTIME_ID) - ran;
    kill(other, SIGKILL);
    waitpid(other, NULL, 0);
    assert_true(waited > 0.2 * wall);                                           // two that spin have half a core each
    assert_true(waited + worked > 0.9 * wall && waited + worked < 1.05 * wall); // it never slept
}

static void test_a_child_counts_from_its_own_beginning(void **state)
{
    needs_the_kernel_s_count();
    int status = 0;
    const double before = clab_now();
    const pid_t child = fork();
    if (child == 0) { // all that it waited since it began: less than it has lived
        const double kept = clab_kept();
        _exit(kept >= 0 && kept <= clab_now() - before ? 0 : 1);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_who_shares_a_core_is_kept_from_it),
        cmocka_unit_test(test_a_child_counts_from_its_own_beginning),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
