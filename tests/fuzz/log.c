// SPDX-License-Identifier: MIT
// Stands in for core/base/log.c in fuzzing targets: counts the errors and keeps the last.

#include "tests/fuzz/fuzz.h"

#include <stdarg.h>

#include "core/base/log.h"

int fuzz_log_errors;
char fuzz_log_last[4096];

void fuzz_log_clear(void)
{
    fuzz_log_errors = 0;
    fuzz_log_last[0] = '\0';
}

void clab_log_at(enum clab_log_level level, const char *format, ...)
{
    if (level != CLAB_LOG_ERROR)
        return;
    va_list values;
    va_start(values, format);
    vsnprintf(fuzz_log_last, sizeof fuzz_log_last, format, values);
    va_end(values);
    fuzz_log_errors++;
}

void clab_log_set_rank(int rank)
{
    (void)rank;
}

// Nothing is kept: each line is said at once.
void clab_log_hold(struct clab_log_held *held)
{
    *held = (struct clab_log_held){0};
}

void clab_log_release(struct clab_log_held *held)
{
    (void)held;
}

void clab_log_share(struct clab_log_said *said)
{
    (void)said;
}
