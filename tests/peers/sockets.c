// SPDX-License-Identifier: MIT
// A plain program of sockets that sends the messages of given schedules: what a library over TCP is measured against
// where ranks share cores (tests/peers/sockets.sh). It does no more than that: no headers, no checks. What a schedule
// computes (calc N) is a sum of N bytes of floats.
//
//   sockets YIELDS FILE...
//
// - A FILE is a schedule in GOAL, of one lane, as `commlab show --format goal` writes it. The first says how many ranks
//   there are. A row per file: FILE,usec.
// - A rank is a process. Each two are connected by TCP over the loopback. Ranks are pinned in blocks: the first ones to
//   the first core, and so on.
// - A rank begins all messages of a stage, moves what can be moved, and waits by poll(2) when nothing can. Before that
//   it gives its core away by sched_yield, YIELDS times (0: a plain program), and looks again.
// - usec is the median of BATCHES batches of calls back to back, of the slowest rank.

#define _GNU_SOURCE

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { BATCHES = 5, RANKS = 64, OPS = 4096 };
static const double batch_seconds = 5e-3;

// ---- schedules -----------------------------------------------------------------------------------------------

struct op {
    enum { SEND, RECEIVE, END } what; // END: of a stage, with what is summed then
    int peer;
    size_t bytes, done;
};

struct schedule {
    int ranks, n; // of this rank's ops
    struct op ops[OPS];
};

static void die(const char *what, const char *of)
{
    fprintf(stderr, "sockets: %s: %s\n", of, what);
    _exit(2);
}

static void add(struct schedule *s, const char *line, const char *path)
{
    struct op op = {.what = END};
    if (s->n == OPS)
        die("more messages than fit", path);
    if (sscanf(line, "l%*d: send %zub to %d", &op.bytes, &op.peer) == 2)
        op.what = SEND;
    else if (sscanf(line, "l%*d: recv %zub from %d", &op.bytes, &op.peer) == 2)
        op.what = RECEIVE;
    else if (sscanf(line, "l%*d: calc %zu", &op.bytes) != 1)
        return;
    if (op.bytes == 0 && op.what != END)
        op.bytes = 1; // a message all the same
    s->ops[s->n++] = op;
}

// What `rank` does by the file; -1: only how many ranks there are.
static void read_schedule(const char *path, int rank, struct schedule *s)
{
    char line[256];
    int at = -1;
    FILE *file = fopen(path, "r");
    if (!file)
        die(strerror(errno), path);
    s->n = s->ranks = 0;
    while (fgets(line, sizeof line, file)) {
        sscanf(line, "num_ranks %d", &s->ranks);
        if (sscanf(line, "rank %d {", &at) != 1 && at == rank && rank >= 0)
            add(s, line, path);
    }
    fclose(file);
    if (s->ranks < 1 || s->ranks > RANKS)
        die("no schedule of 1 to 64 ranks in GOAL", path);
}

// ---- connections ---------------------------------------------------------------------------------------------

static int listeners[RANKS], ports[RANKS], peers[RANKS];

static void listen_for(int rank)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t bytes = sizeof address;
    listeners[rank] = socket(AF_INET, SOCK_STREAM, 0);
    if (bind(listeners[rank], (struct sockaddr *)&address, bytes) || listen(listeners[rank], RANKS) ||
        getsockname(listeners[rank], (struct sockaddr *)&address, &bytes))
        die(strerror(errno), "a socket");
    ports[rank] = address.sin_port;
}

static int call(int rank, int peer)
{
    struct sockaddr_in address = {
        .sin_family = AF_INET, .sin_port = (in_port_t)ports[peer], .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    const int fd = socket(AF_INET, SOCK_STREAM, 0);
    if (connect(fd, (struct sockaddr *)&address, sizeof address) || write(fd, &rank, sizeof rank) != sizeof rank)
        die(strerror(errno), "a connection");
    return fd;
}

static void connect_all(int rank, int ranks)
{
    const int on = 1;
    for (int p = 0; p < rank; p++)
        peers[p] = call(rank, p);
    for (int left = ranks - 1 - rank, peer; left > 0; left--) {
        const int fd = accept(listeners[rank], NULL, NULL);
        if (fd < 0 || read(fd, &peer, sizeof peer) != sizeof peer)
            die(strerror(errno), "a connection");
        peers[peer] = fd;
    }
    for (int p = 0; p < ranks; p++)
        if (p != rank && setsockopt(peers[p], IPPROTO_TCP, TCP_NODELAY, &on, sizeof on))
            die(strerror(errno), "TCP_NODELAY");
}

// ---- moving --------------------------------------------------------------------------------------------------

static char *from, *to; // of the largest message
static int yields;

// Whether an earlier message of the stage must go first: those of a connection keep their order.
static bool must_wait(const struct op *first, const struct op *op)
{
    for (const struct op *o = first; o < op; o++)
        if (o->what == op->what && o->peer == op->peer && o->done < o->bytes)
            return true;
    return false;
}

static bool move(struct op *op)
{
    const size_t left = op->bytes - op->done;
    const ssize_t n = op->what == SEND ? send(peers[op->peer], from + op->done, left, MSG_DONTWAIT | MSG_NOSIGNAL)
                                       : recv(peers[op->peer], to + op->done, left, MSG_DONTWAIT);
    if (n < 0 && errno != EAGAIN && errno != EINTR)
        die(strerror(errno), "a message");
    if (n == 0)
        die("closed", "a connection");
    if (n > 0)
        op->done += (size_t)n;
    return n > 0;
}

static void wait_for(const struct op *first, const struct op *end)
{
    struct pollfd fds[OPS];
    nfds_t n = 0;
    for (const struct op *o = first; o < end; o++)
        if (o->done < o->bytes && !must_wait(first, o))
            fds[n++] = (struct pollfd){.fd = peers[o->peer], .events = o->what == SEND ? POLLOUT : POLLIN};
    if (poll(fds, n, 10000) == 0)
        die("no message for 10 s", "a stage");
}

static void run_stage(struct op *first, const struct op *end)
{
    long left = end - first;
    for (struct op *o = first; o < end; o++)
        o->done = 0;
    for (int fruitless = 0; left > 0;) {
        bool moved = false;
        for (struct op *o = first; o < end; o++)
            if (o->done < o->bytes && !must_wait(first, o) && move(o)) {
                moved = true;
                left -= o->done == o->bytes;
            }
        if (moved)
            fruitless = 0;
        else if (fruitless++ < yields)
            sched_yield();
        else
            wait_for(first, end);
    }
}

static void sum(size_t bytes)
{
    const float *a = (const float *)(const void *)from;
    float *b = (float *)(void *)to;
    for (size_t i = 0; i < bytes / sizeof *a; i++)
        b[i] += a[i];
}

static void run_call(struct schedule *s)
{
    struct op *first = s->ops;
    for (struct op *o = s->ops; o < s->ops + s->n; o++)
        if (o->what == END) {
            run_stage(first, o);
            sum(o->bytes);
            first = o + 1;
        }
    run_stage(first, s->ops + s->n);
}

// ---- timing --------------------------------------------------------------------------------------------------

// Shared by all ranks.
static struct shared {
    pthread_barrier_t barrier;
    double seconds[RANKS];
} * shared;

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static double time_batch(struct schedule *s, int rank, int calls)
{
    double slowest = 0;
    pthread_barrier_wait(&shared->barrier);
    const double begin = now();
    for (int i = 0; i < calls; i++)
        run_call(s);
    shared->seconds[rank] = (now() - begin) / calls;
    pthread_barrier_wait(&shared->barrier);
    for (int r = 0; r < s->ranks; r++)
        slowest = shared->seconds[r] > slowest ? shared->seconds[r] : slowest;
    pthread_barrier_wait(&shared->barrier);
    return slowest;
}

static int by_value(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double time_calls(struct schedule *s, int rank)
{
    double batches[BATCHES];
    int calls = 4;
    while (calls < 1 << 20 && time_batch(s, rank, calls) * calls < batch_seconds)
        calls *= 2;
    for (int i = 0; i < BATCHES; i++)
        batches[i] = time_batch(s, rank, calls);
    qsort(batches, BATCHES, sizeof *batches, by_value);
    return batches[BATCHES / 2];
}

// ---- ranks ---------------------------------------------------------------------------------------------------

static void pin(int rank, int ranks)
{
    const int cores = (int)sysconf(_SC_NPROCESSORS_ONLN);
    cpu_set_t set;
    if (ranks % cores != 0 && ranks > cores)
        return; // as our launcher
    CPU_ZERO(&set);
    CPU_SET(ranks > cores ? rank / (ranks / cores) : rank, &set);
    sched_setaffinity(0, sizeof set, &set);
}

static void reserve(const struct schedule *s)
{
    size_t most = 1;
    for (int i = 0; i < s->n; i++)
        most = s->ops[i].bytes > most ? s->ops[i].bytes : most;
    free(from);
    free(to);
    from = calloc(1, most);
    to = malloc(most);
    if (!from || !to)
        die("no memory", "messages");
    memset(to, 0, most);
}

static void run_rank(int rank, int ranks, char **files)
{
    static struct schedule s;
    pin(rank, ranks);
    connect_all(rank, ranks);
    for (; *files; files++) {
        read_schedule(*files, rank, &s);
        reserve(&s);
        const double seconds = time_calls(&s, rank);
        if (rank == 0)
            printf("%s,%.4f\n", *files, 1e6 * seconds);
    }
    fflush(stdout);
    _exit(0);
}

static void share(int ranks)
{
    pthread_barrierattr_t attributes;
    shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (shared == MAP_FAILED)
        die(strerror(errno), "memory");
    pthread_barrierattr_init(&attributes);
    pthread_barrierattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED);
    pthread_barrier_init(&shared->barrier, &attributes, (unsigned)ranks);
}

int main(int argc, char **argv)
{
    static struct schedule s;
    int status, failed = 0;
    if (argc < 3) {
        fprintf(stderr, "usage: sockets YIELDS FILE...\n");
        return 2;
    }
    yields = atoi(argv[1]);
    read_schedule(argv[2], -1, &s);
    share(s.ranks);
    for (int r = 0; r < s.ranks; r++)
        listen_for(r);
    for (int r = 0; r < s.ranks; r++)
        if (fork() == 0)
            run_rank(r, s.ranks, argv + 2);
    for (int r = 0; r < s.ranks; r++)
        failed |= wait(&status) < 0 || status != 0; // one that fails leaves the others at a closed connection
    return failed ? 1 : 0;
}
