// SPDX-License-Identifier: MIT
// Telling placements of a virtual machine's cores apart (fit.h).

#include <stdlib.h>

#include "base/err.h"
#include "base/stats.h"
#include "fit.h"

static const double same = 1.5; // the factor within which lines are of one placement
static const double first = 0.05, fewest = 0.1;

static bool is_near(double line, double middle)
{
    return line < middle * same && line > middle / same;
}

// The median of those lines that are, or are not, near `middle`; *n_p of them are.
static double median_near(const double *lines, int n, double middle, bool near, double *room, int *n_p)
{
    int found = 0;
    for (int i = 0; i < n; i++)
        if (is_near(lines[i], middle) == near)
            room[found++] = lines[i];
    *n_p = found;
    return found ? clab_quantile(room, found, 0.5) : 0;
}

int clab_fit_placements(const double *lines, int n, struct clab_placements *placements_p)
{
    double *room = n > 0 ? malloc((size_t)n * sizeof *room) : NULL;
    struct clab_placements p = {.n = 1};
    int nnear, nfar, nboth;
    if (!room)
        return n > 0 ? CLAB_ENOMEM : CLAB_EINVAL;
    double middle = clab_quantile(lines, n, first), near = median_near(lines, n, middle, true, room, &nnear);
    double far = median_near(lines, n, middle, false, room, &nfar);
    if (nfar > 0)
        far = median_near(lines, n, far, true, room, &nboth);
    p.line[0] = near;
    if (nfar > 0 && nboth >= fewest * n && !is_near(far, near)) {
        bool far_first = nboth > nnear;
        p = (struct clab_placements){.n = nnear >= fewest * n ? 2 : 1,
                                     .line = {far_first ? far : near, far_first ? near : far}};
    }
    free(room);
    *placements_p = p;
    return CLAB_OK;
}

int clab_fit_placement_of(const struct clab_placements *placements, double line)
{
    for (int i = 0; i < placements->n; i++)
        if (is_near(line, placements->line[i]))
            return i;
    return -1;
}
