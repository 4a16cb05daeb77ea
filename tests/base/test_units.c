// SPDX-License-Identifier: MIT
// Numbers with units: what is read and as what, what is refused and touches nothing, and how values are written.

#include "tests/fixtures/capture.h"

#include <limits.h>
#include <math.h>

#include "core/base/err.h"
#include "core/base/units.h"

#define COUNT(array) (sizeof(array) / sizeof *(array))

static void test_sizes_are_read_with_binary_and_decimal_units(void **state)
{
    static const struct {
        const char *text;
        size_t bytes;
    } cases[] = {
        {"0", 0},           {"8", 8},           {"8B", 8},          {"64K", 65536},        {"64k", 65536},
        {"1M", 1048576},    {"1m", 1048576},    {"1G", 1073741824}, {"3KiB", 3072},        {"2MiB", 2097152},
        {"4GiB", 4294967296}, {"5KB", 5000},    {"7MB", 7000000},   {"9GB", 9000000000},   {"007", 7},
        {"18446744073709551615", SIZE_MAX},     {"17179869183G", 18446744072635809792u},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        size_t bytes = 1;
        assert_int_equal(clab_parse_size(cases[i].text, &bytes), CLAB_OK);
        assert_int_equal(bytes, cases[i].bytes);
    }
}

static void test_malformed_sizes_are_refused_and_touch_nothing(void **state)
{
    static const char *const texts[] = {"",    " ",    "8x",   "-1",  "+1",   "K",    " 8",  "8 ",  "8 K",  "1.5K",
                                        "1e3",
                                        "0x8", "8KK",  "8Kb",  "8Gb", "64KIB", "1T ", "nan", "inf", "8\n",
                                        "18446744073709551616", "17179869184G", "99999999999999999999999999"};
    for (size_t i = 0; i < COUNT(texts); i++) {
        size_t bytes = 12345;
        if (clab_parse_size(texts[i], &bytes) != CLAB_EPARSE || bytes != 12345)
            fail_msg("\"%s\" was read as %zu", texts[i], bytes);
    }
}

static void test_integers_are_read_within_their_range(void **state)
{
    int value = 0;
    assert_int_equal(clab_parse_int("64", 1, 64, &value), CLAB_OK);
    assert_int_equal(value, 64);
    assert_int_equal(clab_parse_int("-5", -5, 5, &value), CLAB_OK);
    assert_int_equal(value, -5);
    assert_int_equal(clab_parse_int("-2147483648", INT_MIN, INT_MAX, &value), CLAB_OK);
    assert_int_equal(value, INT_MIN);
}

static void test_other_integers_are_refused_and_touch_nothing(void **state)
{
    static const char *const texts[] = {"", "-", "65", "0", "-1", "+1", " 1", "1 ", "1.0", "1e1", "0x1", "one", "--1",
                                        "4294967297", "99999999999999999999"};
    for (size_t i = 0; i < COUNT(texts); i++) {
        int value = 12345;
        if (clab_parse_int(texts[i], 1, 64, &value) != CLAB_EPARSE || value != 12345)
            fail_msg("\"%s\" was read as %d", texts[i], value);
    }
}

static void test_durations_are_read_to_the_nearest_double(void **state)
{
    static const struct {
        const char *text;
        double seconds;
    } cases[] = {{"0s", 0},        {"30s", 30},      {"1.5us", 1.5e-6}, {"250ns", 250e-9}, {"0.3ms", 0.3e-3},
                 {".5s", 0.5},     {"1e3us", 1e-3},  {"1e-9s", 1e-9},   {"7ns", 7e-9},     {"5.s", 5}};
    for (size_t i = 0; i < COUNT(cases); i++) {
        double seconds = -1;
        assert_int_equal(clab_parse_seconds(cases[i].text, &seconds), CLAB_OK);
        if (seconds != cases[i].seconds)
            fail_msg("\"%s\" was read as %.17g", cases[i].text, seconds);
    }
}

static void test_durations_without_unit_or_sense_are_refused(void **state)
{
    static const char *const texts[] = {"", "1", "s", "us", "-1s", "+1s", "1 s", " 1s", "1s ", "1m", "1min", "1S",
                                        "1US", "nans",
                                        "infs", "0x1s", "1e999s", "1..5s", "1.2.3s", ".s", "1us1us", "1e", "1e5"};
    for (size_t i = 0; i < COUNT(texts); i++) {
        double seconds = 12345;
        if (clab_parse_seconds(texts[i], &seconds) != CLAB_EPARSE || seconds != 12345)
            fail_msg("\"%s\" was read as %g", texts[i], seconds);
    }
}

static void test_durations_beyond_their_range_are_refused(void **state)
{
    static const char *const texts[] = {"1e300s", "60.001s", "999ms", "0s", "1", ""};
    double seconds = 12345;
    for (size_t i = 0; i < COUNT(texts); i++)
        if (clab_parse_seconds_within(texts[i], 1, 60, &seconds) != CLAB_EPARSE || seconds != 12345)
            fail_msg("\"%s\" was read as %g", texts[i], seconds);
    assert_int_equal(clab_parse_seconds_within("1s", 1, 60, &seconds), CLAB_OK);
    assert_true(seconds == 1);
    assert_int_equal(clab_parse_seconds_within("60000ms", 1, 60, &seconds), CLAB_OK);
    assert_true(seconds == 60);
}

static void test_numbers_have_no_sign_and_no_unit(void **state)
{
    static const char *const texts[] = {"", "-1", "+1", " 1", "1 ", "1s", "1%", "0x1", "nan", "inf", "1e999", "1..5"};
    double number;
    assert_int_equal(clab_parse_number("12.5e-1", &number), CLAB_OK);
    assert_true(number == 1.25);
    for (size_t i = 0; i < COUNT(texts); i++)
        if (clab_parse_number(texts[i], &number) != CLAB_EPARSE || number != 1.25)
            fail_msg("\"%s\" was read as %g", texts[i], number);
}

static void test_rates_are_read_as_seconds_a_byte(void **state)
{
    static const struct {
        const char *text;
        double seconds;
    } cases[] = {{"1ns/B", 1e-9},  {"20ps/B", 20e-12}, {"2us/B", 2e-6},     {"0.5s/B", 0.5},      {"0s/B", 0},
                 {"1GB/s", 1e-9},  {"1Gb/s", 8e-9},    {"8Gb/s", 1e-9},     {"100Gb/s", 8e-11},   {"2MB/s", 5e-7},
                 {"8Mb/s", 1e-6},  {"4B/s", 0.25},     {"1.6Tb/s", 5e-12},  {"1TB/s", 1e-12},     {"1e2MB/s", 1e-8},
                 {"10Gbps", 8e-10}, {"10Gbit/s", 8e-10}, {"1GBps", 1e-9},   {"8kbps", 1e-3},      {"1KiB/s", 0x1p-10},
                 {"1s/GB", 1e-9},   {"2µs/B", 2e-6},   {"1Mbit/s", 8e-6},   {"100Kb/s", 8e-5},    {"8b/s", 1}};
    for (size_t i = 0; i < COUNT(cases); i++) {
        double seconds = -1;
        assert_int_equal(clab_parse_seconds_per_byte(cases[i].text, &seconds), CLAB_OK);
        const double error = seconds - cases[i].seconds;
        if (error > 1e-15 * seconds || -error > 1e-15 * seconds)
            fail_msg("\"%s\" was read as %.17g", cases[i].text, seconds);
    }
}

static void test_rates_without_unit_or_sense_are_refused(void **state)
{
    static const char *const texts[] = {"",      "1",     "10GB", "10G",    "GB/s",  "0GB/s",  "0Gb/s", "-1GB/s",
                                        "1 GB/s", "1GB/S",
                                        "1gb/s", "1GB/s ", "1s",  "1B/ns",  "1/s",   "1e999GB/s", "1e999s/B", "infGB/s",
                                        "1gbps", "1GB/ps", "1GBit/s"};
    for (size_t i = 0; i < COUNT(texts); i++) {
        double seconds = 12345;
        if (clab_parse_seconds_per_byte(texts[i], &seconds) != CLAB_EPARSE || seconds != 12345)
            fail_msg("\"%s\" was read as %g", texts[i], seconds);
    }
}

static void test_rates_of_arithmetic_are_read_with_their_unit(void **state)
{
    static const struct {
        const char *text;
        double flops;
    } cases[] = {{"1flop/s", 1},          {"2.5Mflop/s", 2.5e6}, {"96Gflop/s", 96e9}, {"494.5Tflop/s", 4945e11},
                 {"1.25Pflop/s", 125e13}, {"1e3Gflop/s", 1e12}};
    static const char *const refused[] = {
        "",        "1",        "1Tflop",       "1Tflops",      "0Tflop/s", "-1Tflop/s", "1 Tflop/s",
        "Tflop/s", "1TFLOP/s", "1e999Tflop/s", "1e300Pflop/s", "1GB/s",    "1Tflop/s ", "1e-320flop/s"};
    double flops;
    for (size_t i = 0; i < COUNT(cases); i++) {
        assert_int_equal(clab_parse_flops(cases[i].text, &flops), CLAB_OK);
        if (fabs(flops - cases[i].flops) > 1e-15 * flops)
            fail_msg("\"%s\" was read as %.17g", cases[i].text, flops);
    }
    flops = 12345;
    for (size_t i = 0; i < COUNT(refused); i++)
        if (clab_parse_flops(refused[i], &flops) != CLAB_EPARSE || flops != 12345)
            fail_msg("\"%s\" was read as %g", refused[i], flops);
}

static void test_sizes_are_written_for_people(void **state)
{
    char text[CLAB_TEXT];
    assert_string_equal(clab_size_text(0, text), "0 B");
    assert_string_equal(clab_size_text(1000, text), "1000 B");
    assert_string_equal(clab_size_text(1024, text), "1 KiB");
    assert_string_equal(clab_size_text(1536, text), "1.5 KiB");
    assert_string_equal(clab_size_text(65536, text), "64 KiB");
    assert_string_equal(clab_size_text((size_t)3 << 30, text), "3 GiB");
    assert_string_equal(clab_size_text(8191, text), "8191 B");
    assert_string_equal(clab_size_text(8193, text), "8193 B");
    assert_string_equal(clab_size_text(8190, text), "8190 B");
    assert_string_equal(clab_size_text(100000, text), "100 kB");
    assert_string_equal(clab_size_text(1024000, text), "1000 KiB");
    assert_string_equal(clab_size_text(100000000, text), "100 MB");
    assert_string_equal(clab_size_text(1500000, text), "1.5 MB");
    assert_string_equal(clab_size_text((1 << 20) - 1, text), "1048575 B");
    assert_string_equal(clab_size_text(123456789, text), "117.7 MiB");
    assert_string_equal(clab_size_text((size_t)1 << 62, text), "4194304 TiB");
}

static void test_durations_and_rates_are_written_for_people(void **state)
{
    char text[CLAB_TEXT];
    assert_string_equal(clab_seconds_text(0, text), "0 s");
    assert_string_equal(clab_seconds_text(1.5e-6, text), "1.5 us");
    assert_string_equal(clab_seconds_text(250e-9, text), "250 ns");
    assert_string_equal(clab_seconds_text(2.5e-12, text), "0.0025 ns");
    assert_string_equal(clab_seconds_text(12.345e-3, text), "12.35 ms");
    assert_string_equal(clab_seconds_text(61.25, text), "61.25 s");
    assert_string_equal(clab_seconds_text(12345, text), "12345 s");
    assert_string_equal(clab_seconds_text(-3e-6, text), "-3 us");
    assert_string_equal(clab_rate_text(12.3e9, text), "12.3 GB/s");
    assert_string_equal(clab_rate_text(999e6, text), "999 MB/s");
    assert_string_equal(clab_rate_text(3.35e12, text), "3.35 TB/s");
    assert_string_equal(clab_rate_text(0, text), "0 B/s");
}

static void test_text_of_any_value_fits_its_buffer(void **state)
{
    static const double values[] = {1.7976931348623157e308, -1.7976931348623157e308, 4.9e-324, 123456.789e-9};
    char text[CLAB_TEXT + 1];
    for (size_t i = 0; i < COUNT(values); i++) {
        memset(text, '#', sizeof text);
        assert_non_null(memchr(clab_seconds_text(values[i], text), 's', CLAB_TEXT));
        assert_non_null(memchr(clab_rate_text(values[i], text), '/', CLAB_TEXT));
        assert_int_equal(text[CLAB_TEXT], '#');
    }
    assert_non_null(memchr(clab_size_text(SIZE_MAX, text), 'T', CLAB_TEXT));
}

static double converted(double value, const char *from, const char *to)
{
    const struct clab_unit *a = clab_unit_find(from), *b = clab_unit_find(to);
    assert_non_null(a);
    assert_non_null(b);
    return clab_unit_converts(a, b) ? clab_unit_convert(value, a, b) : -1;
}

static void test_units_convert_within_their_dimension(void **state)
{
    assert_true(converted(1.5, "us", "s") == 1.5e-6);
    assert_true(fabs(converted(2, "ms", "µs") - 2000) < 1e-9);
    assert_true(converted(3, "MiB", "KiB") == 3072);
    assert_true(converted(6, "MB", "kB") == 6000);
    assert_true(converted(7, "pairs", "1") == 7 && converted(7, "", "iterations") == 7);
    assert_true(fabs(converted(0.5, "s/GB", "GB/s") - 2) < 1e-12); // the other way up
    assert_true(fabs(converted(8, "Gb/s", "ns/B") - 1) < 1e-12);
    assert_true(converted(1, "us", "B") == -1 && converted(1, "%", "1") == -1);
    assert_null(clab_unit_find("K"));
    assert_null(clab_unit_find("usec"));
    assert_string_equal(clab_dimension_units(CLAB_DIMENSION_TIME), "ns, us, ms or s");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sizes_are_read_with_binary_and_decimal_units),
        cmocka_unit_test(test_malformed_sizes_are_refused_and_touch_nothing),
        cmocka_unit_test(test_integers_are_read_within_their_range),
        cmocka_unit_test(test_other_integers_are_refused_and_touch_nothing),
        cmocka_unit_test(test_durations_are_read_to_the_nearest_double),
        cmocka_unit_test(test_durations_without_unit_or_sense_are_refused),
        cmocka_unit_test(test_durations_beyond_their_range_are_refused),
        cmocka_unit_test(test_numbers_have_no_sign_and_no_unit),
        cmocka_unit_test(test_rates_are_read_as_seconds_a_byte),
        cmocka_unit_test(test_rates_without_unit_or_sense_are_refused),
        cmocka_unit_test(test_rates_of_arithmetic_are_read_with_their_unit),
        cmocka_unit_test(test_sizes_are_written_for_people),
        cmocka_unit_test(test_durations_and_rates_are_written_for_people),
        cmocka_unit_test(test_text_of_any_value_fits_its_buffer),
        cmocka_unit_test(test_units_convert_within_their_dimension),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
