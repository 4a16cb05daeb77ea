// SPDX-License-Identifier: MIT
// The loops of reduce.c for one instruction set. Each inclusion defines a static const struct isa.
// - The includer defines ISA (a word), TARGET (the function attribute that allows its instructions), and, where the CPU
//   converts f16, F16_WIDEN(in, out) and F16_NARROW(in, out) of 8 values. All are undefined at the end.
// - Every loop is plain C that the compiler turns into vectors at -O3. Its iterations are independent, since out is
//   exactly a or b, or apart from both.

#define PASTE_(a, b) a##_##b
#define PASTE(a, b) PASTE_(a, b)
#define QUOTE_(a) #a
#define QUOTE(a) QUOTE_(a)
#define NAME(name) PASTE(name, ISA)

#define REDUCE(name, T, value)                                                              \
    static TARGET void NAME(name)(const void *a_, const void *b_, void *out_, size_t count) \
    {                                                                                       \
        const T *a = a_, *b = b_;                                                           \
        T *out = out_;                                                                      \
        INDEPENDENT                                                                         \
        for (size_t i = 0; i < count; i++)                                                  \
            out[i] = (T)(value);                                                            \
    }

#define SCALE(name, T, value)                                             \
    static TARGET void NAME(name)(void *data_, size_t count, int divisor) \
    {                                                                     \
        T *data = data_;                                                  \
        INDEPENDENT                                                       \
        for (size_t i = 0; i < count; i++)                                \
            data[i] = (T)(value);                                         \
    }

// Integers are added and multiplied as U, without sign, where overflow wraps. They are divided as D, which vectors can;
// D has more bits than T, so that no quotient rounds up to the next integer.
#define INTEGERS(type, T, U, D)                      \
    REDUCE(type##_sum, U, a[i] + b[i])               \
    REDUCE(type##_prod, U, a[i] * b[i])              \
    REDUCE(type##_min, T, a[i] < b[i] ? a[i] : b[i]) \
    REDUCE(type##_max, T, a[i] > b[i] ? a[i] : b[i]) \
    SCALE(type##_scale, T, data[i] / (D)divisor)

#define FLOATS(type, T)                                  \
    REDUCE(type##_sum, T, a[i] + b[i])                   \
    REDUCE(type##_prod, T, a[i] * b[i])                  \
    REDUCE(type##_min, T, minimum_##type(a[i], b[i]))    \
    REDUCE(type##_max, T, -minimum_##type(-a[i], -b[i])) \
    SCALE(type##_scale, T, data[i] / (T)divisor)

#define HALF_ARITHMETIC(type, widen, narrow)                                                        \
    REDUCE(type##_sum, uint16_t, narrow(widen(a[i]) + widen(b[i])))                         \
    REDUCE(type##_prod, uint16_t, narrow(widen(a[i]) * widen(b[i])))                        \
    SCALE(type##_scale, uint16_t, narrow(widen(data[i]) / (float)divisor))

#define HALF_ORDER(type, infinity)                                       \
    REDUCE(type##_min, uint16_t, half_minimum(a[i], b[i], infinity)) \
    REDUCE(type##_max, uint16_t, half_maximum(a[i], b[i], infinity))

INTEGERS(i8, int8_t, uint8_t, float)
INTEGERS(u8, uint8_t, uint8_t, float)
INTEGERS(i32, int32_t, uint32_t, double)
INTEGERS(i64, int64_t, uint64_t, int64_t)
FLOATS(f32, float)
FLOATS(f64, double)
HALF_ARITHMETIC(bf16, bf16_widen, bf16_round)
HALF_ORDER(bf16, 0x7f80)
HALF_ORDER(f16, 0x7c00)

#ifndef F16_WIDEN

HALF_ARITHMETIC(f16, f16_widen, f16_narrow)

#else // eight at a time; the portable loops do the rest

#define REDUCE_F16(op, value)                                                                  \
    static TARGET void NAME(f16_##op)(const void *a_, const void *b_, void *out_, size_t count) \
    {                                                                                          \
        const uint16_t *a = a_, *b = b_;                                                       \
        uint16_t *out = out_;                                                                  \
        for (; count >= 8; count -= 8, a += 8, b += 8, out += 8) {                             \
            float x[8], y[8];                                                                  \
            F16_WIDEN(a, x);                                                                   \
            F16_WIDEN(b, y);                                                                   \
            INDEPENDENT                                                                        \
            for (int i = 0; i < 8; i++)                                                        \
                x[i] = (value);                                                                \
            F16_NARROW(x, out);                                                                \
        }                                                                                      \
        f16_##op##_portable(a, b, out, count);                                                 \
    }

static TARGET void NAME(f16_scale)(void *data_, size_t count, int divisor)
{
    uint16_t *data = data_;
    for (; count >= 8; count -= 8, data += 8) {
        float x[8];
        F16_WIDEN(data, x);
        for (int i = 0; i < 8; i++)
            x[i] /= (float)divisor;
        F16_NARROW(x, data);
    }
    f16_scale_portable(data, count, divisor);
}

REDUCE_F16(sum, x[i] + y[i])
REDUCE_F16(prod, x[i] * y[i])

#undef REDUCE_F16
#undef F16_WIDEN
#undef F16_NARROW
#endif

#define ROW(type) {NAME(type##_sum), NAME(type##_prod), NAME(type##_min), NAME(type##_max), NAME(type##_sum)}

static const struct isa NAME(isa) = {
    .name = QUOTE(ISA),
    .reduce = {[CLAB_F32] = ROW(f32), [CLAB_F64] = ROW(f64), [CLAB_F16] = ROW(f16), [CLAB_BF16] = ROW(bf16),
               [CLAB_I8] = ROW(i8), [CLAB_U8] = ROW(u8), [CLAB_I32] = ROW(i32), [CLAB_I64] = ROW(i64)},
    .scale = {[CLAB_F32] = NAME(f32_scale), [CLAB_F64] = NAME(f64_scale), [CLAB_F16] = NAME(f16_scale),
              [CLAB_BF16] = NAME(bf16_scale), [CLAB_I8] = NAME(i8_scale), [CLAB_U8] = NAME(u8_scale),
              [CLAB_I32] = NAME(i32_scale), [CLAB_I64] = NAME(i64_scale)},
};

#undef ROW
#undef HALF_ORDER
#undef HALF_ARITHMETIC
#undef FLOATS
#undef INTEGERS
#undef SCALE
#undef REDUCE
#undef NAME
#undef QUOTE
#undef QUOTE_
#undef PASTE
#undef PASTE_
#undef ISA
#undef TARGET
