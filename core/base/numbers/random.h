// SPDX-License-Identifier: MIT
// Random elements by counter: each rank's input, which every other rank can compute as well.
// - Element i of rank r is a part of a hash of (seed, r, the number of its group of 8 bytes). So a buffer gets the same
//   bits wherever filling begins.
// - Floats are random in sign and mantissa, of magnitude 1/8 to 2: the two lowest bits of their exponent are random.
// - For products (`factors`), at most CLAB_RANDOM_MANY ranks give an element another magnitude than 1, in 1/2 to 2. So
//   no partial product leaves the range of an f16.
// - Integers use all their bits; sums and products of them wrap, as in two's complement.
// Source: Steele, Lea and Flood 2014 (SplitMix64): the output function of a counter.
#pragma once

#include "core/base/numbers/pattern.h"

enum { CLAB_RANDOM_MANY = 8 };

// What the ranks of a job give.
struct clab_random {
    uint64_t seed;
    enum clab_type type;
    int nranks;
    bool factors;
};

ANYWHERE uint64_t clab_random_mix(uint64_t z)
{
    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return z ^ z >> 31;
}

// What a rank's hashes start from.
ANYWHERE uint64_t clab_random_key(uint64_t seed, int rank)
{
    return clab_random_mix(seed + UINT64_C(0x9e3779b97f4a7c15) * (uint64_t)(rank + 1)); // 2^64 over the golden ratio
}

ANYWHERE uint64_t clab_random_hash(uint64_t key, uint64_t word)
{
    return clab_random_mix(key + UINT64_C(0x9e3779b97f4a7c15) * word);
}

// How a hash becomes elements, all of its 8 bytes together: (hash & keep) | set.
struct clab_random_shape {
    uint64_t keep, set;
};

ANYWHERE struct clab_random_shape clab_random_shape_of(const struct clab_random *random)
{
    const unsigned low =
        random->factors ? 1 : 2; // bits of a float's exponent that are random: from that of [1, 2) down
    const struct clab_format f = clab_format_of(random->type);
    struct clab_random_shape shape = {UINT64_MAX, 0};
    if (f.exponent == 0)
        return shape;
    const uint64_t one = ((UINT64_C(1) << (f.exponent - 1)) - 1) << f.mantissa;
    const uint64_t free = ((UINT64_C(1) << (f.mantissa + low)) - 1) | UINT64_C(1) << (f.mantissa + f.exponent);
    const uint64_t every = UINT64_MAX / (UINT64_MAX >> (64 - 8 * f.bytes)); // 1 at the lowest bit of each element
    shape.keep = every * free;
    shape.set = every * (one & ~free);
    return shape;
}

// 8 bytes of elements, the first one lowest; but for products of many ranks.
ANYWHERE uint64_t clab_random_word(struct clab_random_shape shape, uint64_t key, uint64_t word)
{
    return (clab_random_hash(key, word) & shape.keep) | shape.set;
}

// Whether these are products of many ranks, of which some give 1 or -1 where clab_random_word says something else.
ANYWHERE bool clab_random_has_turns(const struct clab_random *random)
{
    return random->factors && random->nranks > CLAB_RANDOM_MANY && clab_is_float(random->type);
}

// Then this is what element `i` of `rank` is made of.
ANYWHERE uint64_t clab_random_in_turn(const struct clab_random *random, int rank, uint64_t i, uint64_t bits)
{
    const struct clab_format f = clab_format_of(random->type);
    const uint64_t turns = (uint64_t)(random->nranks + CLAB_RANDOM_MANY - 1) / CLAB_RANDOM_MANY;
    const uint64_t one = ((UINT64_C(1) << (f.exponent - 1)) - 1) << f.mantissa;
    return (i + (uint64_t)rank) % turns == 0 ? bits : (bits & UINT64_C(1) << (f.mantissa + f.exponent)) | one;
}

// Element `i` of `rank`, as a pattern. key: clab_random_key
ANYWHERE uint64_t clab_random_at(const struct clab_random *random, uint64_t key, int rank, uint64_t i)
{
    const unsigned bytes = clab_format_of(random->type).bytes, width = 8 * bytes, each = 8 / bytes;
    const uint64_t word = clab_random_word(clab_random_shape_of(random), key, i / each);
    const uint64_t bits = word >> (i % each * width) & UINT64_MAX >> (64 - width);
    return clab_random_has_turns(random) ? clab_random_in_turn(random, rank, i, bits) : bits;
}
