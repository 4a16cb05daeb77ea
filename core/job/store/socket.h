// SPDX-License-Identifier: MIT
// The store's addresses and sockets. They close on exec, and do not block.
#pragma once

#include "core/job/store/message.h"

// "HOST:PORT" or "[HOST]:PORT".  errors: CLAB_EPARSE, not logged
int store_address_read(const char *text, char host[CLAB_HOST_BYTES], int *port_p);

// Listen at `host` ("": at all addresses of this machine) and `port` (0: any that is free), which `option` has named.
//   errors: CLAB_EINVAL (no such address here), CLAB_ESYS (in use); one line with the remedy
int store_listen(const char *host, int port, const char *option, int *fd_p, int *port_p);

// The addresses of this machine by which others may reach it, commas between them: those of `interface` (its name, or
// an address of it; the first only), or with NULL all that are up.
//   errors: CLAB_EINVAL (there is none), CLAB_ESYS, with one line
int store_addresses(const char *interface, char hosts_p[CLAB_HOST_BYTES]);

// Connect within `seconds` to the first that answers of `hosts` (commas between them).
//   errors, not logged: CLAB_ENOENT (there is no such host), CLAB_ESYS (errno says why not)
int store_connect(const char *hosts, int port, double seconds, int *fd_p);

#define STORE_KEEPALIVE 1.0 // seconds of silence after which TCP asks the other host

// No delay of small messages, and what keepalive.h needs: a host is asked again and again.
void store_socket_watch(int fd);

// The numeric address of who is at the other end; "?" if it can not be told.
void store_socket_peer(int fd, char address[STORE_ADDRESS_BYTES]);
