// SPDX-License-Identifier: MIT
// The simulator's time for a row (predict.h).

#include "cmd/bench/predict.h"

#include <math.h>

#include "cmd/bench/options.h"
#include "cmd/probe/placement.h"
#include "core/base/err.h"
#include "core/comm/comm.h"
#include "core/transport/backend.h"
#include "sim/sim.h"

// Back to back, after which one more always adds the same. Where a token bucket lets the first of them go ahead, that
// takes longer. Where hosts share a core, it may never be so: a root that only sends keeps the core for all of them.
enum { CALLS = 16, CALLS_AHEAD = 256, CALLS_SHARED = 1 << 14 };

int bench_predict_open(const struct bench_options *options, char why[CLAB_NET_WHY], struct clab_net **net_p)
{
    struct clab_net *net = NULL;
    int err =
        options->net ? clab_net_load(options->net, &net) : clab_net_load_profile(options->backend->name, why, &net);
    if (err == CLAB_OK && net)
        err = clab_net_check_ranks(net, options->nranks);
    if (err == CLAB_OK && net && options->nodes == options->nranks && options->nranks > options->cores)
        net->machine_cores = options->cores;
    if (err == CLAB_OK)
        *net_p = net;
    else
        clab_net_free(net);
    return err;
}

// Between two batches ranks run four collectives of a few bytes: two reductions of times, whether to go on, a barrier.
// Between hosts there are the round trips of a probe, too. Where hosts share cores, there is one reduction more, and a
// sleep and two probes. So long a network's ports rest, but for those messages.
static double pause_of(const struct clab_net *net, int nranks, bool probes)
{
    enum { COLLECTIVES = 4, BYTES = 8 };
    const struct clab_link *link = clab_net_link(net, 0, nranks - 1);
    const struct clab_segment *s = clab_link_segment(link, BYTES);
    const int rounds = nranks > 1 ? 32 - __builtin_clz((unsigned)nranks - 1) : 0, turns = probes ? PROBE_WIRE_TURNS : 0;
    const int sleeps = probes && net->machine_cores > 0 && nranks > net->machine_cores;
    const double each = s->buffers ? s->gap + BYTES * s->gap_send : 0;
    return (COLLECTIVES + sleeps) * fmax(0, rounds * link->alpha - each) + sleeps * BENCH_SLEEP_US * 1e-6 +
           (1 + sleeps) * turns * fmax(0, 2 * link->alpha - each);
}

// Hosts that share cores: what slows messages between cores leaves those within a core alone. For the pairs of ranks of
// which each has another core, `probed` counts.
static void share_pace(const struct clab_net *net, int nranks, struct clab_placement_sample *probed)
{
    const int cores = net->machine_cores;
    int within = 0;
    if (cores == 0 || nranks <= cores || net->probed.line <= 0)
        return;
    for (int core = 0; core < cores; core++) {
        const int ranks = (nranks - 1 - core) / cores + 1;
        within += ranks * (ranks - 1);
    }
    const double between = 1 - (double)within / (nranks * (nranks - 1));
    probed->line = net->probed.line + between * (probed->line - net->probed.line);
}

static int most_calls(const struct clab_net *net)
{
    if (net && net->machine_cores > 0)
        return CALLS_SHARED;
    return net && net->inter.burst > 0 ? CALLS_AHEAD : CALLS;
}

// The row sendrecv calls no collective: beside its messages, its two calls take next to nothing.
static double less_of(const struct clab_net *net, const struct bench_row *row, const struct bench_batch *batch)
{
    struct clab_net placed;
    if (row->problem.collective != CLAB_SENDRECV)
        return 0;
    clab_net_place(net, batch->probed, &placed);
    return placed.call;
}

// A batch begins at a barrier, right after another batch: its first calls find idle ranks, but a busy network.
double bench_predict(const struct clab_net *net, const struct bench_row *row, const struct bench_batch *batch)
{
    struct clab_sim_result result;
    const int all = batch->mode == BENCH_LATENCY ? 1 : batch->calls, most = most_calls(net);
    const int simulated = all < most ? all : most;
    struct clab_sim_options options = {
        .element_bytes = clab_type_bytes(row->type),
        .probed = batch->probed,
        .in_place = batch->placement == BENCH_IN_PLACE,
        .calls = simulated,
        .busy = true,
        .pause = net ? pause_of(net, row->problem.nranks, batch->probed.line > 0 && batch->probed.fresh == 0) : 0,
    };
    struct clab_problem problem = row->problem;
    if (net && batch->probed.line > 0)
        share_pace(net, problem.nranks, &options.probed);
    if (net && clab_net_group(net, problem.nranks))
        problem.group = clab_net_group(net, problem.nranks);
    if (!net || row->algorithm == &clab_native_algorithm ||
        clab_sim_run(&problem, row->algorithm, net, &options, &result) != CLAB_OK)
        return NAN;
    return (result.whole + (all - simulated) * result.seconds) / all - less_of(net, row, batch);
}
