// SPDX-License-Identifier: MIT
// MSCCL's XML: each GPU has thread blocks. A block sends to at most one peer, receives from at most one, and runs its
// steps in order.
//
// - Written: lane, distance of the peer, and number of the message in its stage select the thread block and its
//   channel. A step waits (depid, deps) for the steps of the stage before it in other blocks. A receive also waits for
//   the reads of its destination in its own stage. All collectives but alltoall are in place. `lanes`, `root`, `stage`
//   and `at` are our attributes, which other readers ignore.
// - Read: a file with `stage` has its stages. In others a step's stage is the longest path to it through its thread
//   block and its dependences; a receive is in the stage of the send just before it. So the blocks of a GPU wait for
//   each other at the end of each stage. `rcs`, `rrcs` and `rrs` become a receive and a send. `re` (and `ra`) reduces
//   data that was not received; no schedule here does that, so it is refused. Input and output are one buffer, but for
//   an alltoall.
// - Allreduce, reduce, broadcast, allgather, reduce_scatter and alltoall.
// Source: microsoft/msccl-tools, which writes it, and microsoft/msccl and Azure/msccl-executor-nccl, which run it. (The
// latter calls a reduce_scatter "reducescatter".)
#pragma once

#include <stdio.h>

#include "core/schedule/formats/listing.h"

// Who is to read it: microsoft/msccl, or Azure/msccl-executor-nccl, which calls a reduce_scatter "reducescatter". Ours
// reads both.
enum clab_msccl_reader { CLAB_MSCCL_MICROSOFT, CLAB_MSCCL_AZURE };

//   errors: CLAB_EUNSUPPORTED (logged: another collective; more steps, channels or chunks than they take), CLAB_ENOMEM
int clab_msccl_write(const struct clab_problem *problem, const struct clab_algorithm *algorithm,
                     enum clab_msccl_reader reader, FILE *out);

// Read a schedule, and prove it; `path` is for messages.
//   errors: CLAB_EPARSE, CLAB_EWRONG (one logged line names file, line and what is wrong), CLAB_EUNSUPPORTED (built
//           without expat), CLAB_ENOMEM
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

// The least that a GPU's interpreter takes of each.
enum { CLAB_MSCCL_STEPS = 256, CLAB_MSCCL_CHANNELS = 32, CLAB_MSCCL_COUNT = 71 };

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
    int slots;                      // messages that a connection holds
    bool inplace, outofplace;       // the calls that it is for
    bool has_input;                 // 'i' is CLAB_INPUT: it is read as of a call out of place
    bool staged;                    // each step has `stage`
    bool even;                      // chunks are of one size
    struct clab_msccl_gpu *gpus;    // (ngpus)
    struct clab_msccl_block *blocks;
    struct clab_msccl_step *steps;
    int nblocks, nsteps, block_room, step_room;
};

// errors: as clab_msccl_read
int clab_msccl_lower(const struct clab_msccl *msccl, struct clab_listing **listing_p);
