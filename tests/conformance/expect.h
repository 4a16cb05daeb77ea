// SPDX-License-Identifier: MIT
// What every rank must find after a collective, computed from all ranks' inputs, which every rank can make.
// - Inputs are small numbers from a hash, so that every result is exact in every type, and no order of sums differs.
// - It shares no code with the library but the conversions of 16-bit floats, which have a test of their own.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "core/base/numbers/half.h"
#include "core/clab.h"

// One call of a collective by one rank of `n`.
struct kase {
    struct clab_comm *comm;
    enum clab_collective collective;
    const char *algorithm;
    int lanes, root, n, rank;
    size_t count;
    enum clab_type type;
    enum clab_op op;
    bool in_place;
    unsigned seed;
};

// -2, -1, 1 or 2, from a hash (splitmix64's finaliser). No zeros: -0 and 0 differ in bits.
static inline int number(int rank, size_t i, unsigned seed)
{
    static const int numbers[] = {-2, -1, 1, 2};
    uint64_t x = (uint64_t)rank * 0x9e3779b97f4a7c15u + i * 0xbf58476d1ce4e5b9u + seed;
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
    x = (x ^ x >> 27) * 0x94d049bb133111ebu;
    return numbers[(x ^ x >> 31) % 4];
}

// Element `i` of what `rank` gives.
static inline int64_t input(int rank, size_t i, unsigned seed, enum clab_type type)
{
    const int64_t value = number(rank, i, seed);
    return type == CLAB_U8 ? (uint8_t)value : value;
}

static inline void encode(enum clab_type type, void *data, size_t i, int64_t value)
{
    switch (type) {
    case CLAB_F32: ((float *)data)[i] = (float)value; break;
    case CLAB_F64: ((double *)data)[i] = (double)value; break;
    case CLAB_F16: ((unsigned short *)data)[i] = f16_narrow((float)value); break;
    case CLAB_BF16: ((unsigned short *)data)[i] = bf16_narrow((float)value); break;
    case CLAB_I8: ((int8_t *)data)[i] = (int8_t)value; break;
    case CLAB_U8: ((uint8_t *)data)[i] = (uint8_t)value; break;
    case CLAB_I32: ((int32_t *)data)[i] = (int32_t)value; break;
    default: ((int64_t *)data)[i] = value; break;
    }
}

// The sum's average as the type stores it. Integers truncate.
static inline void encode_average(enum clab_type type, void *data, size_t i, int64_t sum, int n)
{
    const float mean = (float)sum / (float)n;
    switch (type) {
    case CLAB_F32: ((float *)data)[i] = mean; break;
    case CLAB_F64: ((double *)data)[i] = (double)sum / n; break;
    case CLAB_F16: ((unsigned short *)data)[i] = f16_narrow(mean); break;
    case CLAB_BF16: ((unsigned short *)data)[i] = bf16_narrow(mean); break;
    case CLAB_U8: encode(type, data, i, (uint8_t)sum / n); break;
    default: encode(type, data, i, sum / n); break;
    }
}

static inline int64_t combine(enum clab_op op, int64_t a, int64_t b)
{
    switch (op) {
    case CLAB_PROD: return (int64_t)((uint64_t)a * (uint64_t)b);
    case CLAB_MIN: return a < b ? a : b;
    case CLAB_MAX: return a > b ? a : b;
    default: return a + b;
    }
}

// All ranks' elements `i`, combined, as element `at` of data.
static inline void expect_reduced(const struct kase *k, size_t i, void *data, size_t at)
{
    int64_t acc = input(0, i, k->seed, k->type);
    for (int r = 1; r < k->n; r++)
        acc = combine(k->op, acc, input(r, i, k->seed, k->type));
    if (k->op == CLAB_AVG)
        encode_average(k->type, data, at, acc, k->n);
    else
        encode(k->type, data, at, acc);
}

// Element `at` of data is element `i` of what `rank` gave.
static inline void expect_given(const struct kase *k, int rank, size_t i, void *data, size_t at)
{
    encode(k->type, data, at, input(rank, i, k->seed, k->type));
}

static inline bool has_blocks(enum clab_collective c, bool of_input)
{
    if (c == CLAB_ALLTOALL)
        return true;
    return of_input ? c == CLAB_REDUCE_SCATTER || c == CLAB_SCATTER : c == CLAB_ALLGATHER || c == CLAB_GATHER;
}

// Write what `k->rank` must find in out: (count), or (n, count). What is not promised stays as it is.
static inline void expect_out(const struct kase *k, void *out)
{
    const size_t blocks = has_blocks(k->collective, false) ? (size_t)k->n : 1, mine = (size_t)k->rank * k->count;
    if ((k->collective == CLAB_REDUCE || k->collective == CLAB_GATHER) && k->rank != k->root)
        return;
    for (size_t block = 0, at = 0; block < blocks; block++)
        for (size_t i = 0; i < k->count; i++, at++)
            switch (k->collective) {
            case CLAB_REDUCE:
            case CLAB_ALLREDUCE: expect_reduced(k, i, out, at); break;
            case CLAB_REDUCE_SCATTER: expect_reduced(k, mine + i, out, at); break;
            case CLAB_BROADCAST: expect_given(k, k->root, i, out, at); break;
            case CLAB_GATHER:
            case CLAB_ALLGATHER: expect_given(k, (int)block, i, out, at); break;
            case CLAB_SCATTER: expect_given(k, k->root, mine + i, out, at); break;
            case CLAB_ALLTOALL: expect_given(k, (int)block, mine + i, out, at); break;
            default: return;
            }
}
