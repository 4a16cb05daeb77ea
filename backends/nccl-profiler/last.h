// SPDX-License-Identifier: MIT
// What NCCL did in the last call of this process. The backend nccl asks the loaded profiler for it, and has it kept by
// CLAB_NCCL_LAST=1.
#pragma once

#include "backends/nccl-profiler/api.h"
#include "core/transport/backend.h"

// "RING" and "LL128"; of messages "P2P" and "". False: there has been no call.
bool clab_profiler_last(struct clab_ran *last_p);

// For the profiler's events, which come one at a time.
void last_is_collective(const struct nccl_collective *e);
void last_is_message(const struct nccl_message *e);
