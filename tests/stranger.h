// SPDX-License-Identifier: MIT
// A process that is no member of a job, and sends to its ranks: what test_ofi_stranger.c is about.
//
// - It is the strongest that the kit promises to withstand: the ranks tell it their addresses and how their tags begin.
//   It knows all of the protocol, and all but the key that members put into each message.
// - stranger_floods speaks by libfabric, as members do; the others by a socket of their own, in the words of
//   libfabric's provider `net` (1.16, 1.17), or in none.
// - Each is a process that is ended by SIGKILL, wherever it stands then.
#pragma once

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>

#include <rdma/fi_cm.h>

#include "comm/comm.h"
#include "job_fixture.h"
#include "ofi/wire.h"

enum { MAX_TARGETS = 8, STRANGE_BYTES = 64 << 10 };

// A rank's endpoint, as it tells it itself.
struct target {
    struct sockaddr_in address;
    uint64_t mark;
    _Atomic int pid;
    _Atomic int told;     // the endpoint is open, and the above is valid
    _Atomic long reached; // messages that libfabric took for it, or connections made
    _Atomic long closed;  // the others that were tried
};

// Shared by the job, the stranger and the test.
struct trial {
    struct target targets[MAX_TARGETS];
    int ntargets;
    long reached, closed;      // so often a rank waits for
    _Atomic int come, awaited; // connections while endpoints open; so many the last rank waits for
    long grown[MAX_TARGETS];   // bytes of memory, by rank
};
static struct trial *trial;

static inline void tell_target(int rank, const struct clab_endpoint *e)
{
    struct target *target = &trial->targets[rank];
    size_t bytes = sizeof target->address;
    assert_int_equal(fi_getname(&e->ep->fid, &target->address, &bytes), 0);
    target->mark = e->key.mark;
    target->told = 1;
}

// ---- by libfabric --------------------------------------------------------------------------------------------

struct stranger {
    struct fid_ep *ep;
    struct fid_cq *cq;
    struct fid_av *av;
    fi_addr_t to[MAX_TARGETS];
    unsigned turn;
    char memory[STRANGE_BYTES];
};

static inline void stranger_opens(struct stranger *s, const char *provider)
{
    const struct ofi_library *library;
    struct fi_info *info;
    struct fid_fabric *fabric;
    struct fid_domain *domain;
    assert_int_equal(ofi_library_load(&library), CLAB_OK);
    struct fi_info *hints = library->dupinfo(NULL);
    hints->caps = FI_TAGGED;
    hints->ep_attr->type = FI_EP_RDM;
    hints->domain_attr->threading = FI_THREAD_DOMAIN;
    hints->domain_attr->data_progress = hints->domain_attr->control_progress = FI_PROGRESS_MANUAL;
    hints->fabric_attr->prov_name = strdup(provider);
    int err = library->getinfo(FI_VERSION(1, 11), "127.0.0.1", NULL, FI_SOURCE, hints, &info);
    err = err ? err : library->fabric(info->fabric_attr, &fabric, NULL);
    err = err ? err : fi_domain(fabric, info, &domain, NULL);
    err = err ? err : fi_cq_open(domain, &(struct fi_cq_attr){.format = FI_CQ_FORMAT_TAGGED}, &s->cq, NULL);
    err = err ? err : fi_av_open(domain, &(struct fi_av_attr){.type = FI_AV_TABLE}, &s->av, NULL);
    err = err ? err : fi_endpoint(domain, info, &s->ep, NULL);
    err = err ? err : fi_ep_bind(s->ep, &s->cq->fid, FI_TRANSMIT | FI_RECV);
    err = err ? err : fi_ep_bind(s->ep, &s->av->fid, 0);
    err = err ? err : fi_enable(s->ep);
    if (err) {
        fprintf(stderr, "the stranger has no endpoint: %s\n", library->strerror(-err));
        _exit(1);
    }
    memset(s->memory, 0x5a, sizeof s->memory);
}

// A tag, and what goes beside it, as the `turn`-th message of a member might have.
static inline uint64_t strange_tag(const struct target *target, unsigned turn, enum ofi_word word)
{
    const uint64_t source = turn % (unsigned)trial->ntargets, lane = turn / 8 % 2;
    return target->mark | (uint64_t)word << 39 | source << 29 | lane << 24 | (uint64_t)(turn / 4 % 64) << 12 |
           turn / 16 % OFI_NUMBERS;
}

// Heads and readies that fit what the job does, credits, farewells, segments, and a message that fits nowhere.
static inline ssize_t stranger_sends(struct stranger *s, int rank)
{
    static const size_t sizes[] = {64, 0, 4096, 64, OFI_EAGER_BYTES, 120, 64, 8};
    const unsigned turn = s->turn++;
    const enum ofi_word word = turn % 16 < 10 ? OFI_HEAD : (enum ofi_word)(turn % 5);
    const size_t bytes = turn % 997 == 0 ? STRANGE_BYTES : sizes[turn % 8];
    const uint64_t tag = strange_tag(&trial->targets[rank], turn, word), about = ofi_about(CLAB_U8, bytes);
    return fi_tsenddata(s->ep, s->memory, bytes, NULL, about, s->to[rank], tag, NULL);
}

static inline void stranger_moves_on(struct stranger *s)
{
    struct fi_cq_tagged_entry entries[16];
    struct fi_cq_err_entry failed = {0};
    if (fi_cq_read(s->cq, entries, 16) == -FI_EAVAIL)
        (void)fi_cq_readerr(s->cq, &failed, 0);
}

//   most: messages to each rank
static inline void stranger_floods(const char *provider, long most)
{
    static struct stranger s;
    bool known[MAX_TARGETS] = {false};
    stranger_opens(&s, provider);
    for (;;) {
        for (int r = 0; r < trial->ntargets; r++) {
            struct target *target = &trial->targets[r];
            if (!known[r] && target->told)
                known[r] = fi_av_insert(s.av, &target->address, 1, &s.to[r], 0, NULL) == 1;
            for (int i = 0; known[r] && i < 16 && target->reached < most; i++)
                (*(stranger_sends(&s, r) == 0 ? &target->reached : &target->closed))++;
        }
        stranger_moves_on(&s);
    }
}

// ---- by a socket ---------------------------------------------------------------------------------------------

// A connection that has been made within `ms`; -1: it has not.
static inline int strange_connection(const struct target *target, int ms)
{
    const int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
    struct pollfd ready = {.fd = fd, .events = POLLOUT};
    int err = 0;
    socklen_t bytes = sizeof err;
    connect(fd, (const struct sockaddr *)&target->address, sizeof target->address);
    if (poll(&ready, 1, ms) == 1 && getsockopt(fd, SOL_SOCKET, SO_ERROR, &err, &bytes) == 0 && !err) {
        fcntl(fd, F_SETFL, 0);
        return fd;
    }
    close(fd);
    return -1;
}

static inline void write_all(int fd, const void *data, size_t bytes)
{
    if (send(fd, data, bytes, MSG_NOSIGNAL) < 0)
        return; // it has been closed: that is the rank's good right
}

// `net`'s request for a connection, from a process that claims to listen on `port`.
static inline void ask_to_be_let_in(int fd, uint16_t port)
{
    struct {
        uint8_t version, type;
        uint16_t bytes;
        uint32_t number;
        uint64_t ids[2], order;
        uint8_t cm_version, none;
        uint16_t port;
        uint32_t pid;
    } ask = {.version = 3, .bytes = htons(8), .order = 1, .cm_version = 1, .port = htons(port), .pid = htonl(1)};
    _Static_assert(sizeof ask == 40, "the words of provider net");
    write_all(fd, &ask, sizeof ask);
}

// Whether that is granted.
static inline bool is_let_in(int fd, uint16_t port)
{
    char answer[40];
    struct pollfd ready = {.fd = fd, .events = POLLIN};
    ask_to_be_let_in(fd, port);
    return poll(&ready, 1, 1000) == 1 && recv(fd, answer, sizeof answer, 0) == (ssize_t)sizeof answer && answer[1] == 1;
}

// The header of a message of `net`, tagged and with 8 bytes beside it.
static inline void write_header(int fd, uint64_t tag, uint64_t beside, uint64_t bytes)
{
    struct {
        uint8_t version, op;
        uint16_t flags;
        uint8_t op_data, iovs, header, id;
        uint64_t bytes, beside, tag;
    } head = {.version = 3, .op = 1, .flags = 1, .header = 32, .bytes = 32 + bytes, .beside = beside, .tag = tag};
    write_all(fd, &head, sizeof head);
}

// Begin a head of 32 KiB, and leave in its midst, again and again.
static inline void stranger_breaks_off(void)
{
    static const char half[1000];
    for (uint16_t port = 10000;; port++)
        for (int r = 0; r < trial->ntargets; r++) {
            struct target *target = &trial->targets[r];
            const int fd = target->told ? strange_connection(target, 100) : -1;
            if (fd >= 0 && is_let_in(fd, port)) {
                write_header(fd, target->mark, ofi_about(CLAB_U8, OFI_EAGER_BYTES), OFI_EAGER_BYTES);
                write_all(fd, half, sizeof half);
                target->reached++;
            }
            if (fd >= 0)
                close(fd);
        }
}

// Whether a process has the socket of /proc/net/tcp's inode.
static inline bool has_socket(pid_t pid, unsigned long inode)
{
    char path[300], link[64] = "", wanted[64];
    bool has = false;
    snprintf(path, sizeof path, "/proc/%d/fd", (int)pid);
    snprintf(wanted, sizeof wanted, "socket:[%lu]", inode);
    DIR *folder = opendir(path);
    for (struct dirent *entry; !has && folder && (entry = readdir(folder));) {
        snprintf(path, sizeof path, "/proc/%d/fd/%s", (int)pid, entry->d_name);
        const ssize_t bytes = readlink(path, link, sizeof link - 1);
        has = bytes > 0 && strncmp(link, wanted, (size_t)bytes) == 0;
    }
    if (folder)
        closedir(folder);
    return has;
}

// Where on 127.0.0.1 a process listens, as any user can see; false: nowhere.
static inline bool finds_listener(pid_t pid, struct sockaddr_in *address_p)
{
    unsigned ip, port, state;
    unsigned long inode;
    char line[512];
    bool found = false;
    FILE *file = fopen("/proc/net/tcp", "r");
    while (!found && file && fgets(line, sizeof line, file))
        found =
            sscanf(line, "%*d: %x:%x %*x:%*x %x %*x:%*x %*x:%*x %*x %*u %*d %lu", &ip, &port, &state, &inode) == 4 &&
            state == 0x0a && ip == htonl(INADDR_LOOPBACK) && has_socket(pid, inode);
    if (file)
        fclose(file);
    *address_p = (struct sockaddr_in){.sin_family = AF_INET, .sin_port = htons((uint16_t)port), .sin_addr.s_addr = ip};
    return found;
}

// An acknowledgement of nothing, for which libfabric (1.17 to 2.x) looks at address 0.
static const unsigned char ack[16] = {3, 0, 0, 0, 2, 0, 16, 0, 16};

static inline void stranger_crashes_libfabric(void)
{
    for (uint16_t port = 10000;; port++)
        for (int r = 0; r < trial->ntargets; r++) {
            struct target *target = &trial->targets[r];
            const int fd = target->told ? strange_connection(target, 50) : -1;
            if (fd >= 0 && is_let_in(fd, port))
                write_all(fd, ack, sizeof ack);
            if (target->told && fd >= 0)
                target->reached++;
            else if (target->told)
                target->closed++;
            if (fd >= 0)
                close(fd);
        }
}

// Connect while the endpoint opens, which is when libfabric lets anybody in; and speak when it is open.
static inline void stranger_comes_early(void)
{
    enum { FIRST = 20000 };
    int fds[MAX_TARGETS] = {0};
    for (;; usleep(1000))
        for (int r = 0; r < trial->ntargets; r++) {
            struct target *target = &trial->targets[r];
            struct target found = {0};
            if (fds[r] <= 0 && target->pid && !target->told && finds_listener(target->pid, &found.address) &&
                (fds[r] = strange_connection(&found, 100)) > 0) {
                ask_to_be_let_in(fds[r], (uint16_t)(FIRST + r));
                trial->come += r + 1 < trial->ntargets; // the last rank waits for those of the others
            }
            if (fds[r] > 0 && target->told) {
                write_all(fds[r], ack, sizeof ack);
                target->reached++;
            }
            target->closed += target->told; // it has had its say, or came too late
        }
}
