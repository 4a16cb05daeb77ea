// SPDX-License-Identifier: MIT
// What the two ways of joining a job share: a struct clab_bootstrap, and how it is left.
//
// - bootstrap_pages.c  ranks of one host that our launcher has started meet in its control pages.
// - bootstrap_store.c  all others meet at a store, and in a memory file of their host if they can (host.h).
#pragma once

#include "core/job/job.h"
#include "core/job/launchers/launcher.h"

struct membership {
    struct clab_bootstrap boot; // first, so that a pointer to it is one to all
    bool refused; // by this rank itself, which has said why: its launcher need not say that it has ended
    void (*leave)(struct membership *);
};

// As clab_bootstrap_open.
int clab_pages_join(double timeout, struct membership **member_p);
int clab_store_join(const struct clab_launched *launched, double timeout, struct membership **member_p);
