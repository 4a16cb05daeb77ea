// SPDX-License-Identifier: MIT
// The store: the process to which all members of a job connect if they do not share the launcher's memory: ranks on
// several nodes, or ranks of another launcher than ours.
//
//   message    the messages of a connection                channel, client, join   a member's end of a connection
//   fence      exchanges among members                     server, start           sockets and poll(2); the process
//   socket     addresses, and TCP's options                keepalive               whether a host still answers
//   proof      that both sides know the token              admission               which peers become members
//   refusals   refused peers, for node 0's log             job_status              which failure decides the status
//   store      connections, members, notices: bytes in and bytes out, without sockets
//
// - Members are the ranks, 0 to nranks - 1, and behind them the launchers of nodes, if there are any.
// - A peer is unauthenticated until its STORE_JOIN has proved that it knows the token. Before that it may send only
//   STORE_HELLO. A member joins once.
// - A member that sends STORE_LEAVE has LEFT; if its connection ends without one, it is LOST. All members receive these
//   and the other members' notices in one order. The store closes the connection of a member that falls behind by
//   STORE_NOTICES, so memory is bounded.
// - With nodes: the first rank that fails, or the first launcher that is lost, ends the job; else it ends when all nodes
//   are done.
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "core/job/store/message.h"

enum { STORE_NOTICES = 16384 };
#define STORE_PATIENCE 2.0 // seconds that a launcher waits for other nodes before it logs that

struct store_job {
    int nranks;
    int nnodes; // launchers that join, too; 0: none
    unsigned char token[CLAB_TOKEN_BYTES];
};

struct store;
struct store_connection;

// NULL: out of memory.
struct store *store_create(const struct store_job *job);
void store_destroy(struct store *store); // after all its connections were closed

// A connection has come from `address` (numeric, of STORE_ADDRESS_BYTES at most).  NULL: out of memory.
struct store_connection *store_accept(struct store *store, const char *address);
// Its peer has sent `bytes`.
//   errors: CLAB_EPARSE (no member sends that), CLAB_ENOMEM. Close the connection
int store_receive(struct store_connection *connection, const unsigned char *bytes, size_t n);
// The bytes to send next, how many; 0: none. And how many of them were sent.
size_t store_output(struct store_connection *connection, const unsigned char **bytes_p);
void store_sent(struct store_connection *connection, size_t n);
// Send STORE_HEARTBEAT if there is nothing else to send.
void store_heartbeat(struct store_connection *connection);
// It has ended, or the server closes it: free it.  unreachable: its host does not answer
void store_disconnect(struct store_connection *connection, bool unreachable);

bool store_has_joined(const struct store_connection *connection);
bool store_is_launcher(const struct store_connection *connection); // of a node
// Close it when its output has been sent.
bool store_is_over(const struct store_connection *connection);
// The job is over: do not wait for members much longer.
bool store_has_ended(const struct store *store);

// Decide what is due without a message; and clab_now() when that is next due, or INFINITY.
void store_look(struct store *store);
double store_next(const struct store *store);

// The first of the ranks of `node`: the first nodes have one more, where nnodes does not divide nranks.
static inline int store_first_rank(int nranks, int nnodes, int node)
{
    const int rest = nranks % nnodes;
    return node * (nranks / nnodes) + (node < rest ? node : rest);
}

// ---- its process ---------------------------------------------------------------------------------------------

// Serve who connects to `listener`, until `lifeline` has ended and no member is left (server.c).
void store_serve(const struct store_job *job, int listener, int lifeline);

// The same in a process of its own (start.c): nobody's child, in a session of its own, and nothing of ours is
// open there but `listener`.  *lifeline_p: the store ends once this is closed here and no member is connected.
//   errors: CLAB_ESYS
int store_start(const struct store_job *job, int listener, int *lifeline_p);
// Close the lifeline, and wait until the store has ended, `seconds` at most.
void store_await_end(int lifeline, double seconds);
