// SPDX-License-Identifier: MIT
// The fake libnccl: every collective against sums that are made here, messages, groups.

#include "tests/fakes/ranks.h"

#include <math.h>
#include <string.h>

enum { COUNT = 1003 };

// ---- data that each rank can compute of each other -----------------------------------------------------------

// Small whole numbers: sums and products of eight are exact in each type.
static double element(int rank, size_t i)
{
    return (double)((i * 5 + (size_t)rank * 3) % 4) - (rank % 2 ? 1 : 0) + 1;
}

static double combined(int n, ncclRedOp_t op, size_t i)
{
    double sum = element(0, i);
    for (int rank = 1; rank < n; rank++) {
        const double x = element(rank, i);
        sum = op == ncclProd ? sum * x : op == ncclMin ? fmin(sum, x) : op == ncclMax ? fmax(sum, x) : sum + x;
    }
    return op == ncclAvg ? sum / n : sum;
}

static int32_t *on_device(size_t count, size_t (*of)(int, size_t), int rank)
{
    int32_t *host = malloc(count * sizeof *host), *device;
    MUST_BE(true, host != 0);
    for (size_t i = 0; i < count; i++)
        host[i] = of ? (int32_t)of(rank, i) : -1;
    MUST(cudaMalloc((void **)&device, count * sizeof *host));
    MUST(cudaMemcpy(device, host, count * sizeof *host, cudaMemcpyHostToDevice));
    free(host);
    return device;
}

static size_t label(int rank, size_t i)
{
    return (size_t)rank * 1000000 + i;
}

static void must_hold(struct rank *me, const int32_t *device, size_t count, size_t (*of)(int, size_t), int rank)
{
    int32_t *host = malloc(count * sizeof *host);
    MUST_BE(true, host != 0);
    MUST(cudaMemcpyAsync(host, device, count * sizeof *host, cudaMemcpyDeviceToHost, me->stream));
    MUST(cudaStreamSynchronize(me->stream));
    for (size_t i = 0; i < count; i++)
        if (host[i] != (int32_t)of(rank, i))
            try_fail("rank %d: element %zu is %d, not %d", me->rank, i, host[i], (int)of(rank, i));
    free(host);
}

// ---- types and operations ------------------------------------------------------------------------------------

static const struct type {
    ncclDataType_t type;
    size_t bytes;
    bool is_integer;
} types[] = {
    {ncclInt8, 1, true},     {ncclUint8, 1, true},    {ncclInt32, 4, true},    {ncclUint32, 4, true},
    {ncclInt64, 8, true},    {ncclUint64, 8, true},   {ncclFloat16, 2, false}, {ncclBfloat16, 2, false},
    {ncclFloat32, 4, false}, {ncclFloat64, 8, false},
};

static void put(void *data, size_t i, ncclDataType_t type, double x)
{
    const float single = (float)x;
    uint32_t bits;
    memcpy(&bits, &single, sizeof bits);
    switch (type) {
    case ncclInt8: ((int8_t *)data)[i] = (int8_t)x; break;
    case ncclUint8: ((uint8_t *)data)[i] = (uint8_t)(int)x; break;
    case ncclInt32: ((int32_t *)data)[i] = (int32_t)x; break;
    case ncclUint32: ((uint32_t *)data)[i] = (uint32_t)(int32_t)x; break;
    case ncclInt64: ((int64_t *)data)[i] = (int64_t)x; break;
    case ncclUint64: ((uint64_t *)data)[i] = (uint64_t)(int64_t)x; break;
    case ncclFloat16: ((_Float16 *)data)[i] = (_Float16)single; break;
    case ncclBfloat16: ((uint16_t *)data)[i] = (uint16_t)(bits >> 16); break; // exact: few bits are set
    case ncclFloat32: ((float *)data)[i] = single; break;
    default: ((double *)data)[i] = x; break;
    }
}

static double get(const void *data, size_t i, ncclDataType_t type)
{
    uint32_t bits;
    float single;
    switch (type) {
    case ncclInt8: return ((const int8_t *)data)[i];
    case ncclUint8: return ((const uint8_t *)data)[i];
    case ncclInt32: return ((const int32_t *)data)[i];
    case ncclUint32: return ((const uint32_t *)data)[i];
    case ncclInt64: return (double)((const int64_t *)data)[i];
    case ncclUint64: return (double)((const uint64_t *)data)[i];
    case ncclFloat16: return (double)((const _Float16 *)data)[i];
    case ncclBfloat16:
        bits = (uint32_t)((const uint16_t *)data)[i] << 16;
        memcpy(&single, &bits, sizeof single);
        return single;
    case ncclFloat32: return ((const float *)data)[i];
    default: return ((const double *)data)[i];
    }
}

// Averages of integers lose their remainder; others are rounded to 8 (bf16), 11 (float16) or more bits.
static bool is_right(double got, double exact, const struct type *type, ncclRedOp_t op)
{
    if (op != ncclAvg)
        return got == exact;
    if (type->is_integer)
        return got == trunc(exact);
    return fabs(got - exact) <= fabs(exact) * (type->type == ncclBfloat16  ? 0x1p-8
                                               : type->type == ncclFloat16 ? 0x1p-11
                                                                           : 0x1p-23);
}

static void reduce_by_all_types(struct rank *me)
{
    rank_join(me);
    char *device, host[COUNT * 8];
    MUST(cudaMalloc((void **)&device, sizeof host));
    for (size_t t = 0; t < sizeof types / sizeof *types; t++)
        for (int op = ncclSum; op <= ncclAvg; op++) {
            const struct type *type = &types[t];
            for (size_t i = 0; i < COUNT; i++)
                put(host, i, type->type, element(me->rank, i));
            MUST(cudaMemcpyAsync(device, host, COUNT * type->bytes, cudaMemcpyHostToDevice, me->stream));
            MUST(ncclAllReduce(device, device, COUNT, type->type, (ncclRedOp_t)op, me->comm, me->stream));
            MUST(cudaMemcpyAsync(host, device, COUNT * type->bytes, cudaMemcpyDeviceToHost, me->stream));
            for (size_t i = 0; i < COUNT; i++) {
                const double exact = combined(me->n, (ncclRedOp_t)op, i);
                if (!is_right(get(host, i, type->type), exact, type, (ncclRedOp_t)op))
                    try_fail("type %d op %d element %zu is %g, not %g", type->type, op, i, get(host, i, type->type),
                             exact);
            }
        }
    MUST(cudaFree(device));
    rank_leave(me);
}

static void test_all_reduce_is_right_for_each_type_and_operation(void **state)
{
    (void)state;
    static const int ranks[] = {1, 2, 3, 4, 8};
    for (size_t i = 0; i < sizeof ranks / sizeof *ranks; i++)
        ranks_do(ranks[i], reduce_by_all_types);
}

// ---- where data goes -----------------------------------------------------------------------------------------

enum { ROOT = 1 };

static size_t sum_of_labels(int n, size_t i)
{
    return label(0, i) * (size_t)n + (size_t)(n * (n - 1) / 2) * 1000000;
}

static size_t none(int rank, size_t i)
{
    (void)rank, (void)i;
    return (size_t)-1;
}

// The i-th element that rank `exchange_to` gets of `from` in an all-to-all.
static int exchange_to;
static size_t exchanged(int from, size_t i)
{
    return label(from, (size_t)exchange_to * COUNT + i);
}

static void move_everything(struct rank *me)
{
    rank_join(me);
    const size_t all = COUNT * (size_t)me->n;
    const int n = me->n, root = n > ROOT ? ROOT : 0;
    ncclComm_t comm = me->comm;
    int32_t *in = on_device(all, label, me->rank), *out = on_device(all, 0, 0);

    MUST(ncclBroadcast(in, out, COUNT, ncclInt32, root, comm, me->stream));
    must_hold(me, out, COUNT, label, root);
    MUST(ncclReduce(in, out, COUNT, ncclInt32, ncclSum, root, comm, me->stream));
    must_hold(me, out, COUNT, me->rank == root ? sum_of_labels : label, me->rank == root ? n : root);
    MUST(ncclAllGather(in, out, COUNT, ncclInt32, comm, me->stream));
    for (int from = 0; from < n; from++)
        must_hold(me, out + from * COUNT, COUNT, label, from);
    MUST(ncclReduceScatter(in, out, COUNT, ncclInt32, ncclSum, comm, me->stream));
    int32_t host[COUNT];
    MUST(cudaMemcpyAsync(host, out, sizeof host, cudaMemcpyDeviceToHost, me->stream));
    for (size_t i = 0; i < COUNT; i++)
        MUST_BE(sum_of_labels(n, (size_t)me->rank * COUNT + i), host[i]);
    MUST(ncclAlltoAll(in, out, COUNT, ncclInt32, comm, me->stream));
    exchange_to = me->rank;
    for (int from = 0; from < n; from++)
        must_hold(me, out + from * COUNT, COUNT, exchanged, from);
    MUST(cudaMemset(out, 0xff, all * sizeof *out));
    MUST(cudaDeviceSynchronize());
    MUST(ncclGather(in, out, COUNT, ncclInt32, root, comm, me->stream));
    for (int from = 0; from < n; from++)
        must_hold(me, out + from * COUNT, COUNT, me->rank == root ? label : none, from);
    MUST(ncclScatter(in, out, COUNT, ncclInt32, root, comm, me->stream));
    must_hold(me, out, COUNT, exchanged, root);

    MUST(cudaFree(in));
    MUST(cudaFree(out));
    rank_leave(me);
}

static void test_each_collective_puts_each_element_where_it_belongs(void **state)
{
    (void)state;
    ranks_do(1, move_everything);
    ranks_do(3, move_everything);
    ranks_do(8, move_everything);
}

static void gather_in_place(struct rank *me)
{
    rank_join(me);
    int32_t *data = on_device(COUNT * (size_t)me->n, label, me->rank);
    int32_t *mine = data + me->rank * COUNT;
    MUST(ncclReduceScatter(data, mine, COUNT, ncclInt32, ncclMax, me->comm, me->stream));
    MUST(ncclAllGather(mine, data, COUNT, ncclInt32, me->comm, me->stream));
    must_hold(me, data, COUNT * (size_t)me->n, label, me->n - 1);
    MUST(cudaFree(data));
    rank_leave(me);
}

static void test_reduce_scatter_and_all_gather_work_in_place(void **state)
{
    (void)state;
    ranks_do(4, gather_in_place);
}

// ---- messages ------------------------------------------------------------------------------------------------

// Each with each, several a pair, sends after receives: only a group can do that.
static void exchange_in_a_group(struct rank *me)
{
    rank_join(me);
    const size_t all = COUNT * (size_t)me->n;
    int32_t *in = on_device(all, label, me->rank), *out = on_device(all, 0, 0);
    MUST(ncclGroupStart());
    for (int peer = 0; peer < me->n; peer++) {
        MUST(ncclRecv(out + peer * COUNT, 3, ncclInt32, peer, me->comm, me->stream));
        MUST(ncclRecv(out + peer * COUNT + 3, COUNT - 3, ncclInt32, peer, me->comm, me->stream));
        MUST(ncclRecv(0, 0, ncclInt32, peer, me->comm, me->stream));
    }
    MUST(ncclGroupStart());
    for (int peer = me->n - 1; peer >= 0; peer--) {
        MUST(ncclSend(in + peer * COUNT, 3, ncclInt32, peer, me->comm, me->stream));
        MUST(ncclSend(in + peer * COUNT + 3, COUNT - 3, ncclInt32, peer, me->comm, me->stream));
        MUST(ncclSend(0, 0, ncclInt32, peer, me->comm, me->stream));
    }
    MUST(ncclGroupEnd());
    MUST(ncclGroupEnd());
    exchange_to = me->rank;
    for (int from = 0; from < me->n; from++)
        must_hold(me, out + from * COUNT, COUNT, exchanged, from);
    MUST(cudaFree(in));
    MUST(cudaFree(out));
    rank_leave(me);
}

static void test_messages_of_a_group_move_together(void **state)
{
    (void)state;
    ranks_do(1, exchange_in_a_group);
    ranks_do(5, exchange_in_a_group);
    ranks_do(8, exchange_in_a_group);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_all_reduce_is_right_for_each_type_and_operation),
        cmocka_unit_test(test_each_collective_puts_each_element_where_it_belongs),
        cmocka_unit_test(test_reduce_scatter_and_all_gather_work_in_place),
        cmocka_unit_test(test_messages_of_a_group_move_together),
    };
    return cmocka_run_group_tests(tests, 0, 0);
}
