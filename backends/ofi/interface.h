// SPDX-License-Identifier: MIT
// Which network interface of this host reaches the other ranks.
#pragma once

#include <sys/socket.h>

struct clab_bootstrap;

// The address that this rank is reached at, with port 0, and the interface's name, "" if it has none:
// - CLAB_INTERFACE, which is a name (`eth0`) or an address;
// - 127.0.0.1 where all ranks are on this host;
// - the one from which MASTER_ADDR is reached; else the first that is up and not the loopback.
// out: name (IF_NAMESIZE)
//   errors: CLAB_EUNSUPPORTED (there is no such interface; logged with those there are)
int ofi_interface_find(const struct clab_bootstrap *boot, struct sockaddr_storage *address_p, char *name);
