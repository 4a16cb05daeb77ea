// SPDX-License-Identifier: MIT
// The CPU as a device: where the data of host backends lives.

#include <string.h>

#include "backend.h"
#include "base/reduce.h"

static void copy(void *out, const void *in, size_t bytes)
{
    memcpy(out, in, bytes);
}

const struct clab_device clab_device_cpu = {
    .name = "cpu",
    .copy = copy,
    .reduce = clab_elements_reduce,
    .scale = clab_elements_scale,
};
