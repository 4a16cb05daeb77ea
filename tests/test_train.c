// SPDX-License-Identifier: MIT
// Training steps: a step worked out by hand, closed forms, stragglers and jitter, codecs, models and their buckets.

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "needs.h"
#include "net.h"
#include "sim.h"
#include "train_model.h"

#define MS 1e-3

static bool near(double a, double b)
{
    return fabs(a - b) <= 1e-9 * fmax(fabs(a), fabs(b));
}

static struct clab_net *flat(double alpha, double beta)
{
    struct clab_net *net;
    assert_int_equal(clab_net_create_flat(alpha, beta, 0, &net), CLAB_OK);
    return net;
}

static struct clab_train_result run(const struct clab_train *train)
{
    struct clab_train_result r;
    assert_int_equal(clab_train_run(train, &r), CLAB_OK);
    assert_true(r.least <= r.median && r.median <= r.p95 && r.p95 <= r.p99 && r.p99 <= r.most);
    return r;
}

static double step_of(const struct clab_train *train)
{
    struct clab_train_result r = run(train);
    const double median = r.median;
    clab_train_free(&r);
    return median;
}

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
    (void)state;
    struct clab_net *net = flat(1 * MS, 1e-3 * MS);
    struct clab_train_plan plan;
    struct clab_train train = three_layers(net, &plan);
    assert_int_equal(plan.nbuckets, 2);
    assert_true(near(plan.buckets[0].ready, 5 * MS) && near(plan.buckets[1].ready, 9 * MS));
    assert_int_equal(plan.buckets[0].bytes, 1000);
    assert_int_equal(plan.buckets[1].bytes, 3000);
    assert_int_equal(plan.first_layer[1], 1);
    assert_int_equal(plan.last_layer[1], 0);
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
    (void)state;
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

enum { BUCKETS = 5 };

static void fill(struct clab_train_bucket buckets[BUCKETS])
{
    for (int i = 0; i < BUCKETS; i++)
        buckets[i] = (struct clab_train_bucket){.ready = (4 + 2 * i) * MS, .bytes = (size_t)(1 + i) << 20};
}

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
    (void)state;
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
    (void)state;
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
    (void)state;
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

// ---- stragglers and jitter -----------------------------------------------------------------------------------

static void test_train_a_straggler_delays_by_what_it_computes_longer(void **state)
{
    (void)state;
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
    (void)state;
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
    (void)state;
    assert_true(fabs(mean_factor(CLAB_TRAIN_NORMAL, 0.1, 0) - 1) < 0.001);
    assert_true(fabs(mean_factor(CLAB_TRAIN_LOGNORMAL, 0.5, 0) - exp(0.125)) < 0.005);
    assert_true(fabs(mean_factor(CLAB_TRAIN_EXP, 0.1, 0) - 1.1) < 0.001);
    assert_true(fabs(mean_factor(CLAB_TRAIN_PARETO, 0.1, 4) - 1.1) < 0.002);
    assert_true(mean_factor(CLAB_TRAIN_STEADY, 0.1, 4) == 1);
}

// The largest of P exponentials of mean m is m (1 + 1/2 + ... + 1/P) on average.
static void test_train_waits_for_the_slowest_of_many(void **state)
{
    (void)state;
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
    (void)state;
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

// ---- the engine's ends ---------------------------------------------------------------------------------------

static void test_train_ranks_of_a_chain_end_one_after_another(void **state)
{
    (void)state;
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
    (void)state;
    struct clab_net *net = flat(0, 1e-9);
    const size_t n = 1 << 20;
    const size_t sent[] = {4 * n * 3 / 2, 2 * n * 3 / 2, 2 * n * 3 / 2, n * 3 / 2,
                           4 * (2 * (1024 + 1000) + 24576) * 3 / 2};
    const double work[] = {0, 12.0 * n, 12.0 * n, (9 + 1 + 9.0 / 4 + 5) * n, 8 * 4.0 * 1024 * 1000};
    for (int codec = 0; codec < CLAB_TRAIN_CODECS; codec++) {
        struct clab_train_result free_of_cost = run_codec(net, codec, 0), r = run_codec(net, codec, 1e-10);
        assert_true(labs((long)r.sent - (long)sent[codec]) <= 2);
        assert_true(near(r.communication - free_of_cost.communication, 1e-10 * work[codec]) || codec == 0);
        assert_true(near(r.buckets[0].encode + r.buckets[0].decode, 1e-10 * work[codec]) || codec == 0);
        assert_true(near(free_of_cost.communication, 1e-9 * (double)sent[codec]) || codec == CLAB_TRAIN_INT8);
        clab_train_free(&r);
        clab_train_free(&free_of_cost);
    }
    clab_net_free(net);
}

// ---- models --------------------------------------------------------------------------------------------------

static void test_train_models_have_their_published_parameters(void **state)
{
    (void)state;
    needs_inih();
    static const struct {
        const char *name;
        size_t parameters;
        double gflop; // of a sample's forward pass; 0: not published
    } known[] = {
        {"resnet50", 25557032, 2 * 4.09}, {"bert-large", 336226108, 0},
        {"gpt2-small", 124439808, 0},     {"gpt2-xl", 1557611200, 0},
        {"llama-7b", 6738415616, 0},      {"784x1024x1024x10", 785 * 1024 + 1025 * 1024 + 10250, 0},
    };
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        struct clab_model *model;
        assert_int_equal(clab_model_load(known[i].name, &model), CLAB_OK);
        assert_int_equal(clab_model_parameters(model), known[i].parameters);
        if (known[i].gflop > 0)
            assert_true(fabs(clab_model_flop(model) / 1e9 / known[i].gflop - 1) < 0.01);
        clab_model_free(model);
    }
}

// Two flop for each parameter and token, but for tables and attention scores.
static void test_train_transformers_take_two_flop_a_parameter(void **state)
{
    (void)state;
    needs_inih();
    struct clab_model *model;
    assert_int_equal(clab_model_load("llama-7b", &model), CLAB_OK);
    const double scores = 32 * 68719476736.0, table = 32000.0 * 4096;
    const double expected = 2 * 2048 * ((double)clab_model_parameters(model) - table) + scores;
    assert_true(fabs(clab_model_flop(model) / expected - 1) < 1e-4); // the norms' parameters
    clab_model_free(model);
}

static void test_train_buckets_hold_all_gradients(void **state)
{
    (void)state;
    needs_inih();
    struct clab_model *model;
    struct clab_train_plan plan;
    assert_int_equal(clab_model_load("resnet50", &model), CLAB_OK);
    const struct clab_train_setting setting = {
        .batch = 2, .flop_seconds = 1e-12, .element_bytes = 4, .cap = 25 << 20, .first_cap = 1 << 20};
    assert_int_equal(clab_train_plan_make(model, &setting, &plan), CLAB_OK);
    size_t bytes = 0;
    for (int i = 0; i < plan.nbuckets; i++) {
        const struct clab_train_bucket *b = &plan.buckets[i];
        bytes += b->bytes;
        assert_true(i == 0 || b->ready >= plan.buckets[i - 1].ready);
        assert_true(i == plan.nbuckets - 1 || b->bytes >= (i ? setting.cap : setting.first_cap));
    }
    assert_int_equal(bytes, 4 * clab_model_parameters(model));
    assert_int_equal(plan.buckets[0].bytes, 4 * (1000 + 2048 * 1000)); // the classes, whole
    assert_true(near(plan.buckets[plan.nbuckets - 1].ready, plan.compute));
    assert_true(near(plan.compute, 3 * 2 * clab_model_flop(model) * 1e-12));
    clab_train_plan_free(&plan);
    clab_model_free(model);
}

static void test_train_prices_any_number_of_ranks(void **state)
{
    (void)state;
    needs_inih();
    struct clab_net *net;
    assert_int_equal(clab_net_load("dgx-h100", &net), CLAB_OK);
    const struct clab_train_bucket bucket = {.ready = 0.1, .bytes = 25 << 20};
    double before = 0;
    for (int nranks = 2; nranks <= 131072; nranks *= 8) {
        const struct clab_train train = {
            .net = net, .nranks = nranks, .element_bytes = 4, .buckets = &bucket, .nbuckets = 1, .compute = 0.1};
        const double step = step_of(&train);
        assert_true(step > before);
        before = step;
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
        cmocka_unit_test(test_train_a_straggler_delays_by_what_it_computes_longer),
        cmocka_unit_test(test_train_own_clocks_are_within_the_bound),
        cmocka_unit_test(test_train_jitter_has_the_means_of_its_distributions),
        cmocka_unit_test(test_train_waits_for_the_slowest_of_many),
        cmocka_unit_test(test_train_slow_part_is_that_part),
        cmocka_unit_test(test_train_ranks_of_a_chain_end_one_after_another),
        cmocka_unit_test(test_train_codecs_send_what_they_say),
        cmocka_unit_test(test_train_models_have_their_published_parameters),
        cmocka_unit_test(test_train_transformers_take_two_flop_a_parameter),
        cmocka_unit_test(test_train_buckets_hold_all_gradients),
        cmocka_unit_test(test_train_prices_any_number_of_ranks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
