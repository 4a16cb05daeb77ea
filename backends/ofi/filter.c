// SPDX-License-Identifier: MIT
// Whether this system has the filter that keeps processes outside a job from sending to a rank (connections.h): tried on
// a socket of this process.

#include <netinet/in.h>
#include <poll.h>
#include <stdlib.h>
#include <unistd.h>

#include "backends/ofi/connections.h"

// A socket that listens on the loopback; -1: there is none.
static int listen_here(struct sockaddr_in *address_p)
{
    const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    socklen_t bytes = sizeof *address_p;
    *address_p = (struct sockaddr_in){.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    if (fd >= 0 && bind(fd, (struct sockaddr *)address_p, bytes) == 0 && listen(fd, 1) == 0 &&
        getsockname(fd, (struct sockaddr *)address_p, &bytes) == 0)
        return fd;
    if (fd >= 0)
        close(fd);
    return -1;
}

static bool can_connect(const struct sockaddr_in *address)
{
    enum { MS = 100 };
    const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    struct pollfd ready = {.fd = fd, .events = POLLOUT};
    (void)connect(fd, (const struct sockaddr *)address, sizeof *address);
    const bool connected = poll(&ready, 1, MS) == 1;
    if (fd >= 0)
        close(fd);
    return connected;
}

bool ofi_connections_can_keep(void)
{
    struct sockaddr_in address;
    struct ofi_connection *list;
    const int fd = listen_here(&address), n = ofi_connections_list(&list);
    const uint64_t here = ofi_address_name((struct sockaddr *)&address);
    const bool can = fd >= 0 && ofi_connections_keep(list, n, here, NULL, 0) && !can_connect(&address);
    free(list);
    if (fd >= 0)
        close(fd);
    return can;
}
