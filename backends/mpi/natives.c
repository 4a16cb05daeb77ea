// SPDX-License-Identifier: MIT
// MPI's collectives that do not block.
//
// - A call becomes one call of MPI, or several, in pieces, if it has more elements than an int can count. If the pieces
//   of one call lie apart, as the blocks of an allgather do, a strided type describes them.
// - MPI forbids that input and output are the same memory. Such calls use MPI_IN_PLACE; a reduce-scatter uses memory of
//   ours.
// - MPI does not compare the calls of ranks. So the ranks first compare the maximum and the minimum of their numbers.

#include "backends/mpi/endpoint.h"

#include <stdlib.h>
#include <string.h>

struct mpi_native {
    struct clab_call call;
    MPI_Request agreeing;         // until all have compared
    uint64_t mine[2], extreme[2]; // call.agreed and its complement, and the greatest of all ranks
    char *bounce;                 // a reduce-scatter's result, if it is not made in `out`
    int nrequests;
    MPI_Request requests[];
};

// A piece of a call: elements [first, first + count) of each block.
struct piece {
    struct mpi_endpoint *endpoint;
    const struct clab_call *call;
    const char *in; // of the piece's first element in the first block
    char *out;
    int count;
    MPI_Datatype type;   // an element
    MPI_Datatype blocks; // an element, the next block's first `call->problem.count` elements on
    MPI_Request *request_p;
};

static size_t block_bytes(const struct clab_call *call)
{
    return call->problem.count * clab_type_bytes(call->type);
}

static bool is_root(const struct piece *p)
{
    return p->endpoint->rank == p->call->problem.root;
}

// Whether this rank's block of `whole` is `part`.
static bool is_mine(const struct piece *p, const void *whole, const void *part)
{
    return (const char *)whole + (size_t)p->endpoint->rank * block_bytes(p->call) == part;
}

// ---- one of MPI's --------------------------------------------------------------------------------------------

static int start_broadcast(const struct piece *p)
{
    void *buffer = is_root(p) ? (void *)(uintptr_t)p->in : p->out; // the root's is only read
    if (is_root(p) && p->in != p->out)
        memcpy(p->out, p->in, (size_t)p->count * clab_type_bytes(p->call->type));
    return MPI_Ibcast(buffer, p->count, p->type, p->call->problem.root, p->endpoint->comm, p->request_p);
}

static int start_reduce(const struct piece *p)
{
    const void *in = is_root(p) && p->in == p->out ? MPI_IN_PLACE : p->in;
    return MPI_Ireduce(in, is_root(p) ? p->out : NULL, p->count, p->type, mpi_op(p->call->type, p->call->op),
                       p->call->problem.root, p->endpoint->comm, p->request_p);
}

static int start_allreduce(const struct piece *p)
{
    return MPI_Iallreduce(p->in == p->out ? MPI_IN_PLACE : p->in, p->out, p->count, p->type,
                          mpi_op(p->call->type, p->call->op), p->endpoint->comm, p->request_p);
}

static int start_allgather(const struct piece *p)
{
    const void *in = is_mine(p, p->call->out, p->call->in) ? MPI_IN_PLACE : p->in;
    return MPI_Iallgather(in, p->count, p->type, p->out, 1, p->blocks, p->endpoint->comm, p->request_p);
}

static int start_gather(const struct piece *p)
{
    const void *in = is_root(p) && is_mine(p, p->call->out, p->call->in) ? MPI_IN_PLACE : p->in;
    return MPI_Igather(in, p->count, p->type, p->out, 1, p->blocks, p->call->problem.root, p->endpoint->comm,
                       p->request_p);
}

static int start_scatter(const struct piece *p)
{
    void *out = is_root(p) && is_mine(p, p->call->in, p->call->out) ? MPI_IN_PLACE : p->out;
    return MPI_Iscatter(p->in, 1, p->blocks, out, p->count, p->type, p->call->problem.root, p->endpoint->comm,
                        p->request_p);
}

static int start_alltoall(const struct piece *p)
{
    return MPI_Ialltoall(p->in, 1, p->blocks, p->out, 1, p->blocks, p->endpoint->comm, p->request_p);
}

static int start_piece(const struct piece *p)
{
    switch (p->call->problem.collective) {
    case CLAB_BROADCAST: return start_broadcast(p);
    case CLAB_REDUCE: return start_reduce(p);
    case CLAB_ALLREDUCE: return start_allreduce(p);
    case CLAB_ALLGATHER: return start_allgather(p);
    case CLAB_GATHER: return start_gather(p);
    case CLAB_SCATTER: return start_scatter(p);
    default: return start_alltoall(p);
    }
}

// ---- all of a call -------------------------------------------------------------------------------------------

// `count` elements, and the next such thing a whole block on.
static int make_blocks(const struct clab_call *call, int count, MPI_Datatype *blocks_p)
{
    MPI_Datatype together;
    MPI_TRY(MPI_Type_contiguous(count, mpi_type(call->type), &together));
    MPI_TRY(MPI_Type_create_resized(together, 0, (MPI_Aint)block_bytes(call), blocks_p));
    MPI_TRY(MPI_Type_free(&together));
    return mpi_error(MPI_Type_commit(blocks_p));
}

static bool has_blocks(enum clab_collective collective)
{
    return collective == CLAB_ALLGATHER || collective == CLAB_GATHER || collective == CLAB_SCATTER ||
           collective == CLAB_ALLTOALL;
}

static int start_pieces(struct mpi_endpoint *endpoint, struct mpi_native *native)
{
    const struct clab_call *call = &native->call;
    for (size_t first = 0; first < call->problem.count; first += MPI_PIECE_ELEMENTS) {
        const size_t left = call->problem.count - first, bytes = first * clab_type_bytes(call->type);
        struct piece p = {
            .endpoint = endpoint,
            .call = call,
            .in = (const char *)call->in + bytes,
            .out = (char *)call->out + bytes,
            .count = left < MPI_PIECE_ELEMENTS ? (int)left : MPI_PIECE_ELEMENTS,
            .type = mpi_type(call->type),
            .request_p = &native->requests[native->nrequests],
        };
        if (has_blocks(call->problem.collective))
            CLAB_TRY(make_blocks(call, p.count, &p.blocks));
        MPI_TRY(start_piece(&p));
        native->nrequests++;
        if (has_blocks(call->problem.collective))
            MPI_TRY(MPI_Type_free(&p.blocks)); // MPI keeps it as long as it is needed
    }
    return CLAB_OK;
}

// Blocks too long for an int are reduced one by one, each to its rank.
static int reduce_blocks(struct mpi_endpoint *endpoint, struct mpi_native *native)
{
    const struct clab_call whole = native->call;
    for (int rank = 0; rank < endpoint->nranks; rank++) {
        native->call.problem.collective = CLAB_REDUCE;
        native->call.problem.root = rank;
        native->call.in = (const char *)whole.in + (size_t)rank * block_bytes(&whole);
        native->call.out = native->bounce;
        CLAB_TRY(start_pieces(endpoint, native));
    }
    native->call = whole;
    return CLAB_OK;
}

static int start_reduce_scatter(struct mpi_endpoint *endpoint, struct mpi_native *native)
{
    const struct clab_call *call = &native->call;
    const char *in = call->in, *out = call->out;
    const bool is_apart = out >= in + (size_t)endpoint->nranks * block_bytes(call) || out + block_bytes(call) <= in;
    if (!is_apart || call->problem.count > MPI_PIECE_ELEMENTS)
        if (!(native->bounce = malloc(block_bytes(call))))
            return CLAB_ENOMEM;
    if (call->problem.count > MPI_PIECE_ELEMENTS)
        return reduce_blocks(endpoint, native);
    return mpi_error(MPI_Ireduce_scatter_block(
        in, native->bounce ? native->bounce : call->out, (int)call->problem.count, mpi_type(call->type),
        mpi_op(call->type, call->op), endpoint->comm, &native->requests[native->nrequests++]));
}

static int start_call(struct mpi_endpoint *endpoint, struct mpi_native *native)
{
    if (native->call.problem.collective == CLAB_BARRIER)
        return mpi_error(MPI_Ibarrier(endpoint->comm, &native->requests[native->nrequests++]));
    if (native->call.problem.count == 0)
        return CLAB_OK;
    return native->call.problem.collective == CLAB_REDUCE_SCATTER ? start_reduce_scatter(endpoint, native)
                                                                  : start_pieces(endpoint, native);
}

static void free_native(struct mpi_native *native)
{
    free(native->bounce);
    free(native);
}

static int start_or_free(struct mpi_endpoint *endpoint, struct mpi_native *native)
{
    const int err = start_call(endpoint, native);
    if (err && native->nrequests == 0) // else MPI still uses it
        free_native(native);
    return err;
}

static int start_agreeing(struct mpi_endpoint *endpoint, struct mpi_native *native)
{
    native->mine[0] = native->call.agreed;
    native->mine[1] = ~native->call.agreed;
    const int err = mpi_error(
        MPI_Iallreduce(native->mine, native->extreme, 2, MPI_UINT64_T, MPI_MAX, endpoint->comm, &native->agreeing));
    if (err)
        free_native(native);
    return err;
}

// Go on with comparing; *done_p: all call the same, and it has been started.
static int agree(struct mpi_endpoint *endpoint, struct mpi_native *native, int *done_p)
{
    MPI_TRY(MPI_Test(&native->agreeing, done_p, MPI_STATUS_IGNORE)); // which is MPI_REQUEST_NULL once it is done
    if (!*done_p)
        return CLAB_OK;
    if (!memcmp(native->mine, native->extreme, sizeof native->mine))
        return start_or_free(endpoint, native);
    free_native(native);
    return CLAB_EMISMATCH;
}

bool mpi_has_native(enum clab_collective collective, enum clab_type type, enum clab_op op)
{
    (void)type, (void)op;
    return collective != CLAB_SENDRECV;
}

int mpi_native_start(struct clab_endpoint *base, const struct clab_call *call)
{
    struct mpi_endpoint *endpoint = (struct mpi_endpoint *)base;
    const size_t pieces = call->problem.count / MPI_PIECE_ELEMENTS + 1;
    const size_t most = pieces * (call->problem.collective == CLAB_REDUCE_SCATTER ? (size_t)endpoint->nranks : 1);
    struct mpi_native *native = calloc(1, sizeof *native + most * sizeof *native->requests);
    if (!native)
        return CLAB_ENOMEM;
    native->call = *call;
    native->agreeing = MPI_REQUEST_NULL;
    const int err = call->agreed ? start_agreeing(endpoint, native) : start_or_free(endpoint, native);
    if (!err)
        endpoint->native = native;
    return err;
}

int mpi_native_test(struct clab_endpoint *base, struct clab_answer *answer_p)
{
    struct mpi_endpoint *endpoint = (struct mpi_endpoint *)base;
    struct mpi_native *native = endpoint->native;
    int done = 1;
    if (native->agreeing != MPI_REQUEST_NULL)
        CLAB_TRY(agree(endpoint, native, &done));
    if (!done)
        return CLAB_OK;
    for (int i = 0; i < native->nrequests && done; i++)
        MPI_TRY(MPI_Test(&native->requests[i], &done, MPI_STATUS_IGNORE)); // at once for what is done
    answer_p->done = done;
    if (!done)
        return CLAB_OK;
    if (native->bounce)
        memcpy(native->call.out, native->bounce, block_bytes(&native->call));
    free_native(native);
    return CLAB_OK;
}
