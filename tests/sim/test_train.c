// SPDX-License-Identifier: MIT
// Training steps: a step worked out by hand, closed forms, when ranks end, codecs.

#include "tests/fixtures/train_run.h"

// ---- by hand -------------------------------------------------------------------------------------------------

// Three layers take 1 ms forward and 2 ms backward each, so that their gradients are there at 5, 7 and 9 ms; the last
// layer has 1000 B, the others 1500 B each. The first bucket is the last layer, the second the other two. Between two
// ranks a bucket takes 1 ms and 1 us a byte: 2 ms, 4 ms. The update takes 0.5 ms, of which the first bucket is a
// quarter.
static struct clab_train three_layers(const struct clab_net *net, struct clab_train_plan *plan)
{
    static struct clab_model_layer layers[] = {
        {.name = "a", .rows = 25, .columns = 15, .flop = 1},
        {.name = "b", .rows = 15, .columns = 25, .flop = 1},
        {.name = "c", .rows = 25, .columns = 9, .vector = 25, .flop = 1},
    };
    const struct clab_model model = {.layers = layers, .nlayers = 3};
    const struct clab_train_setting setting = {
        .batch = 1, .flop_seconds = 1 * MS, .element_bytes = 4, .cap = 3000, .first_cap = 1000};
    assert_int_equal(clab_train_plan_make(&model, &setting, plan), CLAB_OK);
    return (struct clab_train){.net = net,
                               .nranks = 2,
                               .element_bytes = 4,
                               .algorithm = "doubling",
                               .buckets = plan->buckets,
                               .nbuckets = plan->nbuckets,
                               .compute = plan->compute,
                               .update = 0.5 * MS};
}

static void test_train_three_layers_are_as_by_hand(void **state)
{
    struct clab_net *net = flat(1 * MS, 1e-3 * MS);
    struct clab_train_plan plan;
    struct clab_train train = three_layers(net, &plan);
    assert_int_equal(plan.nbuckets, 2);
    assert_true(near(plan.buckets[0].ready, 5 * MS) && near(plan.buckets[1].ready, 9 * MS));
    assert_int_equal(plan.buckets[0].bytes, 1000);
    assert_int_equal(plan.buckets[1].bytes, 3000);
    assert_int_equal(plan.buckets[1].first_layer, 1);
    assert_int_equal(plan.buckets[1].last_layer, 0);
    assert_true(near(step_of(&train), (9 + 2 + 4 + 0.5) * MS));
    train.overlap = CLAB_TRAIN_BUCKET;
    struct clab_train_result r = run(&train);
    assert_true(near(r.median, (9 + 4 + 0.5) * MS)); // the first bucket is hidden: 5 to 7 ms
    assert_true(near(r.buckets[0].begin, 5 * MS) && near(r.buckets[0].end, 7 * MS));
    assert_true(near(r.buckets[1].begin, 9 * MS) && near(r.buckets[1].end, 13 * MS));
    assert_true(near(r.exposed, 4 * MS) && near(r.communication, 6 * MS) && near(r.computation, 9 * MS));
    assert_int_equal(r.sent, 4000);
    clab_train_free(&r);
    train.overlap = CLAB_TRAIN_FULL;
    assert_true(
        near(step_of(&train), (9 + 4 + 0.375) * MS)); // a quarter of the update is done while the second travels
    clab_train_plan_free(&plan);
    clab_net_free(net);
}

static void test_train_accumulation_reduces_once(void **state)
{
    struct clab_net *net = flat(1 * MS, 1e-3 * MS);
    struct clab_train_plan plan;
    struct clab_train train = three_layers(net, &plan);
    train.accumulate = 4;
    assert_true(near(step_of(&train), (4 * 9 + 2 + 4 + 0.5) * MS));
    train.overlap = CLAB_TRAIN_BUCKET;
    assert_true(near(step_of(&train), (4 * 9 + 4 + 0.5) * MS));
    clab_train_plan_free(&plan);
    clab_net_free(net);
}

// ---- closed forms --------------------------------------------------------------------------------------------

// The price of a bucket by any algorithm, without the training.
static double least_price(const struct clab_net *net, int nranks, size_t bytes)
{
    double least = INFINITY;
    for (const struct clab_algorithm *const *a = clab_algorithms; *a; a++) {
        const struct clab_problem problem = {
            .collective = CLAB_ALLREDUCE, .nranks = nranks, .lanes = (*a)->default_lanes, .count = bytes / 4};
        const struct clab_sim_options options = {.element_bytes = 4, .in_place = true};
        struct clab_sim_result result;
        if ((*a)->collective != CLAB_ALLREDUCE || !(*a)->supports(&problem))
            continue;
        assert_int_equal(clab_sim_run(&problem, *a, net, &options, &result), CLAB_OK);
        least = fmin(least, result.seconds);
    }
    return least;
}

static void test_train_without_overlap_is_a_sum_of_the_fastest(void **state)
{
    struct clab_net *net = flat(10e-6, 1e-10);
    struct clab_train_bucket buckets[BUCKETS];
    fill(buckets);
    struct clab_train train = {.net = net,
                               .nranks = 12,
                               .element_bytes = 4,
                               .buckets = buckets,
                               .nbuckets = BUCKETS,
                               .compute = 12 * MS,
                               .update = 1 * MS};
    double sum = 13 * MS;
    for (int i = 0; i < BUCKETS; i++)
        sum += least_price(net, 12, buckets[i].bytes);
    assert_true(near(step_of(&train), sum));
    clab_net_free(net);
}

static void test_train_slow_wire_exposes_the_last_bucket(void **state)
{
    struct clab_net *net = flat(10e-6, 1e-8); // 10 ms a MiB
    struct clab_train_bucket buckets[BUCKETS];
    fill(buckets);
    for (int overlap = CLAB_TRAIN_BUCKET; overlap <= CLAB_TRAIN_FULL; overlap++)
        for (double compute = 12 * MS; compute < 1; compute *= 3) {
            const struct clab_train train = {.net = net,
                                             .nranks = 8,
                                             .element_bytes = 4,
                                             .buckets = buckets,
                                             .nbuckets = BUCKETS,
                                             .compute = compute,
                                             .overlap = overlap};
            struct clab_train_result r = run(&train);
            assert_true(r.median >= fmax(compute, r.communication) * (1 - 1e-12));
            if (compute == 12 * MS)
                assert_true(near(r.median, buckets[0].ready + r.communication)); // the wire never rests
            if (r.buckets[BUCKETS - 1].end > compute)
                assert_true(near(r.exposed, r.median - compute));
            clab_train_free(&r);
        }
    // What is ready when the backward pass ends can not be hidden.
    buckets[BUCKETS - 1].ready = 12 * MS;
    const struct clab_train train = {.net = net,
                                     .nranks = 8,
                                     .element_bytes = 4,
                                     .buckets = buckets,
                                     .nbuckets = BUCKETS,
                                     .compute = 12 * MS,
                                     .overlap = CLAB_TRAIN_FULL};
    struct clab_train_result r = run(&train);
    assert_true(r.exposed >= least_price(net, 8, buckets[BUCKETS - 1].bytes) * (1 - 1e-12));
    clab_train_free(&r);
    clab_net_free(net);
}

static void test_train_one_rank_sends_nothing(void **state)
{
    struct clab_net *net = flat(1, 1);
    struct clab_train_bucket buckets[BUCKETS];
    fill(buckets);
    for (int codec = 0; codec < CLAB_TRAIN_CODECS; codec++) {
        const struct clab_train train = {.net = net,
                                         .nranks = 1,
                                         .element_bytes = 4,
                                         .buckets = buckets,
                                         .nbuckets = BUCKETS,
                                         .compute = 12 * MS,
                                         .update = 1 * MS,
                                         .memory = 1,
                                         .overlap = CLAB_TRAIN_BUCKET,
                                         .codec = codec,
                                         .codec_rank = 2};
        struct clab_train_result r = run(&train);
        assert_true(near(r.median, 13 * MS) && near(r.alone, 13 * MS));
        assert_true(r.communication == 0 && r.sent == 0 && r.exposed < 1e-15);
        clab_train_free(&r);
    }
    clab_net_free(net);
}

// ---- the engine's ends ---------------------------------------------------------------------------------------

static void test_train_ranks_of_a_chain_end_one_after_another(void **state)
{
    struct clab_net *net = flat(1, 0.5);
    const double delays[] = {2, 0, 9};
    double ends[3];
    const struct clab_problem problem = {.collective = CLAB_BROADCAST, .nranks = 3, .lanes = 1, .count = 10};
    const struct clab_sim_options options = {.element_bytes = 1, .delays = delays, .ends = ends};
    struct clab_sim_result result;
    assert_int_equal(clab_sim_run(&problem, clab_algorithm_find(CLAB_BROADCAST, "chain"), net, &options, &result),
                     CLAB_OK);
    // A message takes either side 1 + 10 / 2. Rank 1 sends from 8 to 14; rank 2, who is late, receives from 9 to 15.
    assert_true(ends[0] == 2 + 6 && ends[1] == 2 + 12 && ends[2] == 9 + 6 && result.seconds == 15);
    clab_net_free(net);
}

// ---- codecs --------------------------------------------------------------------------------------------------

static struct clab_train_result run_codec(const struct clab_net *net, enum clab_train_codec codec, double memory)
{
    const struct clab_train_bucket bucket = {
        .ready = 1, .bytes = 4 << 20, .rows = 1024, .columns = 1000, .vectors = 24576};
    const struct clab_train train = {.net = net,
                                     .nranks = 4,
                                     .element_bytes = 4,
                                     .algorithm = "ring",
                                     .buckets = &bucket,
                                     .nbuckets = 1,
                                     .compute = 1,
                                     .memory = memory,
                                     .codec = codec,
                                     .codec_rank = 2};
    return run(&train);
}

// A ring sends 2 * 3/4 of a buffer; so do an exchange and a gathering of it together.
static void test_train_codecs_send_what_they_say(void **state)
{
    struct clab_net *net = flat(0, 1e-9);
    const size_t n = 1 << 20;
    const size_t sent[] = {4 * n * 3 / 2, 2 * n * 3 / 2, 2 * n * 3 / 2, n * 3 / 2,
                           4 * (2 * (1024 + 1000) + 24576) * 3 / 2};
    const double work[] = {0, 12.0 * n, 12.0 * n, (9 + 1 + 9.0 / 4 + 5) * n, 8 * 4.0 * 1024 * 1000};
    for (int codec = 0; codec < CLAB_TRAIN_CODECS; codec++) {
        struct clab_train_result free_of_cost = run_codec(net, codec, 0), r = run_codec(net, codec, 1e-10);
        assert_true(labs((long)r.sent - (long)sent[codec]) <= (codec == CLAB_TRAIN_INT8 ? 16 : 2)); // its scale
        assert_true(near(r.communication - free_of_cost.communication, 1e-10 * work[codec]) || codec == 0);
        assert_true(near(r.buckets[0].encode + r.buckets[0].decode, 1e-10 * work[codec]) || codec == 0);
        assert_true(near(free_of_cost.communication, 1e-9 * (double)sent[codec]) || codec == CLAB_TRAIN_INT8);
        clab_train_free(&r);
        clab_train_free(&free_of_cost);
    }
    clab_net_free(net);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_train_three_layers_are_as_by_hand),
        cmocka_unit_test(test_train_accumulation_reduces_once),
        cmocka_unit_test(test_train_without_overlap_is_a_sum_of_the_fastest),
        cmocka_unit_test(test_train_slow_wire_exposes_the_last_bucket),
        cmocka_unit_test(test_train_one_rank_sends_nothing),
        cmocka_unit_test(test_train_ranks_of_a_chain_end_one_after_another),
        cmocka_unit_test(test_train_codecs_send_what_they_say),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
