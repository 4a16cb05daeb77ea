// SPDX-License-Identifier: MIT
// A rank of a job with a fault: random collectives, the same at all ranks, until one fails.

#include "tests/faults/faults.h"

#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/clock.h"
#include "core/clab.h"

enum { MOST = 1 << 17, NOT_OPENED = 9 }; // MOST: elements of any buffer

// The next of a sequence that all ranks draw alike.  source: Vigna 2015 (SplitMix64)
static uint64_t draw(uint64_t *state)
{
    uint64_t z = (*state += UINT64_C(0x9e3779b97f4a7c15));
    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return z ^ z >> 31;
}

struct turn {
    enum clab_collective collective;
    size_t count;
    enum clab_op op;
    int root;
};

static struct turn draw_turn(uint64_t *state, int nranks)
{
    static const enum clab_collective collectives[] = {CLAB_ALLREDUCE, CLAB_BROADCAST,      CLAB_REDUCE,
                                                       CLAB_ALLGATHER, CLAB_REDUCE_SCATTER, CLAB_ALLTOALL,
                                                       CLAB_GATHER,    CLAB_SCATTER,        CLAB_BARRIER};
    struct turn t = {.collective = collectives[draw(state) % (sizeof collectives / sizeof *collectives)]};
    t.count = (size_t)1 << draw(state) % 17;
    t.count = (t.count + draw(state) % t.count) / (size_t)nranks;
    t.op = draw(state) % 2 ? CLAB_SUM : CLAB_MAX;
    t.root = (int)(draw(state) % (uint64_t)nranks);
    return t;
}

static int call(struct clab_comm *comm, const struct turn *t, const int32_t *in, int32_t *out)
{
    switch (t->collective) {
    case CLAB_ALLREDUCE: return clab_allreduce(comm, in, out, t->count, CLAB_I32, t->op);
    case CLAB_BROADCAST: return clab_broadcast(comm, in, out, t->count, CLAB_I32, t->root);
    case CLAB_REDUCE: return clab_reduce(comm, in, out, t->count, CLAB_I32, t->op, t->root);
    case CLAB_ALLGATHER: return clab_allgather(comm, in, out, t->count, CLAB_I32);
    case CLAB_REDUCE_SCATTER: return clab_reduce_scatter(comm, in, out, t->count, CLAB_I32, t->op);
    case CLAB_ALLTOALL: return clab_alltoall(comm, in, out, t->count, CLAB_I32);
    case CLAB_GATHER: return clab_gather(comm, in, out, t->count, CLAB_I32, t->root);
    case CLAB_SCATTER: return clab_scatter(comm, in, out, t->count, CLAB_I32, t->root);
    default: return clab_barrier(comm);
    }
}

// An allreduce that returns CLAB_OK is right, whatever happens to others.
static int check(const struct turn *t, int nranks, const int32_t *out)
{
    if (t->collective != CLAB_ALLREDUCE)
        return CLAB_OK;
    const int32_t expected = t->op == CLAB_SUM ? nranks * (nranks + 1) / 2 : nranks;
    for (size_t i = 0; i < t->count; i++)
        if (out[i] != expected)
            return CLAB_EWRONG;
    return CLAB_OK;
}

// ---- faults from inside --------------------------------------------------------------------------------------

static void close_sockets(void)
{
    DIR *dir = opendir("/proc/self/fd");
    int fds[256], n = 0;
    for (const struct dirent *entry; dir && (entry = readdir(dir)) && n < 256;) {
        struct stat status;
        const int fd = atoi(entry->d_name);
        if (fd > STDERR_FILENO && fstat(fd, &status) == 0 && S_ISSOCK(status.st_mode))
            fds[n++] = fd;
    }
    closedir(dir);
    for (int i = 0; i < n; i++)
        close(fds[i]);
}

static void exhaust_memory(struct clab_job *job)
{
    const struct rlimit none = {.rlim_cur = 1 << 20, .rlim_max = RLIM_INFINITY};
    void *memory;
    setrlimit(RLIMIT_AS, &none);
    while (clab_alloc(job, (size_t)1 << 40, &memory) == CLAB_OK)
        ;
    _exit(1);
}

// Whether this is the call at which the victim fails: the first from its iteration on that the fault has a say in.
static bool is_time(const struct fault *fault, const struct turn *t, int i)
{
    if (i < fault->iteration)
        return false;
    switch (fault->kind) {
    case FAULT_COUNT: return t->collective != CLAB_BARRIER;
    case FAULT_OP: return clab_collective_reduces(t->collective) && t->count > 0;
    default: return i == fault->iteration;
    }
}

static void inject(struct scene *scene, struct clab_job *job, struct clab_comm *comm, struct turn *t)
{
    scene->injected = clab_now();
    switch (scene->fault.kind) {
    case FAULT_EXIT: _exit(0);
    case FAULT_FAIL: _exit(3);
    case FAULT_LEAVE:
        clab_comm_destroy(comm);
        clab_job_close(job);
        _exit(0);
    case FAULT_CLOSE: close_sockets(); break;
    case FAULT_NOMEM: exhaust_memory(job); break;
    case FAULT_COUNT: t->count += 1; break;
    case FAULT_OP: t->op = CLAB_PROD; break;
    case FAULT_ANOTHER: t->collective = t->collective == CLAB_ALLREDUCE ? CLAB_ALLTOALL : CLAB_ALLREDUCE; break;
    default: break;
    }
}

// ---- the rank ------------------------------------------------------------------------------------------------

// The survivors of a dead rank go on without it.
static int go_on(struct clab_comm *failed, int nranks)
{
    struct clab_comm *rest;
    int32_t one = 1, count = 0;
    CLAB_TRY(clab_comm_shrink(failed, &rest));
    int err = clab_allreduce(rest, &one, &count, 1, CLAB_I32, CLAB_SUM);
    if (!err && (count != nranks - 1 || clab_comm_ranks(rest) != nranks - 1))
        err = CLAB_EWRONG;
    clab_comm_destroy(rest);
    return err;
}

bool fault_silences(enum fault_kind kind)
{
    return kind == FAULT_KILL || kind == FAULT_CRASH || kind == FAULT_STOP || kind == FAULT_EXIT ||
           kind == FAULT_FAIL || kind == FAULT_LEAVE;
}

static int run(struct scene *scene, struct clab_job *job, struct clab_comm *comm, int rank)
{
    const struct fault *fault = &scene->fault;
    static int32_t in[MOST + MAX_RANKS], out[MOST + MAX_RANKS];
    uint64_t state = fault->seed;
    int err = CLAB_OK;
    for (int i = 0; i < MOST; i++)
        in[i] = rank + 1;
    bool is_struck = false;
    for (int i = 0; !err; i++) {
        struct turn t = draw_turn(&state, fault->nranks);
        if (rank == fault->victim && !is_struck && is_time(fault, &t, i)) {
            is_struck = true;
            inject(scene, job, comm, &t);
        }
        memset(out, 0xA5, sizeof out / 8);
        if (!(err = call(comm, &t, in, out)) && !is_struck)
            err = check(&t, fault->nranks, out);
        scene->iterations[rank] = i + 1;
    }
    return err;
}

void fault_rank(struct scene *scene, int rank)
{
    struct clab_job *job;
    struct clab_comm *comm;
    char *none[] = {NULL};
    int argc = 0;
    if (clab_job_open(&argc, none, &job) || clab_comm_create(job, &comm))
        _exit(NOT_OPENED);
    scene->pids[rank] = getpid();
    scene->ready++;
    const int err = run(scene, job, comm, rank);
    scene->returned[rank] = clab_now();
    scene->errs[rank] = err;
    if (fault_silences(scene->fault.kind))
        scene->shrunk[rank] = 1 + go_on(comm, scene->fault.nranks);
    clab_comm_destroy(comm);
    clab_job_close(job);
    _exit(1);
}
