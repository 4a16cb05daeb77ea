// SPDX-License-Identifier: MIT
// Training steps whose ranks take different times: stragglers, jitter, a part that is slow.

#include "tests/fixtures/train_run.h"

static void test_train_a_straggler_delays_by_what_it_computes_longer(void **state)
{
    struct clab_net *net = flat(10e-6, 1e-9);
    struct clab_train_bucket buckets[BUCKETS];
    fill(buckets);
    const struct clab_train_straggler straggler = {5, 1.7};
    // Doubling wants something of every rank in its first half for some, in its last for others: none gains on the
    // rest.
    struct clab_train train = {.net = net,
                               .nranks = 8,
                               .element_bytes = 4,
                               .algorithm = "doubling",
                               .buckets = buckets,
                               .nbuckets = BUCKETS,
                               .compute = 12 * MS};
    const double before = step_of(&train);
    train.stragglers = &straggler;
    train.nstragglers = 1;
    struct clab_train_result r = run(&train);
    assert_true(r.exact);
    assert_true(near(r.median, before + 0.7 * 12 * MS));
    assert_true(near(r.computation, 1.7 * 12 * MS) && near(r.undisturbed, 12 * MS));
    clab_train_free(&r);
    clab_net_free(net);
}

static void test_train_own_clocks_are_within_the_bound(void **state)
{
    static const char *const algorithms[] = {"ring", "tree", "doubling", "halving_doubling"};
    struct clab_net *net = flat(10e-6, 1e-9);
    struct clab_train_bucket buckets[BUCKETS];
    fill(buckets);
    for (int a = 0; a < 4; a++) {
        struct clab_train train = {.net = net,
                                   .nranks = 8,
                                   .element_bytes = 4,
                                   .algorithm = algorithms[a],
                                   .buckets = buckets,
                                   .nbuckets = BUCKETS,
                                   .compute = 12 * MS,
                                   .overlap = CLAB_TRAIN_BUCKET,
                                   .jitter = CLAB_TRAIN_LOGNORMAL,
                                   .amount = 0.3,
                                   .seed = 7,
                                   .steps = 20};
        struct clab_train_result exact = run(&train);
        assert_true(exact.exact);
        for (int step = 0; step < train.steps; step++) {
            double slowest = 0;
            for (int rank = 0; rank < 8; rank++)
                slowest = fmax(slowest, clab_train_factor(&train, step, rank));
            // All beginning with the slowest.
            double end = 0;
            struct clab_train_result r = run(&train);
            for (int i = 0; i < BUCKETS; i++) {
                const struct clab_problem problem = {
                    .collective = CLAB_ALLREDUCE, .nranks = 8, .lanes = 1, .count = buckets[i].bytes / 4};
                const struct clab_sim_options options = {.element_bytes = 4, .in_place = true};
                struct clab_sim_result price;
                assert_int_equal(
                    clab_sim_run(&problem, clab_algorithm_find(CLAB_ALLREDUCE, algorithms[a]), net, &options, &price),
                    CLAB_OK);
                end = fmax(end, slowest * buckets[i].ready) + price.seconds;
            }
            assert_true(exact.seconds[step] <= fmax(end, slowest * 12 * MS) * (1 + 1e-9));
            assert_true(exact.seconds[step] >= slowest * 12 * MS * (1 - 1e-9));
            assert_true(r.seconds[step] == exact.seconds[step]); // the same again
            clab_train_free(&r);
        }
        clab_train_free(&exact);
    }
    clab_net_free(net);
}

// The mean of the factors, of many ranks and steps.
static double mean_factor(enum clab_train_jitter jitter, double amount, double shape)
{
    enum { RANKS = 1000, STEPS = 200 };
    const struct clab_train train = {.jitter = jitter, .amount = amount, .shape = shape, .seed = 1};
    double sum = 0;
    for (int step = 0; step < STEPS; step++)
        for (int rank = 0; rank < RANKS; rank++)
            sum += clab_train_factor(&train, step, rank);
    return sum / RANKS / STEPS;
}

static void test_train_jitter_has_the_means_of_its_distributions(void **state)
{
    assert_true(fabs(mean_factor(CLAB_TRAIN_NORMAL, 0.1, 0) - 1) < 0.001);
    assert_true(fabs(mean_factor(CLAB_TRAIN_LOGNORMAL, 0.5, 0) - exp(0.125)) < 0.005);
    assert_true(fabs(mean_factor(CLAB_TRAIN_EXP, 0.1, 0) - 1.1) < 0.001);
    assert_true(fabs(mean_factor(CLAB_TRAIN_PARETO, 0.1, 4) - 1.1) < 0.002);
    assert_true(mean_factor(CLAB_TRAIN_STEADY, 0.1, 4) == 1);
}

// The largest of P exponentials of mean m is m (1 + 1/2 + ... + 1/P) on average.
static void test_train_waits_for_the_slowest_of_many(void **state)
{
    enum { RANKS = 4096, STEPS = 200 };
    struct clab_net *net = flat(0, 0);
    const struct clab_train_bucket bucket = {.ready = 1, .bytes = 4096};
    const struct clab_train train = {.net = net,
                                     .nranks = RANKS,
                                     .element_bytes = 4,
                                     .algorithm = "doubling",
                                     .buckets = &bucket,
                                     .nbuckets = 1,
                                     .compute = 1,
                                     .overlap = CLAB_TRAIN_BUCKET,
                                     .jitter = CLAB_TRAIN_EXP,
                                     .amount = 0.1,
                                     .seed = 3,
                                     .steps = STEPS};
    struct clab_train_result r = run(&train);
    double harmonic = 0;
    for (int i = 1; i <= RANKS; i++)
        harmonic += 1.0 / i;
    assert_false(r.exact);
    assert_true(fabs(r.mean - (1 + 0.1 * harmonic)) < 0.03); // its deviation is 0.1 * pi / sqrt(6) / sqrt(200) = 0.009
    clab_train_free(&r);
    clab_net_free(net);
}

static void test_train_slow_part_is_that_part(void **state)
{
    const struct clab_train train = {.slow_part = 0.1, .slow_factor = 3, .seed = 5};
    int slow = 0;
    for (int rank = 0; rank < 10000; rank++) {
        const double factor = clab_train_factor(&train, rank % 7, rank);
        assert_true(factor == 1 || factor == 3);
        assert_true(factor == clab_train_factor(&train, 0, rank)); // it stays slow
        slow += factor == 3;
    }
    assert_in_range(slow, 900, 1100);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_train_a_straggler_delays_by_what_it_computes_longer),
        cmocka_unit_test(test_train_own_clocks_are_within_the_bound),
        cmocka_unit_test(test_train_jitter_has_the_means_of_its_distributions),
        cmocka_unit_test(test_train_waits_for_the_slowest_of_many),
        cmocka_unit_test(test_train_slow_part_is_that_part),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
