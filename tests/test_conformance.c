// SPDX-License-Identifier: MIT
// The conformance suite: what every backend must do, run on each backend of this build with 1 to 8 ranks.
// - Every collective by every algorithm that supports it, one and three lanes, counts 0, 1, P-1, odd and large, in place and not.
// - Every type with every operation.
// - Inputs are random small numbers, so that every result is exact; outputs are poisoned and have guards behind them; expected values
//   are computed here from all ranks' inputs, which every rank can make.
// - In memory of clab_alloc and of malloc. Each job is a process of its own; its exit status says how many cases failed.

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "backend.h"
#include "base/reduce.h"
#include "clab.h"
#include "job/job.h"

enum { MAX_RANKS = 8, GUARD = 16 };
static const unsigned char POISON = 0xA5;

// ---- numbers -------------------------------------------------------------------------------------------------

// Element `i` of what `rank` gives: -2, -1, 1 or 2, from a hash (splitmix64's finaliser). No zeros: -0 and 0 differ in bits.
static int number(int rank, size_t i, unsigned seed)
{
    static const int numbers[] = {-2, -1, 1, 2};
    uint64_t x = (uint64_t)rank * 0x9e3779b97f4a7c15u + i * 0xbf58476d1ce4e5b9u + seed;
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
    x = (x ^ x >> 27) * 0x94d049bb133111ebu;
    return numbers[(x ^ x >> 31) % 4];
}

static void encode(enum clab_type type, void *data, size_t i, int64_t value)
{
    switch (type) {
    case CLAB_F32: ((float *)data)[i] = (float)value; break;
    case CLAB_F64: ((double *)data)[i] = (double)value; break;
    case CLAB_F16: ((unsigned short *)data)[i] = clab_f32_to_f16((float)value); break;
    case CLAB_BF16: ((unsigned short *)data)[i] = clab_f32_to_bf16((float)value); break;
    case CLAB_I8: ((int8_t *)data)[i] = (int8_t)value; break;
    case CLAB_U8: ((uint8_t *)data)[i] = (uint8_t)value; break;
    case CLAB_I32: ((int32_t *)data)[i] = (int32_t)value; break;
    default: ((int64_t *)data)[i] = value; break;
    }
}

// The sum's average as the type stores it. Integers truncate.
static void encode_average(enum clab_type type, void *data, size_t i, int64_t sum, int n)
{
    float mean = (float)sum / (float)n;
    switch (type) {
    case CLAB_F32: ((float *)data)[i] = mean; break;
    case CLAB_F64: ((double *)data)[i] = (double)sum / n; break;
    case CLAB_F16: ((unsigned short *)data)[i] = clab_f32_to_f16(mean); break;
    case CLAB_BF16: ((unsigned short *)data)[i] = clab_f32_to_bf16(mean); break;
    case CLAB_U8: encode(type, data, i, (uint8_t)sum / n); break;
    default: encode(type, data, i, sum / n); break;
    }
}

static int64_t input(int rank, size_t i, unsigned seed, enum clab_type type)
{
    int64_t value = number(rank, i, seed);
    return type == CLAB_U8 ? (uint8_t)value : value;
}

static void expect_reduced(enum clab_type type, enum clab_op op, int n, size_t i, unsigned seed, void *data, size_t at)
{
    int64_t acc = input(0, i, seed, type);
    for (int r = 1; r < n; r++) {
        int64_t v = input(r, i, seed, type);
        acc = op == CLAB_PROD ? (int64_t)((uint64_t)acc * (uint64_t)v) : op == CLAB_MIN ? (v < acc ? v : acc) : op == CLAB_MAX ? (v > acc ? v : acc) : acc + v;
    }
    if (op == CLAB_AVG)
        encode_average(type, data, at, acc, n);
    else
        encode(type, data, at, acc);
}

// ---- one case ------------------------------------------------------------------------------------------------

struct kase {
    struct clab_comm *comm;
    enum clab_collective collective;
    const char *algorithm;
    int lanes, root, n, rank;
    size_t count;
    enum clab_type type;
    enum clab_op op;
    bool in_place;
    unsigned seed;
};

// What `k->rank` must find in out: block `b` of it. false: nothing is promised.
static bool expect_block(const struct kase *k, int b, void *expected)
{
    for (size_t i = 0; i < k->count; i++) {
        size_t at = (size_t)b * k->count + i;
        switch (k->collective) {
        case CLAB_ALLREDUCE: expect_reduced(k->type, k->op, k->n, i, k->seed, expected, at); break;
        case CLAB_REDUCE:
            if (k->rank != k->root)
                return false;
            expect_reduced(k->type, k->op, k->n, i, k->seed, expected, at);
            break;
        case CLAB_REDUCE_SCATTER: expect_reduced(k->type, k->op, k->n, (size_t)k->rank * k->count + i, k->seed, expected, at); break;
        case CLAB_BROADCAST: encode(k->type, expected, at, input(k->root, i, k->seed, k->type)); break;
        case CLAB_GATHER:
            if (k->rank != k->root)
                return false;
            __attribute__((fallthrough));
        case CLAB_ALLGATHER: encode(k->type, expected, at, input(b, i, k->seed, k->type)); break;
        case CLAB_SCATTER: encode(k->type, expected, at, input(k->root, (size_t)k->rank * k->count + i, k->seed, k->type)); break;
        case CLAB_ALLTOALL: encode(k->type, expected, at, input(b, (size_t)k->rank * k->count + i, k->seed, k->type)); break;
        default: return false;
        }
    }
    return true;
}

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

static bool has_blocks(enum clab_collective c, bool of_input)
{
    if (c == CLAB_ALLTOALL)
        return true;
    return of_input ? c == CLAB_REDUCE_SCATTER || c == CLAB_SCATTER : c == CLAB_ALLGATHER || c == CLAB_GATHER;
}

static bool is_guarded(const unsigned char *end)
{
    for (int i = 0; i < GUARD; i++)
        if (end[i] != POISON)
            return false;
    return true;
}

static int report(const struct kase *k, const char *what)
{
    fprintf(stderr, "rank %d of %d: %s by %s, %d lanes, root %d, %zu x %s %s, %s: %s\n", k->rank, k->n,
            clab_collective_name(k->collective), k->algorithm, k->lanes, k->root, k->count, clab_type_name(k->type),
            clab_op_name(k->op), k->in_place ? "in place" : "out of place", what);
    return 1;
}

// Run one case in memory at `memory`, which has room for in, out and their guards. Returns 0, or 1 if it failed.
static int run_case(const struct kase *k, char *memory, char *expected)
{
    size_t each = clab_type_bytes(k->type), block = k->count * each, n = (size_t)k->n;
    size_t in_bytes = block * (has_blocks(k->collective, true) ? n : 1), out_bytes = block * (has_blocks(k->collective, false) ? n : 1);
    char *out = memory, *in = memory + out_bytes + GUARD, *target = out;
    int nblocks = has_blocks(k->collective, false) ? k->n : 1;
    memset(memory, POISON, in_bytes + out_bytes + 2 * GUARD);
    if (k->in_place && has_blocks(k->collective, false))
        in = out + (size_t)k->rank * block;
    else if (k->in_place && has_blocks(k->collective, true))
        target = in + (size_t)k->rank * block;
    else if (k->in_place)
        in = out;
    if (k->collective != CLAB_BROADCAST || k->rank == k->root)
        for (size_t i = 0; i < in_bytes / each; i++)
            encode(k->type, in, i, input(k->rank, i, k->seed, k->type));
    if (call(k, in, target) != CLAB_OK)
        return report(k, "the call failed");
    for (int b = 0; b < nblocks; b++)
        if (expect_block(k, b, expected) && memcmp(target + (size_t)b * block, expected + (size_t)b * block, block))
            return report(k, "the result is wrong");
    bool inside = is_guarded((unsigned char *)memory + out_bytes) &&
                  (in != memory + out_bytes + GUARD || is_guarded((unsigned char *)in + in_bytes));
    return inside ? 0 : report(k, "memory behind the buffer was written");
}

// ---- all cases of a job --------------------------------------------------------------------------------------

struct sweep {
    struct clab_job *job;
    struct clab_comm *comm;
    char *memory[2], *expected; // of clab_alloc, of malloc
    unsigned seed;
    int failed;
};

static void run_both(struct sweep *s, struct kase k)
{
    int nplaces = k.collective == CLAB_ALLTOALL || k.collective == CLAB_BARRIER ? 1 : 2;
    k.comm = s->comm;
    k.n = clab_job_ranks(s->job);
    k.rank = clab_job_rank(s->job);
    for (int m = 0; m < 2; m++)
        for (int place = 0; place < nplaces; place++) {
            k.seed = ++s->seed;
            k.root = (int)(k.seed % (unsigned)k.n);
            k.in_place = place;
            s->failed += run_case(&k, s->memory[m], s->expected);
        }
}

static void sweep_algorithms(struct sweep *s, size_t large)
{
    int n = clab_job_ranks(s->job);
    const size_t counts[] = {0, 1, (size_t)n - 1, 67, 4099, large};
    for (int a = 0; clab_algorithms[a]; a++) {
        const struct clab_algorithm *algorithm = clab_algorithms[a];
        struct clab_problem problem = {.collective = algorithm->collective, .nranks = n, .lanes = algorithm->default_lanes};
        if (algorithm->collective == CLAB_SENDRECV || !algorithm->supports(&problem))
            continue;
        for (int lanes = 0; lanes <= 3; lanes += 3) {
            clab_comm_set_algorithm(s->comm, algorithm->collective, algorithm->name, lanes);
            problem.lanes = lanes ? lanes : algorithm->default_lanes;
            if (!algorithm->supports(&problem))
                continue;
            for (size_t c = 0; c < sizeof counts / sizeof *counts; c++)
                run_both(s, (struct kase){.collective = algorithm->collective, .algorithm = algorithm->name, .lanes = lanes,
                                          .count = counts[c], .type = CLAB_F32, .op = CLAB_SUM});
        }
        clab_comm_set_algorithm(s->comm, algorithm->collective, "auto", 0);
    }
}

static void sweep_types(struct sweep *s)
{
    for (int collective = 0; collective < CLAB_BARRIER; collective++)
        for (int type = 0; type < CLAB_TYPE_COUNT; type++)
            for (int op = 0; op < (clab_collective_reduces((enum clab_collective)collective) ? CLAB_OP_COUNT : 1); op++)
                run_both(s, (struct kase){.collective = (enum clab_collective)collective, .algorithm = "auto", .count = 131,
                                          .type = (enum clab_type)type, .op = (enum clab_op)op});
}

// A ring of sends and receives that are all under way at once, and a split by parity, reversed.
static void sweep_rest(struct sweep *s)
{
    int n = clab_job_ranks(s->job), rank = clab_job_rank(s->job), got[4] = {0}, parity_rank;
    struct clab_work *works[8];
    struct clab_comm *half = NULL;
    int sent[4] = {rank, rank + 100, rank + 200, rank + 300}, from = (rank + n - 1) % n;
    for (int i = 0; i < 4; i++) {
        must(clab_send_start(s->comm, &sent[i], 1, CLAB_I32, (rank + 1) % n, &works[i]));
        must(clab_recv_start(s->comm, &got[i], 1, CLAB_I32, from, &works[4 + i]));
    }
    for (int i = 0; i < 8; i++)
        s->failed += clab_work_wait(works[i]) != CLAB_OK;
    for (int i = 0; i < 4; i++)
        s->failed += got[i] != from + 100 * i;
    s->failed += clab_comm_split(s->comm, rank % 2, -rank, &half) != CLAB_OK;
    if (half) {
        int sum = 0, expected = 0;
        s->failed += clab_allreduce(half, &rank, &sum, 1, CLAB_I32, CLAB_SUM) != CLAB_OK;
        for (int r = rank % 2; r < n; r += 2)
            expected += r;
        parity_rank = (n - 1 - rank) / 2;
        s->failed += sum != expected || clab_comm_rank(half) != parity_rank;
    }
    clab_comm_destroy(half);
}

// Three collectives started before any is waited for.
static void sweep_works(struct sweep *s)
{
    int n = clab_job_ranks(s->job), one[3] = {1, 2, 3}, sum[3] = {0};
    struct clab_work *works[3];
    for (int i = 0; i < 3; i++)
        must(clab_allreduce_start(s->comm, &one[i], &sum[i], 1, CLAB_I32, CLAB_SUM, &works[i]));
    for (int i = 2; i >= 0; i--)
        s->failed += clab_work_wait(works[i]) != CLAB_OK || sum[i] != n * one[i];
}

static int run_job(size_t large)
{
    char name[] = "conformance", *argv[] = {name, NULL};
    int argc = 1;
    struct sweep s = {.seed = 1};
    size_t bytes = 2 * MAX_RANKS * (large + 8) * sizeof(double) + 4 * GUARD;
    void *shared;
    if (clab_job_open(&argc, argv, &s.job) || clab_comm_create(s.job, &s.comm) || clab_alloc(s.job, bytes, &shared))
        return 255;
    s.memory[0] = shared;
    s.memory[1] = malloc(bytes);
    s.expected = malloc(bytes);
    sweep_algorithms(&s, large);
    sweep_types(&s);
    sweep_rest(&s);
    sweep_works(&s);
    clab_comm_destroy(s.comm);
    free(s.memory[1]);
    free(s.expected);
    clab_free(s.job, shared);
    clab_job_close(s.job);
    return s.failed > 254 ? 254 : s.failed;
}

// ---- jobs ----------------------------------------------------------------------------------------------------

static void test_conforms(void **state)
{
    const int *n = *state;
    struct clab_launch launch = {.nranks = *n, .backend = "shm", .pin = true, .grace = CLAB_GRACE_DEFAULT};
    int rank, status = 0;
    fflush(NULL);
    assert_int_equal(clab_launch_ranks(&launch, &rank, &status), CLAB_OK);
    if (rank >= 0)
        _exit(run_job(*n <= 3 ? (1 << 20) / 4 + 3 : 40003));
    assert_int_equal(status, 0);
}

int main(void)
{
    static int ranks[] = {1, 2, 3, 4, 5, 6, 7, 8};
    struct CMUnitTest tests[8];
    static char names[8][32];
    for (int i = 0; i < 8; i++) {
        snprintf(names[i], sizeof names[i], "shm_conforms_with_%d_ranks", ranks[i]);
        tests[i] = (struct CMUnitTest){.name = names[i], .test_func = test_conforms, .initial_state = &ranks[i]};
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
