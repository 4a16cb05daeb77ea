// SPDX-License-Identifier: MIT
// The interface between NCCL and a tuner. NCCL does not ship its headers for it, so only the binary layout is NCCL's.
//
// - NCCL 2.28 asks for ncclTunerPlugin_v5, then _v4, _v3 and _v2; 2.24 was the first to ask for _v4, and 2.30 asks for
//   a _v6 first, which adds a say in chunk sizes. v5 differs from v4 in init alone: the context comes first, and the
//   communicator's hash, the NVLink domains and the model's constants are new.
// - choose: NCCL's `float costs[algorithms][protocols]` arrives as `float **`, which it is not: cast it back. Times in
//   us, -1: not to be had. NCCL takes the first least one that is not negative. It sets *channels_p to 0 before, which
//   stands for its own number.
// - The documentation has NCCL go on by itself when choose fails. Its code (enqueue.cc, getAlgoInfo) fails the
//   collective, and a failed init the communicator: answer NCCL_OK, whatever happens.
// - A communicator of one rank asks for nothing. Ranks that choose differently hang.
//
// Source: NCCL 2.28.9, src/include/plugin/tuner/tuner_v4.h and tuner_v5.h, src/plugin/tuner.cc, src/enqueue.cc; 2.30.7.
#pragma once

#include <stddef.h>
#include <stdint.h>

enum { NCCL_OK = 0 };
enum { NCCL_LOG_WARN = 2, NCCL_LOG_INFO = 3 };
// NCCL's subsystems; NCCL_DEBUG_SUBSYS chooses which of them log. With NCCL_DEBUG=INFO alone, INIT does, TUNING not.
enum { NCCL_SUBSYS_INIT = 0x1, NCCL_SUBSYS_TUNING = 0x40 };
// Of warnings: whatever NCCL_DEBUG_SUBSYS chooses.
#define NCCL_SUBSYS_ALL (~0ul)

typedef void (*nccl_logger)(unsigned level, unsigned long subsystems, const char *file, int line, const char *format,
                            ...);

struct nccl_domains { // of NVLink
    int domains, least_ranks, most_ranks;
};
struct nccl_constants; // of NCCL's model: 144 doubles, which stay as they are here

typedef int (*nccl_choose)(void *context, unsigned function, size_t bytes, int ops, float **costs, int algorithms,
                           int protocols, int registered, int *channels_p);

struct nccl_tuner_v5 {
    const char *name;
    int (*init)(void **context_p, uint64_t communicator, size_t ranks, size_t nodes, nccl_logger log,
                struct nccl_domains *domains, struct nccl_constants *constants);
    nccl_choose choose;
    int (*finish)(void *context);
};

struct nccl_tuner_v4 {
    const char *name;
    int (*init)(size_t ranks, size_t nodes, nccl_logger log, void **context_p);
    nccl_choose choose;
    int (*finish)(void *context);
};
