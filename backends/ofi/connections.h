// SPDX-License-Identifier: MIT
// The sockets by which a provider over TCP connects an endpoint with others: only members' are left.
//
// - libfabric lets anybody connect. Whoever does can end the rank by 16 bytes (libfabric 1.17 to 2.x follow a null
//   pointer on an acknowledgement of nothing), claim a member's address, so that the provider drops the member's
//   connection, or use up the rank's descriptors. So once all members are connected with all, the endpoint's socket is
//   made to drop all that comes, and so is each connection that no member says it has made.
// - The provider keeps the sockets to itself: they are found among this process's descriptors by their addresses.
//   A filter does not wake the provider up, as closing a socket or shutting it down would.
// - It does nothing for a provider that has no such sockets, such as verbs, and where the system has no such filter.
//   What somebody sends while members still connect is up to the key (key.h), and to the provider.
//   Source: socket(7), SO_ATTACH_FILTER.
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

// A socket of this process that is connected, or listens. Addresses go by their names: numbers of 63 bits, which differ
// where the addresses do; 0: there is none, or it is not one of IP.
struct ofi_connection {
    int fd;
    bool listens;
    uint64_t here, there; // `there`: 0 where it listens
};

uint64_t ofi_address_name(const struct sockaddr *address);

// All of this process; freed by the caller, NULL where there are none.  Their number.
int ofi_connections_list(struct ofi_connection **list_p);
// From where this process has connected to `there`; 0: it has not.
uint64_t ofi_connections_from(const struct ofi_connection list[], int n, uint64_t there);
// Let no more connections be made to `here`, and drop what comes by those that are from none of the `members`. If one
// of theirs is not among them, as behind a translation of addresses, or is not known (0), nothing of that is dropped.
// Whether nobody else can connect now.
bool ofi_connections_keep(const struct ofi_connection list[], int n, uint64_t here, const uint64_t members[],
                          int nmembers);
