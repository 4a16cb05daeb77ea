// SPDX-License-Identifier: MIT
// Links between GPUs (gpu.h): NCCL's words for distances, counts of NVLinks, and whether peers may read each other.
// - NVn: n NVLinks, straight or through a switch; PIX: one PCI switch between them; PXB: several; PHB: the host bridge
//   of their processor; NODE: bridges of one NUMA node; SYS: between processors.
// - Through a switch every link reaches every GPU on it. So a pair has as many links as its GPU with fewer.
// - Source: nvidia-smi topo --help; NCCL's documentation of NCCL_P2P_LEVEL

#include "cmd/doctor/gpu.h"

#include <string.h>

#include "core/base/text.h"

enum { LINE = 512, CELL = 16 };

struct links {
    int active, to_switch;
    char remote[NVML_MOST_LINKS][DOCTOR_PCI_BYTES]; // of those that end at a GPU
    int remotes;
};

static void read_links(const struct doctor_nvml *nvml, doctor_nvml_device device, struct links *links_p)
{
    memset(links_p, 0, sizeof *links_p);
    for (unsigned link = 0; link < NVML_MOST_LINKS; link++) {
        unsigned active = 0, kind = NVML_REMOTE_GPU;
        struct doctor_nvml_pci pci;
        if (nvml->link_state(device, link, &active) != NVML_OK || !active)
            continue;
        links_p->active++;
        if (nvml->link_remote_kind(device, link, &kind) == NVML_OK && kind == NVML_REMOTE_SWITCH)
            links_p->to_switch++;
        else if (nvml->link_remote(device, link, &pci) == NVML_OK)
            doctor_pci_text(&pci, links_p->remote[links_p->remotes++]);
    }
}

static int links_between(const struct doctor_gpu *to, const struct links *from_links, const struct links *to_links)
{
    const int by_switch = from_links->to_switch < to_links->to_switch ? from_links->to_switch : to_links->to_switch;
    int straight = 0;
    for (int i = 0; i < from_links->remotes; i++)
        straight += strcmp(from_links->remote[i], to->pci) == 0;
    return straight + by_switch;
}

static const char *distance_word(unsigned level)
{
    switch (level) {
    case NVML_SAME_BOARD:
    case NVML_ONE_SWITCH: return "PIX";
    case NVML_SWITCHES: return "PXB";
    case NVML_HOST_BRIDGE: return "PHB";
    case NVML_NODE: return "NODE";
    case NVML_SYSTEM: return "SYS";
    default: return "?";
    }
}

// The matrix's cell for a pair; *may_read_p: P2P works.
static void look_at_pair(const struct doctor_nvml *nvml, const struct doctor_gpu *from, const struct doctor_gpu *to,
                         int nvlinks, char cell[CELL], bool *may_read_p)
{
    unsigned status = 1, level;
    *may_read_p = nvml->peer_status(from->handle, to->handle, NVML_PEER_READ, &status) == NVML_OK && status == 0;
    const bool known = nvml->ancestor(from->handle, to->handle, &level) == NVML_OK;
    if (nvlinks > 0)
        snprintf(cell, CELL, "NV%d", nvlinks);
    else
        snprintf(cell, CELL, "%s%s", known ? distance_word(level) : "?", *may_read_p ? "" : "*");
}

static void add_head(struct doctor *doctor, int n)
{
    char text[LINE];
    struct clab_text line = clab_text_begin(text, sizeof text);
    for (int i = 0; i < n; i++)
        clab_text_add(&line, " %-5d", i);
    doctor_add(doctor, DOCTOR_OK, n > 10 ? "     to GPU" : "    to GPU", "%s", text);
}

void doctor_topology(struct doctor *doctor, const struct doctor_nvml *nvml, const struct doctor_gpu gpus[], int n)
{
    static struct links links[DOCTOR_MOST_GPUS];
    int unread = 0, pairs = 0, fewest = NVML_MOST_LINKS;
    for (int i = 0; i < n; i++)
        read_links(nvml, gpus[i].handle, &links[i]);
    add_head(doctor, n);
    for (int from = 0; from < n; from++) {
        char text[LINE], topic[32];
        struct clab_text line = clab_text_begin(text, sizeof text);
        for (int to = 0; to < n; to++) {
            char cell[CELL] = "X";
            bool may_read = true;
            const int nvlinks = from == to ? 0 : links_between(&gpus[to], &links[from], &links[to]);
            if (from != to) {
                look_at_pair(nvml, &gpus[from], &gpus[to], nvlinks, cell, &may_read);
                pairs++;
                fewest = nvlinks < fewest ? nvlinks : fewest;
            }
            unread += !may_read;
            clab_text_add(&line, " %-5s", cell);
        }
        snprintf(topic, sizeof topic, "from GPU %*d", n > 10 ? 2 : 1, from);
        doctor_add(doctor, DOCTOR_OK, topic, "%s", text);
    }
    if (unread > 0) {
        doctor_add(doctor, DOCTOR_WARNING, "P2P",
                   "%d of %d pairs (*) may not read each other: NCCL goes through host memory", unread / 2, pairs / 2);
        doctor_mark_fact(doctor);
        doctor_advise(
            doctor, "a virtual machine, IOMMU or ACS forbids it, or this kind of GPU lacks it: run nvidia-smi topo -p2p r");
    } else {
        doctor_add(doctor, DOCTOR_OK, "P2P", "every pair may read each other%s",
                   fewest > 0 ? ", by NVLink" : "; not all by NVLink");
        doctor_mark_fact(doctor);
    }
}
