// SPDX-License-Identifier: MIT
// What a device computes of a training step: against sums in float64, within the bound of any order of adding; and the
// loops to the bit as one addition after another. And copies past the caches.
// Usage: test_device [--backend NAME -n 1]

#include "tests/fixtures/device_fixture.h"

enum { MOST = 150 };
static float a[MOST * MOST], b[MOST * MOST], c[MOST * MOST], start[MOST * MOST];

static float at_a(const struct clab_gemm *g, size_t i, size_t k)
{
    return g->transpose_a ? a[k * g->m + i] : a[i * g->k + k];
}

static float at_b(const struct clab_gemm *g, size_t k, size_t j)
{
    return g->transpose_b ? b[j * g->k + k] : b[k * g->n + j];
}

// One element as float64 has it, and the sum of magnitudes that bounds the error of a float32.
static double exact(const struct clab_gemm *g, size_t i, size_t j, double *magnitude_p)
{
    double sum = g->add ? start[i * g->n + j] : 0, magnitude = fabs(sum);
    for (size_t k = 0; k < g->k; k++) {
        const double product = (double)at_a(g, i, k) * at_b(g, k, j);
        sum += product;
        magnitude += fabs(product);
    }
    *magnitude_p = magnitude;
    return sum;
}

// Of k products and k additions in any order: gamma = (k + 1) u / (1 - (k + 1) u) of the sum of magnitudes, u = 2^-24
// (Higham 2002, section 3.1).
static void assert_right(const struct clab_gemm *g)
{
    const double u = 0x1p-24 * (double)(g->k + 1), gamma = u / (1 - u);
    for (size_t i = 0; i < g->m; i++)
        for (size_t j = 0; j < g->n; j++) {
            double magnitude;
            const double sum = exact(g, i, j, &magnitude), error = fabs(c[i * g->n + j] - sum);
            if (!(error <= gamma * magnitude))
                fail_msg("%s (%zu, %zu, %zu)%s%s%s: c[%zu][%zu] is %g off, more than %g", device->name, g->m, g->n,
                         g->k, g->transpose_a ? " a'" : "", g->transpose_b ? " b'" : "", g->add ? " added" : "", i, j,
                         error, gamma * magnitude);
        }
}

static void assert_one_after_another(const struct clab_gemm *g)
{
    for (size_t i = 0; i < g->m; i++)
        for (size_t j = 0; j < g->n; j++) {
            float sum = g->add ? start[i * g->n + j] : 0;
            for (size_t k = 0; k < g->k; k++)
                sum += at_a(g, i, k) * at_b(g, k, j);
            assert_true(sum == c[i * g->n + j]);
        }
}

static const size_t shapes[][3] = {{1, 1, 1},     {3, 2, 0},   {3, 5, 7},     {32, 32, 128},
                                   {33, 31, 129}, {2, 150, 1}, {150, 33, 150}};

static void multiply(const struct clab_gemm *shape, void (*look)(const struct clab_gemm *))
{
    struct clab_gemm g = *shape;
    for (size_t i = 0; i < g.m * g.n; i++)
        c[i] = g.add ? start[i] : NAN; // what is not added to must not be read
    g.a = bring(a, g.m * g.k * sizeof *a, 0);
    g.b = bring(b, g.k * g.n * sizeof *b, sizeof *b);
    g.c = bring(c, g.m * g.n * sizeof *c, 2 * sizeof *c);
    device->gemm(&g);
    fetch(c, g.c, g.m * g.n * sizeof *c);
    look(&g);
    give_back();
}

static void multiply_all(void (*look)(const struct clab_gemm *))
{
    fill_floats(a, MOST * MOST, 1);
    fill_floats(b, MOST * MOST, 2);
    fill_floats(start, MOST * MOST, 3);
    for (size_t s = 0; s < sizeof shapes / sizeof *shapes; s++)
        for (int how = 0; how < 8; how++)
            multiply(&(struct clab_gemm){.m = shapes[s][0],
                                         .n = shapes[s][1],
                                         .k = shapes[s][2],
                                         .transpose_a = how & 1,
                                         .transpose_b = how & 2,
                                         .add = how & 4},
                     look);
}

static void test_products_agree_with_float64_within_the_bound_of_any_order(void **state)
{
    multiply_all(assert_right);
}

static void test_loops_multiply_as_one_addition_after_another(void **state)
{
    device = &clab_device_plain;
    multiply_all(assert_one_after_another);
}

// ---- elementwise ---------------------------------------------------------------------------------------------
// Float32 is rounded once by each operation, and float64 holds a sum or product of two before that.

enum { ROWS = 301, COLUMNS = 67, ALL = ROWS * COLUMNS };
static float x[ALL], y[ALL], out[ALL];
static const size_t counts[] = {0, 1, 3, 4, 17, 1000, ALL};
enum { COUNTS = sizeof counts / sizeof *counts };

static void prepare(void)
{
    fill_floats(x, ALL, 4);
    fill_floats(y, ALL, 5);
    x[2] = NAN;
    x[3] = -0.0f;
    y[5] = INFINITY;
}

static void assert_same(float expected, float got, size_t i)
{
    if (!(expected == got && !signbit(expected) == !signbit(got)) && !(isnan(expected) && isnan(got)))
        fail_msg("%s: element %zu is %g, not %g", device->name, i, (double)got, (double)expected);
}

// One call for all counts and places; `run` has device memory, `reference` says what it makes of x and y.
static void try_pairs(void (*run)(size_t count, const float *x, float *y), float (*reference)(float x, float y))
{
    prepare();
    for (int n = 0; n < COUNTS; n++)
        for (size_t skip = 0; skip < 9; skip++) {
            const size_t count = counts[n], bytes = count * sizeof(float);
            float *there = bring(y, bytes, skip % 3 * sizeof(float));
            run(count, bring(x, bytes, skip / 3 * sizeof(float)), there);
            fetch(out, there, bytes);
            for (size_t i = 0; i < count; i++)
                assert_same(reference(x[i], y[i]), out[i], i);
            give_back();
        }
}

static void step(size_t count, const float *from, float *to)
{
    device->axpy(count, -0.3f, from, to);
}

static float stepped(float from, float to)
{
    const float product = (float)((double)-0.3f * from);
    return (float)((double)to + product);
}

static void test_a_step_of_sgd_rounds_product_and_sum(void **state)
{
    try_pairs(step, stepped);
}

static float passed(float from, float gradient)
{
    return from > 0 ? gradient : 0;
}

static void test_a_gradient_passes_where_relu_did(void **state)
{
    try_pairs(device->relu_gradient, passed);
}

static void rectify(size_t count, const float *unused, float *to)
{
    device->relu(count, to);
}

static float rectified(float unused, float value)
{
    return value < 0 ? 0 : value;
}

static void test_relu_leaves_what_is_positive_or_no_number(void **state)
{
    try_pairs(rectify, rectified);
    const float nan = NAN;
    float *there = bring(&nan, sizeof nan, 0), back;
    device->relu(1, there);
    fetch(&back, there, sizeof back);
    assert_true(isnan(back));
}

static void test_a_bias_is_added_to_every_row(void **state)
{
    prepare();
    float *there = bring(y, sizeof y, 4);
    device->add_bias(ROWS, COLUMNS, bring(x, COLUMNS * sizeof *x, 0), there);
    device->add_bias(0, COLUMNS, NULL, there);
    fetch(out, there, sizeof out);
    for (size_t i = 0; i < ALL; i++)
        assert_same((float)((double)y[i] + x[i % COLUMNS]), out[i], i);
}

// Of ROWS numbers, added in any order.
static void test_rows_are_summed(void **state)
{
    fill_floats(y, ALL, 6);
    fill_floats(x, COLUMNS, 7);
    for (int add = 0; add < 2; add++) {
        float *sums = bring(x, COLUMNS * sizeof *x, 0);
        device->sum_rows(ROWS, COLUMNS, bring(y, sizeof y, 0), add, sums);
        fetch(out, sums, COLUMNS * sizeof *out);
        for (size_t j = 0; j < COLUMNS; j++) {
            double sum = add ? x[j] : 0, magnitude = fabs(sum);
            for (size_t i = 0; i < ROWS; i++) {
                sum += y[i * COLUMNS + j];
                magnitude += fabs(y[i * COLUMNS + j]);
            }
            assert_true(fabs(out[j] - sum) <= ROWS * 0x1p-24 * magnitude);
        }
    }
    float *none = bring(x, COLUMNS * sizeof *x, 0);
    device->sum_rows(0, COLUMNS, NULL, false, none);
    fetch(out, none, COLUMNS * sizeof *out);
    for (size_t j = 0; j < COLUMNS; j++)
        assert_true(out[j] == 0);
}

// The squares are of float32 differences, added in float64: in any order to 1e-12.
static void test_squares_are_summed_in_float64_with_their_gradient(void **state)
{
    fill_floats(x, ALL, 8);
    fill_floats(y, ALL, 9);
    for (int n = 0; n < COUNTS; n++) {
        const size_t count = counts[n], bytes = count * sizeof(float);
        float *const from = bring(y, bytes, 4), *const target = bring(x, bytes, 0), *const gradient = take(bytes);
        const double mean = device->squares(count, from, target, gradient);
        double sum = 0;
        fetch(out, gradient, bytes);
        for (size_t i = 0; i < count; i++) {
            const float difference = y[i] - x[i];
            sum += (double)difference * difference;
            assert_same(2 * difference / (float)count, out[i], i);
        }
        assert_true(fabs(mean - (count ? sum / (double)count : 0)) <= 1e-12 * mean);
        assert_true(mean == device->squares(count, from, target, gradient)); // the same call, the same bits
        give_back();
    }
}

// As copy does, from any byte to any byte, and nothing beside: where nothing is streamed, and where there is something.
static void test_bytes_are_copied_past_the_caches(void **state)
{
    enum { EDGE = 65, MOST_BYTES = (1 << 20) + 4321, ROOM = EDGE + MOST_BYTES + EDGE };
    static const size_t sizes[] = {0, 1, 4095, (1 << 20) - 1, 1 << 20, MOST_BYTES};
    static unsigned char bytes[ROOM], back[ROOM], zeros[ROOM];
    for (size_t i = 0; i < ROOM; i++)
        bytes[i] = (unsigned char)(i * 7 + i / 256);
    for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++) {
        const size_t n = sizes[k];
        unsigned char *const one = bring(bytes, ROOM, 3), *const two = bring(zeros, ROOM, 0);
        device->copy_nontemporal(two + EDGE, one + 2, n);
        fetch(back, two, ROOM);
        assert_memory_equal(back, zeros, EDGE);
        assert_memory_equal(back + EDGE, bytes + 2, n);
        assert_memory_equal(back + EDGE + n, zeros, ROOM - EDGE - n);
        give_back();
    }
    assert_int_equal(device->finish(), CLAB_OK);
}

static void work(void *of)
{
    device->set(of, 0, sizeof x);
}

static void test_work_is_timed(void **state)
{
    const double seconds = device->time(work, take(sizeof x));
    assert_true(seconds >= 0 && seconds < 60);
}

// More than the least that a backend for GPUs has of its library, which may unmap it at once.
static void test_memory_may_be_freed_while_it_is_used(void **state)
{
    enum { BYTES = 4 << 20 };
    const struct clab_random random = {.seed = 1, .type = CLAB_F32, .nranks = 1};
    void *const memory = take(BYTES);
    for (int i = 0; i < 8; i++)
        device->fill(&random, 0, 0, BYTES / sizeof(float), memory);
    give_back();
    assert_int_equal(device->finish(), CLAB_OK);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        DEVICE_TEST(test_products_agree_with_float64_within_the_bound_of_any_order),
        DEVICE_TEST(test_a_step_of_sgd_rounds_product_and_sum),
        DEVICE_TEST(test_a_gradient_passes_where_relu_did),
        DEVICE_TEST(test_relu_leaves_what_is_positive_or_no_number),
        DEVICE_TEST(test_a_bias_is_added_to_every_row),
        DEVICE_TEST(test_rows_are_summed),
        DEVICE_TEST(test_squares_are_summed_in_float64_with_their_gradient),
        DEVICE_TEST(test_bytes_are_copied_past_the_caches),
        DEVICE_TEST(test_work_is_timed),
        DEVICE_TEST(test_memory_may_be_freed_while_it_is_used),
    };
    const struct CMUnitTest loops[] = {DEVICE_TEST(test_loops_multiply_as_one_addition_after_another)};
    return (argc == 1 ? cmocka_run_group_tests(loops, NULL, NULL) : 0) +
           run_on_devices(argc, argv, tests, sizeof tests / sizeof *tests, NULL);
}
