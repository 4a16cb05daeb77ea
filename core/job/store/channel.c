// SPDX-License-Identifier: MIT
// A member's connection to the store (channel.h).

#include "core/job/store/channel.h"

#include <errno.h>
#include <math.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "core/base/clock.h"
#include "core/base/vector.h"

enum { READ_BYTES = 16 << 10, LEAST_ROOM = 64 };

// ---- bytes ---------------------------------------------------------------------------------------------------

static bool make_room(struct store_bytes *b, size_t room)
{
    return CLAB_RESERVE(b->at, b->room, room < LEAST_ROOM ? LEAST_ROOM : room) == CLAB_OK;
}

bool store_bytes_add(struct store_bytes *b, const void *more, size_t n)
{
    return make_room(b, b->n + n) && CLAB_APPEND(b->at, b->n, b->room, more, n) == CLAB_OK;
}

static void drop(struct store_bytes *b, size_t n)
{
    b->n -= n;
    if (n && b->n)
        memmove(b->at, b->at + n, b->n);
}

// ---- out -----------------------------------------------------------------------------------------------------

// Errors are left to the reader: what the peer sent before is still to be read.
void store_channel_flush(struct store_channel *channel)
{
    while (channel->out.n) {
        const ssize_t sent = send(channel->fd, channel->out.at, channel->out.n, MSG_NOSIGNAL | MSG_DONTWAIT);
        if (sent < 0 && errno == EINTR)
            continue;
        if (sent < 0)
            return;
        drop(&channel->out, (size_t)sent);
    }
}

int store_channel_send(struct store_channel *channel, const struct store_message *message)
{
    unsigned char head[STORE_FIXED_BYTES];
    const size_t n = store_message_write(message, head);
    if (!make_room(&channel->out, channel->out.n + n + message->tail_bytes))
        return CLAB_ENOMEM;
    store_bytes_add(&channel->out, head, n);
    store_bytes_add(&channel->out, message->tail, message->tail_bytes);
    store_channel_flush(channel);
    return CLAB_OK;
}

// ---- in ------------------------------------------------------------------------------------------------------

// Read what has come, until there are at least `wanted` bytes.
static int fill(struct store_channel *channel, size_t wanted)
{
    struct store_bytes *in = &channel->in;
    if (!make_room(in, (wanted > in->n ? wanted : in->n) + READ_BYTES))
        return CLAB_ENOMEM;
    for (;;) {
        const ssize_t n = recv(channel->fd, in->at + in->n, in->room - in->n, MSG_DONTWAIT);
        if (n > 0) {
            in->n += (size_t)n;
            return CLAB_OK;
        }
        if (n == 0)
            errno = 0;
        if (n == 0 || (errno != EINTR && errno != EAGAIN))
            return CLAB_EPEER;
        if (errno == EAGAIN)
            return CLAB_ENOENT;
    }
}

int store_channel_read(struct store_channel *channel, struct store_message *message_p)
{
    for (;;) {
        const size_t n = channel->in.n - channel->taken;
        size_t bytes = STORE_HEADER_BYTES;
        if (n)
            CLAB_TRY(store_message_read(channel->in.at + channel->taken, n, message_p, &bytes));
        if (bytes <= n) {
            channel->taken += bytes;
            return CLAB_OK;
        }
        drop(&channel->in, channel->taken);
        channel->taken = 0;
        CLAB_TRY(fill(channel, bytes));
    }
}

void store_channel_await(const struct store_channel *channel, double deadline)
{
    struct pollfd what = {channel->fd, (short)(POLLIN | (channel->out.n ? POLLOUT : 0)), 0};
    const double left = deadline - clab_now();
    poll(&what, 1, left > 0 ? (int)fmin(ceil(left * 1e3), 1 << 30) : 0);
}

void store_channel_close(struct store_channel *channel)
{
    close(channel->fd);
    free(channel->in.at);
    free(channel->out.at);
}
