// SPDX-License-Identifier: MIT
// Arithmetic of the fake libnccl: each type and operation over any number of operands, in their order.
//
// - float16 and bfloat16 are added as float32 and rounded once; integers wrap.
// - An average is the sum divided by the number of operands; of integers without its remainder.

#include "tests/fakes/nccl_inside.h"

#include <string.h>

// ---- types that C has no arithmetic for ----------------------------------------------------------------------

static float from_bf16(uint16_t half)
{
    const uint32_t bits = (uint32_t)half << 16;
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

// To the nearest, ties to even.
static uint16_t to_bf16(float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    if ((bits & 0x7fffffff) > 0x7f800000)
        return (uint16_t)(bits >> 16 | 0x40); // a NaN stays one
    return (uint16_t)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

static float from_f16(_Float16 value)
{
    return (float)value;
}

static _Float16 to_f16(float value)
{
    return (_Float16)value;
}

// ---- one function for each type ------------------------------------------------------------------------------

#define SAME(x)   (x)
#define ADD(a, b) ((a) + (b))
#define MUL(a, b) ((a) * (b))
#define MIN(a, b) ((b) < (a) ? (b) : (a))
#define MAX(a, b) ((b) > (a) ? (b) : (a))

#define EACH(T, LOAD, STORE, WIDE, OP, END)                   \
    for (size_t i = 0; i < count; i++) {                      \
        WIDE sum = (WIDE)LOAD(((const T *)in[0])[i]);         \
        for (int k = 1; k < n; k++) {                         \
            const WIDE x = (WIDE)LOAD(((const T *)in[k])[i]); \
            sum = OP(sum, x);                                 \
        }                                                     \
        ((T *)out)[i] = STORE(END);                           \
    }                                                         \
    break

// WIDE: what is added and multiplied; ORDER: what is compared; SIGNED: what is divided.
#define DEFINE(name, T, LOAD, STORE, WIDE, ORDER, AVERAGE)                                   \
    static void name(void *out, const void *const in[], int n, size_t count, ncclRedOp_t op) \
    {                                                                                        \
        switch (op) {                                                                        \
        case ncclProd: EACH(T, LOAD, STORE, WIDE, MUL, sum);                                 \
        case ncclMin: EACH(T, LOAD, STORE, ORDER, MIN, sum);                                 \
        case ncclMax: EACH(T, LOAD, STORE, ORDER, MAX, sum);                                 \
        case ncclAvg: EACH(T, LOAD, STORE, WIDE, ADD, (AVERAGE)sum / (AVERAGE)n);            \
        default: EACH(T, LOAD, STORE, WIDE, ADD, sum);                                       \
        }                                                                                    \
    }

#define DEFINE_INTEGER(name, T, ORDER) DEFINE(name, T, SAME, (T), uint64_t, ORDER, ORDER)

DEFINE_INTEGER(reduce_i8, int8_t, int64_t)
DEFINE_INTEGER(reduce_u8, uint8_t, uint64_t)
DEFINE_INTEGER(reduce_i32, int32_t, int64_t)
DEFINE_INTEGER(reduce_u32, uint32_t, uint64_t)
DEFINE_INTEGER(reduce_i64, int64_t, int64_t)
DEFINE_INTEGER(reduce_u64, uint64_t, uint64_t)
DEFINE(reduce_f16, _Float16, from_f16, to_f16, float, float, float)
DEFINE(reduce_bf16, uint16_t, from_bf16, to_bf16, float, float, float)
DEFINE(reduce_f32, float, SAME, SAME, float, float, float)
DEFINE(reduce_f64, double, SAME, SAME, double, double, double)

void reduce(void *out, const void *const in[], int n, size_t count, ncclDataType_t type, ncclRedOp_t op)
{
    static void (*const of[])(void *, const void *const[], int, size_t, ncclRedOp_t) = {
        [ncclInt8] = reduce_i8,       [ncclUint8] = reduce_u8,    [ncclInt32] = reduce_i32,
        [ncclUint32] = reduce_u32,    [ncclInt64] = reduce_i64,   [ncclUint64] = reduce_u64,
        [ncclFloat16] = reduce_f16,   [ncclFloat32] = reduce_f32, [ncclFloat64] = reduce_f64,
        [ncclBfloat16] = reduce_bf16,
    };
    of[type](out, in, n, count, op);
}
