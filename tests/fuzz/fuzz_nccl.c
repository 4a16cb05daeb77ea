// SPDX-License-Identifier: MIT
// What NCCL has logged: numbers that are read are numbers that NCCL's model can reckon with.

#include "tests/fuzz/fuzz.h"

#include <math.h>

#include "core/base/err.h"
#include "sim/nccl/nccl.h"
#include "sim/nccl/rows.h"

static bool is_cost(double value)
{
    return isfinite(value) && value >= 0;
}

static void check_log(const struct clab_nccl_log *log, enum clab_collective collective)
{
    struct clab_nccl_machine machine = {.nodes = 2, .gpus = 8, .net_latency = 5, .nvls = true, .collnet = true};
    struct clab_nccl_costs costs = log->costs;
    enum clab_nccl_algorithm algorithm;
    enum clab_nccl_protocol protocol;
    const struct clab_nccl_tables *tables = clab_nccl_tables_find(NULL);
    must_hold(log->has_graphs || log->has_costs || log->nchoices > 0);
    must_hold(log->nchoices >= 0 && log->nchoices <= CLAB_NCCL_MOST_LOGGED && log->more_choices >= 0);
    for (int i = 0; i < log->nchoices; i++) {
        const struct clab_nccl_logged *c = &log->choices[i];
        must_hold(c->collective >= -1 && c->collective < CLAB_COLLECTIVE_COUNT && c->calls > 0);
        must_hold((int)c->algorithm >= 0 && c->algorithm < CLAB_NCCL_ALGORITHMS);
        must_hold((int)c->protocol >= 0 && c->protocol < CLAB_NCCL_PROTOCOLS);
    }
    must_hold(log->channels >= 0 && log->channels <= CLAB_NCCL_MOST_CHANNELS);
    for (int a = 0; a < CLAB_NCCL_ALGORITHMS; a++) {
        const struct clab_nccl_graph *g = &log->graphs[a];
        must_hold(!log->has_graph[a] || (g->channels >= 0 && is_cost(g->intra) && is_cost(g->inter)));
        for (int p = 0; p < CLAB_NCCL_PROTOCOLS; p++)
            must_hold(is_cost(costs.of[a][p].latency) && is_cost(costs.of[a][p].bandwidth));
        machine.graphs[a] = *g;
    }
    must_hold(clab_nccl_channels(&machine) >= 0 && clab_nccl_channels(&machine) <= CLAB_NCCL_MOST_CHANNELS);
    if (!log->has_costs && clab_nccl_model(tables, &machine, collective, &costs) != CLAB_OK)
        return;
    const int err = clab_nccl_choose(tables, &machine, collective, &costs, 1 << 20, &algorithm, &protocol);
    must_hold(err == CLAB_OK || err == CLAB_ENOENT);
    if (err == CLAB_OK)
        must_hold(is_cost(clab_nccl_time(tables, &machine, collective, &costs, algorithm, protocol, 1 << 20)));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const enum clab_collective collectives[] = {CLAB_ALLREDUCE, CLAB_BROADCAST, CLAB_ALLTOALL};
    char *text = fuzz_text(data, size);
    for (int i = 0; i < 3; i++) {
        struct clab_nccl_log log;
        fuzz_log_clear();
        const int err = clab_nccl_log_read(text, "nccl.log", collectives[i], &log);
        must_hold(err == CLAB_OK || err == CLAB_ENOENT || err == CLAB_EPARSE);
        must_hold(fuzz_log_errors == (err == CLAB_EPARSE));
        if (err == CLAB_OK)
            check_log(&log, collectives[i]);
    }
    free(text);
    return 0;
}
