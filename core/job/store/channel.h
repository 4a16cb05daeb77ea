// SPDX-License-Identifier: MIT
// A member's connection to the store, as messages. Only store_channel_await waits.
#pragma once

#include <stdbool.h>

#include "core/job/store/message.h"

struct store_bytes {
    unsigned char *at;
    size_t n, room;
};

struct store_channel {
    int fd;
    struct store_bytes in, out;
    size_t taken; // of `in`: the message that was read last
};

// False: out of memory.
bool store_bytes_add(struct store_bytes *bytes, const void *more, size_t n);

// Send a message, now or when there is room for it.  errors: CLAB_ENOMEM
int store_channel_send(struct store_channel *channel, const struct store_message *message);
// Send what was held back.
void store_channel_flush(struct store_channel *channel);
// The next message that has come; its tail is valid until the next call.
//   errors: CLAB_ENOENT (none yet), CLAB_EPEER (the connection has ended, errno says how, 0: in order), CLAB_EPARSE,
//           CLAB_EUNSUPPORTED (of another version), CLAB_ENOMEM
int store_channel_read(struct store_channel *channel, struct store_message *message_p);
// Wait until there is something to read, or room for what was held back, or until `deadline` (seconds of clab_now).
void store_channel_await(const struct store_channel *channel, double deadline);
void store_channel_close(struct store_channel *channel);
