// SPDX-License-Identifier: MIT
// A transfer: one message of a stage, with addresses. The executor makes it, and a backend moves it.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/type.h"
#include "core/schedule/schedule.h"

// Collectives use the first lanes; sends and receives have their own, and so has the monitored barrier.
enum { CLAB_P2P_LANE = CLAB_MAX_LANES, CLAB_MONITOR_LANE, CLAB_LANES };

// One message of a stage, with addresses. The first part is the caller's and stays as it is until done; the second is
// the backend's. Order between a pair within a lane is the order of start().
struct clab_transfer {
    enum clab_step_op op; // CLAB_SEND, CLAB_RECV or CLAB_RECV_REDUCE
    int peer, lane;       // a member of the group
    const void *src;      // SEND: what is sent. RECV_REDUCE: the local operand, dst = src (redop) received
    void *dst;            // RECV and RECV_REDUCE; may be src
    size_t count, bytes;  // elements of `type`, and bytes of them all; 0 is a message, too
    enum clab_type type;
    enum clab_op redop;
    uint16_t call;     // what is being called, as a number that both ends must agree on
    bool non_temporal; // what comes is too much for the caches: it may be stored around them

    bool done;     // set by start or test
    bool failed;   // the same, where one of several is the reason of their error; false at first
    size_t moved;  // grows while something happens: bytes, or ns on an emulated wire
    uint64_t turn; // its place in the order of its channel
    uint64_t mark; // when it is delivered, in the backend's own count
};
