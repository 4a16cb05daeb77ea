// SPDX-License-Identifier: MIT
// Numbers with units, read and written (units.h). The decimal sign is a point in every locale.

#include "core/base/units.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/err.h"

// ---- read ----------------------------------------------------------------------------------------------------

struct size_unit {
    const char *name;
    size_t bytes;
};

static const struct size_unit size_units[] = {
    {"", 1},
    {"B", 1},
    {"K", (size_t)1 << 10},
    {"k", (size_t)1 << 10},
    {"KiB", (size_t)1 << 10},
    {"KB", 1000},
    {"M", (size_t)1 << 20},
    {"m", (size_t)1 << 20},
    {"MiB", (size_t)1 << 20},
    {"MB", 1000 * 1000},
    {"G", (size_t)1 << 30},
    {"g", (size_t)1 << 30},
    {"GiB", (size_t)1 << 30},
    {"GB", 1000 * 1000 * 1000},
};

static size_t size_unit_bytes(const char *name)
{
    for (size_t i = 0; i < sizeof size_units / sizeof *size_units; i++)
        if (strcmp(name, size_units[i].name) == 0)
            return size_units[i].bytes;
    return 0;
}

int clab_parse_size(const char *text, size_t *bytes_p)
{
    if (!isdigit((unsigned char)*text))
        return CLAB_EPARSE;
    char *end;
    errno = 0;
    uintmax_t number = strtoumax(text, &end, 10);
    size_t bytes, unit = size_unit_bytes(end);
    if (errno || unit == 0 || __builtin_mul_overflow(number, unit, &bytes))
        return CLAB_EPARSE;
    *bytes_p = bytes;
    return CLAB_OK;
}

int clab_parse_int(const char *text, int low, int high, int *value_p)
{
    if (!isdigit((unsigned char)text[*text == '-']))
        return CLAB_EPARSE;
    char *end;
    errno = 0;
    long value = strtol(text, &end, 10);
    if (errno || *end || value < low || value > high)
        return CLAB_EPARSE;
    *value_p = (int)value;
    return CLAB_OK;
}

// A number without sign, as 12, 1.5, 2e-6, at the start of `text`; no hexadecimal, infinity or blank, which strtod
// takes.
static int parse_number(const char *text, double *number_p, const char **rest_p)
{
    size_t digits = strspn(text, "0123456789.");
    if (digits == 0 || text[digits] == 'x' || text[digits] == 'X')
        return CLAB_EPARSE;
    char *end;
    double number = strtod(text, &end);
    if (end < text + digits || !isfinite(number))
        return CLAB_EPARSE;
    *number_p = number;
    *rest_p = end;
    return CLAB_OK;
}

int clab_parse_number(const char *text, double *number_p)
{
    double number;
    const char *rest;
    CLAB_TRY(parse_number(text, &number, &rest));
    if (*rest)
        return CLAB_EPARSE;
    *number_p = number;
    return CLAB_OK;
}

struct unit {
    const char *name;
    double factor;
};

// The factor of `name`, 0 if it is none of the `n`.
static double unit_factor(const struct unit *units, size_t n, const char *name)
{
    for (size_t i = 0; i < n; i++)
        if (strcmp(name, units[i].name) == 0)
            return units[i].factor;
    return 0;
}

#define COUNT(array) (sizeof(array) / sizeof *(array))

int clab_parse_seconds(const char *text, double *seconds_p)
{
    static const struct unit units[] = {{"ns", 1e9}, {"us", 1e6}, {"ms", 1e3}, {"s", 1}}; // a second is so many
    double number;
    const char *rest;
    CLAB_TRY(parse_number(text, &number, &rest));
    double factor = unit_factor(units, COUNT(units), rest);
    if (factor == 0)
        return CLAB_EPARSE;
    *seconds_p = number / factor; // 1e9 is exact, 1e-9 is not: "1.5us" is the double 1.5e-6
    return CLAB_OK;
}

int clab_parse_seconds_within(const char *text, double low, double high, double *seconds_p)
{
    double seconds;
    CLAB_TRY(clab_parse_seconds(text, &seconds));
    if (seconds < low || seconds > high)
        return CLAB_EPARSE;
    *seconds_p = seconds;
    return CLAB_OK;
}

int clab_parse_seconds_per_byte(const char *text, double *seconds_p)
{
    double number;
    const char *rest;
    CLAB_TRY(parse_number(text, &number, &rest));
    const struct clab_unit *unit = clab_unit_find(rest);
    if (!unit || (unit->dimension != CLAB_DIMENSION_COST && unit->dimension != CLAB_DIMENSION_RATE))
        return CLAB_EPARSE;
    const double seconds = unit->dimension == CLAB_DIMENSION_RATE
                               ? 1 / (number * unit->factor)
                               : number / round(1 / unit->factor); // 1e9 is exact, 1e-9 is not
    if (!isfinite(seconds))
        return CLAB_EPARSE;
    *seconds_p = seconds;
    return CLAB_OK;
}

int clab_parse_flops(const char *text, double *flops_p)
{
    static const struct unit units[] = {
        {"flop/s", 1}, {"Mflop/s", 1e6}, {"Gflop/s", 1e9}, {"Tflop/s", 1e12}, {"Pflop/s", 1e15}};
    double number;
    const char *rest;
    CLAB_TRY(parse_number(text, &number, &rest));
    double flops = number * unit_factor(units, COUNT(units), rest);
    if (!(flops > 0) || !isfinite(flops) || !isfinite(1 / flops))
        return CLAB_EPARSE;
    *flops_p = flops;
    return CLAB_OK;
}

// ---- units by name -------------------------------------------------------------------------------------------

#define BYTES_PER_SECOND(prefix, factor)          \
    {prefix "B/s", CLAB_DIMENSION_RATE, factor},  \
    {                                             \
        prefix "Bps", CLAB_DIMENSION_RATE, factor \
    }
#define BITS_PER_SECOND(prefix, factor)                                                                         \
    {prefix "b/s", CLAB_DIMENSION_RATE, (factor) / 8.0}, {prefix "bit/s", CLAB_DIMENSION_RATE, (factor) / 8.0}, \
    {                                                                                                           \
        prefix "bps", CLAB_DIMENSION_RATE, (factor) / 8                                                         \
    }
static const struct clab_unit named_units[] = {
    {"", CLAB_DIMENSION_COUNT, 1},
    {"1", CLAB_DIMENSION_COUNT, 1},
    {"pairs", CLAB_DIMENSION_COUNT, 1},
    {"rank", CLAB_DIMENSION_COUNT, 1},
    {"iterations", CLAB_DIMENSION_COUNT, 1},
    {"messages", CLAB_DIMENSION_COUNT, 1},
    {"steps", CLAB_DIMENSION_COUNT, 1},
    {"ns", CLAB_DIMENSION_TIME, 1e-9},
    {"us", CLAB_DIMENSION_TIME, 1e-6},
    {"µs", CLAB_DIMENSION_TIME, 1e-6},
    {"ms", CLAB_DIMENSION_TIME, 1e-3},
    {"s", CLAB_DIMENSION_TIME, 1},
    {"B", CLAB_DIMENSION_BYTES, 1},
    {"kB", CLAB_DIMENSION_BYTES, 1e3},
    {"KB", CLAB_DIMENSION_BYTES, 1e3},
    {"MB", CLAB_DIMENSION_BYTES, 1e6},
    {"GB", CLAB_DIMENSION_BYTES, 1e9},
    {"KiB", CLAB_DIMENSION_BYTES, 0x1p10},
    {"MiB", CLAB_DIMENSION_BYTES, 0x1p20},
    {"GiB", CLAB_DIMENSION_BYTES, 0x1p30},
    {"%", CLAB_DIMENSION_PERCENT, 1},
    {"s/B", CLAB_DIMENSION_COST, 1},
    {"us/B", CLAB_DIMENSION_COST, 1e-6},
    {"µs/B", CLAB_DIMENSION_COST, 1e-6},
    {"ns/B", CLAB_DIMENSION_COST, 1e-9},
    {"ps/B", CLAB_DIMENSION_COST, 1e-12},
    {"s/GB", CLAB_DIMENSION_COST, 1e-9},
    BYTES_PER_SECOND("", 1),
    BYTES_PER_SECOND("k", 1e3),
    BYTES_PER_SECOND("K", 1e3),
    BYTES_PER_SECOND("M", 1e6),
    BYTES_PER_SECOND("G", 1e9),
    BYTES_PER_SECOND("T", 1e12),
    BYTES_PER_SECOND("Ki", 0x1p10),
    BYTES_PER_SECOND("Mi", 0x1p20),
    BYTES_PER_SECOND("Gi", 0x1p30),
    BITS_PER_SECOND("", 1),
    BITS_PER_SECOND("k", 1e3),
    BITS_PER_SECOND("K", 1e3),
    BITS_PER_SECOND("M", 1e6),
    BITS_PER_SECOND("G", 1e9),
    BITS_PER_SECOND("T", 1e12),
};

const struct clab_unit *clab_unit_find(const char *name)
{
    for (size_t i = 0; i < COUNT(named_units); i++)
        if (strcmp(name, named_units[i].name) == 0)
            return &named_units[i];
    return NULL;
}

const char *clab_dimension_units(enum clab_dimension dimension)
{
    static const char *const usual[CLAB_DIMENSIONS] = {
        [CLAB_DIMENSION_COUNT] = "no unit",
        [CLAB_DIMENSION_TIME] = "ns, us, ms or s",
        [CLAB_DIMENSION_BYTES] = "B, KiB, MiB, kB or MB",
        [CLAB_DIMENSION_PERCENT] = "%",
        [CLAB_DIMENSION_COST] = "s/GB, ns/B or GB/s",
        [CLAB_DIMENSION_RATE] = "GB/s, MB/s or s/GB",
    };
    return usual[dimension];
}

static bool are_reciprocal(const struct clab_unit *a, const struct clab_unit *b)
{
    return (a->dimension == CLAB_DIMENSION_COST && b->dimension == CLAB_DIMENSION_RATE) ||
           (a->dimension == CLAB_DIMENSION_RATE && b->dimension == CLAB_DIMENSION_COST);
}

bool clab_unit_converts(const struct clab_unit *from, const struct clab_unit *to)
{
    return from->dimension == to->dimension || are_reciprocal(from, to);
}

// A quotient of factors first: powers of ten that divide exactly give exact results.
double clab_unit_convert(double value, const struct clab_unit *from, const struct clab_unit *to)
{
    if (are_reciprocal(from, to))
        return 1 / (value * from->factor) / to->factor;
    return from->factor < to->factor ? value / (to->factor / from->factor) : value * (from->factor / to->factor);
}

// ---- written -------------------------------------------------------------------------------------------------

// `value` in the largest of `n` ascending units that it fills, or in the first: four digits.
static const char *scaled(double value, const struct unit *units, size_t n, char out[CLAB_TEXT])
{
    size_t i = 0;
    while (i + 1 < n && fabs(value) >= units[i + 1].factor)
        i++;
    double number = value / units[i].factor;
    snprintf(out, CLAB_TEXT, fabs(number) < 1024 ? "%.4g %s" : "%.7g %s", number, units[i].name);
    return out;
}

// Whether so many digits of the largest unit that `bytes` fills say it exactly; then it is written.
static bool is_said(double bytes, const struct unit *units, size_t n, const char *digits, char out[CLAB_TEXT])
{
    size_t i = 0;
    while (i + 1 < n && bytes >= units[i + 1].factor)
        i++;
    snprintf(out, CLAB_TEXT, digits, bytes / units[i].factor);
    if (strtod(out, NULL) * units[i].factor != bytes)
        return false;
    snprintf(out, CLAB_TEXT, "%.7g %s", bytes / units[i].factor, units[i].name);
    return true;
}

const char *clab_size_text(size_t bytes, char out[CLAB_TEXT])
{
    static const struct unit units[] = {{"B", 1}, {"KiB", 0x1p10}, {"MiB", 0x1p20}, {"GiB", 0x1p30}, {"TiB", 0x1p40}};
    static const struct unit tens[] = {{"B", 1}, {"kB", 1e3}, {"MB", 1e6}, {"GB", 1e9}, {"TB", 1e12}};
    const double value = (double)bytes;
    if (is_said(value, units, COUNT(units), "%.4g", out) || is_said(value, tens, COUNT(tens), "%.1f", out))
        return out;
    if (bytes < (size_t)1 << 20)
        snprintf(out, CLAB_TEXT, "%zu B", bytes);
    else
        scaled(value, units, COUNT(units), out);
    return out;
}

const char *clab_minutes_text(double seconds, char out[CLAB_TEXT])
{
    const long whole = (long)ceil(fmin(fmax(0, seconds), 1e9));
    if (whole < 100)
        snprintf(out, CLAB_TEXT, "%ld s", whole);
    else if (whole % 60)
        snprintf(out, CLAB_TEXT, "%ld min %ld s", whole / 60, whole % 60);
    else
        snprintf(out, CLAB_TEXT, "%ld min", whole / 60);
    return out;
}

const char *clab_seconds_text(double seconds, char out[CLAB_TEXT])
{
    static const struct unit units[] = {{"ns", 1e-9}, {"us", 1e-6}, {"ms", 1e-3}, {"s", 1}};
    return seconds == 0 ? strcpy(out, "0 s") : scaled(seconds, units, COUNT(units), out);
}

const char *clab_rate_text(double bytes_per_second, char out[CLAB_TEXT])
{
    static const struct unit units[] = {{"B/s", 1}, {"KB/s", 1e3}, {"MB/s", 1e6}, {"GB/s", 1e9}, {"TB/s", 1e12}};
    return scaled(bytes_per_second, units, COUNT(units), out);
}
