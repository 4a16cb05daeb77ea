// SPDX-License-Identifier: MIT
// The shared-memory backend: attach to the host's memory file, open channels, move a stage's transfers.

#include "backends/shm/shm.h"

#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <math.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "core/base/clock.h"
#include "core/base/log.h"
#include "core/base/machine/machine.h"
#include "core/base/relax.h"
#include "core/base/units.h"
#include "backends/shm/areas.h"
#include "backends/shm/board.h"
#include "backends/shm/channel.h"

enum { SHARE_HEAD = 4096, LARGE = 64 << 20 };
static const long nap_ns = (long)(CLAB_NAP * 1e9);

// ---- domain --------------------------------------------------------------------------------------------------

static int map_file(struct shm_domain *domain)
{
    struct clab_bootstrap *boot = domain->boot;
    if (boot->local_ranks < boot->nranks) {
        if (boot->rank == 0)
            clab_error("shm: the job's %d ranks are on %d hosts, and memory is shared within one: use --backend ofi",
                       boot->nranks, boot->nnodes);
        return CLAB_EUNSUPPORTED;
    }
    if (boot->segment_fd < 0) {
        if (boot->rank == 0) // without the file, ranks can not exchange anything
            clab_error("shm: this job has no memory file, since /proc/PID/fd is closed to us; "
                       "start it with `commlab run`");
        return CLAB_EUNSUPPORTED;
    }
    domain->bytes = boot->segment_bytes;
    domain->share_bytes = boot->segment_bytes / (size_t)boot->nranks / CLAB_HUGE_PAGE * CLAB_HUGE_PAGE;
    if (domain->share_bytes < 2 * CLAB_HUGE_PAGE + shm_filters_bytes(boot->nranks)) {
        clab_error("shm: the memory file of %zu bytes is too small for %d ranks", domain->bytes, boot->nranks);
        return CLAB_ENOMEM;
    }
    domain->file = mmap(NULL, domain->bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, boot->segment_fd,
                        (off_t)boot->segment_offset);
    if (domain->file == MAP_FAILED) {
        clab_error("shm: mapping %zu bytes: %s; is the address space limited (ulimit -v)?", domain->bytes,
                   strerror(errno));
        return CLAB_ENOMEM;
    }
    return CLAB_OK;
}

static void detach(struct clab_domain *base)
{
    struct shm_domain *domain = (struct shm_domain *)base;
    shm_heap_destroy(domain->heap);
    shm_areas_forget(domain);
    if (domain->file != MAP_FAILED && domain->file)
        munmap(domain->file, domain->bytes);
    free(domain);
}

static int open_heap(struct shm_domain *domain)
{
    const struct clab_bootstrap *boot = domain->boot;
    const size_t head = SHARE_HEAD + (boot->rank == 0 ? shm_filters_bytes(boot->nranks) : 0);
    const size_t start = (size_t)boot->rank * domain->share_bytes + head;
    domain->filters = (struct shm_filter *)(void *)(domain->file + SHARE_HEAD);
    return shm_heap_create(domain->file + start, domain->share_bytes - head, boot->segment_fd,
                           boot->segment_offset + start, &domain->heap);
}

static int attach(struct clab_bootstrap *boot, struct clab_domain **domain_p)
{
    struct shm_domain *domain = calloc(1, sizeof *domain);
    if (!domain)
        return CLAB_ENOMEM;
    domain->boot = boot;
    int err = map_file(domain);
    if (!err)
        err = open_heap(domain);
    if (err) {
        detach(&domain->base);
        return err;
    }
    *domain_p = &domain->base;
    return CLAB_OK;
}

// Pages come when they are touched, and who touches more than there is gets killed.
static bool is_too_much(size_t bytes)
{
    char asked[CLAB_TEXT], left[CLAB_TEXT];
    const size_t available = bytes < LARGE ? 0 : clab_machine_available_bytes();
    if (bytes <= available || !available)
        return false;
    clab_error("shm: %s are asked for, and this machine, or its container, has %s left", clab_size_text(bytes, asked),
               clab_size_text(available, left));
    return true;
}

static int alloc(struct clab_domain *base, size_t bytes, void **memory_p)
{
    struct shm_domain *domain = (struct shm_domain *)base;
    shm_areas_reap(domain);
    if (is_too_much(bytes))
        return CLAB_ENOMEM;
    int err = shm_heap_alloc(domain->heap, bytes, memory_p);
    if (err)
        clab_error("shm: no block of %zu bytes is left; the largest has %zu", bytes, shm_heap_left(domain->heap));
    return err;
}

static void release(struct clab_domain *base, void *memory)
{
    struct shm_domain *domain = (struct shm_domain *)base;
    if (memory)
        shm_heap_free(domain->heap, memory);
}

// ---- endpoint ------------------------------------------------------------------------------------------------

static void release_endpoint(struct shm_endpoint *endpoint)
{
    free(endpoint->job_ranks);
    free(endpoint->send);
    free(endpoint->receive);
    free(endpoint->peer_areas);
    shm_closed_free(endpoint->closed);
    free(endpoint);
}

static struct shm_endpoint *create_endpoint(struct shm_domain *domain, const struct clab_group *group)
{
    struct shm_endpoint *endpoint = calloc(1, sizeof *endpoint);
    size_t n = (size_t)group->nranks;
    if (!endpoint)
        return NULL;
    endpoint->domain = domain;
    endpoint->rank = group->rank;
    endpoint->nranks = group->nranks;
    endpoint->job_ranks = malloc(n * sizeof *endpoint->job_ranks);
    endpoint->send = calloc(n * CLAB_LANES, sizeof *endpoint->send);
    endpoint->receive = calloc(n * CLAB_LANES, sizeof *endpoint->receive);
    endpoint->peer_areas = calloc(n, sizeof(struct shm_area *));
    endpoint->closed = shm_closed_create(group);
    if (!endpoint->job_ranks || !endpoint->send || !endpoint->receive || !endpoint->peer_areas || !endpoint->closed) {
        release_endpoint(endpoint);
        return NULL;
    }
    memcpy(endpoint->job_ranks, group->ranks, n * sizeof *endpoint->job_ranks);
    return endpoint;
}

static void leave(struct shm_endpoint *endpoint)
{
    shm_areas_leave(endpoint->domain, endpoint->closed, endpoint->area);
    endpoint->closed = NULL; // it is the domain's
}

// Where members meet on a board, few ever send each other a message.
static int alloc_area(struct shm_domain *domain, size_t bytes, bool has_board, void **memory_p)
{
    shm_areas_reap(domain);
    return has_board && shm_heap_alloc_sparse(domain->heap, bytes, memory_p) == CLAB_OK
               ? CLAB_OK
               : alloc(&domain->base, bytes, memory_p);
}

// offsets: (nranks) of the members' areas in the file
static void find_queues(struct shm_endpoint *endpoint, const uint64_t offsets[])
{
    for (int r = 0; r < endpoint->nranks; r++) {
        struct shm_area *area = (struct shm_area *)(endpoint->domain->file + offsets[r]);
        struct shm_channel *send = endpoint->send + r * CLAB_LANES, *receive = endpoint->receive + r * CLAB_LANES;
        endpoint->peer_areas[r] = area;
        for (int lane = 0; lane < CLAB_LANES; lane++) {
            send[lane].queue = &area->queues[endpoint->rank * CLAB_LANES + lane];
            receive[lane].queue = &endpoint->area->queues[r * CLAB_LANES + lane];
        }
    }
}

static int open_endpoint(struct clab_domain *base, struct clab_group *group, struct clab_endpoint **endpoint_p)
{
    struct shm_domain *domain = (struct shm_domain *)base;
    size_t n = (size_t)group->nranks, area_bytes = sizeof(struct shm_area) + n * CLAB_LANES * sizeof(struct shm_queue);
    struct shm_endpoint *endpoint = create_endpoint(domain, group);
    const size_t board = area_bytes;
    if (group->rank == 0)
        area_bytes += group->board_bytes;
    uint64_t mine = 0, *all = calloc(n, sizeof *all);
    void *memory = NULL;
    int err = endpoint && all ? CLAB_OK : CLAB_ENOMEM;
    if (err)
        goto fail;
    if ((err = alloc_area(domain, area_bytes, group->board_bytes > 0, &memory)))
        goto fail;
    endpoint->area = memory;
    mine = (uint64_t)((char *)memory - domain->file);
    shm_areas_enter(domain, group->id);
    if ((err = group->exchange(group, &mine, sizeof mine, all)))
        goto leave; // a member may have learnt where the area lies
    find_queues(endpoint, all);
    endpoint->board = (char *)endpoint->peer_areas[0] + board;
    free(all);
    *endpoint_p = &endpoint->base;
    return CLAB_OK;

leave:
    leave(endpoint);
fail:
    free(all);
    if (endpoint)
        release_endpoint(endpoint);
    return err;
}

static void close_endpoint(struct clab_endpoint *base, bool failed)
{
    struct shm_endpoint *endpoint = (struct shm_endpoint *)base;
    if (failed) {
        atomic_store_explicit(&endpoint->area->is_revoked, true, memory_order_relaxed);
        atomic_thread_fence(memory_order_release); // before anything that the caller writes to its buffers now
    }
    leave(endpoint);
    release_endpoint(endpoint);
}

// ---- transfers -----------------------------------------------------------------------------------------------

static struct shm_channel *channel_of(struct shm_endpoint *endpoint, const struct clab_transfer *t)
{
    struct shm_channel *channels = t->op == CLAB_SEND ? endpoint->send : endpoint->receive;
    return &channels[t->peer * CLAB_LANES + t->lane];
}

static int move(struct shm_endpoint *endpoint, struct clab_transfer *t)
{
    struct shm_channel *channel = channel_of(endpoint, t);
    const int err =
        t->op == CLAB_SEND ? shm_channel_send(endpoint, channel, t) : shm_channel_receive(endpoint, channel, t);
    t->failed = err != CLAB_OK;
    return err;
}

static int start(struct clab_endpoint *base, struct clab_transfer transfers[], int n)
{
    struct shm_endpoint *endpoint = (struct shm_endpoint *)base;
    for (int i = 0; i < n; i++) {
        struct clab_transfer *t = &transfers[i];
        t->done = false;
        t->moved = 0;
        t->turn = channel_of(endpoint, t)->posted++;
        endpoint->sends_alone = t->op == CLAB_SEND ? endpoint->sends_alone + 1 : 0;
        if (t->op == CLAB_SEND)
            CLAB_TRY(move(endpoint, t));
    }
    return CLAB_OK;
}

static int test(struct clab_endpoint *base, struct clab_transfer transfers[], int n, bool *done_p)
{
    struct shm_endpoint *endpoint = (struct shm_endpoint *)base;
    bool done = true;
    for (int i = 0; i < n; i++) {
        struct clab_transfer *t = &transfers[i];
        if (t->done)
            continue;
        CLAB_TRY(move(endpoint, t));
        done &= t->done;
    }
    *done_p = done;
    return CLAB_OK;
}

// First announce the sleep and return, so that the caller polls once more; then sleep.
static void sleep_until_woken(struct shm_endpoint *endpoint, unsigned round, long longest)
{
    struct shm_futex *futex = shm_futex(endpoint->domain, endpoint->domain->boot->rank);
    const struct timespec at_most = {.tv_nsec = longest};
    if (round == 0)
        atomic_store(&futex->sleeping, 1);
    else if (atomic_load(&futex->sleeping))
        syscall(SYS_futex, &futex->sleeping, FUTEX_WAIT, 1, &at_most, NULL, 0);
    else
        atomic_store(&futex->sleeping, 1);
}

static bool idle(struct clab_endpoint *base, unsigned fruitless)
{
    struct shm_endpoint *endpoint = (struct shm_endpoint *)base;
    unsigned spins = endpoint->domain->boot->crowded ? 0 : SHM_SPINS;
    if (fruitless < spins) {
        clab_relax();
        return false;
    }
    if (fruitless < spins + SHM_YIELDS)
        sched_yield();
    else
        sleep_until_woken(endpoint, fruitless - spins - SHM_YIELDS, nap_ns);
    return true;
}

// ---- naps of the progress thread -------------------------------------------------------------------------------

static double arm(struct clab_endpoint *base)
{
    struct shm_endpoint *endpoint = (struct shm_endpoint *)base;
    atomic_store(&shm_futex(endpoint->domain, endpoint->domain->boot->rank)->sleeping, 1);
    return clab_now() + CLAB_NAP;
}

static void sleep_until(struct clab_domain *base, double until)
{
    struct shm_domain *domain = (struct shm_domain *)base;
    struct shm_futex *futex = shm_futex(domain, domain->boot->rank);
    const double left = fmin(until - clab_now(), CLAB_NAP);
    const struct timespec at_most = {.tv_nsec = (long)(left * 1e9)};
    if (left > 0 && atomic_load(&futex->sleeping))
        syscall(SYS_futex, &futex->sleeping, FUTEX_WAIT, 1, &at_most, NULL, 0);
}

static const struct clab_nap nap = {arm, sleep_until};

// ---- boards --------------------------------------------------------------------------------------------------

char *clab_shm_board(struct clab_endpoint *base)
{
    struct shm_endpoint *endpoint = (struct shm_endpoint *)base;
    return endpoint->board;
}

size_t clab_shm_offset(const struct clab_domain *base, const void *memory)
{
    const struct shm_domain *domain = (const struct shm_domain *)base;
    return shm_is_shared(domain, memory) ? (size_t)((const char *)memory - domain->file) : CLAB_SHM_ELSEWHERE;
}

char *clab_shm_at(const struct clab_domain *base, size_t offset)
{
    const struct shm_domain *domain = (const struct shm_domain *)base;
    return domain->file + offset;
}

void clab_shm_wake(const struct clab_endpoint *base, int member)
{
    const struct shm_endpoint *endpoint = (const struct shm_endpoint *)base;
    struct shm_futex *futex = shm_futex(endpoint->domain, endpoint->job_ranks[member]);
    atomic_thread_fence(memory_order_seq_cst); // either it sees the news, or this rank sees that it sleeps
    if (atomic_exchange_explicit(&futex->sleeping, 0, memory_order_relaxed))
        syscall(SYS_futex, &futex->sleeping, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
}

void clab_shm_sleep(struct clab_endpoint *base, unsigned fruitless, bool is_woken)
{
    struct shm_endpoint *endpoint = (struct shm_endpoint *)base;
    const unsigned doubled = !is_woken ? 0 : fruitless < 2 ? 3 : fruitless < 3 ? 4 : 5;
    sleep_until_woken(endpoint, fruitless, nap_ns << doubled);
    atomic_thread_fence(memory_order_seq_cst); // the announcement comes before the next poll
}

const struct clab_backend clab_backend_shm = {
    .name = "shm",
    .title = "shared memory between processes of one host",
    .attach = attach,
    .detach = detach,
    .alloc = alloc,
    .free = release,
    .reaches = clab_host_reaches,
    .pin = clab_host_pin,
    .unpin = clab_host_unpin,
    .open = open_endpoint,
    .close = close_endpoint,
    .lanes = clab_any_lanes,
    .follow = clab_no_stream,
    .start = start,
    .test = test,
    .idle = idle,
    .collectives = &clab_no_collectives,
    .time = &clab_wall_time,
    .describe = clab_no_description,
    .device = &clab_device_cpu,
    .nap = &nap,
    .protocols = {.memory = true,
                  .inline_bytes = SHM_INLINE_BYTES,
                  .lines_bytes = SHM_INLINE_MOST,
                  .pull_bytes = SHM_PULL_SHARED},
};
