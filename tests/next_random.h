// SPDX-License-Identifier: MIT
// Numbers that look random and are the same in every run of a test.
#pragma once

#include <stdint.h>

// Any 64 bits.  source: Vigna's splitmix64
static inline uint64_t next_random(void)
{
    static uint64_t state = 42;
    uint64_t z = state += 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}
