// SPDX-License-Identifier: MIT
// Registrations of memory with a fabric: they cover what is used, and nothing longer than that.

#include "tests/fixtures/capture.h"

#include <string.h>

#include "tests/fixtures/needs.h"

#ifdef HAVE_LIBFABRIC

#include "backends/ofi/registrations.h"
#include "core/base/err.h"

// What a registrar has been told.
static struct {
    int entered, left, refuse; // refuse: with this error
    const void *start;         // of the last
} fake;
static struct ofi_registrations all; // by it
static char memory[4096];

static int enter(void *of, const void *start, size_t bytes, void **handle_p)
{
    assert_ptr_equal(of, &fake);
    if (fake.refuse)
        return fake.refuse;
    fake.entered++;
    fake.start = start;
    *handle_p = memory;
    return CLAB_OK;
}

static void leave(void *of, void *handle)
{
    assert_ptr_equal(of, &fake);
    assert_ptr_equal(handle, memory);
    fake.left++;
}

static int begin(void **state)
{
    memset(&fake, 0, sizeof fake);
    ofi_registrations_init(&all, (struct ofi_registrar){&fake, enter, leave});
    return 0;
}

static void test_memory_that_is_held_is_registered_once(void **state)
{
    struct ofi_registration *first, *second;
    for (int i = 3; i >= 0; i--) // in no order
        assert_int_equal(ofi_registrations_hold(&all, memory + 1024 * i, 1024), CLAB_OK);
    assert_int_equal(ofi_registrations_use(&all, memory + 1024, 1024, &first), CLAB_OK);
    assert_int_equal(ofi_registrations_use(&all, memory + 2047, 1, &second), CLAB_OK);
    assert_ptr_equal(first, second);
    assert_ptr_equal(first->start, memory + 1024);
    assert_int_equal(fake.entered, 4);
    ofi_registrations_drop(&all, first);
    ofi_registrations_drop(&all, second);
    assert_int_equal(fake.left, 0);
    for (int i = 0; i < 4; i++)
        ofi_registrations_let_go(&all, memory + 1024 * i);
    assert_int_equal(fake.left, 4);
    ofi_registrations_finish(&all);
}

static void test_other_memory_is_registered_while_it_is_used(void **state)
{
    struct ofi_registration *whole, *part, *across;
    assert_int_equal(ofi_registrations_hold(&all, memory, 1024), CLAB_OK);
    assert_int_equal(ofi_registrations_use(&all, memory + 2048, 1000, &whole), CLAB_OK);
    assert_int_equal(ofi_registrations_use(&all, memory + 2548, 500, &part), CLAB_OK);
    assert_ptr_equal(whole, part);
    assert_int_equal(ofi_registrations_use(&all, memory + 1000, 48, &across), CLAB_OK); // held in part only
    assert_int_equal(fake.entered, 3);
    assert_ptr_equal(fake.start, memory + 1000);
    ofi_registrations_drop(&all, whole);
    assert_int_equal(fake.left, 0);
    ofi_registrations_drop(&all, part);
    assert_int_equal(fake.left, 1);
    assert_int_equal(ofi_registrations_use(&all, memory + 2048, 10, &whole), CLAB_OK); // anew
    assert_int_equal(fake.entered, 4);
    ofi_registrations_drop(&all, across);
    ofi_registrations_drop(&all, whole);
    assert_int_equal(fake.left, 3);
    ofi_registrations_finish(&all);
    assert_int_equal(fake.left, 4);
}

static void test_memory_that_is_let_go_stays_registered_until_it_is_dropped(void **state)
{
    struct ofi_registration *used;
    assert_int_equal(ofi_registrations_hold(&all, memory, 1024), CLAB_OK);
    assert_int_equal(ofi_registrations_use(&all, memory, 1024, &used), CLAB_OK);
    ofi_registrations_let_go(&all, memory);
    ofi_registrations_let_go(&all, memory + 64); // which nobody holds
    assert_int_equal(fake.left, 0);
    ofi_registrations_drop(&all, used);
    assert_int_equal(fake.left, 1);
    ofi_registrations_finish(&all);
}

static void test_what_is_added_is_registered_though_it_is_held(void **state)
{
    struct ofi_registration *added, *used;
    assert_int_equal(ofi_registrations_hold(&all, memory, 1024), CLAB_OK);
    assert_int_equal(ofi_registrations_add(&all, memory + 64, 64, &added), CLAB_OK);
    assert_int_equal(fake.entered, 2);
    ofi_registrations_drop(&all, added);
    assert_int_equal(fake.left, 1);
    assert_int_equal(ofi_registrations_add(&all, memory + 2048, 1024, &added), CLAB_OK);
    assert_int_equal(ofi_registrations_use(&all, memory + 2048, 100, &used), CLAB_OK); // found
    assert_ptr_equal(used, added);
    assert_int_equal(fake.entered, 3);
    ofi_registrations_drop(&all, added);
    assert_int_equal(fake.left, 1);
    ofi_registrations_drop(&all, used);
    assert_int_equal(fake.left, 2);
    ofi_registrations_finish(&all);
}

static void test_a_registrar_may_refuse(void **state)
{
    struct ofi_registration *used = NULL;
    fake.refuse = CLAB_ESYS;
    assert_int_equal(ofi_registrations_hold(&all, memory, 64), CLAB_ESYS);
    assert_int_equal(ofi_registrations_use(&all, memory, 64, &used), CLAB_ESYS);
    assert_null(used);
    ofi_registrations_finish(&all);
    assert_int_equal(fake.left, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_memory_that_is_held_is_registered_once, begin),
        cmocka_unit_test_setup(test_other_memory_is_registered_while_it_is_used, begin),
        cmocka_unit_test_setup(test_memory_that_is_let_go_stays_registered_until_it_is_dropped, begin),
        cmocka_unit_test_setup(test_what_is_added_is_registered_though_it_is_held, begin),
        cmocka_unit_test_setup(test_a_registrar_may_refuse, begin),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

#else
MAIN_WITHOUT("libfabric")
#endif
