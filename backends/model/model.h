// SPDX-License-Identifier: MIT
// The model backend: a described network in the place of the machine's own. It wraps a backend that moves the data.
//
// - decorator.c    what both policies share: a message travels with a stamp, by which its receiver reckons (clock.h).
// - jump.c         virtual time, `--backend sim --net NAME`, over shm: data is delivered at once, and the rank's clock
//                  jumps. CLAB_NET names the network (dgx-h100 unless set). CLAB_STRAGGLE=RANK=FACTOR,... makes ranks
//                  compute slower.
// - coordinator.h  collectives in virtual time: member 0 runs and prices the whole call.
// - wait.c         an emulated wire, `--emulate NAME`, over a backend of this host: a message is delivered when it would
//                  arrive, and not before. Until then its core is free, so that compute overlaps with a slow wire even
//                  where ranks have no core to spare. If the data's real way takes longer, that is what counts.
//
// Ports are a rank's own: adapters that the ranks of a node share are not modelled.
#pragma once

#include "backends/model/clock.h"
#include "core/transport/backend.h"

struct model_coordinator;

struct model_domain {
    struct clab_domain base;
    struct clab_domain *inner; // that moves the data
    struct clab_net *net;
    struct clab_clock clock;
    uint64_t received; // messages, ever, by wait.c
    size_t resent;     // of them, or of the collectives that this rank has run: lost, and sent again
    bool crowded;
    int nranks; // of the job
};

// A message under way, or over and not waited for.
struct model_message {
    struct clab_transfer parts[2]; // the stamp, the payload
    struct clab_stamp stamp;
    double posted, due; // s of the clock; due: 0 while it is not known
    struct model_message *next;
};

struct model_endpoint {
    struct clab_endpoint base;
    struct model_domain *domain;
    struct clab_endpoint *inner;
    int rank, nranks;
    int *job_ranks; // (nranks)
    struct model_message *messages, *spare;
    double armed; // s of clab_now: until when a wait may sleep after one more look (wait.c); 0: it may not
    struct model_coordinator *coordinator; // jump.c; else NULL
};

static inline struct model_domain *model_domain(const struct clab_domain *domain)
{
    return (struct model_domain *)(uintptr_t)domain;
}

static inline struct model_endpoint *model_endpoint(const struct clab_endpoint *endpoint)
{
    return (struct model_endpoint *)(uintptr_t)endpoint;
}

// A domain over `inner`, both of which it owns on success.  errors: CLAB_ENOMEM, CLAB_EINVAL (the job has more ranks
// than the network; logged)
int model_domain_create(struct clab_bootstrap *boot, struct clab_domain *inner, struct clab_net *net,
                        struct model_domain **domain_p);

// The message of a transfer that has been started here.
static inline struct model_message *model_message(const struct clab_transfer *t)
{
    return (struct model_message *)(uintptr_t)t->mark;
}
// Start a transfer and its stamp, by the clock as it stands.  errors: CLAB_ENOMEM, the inner backend's
int model_message_start(struct model_endpoint *e, struct clab_transfer *t);
// Both parts have been moved.  errors: the inner backend's
int model_message_test(struct model_endpoint *e, struct clab_transfer *t, bool *moved_p);
// It is over: its memory can be used again.
void model_message_end(struct model_endpoint *e, struct model_message *done);

// The node of the described network that a rank of the job is on. Only what leaves a node can be lost.
static inline int model_node_of(const struct clab_net *net, int job_rank)
{
    return job_rank / net->ranks_per_node;
}

// ---- slots that both policies share --------------------------------------------------------------------------

int model_host(const struct clab_domain *domain, int rank); // of struct clab_time
size_t model_resent(const struct clab_domain *domain);

// Seconds that `messages` are late because some of them are lost (clab_net_stall), which counts.
double model_stall(struct model_domain *domain, size_t messages, uint64_t seed);

void model_detach(struct clab_domain *domain);
int model_alloc(struct clab_domain *domain, size_t bytes, void **memory_p);
void model_free(struct clab_domain *domain, void *memory);
bool model_reaches(struct clab_domain *domain, const void *memory);
void model_describe(struct clab_domain *domain, char *text, size_t room, bool *is_fake_p);
int model_open(struct clab_domain *domain, struct clab_group *group, struct clab_endpoint **endpoint_p);
void model_close(struct clab_endpoint *endpoint, bool failed);
int model_lanes(struct clab_endpoint *endpoint, int lanes);
