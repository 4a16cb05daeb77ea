// SPDX-License-Identifier: MIT
// PowerSGD against its authors' algorithms in float64, and what follows from them.

#include "tests/fixtures/compress_bench.h"

// One matrix in float64. at: where it lies in the bucket; q_at: where its Q does among all Q
struct reference {
    int rows, columns, at, q_at;
    double m[MOST_RANKS][ALL], error[MOST_RANKS][ALL], p[ALL], q[ALL], mean[ALL], result[ALL];
};

static void reference_draw(struct reference *f, int step)
{
    for (int i = 0; i < f->columns * THIN; i++)
        f->q[i] =
            (double)((int32_t)(clab_mix(clab_mix(9, (uint64_t)step), (uint64_t)(f->q_at + i)) >> 40)) / (1 << 23) - 1;
}

static void reference_orthonormal(struct reference *f)
{
    for (int c = 0; c < THIN; c++) {
        for (int o = 0; o < c; o++) {
            double along = 0;
            for (int i = 0; i < f->rows; i++)
                along += f->p[i * THIN + c] * f->p[i * THIN + o];
            for (int i = 0; i < f->rows; i++)
                f->p[i * THIN + c] -= along * f->p[i * THIN + o];
        }
        double size = 0;
        for (int i = 0; i < f->rows; i++)
            size += f->p[i * THIN + c] * f->p[i * THIN + c];
        for (int i = 0; i < f->rows; i++)
            f->p[i * THIN + c] /= sqrt(size);
    }
}

static void reference_products(struct reference *f, bool transposed)
{
    const double *by = transposed ? f->p : f->q;
    double *out = transposed ? f->q : f->p;
    memset(out, 0, (size_t)(transposed ? f->columns : f->rows) * THIN * sizeof *out);
    for (int i = 0; i < f->rows; i++)
        for (int j = 0; j < f->columns; j++)
            for (int c = 0; c < THIN; c++)
                out[(transposed ? j : i) * THIN + c] +=
                    f->mean[i * f->columns + j] * by[(transposed ? i : j) * THIN + c];
}

// Vogels et al., algorithms 1 and 2: the average of M Q is that of M, times Q.
static void reference_step(struct reference *f, int step)
{
    const int n = f->rows * f->columns;
    memset(f->mean, 0, sizeof f->mean);
    for (int r = 0; r < nranks; r++)
        for (int i = 0; i < n; i++) {
            f->m[r][i] = given(r, step, f->at + i) + f->error[r][i];
            f->mean[i] += f->m[r][i] / nranks;
        }
    reference_products(f, false);
    reference_orthonormal(f);
    reference_products(f, true);
    for (int i = 0; i < f->rows; i++)
        for (int j = 0; j < f->columns; j++) {
            f->result[i * f->columns + j] = 0;
            for (int c = 0; c < THIN; c++)
                f->result[i * f->columns + j] += f->p[i * THIN + c] * f->q[j * THIN + c];
        }
    for (int r = 0; r < nranks; r++)
        for (int i = 0; i < n; i++)
            f->error[r][i] = f->m[r][i] - f->result[i];
}

static int is_near(const struct reference *f, const float *got, double bound)
{
    for (int i = 0; i < f->rows * f->columns; i++)
        if (!(fabs(got[f->at + i] - f->result[i]) <= bound))
            return 0;
    return 1;
}

static int powersgd_is_as_the_reference(struct bench *b)
{
    static struct reference first = {.rows = ROWS0, .columns = COLUMNS0};
    static struct reference second = {.rows = ROWS1, .columns = COLUMNS1, .at = AT1, .q_at = COLUMNS0 * THIN};
    const int rank = clab_comm_rank(b->comm);
    reference_draw(&first, 0);
    reference_draw(&second, 0);
    for (int s = 0; s < NSTEPS; s++) {
        if (step_with(b, s))
            return 2;
        reference_step(&first, s);
        reference_step(&second, s);
        if (!is_near(&first, b->gradients, 2e-3) || !is_near(&second, b->gradients, 2e-3))
            return 3 + s;
        for (int i = 0; i < first.rows * first.columns; i++)
            if (fabs(b->residual[i] - first.error[rank][i]) > 4e-3)
                return 20;
        for (int i = AT_VECTOR; i < ALL; i++) { // what travels whole
            if (fabs(b->gradients[i] - given_by_all(s, i) / nranks) > 1e-6 || b->residual[i] != 0)
                return 21;
        }
    }
    return 0;
}

static void test_powersgd_is_what_its_authors_wrote(void **state)
{
    assert_ranks(1, 4, (struct clab_compression){.method = "powersgd", .first = -1, .rank = THIN},
                 powersgd_is_as_the_reference);
}

// P is orthonormal if and only if what is lost is orthogonal to what is sent: M - P P' M to P.
static int what_is_lost_is_orthogonal(struct bench *b)
{
    static double lost[ALL];
    for (int s = 0; s < NSTEPS; s++) {
        if (step_with(b, s))
            return 2;
        for (int i = 0; i < ROWS0 * COLUMNS0; i++)
            lost[i] = given_by_all(s, i) / nranks - b->gradients[i];
        for (int j = 0; j < COLUMNS0; j++)
            for (int k = 0; k < COLUMNS0; k++) {
                double along = 0;
                for (int i = 0; i < ROWS0; i++)
                    along += lost[i * COLUMNS0 + j] * b->gradients[i * COLUMNS0 + k];
                if (fabs(along) > 1e-5)
                    return 3;
            }
    }
    return 0;
}

static void test_columns_are_orthonormal(void **state)
{
    assert_ranks(3, 3, (struct clab_compression){.method = "powersgd", .first = -1, .rank = THIN, .forgets = true},
                 what_is_lost_is_orthogonal);
}

// A matrix of rank 1, then zero, then the first again: nothing is lost, and no NaN.
static int low_ranks_are_exact(struct bench *b)
{
    const int rank = clab_comm_rank(b->comm);
    for (int s = 0; s < 3; s++) {
        for (int i = 0; i < ALL; i++)
            b->gradients[i] = s == 1 ? 0 : (float)((i / COLUMNS0 % 5 + 1) * (i % COLUMNS0 - 3) * (rank + 1)) / 16;
        if (average(b))
            return 2;
        for (int i = 0; i < ROWS0 * COLUMNS0; i++) {
            const double mean = s == 1 ? 0 : (i / COLUMNS0 % 5 + 1) * (i % COLUMNS0 - 3) * ((nranks + 1) / 2.0) / 16;
            if (!(fabs(b->gradients[i] - mean) < 1e-5))
                return 3 + s;
        }
    }
    return 0;
}

static void test_a_matrix_of_low_rank_loses_nothing(void **state)
{
    assert_ranks(2, 2, (struct clab_compression){.method = "powersgd", .first = -1, .rank = THIN, .forgets = true},
                 low_ranks_are_exact);
}

// The same gradient again and again: how much of it is lost in the last step.
static int lose(struct bench *b)
{
    double lost = 0;
    for (int s = 0; s < 40; s++)
        if (step_with(b, 0))
            return 2;
    for (int i = 0; i < ROWS0 * COLUMNS0; i++)
        lost += pow(b->gradients[i] - given_by_all(0, i) / 2, 2);
    if (clab_comm_rank(b->comm) == 0)
        told->seconds[0] = sqrt(lost);
    return 0;
}

static double lost_by(bool is_cold)
{
    const struct clab_compression all = {
        .method = "powersgd", .first = -1, .rank = THIN, .forgets = true, .is_cold = is_cold};
    assert_ranks(2, 2, all, lose);
    return told->seconds[0];
}

static void test_a_warm_start_finds_the_best_matrix_of_that_rank(void **state)
{
    static struct reference best = {.rows = ROWS0, .columns = COLUMNS0, .q_at = 12345}; // draws of its own
    const double of_warm = lost_by(false), of_cold = lost_by(true);
    double least = 0;
    reference_draw(&best, 0);
    for (int s = 0; s < 2000; s++) {
        memset(best.error, 0, sizeof best.error);
        reference_step(&best, 0);
    }
    for (int i = 0; i < ROWS0 * COLUMNS0; i++)
        least += pow(best.result[i] - best.mean[i], 2);
    assert_true(of_warm < 1.01 * sqrt(least) && of_warm > 0.999 * sqrt(least));
    assert_true(of_cold > 1.02 * sqrt(least));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_powersgd_is_what_its_authors_wrote),
        cmocka_unit_test(test_columns_are_orthonormal),
        cmocka_unit_test(test_a_matrix_of_low_rank_loses_nothing),
        cmocka_unit_test(test_a_warm_start_finds_the_best_matrix_of_that_rank),
    };
    return cmocka_run_group_tests(tests, share_told, NULL);
}
