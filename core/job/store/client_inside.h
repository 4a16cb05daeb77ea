// SPDX-License-Identifier: MIT
// What client.c, join.c and their tests share.
#pragma once

#include "core/job/store/client.h"
#include "core/job/store/channel.h"
#include "core/job/store/keepalive.h"

struct store_client {
    struct store_ticket ticket;
    struct store_channel channel;
    struct store_keepalive keepalive;
    bool is_cut;   // the connection has ended
    double looked; // clab_now() of the last look for notices

    struct clab_notice *notices; // unread: first to nnotices - 1
    size_t first, nnotices, room;
    bool has_answer;
    struct store_message answer; // of an exchange; its tail is copied to `tail`
    struct store_bytes tail;
    bool has_ended; // the job
    struct store_end end;
    enum clab_presence presence[]; // (nranks)
};

// Join over a new connection: member and store prove to each other that they know the token (proof.h).
//   errors: CLAB_EINVAL (refused, or not the job's store), logged; not logged: CLAB_ENOENT (no answer until `deadline`)
//           and those of store_channel_read
int store_introduce(struct store_channel *channel, const struct store_ticket *ticket, double deadline);
