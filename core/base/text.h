// SPDX-License-Identifier: MIT
// Text: building one in a buffer of fixed size, where what does not fit is cut off; the
// words of a comma-separated list; UTF-8; and text within XML and HTML.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

struct clab_text {
    char *at;
    size_t room, used; // room > 0; used < room
};

static inline struct clab_text clab_text_begin(char *at, size_t room)
{
    at[0] = '\0';
    return (struct clab_text){at, room, 0};
}

void clab_text_add(struct clab_text *text, const char *format, ...) __attribute__((format(printf, 2, 3)));

// The next word of a comma-separated list, of *length_p bytes; NULL after the last. Begin with *rest_p at the list;
// each call moves it on. Words may be empty, as the first two of ",,ring" and the only one of an empty list. A comma at
// the end adds no word.
const char *clab_list_next(const char **rest_p, size_t *length_p);

// Whether a comma-separated list has the word.
bool clab_list_has(const char *list, const char *word);

// The number of bytes of the character at `text`, which is not at its end; 0: it is not UTF-8.
size_t clab_utf8_bytes(const char *text);
// Whether all bytes are UTF-8: no character has more bytes than it needs, is half of a surrogate pair, or lies beyond
// U+10FFFF.
bool clab_is_utf8(const char *text);
// Replace each byte that is not UTF-8 by a question mark.
void clab_make_utf8(char *text);

// Write at most `most` bytes of the text so that XML and HTML show them as they are, also within quotes.
void clab_put_escaped(FILE *out, const char *text, size_t most);
