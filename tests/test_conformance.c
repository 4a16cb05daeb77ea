// SPDX-License-Identifier: MIT
// The conformance suite: what every backend must do, run on each that is built in, or named, with 1 to 8 ranks.
// - Every collective by every algorithm that supports it and by the library's own, one and three lanes, counts 0, 1, P-1,
//   odd and large, in place and not; every type with every operation; in memory of clab_alloc and of malloc.
// - All memory of a case is poisoned, and compared as a whole: besides the result nothing has changed, neither `in`,
//   nor what is no result at this rank, nor what lies behind the buffers. expect.h has what is right.
// - CLAB_CONFORMANCE=all has every count in every place, adds 1 MiB and 3 elements of every type and operation, and large
//   counts for more ranks: some minutes a backend.
// - A barrier holds back the fast; messages in both directions at once; more messages than a channel holds; works that
//   are waited for in another order; communicators used crosswise.
// - Each job is one of copies of this process; its exit status says how many checks failed. Takes long.

#include "capture.h"

#include <fcntl.h>
#include <stdatomic.h>
#include <sys/mman.h>

#include "backend.h"
#include "expect.h"
#include "job/job.h"
#include "plugin.h"

enum { MAX_RANKS = 8, GUARD = 16, NOT_OPENED = 255, UNSUPPORTED = 254, MANY = 253 };
static const unsigned char POISON = 0xA5;
static _Atomic int *entered; // how often a rank of this job has come to a barrier; all of them see it

// ---- one case ------------------------------------------------------------------------------------------------

static int call(const struct kase *k, const void *in, void *out)
{
    switch (k->collective) {
    case CLAB_ALLREDUCE: return clab_allreduce(k->comm, in, out, k->count, k->type, k->op);
    case CLAB_BROADCAST: return clab_broadcast(k->comm, in, out, k->count, k->type, k->root);
    case CLAB_REDUCE: return clab_reduce(k->comm, in, out, k->count, k->type, k->op, k->root);
    case CLAB_ALLGATHER: return clab_allgather(k->comm, in, out, k->count, k->type);
    case CLAB_REDUCE_SCATTER: return clab_reduce_scatter(k->comm, in, out, k->count, k->type, k->op);
    case CLAB_ALLTOALL: return clab_alltoall(k->comm, in, out, k->count, k->type);
    case CLAB_GATHER: return clab_gather(k->comm, in, out, k->count, k->type, k->root);
    case CLAB_SCATTER: return clab_scatter(k->comm, in, out, k->count, k->type, k->root);
    default: return clab_barrier(k->comm);
    }
}

static int report(const struct kase *k, const char *what)
{
    fprintf(stderr, "rank %d of %d: %s by %s, %d lanes, root %d, %zu x %s %s, %s: %s\n", k->rank, k->n,
            clab_collective_name(k->collective), k->algorithm, k->lanes, k->root, k->count, clab_type_name(k->type),
            clab_op_name(k->op), k->in_place ? "in place" : "out of place", what);
    return 1;
}

// Where a case's buffers lie: out, guard, in, guard; or, in place, one in the other.
struct places {
    char *in, *out, *end;
    size_t in_bytes, out_bytes;
};

static struct places lay_out(const struct kase *k, char *memory)
{
    const size_t block = k->count * clab_type_bytes(k->type), n = (size_t)k->n, mine = (size_t)k->rank * block;
    const bool many_in = has_blocks(k->collective, true), many_out = has_blocks(k->collective, false);
    struct places p = {.in_bytes = many_in ? n * block : block, .out_bytes = many_out ? n * block : block};
    p.out = memory;
    p.in = memory + p.out_bytes + GUARD;
    p.end = p.in + p.in_bytes + GUARD;
    if (k->in_place && many_out)
        p.in = p.out + mine;
    else if (k->in_place && many_in)
        p.out = p.in + mine;
    else if (k->in_place)
        p.in = p.out;
    return p;
}

static const char *what_changed(const struct places *p, const char *memory, const char *expected)
{
    size_t i = 0;
    while (memory[i] == expected[i])
        i++;
    if (memory + i >= p->out && memory + i < p->out + p->out_bytes)
        return "out is wrong";
    return memory + i >= p->in && memory + i < p->in + p->in_bytes ? "in has changed" : "memory beside was written";
}

// Run one case in memory at `memory`, which may be a device's: `seen` is what it holds. Computes at `expected` what must
// be there. All have room for in, out and guards. Returns 0, or 1 if it failed.
static int run_case(struct clab_job *job, const struct kase *k, char *memory, char *seen, char *expected)
{
    const struct places p = lay_out(k, memory), here = lay_out(k, seen);
    const size_t bytes = (size_t)(p.end - memory), each = clab_type_bytes(k->type);
    const bool gives = (k->collective != CLAB_BROADCAST && k->collective != CLAB_SCATTER) || k->rank == k->root;
    memset(seen, POISON, bytes);
    for (size_t i = 0; gives && i < p.in_bytes / each; i++)
        encode(k->type, here.in, i, input(k->rank, i, k->seed, k->type));
    memcpy(expected, seen, bytes);
    expect_out(k, expected + (here.out - seen));
    must(clab_copy(job, memory, seen, bytes));
    if (call(k, p.in, p.out) != CLAB_OK)
        return report(k, "the call failed");
    must(clab_copy(job, seen, memory, bytes));
    return memcmp(seen, expected, bytes) ? report(k, what_changed(&here, seen, expected)) : 0;
}

// ---- collectives ---------------------------------------------------------------------------------------------

struct sweep {
    struct clab_job *job;
    struct clab_comm *comm;
    int n, rank;
    char *memory[2], *seen, *expected; // of clab_alloc, of malloc; of malloc
    unsigned seed;
    int failed, barriers;
};

static void check(struct sweep *s, bool right, const char *what)
{
    if (!right)
        fprintf(stderr, "rank %d of %d: %s\n", s->rank, s->n, what);
    s->failed += !right;
}

static void run_one(struct sweep *s, struct kase k, int m, bool in_place)
{
    k.comm = s->comm;
    k.n = s->n;
    k.rank = s->rank;
    k.seed = ++s->seed;
    k.root = (int)(k.seed % (unsigned)k.n);
    k.in_place = in_place && k.collective != CLAB_ALLTOALL;
    s->failed += run_case(s->job, &k, s->memory[m], s->seen, s->expected);
}

static void run_both(struct sweep *s, struct kase k)
{
    for (int m = 0; m < 2; m++)
        for (int place = 0; place < 2; place++)
            run_one(s, k, m, place);
}

// Arithmetic for some 0.1 ms a unit.
static void work(int units)
{
    static volatile int sink;
    for (int i = 0; i < units * 20000; i++)
        sink += number(units, (size_t)i, 7);
}

// Each round another rank comes last, by far. Nobody may leave a barrier before all have entered it.
static void run_barriers(struct sweep *s, const char *algorithm)
{
    bool right = true;
    for (int round = 0; round < s->n; round++) {
        work((s->rank + round) % s->n);
        atomic_fetch_add(entered, 1);
        right &= clab_barrier(s->comm) == CLAB_OK;
        right &= atomic_load(entered) >= s->n * ++s->barriers;
    }
    check(s, right, algorithm);
}

static bool wants_all(void)
{
    const char *text = getenv("CLAB_CONFORMANCE");
    return text && !strcmp(text, "all");
}

// One count in all memories and placements, the others in one each, which changes from case to case.
static void sweep_counts(struct sweep *s, enum clab_collective collective, const char *algorithm, int lanes,
                         size_t large)
{
    const size_t counts[] = {0, 1, (size_t)s->n - 1, 67, 4099, large};
    if (collective == CLAB_BARRIER) {
        run_barriers(s, algorithm);
        return;
    }
    for (size_t c = 0; c < sizeof counts / sizeof *counts; c++) {
        const struct kase k = {.collective = collective,
                               .algorithm = algorithm,
                               .lanes = lanes,
                               .count = counts[c],
                               .type = CLAB_F32,
                               .op = CLAB_SUM};
        if (counts[c] == 67 || wants_all())
            run_both(s, k);
        else
            run_one(s, k, (int)s->seed % 2, s->seed / 2 % 2);
    }
}

static void sweep_algorithms(struct sweep *s, size_t large)
{
    for (int a = 0; clab_algorithms[a]; a++) {
        const struct clab_algorithm *algorithm = clab_algorithms[a];
        struct clab_problem problem = {.collective = algorithm->collective, .nranks = s->n};
        if (algorithm->collective == CLAB_SENDRECV)
            continue;
        for (int lanes = 0; lanes <= 3; lanes += 3) {
            problem.lanes = lanes ? lanes : algorithm->default_lanes;
            if (!algorithm->supports(&problem))
                continue;
            must(clab_comm_set_algorithm(s->comm, algorithm->collective, algorithm->name, lanes));
            sweep_counts(s, algorithm->collective, algorithm->name, lanes, large);
        }
        must(clab_comm_set_algorithm(s->comm, algorithm->collective, "auto", 0));
    }
}

// By the automatic choice: the library's own, where there is one.
static void sweep_collectives(struct sweep *s, size_t large)
{
    for (int c = 0; c <= CLAB_BARRIER; c++)
        sweep_counts(s, (enum clab_collective)c, "auto", 0, large);
}

// Most counts in one place each.
static void run_counts(struct sweep *s, struct kase k)
{
    const size_t counts[] = {0, 1, (size_t)s->n - 1, (1 << 20) / clab_type_bytes(k.type) + 3};
    for (int c = 0; c < (wants_all() ? 4 : 3); c++) {
        k.count = counts[c];
        run_one(s, k, (int)s->seed % 2, s->seed / 2 % 2);
    }
    k.count = 131;
    run_both(s, k);
}

static void sweep_types(struct sweep *s)
{
    for (int collective = 0; collective < CLAB_BARRIER; collective++)
        for (int type = 0; type < CLAB_TYPE_COUNT; type++)
            for (int op = 0; op < (clab_collective_reduces((enum clab_collective)collective) ? CLAB_OP_COUNT : 1); op++)
                run_counts(s, (struct kase){.collective = (enum clab_collective)collective,
                                            .algorithm = "auto",
                                            .type = (enum clab_type)type,
                                            .op = (enum clab_op)op});
}

// ---- messages ------------------------------------------------------------------------------------------------

static void wait_all(struct sweep *s, struct clab_work **works, int nworks, const char *what)
{
    for (int i = 0; i < nworks; i++)
        check(s, clab_work_wait(works[i]) == CLAB_OK, what);
}

// What `data`, which may be a device's, holds: a host's array.
static int32_t *look_at(struct sweep *s, const int32_t *data, size_t count)
{
    must(clab_copy(s->job, s->seen, data, count * sizeof *data));
    return (int32_t *)(void *)s->seen;
}

static void fill(struct sweep *s, int32_t *data, size_t count, int rank, unsigned seed)
{
    int32_t *here = (int32_t *)(void *)s->seen;
    for (size_t i = 0; i < count; i++)
        here[i] = rank * 1000 + number(rank, i, seed);
    must(clab_copy(s->job, data, here, count * sizeof *data));
}

static bool is_filled(struct sweep *s, const int32_t *data, size_t count, int rank, unsigned seed)
{
    const int32_t *here = look_at(s, data, count);
    for (size_t i = 0; i < count; i++)
        if (here[i] != rank * 1000 + number(rank, i, seed))
            return false;
    return true;
}

// 1 MiB to each neighbour and from each, all at once. With two ranks both neighbours are the same; alone, oneself.
static void exchange_large(struct sweep *s, char *memory)
{
    enum { COUNT = (1 << 20) / sizeof(int32_t) };
    const int left = (s->rank + s->n - 1) % s->n, right = (s->rank + 1) % s->n;
    int32_t *data = (int32_t *)(void *)memory, *from_left = data + 2 * COUNT, *from_right = data + 3 * COUNT;
    struct clab_work *works[4];
    fill(s, data, COUNT, s->rank, 1);
    fill(s, data + COUNT, COUNT, s->rank, 2);
    must(clab_send_start(s->comm, data, COUNT, CLAB_I32, right, &works[0]));
    must(clab_send_start(s->comm, data + COUNT, COUNT, CLAB_I32, left, &works[1]));
    must(clab_recv_start(s->comm, from_left, COUNT, CLAB_I32, left, &works[2]));
    must(clab_recv_start(s->comm, from_right, COUNT, CLAB_I32, right, &works[3]));
    wait_all(s, works, 4, "a large message failed");
    check(s, is_filled(s, from_left, COUNT, left, 1), "1 MiB from the left is wrong");
    check(s, is_filled(s, from_right, COUNT, right, 2), "1 MiB from the right is wrong");
}

// More messages around a ring than a channel holds, of all kinds of sizes, begun before any is received.
static void send_many(struct sweep *s, char *memory)
{
    enum { MESSAGES = 50, ROOM = 5000 };
    static const size_t counts[] = {1, 12, 13, 700, ROOM, 0};
    const int to = (s->rank + 1) % s->n, from = (s->rank + s->n - 1) % s->n;
    int32_t *sent = (int32_t *)(void *)memory, *got = sent + MESSAGES * ROOM;
    struct clab_work *works[2 * MESSAGES];
    for (int i = 0; i < MESSAGES; i++) {
        fill(s, sent + i * ROOM, counts[i % 6], s->rank, (unsigned)i);
        must(clab_send_start(s->comm, sent + i * ROOM, counts[i % 6], CLAB_I32, to, &works[i]));
    }
    for (int i = 0; i < MESSAGES; i++)
        must(clab_recv_start(s->comm, got + i * ROOM, counts[i % 6], CLAB_I32, from, &works[MESSAGES + i]));
    wait_all(s, works, 2 * MESSAGES, "a message failed");
    for (int i = 0; i < MESSAGES; i++)
        check(s, is_filled(s, got + i * ROOM, counts[i % 6], from, (unsigned)i), "a message is wrong");
}

// ---- works and communicators ---------------------------------------------------------------------------------

// Three collectives started before any is waited for.
static void wait_backwards(struct sweep *s)
{
    int one[3] = {1, 2, 3}, sum[3] = {0};
    struct clab_work *works[3];
    for (int i = 0; i < 3; i++)
        must(clab_allreduce_start(s->comm, &one[i], &sum[i], 1, CLAB_I32, CLAB_SUM, &works[i]));
    for (int i = 2; i >= 0; i--)
        check(s, clab_work_wait(works[i]) == CLAB_OK && sum[i] == s->n * one[i], "a work is wrong");
}

// By parity, and reversed.
static void split(struct sweep *s)
{
    struct clab_comm *half = NULL;
    int sum = 0, expected = 0;
    for (int r = s->rank % 2; r < s->n; r += 2)
        expected += r;
    check(s, clab_comm_split(s->comm, s->rank % 2, -s->rank, &half) == CLAB_OK && half, "no split");
    if (half) {
        check(s, clab_allreduce(half, &s->rank, &sum, 1, CLAB_I32, CLAB_SUM) == CLAB_OK && sum == expected,
              "the sum of a half is wrong");
        check(s, clab_comm_rank(half) == (s->n - 1 - s->rank) / 2, "a rank of a half is wrong");
    }
    clab_comm_destroy(half);
}

static void fill_ascending(struct sweep *s, int32_t *in, size_t count)
{
    int32_t *here = (int32_t *)(void *)s->seen;
    for (size_t i = 0; i < count; i++)
        here[i] = s->rank + (int)i;
    must(clab_copy(s->job, in, here, count * sizeof *in));
}

// Rank 0 begins a sum on one communicator and waits on the other first; the others take them the other way around.
static void cross(struct sweep *s, char *memory, size_t count)
{
    struct clab_comm *other = NULL;
    struct clab_work *begun;
    int32_t *in = (int32_t *)(void *)memory, *a = in + count, *b = a + count;
    fill_ascending(s, in, count);
    must(clab_comm_create(s->job, &other));
    if (s->rank == 0) {
        must(clab_allreduce_start(s->comm, in, a, count, CLAB_I32, CLAB_SUM, &begun));
        check(s, clab_allreduce(other, in, b, count, CLAB_I32, CLAB_MAX) == CLAB_OK, "crosswise: B failed");
        check(s, clab_work_wait(begun) == CLAB_OK, "crosswise: A failed");
    } else {
        must(clab_allreduce_start(other, in, b, count, CLAB_I32, CLAB_MAX, &begun));
        check(s, clab_allreduce(s->comm, in, a, count, CLAB_I32, CLAB_SUM) == CLAB_OK, "crosswise: A failed");
        check(s, clab_work_wait(begun) == CLAB_OK, "crosswise: B failed");
    }
    bool right = true;
    const int32_t *here = look_at(s, a, 2 * count); // a and b
    for (int i = 0; i < (int)count; i++)
        right &= here[i] == s->n * (s->n - 1) / 2 + s->n * i && here[(int)count + i] == s->n - 1 + i;
    check(s, right, "crosswise: a result is wrong");
    clab_comm_destroy(other);
}

// The others first do B as a whole, then A: what rank 0 has begun on A must not keep it from B.
static void cross_blocking(struct sweep *s)
{
    struct clab_comm *other = NULL;
    struct clab_work *begun;
    int a = 0, b = 0;
    must(clab_comm_create(s->job, &other));
    if (s->rank == 0)
        must(clab_allreduce_start(s->comm, &s->rank, &a, 1, CLAB_I32, CLAB_SUM, &begun));
    check(s, clab_allreduce(other, &s->rank, &b, 1, CLAB_I32, CLAB_MAX) == CLAB_OK, "blocking: B failed");
    if (s->rank == 0)
        check(s, clab_work_wait(begun) == CLAB_OK, "blocking: A failed");
    else
        check(s, clab_allreduce(s->comm, &s->rank, &a, 1, CLAB_I32, CLAB_SUM) == CLAB_OK, "blocking: A failed");
    check(s, a == s->n * (s->n - 1) / 2 && b == s->n - 1, "blocking: a result is wrong");
    clab_comm_destroy(other);
}

// Rank 0 begins a sum, then sends messages that grow, each when the one before has come; the others take these before
// they come to the sum. On a communicator that has sent nothing yet.
static void send_beside(struct sweep *s, char *memory)
{
    static const size_t counts[] = {1, 5000, 100003};
    enum { MESSAGES = sizeof counts / sizeof *counts };
    int32_t *data = (int32_t *)(void *)memory;
    struct clab_comm *comm = NULL;
    struct clab_work *begun;
    int sum = 0;
    must(clab_comm_create(s->job, &comm));
    if (s->rank == 0) {
        fill(s, data, counts[MESSAGES - 1], 0, 1);
        must(clab_allreduce_start(comm, &s->n, &sum, 1, CLAB_I32, CLAB_SUM, &begun));
        for (int i = 0; i < MESSAGES; i++)
            for (int to = 1; to < s->n; to++)
                check(s, clab_send(comm, data, counts[i], CLAB_I32, to) == CLAB_OK, "a message beside a sum failed");
        check(s, clab_work_wait(begun) == CLAB_OK, "a sum beside messages failed");
    } else {
        for (int i = 0; i < MESSAGES; i++) {
            check(s, clab_recv(comm, data, counts[i], CLAB_I32, 0) == CLAB_OK, "a message beside a sum failed");
            check(s, is_filled(s, data, counts[i], 0, 1), "a message beside a sum is wrong");
        }
        must(clab_allreduce(comm, &s->n, &sum, 1, CLAB_I32, CLAB_SUM));
    }
    check(s, sum == s->n * s->n, "a sum beside messages is wrong");
    clab_comm_destroy(comm);
}

// ---- jobs ----------------------------------------------------------------------------------------------------

static void sweep_all(struct sweep *s, size_t large)
{
    sweep_algorithms(s, large);
    sweep_collectives(s, large);
    sweep_types(s);
    for (int m = 0; m < 2; m++) {
        exchange_large(s, s->memory[m]);
        send_many(s, s->memory[m]);
        cross(s, s->memory[m], 1);
        cross(s, s->memory[m], 100003);
        send_beside(s, s->memory[m]);
    }
    split(s);
    wait_backwards(s);
    cross_blocking(s);
}

static int open_job(struct clab_job **job_p)
{
    char name[] = "conformance", *argv[] = {name, NULL};
    int argc = 1;
    return clab_job_open(&argc, argv, job_p);
}

static int run_rank(size_t large)
{
    struct sweep s = {.seed = 1};
    const size_t bytes = 2 * MAX_RANKS * (large + 8) * sizeof(double) + 4 * GUARD;
    void *shared;
    if (open_job(&s.job) || clab_comm_create(s.job, &s.comm) || clab_alloc(s.job, bytes, &shared))
        return NOT_OPENED;
    s.n = clab_job_ranks(s.job);
    s.rank = clab_job_rank(s.job);
    s.memory[0] = shared;
    s.memory[1] = malloc(bytes);
    s.seen = malloc(bytes);
    s.expected = malloc(bytes);
    sweep_all(&s, large);
    clab_comm_destroy(s.comm);
    free(s.memory[1]);
    free(s.seen);
    free(s.expected);
    clab_free(s.job, shared);
    clab_job_close(s.job);
    return s.failed > MANY ? MANY : s.failed;
}

// Whether this machine has what the backend needs.
static int try_rank(void)
{
    struct clab_job *job;
    const int err = open_job(&job);
    if (!err)
        clab_job_close(job);
    return err == CLAB_EUNSUPPORTED ? UNSUPPORTED : 0;
}

struct conforming {
    const char *backend;
    int nranks;
    const char *variable, *value, *but; // an environment variable that is set for the job, or NULL; and what that means
    char name[96];
};

static int run_job(const struct conforming *c, bool only_try)
{
    struct clab_launch launch = {.nranks = c->nranks, .backend = c->backend, .pin = true, .grace = CLAB_GRACE_DEFAULT};
    int rank, status = 0;
    fflush(NULL);
    *entered = 0;
    assert_int_equal(clab_launch_ranks(&launch, &rank, &status), CLAB_OK);
    if (rank >= 0) {
        crash_as_others_do();
        _exit(only_try ? try_rank() : run_rank(c->nranks <= 3 || wants_all() ? (1 << 20) / 4 + 3 : 40003));
    }
    return status;
}

// Why the backend can not run here is the first line that is written.
static void skip_if_unsupported(const struct conforming *c)
{
    const struct capture err = capture_begin(STDERR_FILENO);
    const int status = run_job(c, true);
    const char *text = capture_end(err);
    if (status != UNSUPPORTED)
        return;
    print_message("skip: %.*s\n", (int)strcspn(text, "\n"), text);
    skip();
}

static void test_conforms(void **state)
{
    const struct conforming *c = *state;
    if (c->variable)
        setenv(c->variable, c->value, 1);
    skip_if_unsupported(c);
    const int status = run_job(c, false);
    if (c->variable)
        unsetenv(c->variable);
    assert_int_equal(status, 0);
}

static struct CMUnitTest test_of(struct conforming *c)
{
    snprintf(c->name, sizeof c->name, "%s_conforms_with_%d_ranks%s", c->backend, c->nranks, c->but ? c->but : "");
    return (struct CMUnitTest){.name = c->name, .test_func = test_conforms, .initial_state = c};
}

// What may differ from machine to machine.
static const struct conforming variants[] = {
    {"shm", 3, "CLAB_SHM_NO_READV", "1", "_that_can_not_read_each_other", ""},
#ifdef HAVE_LIBFABRIC
    {"ofi", 3, "CLAB_OFI_REGISTER", "1", "_whose_memory_is_registered", ""},
    {"ofi", 3, "CLAB_PROVIDER", "tcp;ofi_rxm", "_by_another_provider", ""},
#endif
};

enum { NVARIANTS = sizeof variants / sizeof *variants, MAX_BACKENDS = 16 };
enum { MAX_TESTS = MAX_BACKENDS * MAX_RANKS + NVARIANTS };
static struct conforming jobs[MAX_TESTS];

// In virtual time the executor is another, with far memory (far.c) its buffers are; shm's own jobs have the rest: these are
// asked for fewer numbers of ranks.
static bool is_wanted(const char *backend, int nranks)
{
    if (!strcmp(backend, "nccl")) // over doubles that are slow, beside what is measured on GPUs
        return (nranks & (nranks - 1)) == 0;
    return (strcmp(backend, "sim") != 0 && strcmp(backend, "far") != 0) || nranks <= 3 || nranks == 5 || nranks == 8;
}

static int add_backend(const char *backend, int n)
{
    for (int nranks = 1; nranks <= MAX_RANKS && n < MAX_TESTS - NVARIANTS; nranks++)
        if (is_wanted(backend, nranks))
            jobs[n++] = (struct conforming){.backend = strdup(backend), .nranks = nranks};
    return n;
}

// "shm", or with so many ranks alone: "shm:2".
static int add_named(const char *word, int n)
{
    const char *colon = strchr(word, ':');
    const int nranks = colon ? atoi(colon + 1) : 0;
    if (nranks < 1 || nranks > MAX_RANKS || n >= MAX_TESTS - NVARIANTS)
        return add_backend(word, n);
    jobs[n++] = (struct conforming){.backend = strndup(word, (size_t)(colon - word)), .nranks = nranks};
    return n;
}

// A rank of a job that another launcher has started; all of them share `file`, which is empty at first.
static int be_rank(const char *file, size_t large)
{
    const int fd = open(file, O_RDWR);
    if (fd < 0 || ftruncate(fd, sizeof *entered) != 0)
        return NOT_OPENED;
    entered = mmap(NULL, sizeof *entered, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    close(fd);
    return entered == MAP_FAILED ? NOT_OPENED : run_rank(large);
}

// Of the backends that are named (nccl, or nccl:2: with two ranks), or else of all that are built in: plugins have their own tests. Or, by
// `--rank FILE COUNT`, as a rank, with COUNT for a large count.
int main(int argc, char **argv)
{
    static struct CMUnitTest tests[MAX_TESTS];
    int n = 0;
    if (argc == 4 && !strcmp(argv[1], "--rank"))
        return be_rank(argv[2], (size_t)atoll(argv[3]));
    entered = mmap(NULL, sizeof *entered, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (entered == MAP_FAILED)
        return 1;
    for (int i = 1; i < argc; i++)
        n = add_named(argv[i], n);
    for (int i = 0; argc == 1 && clab_backend_name(i); i++)
        if (!clab_plugin_exists(clab_backend_name(i)))
            n = add_backend(clab_backend_name(i), n);
    for (int i = 0; argc == 1 && i < NVARIANTS; i++)
        jobs[n++] = variants[i];
    for (int i = 0; i < n; i++)
        tests[i] = test_of(&jobs[i]);
    return _cmocka_run_group_tests("conformance", tests, (size_t)n, NULL, NULL);
}
