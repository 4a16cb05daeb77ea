// SPDX-License-Identifier: MIT
// What ranks give, and whether what they got is right.
//
// - Element i of rank r is a hash of (seed, r, i): any rank can compute what any other gave, so the expected result
//   needs no second communication, and nothing of the library.
// - Floats are random in sign and mantissa, of magnitude 1/8 to 2. For products at most MANY ranks give other
//   magnitudes than 1 to an element, in 1/2 to 2, so that no partial product leaves the range of an f16.
// - Integers use all their bits; sums and products wrap, as two's complement does.
//
// What is expected of a float sum, in any order, of values x: |result - reference| <= (P - 1) u sum |x| with the unit
// roundoff u of the type. Source: Higham 2002, section 4.2; without its second order terms Jeannerod and Rump 2013.
// It does not check what lies outside of the buffers.

#include "bench.h"

#include <string.h>

enum { WINDOW = 512, MANY = 8 };      // windows are what is generated, and checked, at a time
enum { GENERATED_AT_MOST = 1 << 25 }; // elements the checks on a core may compute: about 0.1 s

// ---- what ranks give -----------------------------------------------------------------------------------------

// Source: Steele, Lea and Flood 2014 (SplitMix64): the output function of a counter.
static uint64_t mix(uint64_t z)
{
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

// Random bits made floats: sign, mantissa, and 0 to 3 as a power of two below [1, 2).
static void make_floats(struct bench_format f, size_t n, uint64_t bits[])
{
    const uint64_t bias = ((uint64_t)1 << (f.exponent - 1)) - 1, mantissa = ((uint64_t)1 << f.mantissa) - 1;
    for (size_t i = 0; i < n; i++)
        bits[i] = (bits[i] >> 61 & 1) << (f.mantissa + f.exponent) | (bias - (bits[i] >> 62)) << f.mantissa |
                  (bits[i] & mantissa);
}

// Likewise 0 or 1 as the power, and 1 or -1 unless it is the turn of `rank` to give something else.
static void make_factors(struct bench_format f, size_t n, uint64_t bits[], size_t first, int rank, int nranks)
{
    const uint64_t bias = ((uint64_t)1 << (f.exponent - 1)) - 1, mantissa = ((uint64_t)1 << f.mantissa) - 1;
    const size_t turns = (size_t)(nranks + MANY - 1) / MANY;
    for (size_t i = 0; i < n; i++) {
        const uint64_t sign = (bits[i] >> 61 & 1) << (f.mantissa + f.exponent), one = bias << f.mantissa;
        const uint64_t other = (bias - (bits[i] >> 63)) << f.mantissa | (bits[i] & mantissa);
        bits[i] = sign | ((first + i + (size_t)rank) % turns ? one : other);
    }
}

// Elements [first, first + n) of `rank`, as bit patterns.
static void generate(uint64_t seed, const struct bench_row *row, int rank, size_t first, size_t n, uint64_t bits[])
{
    const uint64_t step = 0x9e3779b97f4a7c15u; // 2^64 over the golden ratio
    const uint64_t key = mix(seed + step * (uint64_t)(rank + 1));
    for (size_t i = 0; i < n; i++)
        bits[i] = mix(key + step * (uint64_t)(first + i));
    if (!bench_is_float(row->type))
        bench_cut(bits, n, row->type);
    else if (row->op == CLAB_PROD && clab_collective_reduces(row->problem.collective))
        make_factors(bench_formats[row->type], n, bits, first, rank, row->problem.nranks);
    else
        make_floats(bench_formats[row->type], n, bits);
}

void bench_data_fill(uint64_t seed, const struct bench_row *row, int rank, size_t first, size_t count, void *out)
{
    const size_t bytes = clab_type_bytes(row->type);
    uint64_t bits[WINDOW];
    for (size_t i = 0; i < count; i += WINDOW) {
        const size_t n = count - i < WINDOW ? count - i : WINDOW;
        generate(seed, row, rank, first + i, n, bits);
        bench_narrow(bits, n, bytes, (char *)out + i * bytes);
    }
}

// ---- what comes of it ----------------------------------------------------------------------------------------

enum { ALL_RANKS = -1 };

// The source of a block of out: elements [first, first + count) that `rank` gave, or of ALL_RANKS, reduced.
struct origin {
    int rank;
    size_t first;
};

static struct origin origin_of(const struct clab_problem *p, int rank, int block)
{
    const size_t mine = (size_t)rank * p->count;
    switch (p->collective) {
    case CLAB_BROADCAST: return (struct origin){p->root, 0};
    case CLAB_ALLGATHER:
    case CLAB_GATHER: return (struct origin){block, 0};
    case CLAB_REDUCE_SCATTER: return (struct origin){ALL_RANKS, mine};
    case CLAB_SCATTER: return (struct origin){p->root, mine};
    case CLAB_ALLTOALL: return (struct origin){block, mine};
    case CLAB_SENDRECV: return (struct origin){(rank + p->nranks - 1) % p->nranks, 0};
    default: return (struct origin){ALL_RANKS, 0};
    }
}

static size_t count_differing(const uint64_t a[], const uint64_t b[], size_t n)
{
    size_t differing = 0;
    for (size_t i = 0; i < n; i++)
        differing += a[i] != b[i];
    return differing;
}

static int64_t combine_integers(enum clab_op op, int64_t a, int64_t b)
{
    switch (op) {
    case CLAB_PROD: return (int64_t)((uint64_t)a * (uint64_t)b);
    case CLAB_MIN: return a < b ? a : b;
    case CLAB_MAX: return a < b ? b : a;
    default: return (int64_t)((uint64_t)a + (uint64_t)b);
    }
}

static size_t check_integers(uint64_t seed, const struct bench_row *row, size_t first, size_t n, const uint64_t got[])
{
    uint64_t bits[WINDOW];
    int64_t expected[WINDOW], given[WINDOW];
    for (int rank = 0; rank < row->problem.nranks; rank++) {
        generate(seed, row, rank, first, n, bits);
        bench_as_integers(bits, n, row->type, given);
        for (size_t i = 0; i < n; i++)
            expected[i] = rank ? combine_integers(row->op, expected[i], given[i]) : given[i];
    }
    memcpy(bits, expected, n * sizeof *bits);
    if (row->op == CLAB_AVG) {
        bench_as_integers(bits, n, row->type, expected); // a sum wraps before it is divided
        for (size_t i = 0; i < n; i++)
            bits[i] = (uint64_t)(expected[i] / row->problem.nranks);
    }
    bench_cut(bits, n, row->type);
    return count_differing(bits, got, n);
}

static double combine_floats(enum clab_op op, double a, double b)
{
    switch (op) {
    case CLAB_PROD: return a * b;
    case CLAB_MIN: return a < b ? a : b;
    case CLAB_MAX: return a < b ? b : a;
    default: return a + b;
    }
}

// How far a result may be from the reference: `relative` to the sum of all |x|, or to the |product|, and `least`.
struct bound {
    double relative, least;
};

static struct bound bound_of(const struct bench_row *row)
{
    const struct bench_format f = bench_formats[row->type];
    const int nranks = row->problem.nranks;
    const double by_f32 = clab_type_bytes(row->type) == 2 ? 0x1p-23 : 0; // 16 bits are rounded twice
    const double u = ldexp(1, -f.mantissa - 1) + by_f32 + 0x1p-53;       // and the reference is rounded, too
    const double subnormal = ldexp(1, 2 - (1 << (f.exponent - 1)) - f.mantissa);
    const double sum = (nranks - 1) * u;
    switch (row->op) {
    case CLAB_PROD: return (struct bound){MANY * u, 0}; // more than (1 + u)^(MANY - 1) - 1: a factor of 1 is exact
    case CLAB_MIN:
    case CLAB_MAX: return (struct bound){0, 0};
    case CLAB_AVG: return (struct bound){(sum + u * (1 + sum)) / nranks, subnormal};
    default: return (struct bound){sum, 0};
    }
}

// The reference, and what its bound is relative to.
static void reduce_floats(uint64_t seed, const struct bench_row *row, size_t first, size_t n, double expected[],
                          double sizes[])
{
    uint64_t bits[WINDOW];
    double given[WINDOW];
    for (int rank = 0; rank < row->problem.nranks; rank++) {
        generate(seed, row, rank, first, n, bits);
        bench_as_doubles(bits, n, row->type, given);
        for (size_t i = 0; i < n; i++) {
            expected[i] = rank ? combine_floats(row->op, expected[i], given[i]) : given[i];
            sizes[i] = (rank ? sizes[i] : 0) + fabs(given[i]);
        }
    }
    for (size_t i = 0; i < n && row->op == CLAB_PROD; i++)
        sizes[i] = fabs(expected[i]);
}

static size_t check_floats(uint64_t seed, const struct bench_row *row, size_t first, size_t n, const uint64_t got[])
{
    const struct bound bound = bound_of(row);
    const double divisor = row->op == CLAB_AVG ? row->problem.nranks : 1;
    double expected[WINDOW], sizes[WINDOW], values[WINDOW];
    size_t wrong = 0;
    reduce_floats(seed, row, first, n, expected, sizes);
    bench_as_doubles(got, n, row->type, values);
    for (size_t i = 0; i < n; i++) // a NaN is wrong
        wrong += !(fabs(values[i] - expected[i] / divisor) <= bound.relative * sizes[i] + bound.least);
    return wrong;
}

// ---- checks --------------------------------------------------------------------------------------------------

static size_t check_window(uint64_t seed, const struct bench_row *row, struct origin origin, size_t n,
                           const void *elements)
{
    uint64_t got[WINDOW], expected[WINDOW];
    bench_widen(elements, n, clab_type_bytes(row->type), got);
    if (origin.rank == ALL_RANKS)
        return bench_is_float(row->type) ? check_floats(seed, row, origin.first, n, got)
                                         : check_integers(seed, row, origin.first, n, got);
    generate(seed, row, origin.rank, origin.first, n, expected);
    return count_differing(expected, got, n);
}

// Every `stride`-th window of a block, from one that the seed and the rank choose, so that ranks look at different ones;
// and those at both ends.
static size_t check_block(uint64_t seed, const struct bench_row *row, int rank, struct origin origin, const char *block,
                          size_t stride)
{
    const size_t count = row->problem.count, bytes = clab_type_bytes(row->type);
    const size_t shift = (seed + (uint64_t)rank) % stride;
    size_t wrong = 0;
    for (size_t i = 0; i < count; i += WINDOW) {
        const bool at_end = i == 0 || i + WINDOW >= count;
        const size_t n = count - i < WINDOW ? count - i : WINDOW;
        if (at_end || (i / WINDOW + shift) % stride == 0)
            wrong += check_window(seed, row, (struct origin){origin.rank, origin.first + i}, n, block + i * bytes);
    }
    return wrong;
}

size_t bench_data_stride(const struct bench_row *row, int rank, int crowd)
{
    const size_t most = GENERATED_AT_MOST / (size_t)crowd;
    const size_t each = clab_collective_reduces(row->problem.collective) ? (size_t)row->problem.nranks : 1;
    const size_t all = (size_t)bench_out_blocks(&row->problem, rank) * row->problem.count * each;
    return all / most + (all % most > 0) + (all == 0);
}

size_t bench_data_check(uint64_t seed, const struct bench_row *row, int rank, const void *out, size_t stride)
{
    const size_t block_bytes = row->problem.count * clab_type_bytes(row->type);
    const int blocks = bench_out_blocks(&row->problem, rank);
    size_t wrong = 0;
    for (int b = 0; b < blocks; b++)
        wrong += check_block(seed, row, rank, origin_of(&row->problem, rank, b),
                             (const char *)out + (size_t)b * block_bytes, stride);
    return wrong;
}

size_t bench_data_check_input(uint64_t seed, const struct bench_row *row, int rank, const void *in, size_t stride)
{
    const size_t block_bytes = row->problem.count * clab_type_bytes(row->type);
    const int blocks = bench_in_blocks(&row->problem, rank);
    size_t wrong = 0;
    for (int b = 0; b < blocks; b++)
        wrong += check_block(seed, row, rank, (struct origin){rank, (size_t)b * row->problem.count},
                             (const char *)in + (size_t)b * block_bytes, stride);
    return wrong;
}
