// SPDX-License-Identifier: MIT
// libfabric itself, loaded when a job first uses it.
//
// It is not linked: that alone would cost every commlab command 200 ms, and its signal handlers. The libraries that
// Debian's pulls in (libpsm2, libinfinipath) calibrate a clock by sleeping as soon as they are loaded, and catch
// SIGSEGV, SIGINT, SIGTERM and others; library.c puts the handlers back.
#pragma once

#include <stdint.h>

#include <rdma/fabric.h>

// The functions that have no object to be called through; the others are inline in libfabric's headers.
struct ofi_library {
    uint32_t (*version)(void);
    int (*getinfo)(uint32_t version, const char *node, const char *service, uint64_t flags, const struct fi_info *hints,
                   struct fi_info **info);
    void (*freeinfo)(struct fi_info *info);
    struct fi_info *(*dupinfo)(const struct fi_info *info);
    int (*fabric)(struct fi_fabric_attr *attr, struct fid_fabric **fabric, void *context);
    const char *(*strerror)(int err);
};

// errors: CLAB_EUNSUPPORTED (it can not be loaded)
int ofi_library_load(const struct ofi_library **library_p);
