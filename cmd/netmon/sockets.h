// SPDX-License-Identifier: MIT
// The TCP sockets of this network namespace, each with what the kernel knows of its connection.
//
// - They are asked for by netlink (NETLINK_SOCK_DIAG), which answers for the sockets of all processes: a program's own
//   need not be opened. No privilege is needed.
// - Source: sock_diag(7), tcp(7); include/uapi/linux/tcp.h for struct tcp_info.
#pragma once

#include <stdint.h>

struct netmon_end {
    int family; // AF_INET or AF_INET6; an IPv4 address in IPv6 is given as AF_INET
    uint16_t port;
    uint32_t address[4]; // network byte order; AF_INET: the first
};

struct netmon_socket {
    uint64_t inode; // that /proc/PID/fd names
    struct netmon_end local, remote;
    uint64_t sent, received; // bytes: that the peer has acknowledged, that this end has got
    uint64_t backlog;        // bytes that the program has sent and the peer not acknowledged
    uint64_t retransmits;    // segments that were sent again
    double rtt;              // s: smoothed round trip
    double busy, limited;    // s: with data to send; of these, stopped by the size of a socket buffer
};

// Those with a connection, for the caller to free.
//   errors: CLAB_EUNSUPPORTED (the kernel has no sock_diag; logged), CLAB_ESYS (logged), CLAB_ENOMEM
int netmon_sockets_read(struct netmon_socket **sockets_p, int *n_p);
