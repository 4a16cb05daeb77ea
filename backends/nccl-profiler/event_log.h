// SPDX-License-Identifier: MIT
// The log of NCCL's events until it is written to a file: the last calls, and the last channel events (the part of a
// call on one channel).
//
// - NCCL holds a number as the handle of an event: its place in the order of all calls, or of all channel events. The
//   number of an overwritten event is recognized, and ignored.
// - Hold the lock to read or write the log.
#pragma once

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

enum { EVENT_LOG_CALLS = 1 << 14, EVENT_LOG_CHANNELS = 1 << 17, EVENT_LOG_RANKS = 64, EVENT_LOG_NONE = -1 };

// A collective, or a message to a peer. Times in ns of CLOCK_MONOTONIC.
struct logged_call {
    int64_t begin, end; // when it was enqueued
    char name[24], algorithm[16], protocol[16], type[24];
    uint64_t count, sequence, communicator;
    int peer, root; // EVENT_LOG_NONE: there is none
    int rank, ranks, channels;
    int process; // as whom it is shown
};

// The part of a call on one channel, in ns of the GPU's clock.
struct channel_event {
    int64_t begin, end; // end 0: not yet
    int64_t call;       // its number, or EVENT_LOG_NONE
    int process, channel;
};

// The clock of a rank's GPU.
struct gpu_clock {
    int process;
    int64_t behind; // ns to CLOCK_MONOTONIC: the least seen, since each event arrives a little late
};

struct event_log {
    pthread_mutex_t lock;
    struct logged_call *calls;
    struct channel_event *channel_events;
    int64_t ncalls, nchannel_events; // ever
    struct gpu_clock clocks[EVENT_LOG_RANKS];
    int nclocks;
    int open; // communicators
    bool is_written;
    _Atomic pid_t pid; // of the owner; also read without the lock
    uint64_t first_communicator;
    int first_rank;
};

int64_t event_log_now(void);
// The call or channel event of a number; NULL: it is overwritten, or never was.
struct logged_call *event_log_call(const struct event_log *events, int64_t number);
struct channel_event *event_log_channel(const struct event_log *events, int64_t number);
// ns from the clock of the GPU of `process` to CLOCK_MONOTONIC; NULL: there is no room for another process.
int64_t *event_log_clock(struct event_log *events, int process);

// Write all to `path` (write.c), as `commlab trace` reads it.  errors: CLAB_EIO, CLAB_ENOMEM (logged on stderr)
int event_log_write(struct event_log *events, const char *path);
