// SPDX-License-Identifier: MIT
// How long the suite may take: CLAB_CONFORMANCE_SECONDS=N, for ranks that share a GPU and may be a hundred times slower
// than ranks that do not. For ever, unless set.
// - All ranks leave out the same parts: a rank would wait for ever in a collective that another one leaves out. The
//   first rank that comes to a part decides, and no rank waits for that.

#include <math.h>
#include <stdlib.h>

#include "core/base/clock.h"
#include "tests/conformance/conformance.h"

double conform_deadline(void)
{
    const char *text = getenv("CLAB_CONFORMANCE_SECONDS");
    return text && *text ? clab_now() + atof(text) : INFINITY;
}

// What is known when the first rank has come to `part`: the number of the last part that is begun, or, negative, of the
// first one that is not.
static int decide(struct sweep *s, int part)
{
    int known = atomic_load(&s->shared->parts);
    while (known >= 0 && known < part) {
        const int decided = clab_now() < s->deadline ? part : -part;
        if (atomic_compare_exchange_strong(&s->shared->parts, &known, decided))
            known = decided;
    }
    return known;
}

bool conform_has_time(struct sweep *s, const char *what, const char *by)
{
    const int part = ++s->parts, known = decide(s, part);
    if (known >= 0 || part < -known)
        return true;
    if (part == -known && s->rank == 0)
        fprintf(stderr, "conformance: %d parts checked; no time for %s%s%s, nor for what comes after it\n", part - 1,
                what, by ? " by " : "", by ? by : "");
    return false;
}
