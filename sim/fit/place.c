// SPDX-License-Identifier: MIT
// Telling placements of a virtual machine's cores apart (fit.h).

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/err.h"
#include "core/base/order.h"
#include "core/base/stats.h"
#include "sim/fit/fit.h"

static const double window = 2;   // from the least to the most of what is seen in one placement
static const double fewest = 0.1; // of all samples

// Of `n` sorted marks the window that holds most: where it begins; *count_p of them are in it.
static int densest(const double *sorted, int n, int *count_p)
{
    int begin = 0, most = 0;
    for (int i = 0, end = 0; i < n; i++) {
        while (end < n && sorted[end] <= window * sorted[i])
            end++;
        if (end - i > most) {
            most = end - i;
            begin = i;
        }
    }
    *count_p = most;
    return begin;
}

int clab_fit_placements(const double *marks, int n, struct clab_placements *placements_p)
{
    double *rest = n > 0 ? malloc((size_t)n * sizeof *rest) : NULL;
    struct clab_placements p = {0};
    if (!rest)
        return n > 0 ? CLAB_ENOMEM : CLAB_EINVAL;
    memcpy(rest, marks, (size_t)n * sizeof *rest);
    qsort(rest, (size_t)n, sizeof *rest, clab_order_doubles);
    for (int left = n, count; left > 0 && p.n < CLAB_FIT_PLACEMENTS; left -= count) {
        const int begin = densest(rest, left, &count);
        if (p.n && count < fewest * n)
            break;
        p.mark[p.n++] = clab_quantile(rest + begin, count, 0.5);
        memmove(rest + begin, rest + begin + count, (size_t)(left - begin - count) * sizeof *rest);
    }
    free(rest);
    *placements_p = p;
    return CLAB_OK;
}

int clab_fit_placement_of(const struct clab_placements *placements, double mark)
{
    for (int i = 0; i < placements->n; i++) {
        const double middle = placements->mark[i];
        if (mark < middle * sqrt(2 * window) && mark > middle / sqrt(2 * window))
            return i;
    }
    return -1;
}
