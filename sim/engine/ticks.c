// SPDX-License-Identifier: MIT
// How long a tick is.

#include "sim/engine/ticks.h"

#include <math.h>

enum { TICKS_LOG2 = 48, FINEST_LOG2 = -200 };

struct ticks ticks_for(double seconds)
{
    int exponent;
    frexp(seconds, &exponent); // seconds < 2^exponent
    double tick = ldexp(1, seconds > 0 && exponent - TICKS_LOG2 > FINEST_LOG2 ? exponent - TICKS_LOG2 : FINEST_LOG2);
    return (struct ticks){tick, 0x1.8p52 * tick};
}
