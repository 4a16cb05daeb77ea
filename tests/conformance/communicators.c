// SPDX-License-Identifier: MIT
// Works that are waited for in another order than they were begun in, and communicators used crosswise.

#include "tests/conformance/conformance.h"

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

void conform_communicators(struct sweep *s)
{
    if (!conform_has_time(s, "communicators", NULL))
        return;
    for (int m = 0; m < 2; m++) {
        cross(s, s->memory[m], 1);
        cross(s, s->memory[m], 100003);
    }
    split(s);
    wait_backwards(s);
    cross_blocking(s);
}
