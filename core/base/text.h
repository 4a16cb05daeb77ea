// SPDX-License-Identifier: MIT
// Texts: one that is put together piece by piece in room of a fixed size, what does not fit being cut; the words of a
// list with commas; and whether bytes are text at all.
#pragma once

#include <stdbool.h>
#include <stddef.h>

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

// The next word of a list with commas, *length_p bytes of it, or NULL after the last. *rest_p is the list at first, and
// goes on. Words may be empty, as two of ",,ring"; so is the only one of an empty list. A comma at the end ends the
// last one.
const char *clab_list_next(const char **rest_p, size_t *length_p);

// Whether a list with commas has the word.
bool clab_list_has(const char *list, const char *word);

// How many bytes the character at `text` has, which has not ended; 0: it is none, as below.
size_t clab_utf8_bytes(const char *text);
// Whether all bytes are UTF-8: no character in more bytes than it needs, no half of a surrogate pair, none beyond
// U+10FFFF.
bool clab_is_utf8(const char *text);
// Make it so: a question mark for each byte that is not.
void clab_make_utf8(char *text);
