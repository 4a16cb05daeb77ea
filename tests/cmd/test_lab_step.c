// SPDX-License-Identifier: MIT
// What labs 03 and 08 predict in virtual time, against the closed forms of their lab.md, worked out here from the
// network's figures alone: within 2 %.

#include "tests/fixtures/capture.h"

#include <math.h>

#include "core/base/err.h"
#include "cmd/lab/lab.h"
#include "tests/fixtures/needs.h"
#include "sim/sim.h"

// dgx-h100: s a message, s/B, within a node of eight and between; s/B added; flop/s and s/B of memory.
static const double ai = 3.4e-6, bi = 1 / 450e9, ae = 14e-6, be = 1 / 48e9, g = 1 / 1117e9, flops = 67e12,
                    mem = 1 / 3350e9;
enum { P = 64, NODE = 8 };

struct question {
    struct lab_conf conf;
    struct lab_results probe;
    struct clab_net *net;
    struct lab_context context;
};

static void ask(const char *folder, struct question *q)
{
    memset(q, 0, sizeof *q);
    assert_int_equal(lab_conf_load(".", folder, &q->conf), CLAB_OK);
    assert_int_equal(lab_conf_use(&q->conf, "sim"), CLAB_OK);
    assert_int_equal(clab_net_load("dgx-h100", &q->net), CLAB_OK);
    q->context = (struct lab_context){
        .conf = &q->conf, .net = q->net, .probe = &q->probe, .ranks = P, .cores = 2, .is_exact = true};
}

static void asked(struct question *q)
{
    clab_net_free(q->net);
    lab_conf_free(&q->conf);
}

static void assert_predicts(const struct question *q, enum lab_program program, const char *quantity, double expected)
{
    const double predicted = q->conf.model->predict(&q->context, program, P, quantity);
    if (!(fabs(predicted - expected) <= 0.02 * expected))
        fail_msg("%s is predicted to be %.6g, where the closed form says %.6g", quantity, predicted, expected);
}

// A layer's seconds: the longer of its operations and its memory's bytes.
static double roofline(double flop, double bytes)
{
    return fmax(flop / flops, bytes * mem);
}

// ---- lab 03 --------------------------------------------------------------------------------------------------

static void test_a_step_through_rank_0_is_as_lab_03_derives(void **state)
{
    needs_inih();
    struct question q;
    char quantity[64];
    ask("03-dataparallel", &q);
    for (int width = 64; width <= 256; width *= 4) {
        const double S = 4.0 * 4 * (width + 1) * width, X = 16.0 * 4 * width, Pe = P - NODE, Pi = NODE - 1;
        const double product = roofline(2 * 16.0 * width * width, 4 * (2 * 16.0 * width + width * width));
        const double loss = roofline(3 * 16.0 * width, 12 * 16.0 * width);
        const double compute =
            11 * product + loss + 4 * roofline(2.0 * (width + 1) * width, 12.0 * (width + 1) * width);
        snprintf(quantity, sizeof quantity, "time/through_zero/%d", width);
        assert_predicts(&q, LAB_BEFORE, quantity,
                        4 * ae * Pe + (S + 3 * X) * be * Pe + Pe * (ae + S * be) + Pi * (ai + S * bi) +
                            (P - 1) * g * S + compute + (P - 1) * loss);
        snprintf(quantity, sizeof quantity, "time/replicas/%d", width);
        assert_predicts(&q, LAB_AFTER, quantity, 2 * (P - 1) * (ae + S / P * be) + (P - 1.0) / P * g * S + compute);
        snprintf(quantity, sizeof quantity, "bytes_of_zero/through_zero/%d", width);
        assert_predicts(&q, LAB_BEFORE, quantity, (P - 1) * (2 * S + 3 * X));
        snprintf(quantity, sizeof quantity, "bytes_of_other/through_zero/%d", width);
        assert_predicts(&q, LAB_BEFORE, quantity, 2 * S + 3 * X);
        snprintf(quantity, sizeof quantity, "bytes_of_zero/replicas/%d", width);
        assert_predicts(&q, LAB_AFTER, quantity, 4 * (P - 1.0) / P * S);
    }
    asked(&q);
}

// ---- lab 08 --------------------------------------------------------------------------------------------------

enum { LAYERS = 16, WIDTH = 128, ROWS = 4 * 8192 };
static const double weights = 4.0 * WIDTH * WIDTH, biases = 4.0 * WIDTH; // bytes of a layer

// An allreduce by halving and doubling: three exchanges between nodes, the largest first, and three within, each twice.
static double a(double bytes)
{
    return 2 * (3 * ae + (1 - 8.0 / P) * bytes * be + 3 * ai + 7.0 / P * bytes * bi) + (P - 1.0) / P * bytes * g;
}

static double product(void)
{
    return roofline(2.0 * ROWS * WIDTH * WIDTH, 4.0 * (2.0 * ROWS * WIDTH + WIDTH * WIDTH));
}

static double computed(void)
{
    const double update = roofline(2 * (weights + biases) / 4, 3 * (weights + biases));
    return (3 * LAYERS - 1) * product() + roofline(3.0 * ROWS * WIDTH, 12.0 * ROWS * WIDTH) + LAYERS * update;
}

// n buckets of LAYERS / n layers: the two branches of the U.
static double bucketed(int n)
{
    const double f = product(), m = (double)LAYERS / n, S = LAYERS * (weights + biases), each = a(S / n);
    const double B = (2 * LAYERS - 1) * f;
    return each <= 2 * m * f ? computed() + each : computed() - B + (2 * m - 1) * f + n * each;
}

static void test_the_curve_over_the_cap_is_as_lab_08_derives(void **state)
{
    needs_inih();
    struct question q;
    ask("08-buckets", &q);
    const double S = LAYERS * (weights + biases);
    assert_predicts(&q, LAB_BEFORE, "time/nothing/none", computed());
    assert_predicts(&q, LAB_BEFORE, "time/each/parameter", computed() + LAYERS * (a(weights) + a(biases)));
    assert_predicts(&q, LAB_BEFORE, "time/whole/flat", computed() + a(S) + 4 * S * mem);
    assert_predicts(&q, LAB_AFTER, "time/bucket/65536", bucketed(16));
    assert_predicts(&q, LAB_AFTER, "time/bucket/131072", bucketed(8));
    assert_predicts(&q, LAB_AFTER, "time/bucket/262144", bucketed(4));
    assert_predicts(&q, LAB_AFTER, "time/bucket/524288", bucketed(2));
    assert_predicts(&q, LAB_AFTER, "time/bucket/1048576", bucketed(1));
    assert_predicts(&q, LAB_AFTER, "exposed/bucket/1048576", a(S));
    assert_predicts(&q, LAB_AFTER, "exposed/bucket/524288", a(S / 2));
    asked(&q);
}

static void test_the_best_number_of_buckets_is_where_lab_08_says(void **state)
{
    needs_inih();
    struct question q;
    ask("08-buckets", &q);
    const double S = LAYERS * (weights + biases), A = a(0), n = (2 * LAYERS * product() - (a(S) - A)) / A;
    int best = 1;
    for (int k = 1; k <= LAYERS; k *= 2)
        best = bucketed(k) < bucketed(best) ? k : best;
    assert_true(best / 2.0 < n && n < best * 2.0);
    assert_predicts(&q, LAB_AFTER, "time/best/parameter", bucketed(best));
    assert_true(bucketed(best) < bucketed(1) && bucketed(best) < bucketed(LAYERS)); // a U
    asked(&q);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_step_through_rank_0_is_as_lab_03_derives),
        cmocka_unit_test(test_the_curve_over_the_cap_is_as_lab_08_derives),
        cmocka_unit_test(test_the_best_number_of_buckets_is_where_lab_08_says),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
