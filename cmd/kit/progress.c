// SPDX-License-Identifier: MIT
// The line that shows what is under way (progress.h).

#include "cmd/kit/progress.h"

#include <stdarg.h>
#include <stdio.h>
#include <unistd.h>

void kit_progress_clear(void)
{
    if (isatty(STDERR_FILENO))
        fprintf(stderr, "\r\033[K");
}

void kit_progress(const char *format, ...)
{
    va_list values;
    if (!isatty(STDERR_FILENO))
        return;
    kit_progress_clear();
    va_start(values, format);
    vfprintf(stderr, format, values);
    va_end(values);
    fputc('\r', stderr); // what is written next begins where the line does
}
