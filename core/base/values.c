// SPDX-License-Identifier: MIT
// Values that a user gives (values.h).

#include "core/base/values.h"

#include <errno.h>
#include <float.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/err.h"
#include "core/base/log.h"
#include "core/base/units.h"

int clab_refuse(const char *flag, const char *text, const char *expected)
{
    clab_error("%s '%s' is not %s", flag, text, expected);
    return CLAB_EINVAL;
}

__attribute__((format(printf, 3, 4))) static int refuse(const char *flag, const char *text, const char *format, ...)
{
    char expected[128];
    va_list values;
    va_start(values, format);
    vsnprintf(expected, sizeof expected, format, values);
    va_end(values);
    return clab_refuse(flag, text, expected);
}

int clab_take_int(const char *flag, const char *text, int low, int high, int *value_p)
{
    return clab_parse_int(text, low, high, value_p) ? refuse(flag, text, "a number from %d to %d", low, high) : CLAB_OK;
}

int clab_take_size(const char *flag, const char *text, size_t low, size_t *bytes_p)
{
    size_t bytes;
    if (clab_parse_size(text, &bytes) == CLAB_OK && bytes >= low) {
        *bytes_p = bytes;
        return CLAB_OK;
    }
    if (low <= 1)
        return refuse(flag, text, "a size%s, such as 8, 64K or 1M", low ? " above 0" : "");
    return refuse(flag, text, "a size of %zu%s or more, such as 64M", low % 1024 ? low : low / 1024,
                  low % 1024 ? " bytes" : "K");
}

static bool is_nothing(const char *text)
{
    return !strcmp(text, "0");
}

int clab_take_seconds(const char *flag, const char *text, double low, double high, double *seconds_p)
{
    if (low <= 0 && is_nothing(text))
        *seconds_p = 0;
    else if (clab_parse_seconds_within(text, low, high, seconds_p) != CLAB_OK)
        return low > 0 && low <= DBL_MIN
                   ? refuse(flag, text, "a time above 0 and up to %gs with its unit, such as 120ms", high)
                   : refuse(flag, text, "a time from %gs to %gs with its unit, such as 50ms", low, high);
    return CLAB_OK;
}

int clab_take_bare_seconds(const char *flag, const char *text, double high, double *seconds_p)
{
    double seconds;
    if ((clab_parse_seconds(text, &seconds) && clab_parse_number(text, &seconds)) || seconds > high)
        return refuse(flag, text, "a time from 0 to %gs, such as 0.3 or 50ms", high);
    *seconds_p = seconds;
    return CLAB_OK;
}

int clab_take_cost(const char *flag, const char *text, double *seconds_p)
{
    double seconds = 0;
    if (!is_nothing(text) && (clab_parse_seconds_per_byte(text, &seconds) != CLAB_OK || seconds > 1))
        return clab_refuse(flag, text, "a cost or rate with its unit, up to 1s/B, such as 0.1ns/B or 10GB/s");
    *seconds_p = seconds;
    return CLAB_OK;
}

int clab_take_percent(const char *flag, const char *text, double high, double *part_p)
{
    char number[32] = "";
    double value = -1;
    const size_t length = strlen(text);
    if (length > 1 && length <= sizeof number && text[length - 1] == '%')
        snprintf(number, sizeof number, "%.*s", (int)length - 1, text);
    if (clab_parse_number(number, &value) || value <= 0 || value > 100 * high)
        return refuse(flag, text, "a percentage above 0, at most %g%%, such as 5%%", 100 * high);
    *part_p = value / 100;
    return CLAB_OK;
}

int clab_take_number(const char *flag, const char *text, double low, double high, double *value_p)
{
    double value;
    if (clab_parse_number(text, &value) || value < low || value > high)
        return refuse(flag, text, "a number from %g to %g", low, high);
    *value_p = value;
    return CLAB_OK;
}

int clab_take_seed(const char *flag, const char *text, uint64_t *seed_p)
{
    char *end;
    errno = 0;
    const uint64_t seed = strtoull(text, &end, 10);
    if (errno || *text < '0' || *text > '9' || *end)
        return clab_refuse(flag, text, "a number below 2^64");
    *seed_p = seed;
    return CLAB_OK;
}
