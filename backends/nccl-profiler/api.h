// SPDX-License-Identifier: MIT
// What NCCL and a profiler say to each other: only the binary layout is NCCL's, whose headers for it are not shipped.
//
// - NCCL 2.28 asks for ncclProfiler_v5, then _v4 and older; 2.27 was the first to ask for _v4. They differ in the order
//   of init's arguments and in the type of an event, 64 bits instead of 8, which padding hides: all else that is read
//   here lies in the same places.
// - A collective starts when it is enqueued, and stops at once: its kernel has not begun. What the GPU did is told by a
//   thread of NCCL's, later: an event a channel, whose parent is the collective, with begin and end by the GPU's clock.
// - Events that were not asked for come, too (groups): their handle is left NULL, and never comes back then.
//
// Source: NCCL 2.28.9, src/include/plugin/profiler/profiler_v4.h and profiler_v5.h, src/plugin/profiler.cc.
#pragma once

#include <stddef.h>
#include <stdint.h>

enum { NCCL_OK = 0, NCCL_LOG_INFO = 3, NCCL_SUBSYS_INIT = 0x1 };
typedef void (*nccl_logger)(unsigned level, unsigned long subsystems, const char *file, int line, const char *format,
                            ...);

enum { NCCL_EVENT_COLLECTIVE = 1 << 1, NCCL_EVENT_MESSAGE = 1 << 2, NCCL_EVENT_CHANNEL = 1 << 6 };
enum { NCCL_STATE_CHANNEL_STOPS = 22 };

struct nccl_collective {
    uint64_t sequence; // of this collective in the communicator
    const char *name;  // "AllReduce"
    const void *in;
    void *out;
    size_t count;
    int root;
    const char *type; // "ncclFloat32"
    uint8_t channels, warps;
    const char *algorithm, *protocol;
};

struct nccl_message {
    const char *name; // "Send", "Recv"
    void *data;
    const char *type;
    size_t count;
    int peer;
    uint8_t channels;
};

struct nccl_channel {
    uint8_t channel;
    uint64_t nanoseconds; // by the GPU's clock
};

struct nccl_event {
    union {
        uint64_t type; // v5
        uint8_t type_v4;
    };
    void *parent; // handle
    int rank;
    union {
        struct nccl_collective collective;
        struct nccl_message message;
        struct nccl_channel channel;
    };
};

union nccl_state {
    uint64_t nanoseconds; // of a channel that stops
    void *other;
};

struct nccl_profiler_v5 {
    const char *name;
    int (*init)(void **context_p, uint64_t communicator, int *events_p, const char *communicator_name, int nodes,
                int ranks, int rank, nccl_logger log);
    int (*start)(void *context, void **handle_p, const struct nccl_event *event);
    int (*stop)(void *handle);
    int (*record)(void *handle, int state, const union nccl_state *arguments);
    int (*finish)(void *context);
};

struct nccl_profiler_v4 {
    const char *name;
    int (*init)(void **context_p, int *events_p, const char *communicator_name, uint64_t communicator, int nodes,
                int ranks, int rank, nccl_logger log);
    int (*start)(void *context, void **handle_p, const struct nccl_event *event);
    int (*stop)(void *handle);
    int (*record)(void *handle, int state, const union nccl_state *arguments);
    int (*finish)(void *context);
};
