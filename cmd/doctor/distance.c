// SPDX-License-Identifier: MIT
// How far RDMA cards are from GPUs (gpu.h), by their places in the tree of PCI bridges that /sys shows.
// - PIX: at most one PCI switch between them; PXB: several; PHB: the host bridge of their processor; NODE: host bridges
//   of one NUMA node; SYS: between processors. A card reads a GPU's memory (GPUDirect RDMA) up to PXB unless told.
// - Source: nvidia-smi topo --help; the kernel's Documentation/PCI/sysfs-pci.rst

#include "cmd/doctor/gpu.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/text.h"

enum { LINE = 512 };

// The device's folder without links, from "pci0000:00/" on; false: it has none.
static bool find_place(const struct doctor *doctor, const char *link, char place[PATH_MAX])
{
    char path[2 * PATH_MAX], *real;
    snprintf(path, sizeof path, "%s%s", doctor->root, link);
    real = realpath(path, NULL);
    const char *from = real ? strstr(real, "/pci") : NULL;
    if (from)
        snprintf(place, PATH_MAX, "%s/", from + 1);
    free(real);
    return from != NULL;
}

static int count_parts(const char *path)
{
    int n = 0;
    for (; *path; path++)
        n += *path == '/';
    return n;
}

static const char *distance_between(const char *a, const char *b, bool same_node)
{
    size_t common = 0; // bytes of the folders that both lie in
    for (size_t i = 0; a[i] && a[i] == b[i]; i++)
        if (a[i] == '/')
            common = i + 1;
    const int above = count_parts(a) - count_parts(a + common);
    const int deepest = count_parts(a + common) > count_parts(b + common) ? count_parts(a + common) : count_parts(b + common);
    if (above == 0)
        return same_node ? "NODE" : "SYS";
    if (above == 1) // the host bridge alone
        return "PHB";
    return deepest <= 2 ? "PIX" : "PXB";
}

// The card's row of the matrix. best[i]: whether GPU i has a card on its side of the machine; a row adds to it.
static void add_card(struct doctor *doctor, const char *name, const struct doctor_gpu gpus[], int n, bool best[])
{
    char card[PATH_MAX], gpu[PATH_MAX], link[PATH_MAX], text[LINE], topic[64];
    struct clab_text line = clab_text_begin(text, sizeof text);
    snprintf(link, sizeof link, "/sys/class/infiniband/%s/device", name);
    if (!find_place(doctor, link, card))
        return;
    const long long node = doctor_read_number(doctor, -1, "/sys/class/infiniband/%s/device/numa_node", name);
    for (int i = 0; i < n; i++) {
        snprintf(link, sizeof link, "/sys/bus/pci/devices/%s", gpus[i].pci);
        const bool known = *gpus[i].pci && find_place(doctor, link, gpu);
        const char *word = known ? distance_between(gpu, card, node == gpus[i].numa) : "?";
        clab_text_add(&line, " %-5s", word);
        best[i] |= strcmp(word, "SYS") != 0;
    }
    snprintf(topic, sizeof topic, "from %.40s", name);
    doctor_add(doctor, DOCTOR_OK, topic, "%s", text);
}

void doctor_card_distances(struct doctor *doctor, const struct doctor_gpu gpus[], int n)
{
    bool near[DOCTOR_MOST_GPUS] = {false};
    char **names, text[LINE];
    struct clab_text far = clab_text_begin(text, sizeof text);
    const int cards = doctor_names(doctor, "/sys/class/infiniband", &names);
    for (int i = 0; i < cards; i++)
        add_card(doctor, names[i], gpus, n, near);
    for (int i = 0; i < n; i++)
        if (!near[i])
            clab_text_add(&far, "%s%d", far.used ? ", " : "", i);
    if (cards > 0 && far.used > 0) {
        doctor_add(doctor, DOCTOR_WARNING, "RDMA cards", "none is on the processor of GPU %s (SYS): data crosses to the other one", text);
        doctor_advise(doctor, "put the ranks that talk to other hosts on GPUs near a card, or NCCL_IB_HCA to choose cards");
    }
    doctor_names_free(names, cards);
}
