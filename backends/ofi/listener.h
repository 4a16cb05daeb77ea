// SPDX-License-Identifier: MIT
// The socket at which a provider over TCP lets others connect to an endpoint.
//
// - Once all members are connected with all, nobody else has a reason to connect. Whoever does so can end the rank by
//   16 bytes (libfabric 1.17 to 2.x follow a null pointer on an acknowledgement of nothing), claim a member's address so
//   that the provider drops the member's connection, or use up the rank's descriptors. So the socket is made to drop all
//   that comes. Connections that it has accepted before go on.
// - The provider keeps the socket to itself: it is found among this process's descriptors by its address. A filter does
//   not wake the provider up, as closing the socket or shutting it down would.
// - It does nothing for a provider that has no such socket, such as verbs, and where the system has no such filter.
//   Source: socket(7), SO_ATTACH_FILTER.
#pragma once

#include <stdbool.h>
#include <sys/socket.h>

// Let no more connections be made to `address`, where this process listens. Whether that is so now.
bool ofi_listener_stop(const struct sockaddr *address);
