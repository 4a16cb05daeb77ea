// SPDX-License-Identifier: MIT
// The models whose training is predicted: their parameters and flops, their buckets, and steps on many ranks.

#include "tests/fixtures/needs.h"
#include "tests/fixtures/train_run.h"

static void test_train_models_have_their_published_parameters(void **state)
{
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
        cmocka_unit_test(test_train_models_have_their_published_parameters),
        cmocka_unit_test(test_train_transformers_take_two_flop_a_parameter),
        cmocka_unit_test(test_train_buckets_hold_all_gradients),
        cmocka_unit_test(test_train_prices_any_number_of_ranks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
