// SPDX-License-Identifier: MIT
// Folding: a ring's folded answer is brute force's to the bit, at every number of ranks up to 256, and up to 1024 around
// powers of two and at each 31st. Takes long: brute force has 3e7 messages. test_folded.c has the other algorithms and
// networks.

#include "tests/fixtures/sim_run.h"

#include "tests/fixtures/needs.h"

enum { RANKS_AT_MOST = 1024, DENSE = IS_SLOW ? 100 : 256, SPARSE = 31 };

// Up to DENSE every number; then each 31st, and those around powers of two.
static bool is_wanted(int nranks)
{
    bool is_near_power = false;
    for (int power = 2; power <= RANKS_AT_MOST; power *= 2)
        is_near_power |= abs(nranks - power) <= 1;
    return nranks <= DENSE || nranks % SPARSE == 0 || (is_near_power && !IS_SLOW);
}

static void assert_same(int nranks, const struct clab_sim_result *folded, const struct clab_sim_result *full)
{
    if (folded->seconds != full->seconds || folded->latency != full->latency || folded->bandwidth != full->bandwidth ||
        folded->reduce != full->reduce || folded->wait != full->wait)
        fail_msg("%d ranks: folded %a (%a %a %a %a), full %a (%a %a %a %a)", nranks, folded->seconds, folded->latency,
                 folded->bandwidth, folded->reduce, folded->wait, full->seconds, full->latency, full->bandwidth,
                 full->reduce, full->wait);
}

static void test_folded_ring_equals_full_at_every_size(void **state)
{
    const struct clab_algorithm *ring = clab_algorithm_find(CLAB_ALLREDUCE, "ring");
    struct clab_net *net = flat(14e-6, 1 / 48e9, 0.9e-9);
    for (int nranks = 2; nranks <= RANKS_AT_MOST; nranks++) {
        if (!is_wanted(nranks))
            continue;
        const struct clab_problem p = {
            .collective = CLAB_ALLREDUCE, .nranks = nranks, .count = 77 * (size_t)nranks, .lanes = 1};
        const struct clab_sim_result folded =
            run(&p, ring, net, (struct clab_sim_options){.engine = CLAB_ENGINE_FOLDED});
        const struct clab_sim_result full = run(&p, ring, net, (struct clab_sim_options){.engine = CLAB_ENGINE_FULL});
        assert_int_equal(folded.engine, CLAB_ENGINE_FOLDED);
        assert_int_equal(folded.ranks, 1);
        assert_int_equal(full.engine, CLAB_ENGINE_FULL);
        assert_int_equal(full.ranks, nranks);
        assert_int_equal(full.messages, 2L * nranks * (nranks - 1));
        assert_same(nranks, &folded, &full);
    }
    clab_net_free(net);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_folded_ring_equals_full_at_every_size),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
