// SPDX-License-Identifier: MIT
// NVIDIA's driver and devices, from NVML, /proc and /sys (doctor.h).

#include "cmd/doctor/gpu.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/text.h"
#include "core/base/units.h"

enum { NVIDIA = 0x10de, DISPLAY_CLASS = 0x03, LINE = 512, EXCLUSIVE_THREAD = 1, PROHIBITED = 2, EXCLUSIVE = 3 };
static const double patience = 20; // s; a driver that starts eight GPUs takes ten

// ---- without NVML --------------------------------------------------------------------------------------------

// NVIDIA's display and compute cards on the bus.
static int count_on_bus(const struct doctor *doctor)
{
    char **names;
    const int n = doctor_names(doctor, "/sys/bus/pci/devices", &names);
    int gpus = 0;
    for (int i = 0; i < n; i++)
        gpus += doctor_read_number(doctor, 0, "/sys/bus/pci/devices/%s/vendor", names[i]) == NVIDIA &&
                doctor_read_number(doctor, 0, "/sys/bus/pci/devices/%s/class", names[i]) >> 16 == DISPLAY_CLASS;
    doctor_names_free(names, n);
    return gpus;
}

static void add_no_driver(struct doctor *doctor, const char *why)
{
    const int gpus = count_on_bus(doctor);
    const bool driver = doctor_exists(doctor, "/proc/driver/nvidia/version") || doctor_exists(doctor, "/dev/nvidiactl");
    if (driver) {
        doctor_add(doctor, DOCTOR_BROKEN, "driver", "the kernel has NVIDIA's driver, but its library does not load: %s",
                   why);
        doctor_advise(doctor, "in a container: docker run --gpus all, with NVIDIA_DRIVER_CAPABILITIES=compute,utility; "
                              "else install the driver's libraries again");
    } else if (gpus > 0) {
        doctor_add(doctor, DOCTOR_BROKEN, "driver", "%d NVIDIA GPU%s on the PCI bus, but no driver: %s", gpus,
                   gpus == 1 ? "" : "s", why);
        doctor_advise(doctor,
                      "install NVIDIA's driver (Debian: nvidia-driver), load it (modprobe nvidia), and run this again");
    } else {
        doctor_add(doctor, DOCTOR_MISSING, "driver", "no NVIDIA GPU, and no NVML (libnvidia-ml.so.1)");
        doctor_mark_fact(doctor);
        doctor_advise(
            doctor,
            "nothing to do for shm, ofi and sim; --backend nccl needs a machine with an NVIDIA GPU and its driver");
    }
}

// ---- the driver ----------------------------------------------------------------------------------------------

// "NVRM version: NVIDIA UNIX x86_64 Kernel Module  580.159.03  Tue ...": the word with two points.
static bool kernel_version(const struct doctor *doctor, char *out, size_t room)
{
    char line[LINE], *rest = line;
    if (!doctor_read(doctor, line, sizeof line, "/proc/driver/nvidia/version"))
        return false;
    for (char *word; (word = strsep(&rest, " \t"));)
        if (isdigit((unsigned char)*word) && strchr(word, '.')) {
            snprintf(out, room, "%s", word);
            return true;
        }
    return false;
}

static void add_driver(struct doctor *doctor, const struct doctor_nvml *nvml)
{
    char library[NVML_TEXT] = "?", kernel[NVML_TEXT] = "";
    int cuda = 0;
    nvml->driver_version(library, sizeof library);
    nvml->cuda_version(&cuda);
    const bool known = kernel_version(doctor, kernel, sizeof kernel), same = !known || !strcmp(kernel, library);
    doctor_add(doctor, same ? DOCTOR_OK : DOCTOR_BROKEN, "driver", "%s, for CUDA up to %d.%d%s%s", library, cuda / 1000,
               cuda % 1000 / 10, same ? "" : "; the kernel's module is ", same ? "" : kernel);
    doctor_mark_fact(doctor);
    if (!same)
        doctor_advise(doctor,
                      "module and libraries differ: restart the machine, or take the same version in the container");
}

// ---- a device ------------------------------------------------------------------------------------------------

void doctor_pci_text(const struct doctor_nvml_pci *pci, char out[DOCTOR_PCI_BYTES])
{
    snprintf(out, DOCTOR_PCI_BYTES, "%04x:%02x:%02x.0", pci->domain, pci->bus, pci->device);
}

static void add_words(const struct doctor_nvml *nvml, doctor_nvml_device device, struct clab_text *line)
{
    struct doctor_nvml_memory memory;
    char total[CLAB_TEXT], left[CLAB_TEXT];
    int major, minor;
    unsigned now, most, pending;
    if (nvml->memory(device, &memory) == NVML_OK)
        clab_text_add(line, ", %s (%s free)", clab_size_text(memory.total, total), clab_size_text(memory.free, left));
    if (nvml->capability(device, &major, &minor) == NVML_OK)
        clab_text_add(line, ", compute capability %d.%d", major, minor);
    if (nvml->clock(device, NVML_CLOCK_SM, &now) == NVML_OK &&
        nvml->most_clock(device, NVML_CLOCK_SM, &most) == NVML_OK)
        clab_text_add(line, ", %u of %u MHz", now, most);
    if (nvml->ecc(device, &now, &pending) == NVML_OK)
        clab_text_add(line, ", ECC %s%s", now ? "on" : "off", now != pending ? " (changes at the next start)" : "");
}

// Modes in which NCCL can not use the device, or sees a part of it.
static void add_modes(struct doctor *doctor, const struct doctor_nvml *nvml, doctor_nvml_device device,
                      const char *topic)
{
    unsigned mode = 0, now, pending;
    if (nvml->compute_mode(device, &mode) == NVML_OK && mode == PROHIBITED) {
        doctor_add(doctor, DOCTOR_WARNING, topic, "its compute mode is prohibited: no program may use it");
        doctor_advise(doctor, "nvidia-smi -c DEFAULT, as root");
    } else if (mode == EXCLUSIVE || mode == EXCLUSIVE_THREAD) {
        doctor_add(doctor, DOCTOR_WARNING, topic, "its compute mode is exclusive: one process may use it at a time");
        doctor_advise(doctor, "one rank per GPU works; for more, nvidia-smi -c DEFAULT, as root");
    }
    if (nvml->mig(device, &now, &pending) == NVML_OK && now) {
        doctor_add(doctor, DOCTOR_WARNING, topic,
                   "MIG is on: a process sees one instance of the GPU, without P2P");
        doctor_advise(doctor, "choose one by CUDA_VISIBLE_DEVICES=MIG-..., or nvidia-smi -mig 0, as root");
    }
}

static bool add_device(struct doctor *doctor, const struct doctor_nvml *nvml, unsigned index, struct doctor_gpu *gpu_p)
{
    char topic[32], name[NVML_TEXT] = "?", text[LINE];
    struct clab_text line = clab_text_begin(text, sizeof text);
    struct doctor_nvml_pci pci;
    *gpu_p = (struct doctor_gpu){.numa = -1};
    snprintf(topic, sizeof topic, "GPU %u", index);
    const int err = nvml->device(index, &gpu_p->handle);
    if (err) {
        doctor_add(doctor, DOCTOR_BROKEN, topic, "%s", nvml->error(err));
        doctor_advise(doctor,
                      "dmesg | grep -i -e xid -e nvrm shows the driver's errors; the GPU may have fallen off the bus");
        return false;
    }
    nvml->name(gpu_p->handle, name, sizeof name);
    clab_text_add(&line, "%s", name);
    add_words(nvml, gpu_p->handle, &line);
    if (nvml->pci(gpu_p->handle, &pci) == NVML_OK) {
        doctor_pci_text(&pci, gpu_p->pci);
        gpu_p->numa = (int)doctor_read_number(doctor, -1, "/sys/bus/pci/devices/%s/numa_node", gpu_p->pci);
        clab_text_add(&line, ", PCI %s", gpu_p->pci);
    }
    if (gpu_p->numa >= 0)
        clab_text_add(&line, ", NUMA node %d", gpu_p->numa);
    doctor_add(doctor, DOCTOR_OK, topic, "%s", text);
    doctor_mark_fact(doctor);
    add_modes(doctor, nvml, gpu_p->handle, topic);
    return true;
}

// ---- all -----------------------------------------------------------------------------------------------------

static void add_devices(struct doctor *doctor, const struct doctor_nvml *nvml)
{
    struct doctor_gpu gpus[DOCTOR_MOST_GPUS];
    unsigned count = 0;
    int n = 0;
    const int err = nvml->count(&count);
    if (err || count == 0) {
        doctor_add(doctor, DOCTOR_BROKEN, "devices", "the driver lists none%s%s", err ? ": " : "",
                   err ? nvml->error(err) : "");
        doctor_advise(doctor, "dmesg | grep -i nvrm; in a container: docker run --gpus all");
        return;
    }
    for (unsigned i = 0; i < count && n < DOCTOR_MOST_GPUS; i++)
        n += add_device(doctor, nvml, i, &gpus[n]);
    if (n > 1)
        doctor_topology(doctor, nvml, gpus, n);
    doctor_card_distances(doctor, gpus, n);
}

static void ask_nvml(struct doctor *doctor, const void *of)
{
    struct doctor_nvml nvml;
    char why[LINE];
    (void)of;
    if (!doctor_nvml_load(&nvml, why, sizeof why)) {
        add_no_driver(doctor, why);
        return;
    }
    const int err = nvml.init();
    if (err) {
        doctor_add(doctor, DOCTOR_BROKEN, "driver", "NVML does not start: %s", nvml.error(err));
        doctor_advise(doctor, "%s",
                      err == NVML_VERSION_MISMATCH ? "the kernel's module and the libraries differ: restart the machine"
                                                   : "modprobe nvidia, as root; in a container: docker run --gpus all");
        return;
    }
    add_driver(doctor, &nvml);
    add_devices(doctor, &nvml);
    nvml.shutdown();
}

void doctor_gpus(struct doctor *doctor)
{
    doctor->section = "GPUs";
    if (!doctor_ask(doctor, "driver", patience, ask_nvml, NULL))
        doctor_advise(doctor, "nvidia-smi may hang, too: dmesg | grep -i nvrm, then restart the machine");
}
