// SPDX-License-Identifier: MIT
// Shared by the files of the mpi backend.
//
// - mpi.c       the backend's table: attach, open, close, wait.
// - types.c     our types and operations in MPI's terms.
// - natives.c   MPI's collectives that do not block.
// - messages.c  sends and receives.
//
// It needs MPI-3. Counts in MPI are ints, so larger messages go in pieces.
#pragma once

#include <mpi.h>
#include <stdbool.h>

#include "core/transport/backend.h"
#include "core/base/log.h"

enum { MPI_PIECE_ELEMENTS = 1 << 27 }; // of at most 8 bytes

struct mpi_domain {
    struct clab_domain base;
    struct clab_bootstrap *boot;
    int *world_ranks; // (nranks): the rank in MPI_COMM_WORLD of each rank of the job
};

struct message;    // of messages.c
struct mpi_native; // of natives.c

struct mpi_endpoint {
    struct clab_endpoint base;
    struct mpi_domain *domain;
    MPI_Comm comm;
    int rank, nranks;
    struct mpi_native *native; // the collective under way
    struct message *spare;     // to use again
};

// The error for MPI's `code`: CLAB_EMISMATCH for a message longer than its buffer, CLAB_ENOMEM, else CLAB_EPEER, which
// is logged with MPI's own text.
int mpi_error(int code);
#define MPI_TRY(call) CLAB_TRY(mpi_error(call))

// ---- types.c -------------------------------------------------------------------------------------------------

// Once, after MPI_Init; and before MPI_Finalize.
int mpi_types_make(void);
void mpi_types_free(void);
MPI_Datatype mpi_type(enum clab_type type);
MPI_Op mpi_op(enum clab_type type, enum clab_op op);

// ---- natives.c and messages.c: the slots of the table --------------------------------------------------------

bool mpi_has_native(enum clab_collective collective, enum clab_type type, enum clab_op op);
int mpi_native_start(struct clab_endpoint *endpoint, const struct clab_call *call);
int mpi_native_test(struct clab_endpoint *endpoint, struct clab_answer *answer_p);

int mpi_messages_start(struct clab_endpoint *endpoint, struct clab_transfer transfers[], int n);
int mpi_messages_test(struct clab_endpoint *endpoint, struct clab_transfer transfers[], int n, bool *done_p);
void mpi_messages_free(struct mpi_endpoint *endpoint); // the spare ones
