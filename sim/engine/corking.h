// SPDX-License-Identifier: MIT
// Which messages leave in one packet with an earlier one of the same socket, and which are read with one.
//
// - TCP sends a message at once if the socket has nothing under way. Else it keeps it back while an earlier packet of
//   that socket waits for the wire (autocorking), and what is handed over meanwhile joins it.
// - So a socket has at most one packet that waits for the wire, and one behind it that others can join. The latter is
//   closed when the former leaves.
// - A receiver that is behind reads all that has come from a socket at once. What was there then costs its core less.
// - It remembers a rank's last sockets, one for each remainder of peers by CORKING_SOCKETS. A socket that another one
//   took the place of counts as idle.
//
// Source: Linux, net/ipv4/tcp.c, tcp_should_autocork (since 3.14).
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "sim/net/net.h"

enum { CORKING_SOCKETS = 8 };

struct corking_socket {
    int peer;
    double closed;  // s: until then messages join its last packet
    double departs; // that packet
    double read;    // until here all that has come from it has been read
};

struct corking {
    struct corking_socket *sockets; // (nranks, CORKING_SOCKETS); NULL: nothing joins another on this network
    int nranks;
};

//   errors: CLAB_ENOMEM
int corking_init(struct corking *c, const struct clab_net *net, int nranks);
void corking_free(struct corking *c);
size_t corking_bytes(const struct corking *c);

static inline struct corking_socket *corking_socket(const struct corking *c, int rank, int peer)
{
    struct corking_socket *s = &c->sockets[(size_t)rank * CORKING_SOCKETS + (size_t)peer % CORKING_SOCKETS];
    if (s->peer != peer)
        *s = (struct corking_socket){.peer = peer, .read = -1};
    return s;
}

// Whether the message that `rank` hands over to its socket with `peer` at `posted` joins the last packet of that socket.
// corking_depart must follow.
static inline bool corking_joins(const struct corking *c, int rank, int peer, double posted)
{
    struct corking_socket *s = corking_socket(c, rank, peer);
    if (posted < s->closed)
        return true;
    s->closed = s->departs;
    return false;
}

// The packet of that message departs at `when`, if nothing joins it.
static inline void corking_depart(const struct corking *c, int rank, int peer, double when)
{
    c->sockets[(size_t)rank * CORKING_SOCKETS + (size_t)peer % CORKING_SOCKETS].departs = when;
}
