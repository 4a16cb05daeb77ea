// SPDX-License-Identifier: MIT
// What runs on the GPU (kernels.h).
//
// - A GPU reaches the bandwidth of its memory with loads and stores of 16 bytes a thread. So elements go by packs of 16
//   bytes, if all arrays of a call begin at the same place of one; the few before and behind, and arrays that lie
//   otherwise, go one by one.
// - What the processor computes, too, is the same source (core/base/numbers/random.h, expect.h, half.h, minimum.h,
//   quantize.h); to the same bits, with nvcc --fmad=false, but for the payloads of NaNs, of which a GPU has one.
// - No shared memory, and no thread waits for another.

#include <cstring>
#include <type_traits>

#include "core/base/numbers/half.h"
#include "core/base/numbers/minimum.h"
#include "core/base/numbers/quantize.h"
#include "backends/nccl/kernels.h"

static __device__ size_t my_thread()
{
    return (size_t)blockIdx.x * blockDim.x + threadIdx.x;
}

static __device__ size_t all_threads()
{
    return (size_t)gridDim.x * blockDim.x;
}

// ---- elements by packs ---------------------------------------------------------------------------------------

enum { PACK = 16 }; // bytes

template <typename T> struct alignas(PACK) Pack {
    T at[PACK / sizeof(T)];
};

static __device__ size_t place_in_pack(const void *memory)
{
    return (size_t)memory % PACK;
}

// Elements before the first pack of `memory`.
template <typename T> static __device__ size_t head_of(const T *memory, size_t count)
{
    const size_t head = (PACK - place_in_pack(memory)) % PACK / sizeof(T);
    return head < count ? head : count;
}

// data = f(data)
template <typename T, typename F> static __device__ void map(T *data, size_t count, F f)
{
    const size_t each = PACK / sizeof(T), head = head_of(data, count), packs = (count - head) / each;
    Pack<T> *const body = (Pack<T> *)(data + head);
    for (size_t i = my_thread(); i < packs; i += all_threads()) {
        Pack<T> x = body[i];
        for (size_t k = 0; k < each; k++)
            x.at[k] = f(x.at[k]);
        body[i] = x;
    }
    for (size_t i = my_thread(); i < count - packs * each; i += all_threads()) {
        T *const x = data + (i < head ? i : i + packs * each);
        *x = f(*x);
    }
}

// out = f(a, b); out may be a or b
template <typename T, typename F> static __device__ void map(const T *a, const T *b, T *out, size_t count, F f)
{
    const bool alike = place_in_pack(a) == place_in_pack(out) && place_in_pack(b) == place_in_pack(out);
    const size_t each = PACK / sizeof(T), head = alike ? head_of(out, count) : count, packs = (count - head) / each;
    for (size_t i = my_thread(); i < packs; i += all_threads()) {
        Pack<T> x = ((const Pack<T> *)(a + head))[i];
        const Pack<T> y = ((const Pack<T> *)(b + head))[i];
        for (size_t k = 0; k < each; k++)
            x.at[k] = f(x.at[k], y.at[k]);
        ((Pack<T> *)(out + head))[i] = x;
    }
    for (size_t i = my_thread(); i < count - packs * each; i += all_threads()) {
        const size_t at = i < head ? i : i + packs * each;
        out[at] = f(a[at], b[at]);
    }
}

// ---- reduce and scale ----------------------------------------------------------------------------------------

struct f16 {
    uint16_t bits;
};

struct bf16 {
    uint16_t bits;
};

static __device__ float widen(f16 x)
{
    return f16_widen(x.bits);
}

static __device__ float widen(bf16 x)
{
    return bf16_widen(x.bits);
}

static __device__ void narrow(float x, f16 &out)
{
    out.bits = f16_narrow(x);
}

// A GPU's NaN has bits that bf16_round would carry into the sign.
static __device__ void narrow(float x, bf16 &out)
{
    out.bits = bf16_narrow(x);
}

template <typename T> static __device__ T narrowed(float x)
{
    T out;
    narrow(x, out);
    return out;
}

// Integers wrap.
template <typename T> struct Arithmetic {
    using U = std::make_unsigned_t<T>;
    static __device__ T add(T a, T b)
    {
        return (T)((U)a + (U)b);
    }
    static __device__ T multiply(T a, T b)
    {
        return (T)((U)a * (U)b);
    }
    static __device__ T least(T a, T b)
    {
        return a < b ? a : b;
    }
    static __device__ T most(T a, T b)
    {
        return a < b ? b : a;
    }
    static __device__ T divide(T a, int divisor)
    {
        return (T)(a / (std::conditional_t<sizeof(T) == 8, int64_t, int>)divisor);
    }
};

template <typename T> struct Floats {
    static __device__ T add(T a, T b)
    {
        return a + b;
    }
    static __device__ T multiply(T a, T b)
    {
        return a * b;
    }
    static __device__ T divide(T a, int divisor)
    {
        return a / (T)divisor;
    }
};

template <> struct Arithmetic<float> : Floats<float> {
    static __device__ float least(float a, float b)
    {
        return minimum_f32(a, b);
    }
    static __device__ float most(float a, float b)
    {
        return -minimum_f32(-a, -b);
    }
};

template <> struct Arithmetic<double> : Floats<double> {
    static __device__ double least(double a, double b)
    {
        return minimum_f64(a, b);
    }
    static __device__ double most(double a, double b)
    {
        return -minimum_f64(-a, -b);
    }
};

template <typename T, uint16_t infinity> struct Halves {
    static __device__ T add(T a, T b)
    {
        return narrowed<T>(widen(a) + widen(b));
    }
    static __device__ T multiply(T a, T b)
    {
        return narrowed<T>(widen(a) * widen(b));
    }
    static __device__ T least(T a, T b)
    {
        return T{half_minimum(a.bits, b.bits, infinity)};
    }
    static __device__ T most(T a, T b)
    {
        return T{half_maximum(a.bits, b.bits, infinity)};
    }
    static __device__ T divide(T a, int divisor)
    {
        return narrowed<T>(widen(a) / (float)divisor);
    }
};

template <> struct Arithmetic<f16> : Halves<f16, 0x7c00> {
};

template <> struct Arithmetic<bf16> : Halves<bf16, 0x7f80> {
};

template <typename T> static __device__ void reduce(enum clab_op op, const T *a, const T *b, T *out, size_t count)
{
    using A = Arithmetic<T>;
    switch (op) {
    case CLAB_PROD: map(a, b, out, count, [](T x, T y) { return A::multiply(x, y); }); break;
    case CLAB_MIN: map(a, b, out, count, [](T x, T y) { return A::least(x, y); }); break;
    case CLAB_MAX: map(a, b, out, count, [](T x, T y) { return A::most(x, y); }); break;
    default: map(a, b, out, count, [](T x, T y) { return A::add(x, y); });
    }
}

#define REDUCE_AND_SCALE(NAME, T)                                                                           \
    extern "C" __global__ void nccl_reduce_##NAME(enum clab_op op, const void *a, const void *b, void *out, \
                                                  size_t count)                                             \
    {                                                                                                       \
        reduce(op, (const T *)a, (const T *)b, (T *)out, count);                                            \
    }                                                                                                       \
    extern "C" __global__ void nccl_scale_##NAME(void *data, size_t count, int divisor)                     \
    {                                                                                                       \
        map((T *)data, count, [=](T x) { return Arithmetic<T>::divide(x, divisor); });                      \
    }

REDUCE_AND_SCALE(f32, float)
REDUCE_AND_SCALE(f64, double)
REDUCE_AND_SCALE(f16, f16)
REDUCE_AND_SCALE(bf16, bf16)
REDUCE_AND_SCALE(i8, int8_t)
REDUCE_AND_SCALE(u8, uint8_t)
REDUCE_AND_SCALE(i32, int32_t)
REDUCE_AND_SCALE(i64, int64_t)

// ---- fill and check ------------------------------------------------------------------------------------------

// A pack is two words, where both begin together.
extern "C" __global__ void nccl_fill(struct clab_random random, int rank, uint64_t first, size_t count, void *out)
{
    const uint64_t key = clab_random_key(random.seed, rank);
    const struct clab_random_shape shape = clab_random_shape_of(&random);
    const unsigned bytes = clab_format_of(random.type).bytes;
    const size_t each = PACK / bytes, word = first * bytes / 8;
    const bool alike = place_in_pack(out) == 0 && first * bytes % 8 == 0 && !clab_random_has_turns(&random);
    const size_t packs = alike ? count / each : 0;
    for (size_t i = my_thread(); i < packs; i += all_threads())
        ((Pack<uint64_t> *)out)[i] = {clab_random_word(shape, key, word + 2 * i),
                                      clab_random_word(shape, key, word + 2 * i + 1)};
    for (size_t i = packs * each + my_thread(); i < count; i += all_threads())
        clab_pattern_put(out, i, bytes, clab_random_at(&random, key, rank, first + i));
}

static __device__ bool moved_is_wrong(const struct clab_expected &e, uint64_t i, uint64_t got)
{
    return got != clab_random_at(&e.random, clab_random_key(e.random.seed, e.rank), e.rank, i);
}

static __device__ bool integer_is_wrong(const struct clab_expected &e, uint64_t i, uint64_t got)
{
    const enum clab_type type = e.random.type;
    int64_t expected = 0;
    for (int rank = 0; rank < e.random.nranks; rank++) {
        const uint64_t key = clab_random_key(e.random.seed, rank);
        const int64_t given = clab_pattern_integer(clab_random_at(&e.random, key, rank, i), type);
        expected = rank ? clab_combine_integers(e.op, expected, given) : given;
    }
    return got != clab_integer_result(e.op, type, e.random.nranks, expected);
}

static __device__ bool float_is_wrong(const struct clab_expected &e, struct clab_bound bound, uint64_t i, uint64_t got)
{
    const enum clab_type type = e.random.type;
    double expected = 0, sizes = 0;
    for (int rank = 0; rank < e.random.nranks; rank++) {
        const uint64_t key = clab_random_key(e.random.seed, rank);
        const double given = clab_pattern_double(clab_random_at(&e.random, key, rank, i), type);
        expected = rank ? clab_combine_floats(e.op, expected, given) : given;
        sizes += fabs(given);
    }
    if (e.op == CLAB_PROD)
        sizes = fabs(expected);
    return clab_float_is_wrong(clab_pattern_double(got, type), expected / (e.op == CLAB_AVG ? e.random.nranks : 1),
                               sizes, bound);
}

extern "C" __global__ void nccl_check(struct clab_expected e, struct clab_bound bound, const void *got, double *counts)
{
    const unsigned bytes = clab_format_of(e.random.type).bytes;
    double wrong = 0;
    for (uint64_t i = my_thread(); i < e.count; i += all_threads()) {
        if (!clab_window_is_looked_at(&e, i / CLAB_WINDOW))
            continue;
        const uint64_t bits = clab_pattern_at(got, i, bytes);
        wrong += e.rank != CLAB_ALL_RANKS       ? moved_is_wrong(e, e.first + i, bits)
                 : clab_is_float(e.random.type) ? float_is_wrong(e, bound, e.first + i, bits)
                                                : integer_is_wrong(e, e.first + i, bits);
    }
    counts[my_thread()] = wrong;
}

// ---- formats -------------------------------------------------------------------------------------------------

// Eight elements a thread: 16 bytes of the narrow format, 32 of the wide one.
template <typename From, typename To, typename F>
static __device__ void convert(const void *in_, void *out_, size_t count, F f)
{
    const From *const in = (const From *)in_;
    To *const out = (To *)out_;
    const size_t eights = place_in_pack(in) == 0 && place_in_pack(out) == 0 ? count / 8 : 0;
    struct alignas(PACK) Eight {
        From from[8];
    };
    struct alignas(PACK) EightTo {
        To to[8];
    };
    for (size_t i = my_thread(); i < eights; i += all_threads()) {
        const Eight x = ((const Eight *)in)[i];
        EightTo y;
        for (int k = 0; k < 8; k++)
            y.to[k] = f(x.from[k]);
        ((EightTo *)out)[i] = y;
    }
    for (size_t i = 8 * eights + my_thread(); i < count; i += all_threads())
        out[i] = f(in[i]);
}

extern "C" __global__ void nccl_cast_f32_f16(const void *in, void *out, size_t count)
{
    convert<float, uint16_t>(in, out, count, [](float x) { return f16_narrow(x); });
}

extern "C" __global__ void nccl_cast_f32_bf16(const void *in, void *out, size_t count)
{
    convert<float, uint16_t>(in, out, count, [](float x) { return bf16_narrow(x); });
}

extern "C" __global__ void nccl_cast_f16_f32(const void *in, void *out, size_t count)
{
    convert<uint16_t, float>(in, out, count, [](uint16_t x) { return f16_widen(x); });
}

extern "C" __global__ void nccl_cast_bf16_f32(const void *in, void *out, size_t count)
{
    convert<uint16_t, float>(in, out, count, [](uint16_t x) { return bf16_widen(x); });
}

// A thread a block.
extern "C" __global__ void nccl_scales(size_t count, size_t block, const float *in, float *scales)
{
    const size_t blocks = count / block + (count % block > 0);
    for (size_t b = my_thread(); b < blocks; b += all_threads()) {
        const size_t end = count - b * block < block ? count : (b + 1) * block;
        float most = 0;
        for (size_t i = b * block; i < end; i++)
            most = quantize_most(most, in[i]);
        scales[b] = quantize_scale(most);
    }
}

extern "C" __global__ void nccl_quantize(size_t count, size_t block, const float *in, const float *scales, int8_t *out)
{
    for (size_t i = my_thread(); i < count; i += all_threads())
        out[i] = quantize_one(in[i], scales[i / block]);
}

// ---- a training step -----------------------------------------------------------------------------------------

extern "C" __global__ void nccl_add_bias(size_t rows, size_t columns, const float *bias, float *y)
{
    for (size_t i = my_thread(); i < rows * columns; i += all_threads())
        y[i] += bias[i % columns];
}

// A thread a column, in the order of rows, as the processor's loops.
extern "C" __global__ void nccl_sum_rows(size_t rows, size_t columns, const float *y, int add, float *sums)
{
    for (size_t j = my_thread(); j < columns; j += all_threads()) {
        float sum = add ? sums[j] : 0;
        for (size_t i = 0; i < rows; i++)
            sum += y[i * columns + j];
        sums[j] = sum;
    }
}

extern "C" __global__ void nccl_relu(size_t count, float *y)
{
    map(y, count, [](float x) { return x < 0 ? 0.0f : x; }); // a NaN stays one
}

extern "C" __global__ void nccl_relu_gradient(size_t count, const float *y, float *dy)
{
    map(y, (const float *)dy, dy, count, [](float x, float gradient) { return x > 0 ? gradient : 0.0f; });
}

extern "C" __global__ void nccl_axpy(size_t count, float a, const float *x, float *y)
{
    map(x, (const float *)y, y, count, [=](float step, float value) { return value + a * step; });
}

extern "C" __global__ void nccl_squares(size_t count, const float *y, const float *target, float *gradient,
                                        double *sums)
{
    double sum = 0;
    for (size_t i = my_thread(); i < count; i += all_threads()) {
        const float difference = y[i] - target[i];
        sum += (double)difference * difference;
        gradient[i] = 2 * difference / (float)count;
    }
    sums[my_thread()] = sum;
}

extern "C" __global__ void nccl_sum(size_t count, const double *summands, double *sums)
{
    for (size_t i = my_thread(); i < NCCL_SUMS; i += all_threads()) {
        double sum = 0;
        for (size_t k = i; k < count; k += NCCL_SUMS)
            sum += summands[k];
        sums[i] = sum;
    }
}
