// SPDX-License-Identifier: MIT
// Arrays that grow. An array is three plain fields of its owner: the items, their number `n`, and for how many there is
// room. All zeros is an empty array; n = 0 empties it, and free() frees its items.
//
// - `n` and `room` may be int or size_t. A macro evaluates its arguments several times: pass fields, not calls.
// - Room at least doubles when it is short, so pushing n items copies fewer than 2 n.
// - Each answers CLAB_OK, or CLAB_ENOMEM (not logged), which also stands for a size that overflows. In that case the
//   array does not change.
#pragma once

#include <stddef.h>
#include <string.h>

#include "core/base/err.h"

// Room for `wanted` items in all.
#define CLAB_RESERVE(items, room, wanted)  \
    ((size_t)(wanted) <= (size_t)(room)    \
         ? CLAB_OK                         \
         : clab_vector_grow(&(items), &(room), sizeof(room), (size_t)(wanted), sizeof *(items)))

// Add one item, which the last arguments make.
#define CLAB_PUSH(items, n, room, ...) \
    (CLAB_RESERVE(items, room, (size_t)(n) + 1) ? CLAB_ENOMEM : ((items)[(n)++] = (__VA_ARGS__), CLAB_OK))

// Add `count` items that lie at `more`, which may be NULL where there are none.
#define CLAB_APPEND(items, n, room, more, count)                                                                    \
    (CLAB_RESERVE(items, room, (size_t)(n) + (size_t)(count))                                                       \
         ? CLAB_ENOMEM                                                                                              \
         : ((count) ? (void)memcpy((items) + (n), more, (size_t)(count) * sizeof *(items)) : (void)0, (n) += (count), \
            CLAB_OK))

// For the macros: enlarge the array that the pointer at `items_p` points to; its room, an int or a size_t, lies at
// `room_p`.
int clab_vector_grow(void *items_p, void *room_p, size_t room_bytes, size_t wanted, size_t item_bytes);
