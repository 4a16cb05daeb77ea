// SPDX-License-Identifier: MIT
// What a message of so many bytes costs on a link: a segment's figures times the bytes, computed once for a size, in
// ticks. A schedule has few sizes, and a table this small stays in a core's own cache.
#pragma once

#include <stdint.h>

#include "sim/net/net.h"
#include "sim/engine/ticks.h"

struct loggp_cost {
    const struct clab_segment *segment; // NULL: empty
    const struct clab_link *link;
    size_t bytes;
    double o_send, send;       // s of the sender's port: fixed, and for the bytes
    double head;               // s from then until the receiver may begin
    double o_recv, both, recv; // both: more, in a stage that sends, too
    double last; // s from the message's head on before which the last fragment can not have landed; of a segment of
                 // `memory`: before which it has not been sent
    double reduce, o_reduce; // s to combine the bytes, where there are no levels; and for each message
    double latency;
    double gap;           // LogGP's g, which no message itself waits for
    double ahead;         // s that the last byte may leave before its turn, after a pause
    double held;          // s more of the sender's core if all bytes wait for the wire
    double after, joined; // s more of the sender's core; and less of either port for a message that joins a packet
    double acks;          // s of the receiver's port on the way back
    double found;         // s less of the receiver's core for a message that it finds with one before it
    double out, beside;   // s more of the sender's port; of the receiver's core, while the bytes come
    bool waits, buffers;
    uint8_t tx, rx; // enum loggp_port
};

// What of a rank a message takes, as struct rank_state has them.
enum loggp_port {
    LOGGP_PORT_CORE,
    LOGGP_PORT_TX,
    LOGGP_PORT_RX = LOGGP_PORT_TX + 2,
    LOGGP_PORT_NONE = LOGGP_PORT_RX + 2
}; // + 1: to other nodes

enum { LOGGP_LINKS = 8, LOGGP_SIZES = 16 };

struct loggp_costs {
    const struct loggp_cost *last[LOGGP_LINKS]; // of each link, that was looked up: mostly the next, too; NULL: none
    struct loggp_cost table[LOGGP_LINKS][LOGGP_SIZES];
    struct ticks ticks;
    const struct clab_net *net;
    double armed; // the part of a timer that is armed already, by another host of the core
};

struct loggp_cost *loggp_costs_fill(struct loggp_costs *costs, struct loggp_cost *cost, const struct clab_link *link,
                                    size_t bytes);

// s more of the sender's core where the last byte leaves so many `seconds` after the message was handed over: packets
// that a bucket does not let go at once wait for the wire, with a timer each.
static inline double loggp_held(const struct loggp_costs *costs, const struct loggp_cost *cost, double seconds)
{
    const double share = seconds < cost->send ? seconds / cost->send : 1;
    return cost->held > 0 && seconds > 0 ? ticks_round(costs->ticks, cost->held * share) : 0;
}

// `index` of the link, < LOGGP_LINKS. Valid until the next call.
static inline const struct loggp_cost *loggp_costs_of(struct loggp_costs *costs, const struct clab_link *link,
                                                      int index, size_t bytes)
{
    const struct loggp_cost *last = costs->last[index];
    if (__builtin_expect(last && last->bytes == bytes, 1))
        return last;
    struct loggp_cost *cost = &costs->table[index][(bytes * 0x9E3779B97F4A7C15u) >> 60];
    return costs->last[index] =
               cost->segment && cost->bytes == bytes ? cost : loggp_costs_fill(costs, cost, link, bytes);
}
