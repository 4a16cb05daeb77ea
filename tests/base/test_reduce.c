// SPDX-License-Identifier: MIT
// Reductions of every type, operation, instruction set, length, alignment and aliasing, against scalar references
// written for the test.

#include "tests/fixtures/capture.h"

#include <float.h>
#include <math.h>
#include <stdbool.h>

#include "core/base/numbers/copy.h"
#include "core/base/err.h"
#include "core/base/numbers/reduce.h"
#include "tests/fixtures/half_reference.h"
#include "tests/fixtures/next_random.h"

// ---- one element, told by the definition ------------------------------------------------------------------------

static double reduce_reals(enum clab_op op, double a, double b)
{
    if (op == CLAB_SUM || op == CLAB_AVG)
        return a + b;
    if (op == CLAB_PROD)
        return a * b;
    if (isnan(a) || isnan(b))
        return NAN;
    if (a == b) // of two zeros the negative one is less
        return (op == CLAB_MIN) == (bool)signbit(a) ? a : b;
    return (op == CLAB_MIN) == (a < b) ? a : b;
}

static __int128 reduce_integers(enum clab_op op, __int128 a, __int128 b)
{
    switch (op) {
    case CLAB_PROD:
        return a * b;
    case CLAB_MIN:
        return a < b ? a : b;
    case CLAB_MAX:
        return a > b ? a : b;
    default:
        return a + b;
    }
}

static __int128 load_integer(enum clab_type type, const void *at)
{
    int64_t i64;
    int32_t i32;
    switch (type) {
    case CLAB_I8:
        return *(const int8_t *)at;
    case CLAB_U8:
        return *(const uint8_t *)at;
    case CLAB_I32:
        memcpy(&i32, at, sizeof i32);
        return i32;
    default:
        memcpy(&i64, at, sizeof i64);
        return i64;
    }
}

static const struct format *format_of(enum clab_type type)
{
    return type == CLAB_F16 ? &f16 : type == CLAB_BF16 ? &bf16 : NULL;
}

// A float operation that is done in double and then rounded to float is the float operation (Figueroa 1995).
static double load_real(enum clab_type type, const void *at)
{
    uint16_t bits;
    float f;
    double d;
    if (format_of(type)) {
        memcpy(&bits, at, sizeof bits);
        return widened(format_of(type), bits);
    }
    if (type == CLAB_F32) {
        memcpy(&f, at, sizeof f);
        return f;
    }
    memcpy(&d, at, sizeof d);
    return d;
}

static void store_real(enum clab_type type, double value, void *at)
{
    const float f = (float)value;
    if (type == CLAB_F64) {
        memcpy(at, &value, sizeof value);
    } else if (type == CLAB_F32) {
        memcpy(at, &f, sizeof f);
    } else {
        const uint16_t bits = isnan(f) ? 0x7fff : narrowed(format_of(type), f);
        memcpy(at, &bits, sizeof bits);
    }
}

static bool is_real(enum clab_type type)
{
    return type == CLAB_F32 || type == CLAB_F64 || format_of(type);
}

static void expect_reduced(enum clab_type type, enum clab_op op, const void *a, const void *b, void *out)
{
    if (is_real(type)) {
        store_real(type, reduce_reals(op, load_real(type, a), load_real(type, b)), out);
    } else {
        const __int128 value = reduce_integers(op, load_integer(type, a), load_integer(type, b));
        memcpy(out, &value, clab_type_bytes(type)); // the low bytes: two's complement
    }
}

static void expect_scaled(enum clab_type type, const void *in, int divisor, void *out)
{
    if (is_real(type)) {
        store_real(type, load_real(type, in) / divisor, out);
    } else {
        const __int128 value = load_integer(type, in) / divisor;
        memcpy(out, &value, clab_type_bytes(type));
    }
}

static void assert_elements_equal(enum clab_type type, const char *got, const char *expected, size_t count,
                                  const char *what)
{
    const size_t bytes = clab_type_bytes(type);
    for (size_t i = 0; i < count; i++, got += bytes, expected += bytes) {
        if (memcmp(got, expected, bytes) == 0)
            continue;
        if (is_real(type) && isnan(load_real(type, got)) && isnan(load_real(type, expected)))
            continue;
        fail_msg("%s %s, %s: element %zu of %zu differs", clab_type_name(type), what, clab_elements_isa(), i, count);
    }
}

// ---- buffers ----------------------------------------------------------------------------------------------------

enum { LONGEST = 1100, GUARD = 64, ROOM = GUARD + 8 * LONGEST + GUARD };

struct buffer {
    _Alignas(64) char memory[ROOM];
};

static const double special[] = {0.0, -0.0, INFINITY, -INFINITY, NAN, 1, -1, 65504, -65504, 65520, 0x1p-24, 0x1p-25,
                                 0x1p-149, 0x1p-133,
                                 FLT_MAX, -FLT_MAX, FLT_MIN, DBL_MAX, DBL_MIN, 0x1p-1074, 3.5, 2048, 2049};

// Any bits for integers; for floats any bits, moderate numbers, and those where mistakes live.
static void fill(enum clab_type type, char *at, size_t count)
{
    const size_t bytes = clab_type_bytes(type);
    for (size_t i = 0; i < count; i++, at += bytes) {
        const uint64_t random = next_random();
        if (!is_real(type) || random % 3 == 0)
            memcpy(at, (uint64_t[]){next_random()}, bytes);
        else if (random % 3 == 1)
            store_real(type, special[random / 3 % (sizeof special / sizeof *special)], at);
        else
            store_real(type, ldexp((double)(int64_t)next_random(), -60), at);
    }
}

static void assert_guards(const struct buffer *buffer, size_t start, size_t bytes)
{
    for (size_t i = 0; i < ROOM; i++)
        if ((i < start || i >= start + bytes) && buffer->memory[i] != 'g')
            fail_msg("byte %zu before or after the output was written", i);
}

static const char *const isas[] = {"portable", "avx2"};
static const size_t counts[] = {0, 1, 2, 7, 8, 9, 16, 31, 33, 65, 200, 513, LONGEST};
static const size_t shifts[] = {0, 1, 3, 8}; // in elements: no vector's alignment is assumed

typedef void reduce_fn(enum clab_type type, enum clab_op op, const void *a, const void *b, void *out, size_t count);

// `reduce` of `count` elements; alias says where the output is: 0 apart, 1 in a, 2 in b, 3 all three are one.
static void check_reduce(reduce_fn *reduce, enum clab_type type, enum clab_op op, size_t count, size_t shift, int alias)
{
    static struct buffer a, b, out, expected;
    const size_t bytes = clab_type_bytes(type), start = GUARD + shift * bytes;
    char *x = a.memory + GUARD + (alias ? shift : 0) * bytes, *y = b.memory + start;
    struct buffer *const target = (struct buffer *[]){&out, &a, &b, &a}[alias];
    memset(target, 'g', sizeof *target);
    if (alias == 3)
        y = x;
    fill(type, x, count);
    if (y != x)
        fill(type, y, count);
    for (size_t i = 0; i < count; i++)
        expect_reduced(type, op, x + i * bytes, y + i * bytes, expected.memory + i * bytes);
    reduce(type, op, x, y, target->memory + start, count);
    assert_elements_equal(type, target->memory + start, expected.memory, count, clab_op_name(op));
    assert_guards(target, start, count * bytes);
}

static void check_all_reductions(reduce_fn *reduce, enum clab_type type)
{
    for (enum clab_op op = 0; op < CLAB_OP_COUNT; op++)
        for (size_t c = 0; c < sizeof counts / sizeof *counts; c++)
            for (size_t s = 0; s < sizeof shifts / sizeof *shifts && shifts[s] + counts[c] <= LONGEST; s++)
                for (int alias = 0; alias < 4; alias++)
                    check_reduce(reduce, type, op, counts[c], shifts[s], alias);
}

// Returns whether this CPU has it; else cmocka is told to skip, which does not return.
static void use_isa(const char *name)
{
    const int err = clab_elements_set_isa(name);
    if (err == CLAB_OK)
        return;
    printf("skip: this processor or build has no %s\n", name);
    skip();
}

static void check_isa(const char *name)
{
    use_isa(name);
    for (enum clab_type type = 0; type < CLAB_TYPE_COUNT; type++)
        check_all_reductions(clab_elements_reduce, type);
}

static void test_plain_loops_reduce_all_types_and_operations(void **state)
{
    check_isa("portable");
}

static void test_avx2_loops_reduce_all_types_and_operations(void **state)
{
    check_isa("avx2");
}

static void test_streamed_reductions_are_the_same(void **state)
{
    for (enum clab_type type = 0; type < CLAB_TYPE_COUNT; type++)
        check_all_reductions(clab_elements_reduce_nontemporal, type);
}

// Each pair of a bf16 and f16 pattern with each that matters, by all instruction sets.
static void test_halves_of_every_pattern_are_reduced_as_floats(void **state)
{
    static const uint16_t partners[] = {0x0000, 0x8000, 0x0001, 0x8001, 0x03ff, 0x3c00, 0xbc00, 0x3f80, 0x7bff, 0xfbff,
                                        0x7c00,
                                        0xfc00, 0x7c01, 0x7e00, 0x7f7f, 0x7f80, 0xff80, 0x7f81, 0xffff, 0x1234, 0x9abc};
    static uint16_t a[0x10000], b[0x10000], out[0x10000], expected[0x10000];
    for (int i = 0; i < 0x10000; i++)
        a[i] = (uint16_t)i;
    for (size_t p = 0; p < sizeof partners / sizeof *partners; p++) {
        for (int i = 0; i < 0x10000; i++)
            b[i] = partners[p];
        for (int t = 0; t < 2; t++)
            for (enum clab_op op = 0; op < CLAB_AVG; op++) {
                const enum clab_type type = t ? CLAB_BF16 : CLAB_F16;
                for (int i = 0; i < 0x10000; i++)
                    expect_reduced(type, op, &a[i], &b[i], &expected[i]);
                for (size_t s = 0; s < sizeof isas / sizeof *isas; s++) {
                    if (clab_elements_set_isa(isas[s]) != CLAB_OK)
                        continue;
                    clab_elements_reduce(type, op, a, b, out, 0x10000);
                    assert_elements_equal(type, (char *)out, (char *)expected, 0x10000, clab_op_name(op));
                }
            }
    }
}

static void test_integers_wrap_and_extremes_hold(void **state)
{
    const int32_t a = INT32_MAX, b = 1;
    int32_t out;
    clab_elements_reduce(CLAB_I32, CLAB_SUM, &a, &b, &out, 1);
    assert_int_equal(out, INT32_MIN);
    const uint8_t x = 200, y = 100;
    uint8_t small;
    clab_elements_reduce(CLAB_U8, CLAB_SUM, &x, &y, &small, 1);
    assert_int_equal(small, 44);
    clab_elements_reduce(CLAB_U8, CLAB_MAX, &x, &y, &small, 1);
    assert_int_equal(small, 200);
    const int64_t low = INT64_MIN, minus = -1;
    int64_t large;
    clab_elements_reduce(CLAB_I64, CLAB_PROD, &low, &minus, &large, 1);
    assert_true(large == INT64_MIN);
    clab_elements_reduce(CLAB_I64, CLAB_MIN, &low, &minus, &large, 1);
    assert_true(large == INT64_MIN);
}

// ---- scale ------------------------------------------------------------------------------------------------------

static void check_scale(enum clab_type type, size_t count, size_t shift, int divisor)
{
    static struct buffer data, expected;
    const size_t bytes = clab_type_bytes(type), start = GUARD + shift * bytes;
    memset(&data, 'g', sizeof data);
    fill(type, data.memory + start, count);
    for (size_t i = 0; i < count; i++)
        expect_scaled(type, data.memory + start + i * bytes, divisor, expected.memory + i * bytes);
    clab_elements_scale(type, data.memory + start, count, divisor);
    assert_elements_equal(type, data.memory + start, expected.memory, count, "scale");
    assert_guards(&data, start, count * bytes);
}

static void test_scaling_divides_and_integers_truncate(void **state)
{
    static const int divisors[] = {1, 2, 3, 7, 64, 127, 128, 255, 256, 1000, 65537, 1 << 24};
    for (size_t s = 0; s < sizeof isas / sizeof *isas; s++) {
        if (clab_elements_set_isa(isas[s]) != CLAB_OK)
            continue;
        for (enum clab_type type = 0; type < CLAB_TYPE_COUNT; type++)
            for (size_t d = 0; d < sizeof divisors / sizeof *divisors; d++)
                for (size_t c = 0; c < sizeof counts / sizeof *counts; c++)
                    check_scale(type, counts[c], c % 4, divisors[d]);
    }
    int32_t values[] = {7, -7, INT32_MIN, INT32_MAX};
    clab_elements_scale(CLAB_I32, values, 4, 2);
    assert_true(values[0] == 3 && values[1] == -3 && values[2] == -1073741824 && values[3] == 1073741823);
}

// ---- choice and copies ------------------------------------------------------------------------------------------

static void test_an_unknown_instruction_set_is_refused(void **state)
{
    assert_int_equal(clab_elements_set_isa("portable"), CLAB_OK);
    assert_int_equal(clab_elements_set_isa("avx3"), CLAB_ENOENT);
    assert_int_equal(clab_elements_set_isa(""), CLAB_ENOENT);
    assert_string_equal(clab_elements_isa(), "portable");
}

typedef void copy_fn(void *out, const void *in, size_t bytes);

static void check_copy(copy_fn *copy, size_t bytes, size_t from, size_t to)
{
    static struct buffer in, out;
    memset(&out, 'g', sizeof out);
    fill(CLAB_U8, in.memory + from, bytes);
    copy(out.memory + GUARD + to, in.memory + from, bytes);
    assert_memory_equal(out.memory + GUARD + to, in.memory + from, bytes);
    assert_guards(&out, GUARD + to, bytes);
}

static void test_copies_copy_from_any_to_any_alignment(void **state)
{
    copy_fn *const copies[] = {clab_bytes_copy, clab_bytes_copy_nontemporal, clab_bytes_copy_string};
    for (int k = 0; k < 3; k++)
        for (size_t bytes = 0; bytes < 400; bytes += bytes < 70 ? 1 : 13)
            for (size_t to = 0; to < 64; to += 5)
                check_copy(copies[k], bytes, (to * 3) % 64, to);
}

// A whole output above the size from which it is streamed, and one that is in place.
static void test_large_outputs_are_right_on_either_side_of_streaming(void **state)
{
    const size_t count = clab_nontemporal_bytes() / 4 + 12345;
    int32_t *a = malloc((count + 1) * 4), *b = malloc((count + 1) * 4), *out = malloc((count + 1) * 4);
    assert_true(a && b && out && clab_is_nontemporal(count * 4) && !clab_is_nontemporal(CLAB_NONTEMPORAL_LEAST - 1));
    for (size_t i = 0; i <= count; i++) {
        a[i] = (int32_t)i;
        b[i] = (int32_t)(7 * i);
    }
    clab_elements_reduce(CLAB_I32, CLAB_SUM, a, b, out + 1, count);
    for (size_t i = 0; i < count; i++)
        if (out[i + 1] != (int32_t)(8 * i))
            fail_msg("element %zu of the sum", i);
    clab_bytes_copy(out, a + 1, count * 4);
    assert_memory_equal(out, a + 1, count * 4);
    clab_elements_reduce(CLAB_I32, CLAB_MAX, a, b, b, count);
    for (size_t i = 0; i < count; i++)
        if (b[i] != (int32_t)(7 * i))
            fail_msg("element %zu of the maximum", i);
    free(a);
    free(b);
    free(out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_plain_loops_reduce_all_types_and_operations),
        cmocka_unit_test(test_avx2_loops_reduce_all_types_and_operations),
        cmocka_unit_test(test_streamed_reductions_are_the_same),
        cmocka_unit_test(test_halves_of_every_pattern_are_reduced_as_floats),
        cmocka_unit_test(test_integers_wrap_and_extremes_hold),
        cmocka_unit_test(test_scaling_divides_and_integers_truncate),
        cmocka_unit_test(test_an_unknown_instruction_set_is_refused),
        cmocka_unit_test(test_copies_copy_from_any_to_any_alignment),
        cmocka_unit_test(test_large_outputs_are_right_on_either_side_of_streaming),
    };
    return cmocka_run_group_tests(tests, fill_formats, NULL);
}
