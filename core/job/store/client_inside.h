// SPDX-License-Identifier: MIT
// What client.c and join.c share, with each other and with who tests them.
#pragma once

#include "core/job/store/client.h"
#include "core/job/store/channel.h"
#include "core/job/store/keepalive.h"

struct store_client {
    struct store_ticket ticket;
    struct store_channel channel;
    struct store_keepalive keepalive;
    bool is_cut;   // nothing more will come
    double looked; // when next_notice last did

    struct clab_notice *notices; // those not yet heard: first to nnotices - 1
    size_t first, nnotices, room;
    bool has_answer;
    struct store_message answer; // of an exchange; its tail lies in `tail`
    struct store_bytes tail;
    bool has_ended; // the job
    struct store_end end;
    enum clab_presence presence[]; // (nranks)
};

// Prove to each other, on a connection that was just made, that both know the token (proof.h), and be welcome.
//   errors: CLAB_EINVAL (refused, or not the job's store), logged; not logged: CLAB_ENOENT (no answer until `deadline`)
//           and those of store_channel_read
int store_introduce(struct store_channel *channel, const struct store_ticket *ticket, double deadline);
