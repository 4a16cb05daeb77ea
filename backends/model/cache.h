// SPDX-License-Identifier: MIT
// What the coordinator of a communicator keeps from call to call: the programs of all ranks, and prices. Of 16
// problems, and of 8 patterns of entering each.
#pragma once

#include <stdatomic.h>
#include <stdint.h>

#include "core/transport/backend.h"
#include "sim/net/net.h"

struct model_cache;

struct model_traffic {
    size_t messages, bytes_sent, bytes_received, bytes_across;
};

// One rank's arguments of a call, and its results.
struct model_rank {
    const char *in;
    char *out;
    bool in_place;
    double when, due; // s: when it enters, and leaves
    struct model_traffic traffic;
};

// Of (nranks) `job_ranks`, which are ranks of `net`; both stay.  errors: CLAB_ENOMEM
//   rivals: communicators that share each adapter, this one included
int model_cache_create(const struct clab_net *net, int rivals, const int job_ranks[], int nranks, struct model_cache **cache_p);
void model_cache_free(struct model_cache *cache); // NULL is fine

// (nranks), to be filled in before a call: in to when.
struct model_rank *model_cache_ranks(struct model_cache *cache);
// Run the schedules of all ranks, and price them. beat: counts on meanwhile.
//   errors: CLAB_ENOMEM, CLAB_EINVAL, CLAB_EDEADLOCK (logged)
int model_cache_run(struct model_cache *cache, const struct clab_call *call, _Atomic uint32_t *beat);
