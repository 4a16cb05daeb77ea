// SPDX-License-Identifier: MIT
// Takes long: 45 jobs in virtual time, 9 unless CLAB_TEST_FULL is set.
// commlab bottleneck names each of lab 12's faults, from five (two) seeds each, and names none in five (two) jobs without a
// fault.

#include "tests/fixtures/capture.h"
#include "tests/fixtures/full.h"
#include "tests/fixtures/needs.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "labs/12-bottleneck/faults.h"
#include "core/base/err.h"
#include "sim/sim.h"

enum { RANKS = 4 };

// The word behind "Likely cause: ", and what the remedy is said to save of a step, in percent.
static void ask(unsigned seed, char word[32], double *percent_p)
{
    char command[512], line[512];
    double gain, step;
    const char *build = getenv("CLAB_BUILD") ? getenv("CLAB_BUILD") : "build";
    snprintf(
        command, sizeof command,
        "%s/commlab bottleneck -- %s/labs/12-bottleneck/after -n %d --backend sim --net 25gbe 128 job %u 2>/dev/null",
        build, build, RANKS, seed);
    *word = '\0', *percent_p = 0;
    FILE *out = popen(command, "r");
    assert_non_null(out);
    while (fgets(line, sizeof line, out)) {
        const char *saves = strstr(line, "It would save ");
        sscanf(line, "Likely cause: %31[a-z-]", word);
        if (saves && sscanf(saves, "It would save %lf ms of a step of %lf ms", &gain, &step) == 2)
            *percent_p = 100 * gain / step;
    }
    assert_int_equal(pclose(out), 0);
}

static void test_each_fault_is_named_from_several_seeds_and_no_job_that_is_well_is_accused(void **state)
{
    needs_jansson();
    needs_inih();
    int named[FAULTS] = {0};
    const int each = is_full() ? 5 : 1;
    leave_out((5 - each) * FAULTS);
    for (unsigned seed = 0; seed < (unsigned)(each * FAULTS); seed++) {
        char word[32];
        double percent;
        const enum fault fault = fault_of(seed);
        ask(seed, word, &percent);
        if (strcmp(word, fault_words[fault]) != 0)
            fail_msg("seed %u: named '%s', but it is '%s'", seed, word, fault_words[fault]);
        assert_true(fault == NO_FAULT ? percent == 0 : percent > 5);
        named[fault]++;
    }
    for (int f = 0; f < FAULTS; f++)
        assert_int_equal(named[f], each);
}

// ---- networks with something wrong -----------------------------------------------------------------------------

static double seconds(const char *net_name, size_t bytes)
{
    struct clab_net *net;
    struct clab_sim_result result;
    const struct clab_algorithm *ring = clab_algorithm_find(CLAB_ALLREDUCE, "ring");
    const struct clab_problem problem = {
        .collective = CLAB_ALLREDUCE, .nranks = 2, .lanes = 1, .count = bytes / sizeof(float)};
    const struct clab_sim_options options = {.element_bytes = sizeof(float), .in_place = true};
    assert_int_equal(clab_net_load(net_name, &net), CLAB_OK);
    assert_int_equal(clab_sim_run(&problem, ring, net, &options, &result), CLAB_OK);
    clab_net_free(net);
    return result.seconds;
}

static void test_a_slow_interface_slows_bytes_alone(void **state)
{
    needs_inih();
    const double alpha = 8e-6, beta = 8 / 24.75e9, gamma = 1e-10; // 25gbe.net
    // Two ranks exchange halves, twice, and add one of them.
    const double bytes = 1 << 20;
    assert_true(fabs(seconds("25gbe", 1 << 20) - (2 * alpha + bytes * beta + bytes / 2 * gamma)) < 1e-9);
    assert_true(fabs(seconds("25gbe+rate=10%", 1 << 20) - (2 * alpha + 10 * bytes * beta + bytes / 2 * gamma)) < 1e-9);
}

static void test_a_window_slows_messages_that_do_not_fit_into_it(void **state)
{
    needs_inih();
    const double alpha = 8e-6, window = 8192;
    assert_true(fabs(seconds("25gbe+window=8K", 16384) - seconds("25gbe", 16384)) < 1e-12); // messages of 8 KiB
    const double more = seconds("25gbe+window=8K", 1 << 20) - seconds("25gbe", 1 << 20);
    assert_true(fabs(more - (1 << 20) / window * 2 * alpha) < 1e-9); // a round trip per window
}

static void test_losses_are_as_many_as_was_said_and_the_same_each_time(void **state)
{
    needs_inih();
    struct clab_net *net;
    assert_int_equal(clab_net_load("25gbe+loss=1%:5ms", &net), CLAB_OK);
    const double stall = clab_net_stall(net, 100000, 7);
    assert_true(stall == clab_net_stall(net, 100000, 7));
    assert_true(stall > 0.9 * 1000 * 5e-3 && stall < 1.1 * 1000 * 5e-3);
    assert_true(clab_net_stall(net, 100000, 8) != stall);
    clab_net_free(net);
    assert_int_equal(clab_net_load("25gbe", &net), CLAB_OK);
    assert_true(clab_net_stall(net, 100000, 7) == 0);
    clab_net_free(net);
}

static void test_what_can_not_be_wrong_is_refused(void **state)
{
    needs_inih();
    static const char *const wrong[] = {"25gbe+",          "25gbe+rate=0%",   "25gbe+rate=10",  "25gbe+window=0",
                                        "25gbe+loss=5%",   "25gbe+loss=5%:5", "25gbe+speed=1%", "25gbe+rate=10%+x",
                                        "25gbe+rate=10%+", "25gbe++rate=10%"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        struct clab_net *net;
        const struct capture err = capture_begin(STDERR_FILENO);
        const int answer = clab_net_load(wrong[i], &net);
        const char *text = capture_end(err);
        if (answer != CLAB_EINVAL)
            fail_msg("%s: answer %d", wrong[i], answer);
        assert_one_line_with(text, "is not rate=PERCENT%");
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_each_fault_is_named_from_several_seeds_and_no_job_that_is_well_is_accused),
        cmocka_unit_test(test_a_slow_interface_slows_bytes_alone),
        cmocka_unit_test(test_a_window_slows_messages_that_do_not_fit_into_it),
        cmocka_unit_test(test_losses_are_as_many_as_was_said_and_the_same_each_time),
        cmocka_unit_test(test_what_can_not_be_wrong_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
