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

enum { READ_BYTES = 16 << 10, LEAST_ROOM = 64 };

// ---- bytes ---------------------------------------------------------------------------------------------------

static bool make_room(struct store_bytes *b, size_t room)
{
    if (b->at && room <= b->room)
        return true;
    room = room < 2 * b->room + LEAST_ROOM ? 2 * b->room + LEAST_ROOM : room;
    unsigned char *grown = realloc(b->at, room);
    if (grown)
        *b = (struct store_bytes){grown, b->n, room};
    return grown != NULL;
}

bool store_bytes_add(struct store_bytes *b, const void *more, size_t n)
{
    if (!make_room(b, b->n + n))
        return false;
    if (n)
        memcpy(b->at + b->n, more, n);
    b->n += n;
    return true;
}

static void drop(struct store_bytes *b, size_t n)
{
    b->n -= n;
    if (n && b->n)
        memmove(b->at, b->at + n, b->n);
}

// ---- out -----------------------------------------------------------------------------------------------------

// Where it fails, the reader finds out, after what was said to us before.
void store_line_flush(struct store_line *line)
{
    while (line->out.n) {
        const ssize_t sent = send(line->fd, line->out.at, line->out.n, MSG_NOSIGNAL | MSG_DONTWAIT);
        if (sent < 0 && errno == EINTR)
            continue;
        if (sent < 0)
            return;
        drop(&line->out, (size_t)sent);
    }
}

int store_line_say(struct store_line *line, const struct store_message *message)
{
    unsigned char head[STORE_FIXED_BYTES];
    const size_t n = store_message_write(message, head);
    if (!make_room(&line->out, line->out.n + n + message->tail_bytes))
        return CLAB_ENOMEM;
    store_bytes_add(&line->out, head, n);
    store_bytes_add(&line->out, message->tail, message->tail_bytes);
    store_line_flush(line);
    return CLAB_OK;
}

// ---- in ------------------------------------------------------------------------------------------------------

// Read what there is, at least up to `wanted` bytes.
static int fill(struct store_line *line, size_t wanted)
{
    struct store_bytes *in = &line->in;
    if (!make_room(in, (wanted > in->n ? wanted : in->n) + READ_BYTES))
        return CLAB_ENOMEM;
    for (;;) {
        const ssize_t n = recv(line->fd, in->at + in->n, in->room - in->n, MSG_DONTWAIT);
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

int store_line_read(struct store_line *line, struct store_message *message_p)
{
    for (;;) {
        const size_t n = line->in.n - line->taken;
        size_t bytes = STORE_HEADER_BYTES;
        if (n)
            CLAB_TRY(store_message_read(line->in.at + line->taken, n, message_p, &bytes));
        if (bytes <= n) {
            line->taken += bytes;
            return CLAB_OK;
        }
        drop(&line->in, line->taken);
        line->taken = 0;
        CLAB_TRY(fill(line, bytes));
    }
}

void store_line_await(const struct store_line *line, double deadline)
{
    struct pollfd what = {line->fd, (short)(POLLIN | (line->out.n ? POLLOUT : 0)), 0};
    const double left = deadline - clab_now();
    poll(&what, 1, left > 0 ? (int)fmin(ceil(left * 1e3), 1 << 30) : 0);
}

void store_line_close(struct store_line *line)
{
    close(line->fd);
    free(line->in.at);
    free(line->out.at);
}
