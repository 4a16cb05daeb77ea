// SPDX-License-Identifier: MIT
// The simulator's time for a row (predict.h).

#include "cmd/bench/predict.h"

#include <math.h>

#include "cmd/bench/options.h"
#include "core/base/err.h"
#include "core/comm/comm.h"
#include "core/transport/backend.h"
#include "sim/sim.h"

enum { CALLS = 16 }; // back to back, after which one more always adds the same

int bench_predict_open(const struct bench_options *options, char why[CLAB_NET_WHY], struct clab_net **net_p)
{
    struct clab_net *net = NULL;
    int err =
        options->net ? clab_net_load(options->net, &net) : clab_net_load_profile(options->backend->name, why, &net);
    if (err == CLAB_OK && net)
        err = clab_net_check_ranks(net, options->nranks);
    if (err == CLAB_OK)
        *net_p = net;
    else
        clab_net_free(net);
    return err;
}

// A batch begins at a barrier, right after another batch: its first calls find idle ranks, but a busy network.
double bench_predict(const struct clab_net *net, const struct bench_row *row, const struct bench_batch *batch)
{
    struct clab_sim_result result;
    const int all = batch->mode == BENCH_LATENCY ? 1 : batch->calls, simulated = all < CALLS ? all : CALLS;
    const struct clab_sim_options options = {
        .element_bytes = clab_type_bytes(row->type),
        .probed = batch->probed,
        .in_place = batch->placement == BENCH_IN_PLACE,
        .calls = simulated,
        .busy = true,
    };
    struct clab_problem problem = row->problem;
    if (net && clab_net_group(net, problem.nranks))
        problem.group = clab_net_group(net, problem.nranks);
    if (!net || row->algorithm == &clab_native_algorithm ||
        clab_sim_run(&problem, row->algorithm, net, &options, &result) != CLAB_OK)
        return NAN;
    return (result.whole + (all - simulated) * result.seconds) / all;
}
