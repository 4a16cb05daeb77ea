// SPDX-License-Identifier: MIT
// Collectives: every one by every algorithm that supports it and by the library's own, one and three lanes, counts 0,
// 1, P-1, odd and large, in place and not; every type with every operation; in memory of clab_alloc and of malloc.
// - A barrier holds back the fast.

#include "core/transport/backend.h"
#include "tests/conformance/conformance.h"

static void run_one(struct sweep *s, struct kase k, int m, bool in_place)
{
    k.comm = s->comm;
    k.n = s->n;
    k.rank = s->rank;
    k.seed = ++s->seed;
    k.root = (int)(k.seed % (unsigned)k.n);
    k.in_place = in_place && k.collective != CLAB_ALLTOALL;
    s->failed += conform_case(s->job, &k, s->memory[m], s->seen, s->expected);
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
        atomic_fetch_add(&s->shared->entered, 1);
        right &= clab_barrier(s->comm) == CLAB_OK;
        right &= atomic_load(&s->shared->entered) >= s->n * ++s->barriers;
    }
    check(s, right, algorithm);
}

// One count in all memories and placements, the others in one each, which changes from case to case.
static void sweep_counts(struct sweep *s, enum clab_collective collective, const char *algorithm, int lanes,
                         size_t large)
{
    const size_t counts[] = {0, 1, (size_t)s->n - 1, 67, 4099, large};
    if (!conform_has_time(s, clab_collective_name(collective), algorithm))
        return;
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
        if (counts[c] == 67 || s->all)
            run_both(s, k);
        else
            run_one(s, k, (int)s->seed % 2, s->seed / 2 % 2);
    }
}

void conform_algorithms(struct sweep *s, size_t large)
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

// The library's own, where there is one.
void conform_choices(struct sweep *s, size_t large)
{
    for (int c = 0; c <= CLAB_BARRIER; c++)
        sweep_counts(s, (enum clab_collective)c, "auto", 0, large);
}

// Most counts in one place each.
static void run_counts(struct sweep *s, struct kase k)
{
    const size_t counts[] = {0, 1, (size_t)s->n - 1, (1 << 20) / clab_type_bytes(k.type) + 3};
    if (!conform_has_time(s, clab_collective_name(k.collective), clab_type_name(k.type)))
        return;
    for (int c = 0; c < (s->all ? 4 : 3); c++) {
        k.count = counts[c];
        run_one(s, k, (int)s->seed % 2, s->seed / 2 % 2);
    }
    k.count = 131;
    run_both(s, k);
}

void conform_types(struct sweep *s)
{
    for (int collective = 0; collective < CLAB_BARRIER; collective++)
        for (int type = 0; type < CLAB_TYPE_COUNT; type++)
            for (int op = 0; op < (clab_collective_reduces((enum clab_collective)collective) ? CLAB_OP_COUNT : 1); op++)
                run_counts(s, (struct kase){.collective = (enum clab_collective)collective,
                                            .algorithm = "auto",
                                            .type = (enum clab_type)type,
                                            .op = (enum clab_op)op});
}
