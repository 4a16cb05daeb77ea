// SPDX-License-Identifier: MIT
// Putting a text together, and taking a list apart (text.h).

#include "core/base/text.h"

#include <stdarg.h>
#include <stdint.h>
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

// ---- UTF-8 ---------------------------------------------------------------------------------------------------

size_t clab_utf8_bytes(const char *at)
{
    static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000}; // of characters of so many bytes
    const unsigned char *text = (const unsigned char *)at, first = text[0];
    const size_t bytes = first < 0x80 ? 1 : first >> 5 == 6 ? 2 : first >> 4 == 14 ? 3 : first >> 3 == 30 ? 4 : 0;
    uint32_t code = bytes > 1 ? first & (0xffu >> (bytes + 1)) : 0;
    for (size_t i = 1; i < bytes; i++) {
        if (text[i] >> 6 != 2) // the end, too
            return 0;
        code = code << 6 | (text[i] & 0x3fu);
    }
    if (bytes > 1 && (code < least[bytes] || code > 0x10ffff || code >> 11 == 0xd800 >> 11))
        return 0;
    return bytes;
}

bool clab_is_utf8(const char *text)
{
    for (size_t bytes; *text; text += bytes)
        if (!(bytes = clab_utf8_bytes(text)))
            return false;
    return true;
}

void clab_make_utf8(char *text)
{
    for (size_t bytes; *text; text += bytes ? bytes : 1)
        if (!(bytes = clab_utf8_bytes(text)))
            *text = '?';
}

// ---- XML and HTML --------------------------------------------------------------------------------------------

void clab_put_escaped(FILE *out, const char *text, size_t most)
{
    for (const char *end = text + strnlen(text, most); text < end; text++)
        switch (*text) {
        case '&': fputs("&amp;", out); break;
        case '<': fputs("&lt;", out); break;
        case '>': fputs("&gt;", out); break;
        case '"': fputs("&quot;", out); break;
        default: fputc(*text, out);
        }
}
