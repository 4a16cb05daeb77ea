// SPDX-License-Identifier: MIT
// Names of types, operations and errors.

#include "tests/fixtures/capture.h"

#include "core/base/err.h"
#include "core/base/type.h"

static void test_types_have_the_names_and_sizes_of_nccl_tests(void **state)
{
    static const struct {
        enum clab_type type;
        const char *name;
        size_t bytes;
    } cases[] = {{CLAB_F32, "float", 4}, {CLAB_F64, "double", 8}, {CLAB_F16, "half", 2},  {CLAB_BF16, "bfloat16", 2},
                 {CLAB_I8, "int8", 1},   {CLAB_U8, "uint8", 1},   {CLAB_I32, "int32", 4}, {CLAB_I64, "int64", 8}};
    assert_int_equal(sizeof cases / sizeof *cases, CLAB_TYPE_COUNT);
    for (int i = 0; i < CLAB_TYPE_COUNT; i++) {
        enum clab_type type = CLAB_TYPE_COUNT;
        assert_string_equal(clab_type_name(cases[i].type), cases[i].name);
        assert_int_equal(clab_type_bytes(cases[i].type), cases[i].bytes);
        assert_int_equal(clab_type_parse(cases[i].name, &type), CLAB_OK);
        assert_int_equal(type, cases[i].type);
    }
}

static void test_operations_are_found_by_their_names(void **state)
{
    static const char *const names[] = {"sum", "prod", "min", "max", "avg"};
    static const enum clab_op ops[] = {CLAB_SUM, CLAB_PROD, CLAB_MIN, CLAB_MAX, CLAB_AVG};
    assert_int_equal(sizeof names / sizeof *names, CLAB_OP_COUNT);
    for (int i = 0; i < CLAB_OP_COUNT; i++) {
        enum clab_op op = CLAB_OP_COUNT;
        assert_string_equal(clab_op_name(ops[i]), names[i]);
        assert_int_equal(clab_op_parse(names[i], &op), CLAB_OK);
        assert_int_equal(op, ops[i]);
    }
}

static void test_unknown_names_are_refused_and_touch_nothing(void **state)
{
    static const char *const names[] = {"", "floa", "floats", "Float", " float", "f32", "sum ", "SUM", "mean"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        enum clab_type type = CLAB_I64;
        enum clab_op op = CLAB_AVG;
        assert_int_equal(clab_type_parse(names[i], &type), CLAB_ENOENT);
        assert_int_equal(clab_op_parse(names[i], &op), CLAB_ENOENT);
        assert_true(type == CLAB_I64 && op == CLAB_AVG);
    }
}

static void test_precisions_go_from_wide_to_narrow(void **state)
{
    static const char *const names[] = {"f64", "f32", "tf32", "f16", "f8"};
    assert_int_equal(sizeof names / sizeof *names, CLAB_PRECISIONS);
    for (int i = 0; i < CLAB_PRECISIONS; i++)
        assert_string_equal(clab_precision_name((enum clab_precision)i), names[i]);
}

static void test_every_error_has_a_sentence_of_its_own(void **state)
{
    assert_string_equal(clab_strerror(CLAB_OK), "success");
    assert_string_equal(clab_strerror(CLAB_ETIMEOUT), "a deadline passed");
    for (int a = 0; a < CLAB_ERR_COUNT; a++)
        for (int b = 0; b < a; b++)
            assert_string_not_equal(clab_strerror(a), clab_strerror(b));
    assert_string_equal(clab_strerror(-1), "unknown error");
    assert_string_equal(clab_strerror(CLAB_ERR_COUNT), "unknown error");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_types_have_the_names_and_sizes_of_nccl_tests),
        cmocka_unit_test(test_operations_are_found_by_their_names),
        cmocka_unit_test(test_unknown_names_are_refused_and_touch_nothing),
        cmocka_unit_test(test_precisions_go_from_wide_to_narrow),
        cmocka_unit_test(test_every_error_has_a_sentence_of_its_own),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
