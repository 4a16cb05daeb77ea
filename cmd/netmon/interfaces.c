// SPDX-License-Identifier: MIT
// What the kernel has counted on each network interface (interfaces.h).

#include "cmd/netmon/interfaces.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/err.h"
#include "core/base/log.h"
#include "core/base/vector.h"

// "  eth0: rx_bytes rx_packets 6 more, tx_bytes tx_packets ...": the two lines above have no colon.
static bool parse_line(char *line, struct netmon_interface *interface_p)
{
    char *colon = strchr(line, ':'), *name = line + strspn(line, " ");
    if (!colon)
        return false;
    *colon = '\0';
    snprintf(interface_p->name, sizeof interface_p->name, "%s", name);
    return sscanf(colon + 1, "%" SCNu64 "%" SCNu64 "%*s%*s%*s%*s%*s%*s%" SCNu64 "%" SCNu64, &interface_p->rx_bytes,
                  &interface_p->rx_packets, &interface_p->tx_bytes, &interface_p->tx_packets) == 4;
}

int netmon_interfaces_parse(char *text, struct netmon_interfaces *interfaces_p)
{
    struct netmon_interfaces all = {0};
    struct netmon_interface one;
    int room = 0;
    char *rest = text;
    for (char *line; (line = strsep(&rest, "\n"));)
        if (parse_line(line, &one) && CLAB_PUSH(all.list, all.n, room, one) != CLAB_OK) {
            netmon_interfaces_free(&all);
            return CLAB_ENOMEM;
        }
    *interfaces_p = all;
    return CLAB_OK;
}

int netmon_interfaces_read(struct netmon_interfaces *interfaces_p)
{
    static const char path[] = "/proc/net/dev";
    char *text = NULL;
    size_t room = 0;
    FILE *file = fopen(path, "re");
    const bool has_all = file && getdelim(&text, &room, '\0', file) > 0;
    if (file)
        fclose(file);
    const int err = has_all ? netmon_interfaces_parse(text, interfaces_p) : CLAB_EIO;
    if (err == CLAB_EIO)
        clab_error("netmon: %s can not be read: the kernel does not say what its interfaces count", path);
    free(text);
    return err;
}

void netmon_interfaces_free(struct netmon_interfaces *interfaces)
{
    free(interfaces->list);
    *interfaces = (struct netmon_interfaces){0};
}

const struct netmon_interface *netmon_interface_find(const struct netmon_interfaces *interfaces, const char *name)
{
    for (int i = 0; i < interfaces->n; i++)
        if (!strcmp(interfaces->list[i].name, name))
            return &interfaces->list[i];
    return NULL;
}

bool netmon_interface_is_shown(const struct netmon_interfaces *interfaces, const char *wanted, const char *name)
{
    return wanted ? !strcmp(wanted, name) : strcmp(name, "lo") != 0 || interfaces->n == 1;
}

static uint64_t growth(uint64_t before, uint64_t now)
{
    return now > before ? now - before : 0;
}

struct netmon_interface netmon_interfaces_growth(const struct netmon_interfaces *before,
                                                 const struct netmon_interfaces *now, const char *wanted)
{
    struct netmon_interface sum = {0};
    for (int i = 0; i < now->n; i++) {
        const struct netmon_interface *one = &now->list[i], *old = netmon_interface_find(before, one->name);
        if (!old || !netmon_interface_is_shown(now, wanted, one->name))
            continue;
        sum.rx_bytes += growth(old->rx_bytes, one->rx_bytes), sum.tx_bytes += growth(old->tx_bytes, one->tx_bytes);
        sum.rx_packets += growth(old->rx_packets, one->rx_packets);
        sum.tx_packets += growth(old->tx_packets, one->tx_packets);
    }
    return sum;
}

// Of the two lines "Tcp: names" and "Tcp: numbers", the number below RetransSegs.
uint64_t netmon_retransmits(void)
{
    char names[1024] = "", numbers[1024] = "";
    FILE *file = fopen("/proc/net/snmp", "re");
    uint64_t value = 0;
    if (!file)
        return 0;
    while (fgets(names, sizeof names, file) && strncmp(names, "Tcp:", 4) != 0)
        ;
    if (fgets(numbers, sizeof numbers, file)) {
        char *name_rest = names, *number_rest = numbers, *name, *number;
        while ((name = strsep(&name_rest, " \n")) && (number = strsep(&number_rest, " \n")))
            if (!strcmp(name, "RetransSegs"))
                value = strtoull(number, NULL, 10);
    }
    fclose(file);
    return value;
}
