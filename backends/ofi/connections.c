// SPDX-License-Identifier: MIT
// Only members' connections are left (connections.h).

#include "backends/ofi/connections.h"

#include <dirent.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <linux/filter.h>
#include <netinet/in.h>

#include "core/base/log.h"
#include "core/base/mix.h"
#include "core/base/vector.h"

// ---- addresses -----------------------------------------------------------------------------------------------

uint64_t ofi_address_name(const struct sockaddr *address)
{
    uint64_t words[2] = {0}, port = 0;
    if (address->sa_family == AF_INET) {
        const struct sockaddr_in *ip = (const void *)address;
        words[1] = ip->sin_addr.s_addr;
        port = ip->sin_port;
    } else if (address->sa_family == AF_INET6) {
        const struct sockaddr_in6 *ip = (const void *)address;
        memcpy(words, &ip->sin6_addr, sizeof words);
        port = ip->sin6_port;
    }
    return port ? clab_mix(clab_mix(words[0], words[1]), port) >> 1 : 0;
}

typedef int (*get_fn)(int fd, struct sockaddr *address, socklen_t *bytes);

static uint64_t name_by(get_fn get, int fd)
{
    struct sockaddr_storage address = {0};
    socklen_t bytes = sizeof address;
    return get(fd, (struct sockaddr *)&address, &bytes) == 0 ? ofi_address_name((struct sockaddr *)&address) : 0;
}

static bool look(int fd, struct ofi_connection *c)
{
    int listens = 0;
    socklen_t bytes = sizeof listens;
    if (getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &listens, &bytes) != 0)
        return false;
    *c = (struct ofi_connection){.fd = fd, .listens = listens, .here = name_by(getsockname, fd)};
    if (!listens)
        c->there = name_by(getpeername, fd);
    return c->here && (listens || c->there);
}

int ofi_connections_list(struct ofi_connection **list_p)
{
    struct ofi_connection *list = NULL, found;
    int n = 0, room = 0;
    DIR *folder = opendir("/proc/self/fd");
    for (struct dirent *entry; folder && (entry = readdir(folder));) {
        if (!look(atoi(entry->d_name), &found)) // 0 for . and ..: that is no such socket, either
            continue;
        if (CLAB_PUSH(list, n, room, found))
            break;
    }
    if (folder)
        closedir(folder);
    *list_p = list;
    return n;
}

uint64_t ofi_connections_from(const struct ofi_connection list[], int n, uint64_t there)
{
    for (int i = 0; i < n && there; i++)
        if (list[i].there == there)
            return list[i].here;
    return 0;
}

// ---- dropping foreign connections ----------------------------------------------------------------------------

static bool drop_all(int fd)
{
    struct sock_filter none = BPF_STMT(BPF_RET | BPF_K, 0); // bytes of a packet that pass
    const struct sock_fprog program = {.len = 1, .filter = &none};
    return setsockopt(fd, SOL_SOCKET, SO_ATTACH_FILTER, &program, sizeof program) == 0;
}

// Those that the provider has not accepted yet are no member's: members are connected.
static void turn_away_who_waits(int fd)
{
    struct pollfd waits = {.fd = fd, .events = POLLIN};
    while (poll(&waits, 1, 0) == 1 && waits.revents & POLLIN) {
        const int other = accept(fd, NULL, NULL);
        if (other < 0)
            return;
        close(other);
    }
}

static bool stop_listening(const struct ofi_connection list[], int n, uint64_t here)
{
    bool stopped = false;
    for (int i = 0; i < n; i++)
        if (list[i].listens && list[i].here == here && drop_all(list[i].fd)) {
            turn_away_who_waits(list[i].fd);
            stopped = true;
        }
    return stopped;
}

static bool is_among(uint64_t name, const uint64_t names[], int n)
{
    for (int i = 0; i < n; i++)
        if (names[i] == name)
            return true;
    return false;
}

static bool has_all(const struct ofi_connection list[], int n, uint64_t here, const uint64_t members[], int nmembers)
{
    int has = 0;
    if (is_among(0, members, nmembers))
        return false;
    for (int i = 0; i < n; i++)
        has += !list[i].listens && list[i].here == here && is_among(list[i].there, members, nmembers);
    return has == nmembers;
}

bool ofi_connections_keep(const struct ofi_connection list[], int n, uint64_t here, const uint64_t members[],
                          int nmembers)
{
    const bool stopped = here && stop_listening(list, n, here);
    int others = 0;
    if (!stopped || !has_all(list, n, here, members, nmembers))
        return stopped;
    for (int i = 0; i < n; i++)
        if (!list[i].listens && list[i].here == here && !is_among(list[i].there, members, nmembers))
            others += drop_all(list[i].fd);
    if (others > 0)
        clab_warn("ofi: ignores %d connection%s that a process outside of this job made to this rank's port", others,
                  others == 1 ? "" : "s");
    return stopped;
}
