// SPDX-License-Identifier: MIT
// In place of cmocka where a machine lacks it, for gpu-check alone: what the conformance suite and the tests of a device
// use, by cmocka's names and with its output, TAP. No mocks, no setups, no groups in groups.
// - A failed assertion or a skip leaves the test by a jump, as cmocka's do. Its teardown is called after that.
#pragma once

#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

typedef void (*CMUnitTestFunction)(void **state);
typedef int (*CMFixtureFunction)(void **state);

struct CMUnitTest {
    const char *name;
    CMUnitTestFunction test_func;
    CMFixtureFunction setup_func, teardown_func;
    void *initial_state;
};

enum { STAND_IN_FAILED = 1, STAND_IN_SKIPPED = 2 };
static jmp_buf stand_in_test; // where the running test is left from

static inline _Noreturn void skip(void)
{
    longjmp(stand_in_test, STAND_IN_SKIPPED);
}

__attribute__((format(printf, 1, 2))) static inline void print_message(const char *format, ...)
{
    va_list values;
    va_start(values, format);
    vprintf(format, values);
    va_end(values);
}

__attribute__((format(printf, 3, 4))) static inline _Noreturn void stand_in_fail(const char *file, int line,
                                                                                 const char *format, ...)
{
    va_list values;
    printf("# %s:%d: ", file, line);
    va_start(values, format);
    vprintf(format, values);
    va_end(values);
    printf("\n");
    longjmp(stand_in_test, STAND_IN_FAILED);
}

#define fail_msg(...) stand_in_fail(__FILE__, __LINE__, __VA_ARGS__)
#define assert_true(is)           \
    do {                          \
        if (!(is))                \
            fail_msg("not " #is); \
    } while (0)
#define assert_non_null(pointer)     assert_true((pointer) != NULL)
#define assert_ptr_equal(one, other) assert_true((const void *)(one) == (const void *)(other))
#define assert_int_equal(one, other)                                       \
    do {                                                                   \
        const intmax_t one_ = (intmax_t)(one), other_ = (intmax_t)(other); \
        if (one_ != other_)                                                \
            fail_msg(#one " is %jd, and " #other " %jd", one_, other_);    \
    } while (0)

#define assert_memory_equal(one, other, bytes) assert_true(memcmp(one, other, bytes) == 0)

// clang-format off
#define cmocka_unit_test_teardown(test, teardown) {#test, test, NULL, teardown, NULL}
#define cmocka_unit_test(test)                    cmocka_unit_test_teardown(test, NULL)
// clang-format on
#define cmocka_run_group_tests(tests, before, after) \
    _cmocka_run_group_tests(#tests, tests, sizeof(tests) / sizeof *(tests), before, after)

// How a test ends, its teardown included.
static inline int stand_in_run(const struct CMUnitTest *test)
{
    void *volatile state = test->initial_state;
    volatile int end = setjmp(stand_in_test);
    if (end == 0)
        test->test_func((void **)&state);
    if (test->teardown_func && test->teardown_func((void **)&state) != 0) {
        printf("# its teardown failed\n");
        end = STAND_IN_FAILED;
    }
    return end;
}

static inline int _cmocka_run_group_tests(const char *group, const struct CMUnitTest tests[], size_t n,
                                          CMFixtureFunction before, CMFixtureFunction after)
{
    int failed = 0;
    (void)before, (void)after;
    printf("1..%zu\n", n);
    for (size_t i = 0; i < n; i++) {
        const int end = stand_in_run(&tests[i]);
        failed += end == STAND_IN_FAILED;
        printf("%s %zu - %s%s\n", end == STAND_IN_FAILED ? "not ok" : "ok", i + 1, tests[i].name,
               end == STAND_IN_SKIPPED ? " # SKIP" : "");
        fflush(stdout);
    }
    printf("# %s - %s, by a stand-in for cmocka\n", failed ? "not ok" : "ok", group);
    return failed;
}
