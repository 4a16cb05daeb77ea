// SPDX-License-Identifier: MIT
// What a backend is: something that moves bytes between the ranks of a group.
//
// - A backend knows no algorithm: the executor (core/comm) hands it transfers, stage by stage, with real addresses.
// - A *domain* is a process's attachment to a job (mapped segment, opened fabric); an *endpoint* is a communicator's.
// - Every slot is filled: a stub answers CLAB_EUNSUPPORTED, so nobody tests for NULL.
// - No call blocks except attach, open and the waits inside `exchange`, and those have a deadline.
// - Life: attach, then any number of (open ... close) and (alloc ... free), then detach. One thread a domain.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/type.h"
#include "schedule/schedule.h"

// How processes find each other before there is a backend. Provided by the job (core/job), used by attach.
struct clab_bootstrap {
    int rank, nranks;
    double timeout;                       // seconds any wait may last
    int cores;                            // that the ranks of this host share
    int segment_fd;                       // a sparse memory file that all ranks of this host inherited, or -1
    size_t segment_bytes, segment_offset; // the part of it that is the backend's
    // Every rank gives `bytes` and gets all ranks' in rank order. Collective over the job.
    // errors: CLAB_EPEER (a rank has ended), CLAB_ETIMEOUT
    int (*exchange)(struct clab_bootstrap *, const void *mine, size_t bytes, void *all);
    // A rank that has failed, or has ended without leaving the job, or -1. Cheap: it reads one word.
    int (*dead)(struct clab_bootstrap *);
};

// The members of a communicator: member i of it is rank `ranks[i]` of the job. `exchange` is over the members.
struct clab_group {
    int rank, nranks;
    const int *ranks;
    int (*exchange)(void *context, const void *mine, size_t bytes, void *all);
    void *context;
};

struct clab_domain;   // a backend's own
struct clab_endpoint; // a backend's own

// Collectives use the first lanes; sends and receives have their own, and so has the making of communicators.
enum { CLAB_MAX_LANES = 16, CLAB_P2P_LANE = CLAB_MAX_LANES, CLAB_SETUP_LANE, CLAB_LANES };

// One message of a stage, with addresses. The first part is the caller's and stays as it is until done; the second is
// the backend's. Order between a pair within a lane is the order of start().
struct clab_transfer {
    enum clab_step_op op; // CLAB_SEND, CLAB_RECV or CLAB_RECV_REDUCE
    int peer, lane;       // a member of the group
    const void *src;      // SEND: what is sent. RECV_REDUCE: the local operand, dst = src (redop) received
    void *dst;            // RECV and RECV_REDUCE; may be src
    size_t count;         // elements of `type`; 0 is a message, too
    enum clab_type type;
    enum clab_op redop;
    uint16_t call; // what is being called, as a number that both ends must agree on

    bool done;     // set by start or test
    size_t moved;  // bytes so far
    uint64_t turn; // its place in the order of its channel
    uint64_t mark; // when it is delivered, in the backend's own count
};

// Compute where the data lives. The CPU's is clab_device_cpu.
struct clab_device {
    const char *name;
    void (*copy)(void *out, const void *in, size_t bytes);
    void (*reduce)(enum clab_type type, enum clab_op op, const void *a, const void *b, void *out, size_t count);
    void (*scale)(enum clab_type type, void *data, size_t count, int divisor);
};
extern const struct clab_device clab_device_cpu;

struct clab_backend {
    const char *name;
    const char *title; // one line for `commlab doctor` and --help

    // Attach this process to the job; collective over the job. *domain_p is set on success only.
    //   errors: CLAB_EUNSUPPORTED (this machine or build lacks it, logged with the remedy), CLAB_ESYS, CLAB_EPEER,
    //   CLAB_ETIMEOUT
    int (*attach)(struct clab_bootstrap *boot, struct clab_domain **domain_p);
    // Not collective. Endpoints are closed and allocations freed before.
    void (*detach)(struct clab_domain *domain);

    // Memory that peers reach fastest, 64-byte aligned, uninitialised.  errors: CLAB_ENOMEM (logged with what was left)
    int (*alloc)(struct clab_domain *domain, size_t bytes, void **memory_p);
    void (*free)(struct clab_domain *domain, void *memory);

    // A communicator's connections; collective over the group, which lives as long as the endpoint.
    //   errors: CLAB_ENOMEM, CLAB_EPEER, CLAB_ETIMEOUT
    int (*open)(struct clab_domain *domain, const struct clab_group *group, struct clab_endpoint **endpoint_p);
    // All transfers are done. Not collective: what peers still read stays valid until they close, too.
    void (*close)(struct clab_endpoint *endpoint);

    // Begin `n` transfers together; never waits. The array stays in place until all are done.
    //   errors: CLAB_EPEER, CLAB_EMISMATCH (the ends differ in bytes or call), CLAB_ESYS
    int (*start)(struct clab_endpoint *endpoint, struct clab_transfer transfers[], int n);
    // Move what can be moved now; *done_p says whether all `n` are done. Never waits.
    //   errors: as start
    int (*test)(struct clab_endpoint *endpoint, struct clab_transfer transfers[], int n, bool *done_p);
    // Nothing could be moved for the `fruitless`-th time in a row (0, 1, ...): spin, yield or sleep, as suits, and at
    // most 1 ms. errors: CLAB_EPEER, with *peer_p the member that has ended
    int (*idle)(struct clab_endpoint *endpoint, unsigned fruitless, int *peer_p);

    const struct clab_device *device;
};

// The backend called `name`, or NULL with one logged line that lists those there are.
const struct clab_backend *clab_backend_find(const char *name);
// All that this build holds, ended by NULL.
extern const struct clab_backend *const clab_backends[];
