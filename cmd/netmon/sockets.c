// SPDX-License-Identifier: MIT
// The TCP sockets of this network namespace, by netlink (sockets.h).

#include "cmd/netmon/sockets.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <linux/sock_diag.h>
#include <linux/tcp.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "core/base/err.h"
#include "core/base/log.h"
#include "core/base/vector.h"

// include/net/tcp_states.h, which is not for programs.
enum { ESTABLISHED = 1, FIN_WAIT1 = 4, FIN_WAIT2 = 5, CLOSE_WAIT = 8, LAST_ACK = 9 };

struct list {
    struct netmon_socket *sockets;
    int n, room;
};

static int ask(int fd, int family)
{
    const struct {
        struct nlmsghdr header;
        struct inet_diag_req_v2 request;
    } message = {
        .header = {.nlmsg_len = sizeof message,
                   .nlmsg_type = SOCK_DIAG_BY_FAMILY,
                   .nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP},
        .request = {.sdiag_family = (uint8_t)family,
                    .sdiag_protocol = IPPROTO_TCP,
                    .idiag_ext = 1 << (INET_DIAG_INFO - 1),
                    .idiag_states =
                        1 << ESTABLISHED | 1 << FIN_WAIT1 | 1 << FIN_WAIT2 | 1 << CLOSE_WAIT | 1 << LAST_ACK},
    };
    return send(fd, &message, sizeof message, 0) == (ssize_t)sizeof message ? CLAB_OK : CLAB_ESYS;
}

// ---- an answer -----------------------------------------------------------------------------------------------

static struct netmon_end read_end(int family, uint16_t port, const uint32_t address[4])
{
    struct netmon_end end = {.family = family, .port = ntohs(port)};
    const bool is_mapped = family == AF_INET6 && !address[0] && !address[1] && address[2] == htonl(0xffff);
    if (is_mapped)
        end.family = AF_INET;
    memcpy(end.address, is_mapped ? address + 3 : address, end.family == AF_INET ? 4 : 16);
    return end;
}

// An older kernel writes fewer fields: what it leaves out is 0.
static void read_info(const struct rtattr *attribute, struct netmon_socket *socket)
{
    struct tcp_info info = {0};
    const size_t bytes = RTA_PAYLOAD(attribute);
    memcpy(&info, RTA_DATA(attribute), bytes < sizeof info ? bytes : sizeof info);
    // tcp_info counts the handshake's SYN, which holds no byte.
    socket->sent = info.tcpi_bytes_acked > 0 ? info.tcpi_bytes_acked - 1 : 0;
    socket->received = info.tcpi_bytes_received;
    socket->retransmits = info.tcpi_total_retrans;
    socket->rtt = info.tcpi_rtt * 1e-6;
    socket->busy = (double)info.tcpi_busy_time * 1e-6;
    socket->limited = (double)(info.tcpi_sndbuf_limited + info.tcpi_rwnd_limited) * 1e-6;
}

static int read_socket(const struct nlmsghdr *header, struct list *list)
{
    if (header->nlmsg_len < NLMSG_LENGTH(sizeof(struct inet_diag_msg)))
        return CLAB_OK;
    const struct inet_diag_msg *answer = NLMSG_DATA(header);
    struct netmon_socket socket = {.inode = answer->idiag_inode, .backlog = answer->idiag_wqueue};
    socket.local = read_end(answer->idiag_family, answer->id.idiag_sport, answer->id.idiag_src);
    socket.remote = read_end(answer->idiag_family, answer->id.idiag_dport, answer->id.idiag_dst);
    int left = (int)(header->nlmsg_len - NLMSG_LENGTH(sizeof *answer));
    for (const struct rtattr *a = (const struct rtattr *)(answer + 1); RTA_OK(a, left); a = RTA_NEXT(a, left))
        if (a->rta_type == INET_DIAG_INFO)
            read_info(a, &socket);
    return CLAB_PUSH(list->sockets, list->n, list->room, socket);
}

// One datagram of the kernel's answer. *done_p: it was the last.
static int read_part(int fd, struct list *list, bool *done_p)
{
    _Alignas(struct nlmsghdr) char part[1 << 15];
    ssize_t bytes;
    do
        bytes = recv(fd, part, sizeof part, 0);
    while (bytes < 0 && errno == EINTR);
    if (bytes <= 0)
        return CLAB_ESYS;
    unsigned left = (unsigned)bytes;
    for (const struct nlmsghdr *h = (const void *)part; NLMSG_OK(h, left); h = NLMSG_NEXT(h, left)) {
        if (h->nlmsg_type == NLMSG_ERROR) {
            errno = -((const struct nlmsgerr *)NLMSG_DATA(h))->error;
            return errno == ENOENT ? CLAB_EUNSUPPORTED : CLAB_ESYS;
        }
        *done_p |= h->nlmsg_type == NLMSG_DONE;
        if (h->nlmsg_type == SOCK_DIAG_BY_FAMILY)
            CLAB_TRY(read_socket(h, list));
    }
    return CLAB_OK;
}

static int read_family(int fd, int family, struct list *list)
{
    bool done = false;
    CLAB_TRY(ask(fd, family));
    while (!done)
        CLAB_TRY(read_part(fd, list, &done));
    return CLAB_OK;
}

int netmon_sockets_read(struct netmon_socket **sockets_p, int *n_p)
{
    struct list list = {0};
    const int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_SOCK_DIAG);
    int err = fd < 0 ? CLAB_EUNSUPPORTED : read_family(fd, AF_INET, &list);
    if (!err) {
        err = read_family(fd, AF_INET6, &list);
        err = err == CLAB_EUNSUPPORTED ? CLAB_OK : err; // a kernel without IPv6
    }
    if (err == CLAB_EUNSUPPORTED || err == CLAB_ESYS)
        clab_error("netmon: the kernel tells nothing of TCP sockets (sock_diag: %m): see `ss -ti` instead");
    if (fd >= 0)
        close(fd);
    if (err) {
        free(list.sockets);
        return err;
    }
    *sockets_p = list.sockets;
    *n_p = list.n;
    return CLAB_OK;
}
