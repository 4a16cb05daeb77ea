// SPDX-License-Identifier: MIT
// Putting a text together (text.h).

#include "base/text.h"

#include <stdarg.h>
#include <stdio.h>

void clab_text_add(struct clab_text *text, const char *format, ...)
{
    const size_t left = text->room - text->used;
    va_list values;
    va_start(values, format);
    const int n = vsnprintf(text->at + text->used, left, format, values);
    va_end(values);
    text->used += n < 0 ? 0 : (size_t)n < left ? (size_t)n : left - 1;
}
