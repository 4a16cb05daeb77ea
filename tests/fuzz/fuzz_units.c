// SPDX-License-Identifier: MIT
// base/units.h, against readers that are written down once more, plainly: what is accepted, and what it is worth.

#include "tests/fuzz/fuzz.h"

#include <math.h>

#include "core/base/err.h"
#include "core/base/units.h"

typedef unsigned __int128 wide;

struct unit {
    const char *name;
    double factor;
};

// The number of digits at the start of `text`.
static size_t digits(const char *text)
{
    return strspn(text, "0123456789");
}

// The whole number of the first `n` digits; as large as it gets where it is larger than 64 bits.
static wide whole(const char *text, size_t n)
{
    wide value = 0;
    for (size_t i = 0; i < n && value <= UINT64_MAX; i++)
        value = 10 * value + (wide)(text[i] - '0');
    return value;
}

static double factor_of(const char *name, const struct unit *units)
{
    while (units->name && strcmp(units->name, name))
        units++;
    return units->name ? units->factor : 0;
}

// ---- whole numbers -------------------------------------------------------------------------------------------

static void check_size(const char *text)
{
    static const struct unit units[] = {{"", 1},       {"B", 1},      {"K", 0x1p10},   {"k", 0x1p10},   {"KiB", 0x1p10},
                                        {"KB", 1e3},   {"M", 0x1p20}, {"m", 0x1p20},   {"MiB", 0x1p20}, {"MB", 1e6},
                                        {"G", 0x1p30}, {"g", 0x1p30}, {"GiB", 0x1p30}, {"GB", 1e9},     {0}};
    const size_t n = digits(text);
    const wide unit = n ? (wide)factor_of(text + n, units) : 0, number = whole(text, n);
    const bool good = unit && number <= SIZE_MAX && number * unit <= SIZE_MAX;
    size_t bytes = 12345;
    must_hold(clab_parse_size(text, &bytes) == (good ? CLAB_OK : CLAB_EPARSE));
    must_hold(bytes == (good ? (size_t)(number * unit) : 12345));
}

static void check_int(const char *text, int low, int high)
{
    const bool negative = *text == '-';
    const size_t n = digits(text + negative);
    const wide number = whole(text + negative, n);
    const long value = number > INT64_MAX ? INT64_MAX : negative ? -(long)number : (long)number;
    const bool good = n && !text[negative + n] && number <= INT64_MAX && value >= low && value <= high;
    int read = 12345;
    must_hold(clab_parse_int(text, low, high, &read) == (good ? CLAB_OK : CLAB_EPARSE));
    must_hold(read == (good ? value : 12345));
}

// ---- numbers with units --------------------------------------------------------------------------------------

// The length of a number as 12, 1.5, .5, 2e-6 at the start of `text`; 0: there is none. A point too many is no number.
static size_t number_length(const char *text)
{
    const size_t front = digits(text), point = text[front] == '.', back = point ? digits(text + front + 1) : 0;
    size_t n = front + point + back;
    if (front + back == 0 || text[n] == '.')
        return 0;
    if (text[n] == 'e' || text[n] == 'E') {
        const size_t sign = text[n + 1] == '-' || text[n + 1] == '+', power = digits(text + n + 1 + sign);
        n += power ? 1 + sign + power : 0;
    }
    return n;
}

static bool same(double a, long double b)
{
    return fabsl(a - b) <= 1e-15L * fabsl(b) + (long double)4.95e-324;
}

static void check_seconds(const char *text)
{
    static const struct unit units[] = {{"ns", 1e9}, {"us", 1e6}, {"ms", 1e3}, {"s", 1}, {0}};
    const size_t n = number_length(text);
    const double factor = n ? factor_of(text + n, units) : 0;
    const double number = n ? strtod(text, NULL) : 0;
    const bool good = factor > 0 && isfinite(number);
    double seconds = 12345;
    must_hold(clab_parse_seconds(text, &seconds) == (good ? CLAB_OK : CLAB_EPARSE));
    must_hold(good ? same(seconds, (long double)number / (long double)factor) : seconds == 12345);
}

// Of a rate such as Gb/s, GiB/s or Gbps, in bytes per second; 0: it is none.
static double rate_of(const char *unit)
{
    static const struct unit prefixes[] = {{"", 1},     {"k", 1e3},     {"K", 1e3},     {"M", 1e6},     {"G", 1e9},
                                           {"T", 1e12}, {"Ki", 0x1p10}, {"Mi", 0x1p20}, {"Gi", 0x1p30}, {0}};
    static const struct unit bytes[] = {{"B/s", 1}, {"Bps", 1}, {0}};
    static const struct unit bits[] = {{"b/s", 1. / 8}, {"bit/s", 1. / 8}, {"bps", 1. / 8}, {0}};
    for (const struct unit *p = prefixes; p->name; p++) {
        const size_t n = strlen(p->name);
        const double of_bytes = strncmp(unit, p->name, n) ? 0 : factor_of(unit + n, bytes);
        const double of_bits = strncmp(unit, p->name, n) || p->name[n > 0] == 'i' ? 0 : factor_of(unit + n, bits);
        if (of_bytes + of_bits > 0)
            return p->factor * (of_bytes + of_bits);
    }
    return 0;
}

static void check_seconds_per_byte(const char *text)
{
    static const struct unit times[] = {
        {"s/B", 1}, {"us/B", 1e6}, {"µs/B", 1e6}, {"ns/B", 1e9}, {"ps/B", 1e12}, {"s/GB", 1e9}, {0}};
    const size_t n = number_length(text);
    const double time = n ? factor_of(text + n, times) : 0, rate = n ? rate_of(text + n) : 0;
    double seconds = 12345;
    const int err = clab_parse_seconds_per_byte(text, &seconds);
    must_hold(err == CLAB_OK || seconds == 12345);
    if (err == CLAB_OK)
        must_hold((time > 0 || rate > 0) && isfinite(seconds) && seconds >= 0);
    const double number = n ? strtod(text, NULL) : 0;
    if (number < 1e-200 || number > 1e200 || (time == 0 && rate == 0))
        return; // where a double ends, the two need not agree
    must_hold(err == CLAB_OK);
    must_hold(same(seconds,
                   time > 0 ? (long double)number / (long double)time : 1 / ((long double)number * (long double)rate)));
}

// ---- what is written is read ---------------------------------------------------------------------------------

static const char *without_space(const char *text, char out[CLAB_TEXT])
{
    size_t n = 0;
    must_hold(strlen(text) < CLAB_TEXT);
    for (; *text; text++)
        if (*text != ' ')
            out[n++] = *text;
    out[n] = '\0';
    return out;
}

static void check_written(size_t bytes)
{
    char text[CLAB_TEXT], packed[CLAB_TEXT], plain[32];
    const double seconds = (double)bytes * 1e-12, rate = (double)bytes;
    double read;
    size_t size;
    snprintf(plain, sizeof plain, "%zuB", bytes);
    must_hold(clab_parse_size(plain, &size) == CLAB_OK && size == bytes);
    must_hold(clab_parse_seconds(without_space(clab_seconds_text(seconds, text), packed), &read) == CLAB_OK);
    must_hold(fabs(read - seconds) <= 5.1e-4 * seconds);
    must_hold(bytes == 0 ||
              clab_parse_seconds_per_byte(without_space(clab_rate_text(rate, text), packed), &read) == CLAB_OK);
    must_hold(bytes == 0 || fabs(1 / read - rate) <= 5.1e-4 * rate);
    without_space(clab_size_text(bytes, text), packed);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = fuzz_text(data, size);
    size_t bytes = 0;
    memcpy(&bytes, data, size < sizeof bytes ? size : sizeof bytes);
    check_size(text);
    check_int(text, 1, 1 << 30);
    check_int(text, INT32_MIN, INT32_MAX);
    check_int(text, -5, 5);
    check_seconds(text);
    check_seconds_per_byte(text);
    check_written(bytes);
    check_written(bytes >> (bytes & 63));
    free(text);
    return 0;
}
