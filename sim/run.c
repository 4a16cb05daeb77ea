// SPDX-License-Identifier: MIT
// clab_sim_run: check the question, choose the engine, time it.

#include "base/clock.h"
#include "base/err.h"
#include "base/log.h"
#include "engine.h"
#include "slices.h"

// Above this many messages the dataflow engine would take more than some ten seconds.
#define MESSAGES_AT_MOST 5e7

// Blocks that `rank` has in its two buffers; in place, one of them lies in the other.
static size_t blocks_at(const struct clab_problem *p, int rank, bool in_place)
{
    size_t in = 0, out = 0;
    for (int b = 0; b < clab_problem_blocks(p); b++) {
        in += clab_problem_in_block(p, rank, b) >= 0;
        out += clab_problem_out_block(p, rank, b) >= 0;
    }
    if (in_place)
        return in > out ? in : out;
    return in + out;
}

// Bytes of all ranks' buffers, and of the algorithm's scratch memory.
static size_t footprint_of(const struct clab_problem *p, const struct clab_algorithm *algorithm,
                           const struct clab_sim_options *options)
{
    size_t blocks = (size_t)p->nranks * (size_t)algorithm->scratch(p);
    for (int rank = 0; rank < p->nranks; rank++)
        blocks += blocks_at(p, rank, options->in_place);
    return blocks * p->count * options->element_bytes;
}

static double messages_of(const struct clab_problem *p, const struct clab_algorithm *algorithm, int calls)
{
    return (double)algorithm->claim(p).rounds * p->nranks * p->lanes * (calls > 1 ? calls : 1);
}

static int check(const struct clab_problem *problem, const struct clab_algorithm *algorithm, const struct clab_net *net,
                 const struct clab_sim_options *options)
{
    CLAB_TRY(clab_problem_check(problem, algorithm));
    if (problem->lanes > SIM_MAX_LANES) {
        clab_error("the simulator has at most %d lanes, not %d", SIM_MAX_LANES, problem->lanes);
        return CLAB_EINVAL;
    }
    if (options->element_bytes == 0) {
        clab_error("an element of 0 bytes can not be priced");
        return CLAB_EINVAL;
    }
    return clab_net_check_ranks(net, problem->nranks);
}

int clab_sim_run(const struct clab_problem *problem, const struct clab_algorithm *algorithm, const struct clab_net *net,
                 const struct clab_sim_options *options, struct clab_sim_result *result_p)
{
    CLAB_TRY(check(problem, algorithm, net, options));
    struct clab_sim_options o = *options;
    struct clab_sim_result result = {0};
    struct clab_net placed;
    clab_net_place(net, options->line, &placed);
    bool closed = o.engine == CLAB_ENGINE_CLOSED ||
                  (o.engine == CLAB_ENGINE_AUTO && messages_of(problem, algorithm, o.calls) > MESSAGES_AT_MOST);
    double begin = clab_now();
    if (o.footprint == 0 && placed.nlevels > 0)
        o.footprint = footprint_of(problem, algorithm, &o);
    CLAB_TRY((closed ? clab_engine_closed : clab_engine_full)(problem, algorithm, &placed, &o, &result));
    result.engine = closed ? "closed" : "full";
    result.engine_seconds = clab_now() - begin;
    *result_p = result;
    return CLAB_OK;
}
