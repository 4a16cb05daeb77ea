// SPDX-License-Identifier: MIT
// Types and operations by name (type.h).

#include "core/base/type.h"

#include <string.h>

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

int clab_type_parse(const char *name, enum clab_type *type_p)
{
    return clab_names_parse(&clab_type_names, name, type_p);
}

int clab_op_parse(const char *name, enum clab_op *op_p)
{
    return clab_names_parse(&clab_op_names, name, op_p);
}
