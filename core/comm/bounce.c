// SPDX-License-Identifier: MIT
// Bounce buffers (bounce.h).

#include "core/comm/bounce.h"

#include <stdlib.h>

#include "core/comm/comm.h"

struct clab_bounce_buffer {
    struct clab_bounce_buffer *next; // of the communicator
    char *memory;                    // of the backend's alloc
    size_t bytes;
    bool is_taken;
};

// ---- memory --------------------------------------------------------------------------------------------------

static void release(struct clab_comm *comm, struct clab_bounce_buffer *s)
{
    if (s->memory)
        comm->backend->free(comm->job->domain, s->memory);
    s->memory = NULL;
    s->bytes = 0;
}

void clab_bounce_free(struct clab_comm *comm)
{
    for (struct clab_bounce_buffer *s = comm->bounce_buffers, *next; s; s = next) {
        next = s->next;
        release(comm, s);
        free(s);
    }
    comm->bounce_buffers = NULL;
}

// The smallest free buffer with room for `bytes`, else the largest free one; NULL: all are in use.
static struct clab_bounce_buffer *find_spare(const struct clab_comm *comm, size_t bytes)
{
    struct clab_bounce_buffer *best = NULL;
    for (struct clab_bounce_buffer *s = comm->bounce_buffers; s; s = s->next) {
        if (s->is_taken)
            continue;
        const bool fits = s->bytes >= bytes;
        if (!best || (best->bytes >= bytes ? fits && s->bytes < best->bytes : s->bytes > best->bytes))
            best = s;
    }
    return best;
}

static struct clab_bounce_buffer *add(struct clab_comm *comm)
{
    struct clab_bounce_buffer *s = calloc(1, sizeof *s);
    if (!s)
        return NULL;
    s->next = comm->bounce_buffers;
    comm->bounce_buffers = s;
    return s;
}

static int take(struct clab_comm *comm, size_t bytes, struct clab_bounce_buffer **buffer_p)
{
    struct clab_bounce_buffer *s = find_spare(comm, bytes);
    if (!s && !(s = add(comm)))
        return CLAB_ENOMEM;
    if (s->bytes < bytes) {
        void *memory;
        release(comm, s);
        CLAB_TRY(comm->backend->alloc(comm->job->domain, bytes, &memory));
        s->memory = memory;
        s->bytes = bytes;
    }
    s->is_taken = true;
    *buffer_p = s;
    return CLAB_OK;
}

static void copy(const struct clab_comm *comm, void *out, const void *in, size_t bytes)
{
    if (bytes)
        comm->backend->device->copy(out, in, bytes);
}

// What the caller's stream has been given before may write `in`. A copy to a device may read memory of malloc at once,
// whatever it is to follow: so the device is waited for.
static int copy_in(const struct clab_comm *comm, void *memory, const void *in, size_t bytes)
{
    if (bytes && comm->has_stream) {
        CLAB_TRY(comm->backend->lanes(comm->endpoint, 0));
        CLAB_TRY(comm->backend->device->finish());
    }
    copy(comm, memory, in, bytes);
    return CLAB_OK;
}

void clab_bounce_end(struct clab_comm *comm, struct clab_bounced *b)
{
    copy(comm, b->out, b->result, b->bytes);
    for (int i = 0; i < 2; i++)
        if (b->buffers[i])
            b->buffers[i]->is_taken = false;
    *b = (struct clab_bounced){0};
}

// ---- transfers -----------------------------------------------------------------------------------------------

int clab_bounce_transfer(struct clab_comm *comm, struct clab_transfer *t, struct clab_bounced *b)
{
    const bool sends = t->op == CLAB_SEND;
    const size_t bytes = t->bytes;
    if (!bytes || comm->backend->reaches(comm->job->domain, sends ? t->src : t->dst))
        return CLAB_OK;
    CLAB_TRY(take(comm, bytes, &b->buffers[0]));
    char *memory = b->buffers[0]->memory;
    if (sends) {
        CLAB_TRY(copy_in(comm, memory, t->src, bytes));
        t->src = memory;
        return CLAB_OK;
    }
    b->out = t->dst;
    b->result = t->dst = memory;
    b->bytes = bytes;
    return CLAB_OK;
}

// ---- collectives ---------------------------------------------------------------------------------------------

// If the backend runs the whole call, another process may move the data.
static bool is_reached(const struct clab_comm *comm, const void *memory)
{
    const struct clab_collectives *collectives = comm->backend->collectives;
    return (collectives->runs_schedules ? collectives->reaches : comm->backend->reaches)(comm->job->domain, memory);
}

// Bytes of in that this rank's part reads, and of out that it writes.
static void sizes_of(const struct clab_comm *comm, const struct clab_work *work, size_t *in_p, size_t *out_p)
{
    const struct clab_problem *p = &work->problem;
    const size_t block = p->count * clab_type_bytes(work->type);
    *in_p = (size_t)clab_problem_in_blocks(p, comm->rank) * block;
    *out_p = (size_t)clab_problem_out_blocks(p, comm->rank) * block;
}

static void expect_result(struct clab_work *work, char *memory, size_t bytes)
{
    work->bounced.out = work->out;
    work->bounced.result = work->out = memory;
    work->bounced.bytes = bytes;
}

// In place, one buffer lies in the other.
static int bounce_one(struct clab_comm *comm, struct clab_work *work, size_t in, size_t out)
{
    const char *first = (const char *)work->in < (const char *)work->out ? work->in : work->out;
    const size_t in_at = (size_t)((const char *)work->in - first), out_at = (size_t)((char *)work->out - first);
    if (!in && !out)
        return CLAB_OK;
    CLAB_TRY(take(comm, in > out ? in : out, &work->bounced.buffers[0]));
    char *memory = work->bounced.buffers[0]->memory;
    CLAB_TRY(copy_in(comm, memory + in_at, work->in, in));
    work->in = memory + in_at;
    expect_result(work, memory + out_at, out);
    return CLAB_OK;
}

bool clab_bounce_waits(const struct clab_comm *comm, const struct clab_work *work)
{
    return comm->has_stream && !is_reached(comm, work->in);
}

int clab_bounce_begin(struct clab_comm *comm, struct clab_work *work)
{
    const bool reaches_in = is_reached(comm, work->in), reaches_out = is_reached(comm, work->out);
    struct clab_bounce_buffer **buffers = work->bounced.buffers;
    size_t in, out;
    if (reaches_in && reaches_out)
        return CLAB_OK;
    sizes_of(comm, work, &in, &out);
    if (work->in_place)
        return bounce_one(comm, work, in, out);
    if (in && !reaches_in) {
        CLAB_TRY(take(comm, in, &buffers[0]));
        CLAB_TRY(copy_in(comm, buffers[0]->memory, work->in, in));
        work->in = buffers[0]->memory;
    }
    if (out && !reaches_out) {
        CLAB_TRY(take(comm, out, &buffers[1]));
        expect_result(work, buffers[1]->memory, out);
    }
    return CLAB_OK;
}
