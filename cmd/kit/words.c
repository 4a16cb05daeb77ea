// SPDX-License-Identifier: MIT
// Folding of lines (words.h).

#include "cmd/kit/words.h"

#include <string.h>

// The columns that `bytes` bytes of UTF-8 take.
static int width_of(const char *text, size_t bytes)
{
    int columns = 0;
    for (size_t i = 0; i < bytes; i++)
        columns += ((unsigned char)text[i] & 0xc0) != 0x80; // bytes that continue a character take none
    return columns;
}

int kit_print_words(const char *text, int at, int indent, FILE *out)
{
    while (text[strspn(text, " ")]) {
        const size_t blanks = strspn(text, " "), word = strcspn(text + blanks, " ");
        const int columns = (int)blanks + width_of(text + blanks, word);
        if (at + columns > KIT_COLUMNS && at > indent) {
            fprintf(out, "\n%*s", indent, "");
            at = indent + width_of(text + blanks, word);
            fprintf(out, "%.*s", (int)word, text + blanks);
        } else {
            fprintf(out, "%.*s", (int)(blanks + word), text);
            at += columns;
        }
        text += blanks + word;
    }
    return at;
}
