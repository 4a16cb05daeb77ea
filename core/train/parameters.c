// SPDX-License-Identifier: MIT
#include "train/parameters.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/mix.h"
#include "clab.h"

static uint64_t hash(const struct clab_parameter parameters[], int n)
{
    uint64_t h = (uint64_t)n;
    for (int p = 0; p < n; p++)
        for (size_t i = 0; i < parameters[p].count; i++) {
            uint32_t bits;
            memcpy(&bits, &parameters[p].value[i], sizeof bits);
            h = clab_mix(h, bits);
        }
    return h;
}

int clab_parameters_compare(struct clab_comm *comm, const struct clab_parameter parameters[], int n, int *other_p)
{
    const int nranks = clab_comm_ranks(comm);
    const uint64_t mine = hash(parameters, n);
    uint64_t *all = malloc((size_t)nranks * sizeof *all);
    int err = all ? clab_allgather(comm, &mine, all, 1, CLAB_I64) : CLAB_ENOMEM, other = -1;
    for (int r = nranks - 1; !err && r > 0; r--)
        if (all[r] != all[0])
            other = r;
    free(all);
    if (!err)
        *other_p = other;
    return err;
}

double clab_parameters_bound(int steps, double terms, double moved, double largest)
{
    const double u = 0x1p-24, g = terms * u / (1 - terms * u);
    return (pow(3, steps) - 1) / 2 * (2 * g * moved + 2 * u * largest);
}
