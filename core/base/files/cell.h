// SPDX-License-Identifier: MIT
// One value of a result: text, an integer, a real, or nothing (not measured).
// - The text belongs to the caller; whoever keeps a cell copies it (table.h).
// - A real that is not finite prints like nothing.
#pragma once

#include <stddef.h>

enum clab_kind { CLAB_KIND_NONE, CLAB_KIND_TEXT, CLAB_KIND_INTEGER, CLAB_KIND_REAL };

struct clab_cell {
    enum clab_kind kind;
    union {
        const char *text;
        long long integer;
        double real;
    };
};

static inline struct clab_cell clab_cell_none(void)
{
    return (struct clab_cell){.kind = CLAB_KIND_NONE};
}

// NULL is nothing.
static inline struct clab_cell clab_cell_text(const char *text)
{
    return (struct clab_cell){.kind = text ? CLAB_KIND_TEXT : CLAB_KIND_NONE, .text = text};
}

static inline struct clab_cell clab_cell_integer(long long integer)
{
    return (struct clab_cell){.kind = CLAB_KIND_INTEGER, .integer = integer};
}

static inline struct clab_cell clab_cell_real(double real)
{
    return (struct clab_cell){.kind = CLAB_KIND_REAL, .real = real};
}
