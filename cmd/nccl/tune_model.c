// SPDX-License-Identifier: MIT
// Times by NCCL's own model (tune.h). NCCL itself takes the least of them, so a table of these pins the choices of that
// version of NCCL. Only measurements find gains.

#include "cmd/nccl/tune.h"

#include <math.h>

#include "core/base/err.h"

static int add_size(const struct nccl_believed *b, enum clab_collective collective, size_t bytes,
                    struct tune_times *times)
{
    struct tune_time time = {.function = clab_nccl_function_find(clab_collective_name(collective)),
                             .nodes = b->machine.nodes,
                             .ranks = b->machine.nodes * b->machine.gpus,
                             .channels = CLAB_NCCL_ANY,
                             .bytes = bytes};
    enum clab_nccl_algorithm algorithm;
    enum clab_nccl_protocol protocol;
    for (int a = 0; a < CLAB_NCCL_ALGORITHMS; a++)
        for (int p = 0; p < CLAB_NCCL_PROTOCOLS; p++) {
            time.algorithm = a;
            time.protocol = p;
            time.usec = clab_nccl_time(b->tables, &b->machine, collective, &b->costs, (enum clab_nccl_algorithm)a,
                                       (enum clab_nccl_protocol)p, bytes);
            if (isfinite(time.usec))
                CLAB_TRY(tune_times_add(times, time));
        }
    if (clab_nccl_choose(b->tables, &b->machine, collective, &b->costs, bytes, &algorithm, &protocol))
        return CLAB_OK;
    time.is_own = true;
    time.algorithm = (int)algorithm;
    time.protocol = (int)protocol;
    time.usec = clab_nccl_time(b->tables, &b->machine, collective, &b->costs, algorithm, protocol, bytes);
    return tune_times_add(times, time);
}

int tune_model(const struct nccl_given *given, const bool functions[], struct tune_times *times)
{
    for (int c = 0; c < CLAB_COLLECTIVE_COUNT; c++) {
        const enum clab_collective collective = (enum clab_collective)c;
        const int function = clab_nccl_function_find(clab_collective_name(collective));
        struct nccl_believed believed;
        if (function < 0 || !functions[function])
            continue;
        CLAB_TRY(nccl_given_costs(given, collective, &believed));
        for (int log2 = TUNE_SMALLEST_LOG2; log2 <= TUNE_LARGEST_LOG2; log2++)
            CLAB_TRY(add_size(&believed, collective, (size_t)1 << log2, times));
    }
    return CLAB_OK;
}
