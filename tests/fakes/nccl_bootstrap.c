// SPDX-License-Identifier: MIT
// The bootstrap of a communicator of the fake libnccl: rank 0 listens at a Unix socket of the abstract namespace, named
// by the unique id. Each other rank sends its description and the file of its device memory. When all have come, rank 0
// sends each the descriptions and files of all, and the file of the segment.
//
// - A rank that comes before rank 0 tries again every millisecond.
// - One whose connection breaks before all have come fails all (ncclRemoteError).

#include "tests/fakes/nccl_inside.h"

#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "tests/fakes/fake.h"

struct hello {
    int rank, nranks, pid, device, bus;
    uint64_t host;
};

struct answer {
    int result; // ncclResult_t; the rest only with ncclSuccess
    struct hello of[MAX_RANKS];
};

// ---- messages with files -------------------------------------------------------------------------------------

#define FILES_ROOM CMSG_SPACE((MAX_RANKS + 1) * sizeof(int))

static bool tell(int fd, const void *bytes, size_t size, const int files[], int n)
{
    char room[FILES_ROOM] = {0};
    struct iovec part = {(void *)bytes, size};
    struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};
    if (n) {
        message.msg_control = room;
        message.msg_controllen = CMSG_SPACE((size_t)n * sizeof(int));
        struct cmsghdr *head = CMSG_FIRSTHDR(&message);
        *head = (struct cmsghdr){CMSG_LEN((size_t)n * sizeof(int)), SOL_SOCKET, SCM_RIGHTS};
        memcpy(CMSG_DATA(head), files, (size_t)n * sizeof(int));
    }
    return sendmsg(fd, &message, MSG_NOSIGNAL) == (ssize_t)size;
}

// How many files came with the message; -1: it is not one of `size` bytes.
static int hear(int fd, void *bytes, size_t size, int files[MAX_RANKS + 1])
{
    char room[FILES_ROOM];
    struct iovec part = {bytes, size};
    struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1, .msg_control = room, .msg_controllen = sizeof room};
    const ssize_t came = recvmsg(fd, &message, MSG_CMSG_CLOEXEC);
    int n = 0;
    struct cmsghdr *head = came > 0 ? CMSG_FIRSTHDR(&message) : 0;
    if (head && head->cmsg_type == SCM_RIGHTS) {
        n = (int)((head->cmsg_len - CMSG_LEN(0)) / sizeof(int));
        memcpy(files, CMSG_DATA(head), (size_t)n * sizeof(int));
    }
    return came == (ssize_t)size ? n : -1;
}

// A child is met for as long as its parent has not given up.
static bool gives_up(ncclComm_t comm)
{
    return atomic_load(&comm->aborting) || (comm->parent && atomic_load(&comm->parent->aborting));
}

// Until there is something to read, or the communicator aborts.
static bool await(ncclComm_t comm, struct pollfd fds[], int n)
{
    while (!gives_up(comm))
        if (poll(fds, (nfds_t)n, 100) > 0)
            return true;
    return false;
}

// ---- who is who ----------------------------------------------------------------------------------------------

static uint64_t host_id(void)
{
    const char *text = getenv("NCCL_HOSTID");
    uint64_t hash = 14695981039346656037u; // FNV-1a
    for (; text && *text; text++)
        hash = (hash ^ (unsigned char)*text) * 1099511628211u;
    return hash;
}

static struct hello myself(ncclComm_t comm)
{
    struct cudaDeviceProp device = {0};
    cudaGetDeviceProperties(&device, comm->device);
    return (struct hello){comm->rank, comm->nranks, (int)getpid(), comm->device, device.pciBusID, host_id()};
}

static int my_memory(void)
{
    size_t bytes;
    return fcntl(clab_fake_file(&bytes), F_DUPFD_CLOEXEC, 0);
}

static size_t segment_bytes(int nranks)
{
    return sizeof(struct segment) + (size_t)nranks * (size_t)nranks * sizeof(struct mailbox);
}

// Take what the answer says; files: the segment, and the memory of each rank, which are taken.
static ncclResult_t join(ncclComm_t comm, const struct answer *answer, const int files[])
{
    comm->segment_bytes = segment_bytes(comm->nranks);
    void *segment = mmap(0, comm->segment_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, files[0], 0);
    close(files[0]);
    bool has_all = segment != MAP_FAILED;
    pthread_mutex_lock(&comm->lock); // an abort may look for it
    comm->segment = has_all ? segment : 0;
    pthread_mutex_unlock(&comm->lock);
    for (int i = 0; i < comm->nranks; i++) {
        const struct hello *of = &answer->of[i];
        const int alive = (int)syscall(SYS_pidfd_open, of->pid, 0);
        comm->members[i] = (struct member){.pid = of->pid,
                                           .alive = alive,
                                           .device = of->device,
                                           .bus = of->bus,
                                           .host = of->host,
                                           .memory = memory_open(files[1 + i])};
        has_all &= comm->members[i].memory != 0;
    }
    return has_all ? ncclSuccess : warn(ncclSystemError, "rank %d: no room to map the memory of all", comm->rank);
}

// Two ranks on one device, which NCCL refuses unless it believes them on two hosts, or is told to allow it.
static ncclResult_t check_devices(ncclComm_t comm)
{
    const char *allows = getenv("NCCL_MULTI_RANK_GPU_ENABLE");
    const struct member *me = &comm->members[comm->rank];
    for (int i = 0; i < comm->nranks && !(allows && !strcmp(allows, "1")); i++) {
        const struct member *other = &comm->members[i];
        if (i != comm->rank && other->bus == me->bus && other->host == me->host)
            return warn(ncclInvalidUsage, "Duplicate GPU detected : rank %d and rank %d both on CUDA device %x",
                        comm->rank, i, (unsigned)me->bus);
    }
    return ncclSuccess;
}

// ---- rank 0 --------------------------------------------------------------------------------------------------

static socklen_t name(ncclComm_t comm, struct sockaddr_un *address_p)
{
    *address_p = (struct sockaddr_un){.sun_family = AF_UNIX};
    return (
        socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 +
                   (size_t)snprintf(address_p->sun_path + 1, sizeof address_p->sun_path - 1, "fake-nccl-%s", comm->id));
}

struct table {
    struct answer answer;
    struct pollfd fds[1 + MAX_RANKS]; // who listens, and connections in the order in which they came
    int n, came;                      // of fds; ranks that have said who they are
    int files[1 + MAX_RANKS];         // -1: not there
};

// The hello of connection i.
static ncclResult_t take_hello(ncclComm_t comm, struct table *table, int i)
{
    struct hello hello;
    int files[MAX_RANKS + 1];
    const int n = hear(table->fds[i].fd, &hello, sizeof hello, files);
    if (n < 0)
        return warn(ncclRemoteError, "rank 0: a rank has gone before all had come");
    if (n != 1 || hello.nranks != comm->nranks || hello.rank < 1 || hello.rank >= comm->nranks ||
        table->files[1 + hello.rank] >= 0)
        return warn(ncclInvalidArgument, "rank 0: rank %d of %d has come to a communicator of %d ranks", hello.rank,
                    hello.nranks, comm->nranks);
    table->answer.of[hello.rank] = hello;
    table->files[1 + hello.rank] = files[0];
    table->came++;
    return ncclSuccess;
}

static ncclResult_t gather(ncclComm_t comm, struct table *table)
{
    while (table->came < comm->nranks) {
        if (!await(comm, table->fds, table->n))
            return ncclRemoteError;
        for (int i = 1, n = table->n; i < n; i++)
            if (table->fds[i].revents) {
                const ncclResult_t result = take_hello(comm, table, i);
                if (result)
                    return result;
            }
        if (table->fds[0].revents && table->n <= MAX_RANKS) {
            const int fd = accept4(table->fds[0].fd, 0, 0, SOCK_CLOEXEC);
            if (fd >= 0)
                table->fds[table->n++] = (struct pollfd){.fd = fd, .events = POLLIN};
        }
    }
    return ncclSuccess;
}

static ncclResult_t listen_at(ncclComm_t comm, struct table *table)
{
    struct sockaddr_un address;
    const socklen_t size = name(comm, &address);
    const int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    table->fds[table->n++] = (struct pollfd){.fd = fd, .events = POLLIN};
    if (fd < 0 || bind(fd, (struct sockaddr *)&address, size) || listen(fd, MAX_RANKS))
        return warn(ncclSystemError, "rank 0 can not listen: %m");
    table->files[0] = memfd_create("fake-nccl", MFD_CLOEXEC);
    if (table->files[0] < 0 || ftruncate(table->files[0], (off_t)segment_bytes(comm->nranks)))
        return warn(ncclSystemError, "rank 0 can make no segment: %m");
    return ncclSuccess;
}

static void close_table(struct table *table)
{
    for (int i = 0; i < table->n; i++)
        if (table->fds[i].fd >= 0)
            close(table->fds[i].fd);
    for (int i = 0; i <= MAX_RANKS; i++)
        if (table->files[i] >= 0)
            close(table->files[i]);
    free(table);
}

static ncclResult_t bootstrap_as_root(ncclComm_t comm)
{
    struct table *table = calloc(1, sizeof *table);
    if (!table)
        return ncclSystemError;
    memset(table->files, -1, sizeof table->files);
    ncclResult_t result = listen_at(comm, table);
    table->answer.of[0] = myself(comm);
    table->files[1] = my_memory();
    table->came = 1;
    result = result ? result : gather(comm, table);
    table->answer.result = (int)result;
    for (int i = 1; i < table->n; i++)
        tell(table->fds[i].fd, &table->answer, sizeof table->answer, table->files, result ? 0 : 1 + comm->nranks);
    if (!result) {
        result = join(comm, &table->answer, table->files);
        memset(table->files, -1, sizeof table->files);
    }
    close_table(table);
    return result;
}

// ---- the others ----------------------------------------------------------------------------------------------

static int connect_to_root(ncclComm_t comm)
{
    struct sockaddr_un address;
    const socklen_t size = name(comm, &address);
    const int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    while (fd >= 0 && !gives_up(comm)) {
        if (connect(fd, (struct sockaddr *)&address, size) == 0)
            return fd;
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, 0);
    }
    if (fd >= 0)
        close(fd);
    return -1;
}

static ncclResult_t take_answer(ncclComm_t comm, int fd)
{
    struct answer answer;
    int files[MAX_RANKS + 1], n = -1;
    struct pollfd one = {.fd = fd, .events = POLLIN};
    if (await(comm, &one, 1))
        n = hear(fd, &answer, sizeof answer, files);
    if (n < 0 || answer.result)
        return warn(n < 0 ? ncclRemoteError : (ncclResult_t)answer.result,
                    "rank %d: the communicator did not come about", comm->rank);
    return n == 1 + comm->nranks ? join(comm, &answer, files) : ncclInternalError;
}

static ncclResult_t bootstrap_at_root(ncclComm_t comm)
{
    const int fd = connect_to_root(comm);
    if (fd < 0)
        return warn(ncclRemoteError, "rank %d has not found rank 0", comm->rank);
    const struct hello hello = myself(comm);
    const int memory = my_memory();
    const bool told = memory >= 0 && tell(fd, &hello, sizeof hello, &memory, 1);
    const ncclResult_t result =
        told ? take_answer(comm, fd) : warn(ncclRemoteError, "rank %d: rank 0 has gone", comm->rank);
    close(memory);
    close(fd);
    return result;
}

ncclResult_t comm_bootstrap(ncclComm_t comm)
{
    const ncclResult_t result = comm->rank == 0 ? bootstrap_as_root(comm) : bootstrap_at_root(comm);
    if (!result)
        profile_begin(comm);
    return result ? result : check_devices(comm);
}
