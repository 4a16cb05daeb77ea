// SPDX-License-Identifier: MIT
// labs/lab.h, which all labs' programs share: their arguments, and what it says of a wrong element.

#include "tests/fixtures/capture.h"

#include <sys/wait.h>
#include <unistd.h>

#include "labs/lab.h"

static void test_arguments_are_the_usual_ones_where_there_are_none(void **state)
{
    char name[] = "before", *one[] = {name, NULL}, **argv = one;
    int argc = 1;
    lab_arguments(&argc, &argv, "64K 6 12");
    assert_int_equal(argc, 4);
    assert_string_equal(argv[0], "before");
    assert_string_equal(argv[1], "64K");
    assert_string_equal(argv[3], "12");
}

static void test_arguments_that_are_given_stay(void **state)
{
    char name[] = "before", word[] = "8", *two[] = {name, word, NULL}, **argv = two;
    int argc = 2;
    lab_arguments(&argc, &argv, "64K 6 12");
    assert_int_equal(argc, 2);
    assert_ptr_equal(argv, two);
}

static void test_sums_are_exact_in_every_order(void **state)
{
    float up = 0, down = 0;
    enum { RANKS = 65536 }; // 255 * 65536 < 2^24
    for (int rank = 0; rank < RANKS; rank++) {
        up += lab_value(rank, 12345);
        down += lab_value(RANKS - 1 - rank, 12345);
    }
    assert_true(up == down && up > 100.0f * RANKS);
}

static void test_the_median_is_the_middle_one(void **state)
{
    double values[] = {3, 1e9, 2, -1, 2.5};
    assert_true(lab_median(values, 5) == 2.5);
    assert_true(values[0] == -1 && values[4] == 1e9);
}

// What lab_expect writes to standard error, in a process of its own, which it ends.
static int expect(const float got[], char text[256])
{
    static const float expected[] = {1, 2, 3};
    int pipe_of[2], status;
    assert_int_equal(pipe(pipe_of), 0);
    const pid_t pid = fork();
    if (pid == 0) {
        dup2(pipe_of[1], STDERR_FILENO);
        lab_expect(5, "sum", 3, got, expected);
        _exit(0);
    }
    close(pipe_of[1]);
    const ssize_t n = read(pipe_of[0], text, 255);
    text[n > 0 ? n : 0] = '\0';
    close(pipe_of[0]);
    assert_true(waitpid(pid, &status, 0) == pid && WIFEXITED(status));
    return WEXITSTATUS(status);
}

static void test_the_first_wrong_element_is_named(void **state)
{
    char text[256];
    assert_int_equal(expect((float[]){1, 2, 3}, text), 0);
    assert_string_equal(text, "");
    assert_int_not_equal(expect((float[]){1, 2.5f, 4}, text), 0);
    assert_ptr_equal(strstr(text, "rank 5, index 1: got 2.5, expected 2 (sum)\n"), text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_arguments_are_the_usual_ones_where_there_are_none),
        cmocka_unit_test(test_arguments_that_are_given_stay),
        cmocka_unit_test(test_sums_are_exact_in_every_order),
        cmocka_unit_test(test_the_median_is_the_middle_one),
        cmocka_unit_test(test_the_first_wrong_element_is_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
