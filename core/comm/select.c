// SPDX-License-Identifier: MIT
// The automatic choice: a table that was measured, not a tree of magic sizes. The user's own (table.h) goes first.
// - A row holds for a load, up to `ranks` and up to `bytes` (the whole buffer, as bench counts it). The first row that
//   fits is taken. Crowded ranks (more ranks than cores) pay for every context switch, so few waits matter more than
//   few bytes. Over sockets they also pay for system calls, and all cores should share those.
// - Measured 2026-11-21 on 2 cores of an AMD EPYC (Zen 5, 32 MiB of L3), shm: roomy with 2 ranks, crowded with 4, by
//   `commlab bench all --algo all -n 2` (-n 4). Roomy rows for more than 2 ranks follow the cost formulas: they were
//   not measured, since that takes more cores. ofi over TCP was measured there on the same day: with 2 ranks the rows
//   hold for it, too (ring becomes faster than doubling between 1 and 4 MiB). Crowded ranks over TCP, same machine and
//   day, 3 to 8 ranks, 8 B to 32 KiB: with 4, 6 and 8 ranks leaders needs 0.6 to 0.9 times as long as star. With 3, 5
//   and 7 ranks, which can not be pinned, both take as long. Crowded reduce, gather and alltoall: 2026-11-28, the same
//   kind of machine, 4 and 6 ranks. Crowded broadcast, reduce, reduce_scatter and scatter over TCP, and reduce of two
//   roomy ranks: the same day, up to 768 KiB, with 6 ranks (2), where short messages of calls in a row leave as one.
//   Other rows for crowded ranks were not measured over TCP.

#include "core/comm/comm.h"
#include "core/schedule/algorithms/algorithms.h"

enum load {
    ANY_LOAD,
    ROOMY,
    CROWDED,
    ROOMY_SOCKETS,
    CROWDED_SOCKETS, // and as many ranks on each core: they are pinned in blocks then (machine.h)
};

struct choice {
    enum clab_collective collective;
    enum load load;
    int ranks;
    size_t bytes;
    const struct clab_algorithm *algorithm;
    int lanes; // 0: the algorithm's own
};

#define ANY_RANKS (1 << 30)
#define ANY_BYTES ((size_t)-1)
#define KIB(n)    ((size_t)(n) << 10)

static const struct choice choices[] = {
    {CLAB_ALLREDUCE, ROOMY, 2, KIB(1024), &clab_allreduce_doubling, 1},
    {CLAB_ALLREDUCE, ROOMY, ANY_RANKS, KIB(64), &clab_allreduce_doubling, 1},
    {CLAB_ALLREDUCE, ROOMY, ANY_RANKS, ANY_BYTES, &clab_allreduce_ring, 1},
    {CLAB_ALLREDUCE, CROWDED_SOCKETS, ANY_RANKS, KIB(64), &clab_allreduce_leaders, 1},
    {CLAB_ALLREDUCE, CROWDED, ANY_RANKS, KIB(64), &clab_allreduce_star, 1},
    {CLAB_ALLREDUCE, CROWDED, ANY_RANKS, KIB(256), &clab_allreduce_halving_doubling, 1},
    {CLAB_ALLREDUCE, CROWDED, ANY_RANKS, KIB(4096), &clab_allreduce_ring, 1},
    {CLAB_ALLREDUCE, CROWDED, ANY_RANKS, ANY_BYTES, &clab_allreduce_double_tree, 0},

    {CLAB_BROADCAST, ROOMY, ANY_RANKS, ANY_BYTES, &clab_broadcast_binomial, 1},
    {CLAB_BROADCAST, CROWDED_SOCKETS, ANY_RANKS, ANY_BYTES, &clab_broadcast_binomial, 1},
    {CLAB_BROADCAST, CROWDED, ANY_RANKS, ANY_BYTES, &clab_broadcast_flat, 1},

    {CLAB_REDUCE, ROOMY_SOCKETS, 2, KIB(64), &clab_reduce_flat, 1},
    {CLAB_REDUCE, ROOMY, ANY_RANKS, ANY_BYTES, &clab_reduce_binomial, 1},
    {CLAB_REDUCE, CROWDED_SOCKETS, ANY_RANKS, KIB(8), &clab_reduce_flat, 1},
    {CLAB_REDUCE, CROWDED_SOCKETS, ANY_RANKS, ANY_BYTES, &clab_reduce_binomial, 1},
    {CLAB_REDUCE, CROWDED, ANY_RANKS, KIB(8), &clab_reduce_binomial, 1},
    {CLAB_REDUCE, CROWDED, ANY_RANKS, KIB(128), &clab_reduce_flat, 1},
    {CLAB_REDUCE, CROWDED, ANY_RANKS, ANY_BYTES, &clab_reduce_binomial, 1},

    {CLAB_ALLGATHER, ROOMY, ANY_RANKS, KIB(64), &clab_allgather_bruck, 1},
    {CLAB_ALLGATHER, CROWDED, ANY_RANKS, KIB(64), &clab_allgather_doubling, 1},
    {CLAB_ALLGATHER, ANY_LOAD, ANY_RANKS, ANY_BYTES, &clab_allgather_ring, 1},

    {CLAB_REDUCE_SCATTER, ROOMY, ANY_RANKS, KIB(64), &clab_reduce_scatter_halving, 1},
    {CLAB_REDUCE_SCATTER, CROWDED_SOCKETS, ANY_RANKS, KIB(1024), &clab_reduce_scatter_halving, 1},
    {CLAB_REDUCE_SCATTER, CROWDED, ANY_RANKS, KIB(256), &clab_reduce_scatter_halving, 1},
    {CLAB_REDUCE_SCATTER, ANY_LOAD, ANY_RANKS, ANY_BYTES, &clab_reduce_scatter_pairwise, 1},

    {CLAB_ALLTOALL, CROWDED_SOCKETS, ANY_RANKS, KIB(32), &clab_alltoall_bruck, 1},
    {CLAB_ALLTOALL, CROWDED, ANY_RANKS, ANY_BYTES, &clab_alltoall_flat, 1},
    {CLAB_ALLTOALL, ROOMY, ANY_RANKS, ANY_BYTES, &clab_alltoall_pairwise, 1},

    {CLAB_GATHER, ROOMY, ANY_RANKS, KIB(4), &clab_gather_binomial, 1},
    {CLAB_GATHER, ROOMY, ANY_RANKS, ANY_BYTES, &clab_gather_flat, 1},
    {CLAB_GATHER, CROWDED, ANY_RANKS, ANY_BYTES, &clab_gather_flat, 1},

    {CLAB_SCATTER, ROOMY, ANY_RANKS, ANY_BYTES, &clab_scatter_flat, 1},
    {CLAB_SCATTER, CROWDED_SOCKETS, ANY_RANKS, KIB(256), &clab_scatter_binomial, 1},
    {CLAB_SCATTER, CROWDED, ANY_RANKS, ANY_BYTES, &clab_scatter_flat, 1},

    {CLAB_BARRIER, ANY_LOAD, ANY_RANKS, ANY_BYTES, &clab_barrier_dissemination, 1},

    {CLAB_SENDRECV, ANY_LOAD, ANY_RANKS, ANY_BYTES, &clab_sendrecv_shift, 1},
};

static int per_core(struct clab_placement placement, int nranks)
{
    return placement.crowded && nranks % placement.cores == 0 ? nranks / placement.cores : 0;
}

// The ranks of a node, for algorithms of two levels: those of a host where there are several, and their ranks follow each
// other. Else those per core, if each core has as many of `nranks`; else 0: the algorithm chooses.
static int group_of(struct clab_placement placement, int nranks)
{
    return placement.per_host ? placement.per_host : per_core(placement, nranks);
}

bool clab_placement_suits(struct clab_placement placement, const struct clab_algorithm *algorithm,
                          struct clab_problem *problem)
{
    problem->group = group_of(placement, problem->nranks);
    if (!problem->lanes)
        problem->lanes = algorithm->default_lanes;
    return algorithm->supports(problem);
}

static bool is_load(enum load load, const struct clab_problem *problem, struct clab_placement placement)
{
    if (load == ANY_LOAD)
        return true;
    if (load == ROOMY_SOCKETS)
        return placement.sockets && !placement.crowded;
    if (load == CROWDED_SOCKETS)
        return placement.sockets && per_core(placement, problem->nranks) > 0;
    return (load == CROWDED) == placement.crowded;
}

static bool is_for(const struct choice *c, const struct clab_problem *problem, size_t bytes,
                   struct clab_placement placement)
{
    return c->collective == problem->collective && is_load(c->load, problem, placement) &&
           problem->nranks <= c->ranks && bytes <= c->bytes && c->algorithm->supports(problem);
}

// By the user's table; NULL: no row of it fits.
static const struct clab_algorithm *select_by_table(struct clab_problem *problem, size_t bytes,
                                                    struct clab_placement placement)
{
    const struct clab_choice_table *table = placement.table;
    const struct clab_table_row *row = table ? table->rows : NULL;
    while (row && (row = clab_choice_table_find(table, row, problem, bytes, placement.nodes))) {
        struct clab_problem tried = *problem;
        tried.lanes = row->lanes;
        if (clab_placement_suits(placement, row->algorithm, &tried)) {
            *problem = tried;
            return row->algorithm;
        }
        row++;
    }
    return NULL;
}

const struct clab_algorithm *clab_select(struct clab_problem *problem, size_t element_bytes,
                                         struct clab_placement placement)
{
    const size_t bytes = problem->count * element_bytes * (size_t)clab_problem_blocks(problem);
    const struct clab_algorithm *measured = select_by_table(problem, bytes, placement);
    if (measured)
        return measured;
    for (size_t i = 0; i < sizeof choices / sizeof *choices; i++) {
        const struct choice *c = &choices[i];
        if (!is_for(c, problem, bytes, placement))
            continue;
        problem->lanes = c->lanes ? c->lanes : c->algorithm->default_lanes;
        problem->group = group_of(placement, problem->nranks);
        return c->algorithm;
    }
    return NULL;
}
