// SPDX-License-Identifier: MIT
// The CPU as a device: where the data of host backends lives.

#include "backend.h"
#include "base/copy.h"
#include "base/reduce.h"

const struct clab_device clab_device_cpu = {
    .name = "cpu",
    .copy = clab_copy,
    .reduce = clab_elements_reduce,
    .scale = clab_elements_scale,
};
