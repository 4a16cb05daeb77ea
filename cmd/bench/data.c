// SPDX-License-Identifier: MIT
// The data of a call, and its check (data.h), on the device that holds the buffers.
//
// - Each rank can compute every other rank's input (core/base/numbers/random.h). So the expected result needs neither
//   communication nor the library.
// - Bytes outside the buffers are not checked.

#include "cmd/bench/data.h"

#include "core/schedule/formats/listing.h"
#include "core/transport/backend.h"

enum { GENERATED_AT_MOST = 1 << 25 }; // elements the checks on a core may compute: about 0.1 s

// ---- what ranks give -----------------------------------------------------------------------------------------

static struct clab_random random_of(uint64_t seed, const struct bench_row *row)
{
    return (struct clab_random){
        .seed = seed,
        .type = row->type,
        .nranks = row->problem.nranks,
        .factors = row->op == CLAB_PROD && clab_collective_reduces(row->problem.collective),
    };
}

void bench_data_fill(const struct clab_device *device, uint64_t seed, const struct bench_row *row, int rank,
                     size_t first, size_t count, void *out)
{
    const struct clab_random random = random_of(seed, row);
    device->fill(&random, rank, first, count, out);
}

// ---- what comes of it ----------------------------------------------------------------------------------------

// The expected source of a block of `out`: elements [first, first + count) of the input of `rank`, or of all inputs
// reduced (CLAB_ALL_RANKS).
struct origin {
    int rank;
    size_t first;
};

static struct origin origin_of(const struct clab_problem *p, int rank, int block)
{
    const size_t mine = (size_t)rank * p->count;
    switch (p->collective) {
    case CLAB_BROADCAST: return (struct origin){p->root, 0};
    case CLAB_ALLGATHER:
    case CLAB_GATHER: return (struct origin){block, 0};
    case CLAB_REDUCE_SCATTER: return (struct origin){CLAB_ALL_RANKS, mine};
    case CLAB_SCATTER: return (struct origin){p->root, mine};
    case CLAB_ALLTOALL: return (struct origin){block, mine};
    case CLAB_SENDRECV: return (struct origin){(rank + p->nranks - 1) % p->nranks, 0};
    default: return (struct origin){CLAB_ALL_RANKS, 0};
    }
}

// ---- checks --------------------------------------------------------------------------------------------------

// Every `stride`-th window of a block. The seed and the rank choose the first one, so ranks check different windows.
static size_t check_block(const struct clab_device *device, uint64_t seed, const struct bench_row *row, int rank,
                          struct origin origin, const void *block, size_t stride)
{
    const struct clab_expected expected = {
        .random = random_of(seed, row),
        .rank = origin.rank,
        .op = row->op,
        .first = origin.first,
        .count = row->problem.count,
        .stride = stride,
        .shift = (seed + (uint64_t)rank) % stride,
    };
    return device->check(&expected, block);
}

// Of a collective of a file's own, what each chunk holds was found by proving it.
static size_t check_custom(const struct clab_device *device, uint64_t seed, const struct bench_row *row, int rank,
                           const char *out, size_t stride)
{
    const struct clab_listing *l = row->problem.listing;
    const size_t each = row->problem.count / (size_t)l->chunks, bytes = each * clab_type_bytes(row->type);
    struct bench_row chunk = *row;
    size_t wrong = 0;
    chunk.problem.count = each;
    for (int c = 0; c < l->outputs[rank]; c++) {
        const struct clab_end *end = &l->ends[(size_t)rank * (size_t)l->chunks + (size_t)c];
        const struct origin origin = {end->origin == CLAB_EVERYONE ? CLAB_ALL_RANKS : end->origin,
                                      (size_t)end->chunk * each};
        wrong += check_block(device, seed, &chunk, rank, origin, out + (size_t)c * bytes, stride);
    }
    return wrong;
}

size_t bench_data_stride(const struct bench_row *row, int rank, int crowd)
{
    const size_t most = GENERATED_AT_MOST / (size_t)crowd;
    const size_t each = clab_collective_reduces(row->problem.collective) ? (size_t)row->problem.nranks : 1;
    const size_t all = (size_t)clab_problem_out_blocks(&row->problem, rank) * row->problem.count * each;
    return all / most + (all % most > 0) + (all == 0);
}

size_t bench_data_check(const struct clab_device *device, uint64_t seed, const struct bench_row *row, int rank,
                        const void *out, size_t stride)
{
    const size_t block_bytes = row->problem.count * clab_type_bytes(row->type);
    const int blocks = clab_problem_out_blocks(&row->problem, rank);
    size_t wrong = 0;
    if (clab_listing_is_custom(row->problem.listing))
        return check_custom(device, seed, row, rank, out, stride);
    for (int b = 0; b < blocks; b++)
        wrong += check_block(device, seed, row, rank, origin_of(&row->problem, rank, b),
                             (const char *)out + (size_t)b * block_bytes, stride);
    return wrong;
}

size_t bench_data_check_input(const struct clab_device *device, uint64_t seed, const struct bench_row *row, int rank,
                              const void *in, size_t stride)
{
    const size_t block_bytes = row->problem.count * clab_type_bytes(row->type);
    const int blocks = clab_problem_in_blocks(&row->problem, rank);
    size_t wrong = 0;
    for (int b = 0; b < blocks; b++)
        wrong += check_block(device, seed, row, rank, (struct origin){rank, (size_t)b * row->problem.count},
                             (const char *)in + (size_t)b * block_bytes, stride);
    return wrong;
}
