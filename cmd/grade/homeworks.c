// SPDX-License-Identifier: MIT
// The list of homeworks (homeworks.h). The build defines HOMEWORKS(X): X(ID, SYMBOL) for each.

#include "cmd/grade/homeworks.h"

#include <string.h>

#define X(id, symbol) extern const struct homework symbol;
HOMEWORKS(X)
#undef X

static const struct {
    const char *id;
    const struct homework *homework;
} homeworks[] = {
#define X(id, symbol) {id, &symbol},
    HOMEWORKS(X)
#undef X
    {NULL, NULL},
};

const struct homework *homework_find(const char *id)
{
    for (int i = 0; homeworks[i].id; i++)
        if (!strcmp(homeworks[i].id, id))
            return homeworks[i].homework;
    return NULL;
}
