// SPDX-License-Identifier: MIT
// The GPUs that NVML lists, for the parts of doctor that look at them together.
#pragma once

#include "cmd/doctor/doctor.h"
#include "cmd/doctor/nvml.h"

enum { DOCTOR_MOST_GPUS = 32, DOCTOR_PCI_BYTES = 24 };

struct doctor_gpu {
    doctor_nvml_device handle;
    char pci[DOCTOR_PCI_BYTES]; // as in /sys/bus/pci/devices: "0000:1b:00.0"; "": unknown
    int numa;                   // -1: unknown
};

// NVML's way of writing a PCI address in sysfs's.
void doctor_pci_text(const struct doctor_nvml_pci *pci, char out[DOCTOR_PCI_BYTES]);

// The links of n GPUs: a matrix of distances, NVLinks, and whether peers may read each other. (topology.c)
void doctor_topology(struct doctor *doctor, const struct doctor_nvml *nvml, const struct doctor_gpu gpus[], int n);
// How far each RDMA card is from each of n GPUs: a row per card. (distance.c)
void doctor_card_distances(struct doctor *doctor, const struct doctor_gpu gpus[], int n);
