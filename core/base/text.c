// SPDX-License-Identifier: MIT
// Putting a text together, and taking a list apart (text.h).

#include "base/text.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

void clab_text_add(struct clab_text *text, const char *format, ...)
{
    const size_t left = text->room - text->used;
    va_list values;
    va_start(values, format);
    const int n = vsnprintf(text->at + text->used, left, format, values);
    va_end(values);
    text->used += n < 0 ? 0 : (size_t)n < left ? (size_t)n : left - 1;
}

const char *clab_list_next(const char **rest_p, size_t *length_p)
{
    const char *word = *rest_p;
    if (!word)
        return NULL;
    const char *comma = word + (*length_p = strcspn(word, ","));
    *rest_p = comma[0] && comma[1] ? comma + 1 : NULL;
    return word;
}

bool clab_list_has(const char *list, const char *word)
{
    size_t length;
    for (const char *next; (next = clab_list_next(&list, &length));)
        if (length == strlen(word) && !strncmp(next, word, length))
            return true;
    return false;
}
