// SPDX-License-Identifier: MIT
// Filters on the sockets of a provider over TCP: only the members' connections keep working.
//
// - libfabric accepts every connection. A foreign process could end the rank with 16 bytes (libfabric 1.17 to 2.x
//   follow a null pointer when an acknowledgement acknowledges nothing). It could claim a member's address, so that the
//   provider drops the member's connection, or use up the rank's descriptors. So once all members are connected, a
//   filter drops all that comes to the endpoint's listening socket, and to each connection that no member has reported
//   as its own.
// - The provider does not hand out its sockets: they are found among this process's descriptors by their addresses.
//   A filter does not wake up the provider, as closing or shutting down a socket would.
// - Providers without such sockets, such as verbs, and systems without such filters are left alone. While members still
//   connect, only the key (key.h) and the provider itself protect the rank.
//   Source: socket(7), SO_ATTACH_FILTER.
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

// A socket of this process that is connected, or listens. An address is identified by a number of 63 bits, different
// for different addresses; 0: there is none, or it is not an IP address.
struct ofi_connection {
    int fd;
    bool listens;
    uint64_t here, there; // `there`: 0 where it listens
};

uint64_t ofi_address_name(const struct sockaddr *address);

// All of this process; freed by the caller, NULL where there are none.  Their number.
int ofi_connections_list(struct ofi_connection **list_p);
// This process's own address of its connection to `there`; 0: there is no such connection.
uint64_t ofi_connections_from(const struct ofi_connection list[], int n, uint64_t there);
// Accept no more connections at `here`, and drop all that comes by connections that are from none of the `members`. If
// a member's connection is not in the list (for example behind NAT) or not known (0), no connection is dropped. Returns
// whether no other process can connect now.
bool ofi_connections_keep(const struct ofi_connection list[], int n, uint64_t here, const uint64_t members[],
                          int nmembers);
// Whether that works on this system: tried on a socket of this process.
bool ofi_connections_can_keep(void);
