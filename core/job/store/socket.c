// SPDX-License-Identifier: MIT
// The store's addresses and sockets (socket.h).

#include "core/job/store/socket.h"

#include <errno.h>
#include <ifaddrs.h>
#include <math.h>
#include <net/if.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "core/base/clock.h"
#include "core/base/log.h"
#include "core/base/text.h"
#include "core/base/units.h"

#define ATTEMPT_SECONDS 2.0 // to connect to one address, before another is tried

enum { BACKLOG = 4096 };

int store_address_read(const char *text, char host[CLAB_HOST_BYTES], int *port_p)
{
    const char *colon = strrchr(text, ':');
    size_t length = colon ? (size_t)(colon - text) : 0;
    const char *name = text;
    if (length >= 2 && text[0] == '[' && text[length - 1] == ']')
        name++, length -= 2;
    else if (length && memchr(text, ':', length))
        return CLAB_EPARSE; // an IPv6 address needs its brackets
    if (length == 0 || length >= CLAB_HOST_BYTES)
        return CLAB_EPARSE;
    CLAB_TRY(clab_parse_int(colon + 1, 1, 65535, port_p));
    memcpy(host, name, length);
    host[length] = '\0';
    return CLAB_OK;
}

// Whether a host is lost is not TCP's to say (keepalive.h), so the probes are as many as can be.  source: tcp(7)
void store_socket_watch(int fd)
{
    const int on = 1, seconds = (int)STORE_KEEPALIVE, probes = 127;
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on);
    setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &seconds, sizeof seconds);
    setsockopt(fd, IPPROTO_TCP, TCP_KEEPINTVL, &seconds, sizeof seconds);
    setsockopt(fd, IPPROTO_TCP, TCP_KEEPCNT, &probes, sizeof probes);
    setsockopt(fd, IPPROTO_TCP, TCP_THIN_LINEAR_TIMEOUTS, &on, sizeof on);
}

// ---- addresses -----------------------------------------------------------------------------------------------

static int resolve(const char *host, int port, int flags, struct addrinfo **list_p)
{
    char service[16];
    const struct addrinfo hints = {.ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM, .ai_flags = flags};
    snprintf(service, sizeof service, "%d", port);
    return getaddrinfo(host, service, &hints, list_p);
}

static bool is_loopback(const struct sockaddr *address)
{
    if (address->sa_family == AF_INET)
        return ntohl(((const struct sockaddr_in *)address)->sin_addr.s_addr) >> 24 == 127;
    return IN6_IS_ADDR_LOOPBACK(&((const struct sockaddr_in6 *)address)->sin6_addr);
}

// A machine's own name is often that of a loopback address, by which no other machine finds it (Debian's 127.0.1.1).
static bool is_own_name(const char *host, const struct addrinfo *list)
{
    struct addrinfo *numeric;
    if (!strcmp(host, "localhost") || !is_loopback(list->ai_addr))
        return false;
    if (resolve(host, 0, AI_NUMERICHOST, &numeric) != 0)
        return true;
    freeaddrinfo(numeric);
    return false;
}

static int port_of(int fd)
{
    union {
        struct sockaddr_in in;
        struct sockaddr_in6 in6;
    } address;
    socklen_t bytes = sizeof address;
    getsockname(fd, (struct sockaddr *)&address, &bytes);
    return ntohs(address.in.sin_port); // the same place in both
}

// Numeric, or "".
static void write_address(const struct sockaddr *address, char text[NI_MAXHOST])
{
    const socklen_t bytes = address->sa_family == AF_INET ? sizeof(struct sockaddr_in) : sizeof(struct sockaddr_in6);
    if (getnameinfo(address, bytes, text, NI_MAXHOST, NULL, 0, NI_NUMERICHOST) != 0)
        text[0] = '\0';
}

// An IPv4 address that has come to an IPv6 socket is shown as what it is.
void store_socket_peer(int fd, char address[STORE_ADDRESS_BYTES])
{
    static const char mapped[] = "::ffff:";
    struct sockaddr_storage from = {0};
    socklen_t bytes = sizeof from;
    char text[NI_MAXHOST] = "";
    if (getpeername(fd, (struct sockaddr *)&from, &bytes) == 0)
        write_address((const struct sockaddr *)&from, text);
    const bool is_mapped = !strncmp(text, mapped, sizeof mapped - 1) && strchr(text, '.');
    const char *shown = is_mapped ? text + sizeof mapped - 1 : *text ? text : "?";
    snprintf(address, STORE_ADDRESS_BYTES, "%.*s", STORE_ADDRESS_BYTES - 1, shown);
}

// Whether `at` is of that interface; without one, whether others may reach us by it.
static bool is_wanted(const struct ifaddrs *at, const char *interface, const char *text)
{
    const bool is_local = at->ifa_addr->sa_family == AF_INET6 &&
                          IN6_IS_ADDR_LINKLOCAL(&((const struct sockaddr_in6 *)at->ifa_addr)->sin6_addr);
    if (interface)
        return !strcmp(interface, text) || (!strcmp(interface, at->ifa_name) && !is_local);
    return (at->ifa_flags & IFF_UP) && !is_local && !is_loopback(at->ifa_addr);
}

// Those of one address family, as long as they fit.
static void add_addresses(const struct ifaddrs *list, int family, const char *interface, char hosts[CLAB_HOST_BYTES])
{
    for (const struct ifaddrs *at = list; at; at = at->ifa_next) {
        char text[NI_MAXHOST];
        const size_t used = strlen(hosts);
        if (!at->ifa_addr || at->ifa_addr->sa_family != family || (interface && used))
            continue;
        write_address(at->ifa_addr, text);
        if (*text && is_wanted(at, interface, text) && used + strlen(text) + 2 <= CLAB_HOST_BYTES)
            strcat(used ? strcat(hosts, ",") : hosts, text);
    }
}

int store_addresses(const char *interface, char hosts_p[CLAB_HOST_BYTES])
{
    char hosts[CLAB_HOST_BYTES] = "";
    struct ifaddrs *list;
    if (getifaddrs(&list) != 0) {
        clab_error("can not list the addresses of this machine: %m");
        return CLAB_ESYS;
    }
    add_addresses(list, AF_INET, interface, hosts);
    add_addresses(list, AF_INET6, interface, hosts);
    freeifaddrs(list);
    if (interface && !*hosts) {
        clab_error("there is no interface or address '%s' here: `ip addr` lists them", interface);
        return CLAB_EINVAL;
    }
    strcpy(hosts_p, *hosts ? hosts : "127.0.0.1");
    return CLAB_OK;
}

// ---- listening -----------------------------------------------------------------------------------------------

// -1, with errno as it is.
static int give_up(int fd)
{
    const int error = errno;
    close(fd);
    errno = error;
    return -1;
}

// A listening socket, or -1.
static int listen_at(int family, const struct sockaddr *address, socklen_t bytes)
{
    const int on = 1, off = 0, fd = socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0)
        return -1;
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on); // else a job could not follow another for a minute
    if (family == AF_INET6)
        setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof off);
    if (bind(fd, address, bytes) == 0 && listen(fd, BACKLOG) == 0)
        return fd;
    return give_up(fd);
}

static int listen_anywhere(int port)
{
    const struct sockaddr_in6 six = {.sin6_family = AF_INET6, .sin6_port = htons((uint16_t)port)};
    const struct sockaddr_in four = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
    const int fd = listen_at(AF_INET6, (const struct sockaddr *)&six, sizeof six);
    return fd >= 0 || errno == EADDRINUSE ? fd : listen_at(AF_INET, (const struct sockaddr *)&four, sizeof four);
}

static int listen_at_host(const char *host, int port, const char *option, int *fd_p)
{
    struct addrinfo *list;
    const int error = resolve(host, port, AI_PASSIVE, &list);
    if (error) {
        clab_error("%s: there is no host '%s': %s", option, host, gai_strerror(error));
        return CLAB_EINVAL;
    }
    if (is_own_name(host, list))
        *fd_p = listen_anywhere(port);
    else
        *fd_p = listen_at(list->ai_family, list->ai_addr, list->ai_addrlen);
    freeaddrinfo(list);
    return CLAB_OK;
}

static int refuse(const char *host, int port, const char *option)
{
    const char *shown = *host ? host : "this machine";
    if (errno == EADDRINUSE)
        clab_error("port %d of %s is in use (`ss -ltnp sport = :%d` says by whom): choose another with %s", port, shown,
                   port, option);
    else if (errno == EADDRNOTAVAIL)
        clab_error("%s is not an address of this machine (`ip addr` lists them): choose one with %s", shown, option);
    else
        clab_error("can not listen at port %d of %s: %m; choose another with %s", port, shown, option);
    return errno == EADDRNOTAVAIL ? CLAB_EINVAL : CLAB_ESYS;
}

int store_listen(const char *host, int port, const char *option, int *fd_p, int *port_p)
{
    int fd = -1;
    if (*host)
        CLAB_TRY(listen_at_host(host, port, option, &fd));
    else
        fd = listen_anywhere(port);
    if (fd < 0)
        return refuse(host, port, option);
    *port_p = port_of(fd);
    *fd_p = fd;
    return CLAB_OK;
}

// ---- connecting ----------------------------------------------------------------------------------------------

// 0, or -1 with errno.
static int finish_connecting(int fd, double deadline)
{
    int error = 0;
    socklen_t bytes = sizeof error;
    struct pollfd poll_for = {fd, POLLOUT, 0};
    for (double left; (left = deadline - clab_now()) > 0;)
        if (poll(&poll_for, 1, (int)(left * 1e3) + 1) > 0) {
            getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &bytes);
            errno = error;
            return error ? -1 : 0;
        }
    errno = ETIMEDOUT;
    return -1;
}

// A connected socket, or -1 with errno.
static int connect_to(const struct addrinfo *address, double deadline)
{
    const int fd = socket(address->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0)
        return -1;
    store_socket_watch(fd);
    if (connect(fd, address->ai_addr, address->ai_addrlen) == 0 ||
        (errno == EINPROGRESS && finish_connecting(fd, deadline) == 0))
        return fd;
    return give_up(fd);
}

// One of the hosts.  0, CLAB_ENOENT, or CLAB_ESYS with errno
static int connect_to_host(const char *host, int port, double deadline, int *fd_p)
{
    struct addrinfo *list;
    const int error = resolve(host, port, 0, &list);
    if (error == EAI_AGAIN)
        errno = EAGAIN;
    if (error)
        return error == EAI_AGAIN ? CLAB_ESYS : CLAB_ENOENT;
    int fd = -1;
    for (const struct addrinfo *at = list; at && fd < 0; at = at->ai_next)
        fd = connect_to(at, fmin(deadline, clab_now() + ATTEMPT_SECONDS));
    const int why = errno;
    freeaddrinfo(list);
    errno = why;
    if (fd < 0)
        return CLAB_ESYS;
    *fd_p = fd;
    return CLAB_OK;
}

int store_connect(const char *hosts, int port, double seconds, int *fd_p)
{
    const double deadline = clab_now() + seconds;
    int err = CLAB_ENOENT;
    size_t length;
    for (const char *word; (word = clab_list_next(&hosts, &length));) {
        if (!length)
            continue; // nothing is asked of a name server, and what the last host answered stays
        char host[CLAB_HOST_BYTES];
        snprintf(host, sizeof host, "%.*s", (int)length, word);
        err = connect_to_host(host, port, deadline, fd_p);
        if (err == CLAB_OK)
            break;
    }
    return err;
}
