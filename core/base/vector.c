// SPDX-License-Identifier: MIT
// Arrays that grow (vector.h).

#include "core/base/vector.h"

#include <limits.h>
#include <stdint.h>
#include <stdlib.h>

enum { FEWEST = 16 };

static size_t larger(size_t a, size_t b)
{
    return a > b ? a : b;
}

static size_t smaller(size_t a, size_t b)
{
    return a < b ? a : b;
}

int clab_vector_grow(void *items_p, void *room_p, size_t room_bytes, size_t wanted, size_t item_bytes)
{
    const int is_int = room_bytes == sizeof(int);
    const size_t most = smaller(is_int ? INT_MAX : SIZE_MAX, PTRDIFF_MAX / item_bytes);
    const size_t had = is_int ? (size_t)*(int *)room_p : *(size_t *)room_p;
    const size_t room = smaller(larger(larger(wanted, FEWEST), had < most / 2 ? 2 * had : most), most);
    void *items;
    memcpy(&items, items_p, sizeof items); // pointers of other types may not be read as void *
    if (wanted > most || !(items = realloc(items, room * item_bytes)))
        return CLAB_ENOMEM;
    memcpy(items_p, &items, sizeof items);
    if (is_int)
        *(int *)room_p = (int)room;
    else
        *(size_t *)room_p = room;
    return CLAB_OK;
}
