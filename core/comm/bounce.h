// SPDX-License-Identifier: MIT
// Bounce buffers: memory of the backend's alloc, for callers' buffers that the backend does not reach (struct
// clab_backend, reaches). Inputs are copied in when a work begins, and results are copied out when it is done.
//
// - A GPU reaches no variable on the stack. A small collective over such buffers costs two more copies, of some us
//   each.
// - A backend that runs whole schedules may move the data of all ranks in one process. It then reaches only memory that
//   all ranks have mapped.
// - Only bytes that this rank's part of a collective reads or writes are copied: a root's side, a block. If the
//   caller's buffers overlap in place, the bounce buffers do too.
// - The communicator keeps the memory, so a loop uses the same buffer again. After a failure the memory is freed at
//   once, and nothing is copied out.
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "core/transport/backend.h"

struct clab_comm;
struct clab_work;
struct clab_bounce_buffer; // serves one of the caller's buffers at a time

// The bounce buffers of a work or a transfer while it is under way; all zero: it needs none.
struct clab_bounced {
    struct clab_bounce_buffer *buffers[2];
    void *out; // the caller's: receives `bytes` of `result` at the end
    const void *result;
    size_t bytes;
};

// Whether clab_bounce_begin would wait until the caller's stream has come so far.
bool clab_bounce_waits(const struct clab_comm *comm, const struct clab_work *work);
// `work`, a collective, begins: replace its in and out by memory that the backend reaches.
//   errors: CLAB_ENOMEM, CLAB_ESYS (both logged)
int clab_bounce_begin(struct clab_comm *comm, struct clab_work *work);
// The same for a send or a receive.  bounced: all zero before
int clab_bounce_transfer(struct clab_comm *comm, struct clab_transfer *transfer, struct clab_bounced *bounced);
// It is done: copy the result to the caller.
void clab_bounce_end(struct clab_comm *comm, struct clab_bounced *bounced);
// Free all bounce buffers. No work is under way. May be called twice.
void clab_bounce_free(struct clab_comm *comm);
