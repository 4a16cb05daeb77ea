// SPDX-License-Identifier: MIT
// A text that is put together piece by piece in room of a fixed size; what does not fit is cut.
#pragma once

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
