// SPDX-License-Identifier: MIT
// What the two ways of joining a job share: a struct clab_bootstrap, and how a rank leaves.
//
// - pages/bootstrap.c  ranks that our launcher started on one host use its control pages.
// - store/bootstrap.c  all others use a store, and a memory file of their host where they can open one (host.h).
#pragma once

#include "core/job/job.h"
#include "core/job/launchers/launcher.h"

struct membership {
    struct clab_bootstrap boot; // first, so that a pointer to it is one to all
    void (*leave)(struct membership *);
};

// As clab_bootstrap_open.
int clab_pages_join(const struct clab_launched *launched, double timeout, struct membership **member_p);
int clab_store_join(const struct clab_launched *launched, double timeout, struct membership **member_p);
