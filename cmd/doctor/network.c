// SPDX-License-Identifier: MIT
// Network cards, InfiniBand and TCP, from the kernel's files (doctor.h).
// - Sources: the kernel's Documentation/ABI/testing/sysfs-class-net and sysfs-class-infiniband.

#include "cmd/doctor/doctor.h"

#include <string.h>

#include "core/base/units.h"
#include "core/transport/backend.h"

enum { WORD = 128, LITTLE_BUFFER = 1 << 20 };

// ---- cards ---------------------------------------------------------------------------------------------------

static void add_card(struct doctor *doctor, const char *name)
{
    char state[WORD], driver[WORD], speed[WORD] = "speed unknown", numa[WORD] = "";
    doctor_read(doctor, state, sizeof state, "/sys/class/net/%s/operstate", name);
    if (!doctor_read_link(doctor, driver, sizeof driver, "/sys/class/net/%s/device/driver", name))
        snprintf(driver, sizeof driver, "virtual");
    const long long mbits = doctor_read_number(doctor, -1, "/sys/class/net/%s/speed", name); // -1: unknown
    const long long node = doctor_read_number(doctor, -1, "/sys/class/net/%s/device/numa_node", name);
    const long long mtu = doctor_read_number(doctor, 0, "/sys/class/net/%s/mtu", name);
    if (mbits > 0)
        snprintf(speed, sizeof speed, "%g Gb/s", (double)mbits / 1e3);
    if (node >= 0)
        snprintf(numa, sizeof numa, ", NUMA node %lld", node);
    doctor_add(doctor, DOCTOR_OK, name, "%s, %s, driver %s, MTU %lld B%s", *state ? state : "state unknown", speed,
               driver, mtu, numa);
    doctor_mark_fact(doctor);
}

// Cards that can carry data: not the loopback, nor virtual ones that are down.
static bool is_card(const struct doctor *doctor, const char *name)
{
    char state[WORD];
    if (!strcmp(name, "lo"))
        return false;
    if (doctor_exists(doctor, "/sys/class/net/%s/device", name))
        return true;
    return doctor_read(doctor, state, sizeof state, "/sys/class/net/%s/operstate", name) && strcmp(state, "down") != 0;
}

static void add_cards(struct doctor *doctor)
{
    char **names;
    const int n = doctor_names(doctor, "/sys/class/net", &names);
    int cards = 0;
    for (int i = 0; i < n; i++)
        if (is_card(doctor, names[i])) {
            add_card(doctor, names[i]);
            cards++;
        }
    doctor_names_free(names, n);
    if (cards == 0)
        doctor_add(doctor, DOCTOR_MISSING, "network cards", "only the loopback: this host has no network");
}

// ---- InfiniBand ----------------------------------------------------------------------------------------------

// The word after the number: of "4: ACTIVE" or "5: LinkUp".
static const char *after_number(const char *text)
{
    const char *colon = strstr(text, ": ");
    return colon ? colon + 2 : text;
}

static void add_port(struct doctor *doctor, const char *device, const char *port)
{
    char topic[2 * WORD], state[WORD], physical[WORD], rate[WORD], layer[WORD], numa[WORD] = "";
    doctor_read(doctor, state, sizeof state, "/sys/class/infiniband/%s/ports/%s/state", device, port);
    doctor_read(doctor, physical, sizeof physical, "/sys/class/infiniband/%s/ports/%s/phys_state", device, port);
    doctor_read(doctor, rate, sizeof rate, "/sys/class/infiniband/%s/ports/%s/rate", device, port);
    doctor_read(doctor, layer, sizeof layer, "/sys/class/infiniband/%s/ports/%s/link_layer", device, port);
    const long long node = doctor_read_number(doctor, -1, "/sys/class/infiniband/%s/device/numa_node", device);
    if (node >= 0)
        snprintf(numa, sizeof numa, ", NUMA node %lld", node);
    snprintf(topic, sizeof topic, "%s port %s", device, port);
    const bool active = strcmp(after_number(state), "ACTIVE") == 0;
    doctor_add(doctor, active ? DOCTOR_OK : DOCTOR_WARNING, topic, "%s (%s), %s, %s%s", after_number(state),
               *physical ? after_number(physical) : "?", *rate ? rate : "rate unknown",
               strcmp(layer, "Ethernet") == 0 ? "RoCE"
               : *layer                       ? layer
                                              : "link layer unknown",
               numa);
    doctor_mark_fact(doctor);
    if (!active)
        doctor_advise(
            doctor, "%s",
            strcmp(after_number(physical), "LinkUp") == 0
                ? "the link is there, but no subnet manager has made it active: start opensm, or ask the "
                  "fabric's administrator"
                : "NCCL and verbs skip it: check the cable and the switch's port, or exclude it (NCCL_IB_HCA)");
}

static int add_device(struct doctor *doctor, const char *device)
{
    char folder[4 * WORD], **ports;
    snprintf(folder, sizeof folder, "/sys/class/infiniband/%s/ports", device);
    const int n = doctor_names(doctor, folder, &ports);
    for (int i = 0; i < n; i++)
        add_port(doctor, device, ports[i]);
    doctor_names_free(ports, n);
    return n;
}

// GPUDirect RDMA: cards read a GPU's memory by the module nvidia_peermem, or by dma-buf, which kernels from 5.12 have.
static void add_direct(struct doctor *doctor)
{
    if (!doctor_exists(doctor, "/proc/driver/nvidia/version"))
        return;
    if (doctor_exists(doctor, "/sys/module/nvidia_peermem") || doctor_exists(doctor, "/sys/module/nv_peer_mem")) {
        doctor_add(doctor, DOCTOR_OK, "GPUDirect RDMA", "the module nvidia_peermem is loaded");
        return;
    }
    char release[WORD];
    int major = 0, minor = 0;
    doctor_read(doctor, release, sizeof release, "/proc/sys/kernel/osrelease");
    const bool may = sscanf(release, "%d.%d", &major, &minor) == 2 && (major > 5 || (major == 5 && minor >= 12));
    doctor_add(doctor, may ? DOCTOR_OK : DOCTOR_WARNING, "GPUDirect RDMA", "%s",
               may ? "no module nvidia_peermem; dma-buf does it with the open kernel module of the driver"
                   : "no module nvidia_peermem, and this kernel is too old for dma-buf: data goes through host memory");
    if (!may)
        doctor_advise(doctor, "modprobe nvidia_peermem, as root");
}

static void add_infiniband(struct doctor *doctor)
{
    char **names;
    const int n = doctor_names(doctor, "/sys/class/infiniband", &names);
    int ports = 0;
    for (int i = 0; i < n; i++)
        ports += add_device(doctor, names[i]);
    doctor_names_free(names, n);
    if (ports == 0)
        doctor_add(doctor, DOCTOR_MISSING, "InfiniBand", "none, and no RoCE: messages between hosts go over TCP");
    else
        add_direct(doctor);
}

// ---- TCP -----------------------------------------------------------------------------------------------------

static void add_tcp(struct doctor *doctor)
{
    char control[WORD];
    if (!doctor_read(doctor, control, sizeof control, "/proc/sys/net/ipv4/tcp_congestion_control"))
        return;
    const bool paces = strncmp(control, "bbr", 3) == 0;
    doctor_add(doctor, paces ? DOCTOR_WARNING : DOCTOR_OK, "TCP congestion control", "%s%s", control,
               paces ? ": it paces by an estimate, and is about half as fast as cubic between ranks of one host" : "");
    if (paces)
        doctor_advise(doctor, "sysctl net.ipv4.tcp_congestion_control=cubic, as root, before you time ofi or gloo");
}

// A connection has no more under way than its buffers hold: at 10 Gb/s and 1 ms there and back that is 1.25 MB. The
// kernel lets a buffer grow up to the third number of tcp_rmem and tcp_wmem.
static void add_buffers(struct doctor *doctor)
{
    char text[WORD], size[CLAB_TEXT];
    static const char *const files[] = {"tcp_rmem", "tcp_wmem"};
    long long least = -1, most;
    for (int i = 0; i < 2; i++)
        if (doctor_read(doctor, text, sizeof text, "/proc/sys/net/ipv4/%s", files[i]) &&
            sscanf(text, "%*d %*d %lld", &most) == 1)
            least = least < 0 || most < least ? most : least;
    if (least < 0)
        return;
    const bool little = least < LITTLE_BUFFER;
    doctor_add(doctor, little ? DOCTOR_WARNING : DOCTOR_OK, "TCP buffers", "up to %s per connection%s",
               clab_size_text((size_t)least, size), little ? ": too little for a fast link to another room" : "");
    if (little)
        doctor_advise(doctor, "sysctl -w net.ipv4.tcp_rmem='4096 131072 16777216' net.ipv4.tcp_wmem='4096 65536 16777216', "
                              "as root");
}

// Ranks listen at ports that the kernel chooses, so a firewall between hosts must let these pass.
static void add_ports(struct doctor *doctor)
{
    char text[WORD];
    int low, high;
    if (!doctor_read(doctor, text, sizeof text, "/proc/sys/net/ipv4/ip_local_port_range") ||
        sscanf(text, "%d %d", &low, &high) != 2)
        return;
    doctor_add(doctor, DOCTOR_OK, "ports", "ranks listen at ports %d to %d: a firewall between nodes must let them pass, "
               "and the port of --master", low, high);
}

// ---- who can connect to ranks --------------------------------------------------------------------------------

#ifdef HAVE_LIBFABRIC

static void add_ofi(struct doctor *doctor)
{
    if (*doctor->root) // another machine's files
        return;
    const bool can = clab_backend_find("ofi")->keeps_others_out();
    doctor_add(
        doctor, can ? DOCTOR_OK : DOCTOR_WARNING, "ofi over TCP", "%s",
        can ? "a rank takes messages of its job only; others can connect, and disturb libfabric, only while a "
              "communicator opens"
            : "a rank takes messages of its job only, but this system has no filter for sockets: anyone who can "
              "connect to a rank can end it, or fill its memory");
    if (!can)
        doctor_advise(doctor, "use ofi only where you trust everyone who can connect, or block them with a firewall");
}

#else

static void add_ofi(struct doctor *doctor)
{
    (void)doctor;
}

#endif

void doctor_network(struct doctor *doctor)
{
    doctor->section = "Network";
    add_cards(doctor);
    add_infiniband(doctor);
    add_tcp(doctor);
    add_buffers(doctor);
    add_ports(doctor);
    add_ofi(doctor);
}
