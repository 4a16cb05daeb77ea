// SPDX-License-Identifier: MIT
// Numbers that all ranks compute alike, without communication: a hash of what all ranks know.
// Source: Steele, Lea, Flood 2014 (SplitMix64's finaliser).
#pragma once

#include <stdint.h>

static inline uint64_t clab_mix(uint64_t a, uint64_t b)
{
    uint64_t x = a ^ (b + UINT64_C(0x9e3779b97f4a7c15) + (a << 6) + (a >> 2));
    x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
    return x ^ x >> 31;
}
