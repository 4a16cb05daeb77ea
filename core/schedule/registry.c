// SPDX-License-Identifier: MIT
// The list of all algorithms, and finding one in it.

#include "core/schedule/algorithms/algorithms.h"

#include <string.h>

#include "core/base/nearest.h"

#define X(name) &clab_##name,
const struct clab_algorithm *const clab_algorithms[] = {CLAB_ALGORITHMS(X) NULL};
#undef X

void clab_algorithm_offer(enum clab_collective collective, struct clab_nearest *nearest)
{
    for (const struct clab_algorithm *const *a = clab_algorithms; *a; a++)
        if ((*a)->collective == collective)
            clab_nearest_offer(nearest, (*a)->name);
}

const struct clab_algorithm *clab_algorithm_find(enum clab_collective collective, const char *name)
{
    for (const struct clab_algorithm *const *a = clab_algorithms; *a; a++)
        if ((*a)->collective == collective && !strcmp((*a)->name, name))
            return *a;
    return NULL;
}

int clab_algorithm_number(const struct clab_algorithm *algorithm)
{
    for (int i = 0; clab_algorithms[i]; i++)
        if (clab_algorithms[i] == algorithm)
            return i + 1;
    return 0;
}
