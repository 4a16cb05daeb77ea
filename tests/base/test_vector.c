// SPDX-License-Identifier: MIT
// Vectors that grow.

#include "tests/fixtures/capture.h"

#include "core/base/vector.h"

struct pair {
    int a, b;
};

static void test_push_keeps_all_items_in_order(void **state)
{
    struct pair *items = NULL;
    int n = 0, room = 0;
    for (int i = 0; i < 1000; i++)
        assert_int_equal(CLAB_PUSH(items, n, room, (struct pair){.a = i, .b = -i}), CLAB_OK);
    assert_int_equal(n, 1000);
    assert_in_range(room, 1000, 2000);
    for (int i = 0; i < n; i++) {
        assert_int_equal(items[i].a, i);
        assert_int_equal(items[i].b, -i);
    }
    free(items);
}

static void test_push_to_an_emptied_array_reuses_its_room(void **state)
{
    double *items = NULL;
    size_t n = 0, room = 0;
    for (int i = 0; i < 100; i++)
        assert_int_equal(CLAB_PUSH(items, n, room, i), CLAB_OK);
    const size_t before = room;
    n = 0;
    assert_int_equal(CLAB_PUSH(items, n, room, 7.5), CLAB_OK);
    assert_true(n == 1 && room == before && items[0] == 7.5);
    free(items);
}

static void test_append_adds_many_or_none(void **state)
{
    const int more[] = {4, 5, 6};
    int *items = NULL, n = 0, room = 0;
    const int *none = NULL;
    assert_int_equal(CLAB_APPEND(items, n, room, none, 0), CLAB_OK);
    assert_int_equal(n, 0);
    for (int i = 0; i < 20; i++)
        assert_int_equal(CLAB_APPEND(items, n, room, more, 3), CLAB_OK);
    assert_int_equal(n, 60);
    assert_int_equal(items[59], 6);
    assert_int_equal(items[57], 4);
    free(items);
}

static void test_a_size_that_overflows_changes_nothing(void **state)
{
    struct pair *items = NULL;
    size_t n = 0, room = 0;
    assert_int_equal(CLAB_PUSH(items, n, room, (struct pair){1, 2}), CLAB_OK);
    struct pair *const before = items;
    const size_t had = room;
    assert_int_equal(CLAB_RESERVE(items, room, SIZE_MAX / sizeof *items + 1), CLAB_ENOMEM);
    assert_int_equal(CLAB_RESERVE(items, room, PTRDIFF_MAX / sizeof *items + 1), CLAB_ENOMEM);
    assert_true(items == before && room == had && n == 1 && items[0].b == 2);
    free(items);
}

static void test_room_in_an_int_does_not_overflow_it(void **state)
{
    char *items = NULL;
    int room = 0;
    assert_int_equal(CLAB_RESERVE(items, room, (size_t)INT32_MAX + 1), CLAB_ENOMEM);
    assert_int_equal(CLAB_RESERVE(items, room, -1), CLAB_ENOMEM);
    assert_true(!items && room == 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_push_keeps_all_items_in_order),
        cmocka_unit_test(test_push_to_an_emptied_array_reuses_its_room),
        cmocka_unit_test(test_append_adds_many_or_none),
        cmocka_unit_test(test_a_size_that_overflows_changes_nothing),
        cmocka_unit_test(test_room_in_an_int_does_not_overflow_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
