// SPDX-License-Identifier: MIT
#include "core/train/parameters.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/mix.h"
#include "core/clab.h"

static uint64_t hash_values(uint64_t h, const float values[], size_t count)
{
    for (size_t i = 0; i < count; i++) {
        uint32_t bits;
        memcpy(&bits, &values[i], sizeof bits);
        h = clab_mix(h, bits);
    }
    return h;
}

// Values may be a device's.
static int hash(struct clab_job *job, const struct clab_parameter parameters[], int n, uint64_t *hash_p)
{
    uint64_t h = (uint64_t)n;
    size_t most = 1;
    for (int p = 0; p < n; p++)
        most = parameters[p].count > most ? parameters[p].count : most;
    float *values = malloc(most * sizeof *values);
    int err = values ? CLAB_OK : CLAB_ENOMEM;
    for (int p = 0; !err && p < n; p++) {
        err = clab_copy(job, values, parameters[p].value, parameters[p].count * sizeof *values);
        if (!err)
            h = hash_values(h, values, parameters[p].count);
    }
    free(values);
    *hash_p = h;
    return err;
}

int clab_parameters_compare(struct clab_comm *comm, const struct clab_parameter parameters[], int n, int *other_p)
{
    const int nranks = clab_comm_ranks(comm);
    uint64_t mine, *all = malloc((size_t)nranks * sizeof *all);
    int err = all ? hash(clab_comm_job(comm), parameters, n, &mine) : CLAB_ENOMEM, other = -1;
    if (!err)
        err = clab_allgather(comm, &mine, all, 1, CLAB_I64);
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
