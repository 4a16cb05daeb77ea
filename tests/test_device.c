// SPDX-License-Identifier: MIT
// What a device computes of a training step: against sums in float64, within the bound of any order of adding; and the loops to the
// bit as one addition after another.

#include "capture.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>

#include "backend.h"

enum { MOST = 150 };
static float a[MOST * MOST], b[MOST * MOST], c[MOST * MOST], start[MOST * MOST];

static void fill(float *values, size_t n, uint64_t seed)
{
    for (size_t i = 0; i < n; i++) {
        seed = seed * 6364136223846793005u + 1442695040888963407u;
        values[i] = (float)((double)(int32_t)(seed >> 32) / (1u << 31));
    }
}

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
static void assert_right(const struct clab_gemm *g, const char *name)
{
    const double u = 0x1p-24 * (double)(g->k + 1), gamma = u / (1 - u);
    for (size_t i = 0; i < g->m; i++)
        for (size_t j = 0; j < g->n; j++) {
            double magnitude;
            const double sum = exact(g, i, j, &magnitude), error = fabs(g->c[i * g->n + j] - sum);
            if (!(error <= gamma * magnitude))
                fail_msg("%s (%zu, %zu, %zu)%s%s%s: c[%zu][%zu] is %g off, more than %g", name, g->m, g->n, g->k,
                         g->transpose_a ? " a'" : "", g->transpose_b ? " b'" : "", g->add ? " added" : "", i, j, error,
                         gamma * magnitude);
        }
}

static void assert_one_after_another(const struct clab_gemm *g)
{
    for (size_t i = 0; i < g->m; i++)
        for (size_t j = 0; j < g->n; j++) {
            float sum = g->add ? start[i * g->n + j] : 0;
            for (size_t k = 0; k < g->k; k++)
                sum += at_a(g, i, k) * at_b(g, k, j);
            assert_true(sum == g->c[i * g->n + j]);
        }
}

static const size_t shapes[][3] = {{1, 1, 1}, {3, 5, 7}, {32, 32, 128}, {33, 31, 129}, {2, 150, 1}, {150, 33, 150}};

static void multiply_all(const struct clab_device *device, void (*look)(const struct clab_gemm *, const char *))
{
    fill(a, MOST * MOST, 1);
    fill(b, MOST * MOST, 2);
    fill(start, MOST * MOST, 3);
    for (size_t s = 0; s < sizeof shapes / sizeof *shapes; s++)
        for (int how = 0; how < 8; how++) {
            const struct clab_gemm g = {.m = shapes[s][0],
                                        .n = shapes[s][1],
                                        .k = shapes[s][2],
                                        .a = a,
                                        .b = b,
                                        .c = c,
                                        .transpose_a = how & 1,
                                        .transpose_b = how & 2,
                                        .add = how & 4};
            for (size_t i = 0; i < g.m * g.n; i++)
                c[i] = g.add ? start[i] : NAN; // what is not added to must not be read
            device->gemm(&g);
            look(&g, device->name);
        }
}

static void look_twice(const struct clab_gemm *g, const char *name)
{
    assert_right(g, name);
    assert_one_after_another(g);
}

static void test_loops_multiply_as_one_addition_after_another(void **state)
{
    (void)state;
    multiply_all(&clab_device_plain, look_twice);
}

static void test_blas_and_loops_agree_within_the_bound_of_any_order(void **state)
{
    (void)state;
    if (!strcmp(clab_device_cpu_products(), "plain loops")) {
        print_message("skip: this build or machine has no OpenBLAS\n");
        skip();
    }
    multiply_all(&clab_device_cpu, assert_right);
}

static void test_elementwise_calls_do_what_their_header_says(void **state)
{
    (void)state;
    const float x[] = {-1, 0, 2, 3, -4, 5}, bias[] = {1, 10, 100};
    float y[6], sums[3] = {1, 1, 1};
    memcpy(y, x, sizeof y);
    clab_device_plain.add_bias(2, 3, bias, y);
    const float with_bias[] = {0, 10, 102, 4, 6, 105};
    assert_memory_equal(y, with_bias, sizeof y);
    clab_device_plain.sum_rows(2, 3, x, true, sums);
    assert_true(sums[0] == 3 && sums[1] == -3 && sums[2] == 8);
    clab_device_plain.sum_rows(2, 3, x, false, sums);
    assert_true(sums[0] == 2 && sums[1] == -4 && sums[2] == 7);
    memcpy(y, x, sizeof y);
    clab_device_plain.relu(6, y);
    const float positive[] = {0, 0, 2, 3, 0, 5};
    assert_memory_equal(y, positive, sizeof y);
    float dy[] = {1, 1, 1, 1, 1, 1};
    clab_device_plain.relu_gradient(6, y, dy);
    const float left[] = {0, 0, 1, 1, 0, 1};
    assert_memory_equal(dy, left, sizeof dy);
    clab_device_plain.axpy(6, -2, dy, y);
    const float stepped[] = {0, 0, 0, 1, 0, 3};
    assert_memory_equal(y, stepped, sizeof y);
    const float target[] = {0, 1, 0, 0, 0, 0};
    assert_true(clab_device_plain.squares(6, y, target, dy) == 11.0 / 6);
    assert_true(dy[1] == -2.0f / 6 && dy[3] == 2.0f / 6 && dy[5] == 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_loops_multiply_as_one_addition_after_another),
        cmocka_unit_test(test_blas_and_loops_agree_within_the_bound_of_any_order),
        cmocka_unit_test(test_elementwise_calls_do_what_their_header_says),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
