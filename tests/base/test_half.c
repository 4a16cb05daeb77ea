// SPDX-License-Identifier: MIT
// 16-bit floats: every pattern widened, and floats of all kinds narrowed, against half_reference.h.

#include "tests/fixtures/capture.h"

#include <float.h>
#include <math.h>

#include "core/base/numbers/half.h"
#include "tests/fixtures/half_reference.h"
#include "tests/fixtures/next_random.h"

static float widen_by_library(const struct format *f, uint16_t bits)
{
    return f->type == CLAB_F16 ? f16_widen(bits) : bf16_widen(bits);
}

static uint16_t narrow_by_library(const struct format *f, float value)
{
    return f->type == CLAB_F16 ? f16_narrow(value) : bf16_narrow(value);
}

static void check_widening(const struct format *f)
{
    for (int i = 0; i < 0x10000; i++) {
        const double expected = widened(f, (uint16_t)i);
        const float got = widen_by_library(f, (uint16_t)i);
        if (isnan(expected) ? !isnan(got) : got != expected || !signbit(got) != !signbit(expected))
            fail_msg("%s %04x is %g, not %g", clab_type_name(f->type), i, (double)got, expected);
    }
}

static void check_narrowing(const struct format *f, float value)
{
    const uint16_t got = narrow_by_library(f, value), expected = narrowed(f, value);
    if (isnan(value) ? !is_nan16(f, got) : got != expected)
        fail_msg("%s of %a is %04x, not %04x", clab_type_name(f->type), (double)value, got, expected);
}

static float float_of(uint32_t bits)
{
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

// Every value, every middle between neighbours, and the floats next to both; then any floats.
static void check_all_narrowing(const struct format *f)
{
    for (int i = 0; i < f->infinity; i++) {
        const double points[] = {f->values[i], (f->values[i] + f->values[i + 1]) / 2};
        for (int k = 0; k < 2; k++) {
            const float point = (float)points[k];
            for (int sign = -1; sign <= 1; sign += 2) {
                check_narrowing(f, (float)sign * point);
                check_narrowing(f, (float)sign * nextafterf(point, INFINITY));
                check_narrowing(f, (float)sign * nextafterf(point, -INFINITY));
            }
        }
    }
    for (int i = 0; i < 1000000; i++)
        check_narrowing(f, float_of((uint32_t)next_random()));
    const float ends[] = {INFINITY, -INFINITY, FLT_MAX, -FLT_MAX, FLT_MIN, FLT_TRUE_MIN, 0.0f, -0.0f};
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++)
        check_narrowing(f, ends[i]);
}

static void test_every_half_is_widened_to_its_value(void **state)
{
    check_widening(&f16);
    check_widening(&bf16);
}

static void test_floats_are_narrowed_to_the_nearest_half(void **state)
{
    check_all_narrowing(&f16);
    check_all_narrowing(&bf16);
}

static void test_halves_have_their_well_known_patterns(void **state)
{
    static const struct {
        float value;
        uint16_t f16, bf16;
    } cases[] = {{1, 0x3c00, 0x3f80},          {-2, 0xc000, 0xc000},           {65504, 0x7bff, 0x4780},
                 {65520, 0x7c00, 0x4780},      {0x1p-24f, 0x0001, 0x3380},     {0x1p-25f, 0x0000, 0x3300},
                 {1 + 0x1p-11f, 0x3c00, 0x3f80}, {1 + 0x3p-11f, 0x3c02, 0x3f80}, {1 + 0x3p-8f, 0x3c0c, 0x3f82},
                 {-0.0f, 0x8000, 0x8000},      {INFINITY, 0x7c00, 0x7f80},     {FLT_MAX, 0x7c00, 0x7f80}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_int_equal(f16_narrow(cases[i].value), cases[i].f16);
        assert_int_equal(bf16_narrow(cases[i].value), cases[i].bf16);
    }
}

// A payload that is all in the bits that are cut must not turn a NaN into infinity, nor a full one into zero.
static void test_a_nan_stays_a_nan_whatever_its_payload(void **state)
{
    static const uint32_t nans[] = {0x7f800001, 0xff800001, 0x7fc00000, 0x7fffffff, 0xffffffff, 0x7f80ffff, 0x7fbfffff};
    for (size_t i = 0; i < sizeof nans / sizeof *nans; i++) {
        const uint16_t a = f16_narrow(float_of(nans[i])), b = bf16_narrow(float_of(nans[i]));
        assert_true(is_nan16(&f16, a) && is_nan16(&bf16, b));
        assert_int_equal(a >> 15, nans[i] >> 31);
        assert_int_equal(b >> 15, nans[i] >> 31);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_half_is_widened_to_its_value),
        cmocka_unit_test(test_floats_are_narrowed_to_the_nearest_half),
        cmocka_unit_test(test_halves_have_their_well_known_patterns),
        cmocka_unit_test(test_a_nan_stays_a_nan_whatever_its_payload),
    };
    return cmocka_run_group_tests(tests, fill_formats, NULL);
}
