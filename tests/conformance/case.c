// SPDX-License-Identifier: MIT
// One call of a collective, in memory that is poisoned before and compared as a whole afterwards.
// - Besides the result nothing has changed, neither `in`, nor what is no result at this rank, nor what lies behind the
//   buffers. expect.h has what is right.

#include "tests/conformance/conformance.h"

static const unsigned char POISON = 0xA5;

static int call(const struct kase *k, const void *in, void *out)
{
    switch (k->collective) {
    case CLAB_ALLREDUCE: return clab_allreduce(k->comm, in, out, k->count, k->type, k->op);
    case CLAB_BROADCAST: return clab_broadcast(k->comm, in, out, k->count, k->type, k->root);
    case CLAB_REDUCE: return clab_reduce(k->comm, in, out, k->count, k->type, k->op, k->root);
    case CLAB_ALLGATHER: return clab_allgather(k->comm, in, out, k->count, k->type);
    case CLAB_REDUCE_SCATTER: return clab_reduce_scatter(k->comm, in, out, k->count, k->type, k->op);
    case CLAB_ALLTOALL: return clab_alltoall(k->comm, in, out, k->count, k->type);
    case CLAB_GATHER: return clab_gather(k->comm, in, out, k->count, k->type, k->root);
    case CLAB_SCATTER: return clab_scatter(k->comm, in, out, k->count, k->type, k->root);
    default: return clab_barrier(k->comm);
    }
}

static int report(const struct kase *k, const char *what)
{
    fprintf(stderr, "rank %d of %d: %s by %s, %d lanes, root %d, %zu x %s %s, %s: %s\n", k->rank, k->n,
            clab_collective_name(k->collective), k->algorithm, k->lanes, k->root, k->count, clab_type_name(k->type),
            clab_op_name(k->op), k->in_place ? "in place" : "out of place", what);
    return 1;
}

// Where a case's buffers lie: out, guard, in, guard; or, in place, one in the other.
struct places {
    char *in, *out, *end;
    size_t in_bytes, out_bytes;
};

static struct places lay_out(const struct kase *k, char *memory)
{
    const size_t block = k->count * clab_type_bytes(k->type), n = (size_t)k->n, mine = (size_t)k->rank * block;
    const bool many_in = has_blocks(k->collective, true), many_out = has_blocks(k->collective, false);
    struct places p = {.in_bytes = many_in ? n * block : block, .out_bytes = many_out ? n * block : block};
    p.out = memory;
    p.in = memory + p.out_bytes + GUARD;
    p.end = p.in + p.in_bytes + GUARD;
    if (k->in_place && many_out)
        p.in = p.out + mine;
    else if (k->in_place && many_in)
        p.out = p.in + mine;
    else if (k->in_place)
        p.in = p.out;
    return p;
}

static const char *what_changed(const struct places *p, const char *memory, const char *expected)
{
    size_t i = 0;
    while (memory[i] == expected[i])
        i++;
    if (memory + i >= p->out && memory + i < p->out + p->out_bytes)
        return "out is wrong";
    return memory + i >= p->in && memory + i < p->in + p->in_bytes ? "in has changed" : "memory beside was written";
}

int conform_case(struct clab_job *job, const struct kase *k, char *memory, char *seen, char *expected)
{
    const struct places p = lay_out(k, memory), here = lay_out(k, seen);
    const size_t bytes = (size_t)(p.end - memory), each = clab_type_bytes(k->type);
    const bool gives = (k->collective != CLAB_BROADCAST && k->collective != CLAB_SCATTER) || k->rank == k->root;
    memset(seen, POISON, bytes);
    for (size_t i = 0; gives && i < p.in_bytes / each; i++)
        encode(k->type, here.in, i, input(k->rank, i, k->seed, k->type));
    memcpy(expected, seen, bytes);
    expect_out(k, expected + (here.out - seen));
    must(clab_copy(job, memory, seen, bytes));
    if (call(k, p.in, p.out) != CLAB_OK)
        return report(k, "the call failed");
    must(clab_copy(job, seen, memory, bytes));
    return memcmp(seen, expected, bytes) ? report(k, what_changed(&here, seen, expected)) : 0;
}
