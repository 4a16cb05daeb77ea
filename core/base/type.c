// SPDX-License-Identifier: MIT
// Types and operations by name (type.h).

#include "core/base/type.h"

#include <string.h>

#include "core/base/err.h"
#include "core/base/names.h"

#define X(name, text, bytes) [name] = text,
static const char *const type_names[] = {CLAB_TYPES(X)};
#undef X
#define X(name, text, bytes) [name] = bytes,
static const unsigned char type_bytes[] = {CLAB_TYPES(X)};
#undef X
#define X(name, text) [name] = text,
static const char *const op_names[] = {CLAB_OPS(X)};
static const char *const precision_names[] = {CLAB_PRECISION_LIST(X)};
#undef X

const struct clab_names clab_type_names = {CLAB_TYPE_COUNT, type_names, NULL},
                        clab_op_names = {CLAB_OP_COUNT, op_names, NULL},
                        clab_precision_names = {CLAB_PRECISIONS, precision_names, NULL};

size_t clab_type_bytes(enum clab_type type)
{
    return type_bytes[type];
}

const char *clab_type_name(enum clab_type type)
{
    return type_names[type];
}

const char *clab_op_name(enum clab_op op)
{
    return op_names[op];
}

const char *clab_precision_name(enum clab_precision precision)
{
    return precision_names[precision];
}

static int find(const char *const names[], int count, const char *name)
{
    for (int i = 0; i < count; i++)
        if (strcmp(names[i], name) == 0)
            return i;
    return -1;
}

int clab_type_parse(const char *name, enum clab_type *type_p)
{
    int found = find(type_names, CLAB_TYPE_COUNT, name);
    if (found < 0)
        return CLAB_ENOENT;
    *type_p = (enum clab_type)found;
    return CLAB_OK;
}

int clab_op_parse(const char *name, enum clab_op *op_p)
{
    int found = find(op_names, CLAB_OP_COUNT, name);
    if (found < 0)
        return CLAB_ENOENT;
    *op_p = (enum clab_op)found;
    return CLAB_OK;
}
