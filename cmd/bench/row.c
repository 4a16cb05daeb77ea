// SPDX-License-Identifier: MIT
// A row of the bench's table (row.h).

#include "cmd/bench/row.h"

#include "core/schedule/formats/listing.h"

const char *bench_placement_name(enum bench_placement placement)
{
    static const char *const names[BENCH_PLACEMENTS] = {
        [BENCH_OUT_OF_PLACE] = "out of place", [BENCH_IN_PLACE] = "in place"};
    return names[placement];
}

bool bench_has_data(enum clab_collective collective)
{
    return collective != CLAB_BARRIER;
}

bool bench_has_in_place(const struct clab_problem *problem)
{
    const enum clab_collective collective = problem->collective;
    return collective != CLAB_BARRIER && !clab_problem_has_input(problem) && collective != CLAB_SENDRECV;
}

size_t bench_bytes(const struct bench_row *row)
{
    return (size_t)clab_problem_blocks(&row->problem) * row->problem.count * clab_type_bytes(row->type);
}

double bench_bus_factor(enum clab_collective collective, int nranks)
{
    const double others = (double)(nranks - 1) / nranks;
    switch (collective) {
    case CLAB_ALLREDUCE: return 2 * others;
    case CLAB_ALLGATHER:
    case CLAB_REDUCE_SCATTER:
    case CLAB_ALLTOALL:
    case CLAB_GATHER:
    case CLAB_SCATTER: return others;
    default: return 1;
    }
}

double bench_row_factor(const struct bench_row *row)
{
    const struct clab_problem *p = &row->problem;
    return clab_listing_is_custom(p->listing) ? 1 : bench_bus_factor(p->collective, p->nranks);
}

const char *bench_type_name(const struct bench_row *row)
{
    return bench_has_data(row->problem.collective) ? clab_type_name(row->type) : "none";
}

const char *bench_op_name(const struct bench_row *row)
{
    return clab_collective_reduces(row->problem.collective) ? clab_op_name(row->op) : "none";
}

int bench_root(const struct bench_row *row)
{
    return clab_collective_rooted(row->problem.collective) ? row->problem.root : -1;
}
