// SPDX-License-Identifier: MIT
// Collectives of the fake libnccl: all say where their data is, each takes what it needs from where it lies, and goes
// on when all have.
//
// - Sums go over the ranks in their order, each slice at one rank: all get the same bits, and each time.
// - Ranks that disagree on collective, type, operation, root or count hang, which is said with NCCL_DEBUG=WARN: the
//   real ones hang, or give garbage.

#include "tests/fakes/nccl_inside.h"

#include <string.h>

// Where the `in` or `out` of a rank begins.
static const char *in_of(ncclComm_t comm, int rank)
{
    return memory_bytes(comm->members[rank].memory) + comm->segment->offers[rank].in;
}

static const char *out_of(ncclComm_t comm, int rank)
{
    return memory_bytes(comm->members[rank].memory) + comm->segment->offers[rank].out;
}

static void take(char *to, const char *from, size_t bytes)
{
    if (bytes)
        memcpy(to, from, bytes);
}

// In place, a rank's own part is there: its own memory is the same bytes at another address.
static void take_from(ncclComm_t comm, const struct task *task, int rank, size_t skip, char *to, size_t bytes)
{
    if (rank != comm->rank)
        take(to, in_of(comm, rank) + skip, bytes);
    else if (task->from + skip != to)
        take(to, task->from + skip, bytes);
}

// Elements [first, first + count) of all, reduced.
static void reduce_all(ncclComm_t comm, const struct task *task, size_t first, size_t count, char *out)
{
    const void *in[MAX_RANKS];
    const size_t skip = first * type_bytes(task->type);
    for (int rank = 0; rank < comm->nranks; rank++)
        in[rank] = rank == comm->rank ? task->from + skip : in_of(comm, rank) + skip;
    reduce(out, in, comm->nranks, count, task->type, task->op);
}

// Slice i of n over `count` elements begins here.
static size_t slice(size_t count, int n, int i)
{
    return count * (size_t)i / (size_t)n;
}

// Each rank reduces its slice, then takes the others'. In place, nobody else reads the slice that it overwrites.
static bool all_reduce(ncclComm_t comm, const struct task *task)
{
    const size_t size = type_bytes(task->type);
    const int n = comm->nranks;
    const size_t mine = slice(task->count, n, comm->rank), end = slice(task->count, n, comm->rank + 1);
    reduce_all(comm, task, mine, end - mine, task->to + mine * size);
    if (!gate_pass(comm, &comm->segment->collective))
        return false;
    for (int rank = 0; rank < n; rank++) {
        const size_t first = slice(task->count, n, rank), last = slice(task->count, n, rank + 1);
        if (rank != comm->rank)
            take(task->to + first * size, out_of(comm, rank) + first * size, (last - first) * size);
    }
    return true;
}

// What this rank takes, when all have offered.
static bool take_part(ncclComm_t comm, const struct task *task)
{
    const size_t bytes = task->count * type_bytes(task->type), me = (size_t)comm->rank;
    const bool is_root = comm->rank == task->root;
    switch (task->kind) {
    case ALL_REDUCE: return all_reduce(comm, task);
    case BROADCAST: take_from(comm, task, task->root, 0, task->to, bytes); break;
    case SCATTER: take_from(comm, task, task->root, me * bytes, task->to, bytes); break;
    case REDUCE:
        if (is_root)
            reduce_all(comm, task, 0, task->count, task->to);
        break;
    case REDUCE_SCATTER: reduce_all(comm, task, me * task->count, task->count, task->to); break;
    case ALL_GATHER:
    case GATHER:
        for (int rank = 0; rank < comm->nranks && (is_root || task->kind == ALL_GATHER); rank++)
            take_from(comm, task, rank, 0, task->to + (size_t)rank * bytes, bytes);
        break;
    case ALL_TO_ALL:
        for (int rank = 0; rank < comm->nranks; rank++)
            take_from(comm, task, rank, me * bytes, task->to + (size_t)rank * bytes, bytes);
        break;
    case SEND:
    case RECV: break;
    }
    return true;
}

static bool all_agree(ncclComm_t comm)
{
    const struct offer *offers = comm->segment->offers;
    for (int rank = 0; rank < comm->nranks; rank++) {
        const struct terms *mine = &offers[comm->rank].terms, *other = &offers[rank].terms;
        if (memcmp(mine, other, sizeof *mine)) {
            warn(ncclInvalidUsage,
                 "rank %d calls collective %u (count %zu, type %u, op %u, root %u), rank %d %u (%zu, %u, %u, %u): "
                 "all hang",
                 comm->rank, mine->kind, (size_t)mine->count, mine->type, mine->op, mine->root, rank, other->kind,
                 (size_t)other->count, other->type, other->op, other->root);
            return false;
        }
    }
    return true;
}

// NCCL moves registered memory by other means, for which the ranks of a host synchronize: src/misc/shmutils.cc,
// ncclShmemAllgather of 2.28.9, which looks at no abort flag.
static bool synchronize_hosts_ranks(ncclComm_t comm)
{
    if (gate_pass(comm, &comm->segment->collective))
        return true;
    if (comm->segment->offers[comm->rank].is_registered)
        get_stuck();
    return false;
}

static bool are_registered_alike(ncclComm_t comm)
{
    const struct offer *offers = comm->segment->offers;
    for (int rank = 0; rank < comm->nranks; rank++)
        if (offers[rank].is_registered != offers[comm->rank].is_registered) {
            warn(ncclInvalidUsage, "rank %d has registered its memory, rank %d has not: all hang, abort as well",
                 offers[rank].is_registered ? rank : comm->rank, offers[rank].is_registered ? comm->rank : rank);
            if (offers[comm->rank].is_registered)
                get_stuck();
            return false;
        }
    return true;
}

static bool is_registered(ncclComm_t comm, const struct task *task)
{
    const size_t bytes = task->count * type_bytes(task->type), all = bytes * (size_t)comm->nranks;
    const size_t in = task->kind == REDUCE_SCATTER || task->kind == ALL_TO_ALL || task->kind == SCATTER ? all : bytes;
    const size_t out = task->kind == ALL_GATHER || task->kind == ALL_TO_ALL || task->kind == GATHER ? all : bytes;
    return (!task->in || memory_is_registered(comm, task->in, in)) &&
           (!task->out || memory_is_registered(comm, task->out, out));
}

bool collective(ncclComm_t comm, struct task *task)
{
    comm->segment->offers[comm->rank] = (struct offer){
        .terms = {(uint32_t)task->kind, (uint32_t)task->type, (uint32_t)task->op, (uint32_t)task->root, task->count},
        .is_registered = is_registered(comm, task),
        .in = task->in_at,
        .out = task->out_at,
    };
    return synchronize_hosts_ranks(comm) && all_agree(comm) && are_registered_alike(comm) && take_part(comm, task) &&
           gate_pass(comm, &comm->segment->collective);
}
