// SPDX-License-Identifier: MIT
// The nccl backend: NVIDIA's GPUs, by NCCL and CUDA.

#include "backends/nccl/endpoint.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/clock.h"
#include "core/base/log.h"
#include "backends/nccl/device.h"
#include "core/transport/plugin.h"

#define GREET    UINT64_C(0x6e63636c206d6565) // the key of attach's fence
#define REGISTER "CLAB_NCCL_REGISTER"
enum { SPINS = 200 };
enum { NCCL_MOST_BLOCKS = 64 };      // that a communicator takes: NCCL's MAXCHANNELS
static const double longest_end = 5; // s that peers may take to end what is closed

// What each rank tells the others when it attaches.
struct hello {
    int err;
    int version; // of NCCL
    enum nccl_registration registration;
};

// All ranks have a GPU, the same NCCL and the same setting, or none attaches.
static int greet(struct clab_bootstrap *boot, enum nccl_registration registration, int err)
{
    struct hello mine = {.err = err, .registration = registration}, *all = calloc((size_t)boot->nranks, sizeof *all);
    ncclGetVersion(&mine.version);
    err = all ? boot->exchange(boot, (struct clab_fence){.key = GREET}, &mine, sizeof mine, all) : CLAB_ENOMEM;
    for (int r = 0; !err && r < boot->nranks; r++)
        err = all[r].err;
    for (int r = 0; !err && r < boot->nranks; r++)
        if (all[r].version != all[0].version) {
            if (boot->rank == r)
                clab_error("--backend nccl: NCCL is %d.%d.%d here, and %d.%d.%d at rank 0: install the same everywhere",
                           mine.version / 10000, mine.version / 100 % 100, mine.version % 100, all[0].version / 10000,
                           all[0].version / 100 % 100, all[0].version % 100);
            err = CLAB_EUNSUPPORTED;
        }
    for (int r = 0; !err && r < boot->nranks; r++)
        if (all[r].registration != all[0].registration) {
            if (mine.registration != all[0].registration)
                clab_error(REGISTER " is %d here, and %d at rank 0: set it alike at all ranks", (int)mine.registration,
                           (int)all[0].registration);
            err = CLAB_EINVAL;
        }
    free(all);
    return err;
}

static int choose_registration(enum nccl_registration *registration_p)
{
    const char *text = clab_variable_given(CLAB_VARIABLE_NCCL_REGISTER);
    if (text && (strlen(text) != 1 || *text < '0' || *text > '2')) {
        clab_error(REGISTER
                   "=%s: it is 1 (NCCL's own collectives register their memory), 2 (in symmetric windows) or 0",
                   text);
        return CLAB_EINVAL;
    }
    *registration_p = text ? (enum nccl_registration)(*text - '0') : NCCL_UNREGISTERED;
    if (*registration_p && NCCL_VERSION_CODE < 21900) {
        clab_error(REGISTER "=%s: NCCL registers memory from 2.19 on, and this kit was built with an older one", text);
        return CLAB_EUNSUPPORTED;
    }
    if (*registration_p == NCCL_WINDOWS && !nccl_has_windows()) {
        clab_error(REGISTER
                   "=2: NCCL has symmetric windows from 2.27 on, and here it was built or is loaded in an older "
                   "version: install that, or register with 1");
        return CLAB_EUNSUPPORTED;
    }
    return CLAB_OK;
}

// It is over what a program asks for.
static int check_blocking(void)
{
    const char *blocking = getenv("NCCL_COMM_BLOCKING");
    if (!blocking || strcmp(blocking, "0"))
        return CLAB_OK;
    clab_error("NCCL_COMM_BLOCKING=0: this backend's communicators block, and its own threads wait for NCCL: unset it");
    return CLAB_EINVAL;
}

static int prepare(struct nccl_domain *domain)
{
    // Else NCCL connects at the first use of an algorithm, where it may wait for the GPU, whose kernels may wait for a
    // peer that waits for this rank.
    setenv("NCCL_RUNTIME_CONNECT", "0", 0);
    domain->connects_late = strcmp(getenv("NCCL_RUNTIME_CONNECT"), "0") != 0;
    nccl_profile_ask();
    CLAB_TRY(check_blocking());
    CLAB_TRY(choose_registration(&domain->registration));
    return nccl_choose_device(domain->boot, &domain->device, &domain->is_shared);
}

// That a lane beside the first may take: kernels of all lanes must have room on the GPU at once. If they took turns,
// those of two lanes could do so in one order here and in the other at a peer, and wait for each other for ever.
static int blocks_of_a_lane(int device)
{
    int multiprocessors = 0; // hold a block of NCCL's each
    cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, device);
    const int left = (multiprocessors - NCCL_MOST_BLOCKS) / (CLAB_MAX_LANES - 1);
    return left > 1 ? left : 1;
}

static int open_device(struct nccl_domain *domain)
{
    const int err = prepare(domain);
    CLAB_TRY(greet(domain->boot, domain->registration, err));
    nccl_move_near(domain->device);
    CLAB_TRY(nccl_device_open());
    domain->lane_blocks = blocks_of_a_lane(domain->device);
    return CLAB_OK;
}

// What NCCL does not move: over shared memory on one host, over the network among several.
static int attach_host(struct nccl_domain *domain)
{
    domain->host = clab_backend_find(domain->boot->nnodes > 1 ? "ofi" : "shm");
    return domain->host ? clab_attach(domain->host, domain->boot, &domain->host_domain) : CLAB_EUNSUPPORTED;
}

static int attach_all(struct nccl_domain *domain)
{
    CLAB_TRY(open_device(domain));
    int err = nccl_watchdog_start(&domain->watchdog, domain->boot->timeout);
    if (!err && (err = attach_host(domain)))
        nccl_watchdog_stop(&domain->watchdog);
    if (err)
        nccl_device_close();
    return err;
}

static int attach(struct clab_bootstrap *boot, struct clab_domain **domain_p)
{
    struct nccl_domain *domain = calloc(1, sizeof *domain);
    if (!domain)
        return CLAB_ENOMEM;
    domain->boot = boot;
    const int err = attach_all(domain);
    if (err) {
        free(domain);
        return err;
    }
    *domain_p = &domain->base;
    return CLAB_OK;
}

static void detach(struct clab_domain *base)
{
    struct nccl_domain *domain = (struct nccl_domain *)base;
    const double limit = domain->boot->timeout < longest_end ? domain->boot->timeout : longest_end;
    nccl_end_rest(domain, clab_now() + limit);
    nccl_free_deferred(domain, true);
    domain->host->detach(domain->host_domain);
    if (domain->is_stuck) // CUDA would wait, too, and a thread of ours may still look at the domain
        return;
    nccl_watchdog_stop(&domain->watchdog);
    nccl_device_close();
    free(domain);
}

// A look costs a microsecond, and the shortest operation ten.
static bool idle(struct clab_endpoint *base, unsigned fruitless)
{
    struct nccl_endpoint *endpoint = (struct nccl_endpoint *)base;
    if (endpoint->nhost_messages > 0 && endpoint->domain->under_way == 0)
        return endpoint->domain->host->idle(endpoint->host, fruitless);
    return clab_poll_idle(endpoint->domain->boot, SPINS, fruitless);
}

static const struct clab_collectives natives = {
    .queues = 256, // CUDA takes about a thousand launches in a stream, and a call of NCCL's may be some
    .has = nccl_has_native,
    .reaches = nccl_reaches,
    .start = nccl_native_start,
    .test = nccl_native_test,
    .record = nccl_record,
    .recorded = nccl_recorded,
    .forget = nccl_forget,
    .ran = nccl_ran,
    .look = clab_look_nowhere,
};

static const struct clab_backend backend = {
    .name = "nccl",
    .title = "NVIDIA's GPUs, by NCCL and its own collectives",
    .attach = attach,
    .detach = detach,
    .alloc = nccl_alloc,
    .free = nccl_free,
    .reaches = nccl_reaches,
    .pin = nccl_pin,
    .unpin = nccl_unpin,
    .open = nccl_open,
    .close = nccl_close,
    .lanes = nccl_lanes,
    .follow = nccl_follow,
    .start = nccl_start,
    .test = nccl_test,
    .idle = idle,
    .collectives = &natives,
    .time = &clab_wall_time,
    .describe = nccl_describe,
    .device = &nccl_device,
    .bounces = true,
    .has_threads = true,
};

CLAB_PLUGIN("nccl", &backend);
