// SPDX-License-Identifier: MIT
// Time as whole numbers of ticks, held in doubles: sums and differences are exact, so that their order does not matter
// and n times a cost is what n additions give. Engines that add in different orders, or multiply where another adds,
// agree to the bit.
// - A tick is a power of two of a second, so small that an answer has about 2^48 of them: nearly as fine as doubles
//   are.
// - Costs are rounded to ticks once, where they are computed; clocks need no rounding. Beyond 2^52 ticks sums round
//   again as doubles do, and engines may differ in the last bits.
#pragma once

struct ticks {
    double tick;  // s
    double magic; // 1.5 * 2^52 ticks: the doubles near it are a tick apart
};

// Ticks for answers of about `seconds`, >= 0.
struct ticks ticks_for(double seconds);

// To the nearest tick; |seconds| < 2^51 ticks.
static inline double ticks_round(struct ticks t, double seconds)
{
    return seconds + t.magic - t.magic;
}
