// SPDX-License-Identifier: MIT
// What NCCL did in the last call of this process. The backend nccl asks the loaded profiler for it, and has it kept by
// CLAB_NCCL_LAST=1.
#pragma once

#include "backends/nccl-profiler/api.h"

struct clab_profiled {
    char algorithm[16], protocol[16]; // "RING", "LL128"; of messages "P2P" and ""
    int channels;
};

// False: there has been no call.
typedef int clab_profiler_last_fn(struct clab_profiled *last_p);
clab_profiler_last_fn clab_profiler_last;

// For the profiler's events, which come one at a time.
void last_is_collective(const struct nccl_collective *e);
void last_is_message(const struct nccl_message *e);
