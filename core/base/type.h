// SPDX-License-Identifier: MIT
// Element types and reduction operations, and the names that they go by.
// - One table names them all: the command line, CSV files and messages use it.
// - f16 and bf16 are storage formats: they are reduced in f32 and rounded to nearest even (reduce.h).
#pragma once

#include <stddef.h>

//      name       text    bytes
#define CLAB_TYPES(X)      \
    X(CLAB_F32, "float", 4)  \
    X(CLAB_F64, "double", 8) \
    X(CLAB_F16, "half", 2)   \
    X(CLAB_BF16, "bfloat16", 2) \
    X(CLAB_I8, "int8", 1)    \
    X(CLAB_U8, "uint8", 1)   \
    X(CLAB_I32, "int32", 4)  \
    X(CLAB_I64, "int64", 8)

#define CLAB_OPS(X)      \
    X(CLAB_SUM, "sum")   \
    X(CLAB_PROD, "prod") \
    X(CLAB_MIN, "min")   \
    X(CLAB_MAX, "max")   \
    X(CLAB_AVG, "avg")

#define X(name, text, bytes) name,
enum clab_type { CLAB_TYPES(X) CLAB_TYPE_COUNT };
#undef X
#define X(name, text) name,
enum clab_op { CLAB_OPS(X) CLAB_OP_COUNT };
#undef X

size_t clab_type_bytes(enum clab_type type);
const char *clab_type_name(enum clab_type type);
const char *clab_op_name(enum clab_op op);

// The type or operation called `name`. Errors: CLAB_ENOENT, and *_p is untouched.
int clab_type_parse(const char *name, enum clab_type *type_p);
int clab_op_parse(const char *name, enum clab_op *op_p);
