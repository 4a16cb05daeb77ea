// SPDX-License-Identifier: MIT
// The network that is trained, on one rank: its gradients against central differences in float64 of a network written
// for the test, those of a skipped layer, its data.

#include "tests/fixtures/trainee.h"

#include <math.h>

// ---- gradients -----------------------------------------------------------------------------------------------

// The loss of the whole network in float64, written out again: parameters in the order of `values`.
static double loss_of(const double *values, const float *x, const float *targets, int rows, bool skip_two)
{
    double sum = 0;
    for (int r = 0; r < rows; r++) {
        double in[WIDTH], out[WIDTH];
        const double *at = values;
        for (int i = 0; i < INPUTS; i++)
            in[i] = x[r * INPUTS + i];
        for (int l = 0; l < LAYERS; l++) {
            const int n = widths[l], m = widths[l + 1];
            for (int j = 0; j < m; j++) {
                out[j] = at[n * m + j];
                for (int i = 0; i < n; i++)
                    out[j] += in[i] * at[i * m + j];
                if (l < LAYERS - 1 && out[j] < 0)
                    out[j] = 0;
            }
            if (!(skip_two && l == 2))
                memcpy(in, out, sizeof in);
            at += (n + 1) * m;
        }
        for (int j = 0; j < OUTPUTS; j++)
            sum += (in[j] - targets[r * OUTPUTS + j]) * (in[j] - targets[r * OUTPUTS + j]);
    }
    return sum / (rows * OUTPUTS);
}

static bool skipping;

static int take_gradient(int rank)
{
    double loss;
    if (open_job(BATCH, &me) || (skipping && clab_mlp_skip(me.mlp, 2, true)) ||
        pass(&me, 0, BATCH, 0, 1, false, NULL, &loss))
        return 1;
    keep(&me);
    left->losses[0] = loss;
    close_job(&me);
    return 0;
}

// A central difference of step h is off by h^2 / 6 of the third derivative, which a network of max(0, x) only has where
// a layer's product of weights bends: with h = 1e-6 and float64 that is below 1e-8. What is left is float32's rounding
// of LAYERS products forth and back: 2 LAYERS (BATCH + WIDTH) u of the largest gradient.
static void assert_gradients(bool skip_two)
{
    static double values[COUNT];
    float x[BATCH * INPUTS], targets[BATCH * OUTPUTS];
    double largest = 0;
    clab_mlp_even(LAYERS, INPUTS, WIDTH, OUTPUTS, BATCH, widths);
    clab_data_share(&data, 0, BATCH, 0, 1, x, targets);
    for (int i = 0; i < COUNT; i++) {
        values[i] = left->values[i];
        largest = fmax(largest, fabs(left->gradients[i]));
    }
    assert_true(fabs(left->losses[0] - loss_of(values, x, targets, BATCH, skip_two)) < 1e-5);
    const double bound = 2 * LAYERS * (BATCH + WIDTH) * 0x1p-24 * largest + 1e-8, h = 1e-6;
    int moving = 0;
    for (int i = 0; i < COUNT; i++) {
        const double value = values[i];
        values[i] = value + h;
        const double above = loss_of(values, x, targets, BATCH, skip_two);
        values[i] = value - h;
        const double slope = (above - loss_of(values, x, targets, BATCH, skip_two)) / (2 * h);
        values[i] = value;
        moving += fabs(slope) > bound;
        if (!(fabs(slope - left->gradients[i]) <= bound))
            fail_msg("gradient %d is %g, where differences say %g (bound %g)", i, left->gradients[i], slope, bound);
    }
    assert_true(moving > COUNT / 4); // there was something to compare
}

static void test_gradients_are_those_of_central_differences(void **state)
{
    skipping = false;
    assert_int_equal(run_job(ranks(1), take_gradient), 0);
    assert_gradients(false);
}

static void test_gradients_of_a_network_with_a_skipped_layer_are_too(void **state)
{
    skipping = true;
    assert_int_equal(run_job(ranks(1), take_gradient), 0);
    assert_gradients(true);
    const int first = (INPUTS + 1) * WIDTH + (WIDTH + 1) * WIDTH;
    for (int i = first; i < first + (WIDTH + 1) * WIDTH; i++)
        assert_true(left->gradients[i] == 0);
}

// ---- unused parameters ---------------------------------------------------------------------------------------

// Whatever is ready may start the bucket in which the unused gradient is.
static int find_zeros(void *user, int parameter)
{
    const struct clab_parameter *unused = user;
    for (size_t i = 0; i < unused->count; i++)
        if (unused->gradient[i] != 0)
            return CLAB_EWRONG;
    return CLAB_OK;
}

static int look_at_unused(int rank)
{
    double loss;
    if (open_job(BATCH, &me) || pass(&me, 0, BATCH, 0, 1, false, NULL, &loss) || clab_mlp_skip(me.mlp, 1, true))
        return 1;
    const float *outputs;
    struct clab_parameter *p = clab_mlp_parameters(me.mlp);
    if (find_zeros(&p[2], 0) == CLAB_OK) // of the pass before
        return 2;
    if (clab_mlp_forward(me.mlp, me.x, &outputs) || clab_mlp_backward(me.mlp, me.gradient, false, find_zeros, &p[2]))
        return 3;
    close_job(&me);
    return 0;
}

static void test_unused_gradients_are_zero_before_any_other_is_ready(void **state)
{
    assert_int_equal(run_job(ranks(1), look_at_unused), 0);
}

// ---- data ----------------------------------------------------------------------------------------------------

static void test_the_global_batch_is_the_same_for_every_number_of_ranks(void **state)
{
    float all[BATCH * INPUTS], targets[BATCH * OUTPUTS], part[BATCH * INPUTS], wanted[BATCH * OUTPUTS];
    clab_data_share(&data, 5, BATCH, 0, 1, all, targets);
    for (int P = 1; P <= BATCH; P++)
        for (int r = 0; BATCH % P == 0 && r < P; r++) {
            const int rows = BATCH / P;
            clab_data_share(&data, 5, rows, r, P, part, wanted);
            assert_memory_equal(part, all + r * rows * INPUTS, (size_t)(rows * INPUTS) * sizeof(float));
            assert_memory_equal(wanted, targets + r * rows * OUTPUTS, (size_t)(rows * OUTPUTS) * sizeof(float));
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_gradients_are_those_of_central_differences),
        cmocka_unit_test(test_gradients_of_a_network_with_a_skipped_layer_are_too),
        cmocka_unit_test(test_unused_gradients_are_zero_before_any_other_is_ready),
        cmocka_unit_test(test_the_global_batch_is_the_same_for_every_number_of_ranks),
    };
    return cmocka_run_group_tests(tests, share_all, NULL);
}
