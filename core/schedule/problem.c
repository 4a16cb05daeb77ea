// SPDX-License-Identifier: MIT
// What each collective is: who holds which blocks before it, and who wants which after it. One table says it all.
// - The executor gives memory by it, the verifier judges by it.

#include "core/schedule/schedule.h"

#include <string.h>

#include "core/base/err.h"
#include "core/base/log.h"
#include "core/base/names.h"
#include "core/schedule/formats/listing.h"

// Which blocks of a buffer a rank has.
enum part { OWN, ALL, ALL_AT_ROOT };

static const struct shape {
    const char *name;
    bool reduces, rooted;
    bool per_rank; // one block a rank, else one in all
    enum part in;  // the blocks of the caller's `in`, which CLAB_DATA holds on entry (an alltoall: CLAB_INPUT)
    enum part out; // the blocks of `out`, wanted at the end
} shapes[CLAB_COLLECTIVE_COUNT] = {
    [CLAB_ALLREDUCE] = {"allreduce", true, false, false, ALL, ALL},
    [CLAB_BROADCAST] = {"broadcast", false, true, false, ALL_AT_ROOT, ALL},
    [CLAB_REDUCE] = {"reduce", true, true, false, ALL, ALL_AT_ROOT},
    [CLAB_ALLGATHER] = {"allgather", false, false, true, OWN, ALL},
    [CLAB_REDUCE_SCATTER] = {"reduce_scatter", true, false, true, ALL, OWN},
    [CLAB_ALLTOALL] = {"alltoall", false, false, true, ALL, ALL},
    [CLAB_GATHER] = {"gather", false, true, true, OWN, ALL_AT_ROOT},
    [CLAB_SCATTER] = {"scatter", false, true, true, ALL_AT_ROOT, OWN},
    [CLAB_BARRIER] = {"barrier", false, false, false, ALL, ALL},
    [CLAB_SENDRECV] = {"sendrecv", false, false, false, ALL, ALL},
};

const char *clab_collective_name(enum clab_collective collective)
{
    return shapes[collective].name;
}

const char *clab_problem_name(const struct clab_problem *problem)
{
    return clab_listing_is_custom(problem->listing) ? "custom" : clab_collective_name(problem->collective);
}

static const char *name_of(int collective)
{
    return shapes[collective].name;
}

const struct clab_names clab_collective_names = {CLAB_COLLECTIVE_COUNT, NULL, name_of};

int clab_collective_parse(const char *name, enum clab_collective *collective_p)
{
    return clab_names_parse(&clab_collective_names, name, collective_p);
}

bool clab_collective_reduces(enum clab_collective collective)
{
    return shapes[collective].reduces;
}

bool clab_collective_rooted(enum clab_collective collective)
{
    return shapes[collective].rooted;
}

int clab_problem_blocks(const struct clab_problem *problem)
{
    return shapes[problem->collective].per_rank ? problem->nranks : 1;
}

// Where `block` lies among the blocks of `part`, or -1. A rank's own block is the only one of its array.
static int place_in(enum part part, const struct clab_problem *problem, int rank, int block)
{
    switch (part) {
    case OWN: return block == rank ? 0 : -1;
    case ALL_AT_ROOT: return rank == problem->root ? block : -1;
    default: return block;
    }
}

int clab_problem_in_block(const struct clab_problem *problem, int rank, int block)
{
    return place_in(shapes[problem->collective].in, problem, rank, block);
}

int clab_problem_out_block(const struct clab_problem *problem, int rank, int block)
{
    return place_in(shapes[problem->collective].out, problem, rank, block);
}

static int blocks_in(enum part part, const struct clab_problem *problem, int rank)
{
    switch (part) {
    case OWN: return 1;
    case ALL_AT_ROOT: return rank == problem->root ? clab_problem_blocks(problem) : 0;
    default: return clab_problem_blocks(problem);
    }
}

int clab_problem_in_blocks(const struct clab_problem *problem, int rank)
{
    return blocks_in(shapes[problem->collective].in, problem, rank);
}

int clab_problem_out_blocks(const struct clab_problem *problem, int rank)
{
    return blocks_in(shapes[problem->collective].out, problem, rank);
}

int clab_problem_buffer_blocks(const struct clab_problem *problem, int rank, bool in_place)
{
    const int in = clab_problem_in_blocks(problem, rank), out = clab_problem_out_blocks(problem, rank);
    return !in_place ? in + out : in > out ? in : out;
}

bool clab_problem_has_input(const struct clab_problem *problem)
{
    return problem->collective == CLAB_ALLTOALL || (problem->listing && problem->listing->has_input);
}

bool clab_problem_holds(const struct clab_problem *problem, int rank, int block)
{
    return !clab_problem_has_input(problem) && clab_problem_in_block(problem, rank, block) >= 0;
}

bool clab_problem_wants(const struct clab_problem *problem, int rank, int block)
{
    return clab_problem_out_block(problem, rank, block) >= 0;
}

int clab_problem_origin(const struct clab_problem *problem, int rank, int block, int *input_block_p)
{
    *input_block_p = block;
    switch (problem->collective) {
    case CLAB_BROADCAST:
    case CLAB_SCATTER: return problem->root;
    case CLAB_ALLGATHER:
    case CLAB_GATHER: return block;
    case CLAB_ALLTOALL: *input_block_p = rank; return block;
    case CLAB_SENDRECV: return (rank + problem->nranks - 1) % problem->nranks;
    default: return CLAB_EVERYONE;
    }
}

size_t clab_problem_elements(const struct clab_problem *problem, int chunks, int lane, int chunk, size_t *start_p)
{
    size_t slice = clab_part_size(problem->count, problem->lanes, lane);
    *start_p = (size_t)(chunk / chunks) * problem->count + clab_part_start(problem->count, problem->lanes, lane) +
               clab_part_start(slice, chunks, chunk % chunks);
    return clab_part_size(slice, chunks, chunk % chunks);
}

size_t clab_span_elements(const struct clab_problem *problem, int chunks, int lane, struct clab_span span)
{
    size_t elements = 0, start;
    for (int chunk = span.first; chunk < span.first + span.count; chunk++)
        elements += clab_problem_elements(problem, chunks, lane, chunk, &start);
    return elements;
}

static int check_fields(const struct clab_problem *problem)
{
    const char *name = shapes[problem->collective].name;
    if (problem->nranks < 1)
        clab_error("%s: %d ranks; there must be at least 1", name, problem->nranks);
    else if (problem->root < 0 || problem->root >= problem->nranks)
        clab_error("%s: root %d is not one of the ranks 0 to %d", name, problem->root, problem->nranks - 1);
    else if (problem->lanes < 1)
        clab_error("%s: %d lanes; there must be at least 1", name, problem->lanes);
    else if (problem->group < 0)
        clab_error("%s: %d ranks per node; 0 lets the algorithm choose", name, problem->group);
    else
        return CLAB_OK;
    return CLAB_EINVAL;
}

int clab_problem_check(const struct clab_problem *problem, const struct clab_algorithm *algorithm)
{
    CLAB_TRY(check_fields(problem));
    const char *name = shapes[problem->collective].name;
    if (algorithm && algorithm->collective != problem->collective) {
        clab_error("%s: '%s' is an algorithm of %s", name, algorithm->name,
                   clab_collective_name(algorithm->collective));
        return CLAB_EINVAL;
    }
    if (algorithm && !algorithm->supports(problem)) {
        clab_error("%s: '%s' does not support %d ranks", name, algorithm->name, problem->nranks);
        return CLAB_EINVAL;
    }
    return CLAB_OK;
}
