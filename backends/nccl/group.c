// SPDX-License-Identifier: MIT
// Communicators.
//
// - The first lane's communicator is made when ours is opened: by a unique number of NCCL's that member 0 gives to all.
//   The others are split from it when a schedule first needs them, which all members begin in the same order.
// - Communicators block (`blocking` 1), and what may wait for peers is a worker's (calls.c): it is gone on with by later
//   calls, and has our deadlines.

#include "backends/nccl/endpoint.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "core/base/clock.h"
#include "core/base/log.h"
#include "backends/nccl/device.h"

static const long look_every = 200000; // ns
enum { ASK_EVERY = 64 };               // looks in vain between questions about errors

static ncclConfig_t settings(void)
{
    ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
    config.blocking = 1;
    return config;
}

// ---- lanes ---------------------------------------------------------------------------------------------------

static int make_stream(struct nccl_lane *lane)
{
    CUDA_TRY(cudaStreamCreateWithFlags(&lane->stream, cudaStreamNonBlocking));
    return CLAB_OK;
}

// The next lane's communicator, from the first one's.
static ncclResult_t split_comm(struct nccl_endpoint *endpoint, int first, void *of)
{
    ncclConfig_t config = settings();
    (void)of;
    config.maxCTAs = endpoint->domain->lane_blocks;
    return ncclCommSplit(endpoint->lanes[first].comm, 0, endpoint->rank, &endpoint->lanes[endpoint->nlanes - 1].comm,
                         &config);
}

// A call on the first lane's communicator, which can not be called before the new one is there.
static int split(struct nccl_endpoint *endpoint)
{
    CLAB_TRY(make_stream(&endpoint->lanes[endpoint->nlanes]));
    endpoint->nlanes++; // also if it fails: NCCL may give a communicator all the same, which is to be ended
    return nccl_call(endpoint, 0, (struct nccl_call){.make = split_comm, .what = "ncclCommSplit"}, true);
}

int nccl_lanes(struct clab_endpoint *base, int lanes)
{
    struct nccl_endpoint *endpoint = (struct nccl_endpoint *)base;
    bool ready;
    if (lanes > endpoint->wanted)
        endpoint->wanted = lanes;
    if (endpoint->stream) // a schedule's lanes follow the device
        CLAB_TRY(nccl_device_follow(endpoint->stream));
    return nccl_lane_ready(endpoint, 0, &ready);
}

int nccl_follow(struct clab_endpoint *base, void *stream)
{
    struct nccl_endpoint *endpoint = (struct nccl_endpoint *)base;
    endpoint->stream = stream;
    endpoint->stream_given = 0; // it has not waited for the device yet
    return CLAB_OK;
}

int nccl_lane_ready(struct nccl_endpoint *endpoint, int index, bool *ready_p)
{
    *ready_p = false;
    for (;;) {
        CLAB_TRY(nccl_call_settle(endpoint, &endpoint->lanes[0], ready_p));
        if (!*ready_p || endpoint->nlanes >= endpoint->wanted)
            break;
        CLAB_TRY(split(endpoint));
    }
    if (!*ready_p || index == 0)
        return CLAB_OK;
    *ready_p = index < endpoint->nlanes;
    return *ready_p ? nccl_call_settle(endpoint, &endpoint->lanes[index], ready_p) : CLAB_OK;
}

int nccl_follow_device(cudaStream_t stream, unsigned long *given)
{
    const unsigned long now = nccl_device_given();
    cudaEvent_t event;
    if (*given == now)
        return CLAB_OK;
    if (nccl_device_finished() == now) {
        *given = now;
        return CLAB_OK;
    }
    CUDA_TRY(cudaEventCreateWithFlags(&event, cudaEventDisableTiming));
    int err = nccl_cuda_error(cudaEventRecord(event, nccl_device_stream()), "cudaEventRecord");
    if (!err)
        err = nccl_cuda_error(cudaStreamWaitEvent(stream, event, 0), "cudaStreamWaitEvent");
    cudaEventDestroy(event); // CUDA keeps it until it has been reached
    *given = now;
    return err;
}

int nccl_look_for_errors(struct nccl_endpoint *endpoint)
{
    if (++endpoint->looks % ASK_EVERY != 0)
        return CLAB_OK;
    for (int i = 0; i < endpoint->nlanes; i++) {
        const ncclComm_t comm = __atomic_load_n(&endpoint->lanes[i].comm, __ATOMIC_ACQUIRE);
        ncclResult_t state = ncclSuccess;
        if (!comm || nccl_call_waits(&endpoint->lanes[i])) // it is being made, or its call will say
            continue;
        CLAB_TRY(nccl_error(endpoint, comm, ncclCommGetAsyncError(comm, &state), "ncclCommGetAsyncError"));
        CLAB_TRY(nccl_error(endpoint, comm, state, "a communicator"));
    }
    return CLAB_OK;
}

// ---- open ----------------------------------------------------------------------------------------------------

// What each member tells the others before NCCL is called.
struct hello {
    ncclUniqueId id; // member 0's counts
    int err;
};

static int agree(const struct nccl_endpoint *endpoint, struct clab_group *group, int err, ncclUniqueId *id_p)
{
    struct hello mine = {.err = err}, *all = calloc((size_t)group->nranks, sizeof *all);
    if (!err && group->rank == 0)
        mine.err = nccl_error(endpoint, NULL, ncclGetUniqueId(&mine.id), "ncclGetUniqueId");
    int met = all ? group->exchange(group, &mine, sizeof mine, all) : CLAB_ENOMEM;
    for (int r = 0; r < group->nranks && !met; r++)
        met = all[r].err;
    if (!met)
        *id_p = all[0].id;
    free(all);
    return mine.err ? mine.err : met;
}

static ncclResult_t init_comm(struct nccl_endpoint *endpoint, int first, void *of)
{
    ncclConfig_t config = settings();
    (void)of;
    return ncclCommInitRankConfig(&endpoint->lanes[first].comm, endpoint->nranks, endpoint->id, endpoint->rank,
                                  &config);
}

static int connect_members(struct nccl_endpoint *endpoint)
{
    const double deadline = clab_now() + endpoint->domain->boot->timeout;
    const struct timespec moment = {.tv_nsec = look_every};
    bool settled = false;
    endpoint->nlanes = endpoint->wanted = 1; // also if it fails: NCCL may give a communicator that is to be ended
    CLAB_TRY(nccl_call(endpoint, 0, (struct nccl_call){.make = init_comm, .what = "ncclCommInitRankConfig"}, true));
    while (!settled) {
        CLAB_TRY(nccl_call_settle(endpoint, &endpoint->lanes[0], &settled));
        if (settled)
            break;
        if (nccl_has_lost_a_peer(endpoint))
            return CLAB_EPEER;
        if (clab_now() > deadline)
            return CLAB_ETIMEOUT;
        nanosleep(&moment, NULL);
    }
    return CLAB_OK;
}

// All that this rank needs for itself.
static int prepare(struct nccl_endpoint *endpoint)
{
    void *nothing;
    CLAB_TRY(make_stream(&endpoint->lanes[0]));
    CUDA_TRY(cudaStreamCreateWithFlags(&endpoint->copies, cudaStreamNonBlocking));
    CLAB_TRY(nccl_reserve(endpoint->domain, 2, &nothing));
    endpoint->nothing = nothing;
    return CLAB_OK;
}

static struct nccl_endpoint *create(struct nccl_domain *domain, const struct clab_group *group)
{
    struct nccl_endpoint *endpoint = calloc(1, sizeof *endpoint);
    const size_t n = (size_t)group->nranks;
    int *job_ranks = malloc(n * sizeof *job_ranks);
    unsigned char *met = calloc(CLAB_MAX_LANES, n);
    if (!endpoint || !job_ranks || !met) {
        free(endpoint);
        free(job_ranks);
        free(met);
        return NULL;
    }
    memcpy(job_ranks, group->ranks, n * sizeof *job_ranks);
    endpoint->job_ranks = job_ranks;
    endpoint->met = met;
    for (size_t i = 0; i < CLAB_MAX_LANES; i++)
        endpoint->lanes[i].met = met + i * n;
    endpoint->domain = domain;
    endpoint->rank = group->rank;
    endpoint->nranks = group->nranks;
    return endpoint;
}

int nccl_open(struct clab_domain *base, struct clab_group *group, struct clab_endpoint **endpoint_p)
{
    struct nccl_domain *domain = (struct nccl_domain *)base;
    nccl_end_rest(domain, 0);
    nccl_free_deferred(domain, false);
    struct nccl_endpoint *endpoint = create(domain, group);
    if (!endpoint)
        return CLAB_ENOMEM;
    int err = agree(endpoint, group, prepare(endpoint), &endpoint->id);
    if (!err)
        err = clab_endpoint_open(domain->host_domain, group, &endpoint->host);
    if (!err)
        err = connect_members(endpoint);
    if (err) {
        nccl_close(&endpoint->base, true);
        return err;
    }
    *endpoint_p = &endpoint->base;
    return CLAB_OK;
}

// ---- close ---------------------------------------------------------------------------------------------------

// In this order: kernels use memory registered with NCCL; copies and the host's backend use the host messages' memory.
void nccl_close(struct clab_endpoint *base, bool failed)
{
    struct nccl_endpoint *endpoint = (struct nccl_endpoint *)base;
    struct nccl_domain *domain = endpoint->domain;
    nccl_graphs_end(endpoint);
    if (failed)
        nccl_end_now(endpoint);
    nccl_deregister_all(endpoint, failed);
    nccl_host_messages_stop(endpoint);
    if (endpoint->host)
        domain->host->close(endpoint->host, failed);
    nccl_host_messages_free(endpoint);
    nccl_batches_free(endpoint);
    nccl_natives_free(endpoint);
    if (endpoint->nothing)
        nccl_defer_free(domain, endpoint->nothing);
    if (failed)
        nccl_endpoint_free(endpoint);
    else
        nccl_end_later(endpoint);
    nccl_free_deferred(domain, false);
}
