// SPDX-License-Identifier: MIT
// Nobody else connects (listener.h).

#include "ofi/listener.h"

#include <dirent.h>
#include <stdlib.h>
#include <string.h>

#include <linux/filter.h>
#include <netinet/in.h>

static bool is_same(const struct sockaddr *a, const struct sockaddr *b)
{
    if (a->sa_family != b->sa_family)
        return false;
    if (a->sa_family == AF_INET) {
        const struct sockaddr_in *x = (const void *)a, *y = (const void *)b;
        return x->sin_port == y->sin_port && x->sin_addr.s_addr == y->sin_addr.s_addr;
    }
    const struct sockaddr_in6 *x = (const void *)a, *y = (const void *)b;
    return a->sa_family == AF_INET6 && x->sin6_port == y->sin6_port &&
           !memcmp(&x->sin6_addr, &y->sin6_addr, sizeof x->sin6_addr);
}

static bool listens_at(int fd, const struct sockaddr *address)
{
    struct sockaddr_storage own;
    socklen_t bytes = sizeof own, int_bytes = sizeof(int);
    int listens = 0;
    return getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &listens, &int_bytes) == 0 && listens &&
           getsockname(fd, (struct sockaddr *)&own, &bytes) == 0 && is_same((struct sockaddr *)&own, address);
}

static bool drop_all(int fd)
{
    struct sock_filter none = BPF_STMT(BPF_RET | BPF_K, 0); // bytes of a packet that pass
    const struct sock_fprog program = {.len = 1, .filter = &none};
    return setsockopt(fd, SOL_SOCKET, SO_ATTACH_FILTER, &program, sizeof program) == 0;
}

bool ofi_listener_stop(const struct sockaddr *address)
{
    bool stopped = false;
    DIR *folder = opendir("/proc/self/fd");
    for (struct dirent *entry; folder && (entry = readdir(folder));) {
        const int fd = atoi(entry->d_name); // 0 for . and .., too, which is no such socket either
        if (listens_at(fd, address))
            stopped |= drop_all(fd);
    }
    if (folder)
        closedir(folder);
    return stopped;
}
