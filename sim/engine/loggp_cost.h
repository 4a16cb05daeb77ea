// SPDX-License-Identifier: MIT
// What a message of so many bytes costs on a link: a segment's figures times the bytes, computed once for a size, in
// ticks. A schedule has few sizes, and a table this small stays in a core's own cache.
#pragma once

#include <stdint.h>

#include "sim/net/net.h"
#include "sim/engine/ticks.h"

struct toll {
    const struct clab_segment *segment; // NULL: empty
    const struct clab_link *link;
    size_t bytes;
    double o_send, send;       // s of the sender's port: fixed, and for the bytes
    double head;               // s from then until the receiver may begin
    double o_recv, both, recv; // both: more, in a stage that sends, too
    double last;   // s from the message's head on before which the last fragment can not have landed; of a segment of
                   // `memory`: before which it has not been sent
    double reduce; // s to combine the bytes, where there are no levels
    double latency;
    double ahead; // s that the last byte may leave before its turn, after a pause
    bool waits, buffers;
    uint8_t tx, rx; // enum toll_port
};

// What of a rank a message takes, as struct rank_state has them.
enum toll_port { TOLL_CORE, TOLL_TX, TOLL_RX = TOLL_TX + 2, TOLL_NONE = TOLL_RX + 2 }; // + 1: to other nodes

enum { TOLLS_LINKS = 8, TOLLS_SIZES = 16 };

struct tolls {
    const struct toll *last[TOLLS_LINKS]; // of each link, that was looked up: mostly the next, too; NULL: none
    struct toll table[TOLLS_LINKS][TOLLS_SIZES];
    struct ticks ticks;
    const struct clab_net *net;
};

struct toll *tolls_fill(struct tolls *tolls, struct toll *toll, const struct clab_link *link, size_t bytes);

// `index` of the link, < TOLLS_LINKS. Valid until the next call.
static inline const struct toll *tolls_of(struct tolls *tolls, const struct clab_link *link, int index, size_t bytes)
{
    const struct toll *last = tolls->last[index];
    if (__builtin_expect(last && last->bytes == bytes, 1))
        return last;
    struct toll *toll = &tolls->table[index][(bytes * 0x9E3779B97F4A7C15u) >> 60];
    return tolls->last[index] = toll->segment && toll->bytes == bytes ? toll : tolls_fill(tolls, toll, link, bytes);
}
