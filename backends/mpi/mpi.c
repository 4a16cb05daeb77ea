// SPDX-License-Identifier: MIT
// The mpi backend: any MPI, so that labs and bench run on a cluster as its users' programs do.
//
// - Ranks are started by MPI's own mpirun: by its user, or by us in their place (`launcher`).
// - MPI is initialised once per process, and finalised when the process ends without an error. After a failure it is
//   not: mpirun then ends the job. When a rank dies, most MPIs end the others at once, before they can log it.
// - It is polled by the one thread that calls us: MPI_THREAD_FUNNELED.

#include "backends/mpi/endpoint.h"

#include <stdlib.h>
#include <string.h>

#include "core/transport/plugin.h"

#define GREET UINT64_C(0x6d7069206d656574) // the key of attach's fence
enum { SPINS = 2000 };

static bool is_ours, has_types, is_broken; // MPI_Init was called here; types made; something is under way for ever
static int attached;                       // domains

int mpi_error(int code)
{
    char text[MPI_MAX_ERROR_STRING] = "";
    int class = MPI_SUCCESS, length;
    if (code == MPI_SUCCESS)
        return CLAB_OK;
    MPI_Error_class(code, &class);
    if (class == MPI_ERR_TRUNCATE)
        return CLAB_EMISMATCH;
    if (class == MPI_ERR_NO_MEM)
        return CLAB_ENOMEM;
    MPI_Error_string(code, text, &length);
    clab_error("MPI: %s", text);
    return CLAB_EPEER;
}

// MPI can not cancel the operations of a failed communicator. So the process will exit without MPI_Finalize, and mpirun
// then ends the others.
static void give_up(void)
{
    is_broken = true;
}

// ---- domain --------------------------------------------------------------------------------------------------

static void finalize(void)
{
    int is_over;
    MPI_Finalized(&is_over);
    if (!is_ours || is_broken || attached || is_over)
        return;
    if (has_types)
        mpi_types_free();
    MPI_Finalize();
}

static int initialize(void)
{
    int is_there, level;
    MPI_Initialized(&is_there);
    if (!is_there) {
        setenv("IPATH_NO_BACKTRACE", "1", 0); // as backends/ofi/library.c: Open MPI may load it
        MPI_TRY(MPI_Init_thread(NULL, NULL, MPI_THREAD_FUNNELED, &level));
        is_ours = true;
        atexit(finalize);
    }
    MPI_TRY(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
    if (!has_types)
        CLAB_TRY(mpi_types_make());
    has_types = true;
    return CLAB_OK;
}

// Map the job's ranks to MPI's.
static int greet(struct mpi_domain *domain)
{
    struct clab_bootstrap *boot = domain->boot;
    int world, rank;
    MPI_TRY(MPI_Comm_size(MPI_COMM_WORLD, &world));
    MPI_TRY(MPI_Comm_rank(MPI_COMM_WORLD, &rank));
    if (world != boot->nranks) {
        clab_error("MPI knows of %d ranks, and the job has %d: start them by the mpirun of this MPI (%s)", world,
                   boot->nranks, CLAB_MPIRUN);
        return CLAB_EUNSUPPORTED;
    }
    domain->world_ranks = calloc((size_t)boot->nranks, sizeof *domain->world_ranks);
    if (!domain->world_ranks)
        return CLAB_ENOMEM;
    return boot->exchange(boot, (struct clab_fence){.key = GREET}, &rank, sizeof rank, domain->world_ranks);
}

static void detach(struct clab_domain *base)
{
    struct mpi_domain *domain = (struct mpi_domain *)base;
    attached--;
    free(domain->world_ranks);
    free(domain);
}

static int attach(struct clab_bootstrap *boot, struct clab_domain **domain_p)
{
    struct mpi_domain *domain = calloc(1, sizeof *domain);
    if (!domain)
        return CLAB_ENOMEM;
    domain->boot = boot;
    attached++;
    int err = initialize();
    if (!err)
        err = greet(domain);
    if (err) {
        detach(&domain->base);
        return err;
    }
    *domain_p = &domain->base;
    return CLAB_OK;
}

static int alloc(struct clab_domain *domain, size_t bytes, void **memory_p)
{
    (void)domain;
    void *memory = aligned_alloc(64, bytes / 64 * 64 + 64);
    if (!memory) {
        clab_error("mpi: no memory for %zu bytes", bytes);
        return CLAB_ENOMEM;
    }
    *memory_p = memory;
    return CLAB_OK;
}

static void release(struct clab_domain *domain, void *memory)
{
    (void)domain;
    free(memory);
}

// ---- endpoint ------------------------------------------------------------------------------------------------

static int make_comm(struct mpi_domain *domain, struct clab_group *group, const int ranks[], MPI_Comm *comm_p)
{
    MPI_Group world, members;
    MPI_TRY(MPI_Comm_group(MPI_COMM_WORLD, &world));
    MPI_TRY(MPI_Group_incl(world, group->nranks, ranks, &members));
    MPI_TRY(MPI_Comm_create_group(MPI_COMM_WORLD, members, (int)(group->id % 30000), comm_p));
    MPI_TRY(MPI_Comm_set_errhandler(*comm_p, MPI_ERRORS_RETURN));
    MPI_Group_free(&members);
    MPI_Group_free(&world);
    (void)domain;
    return CLAB_OK;
}

// MPI waits for members for ever. So they first pass a fence of the job, which has a deadline.
static int open(struct clab_domain *base, struct clab_group *group, struct clab_endpoint **endpoint_p)
{
    struct mpi_domain *domain = (struct mpi_domain *)base;
    const size_t n = (size_t)group->nranks;
    struct mpi_endpoint *endpoint = calloc(1, sizeof *endpoint);
    int mine = group->rank, *ranks = calloc(2 * n, sizeof *ranks);
    int err = endpoint && ranks ? CLAB_OK : CLAB_ENOMEM;
    if (!err)
        err = group->exchange(group, &mine, sizeof mine, ranks + n);
    for (size_t i = 0; i < n && !err; i++)
        ranks[i] = domain->world_ranks[group->ranks[i]];
    if (!err)
        err = make_comm(domain, group, ranks, &endpoint->comm);
    free(ranks);
    if (err) {
        free(endpoint);
        return err;
    }
    endpoint->domain = domain;
    endpoint->rank = group->rank;
    endpoint->nranks = group->nranks;
    *endpoint_p = &endpoint->base;
    return CLAB_OK;
}

// Freeing a communicator is collective by the standard; the MPIs that there are do not wait for each other in it.
static void close(struct clab_endpoint *base, bool failed)
{
    struct mpi_endpoint *endpoint = (struct mpi_endpoint *)base;
    if (failed)
        give_up();
    else
        MPI_Comm_free(&endpoint->comm);
    mpi_messages_free(endpoint);
    free(endpoint);
}

static bool idle(struct clab_endpoint *base, unsigned fruitless)
{
    struct mpi_endpoint *endpoint = (struct mpi_endpoint *)base;
    return clab_poll_idle(endpoint->domain->boot, SPINS, fruitless);
}

// ---- the table -----------------------------------------------------------------------------------------------

static const char *const launcher[] = {
    CLAB_MPIRUN,
#ifdef OPEN_MPI
    "--oversubscribe",
    "--allow-run-as-root",
#endif
    NULL,
};

static const struct clab_collectives natives = {
    .has = mpi_has_native,
    .reaches = clab_host_reaches,
    .start = mpi_native_start,
    .test = mpi_native_test,
    .record = clab_no_recording,
    .recorded = clab_nothing_recorded,
    .forget = clab_forget_nothing,
    .ran = clab_ran_unknown,
    .look = clab_look_nowhere,
};

static const struct clab_backend backend = {
    .name = "mpi",
#ifdef OPEN_MPI
    .title = "Open MPI, with its own collectives",
#else
    .title = "MPI, with its own collectives",
#endif
    .attach = attach,
    .detach = detach,
    .alloc = alloc,
    .free = release,
    .reaches = clab_host_reaches,
    .pin = clab_host_pin,
    .unpin = clab_host_unpin,
    .open = open,
    .close = close,
    .lanes = clab_any_lanes,
    .follow = clab_no_stream,
    .start = mpi_messages_start,
    .test = mpi_messages_test,
    .idle = idle,
    .collectives = &natives,
    .time = &clab_wall_time,
    .describe = clab_no_description,
    .device = &clab_device_cpu,
    .sees_to_done = true,
    .launcher = launcher,
};

CLAB_PLUGIN("mpi", &backend);
