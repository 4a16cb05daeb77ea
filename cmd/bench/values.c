// SPDX-License-Identifier: MIT
// Values of flags (values.h).

#include "cmd/bench/values.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/err.h"
#include "core/base/log.h"
#include "core/base/text.h"
#include "core/base/units.h"

int bench_find_name(struct bench_names names, const char *flag, const char *text, size_t length)
{
    char there_are[512] = "";
    for (int i = 0; i < names.count; i++) {
        if (strlen(names.name(i)) == length && !strncmp(names.name(i), text, length))
            return i;
        strcat(strcat(there_are, " "), names.name(i));
    }
    clab_error("%s: there is no '%.*s'; there are:%s", flag, (int)length, text, there_are);
    return -1;
}

int bench_take_list(struct bench_names names, const char *flag, const char *text, bool chosen[])
{
    const bool all = !strcmp(text, "all");
    for (int i = 0; i < names.count; i++)
        chosen[i] = all;
    size_t length;
    for (const char *word, *rest = text; !all && (word = clab_list_next(&rest, &length));) {
        const int i = bench_find_name(names, flag, word, length);
        if (i < 0)
            return CLAB_EINVAL;
        chosen[i] = true;
    }
    return CLAB_OK;
}

int bench_take_int(const char *flag, const char *text, int low, int high, int *value_p)
{
    if (clab_parse_int(text, low, high, value_p) == CLAB_OK)
        return CLAB_OK;
    clab_error("%s '%s' is not a number from %d to %d", flag, text, low, high);
    return CLAB_EINVAL;
}

int bench_take_size(const char *flag, const char *text, size_t *bytes_p)
{
    size_t bytes;
    if (clab_parse_size(text, &bytes) == CLAB_OK && bytes > 0) {
        *bytes_p = bytes;
        return CLAB_OK;
    }
    clab_error("%s '%s' is not a size above 0, such as 8, 64K or 1M", flag, text);
    return CLAB_EINVAL;
}

int bench_take_seconds(const char *text, double *seconds_p)
{
    double seconds;
    if ((clab_parse_seconds(text, &seconds) == CLAB_OK || clab_parse_number(text, &seconds) == CLAB_OK) &&
        seconds <= BENCH_MOST_SECONDS) {
        *seconds_p = seconds;
        return CLAB_OK;
    }
    clab_error("--seconds '%s': expected a time from 0 to %ds, such as 0.3 or 50ms", text, BENCH_MOST_SECONDS);
    return CLAB_EINVAL;
}

int bench_take_seed(const char *text, uint64_t *seed_p)
{
    char *end;
    errno = 0;
    const uint64_t seed = strtoull(text, &end, 10);
    if (errno == 0 && *text >= '0' && *text <= '9' && *end == '\0') {
        *seed_p = seed;
        return CLAB_OK;
    }
    clab_error("--seed '%s' is not a number below 2^64", text);
    return CLAB_EINVAL;
}

int bench_take_word(const char *flag, const char *text, const char *const words[], int *number_p)
{
    char there_are[128] = "";
    for (int i = 0; words[i]; i++) {
        if (!strcmp(words[i], text)) {
            *number_p = i;
            return CLAB_OK;
        }
        strcat(strcat(there_are, " "), words[i]);
    }
    clab_error("%s '%s' is none of:%s", flag, text, there_are);
    return CLAB_EINVAL;
}
