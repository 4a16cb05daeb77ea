// SPDX-License-Identifier: MIT
// The two ends of a channel. Source: the single-producer single-consumer ring of Lamport 1983, with the full/empty
// test in the line itself (as FastForward, Giacomoni et al. 2008, section 3).

#include "backends/shm/channel.h"

#include <limits.h>
#include <linux/futex.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "core/base/numbers/copy.h"
#include "core/base/numbers/reduce.h"
#include "core/base/prefetch.h"

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

// The peer sleeps only after it has polled for long. It announces that, polls once more, and sleeps at most 1 ms.
// Reading the announcement too early costs 1 ms at most, and saves every message a memory fence.
static void wake(const struct shm_endpoint *endpoint, int peer)
{
    struct shm_futex *futex = shm_futex(endpoint->domain, endpoint->job_ranks[peer]);
    if (atomic_load_explicit(&futex->sleeping, memory_order_relaxed)) {
        atomic_store_explicit(&futex->sleeping, 0, memory_order_relaxed);
        syscall(SYS_futex, &futex->sleeping, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
    }
}

// ---- sending -------------------------------------------------------------------------------------------------

// Whether the next line, or the slot beside it, is still to be read.
static bool is_full(struct shm_channel *channel, enum shm_protocol protocol)
{
    const uint32_t room = protocol == SHM_SLOTTED ? SHM_SLOTS : SHM_LINES;
    if (channel->lines - channel->seen < room)
        return false;
    channel->seen = atomic_load_explicit(&channel->queue->consumed, memory_order_acquire);
    return channel->lines - channel->seen >= room;
}

static enum shm_protocol choose_protocol(const struct shm_domain *domain, const void *src, size_t bytes)
{
    if (bytes <= SHM_INLINE_MOST)
        return SHM_INLINE;
    const size_t least_pull = domain->boot->crowded ? SHM_PULL_CROWDED : SHM_PULL_SHARED;
    if (bytes >= least_pull && shm_is_shared(domain, src))
        return SHM_PULL;
    return SHM_SLOTTED;
}

// In a stream the sender asks ahead for lines that the receiver has read a lap ago. Without that each store waits for
// its line. The sender does not ask where the peer answers, since the peer's next look would take the lines back. Nor
// does it ask for lines that the receiver has yet to read.
static void ask_ahead(const struct shm_endpoint *endpoint, const struct shm_channel *channel)
{
    const bool is_free = channel->lines + SHM_AHEAD - channel->seen < SHM_LINES;
    if (endpoint->sends_alone >= SHM_STREAM && is_free)
        clab_prefetch_to_write(&channel->queue->lines[(channel->lines + SHM_AHEAD) % SHM_LINES]);
}

// Write the next line, with the next fragment of the message, and return the fragment's bytes.
static size_t write_line(const struct shm_domain *domain, struct shm_channel *channel, const struct clab_transfer *t,
                         enum shm_protocol protocol)
{
    size_t moved = t->bytes - t->moved;
    struct shm_line *line = &channel->queue->lines[channel->lines % SHM_LINES];
    const char *src = (const char *)t->src + t->moved;
    line->protocol = (uint16_t)protocol;
    line->call = t->call;
    line->message_bytes = t->bytes;
    switch (protocol) {
    case SHM_INLINE:
        moved = least(moved, SHM_INLINE_BYTES);
        if (moved)
            memcpy(line->payload, src, moved);
        break;
    case SHM_SLOTTED:
        moved = least(moved, SHM_SLOT_BYTES);
        clab_bytes_copy_string(channel->queue->slots[channel->lines % SHM_SLOTS], src, moved);
        break;
    case SHM_PULL:
        moved = least(moved, SHM_PULL_BYTES);
        line->address = (uint64_t)(src - domain->file);
        break;
    }
    atomic_store_explicit(&line->number, ++channel->lines, memory_order_release);
    return moved;
}

int shm_channel_send(struct shm_endpoint *endpoint, struct shm_channel *channel, struct clab_transfer *t)
{
    if (channel->finished == t->turn) {
        const enum shm_protocol protocol = choose_protocol(endpoint->domain, t->src, t->bytes);
        do {
            if (is_full(channel, protocol))
                return CLAB_OK;
            ask_ahead(endpoint, channel);
            t->moved += write_line(endpoint->domain, channel, t, protocol);
            wake(endpoint, t->peer);
        } while (t->moved < t->bytes);
        t->mark = channel->lines;
        channel->finished++;
        t->done = protocol != SHM_PULL && t->bytes < SHM_LONG;
    }
    if (t->done || channel->finished <= t->turn)
        return CLAB_OK;
    // All lines are written, and the send is done when the receiver has consumed the last one.
    channel->seen = atomic_load_explicit(&channel->queue->consumed, memory_order_acquire);
    t->done = (int32_t)(channel->seen - (uint32_t)t->mark) >= 0;
    return CLAB_OK;
}

// ---- receiving -----------------------------------------------------------------------------------------------

// Land `bytes` of the message, which lie at `from`, behind what has landed already.
static void land(struct clab_transfer *t, const void *from, size_t bytes)
{
    char *dst = (char *)t->dst + t->moved;
    const bool non_temporal = t->non_temporal && bytes >= CLAB_NONTEMPORAL_LEAST;
    if (t->op == CLAB_RECV)
        (non_temporal ? clab_bytes_copy_nontemporal : clab_bytes_copy)(dst, from, bytes);
    else
        (non_temporal && t->src != t->dst ? clab_elements_reduce_nontemporal : clab_elements_reduce)(
            t->type, t->redop, (const char *)t->src + t->moved, from, dst, bytes / clab_type_bytes(t->type));
    t->moved += bytes;
}

// Whether what was read from the peer's memory was its message. It was unless the peer had failed by then, and may have
// overwritten it. (The reader's half of a sequence lock.)
static bool is_still_offered(const struct shm_endpoint *endpoint, int peer)
{
    atomic_thread_fence(memory_order_acquire); // the reads come first
    return !atomic_load_explicit(&endpoint->peer_areas[peer]->is_revoked, memory_order_relaxed);
}

static int check_line(const struct clab_transfer *t, const struct shm_line *line)
{
    return line->message_bytes == t->bytes && line->call == t->call ? CLAB_OK : CLAB_EMISMATCH;
}

static int take_line(struct shm_endpoint *endpoint, struct shm_channel *channel, struct clab_transfer *t,
                     const struct shm_line *line)
{
    CLAB_TRY(check_line(t, line));
    size_t rest = t->bytes - t->moved;
    switch ((enum shm_protocol)line->protocol) {
    case SHM_INLINE:
        if (rest)
            land(t, line->payload, least(rest, SHM_INLINE_BYTES));
        break;
    case SHM_SLOTTED: land(t, channel->queue->slots[channel->lines % SHM_SLOTS], least(rest, SHM_SLOT_BYTES)); break;
    case SHM_PULL: land(t, endpoint->domain->file + line->address, least(rest, SHM_PULL_BYTES)); break;
    }
    return line->protocol != SHM_PULL || is_still_offered(endpoint, t->peer) ? CLAB_OK : CLAB_EPEER;
}

// Tell the sender: at once if it waits for that, else twice per round of the slots.
static void publish(struct shm_endpoint *endpoint, struct shm_channel *channel, int peer, bool awaited)
{
    if (!awaited && channel->lines - channel->seen < SHM_SLOTS / 2)
        return;
    channel->seen = channel->lines;
    atomic_store_explicit(&channel->queue->consumed, channel->lines, memory_order_release);
    wake(endpoint, peer);
}

static bool is_there(const struct shm_channel *channel, uint32_t line)
{
    return atomic_load_explicit(&channel->queue->lines[line % SHM_LINES].number, memory_order_acquire) == line + 1;
}

// A receiver that is behind fetches the line after the next while it uses this one. A receiver that keeps up must not: it
// would take a line that the sender is about to write. It finds out once a lap.
static void fetch_ahead(struct shm_channel *channel)
{
    if (channel->lines % SHM_LINES == 0)
        channel->is_behind = is_there(channel, channel->lines + SHM_BEHIND);
    if (channel->is_behind)
        __builtin_prefetch(&channel->queue->lines[(channel->lines + 2) % SHM_LINES]);
}

int shm_channel_receive(struct shm_endpoint *endpoint, struct shm_channel *channel, struct clab_transfer *t)
{
    if (channel->finished != t->turn)
        return CLAB_OK;
    do {
        if (!is_there(channel, channel->lines))
            return CLAB_OK;
        const struct shm_line *line = &channel->queue->lines[channel->lines % SHM_LINES];
        fetch_ahead(channel);
        CLAB_TRY(take_line(endpoint, channel, t, line));
        const bool awaited = line->protocol == SHM_PULL || (t->bytes >= SHM_LONG && t->moved == t->bytes);
        channel->lines++;
        publish(endpoint, channel, t->peer, awaited);
    } while (t->moved < t->bytes);
    channel->finished++;
    t->done = true;
    return CLAB_OK;
}
