// SPDX-License-Identifier: MIT
// Element types, reduction operations, precisions of arithmetic, and their names.
// - The command line, CSV files and messages all use this table of names.
// - f16 and bf16 are storage formats: they are reduced in f32 and rounded to nearest even (reduce.h).
// - A precision is what a processor's units multiply; sums are at least as wide. Both 16-bit formats are equally fast
//   on hardware that has both.
#pragma once

#include <stddef.h>

//      name       text    bytes
#define CLAB_TYPES(X)           \
    X(CLAB_F32, "float", 4)     \
    X(CLAB_F64, "double", 8)    \
    X(CLAB_F16, "half", 2)      \
    X(CLAB_BF16, "bfloat16", 2) \
    X(CLAB_I8, "int8", 1)       \
    X(CLAB_U8, "uint8", 1)      \
    X(CLAB_I32, "int32", 4)     \
    X(CLAB_I64, "int64", 8)

#define CLAB_OPS(X)      \
    X(CLAB_SUM, "sum")   \
    X(CLAB_PROD, "prod") \
    X(CLAB_MIN, "min")   \
    X(CLAB_MAX, "max")   \
    X(CLAB_AVG, "avg")

// From wide to narrow. A processor without units for one computes in the one before.
#define CLAB_PRECISION_LIST(X) \
    X(CLAB_FP64, "f64")        \
    X(CLAB_FP32, "f32")        \
    X(CLAB_TF32, "tf32")       \
    X(CLAB_FP16, "f16")        \
    X(CLAB_FP8, "f8")

#define X(name, text, bytes) name,
enum clab_type { CLAB_TYPES(X) CLAB_TYPE_COUNT };
#undef X
#define X(name, text) name,
enum clab_op { CLAB_OPS(X) CLAB_OP_COUNT };
enum clab_precision { CLAB_PRECISION_LIST(X) CLAB_PRECISIONS };
#undef X

size_t clab_type_bytes(enum clab_type type);
const char *clab_type_name(enum clab_type type);
const char *clab_op_name(enum clab_op op);
const char *clab_precision_name(enum clab_precision precision);

struct clab_names; // core/base/names.h
extern const struct clab_names clab_type_names, clab_op_names, clab_precision_names;

// The type or operation called `name`. *_p is set on success only.  errors: CLAB_ENOENT
int clab_type_parse(const char *name, enum clab_type *type_p);
int clab_op_parse(const char *name, enum clab_op *op_p);
