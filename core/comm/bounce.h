// SPDX-License-Identifier: MIT
// Buffers that the backend does not reach (struct clab_backend, reaches) go through memory of its alloc: copied in when
// their work begins, and what has been written copied out when it is done.
//
// - A GPU reaches no variable on the stack: small collectives over such cost two copies more, of some us each, and are
//   right. In virtual time the conductor moves the data of all, and reaches what all have mapped.
// - Only what this rank's part of a collective reads and writes is copied: a root's side, a block. In place stays in
//   place.
// - The memory is kept by the communicator: a loop takes the same again. After a failure it is freed at once, and
//   nothing is copied out.
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "core/transport/backend.h"

struct clab_comm;
struct clab_work;
struct clab_stand_in; // memory of the backend's alloc, for one buffer at a time

// What stands in for a work's or a transfer's buffers, while it is under way; all zero where nothing does.
struct clab_bounced {
    struct clab_stand_in *stand_ins[2];
    void *out; // the caller's: where `result`, of so many bytes, goes at the end
    const void *result;
    size_t bytes;
};

// `work`, a collective, begins: its in and out become such as are reached.  errors: CLAB_ENOMEM (logged)
int clab_bounce_begin(struct clab_comm *comm, struct clab_work *work);
// The same for a send or a receive.  bounced: all zero before
int clab_bounce_transfer(struct clab_comm *comm, struct clab_transfer *transfer, struct clab_bounced *bounced);
// It is done: the caller has what has been written.
void clab_bounce_end(struct clab_comm *comm, struct clab_bounced *bounced);
// Nothing is under way any more. To be called again, too.
void clab_bounce_free(struct clab_comm *comm);
