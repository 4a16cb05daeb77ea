// SPDX-License-Identifier: MIT
// MSCCL's XML: each GPU has thread blocks. A block sends to at most one peer, receives from at most one, and runs its
// steps in order.
//
// - Written: lane, distance of the peer, and number of the message in its stage select the thread block and its
//   channel. A step waits (depid, deps) for the steps of the stage before it in other blocks. A receive also waits for
//   the reads of its destination in its own stage. `lanes`, `root`, `even`, `stage` and `at` are our attributes, which
//   other readers ignore.
// - Read: a file with `stage` has its stages. In others the thread blocks are run as MSCCL runs them (msccl_order.c): a
//   send goes on before it is received, up to the messages that a connection holds (NCCL has 8 steps: by LL and LL128 8
//   messages, by Simple 2); messages match by connection, which is peer and channel. Each round of that run is a stage.
//   A message is sent and received in the round of its receipt, so that no rank of ours waits in a circle; if its source
//   changes before, it is copied aside. So what rule 2 of schedule.h demands of a schedule, that it needs no buffers, is
//   true of each that is read.
// - Any other order of the thread blocks must give the same: what two of them do to a chunk without order is refused
//   (msccl_race.c). So are thread blocks that wait for each other.
// - `rcs`, `rrcs` and `rrs` become a receive and a send in the round after it; `rrs` adds into scratch. `re` is a
//   COMBINE. (`ra`, which no interpreter runs, is refused.)
// - `inplace` and `outofplace` say for which calls the file is. In place, input and output are one buffer. Out of place,
//   'i' is CLAB_INPUT, and is not written. A file for both is proved for both.
// - Allreduce, reduce, broadcast, allgather, reduce_scatter and alltoall (out of place only). A `custom` collective has
//   its own input and result, of i_chunks and o_chunks; it is proved that each chunk of the result is something, and
//   always the same.
// - Memory is in proportion to the file (msccl_places.c).
// Source: microsoft/msccl-tools, which writes it, and microsoft/msccl and Azure/msccl-executor-nccl, which run it. (The
// latter calls a reduce_scatter "reducescatter".)
#pragma once

#include <stdio.h>

#include "core/schedule/formats/listing.h"

// Who is to read it: microsoft/msccl, or Azure/msccl-executor-nccl, which calls a reduce_scatter "reducescatter". Ours
// reads both.
enum clab_msccl_reader { CLAB_MSCCL_MICROSOFT, CLAB_MSCCL_AZURE };

//   errors: CLAB_EUNSUPPORTED (logged: another collective; more steps, blocks, channels, chunks or elements than they
//           take), CLAB_ENOMEM
int clab_msccl_write(const struct clab_problem *problem, const struct clab_algorithm *algorithm,
                     enum clab_msccl_reader reader, FILE *out);

// Read a schedule, and prove it; `path` is for messages.
//   errors: CLAB_EPARSE, CLAB_EWRONG, CLAB_EDEADLOCK (one logged line names file, line and what is wrong),
//           CLAB_EUNSUPPORTED (built without expat, or too large to be proved), CLAB_ENOMEM
int clab_msccl_read(FILE *file, const char *path, struct clab_listing **listing_p);

// ---- between reading and lowering ----------------------------------------------------------------------------

#define CLAB_MSCCL_TYPES(X)                                                                               \
    X(CLAB_MSCCL_S, "s")                                                                                  \
    X(CLAB_MSCCL_R, "r")                                                                                  \
    X(CLAB_MSCCL_RCS, "rcs") X(CLAB_MSCCL_RRS, "rrs") X(CLAB_MSCCL_RRC, "rrc") X(CLAB_MSCCL_RRCS, "rrcs") \
        X(CLAB_MSCCL_CPY, "cpy") X(CLAB_MSCCL_NOP, "nop") X(CLAB_MSCCL_RE, "re")

#define X(name, text) name,
enum clab_msccl_type { CLAB_MSCCL_TYPES(X) CLAB_MSCCL_TYPE_COUNT };
#undef X

// The least that a GPU's interpreter takes of each. A wait names a thread block by 7 bits. A parser holds fewer than
// 4096 elements of XML: the file's, one per GPU, and the blocks and steps of its own GPU.
enum {
    CLAB_MSCCL_STEPS = 256,
    CLAB_MSCCL_CHANNELS = 32,
    CLAB_MSCCL_COUNT = 71,
    CLAB_MSCCL_BLOCKS = 128,
    CLAB_MSCCL_ELEMENTS = 4095
};

struct clab_msccl_step {
    enum clab_msccl_type type;
    char src, dst; // 'i', 'o', 's'
    int src_off, dst_off, count;
    int depid, deps; // the thread block and step that it waits for; depid -1: none
    bool hasdep;     // others may wait for it
    int stage, at;   // -1: not given
    int line;
};

struct clab_msccl_block {
    int id, send, recv, channel; // peers, or -1
    int first, nsteps;           // of all steps
    int line;
};

struct clab_msccl_gpu {
    int inputs, outputs, scratch; // chunks
    int first, nblocks;           // of all blocks
    int line;                     // 0: it has not come yet
};

struct clab_msccl {
    const char *path;
    char name[CLAB_LISTING_NAME];
    enum clab_collective collective;
    int ngpus, chunks, lanes, root; // chunks: of a loop
    int line;                       // of algo
    int slots;                      // messages that a connection holds
    bool inplace, outofplace;       // the calls that it is for
    bool has_input;                 // 'i' is CLAB_INPUT: it is read as of a call out of place
    bool staged;                    // each step has `stage`
    bool custom;                    // a collective of its own: of an allreduce's shape
    bool even;                      // chunks are of one size
    struct clab_msccl_gpu *gpus;    // (ngpus)
    struct clab_msccl_block *blocks;
    struct clab_msccl_step *steps;
    int nblocks, nsteps, block_room, step_room;
};

// errors: as clab_msccl_read
int clab_msccl_lower(const struct clab_msccl *msccl, struct clab_listing **listing_p);
