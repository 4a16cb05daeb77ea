// SPDX-License-Identifier: MIT
// Sends and receives.
//
// - A message begins with a head: its call, its number of bytes, and the bytes themselves if they are few. Else a body
//   follows in pieces. MPI keeps the order of messages of a tag: the tag is the lane.
// - A receive posts head and body at once. If the two ends disagree, the head shows it, or MPI reports a body that is
//   longer than its buffer.

#include "backends/mpi/endpoint.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

enum { FEW = 4096 - 2 * sizeof(uint64_t), PIECE_BYTES = 1 << 26 };

struct message {
    struct message *next;
    struct clab_transfer *transfer;
    char *bounce; // (bytes) of a body that is reduced
    int nrequests, room;
    MPI_Request *requests; // (room): the head, then the body's pieces
    struct {
        uint64_t bytes, call;
        char few[FEW];
    } head;
};

static struct message *take(struct mpi_endpoint *endpoint, size_t bytes)
{
    struct message *m = endpoint->spare ? endpoint->spare : calloc(1, sizeof *m);
    const int needed = (int)(bytes / PIECE_BYTES) + 2;
    if (!m)
        return NULL;
    if (endpoint->spare)
        endpoint->spare = m->next;
    if (m->room < needed) {
        free(m->requests);
        m->requests = calloc((size_t)needed, sizeof(MPI_Request));
        m->room = m->requests ? needed : 0;
    }
    if (m->room)
        return m;
    free(m);
    return NULL;
}

static void give_back(struct mpi_endpoint *endpoint, struct message *m)
{
    free(m->bounce);
    m->bounce = NULL;
    m->nrequests = 0;
    m->next = endpoint->spare;
    endpoint->spare = m;
}

void mpi_messages_free(struct mpi_endpoint *endpoint)
{
    for (struct message *m = endpoint->spare, *next; m; m = next) {
        next = m->next;
        free(m->requests);
        free(m);
    }
}

// ---- start ---------------------------------------------------------------------------------------------------

static int start_send(struct mpi_endpoint *endpoint, struct message *m)
{
    const struct clab_transfer *t = m->transfer;
    const size_t bytes = t->bytes;
    m->head.bytes = bytes;
    m->head.call = t->call;
    if (bytes && bytes <= FEW)
        memcpy(m->head.few, t->src, bytes);
    MPI_TRY(MPI_Isend(&m->head, (int)(2 * sizeof(uint64_t) + (bytes <= FEW ? bytes : 0)), MPI_BYTE, t->peer, t->lane,
                      endpoint->comm, &m->requests[m->nrequests++]));
    for (size_t at = 0; at < bytes && bytes > FEW; at += PIECE_BYTES)
        MPI_TRY(MPI_Isend((const char *)t->src + at, (int)(bytes - at < PIECE_BYTES ? bytes - at : PIECE_BYTES),
                          MPI_BYTE, t->peer, t->lane, endpoint->comm, &m->requests[m->nrequests++]));
    return CLAB_OK;
}

static int start_receive(struct mpi_endpoint *endpoint, struct message *m)
{
    const struct clab_transfer *t = m->transfer;
    const size_t bytes = t->bytes;
    char *body = t->dst;
    MPI_TRY(
        MPI_Irecv(&m->head, sizeof m->head, MPI_BYTE, t->peer, t->lane, endpoint->comm, &m->requests[m->nrequests++]));
    if (bytes <= FEW)
        return CLAB_OK;
    if (t->op == CLAB_RECV_REDUCE && !(body = m->bounce = malloc(bytes)))
        return CLAB_ENOMEM;
    for (size_t at = 0; at < bytes; at += PIECE_BYTES)
        MPI_TRY(MPI_Irecv(body + at, (int)(bytes - at < PIECE_BYTES ? bytes - at : PIECE_BYTES), MPI_BYTE, t->peer,
                          t->lane, endpoint->comm, &m->requests[m->nrequests++]));
    return CLAB_OK;
}

int mpi_messages_start(struct clab_endpoint *base, struct clab_transfer transfers[], int n)
{
    struct mpi_endpoint *endpoint = (struct mpi_endpoint *)base;
    for (int i = 0; i < n; i++) {
        struct clab_transfer *t = &transfers[i];
        struct message *m = take(endpoint, t->bytes);
        if (!m)
            return CLAB_ENOMEM;
        m->transfer = t;
        t->done = false;
        t->moved = 0;
        t->mark = (uint64_t)(uintptr_t)m;
        CLAB_TRY(t->op == CLAB_SEND ? start_send(endpoint, m) : start_receive(endpoint, m));
    }
    return CLAB_OK;
}

// ---- test ----------------------------------------------------------------------------------------------------

static int check(const struct message *m)
{
    const struct clab_transfer *t = m->transfer;
    if (t->op == CLAB_SEND || (m->head.bytes == t->bytes && m->head.call == t->call))
        return CLAB_OK;
    clab_error("rank %d sent %zu bytes where %zu were expected%s: do all ranks make the same calls in the same order?",
               t->peer, (size_t)m->head.bytes, t->bytes, m->head.call == t->call ? "" : ", of another call");
    return CLAB_EMISMATCH;
}

static void land(const struct message *m)
{
    const struct clab_transfer *t = m->transfer;
    const void *received = t->bytes <= FEW ? m->head.few : m->bounce;
    if (t->op == CLAB_RECV_REDUCE)
        clab_device_cpu.reduce(t->type, t->redop, t->src, received, t->dst, t->count);
    else if (t->op == CLAB_RECV && t->count && t->bytes <= FEW)
        memcpy(t->dst, received, t->bytes);
}

static int test(struct clab_endpoint *endpoint, struct clab_transfer *t)
{
    struct message *m = (struct message *)(uintptr_t)t->mark;
    int done = 1;
    for (int i = 0; i < m->nrequests && done; i++) {
        if (m->requests[i] == MPI_REQUEST_NULL)
            continue;
        MPI_TRY(MPI_Test(&m->requests[i], &done, MPI_STATUS_IGNORE));
        if (done && i == 0)
            CLAB_TRY(check(m));
        t->moved = done && i ? (size_t)i * PIECE_BYTES : t->moved;
    }
    if (!done)
        return CLAB_OK;
    land(m);
    t->moved = t->bytes;
    t->done = true;
    give_back((struct mpi_endpoint *)endpoint, m);
    return CLAB_OK;
}

int mpi_messages_test(struct clab_endpoint *endpoint, struct clab_transfer transfers[], int n, bool *done_p)
{
    const MPI_Comm comm = ((struct mpi_endpoint *)endpoint)->comm;
    int found;
    if (n == 0) // MPI goes on with what it has to do for peers
        MPI_TRY(MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, comm, &found, MPI_STATUS_IGNORE));
    return clab_test_each(endpoint, transfers, n, test, done_p);
}
