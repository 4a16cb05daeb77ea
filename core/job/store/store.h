// SPDX-License-Identifier: MIT
// The store: the one process that all members of a job are connected to where they share no memory: several nodes, or
// another launcher than ours.
//
//   store_message  what is said on a connection          store_client   a member's end of it
//   store_fence  exchanges among members               store_server   sockets and poll(2); store_start: the process
//   store_socket   addresses, and TCP's options          store_keepalive    whether a host still answers
//   store_proof    that both know the token
//   store_refusals who was refused, for node 0's log      store_job_status  whose failure ends a job of several nodes
//   store_door     unauthenticated, and who of them becomes a member
//   store          connections, members, notices, and how a job of several nodes ends: no sockets, bytes in and bytes out
//
// - Members are the ranks, 0 to nranks - 1, and behind them the launchers of nodes, if there are any.
// - A connection is a connection. It is a stranger until it has proved in a message of STORE_JOIN that it knows the token,
//   and may say nothing but STORE_HELLO before that; a member joins once.
// - A member that says farewell has LEFT; one whose connection ends without that is LOST. All members hear of both, and
//   of what members tell, in one order. Who falls behind by STORE_NOTICES is cut off, so that memory is bounded.
// - With nodes: the first rank that fails, or launcher that is lost, ends the job; else it ends when all are done.
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "core/job/store/message.h"

enum { STORE_NOTICES = 16384 };
#define STORE_PATIENCE 2.0 // seconds that a launcher waits for other nodes before it says so

struct store_job {
    int nranks;
    int nnodes; // launchers that join, too; 0: none
    unsigned char token[CLAB_TOKEN_BYTES];
};

struct store;
struct store_connection;

// NULL: out of memory.
struct store *store_create(const struct store_job *job);
void store_destroy(struct store *store); // its connections have left

// A connection has come from `address` (numeric, of STORE_ADDRESS_BYTES at most).  NULL: out of memory.
struct store_connection *store_accept(struct store *store, const char *address);
// It has sent `bytes`.
//   errors: CLAB_EPARSE (no member would say that), CLAB_ENOMEM. Its connection is to be closed
int store_receive(struct store_connection *connection, const unsigned char *bytes, size_t n);
// What is to be sent to it next, and how much of that was sent. 0: nothing now.
size_t store_output(struct store_connection *connection, const unsigned char **bytes_p);
void store_sent(struct store_connection *connection, size_t n);
// A message of STORE_HEARTBEAT is, where nothing else is to be sent.
void store_heartbeat(struct store_connection *connection);
// It has ended, or is to be closed: the connection is freed. `unreachable`: its host does not answer.
void store_disconnect(struct store_connection *connection, bool unreachable);

bool store_has_joined(const struct store_connection *connection);
bool store_is_launcher(const struct store_connection *connection); // of a node
// Its connection is to be closed once its output was sent.
bool store_is_over(const struct store_connection *connection);
// The job is: nobody is to be waited for much longer.
bool store_has_ended(const struct store *store);

// What is to be decided by now, though nobody has said anything, is; and clab_now() when that is next, or INFINITY.
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
