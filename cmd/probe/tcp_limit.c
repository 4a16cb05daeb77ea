// SPDX-License-Identifier: MIT
// Plain TCP between two ranks (tcp_limit.h).

#include "cmd/probe/tcp_limit.h"

#include <arpa/inet.h>
#include <errno.h>
#include <math.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "core/base/clock.h"
#include "core/base/log.h"
#include "core/comm/comm.h"
#include "core/comm/job.h"

enum { ROUNDS = 5, TRIPS = 200, SMALL = 8, FIRST = 64 << 10, PATIENCE_MS = 10000, LOOK_MS = 20 };
static const size_t calls[] = {64 << 10, 256 << 10, 1 << 20};
static const double spin_seconds = 200e-6; // then the core is given away until the socket is ready
static const double long_seconds = 50e-3;  // an exchange that is long enough to tell the rate, or trips the way
static const double patience = 1;          // s after which no other round begins

// ---- the connection ------------------------------------------------------------------------------------------

static int listen_at(const char *address, struct sockaddr_in *bound_p)
{
    struct sockaddr_in name = {.sin_family = AF_INET};
    socklen_t length = sizeof name;
    const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd >= 0 && inet_pton(AF_INET, address, &name.sin_addr) == 1 &&
        bind(fd, (struct sockaddr *)&name, sizeof name) == 0 && listen(fd, 1) == 0 &&
        getsockname(fd, (struct sockaddr *)&name, &length) == 0) {
        *bound_p = name;
        return fd;
    }
    if (fd >= 0)
        close(fd);
    return -1;
}

// Whether `fd` becomes ready while rank `other` of the job is there: no wait is deaf to its end.
static bool wait_ready(struct clab_job *job, int other, int fd, int events)
{
    struct clab_bootstrap *boot = job->bootstrap;
    const double deadline = clab_now() + PATIENCE_MS * 1e-3;
    struct pollfd one = {fd, (short)events, 0};
    while (poll(&one, 1, LOOK_MS) == 0) {
        clab_job_listen(job);
        if (boot->presence(boot, other) >= CLAB_LEAVING || clab_now() > deadline)
            return false;
    }
    return true;
}

static int accept_soon(struct clab_job *job, int other, int listener)
{
    return wait_ready(job, other, listener, POLLIN) ? accept(listener, NULL, NULL) : -1;
}

static int connect_to(const struct sockaddr_in *name)
{
    const struct timeval patience = {.tv_sec = PATIENCE_MS / 1000};
    const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return -1;
    setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience); // also of connect
    if (connect(fd, (const struct sockaddr *)name, sizeof *name) == 0)
        return fd;
    close(fd);
    return -1;
}

// What rank 0 says: who is to come, and where it listens; port 0: nowhere.
struct invitation {
    int other;
    struct sockaddr_in name;
};

static int choose_other(const struct clab_bootstrap *boot)
{
    const bool shares = boot->crowded && boot->local_ranks > 1;
    return shares ? boot->locals[boot->local_ranks - 1] : 1;
}

// *fd_p is -1 in all ranks unless both are connected; *other_p: the rank at the other end, for those two
static int open_pair(struct clab_job *job, struct clab_comm *control, const char *address, int *fd_p, int *other_p)
{
    const int rank = clab_comm_rank(control), one = 1;
    struct invitation all = {.other = choose_other(job->bootstrap)};
    int listener = rank == 0 ? listen_at(address, &all.name) : -1, fd = -1, connected;
    int err = clab_broadcast(control, &all, &all, sizeof all, CLAB_U8, 0);
    if (!err && all.name.sin_port && rank == all.other)
        fd = connect_to(&all.name);
    if (!err && listener >= 0)
        fd = accept_soon(job, all.other, listener);
    if (listener >= 0)
        close(listener);
    connected = (rank != 0 && rank != all.other) || fd >= 0;
    if (!err)
        err = clab_allreduce(control, &connected, &connected, 1, CLAB_I32, CLAB_MIN);
    if ((err || !connected) && fd >= 0) {
        close(fd);
        fd = -1;
    }
    if (fd >= 0)
        setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    *fd_p = fd;
    *other_p = rank == 0 ? all.other : 0;
    return err;
}

// ---- both ways at once ---------------------------------------------------------------------------------------

struct flow {
    struct clab_job *job;
    int other; // its rank at the other end
    int fd;
    char *out, *in; // (bytes) each
    size_t bytes, call;
};

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

// A call's progress; false when the other has gone.
static bool step(ssize_t answer, size_t *done_p, bool *moved_p)
{
    if (answer > 0) {
        *done_p += (size_t)answer;
        *moved_p = true;
    }
    return answer > 0 || (answer < 0 && (errno == EAGAIN || errno == EINTR));
}

static bool wait_for(const struct flow *f, bool sends, bool receives, double since)
{
    return clab_now() - since < spin_seconds ||
           wait_ready(f->job, f->other, f->fd, (sends ? POLLOUT : 0) | (receives ? POLLIN : 0));
}

static bool exchange(const struct flow *f)
{
    size_t sent = 0, got = 0;
    double since = clab_now();
    while (sent < f->bytes || got < f->bytes) {
        bool moved = false;
        if (sent < f->bytes &&
            !step(send(f->fd, f->out + sent, least(f->bytes - sent, f->call), MSG_DONTWAIT | MSG_NOSIGNAL), &sent,
                  &moved))
            return false;
        if (got < f->bytes &&
            !step(recv(f->fd, f->in + got, least(f->bytes - got, f->call), MSG_DONTWAIT), &got, &moved))
            return false;
        if (moved)
            since = clab_now();
        else if (!wait_for(f, sent < f->bytes, got < f->bytes, since))
            return false;
    }
    return true;
}

// What rank 0 says to both, which begin together afterwards; 0 if the other has gone.
static uint64_t agree(struct flow f, bool first, uint64_t word)
{
    uint64_t heard;
    f.bytes = sizeof word;
    memcpy(f.out, &word, sizeof word);
    if (!exchange(&f))
        return 0;
    memcpy(&heard, f.in, sizeof heard);
    return first ? word : heard;
}

static bool receive_trip(const struct flow *f)
{
    size_t done = 0;
    bool moved = false;
    for (const double since = clab_now(); done < SMALL;)
        if (!step(recv(f->fd, f->in + done, SMALL - done, MSG_DONTWAIT), &done, &moved) ||
            (done < SMALL && !wait_for(f, false, true, since)))
            return false;
    return true;
}

// To and fro, until rank 0 says that it is enough: seconds a way; NAN: the other has gone.
static double time_trips(const struct flow *f, bool first)
{
    const double start = clab_now();
    int trips = 0;
    for (char more = 1; more; trips++) {
        if (!first && !receive_trip(f))
            return NAN;
        more = first ? trips + 1 < TRIPS && clab_now() - start < long_seconds : f->in[0];
        f->out[0] = more;
        if (send(f->fd, f->out, SMALL, MSG_NOSIGNAL) != SMALL || (first && !receive_trip(f)))
            return NAN;
    }
    return (clab_now() - start) / (2 * trips);
}

//   NAN: the other has gone
static double time_exchange(struct flow f, bool first)
{
    f.bytes = agree(f, first, f.bytes);
    const double start = clab_now();
    return f.bytes && exchange(&f) ? clab_now() - start : NAN;
}

// As many bytes as tell the rate: a slow wire would need minutes for many.
static size_t enough(struct flow f, bool first, size_t most)
{
    for (f.bytes = FIRST; f.bytes < most; f.bytes *= 2)
        if (!agree(f, first, time_exchange(f, first) < long_seconds))
            return f.bytes;
    return most;
}

// The best of some rounds; of few, where they take long.
static void measure(struct flow f, bool first, struct tcp_limit *limit)
{
    const double start = clab_now();
    double best = NAN;
    f.bytes = enough(f, first, f.bytes);
    for (int round = 0; agree(f, first, round < ROUNDS && (!round || clab_now() - start < patience)); round++) {
        limit->trip = fmin(limit->trip, time_trips(&f, first)); // fmin passes over NAN
        for (size_t c = 0; c < sizeof calls / sizeof *calls; c++) {
            f.call = calls[c];
            const double seconds = time_exchange(f, first);
            if (isnan(best) || seconds < best) {
                best = seconds;
                limit->call = f.call;
            }
        }
    }
    limit->bytes = f.bytes;
    limit->rate = (double)f.bytes / best;
}

// ---- all -----------------------------------------------------------------------------------------------------

static void read_congestion(int fd, struct tcp_limit *limit)
{
    socklen_t length = sizeof limit->congestion - 1;
    if (getsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, limit->congestion, &length) != 0)
        limit->congestion[0] = '\0';
}

int tcp_limit_measure(struct clab_job *job, struct clab_comm *control, const char *address, size_t bytes,
                      struct tcp_limit *limit_p)
{
    struct tcp_limit limit = {.trip = NAN, .rate = NAN};
    void *memory;
    int fd, other;
    if (clab_comm_ranks(control) < 2 || bytes < SMALL) {
        clab_error("the limit of TCP needs two ranks and %d bytes", SMALL);
        return CLAB_EINVAL;
    }
    CLAB_TRY(clab_alloc(job, 2 * bytes, &memory));
    memset(memory, 1, 2 * bytes); // pages of its own
    int err = open_pair(job, control, address, &fd, &other);
    if (fd >= 0) {
        measure((struct flow){job, other, fd, memory, (char *)memory + bytes, bytes, calls[0]},
                clab_comm_rank(control) == 0, &limit);
        read_congestion(fd, &limit);
        close(fd);
    }
    clab_free(job, memory);
    if (!err)
        err = clab_barrier(control); // the others wait here
    if (!err)
        *limit_p = limit;
    return err;
}
