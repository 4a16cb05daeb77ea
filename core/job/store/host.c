// SPDX-License-Identifier: MIT
// Hosts and their memory (host.h).

#include "core/job/store/host.h"

#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/mix.h"
#include "core/base/variables.h"
#include "core/job/job.h"
#include "core/job/launchers/siblings.h"
#include "core/job/pages/memory.h"

#define FENCE_KEY UINT64_C(0x686f737473206172) // the keys of these fences

static const struct exchange_progress nothing_else;

// ---- who is here ---------------------------------------------------------------------------------------------

// Compared byte by byte.
struct identity {
    char boot[40], name[64], given[64]; // given: CLAB_HOST
    uint64_t namespaces[3];             // inode numbers
};

// What each rank sends to the others.
struct hello {
    struct identity identity;
    cpu_set_t cores;
    int launcher_cores; // what clab_cores says: more, where ranks are pinned
};

static void identify(struct identity *id)
{
    static const char *const namespaces[] = {"/proc/self/ns/net", "/proc/self/ns/pid", "/proc/self/ns/ipc"};
    struct stat status;
    *id = (struct identity){0};
    gethostname(id->name, sizeof id->name - 1);
    const char *given = clab_variable_given(CLAB_VARIABLE_HOST);
    strncpy(id->given, given ? given : "", sizeof id->given - 1);
    FILE *file = fopen("/proc/sys/kernel/random/boot_id", "re");
    if (file) {
        if (!fgets(id->boot, sizeof id->boot, file))
            id->boot[0] = '\0';
        fclose(file);
    }
    for (int i = 0; i < 3; i++)
        id->namespaces[i] = stat(namespaces[i], &status) == 0 ? (uint64_t)status.st_ino : 0;
}

static void introduce(struct hello *hello)
{
    memset(hello, 0, sizeof *hello);
    identify(&hello->identity);
    sched_getaffinity(0, sizeof hello->cores, &hello->cores);
    hello->launcher_cores = clab_cores();
}

static bool is_same_host(const struct hello *a, const struct hello *b)
{
    return memcmp(&a->identity, &b->identity, sizeof a->identity) == 0;
}

static bool is_same_machine(const struct hello *a, const struct hello *b)
{
    return *a->identity.boot && strcmp(a->identity.boot, b->identity.boot) == 0;
}

// The lowest rank on the host of `rank`.
static int lowest(const struct hello all[], int rank)
{
    int first = 0;
    while (!is_same_host(&all[first], &all[rank]))
        first++;
    return first;
}

// Containers of one machine are hosts of their own, but share its cores: those of the machine of `rank`, and how many
// ranks share them.
static int machine_cores(const struct hello all[], int rank, int nranks, int *ranks_p)
{
    cpu_set_t cores;
    int ranks = 0, most = 0;
    CPU_ZERO(&cores);
    for (int r = 0; r < nranks; r++)
        if (is_same_host(&all[r], &all[rank]) || is_same_machine(&all[r], &all[rank])) {
            CPU_OR(&cores, &cores, &all[r].cores);
            most = all[r].launcher_cores > most ? all[r].launcher_cores : most;
            ranks++;
        }
    *ranks_p = ranks;
    return CPU_COUNT(&cores) > most ? CPU_COUNT(&cores) : most;
}

static bool is_first_of_machine(const struct hello all[], int rank)
{
    for (int r = 0; r < rank; r++)
        if (is_same_host(&all[r], &all[rank]) || is_same_machine(&all[r], &all[rank]))
            return false;
    return true;
}

static void count_cores(const struct hello all[], int rank, int nranks, struct clab_host *host)
{
    int ranks;
    host->crowded = machine_cores(all, rank, nranks, &ranks) < ranks;
    for (int r = 0; r < nranks; r++)
        if (is_first_of_machine(all, r)) {
            host->job_cores += machine_cores(all, r, nranks, &ranks);
            host->machines++;
        }
}

static void count_hosts(const struct hello all[], int rank, int nranks, struct clab_host *host)
{
    const int mine = lowest(all, rank);
    cpu_set_t cores;
    CPU_ZERO(&cores);
    count_cores(all, rank, nranks, host);
    for (int r = 0; r < nranks; r++) {
        if (lowest(all, r) == r) {
            host->node += r < mine;
            host->nnodes++;
        }
        if (!is_same_host(&all[r], &all[rank]))
            continue;
        if (r == rank)
            host->local_rank = host->local_ranks;
        host->locals[host->local_ranks++] = r;
        CPU_OR(&cores, &cores, &all[r].cores);
    }
    host->cores = CPU_COUNT(&cores) > all[rank].launcher_cores ? CPU_COUNT(&cores) : all[rank].launcher_cores;
}

// ---- what they share -----------------------------------------------------------------------------------------

struct file {
    pid_t pid;
    int fd; // -1: there is none
};

static int meet(struct store_client *client, const struct clab_host *host, int round, const void *mine, size_t bytes,
                void *all)
{
    const struct clab_fence fence = {
        .ranks = host->locals,
        .n = host->local_ranks,
        .key = clab_mix(clab_mix(FENCE_KEY, (uint64_t)round), (uint64_t)host->locals[0]),
    };
    return store_client_exchange(client, fence, mine, bytes, all, nothing_else);
}

static void open_file(const struct file *file, struct clab_host *host)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/fd/%d", (int)file->pid, file->fd);
    host->fd = open(path, O_RDWR | O_CLOEXEC);
    if (host->fd >= 0 && clab_memory_map(host->fd, host->local_ranks, &host->control) != CLAB_OK) {
        close(host->fd);
        host->fd = -1;
    }
}

static void drop_file(struct clab_host *host)
{
    if (host->control)
        clab_memory_unmap(host->control);
    if (host->fd >= 0)
        close(host->fd);
    host->control = NULL;
    host->fd = -1;
}

// All ranks of the host have the file, or none.
static int share_file(struct store_client *client, struct clab_host *host)
{
    struct file mine = {getpid(), -1}, *files = calloc((size_t)host->local_ranks, sizeof *files);
    bool has, *have = calloc((size_t)host->local_ranks, sizeof *have);
    int err = files && have ? CLAB_OK : CLAB_ENOMEM;
    if (!err && host->local_rank == 0 &&
        clab_memory_make(host->local_ranks, host->cores, false, &host->fd, &host->control) == CLAB_OK)
        mine.fd = host->fd;
    if (!err)
        err = meet(client, host, 1, &mine, sizeof mine, files);
    if (!err && host->local_rank > 0 && files[0].fd >= 0)
        open_file(&files[0], host);
    has = host->fd >= 0;
    if (!err)
        err = meet(client, host, 2, &has, sizeof has, have);
    for (int i = 0; !err && i < host->local_ranks; i++)
        has &= have[i];
    if (!has)
        drop_file(host);
    free(files);
    free(have);
    return err;
}

static int find_flights(struct clab_host *host)
{
    host->flights =
        host->control ? clab_control_flights(host->control) : calloc((size_t)host->local_ranks, CLAB_FLIGHT_BYTES);
    return host->flights ? CLAB_OK : CLAB_ENOMEM;
}

// ---- all together --------------------------------------------------------------------------------------------

// All have joined when the first of these exchanges is over. An error that the store's other members say nothing about:
// siblings.c has logged which rank has ended.
static int look_for_siblings(void *of, bool *busy_p)
{
    (void)of, (void)busy_p;
    return siblings_check() ? CLAB_ESYS : CLAB_OK;
}

static int find(struct store_client *client, int rank, int nranks, struct hello *all, struct clab_host *host)
{
    const struct exchange_progress meanwhile = {.meanwhile = look_for_siblings};
    struct hello mine;
    introduce(&mine);
    CLAB_TRY(store_client_exchange(client, (struct clab_fence){.key = FENCE_KEY}, &mine, sizeof mine, all, meanwhile));
    siblings_end();
    count_hosts(all, rank, nranks, host);
    CLAB_TRY(share_file(client, host));
    return find_flights(host);
}

int clab_host_find(struct store_client *client, int rank, int nranks, struct clab_host *host_p)
{
    struct clab_host host = {.fd = -1, .locals = malloc((size_t)nranks * sizeof *host.locals)};
    struct hello *all = malloc((size_t)nranks * sizeof *all);
    const int err = host.locals && all ? find(client, rank, nranks, all, &host) : CLAB_ENOMEM;
    free(all);
    if (err != CLAB_OK) {
        clab_host_close(&host);
        return err;
    }
    *host_p = host;
    return CLAB_OK;
}

void clab_host_close(struct clab_host *host)
{
    if (!host->control)
        free(host->flights);
    drop_file(host);
    free(host->locals);
}
