// SPDX-License-Identifier: MIT
// The interface of a rank (interface.h).

#include "backends/ofi/interface.h"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/transport/backend.h"
#include "core/base/log.h"
#include "core/base/variables.h"

static bool is_ip(const struct sockaddr *address)
{
    return address && (address->sa_family == AF_INET || address->sa_family == AF_INET6);
}

static socklen_t length_of(const struct sockaddr *address)
{
    return address->sa_family == AF_INET ? sizeof(struct sockaddr_in) : sizeof(struct sockaddr_in6);
}

static bool is_same_host(const struct sockaddr *a, const struct sockaddr *b)
{
    if (a->sa_family != b->sa_family)
        return false;
    if (a->sa_family == AF_INET)
        return ((const struct sockaddr_in *)a)->sin_addr.s_addr == ((const struct sockaddr_in *)b)->sin_addr.s_addr;
    return !memcmp(&((const struct sockaddr_in6 *)a)->sin6_addr, &((const struct sockaddr_in6 *)b)->sin6_addr,
                   sizeof(struct in6_addr));
}

static void take(const struct sockaddr *from, struct sockaddr_storage *address_p)
{
    *address_p = (struct sockaddr_storage){0};
    memcpy(address_p, from, length_of(from));
    if (from->sa_family == AF_INET)
        ((struct sockaddr_in *)address_p)->sin_port = 0;
    else
        ((struct sockaddr_in6 *)address_p)->sin6_port = 0;
}

// The host's interfaces, in the system's order: one entry an address.
struct interfaces {
    struct ifaddrs *first;
};

static void name_of(const struct interfaces *all, const struct sockaddr *address, char *name)
{
    name[0] = '\0';
    for (const struct ifaddrs *i = all->first; i; i = i->ifa_next)
        if (is_ip(i->ifa_addr) && is_same_host(i->ifa_addr, address)) {
            snprintf(name, IF_NAMESIZE, "%s", i->ifa_name);
            return;
        }
}

// Up, and with a carrier: libfabric offers no others.
static bool is_up(const struct ifaddrs *i)
{
    return (i->ifa_flags & IFF_UP) && (i->ifa_flags & IFF_RUNNING);
}

// The first address of the family of the interface `name`; NULL: of any that is up and not the loopback.
static const struct sockaddr *address_of(const struct interfaces *all, const char *name, int family)
{
    for (const struct ifaddrs *i = all->first; i; i = i->ifa_next) {
        if (!i->ifa_addr || i->ifa_addr->sa_family != family || !is_up(i))
            continue;
        if (name ? !strcmp(i->ifa_name, name) : !(i->ifa_flags & IFF_LOOPBACK))
            return i->ifa_addr;
    }
    return NULL;
}

static bool parse(const char *text, struct sockaddr_storage *address_p)
{
    struct sockaddr_storage address = {0};
    if (inet_pton(AF_INET, text, &((struct sockaddr_in *)&address)->sin_addr) == 1)
        address.ss_family = AF_INET;
    else if (inet_pton(AF_INET6, text, &((struct sockaddr_in6 *)&address)->sin6_addr) == 1)
        address.ss_family = AF_INET6;
    else
        return false;
    *address_p = address;
    return true;
}

static int refuse(const struct interfaces *all, const char *wanted)
{
    char names[256] = "";
    for (const struct ifaddrs *i = all->first; i; i = i->ifa_next)
        if (i->ifa_addr && i->ifa_addr->sa_family == AF_INET && is_up(i)) {
            strncat(names, " ", sizeof names - strlen(names) - 1);
            strncat(names, i->ifa_name, sizeof names - strlen(names) - 1);
        }
    clab_error("--interface (CLAB_INTERFACE) '%s': no interface of that name or address is up, with a carrier, here; "
               "there is:%s",
               wanted, names);
    return CLAB_EUNSUPPORTED;
}

static int find_wanted(const struct interfaces *all, const char *wanted, struct sockaddr_storage *address_p)
{
    char name[IF_NAMESIZE];
    const struct sockaddr *found = address_of(all, wanted, AF_INET);
    if (!found)
        found = address_of(all, wanted, AF_INET6);
    if (found)
        take(found, address_p);
    else if (!parse(wanted, address_p))
        return refuse(all, wanted);
    name_of(all, (struct sockaddr *)address_p, name);
    return name[0] ? CLAB_OK : refuse(all, wanted);
}

// The source that the system would choose towards `host`: a datagram socket is connected, and nothing is sent.
static bool reaches(const char *host, struct sockaddr_storage *address_p)
{
    struct addrinfo hints = {.ai_socktype = SOCK_DGRAM}, *found = NULL;
    bool reached = false;
    if (!host || getaddrinfo(host, "9", &hints, &found) != 0)
        return false;
    for (struct addrinfo *i = found; i && !reached; i = i->ai_next) {
        const int fd = socket(i->ai_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
        struct sockaddr_storage source;
        socklen_t length = sizeof source;
        reached = fd >= 0 && connect(fd, i->ai_addr, i->ai_addrlen) == 0 &&
                  getsockname(fd, (struct sockaddr *)&source, &length) == 0;
        if (reached)
            take((struct sockaddr *)&source, address_p);
        if (fd >= 0)
            close(fd);
    }
    freeaddrinfo(found);
    return reached;
}

static bool is_loopback(const struct sockaddr_storage *address)
{
    if (address->ss_family == AF_INET)
        return ntohl(((const struct sockaddr_in *)address)->sin_addr.s_addr) >> 24 == 127;
    return IN6_IS_ADDR_LOOPBACK(&((const struct sockaddr_in6 *)address)->sin6_addr);
}

static int find_usual(const struct interfaces *all, bool one_host, struct sockaddr_storage *address_p)
{
    if (one_host) {
        parse("127.0.0.1", address_p);
        return CLAB_OK;
    }
    if (reaches(getenv("MASTER_ADDR"), address_p) && !is_loopback(address_p))
        return CLAB_OK;
    const struct sockaddr *found = address_of(all, NULL, AF_INET);
    if (!found)
        found = address_of(all, NULL, AF_INET6);
    if (!found) {
        clab_error("ofi: no interface is up that other hosts could reach; --interface names one");
        return CLAB_EUNSUPPORTED;
    }
    take(found, address_p);
    return CLAB_OK;
}

int ofi_interface_find(const struct clab_bootstrap *boot, struct sockaddr_storage *address_p, char *name)
{
    const char *wanted = clab_variable_text(CLAB_VARIABLE_INTERFACE);
    struct interfaces all = {NULL};
    if (getifaddrs(&all.first) != 0) {
        clab_error("ofi: the interfaces of this host can not be listed: %m");
        return CLAB_ESYS;
    }
    const int err =
        wanted && *wanted ? find_wanted(&all, wanted, address_p) : find_usual(&all, boot->nnodes == 1, address_p);
    if (err == CLAB_OK)
        name_of(&all, (struct sockaddr *)address_p, name);
    freeifaddrs(all.first);
    return err;
}
