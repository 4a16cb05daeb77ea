// SPDX-License-Identifier: MIT
// What the kernel has counted on each network interface, and on all TCP sockets, of this network namespace.
//
// - Counters only grow. Rates are differences of two readings: netmon.c.
// - Source: proc(5), /proc/net/dev and /proc/net/snmp. /sys/class/net has the same counters, but those of the namespace in
//   which it was mounted.
#pragma once

#include <stdbool.h>
#include <stdint.h>

enum { NETMON_INTERFACE = 16 }; // IFNAMSIZ

struct netmon_interface {
    char name[NETMON_INTERFACE];
    uint64_t rx_bytes, tx_bytes, rx_packets, tx_packets;
};

struct netmon_interfaces {
    struct netmon_interface *list; // (n)
    int n;
};

// All interfaces, for netmon_interfaces_free.  errors: CLAB_EIO (logged), CLAB_ENOMEM
int netmon_interfaces_read(struct netmon_interfaces *interfaces_p);
// The same of a text like that of /proc/net/dev, for the caller's tests.
int netmon_interfaces_parse(char *text, struct netmon_interfaces *interfaces_p);
void netmon_interfaces_free(struct netmon_interfaces *interfaces);

// NULL: there is none of that name.
const struct netmon_interface *netmon_interface_find(const struct netmon_interfaces *interfaces, const char *name);

// Whether `name` is to be shown: it is `wanted`, or, where that is NULL, it is not the loopback, unless that is all there is.
bool netmon_interface_is_shown(const struct netmon_interfaces *interfaces, const char *wanted, const char *name);

// What the counters of the shown interfaces have grown by, together. An interface that `before` does not have adds
// nothing: its counters did not begin at 0 then. Neither does a counter that has become smaller: it began anew.
struct netmon_interface netmon_interfaces_growth(const struct netmon_interfaces *before,
                                                 const struct netmon_interfaces *now, const char *wanted);

// TCP segments that were sent again, since this namespace is there; 0 if the kernel does not say.
uint64_t netmon_retransmits(void);
