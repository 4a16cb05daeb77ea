// SPDX-License-Identifier: MIT
// The choice of a provider and of the interface it uses, and the fabric and domain that are opened on it.
#pragma once

#include <rdma/fabric.h>
#include <rdma/fi_domain.h>

#include "backends/ofi/library.h"

struct clab_bootstrap;

struct ofi_fabric {
    const struct ofi_library *library;
    struct fi_info *info;
    struct fid_fabric *fabric;
    struct fid_domain *domain;
    int tag_bits; // that a message's tag may use
};

// Open what CLAB_PROVIDER (default: tcp) and CLAB_INTERFACE choose.
//   errors: CLAB_EUNSUPPORTED (no library, provider or interface; logged with those there are), CLAB_ENOMEM, CLAB_ESYS
int ofi_fabric_open(const struct clab_bootstrap *boot, struct ofi_fabric *fabric_p);
void ofi_fabric_close(struct ofi_fabric *fabric);
