// SPDX-License-Identifier: MIT
// Lab 04: which backend before runs on, and what is predicted of two backends.

#include "tests/fixtures/capture.h"

#include <math.h>

#include "core/base/err.h"
#include "cmd/lab/lab.h"
#include "sim/net/net.h"

static void add(struct lab_results *results, enum lab_program program, const char *quantity, double seconds)
{
    struct lab_series key = {.program = program, .ranks = 2, .unit = "s"};
    snprintf(key.quantity, sizeof key.quantity, "%s", quantity);
    assert_int_equal(lab_results_add(results, &key, seconds), CLAB_OK);
}

static void assert_near(double got, double expected)
{
    if (!(fabs(got - expected) <= 1e-9 * fabs(expected)))
        fail_msg("%.12g is not %.12g", got, expected);
}

// ---- which backend -------------------------------------------------------------------------------------------

static void test_before_runs_on_the_first_backend_that_is_there_and_not_afters(void **state)
{
    const struct lab_conf conf = {.before_backends = {{"pigeon", "shm", "sim"}, 3}}, same = {0};
    struct lab_conf over = conf;
    const char *before = NULL;
    assert_int_equal(lab_request_before(&conf, "ofi", &before), CLAB_OK);
    assert_string_equal(before, "shm");
    assert_int_equal(lab_request_before(&conf, "shm", &before), CLAB_OK);
    assert_string_equal(before, "sim");
    assert_int_equal(lab_request_before(&same, "shm", &before), CLAB_OK);
    assert_string_equal(before, "shm");
    over.before_net = "10gbe"; // what differs is the network
    assert_int_equal(lab_request_before(&over, "sim", &before), CLAB_OK);
    assert_string_equal(before, "sim");
}

static void test_a_build_without_another_backend_says_so(void **state)
{
    const struct lab_conf conf = {.id = "04", .before_backends = {{"pigeon", "shm"}, 2}};
    const char *before = NULL;
    const struct capture capture = capture_begin(STDERR_FILENO);
    const int err = lab_request_before(&conf, "shm", &before);
    assert_one_line_with(capture_end(capture), "this build has none of: pigeon shm");
    assert_int_equal(err, CLAB_EUNSUPPORTED);
    assert_null(before);
}

// ---- what is predicted ---------------------------------------------------------------------------------------

// before: 100 us and 2 ns/B; after: 1 us and 1 ns/B, both probed at 1000 and at 101,000 bytes.
static void test_probes_of_two_sizes_are_a_line(void **state)
{
    const struct lab_model *model = lab_model_find("04-gloo-vs-nccl");
    struct lab_results probe = {0};
    add(&probe, LAB_BEFORE, "time/1000", 102e-6);
    add(&probe, LAB_BEFORE, "time/5000", 1); // between the two
    add(&probe, LAB_BEFORE, "time/101000", 302e-6);
    add(&probe, LAB_AFTER, "time/1000", 2e-6);
    add(&probe, LAB_AFTER, "time/101000", 102e-6);
    const struct lab_conf conf = {.sizes = {{"1000", "5000", "101000"}, 3}};
    const struct lab_context context = {.conf = &conf, .probe = &probe, .ranks = 2, .cores = 2};
    assert_near(model->predict(&context, LAB_BEFORE, 2, "time/51000"), 202e-6);
    assert_near(model->predict(&context, LAB_AFTER, 2, "time/51000"), 52e-6);
    assert_near(model->predict(&context, LAB_BEFORE, 2, "alpha"), 100e-6);
    assert_near(model->predict(&context, LAB_BEFORE, 2, "beta"), 2);
    assert_near(model->predict(&context, LAB_AFTER, 2, "half"), 1000.0 / 1024);
    assert_true(isnan(model->predict(&context, LAB_AFTER, 4, "time/51000"))); // not probed
    assert_true(isnan(model->predict(&context, LAB_AFTER, 2, "checksum/51000")));
    lab_results_free(&probe);
}

// Two ranks, one message each way at the same time: alpha + S beta; before's network has ten times both.
static void test_each_program_is_predicted_by_its_own_network(void **state)
{
    const struct lab_model *model = lab_model_find("04-gloo-vs-nccl");
    struct clab_net *slow, *fast;
    assert_int_equal(clab_net_create_flat(10e-6, 10e-9, 0, &slow), CLAB_OK);
    assert_int_equal(clab_net_create_flat(1e-6, 1e-9, 0, &fast), CLAB_OK);
    const struct lab_results none = {0};
    const struct lab_conf conf = {.sizes = {{"8", "64"}, 2}};
    const struct lab_context context = {
        .conf = &conf, .net = fast, .before_net = slow, .probe = &none, .ranks = 2, .cores = 2, .is_exact = true};
    const double before = model->predict(&context, LAB_BEFORE, 2, "time/64"),
                 after = model->predict(&context, LAB_AFTER, 2, "time/64");
    if (fabs(after / (1e-6 + 64e-9) - 1) > 1e-3)
        fail_msg("after: %g s", after);
    if (fabs(before / (10e-6 + 640e-9) - 1) > 1e-3)
        fail_msg("before: %g s", before);
    assert_true(fabs(model->predict(&context, LAB_AFTER, 2, "beta") - 1) < 1e-2);
    clab_net_free(slow);
    clab_net_free(fast);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_before_runs_on_the_first_backend_that_is_there_and_not_afters),
        cmocka_unit_test(test_a_build_without_another_backend_says_so),
        cmocka_unit_test(test_probes_of_two_sizes_are_a_line),
        cmocka_unit_test(test_each_program_is_predicted_by_its_own_network),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
