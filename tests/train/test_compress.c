// SPDX-License-Identifier: MIT
// Compressed gradients against a reference in float64 that all ranks compute by themselves, and training with them.

#include "tests/fixtures/trainee.h"

#include <math.h>

#include "core/base/mix.h"
#include "core/base/numbers/half.h"
#include "tests/fixtures/needs.h"

// A bucket of two matrices, a vector, and a matrix that two thin ones would not make smaller.
enum { ROWS0 = 24, COLUMNS0 = 18, ROWS1 = 10, COLUMNS1 = 40, VECTOR = 7, SMALL = 9, THIN = 3 };
enum { ALL = ROWS0 * COLUMNS0 + ROWS1 * COLUMNS1 + VECTOR + SMALL, MOST_RANKS = 4, NSTEPS = 6 };

// In the order of their numbers; they lie in the bucket from the last to the first.
static struct clab_parameter parameters[] = {
    {.count = SMALL, .rows = 3},
    {.count = VECTOR},
    {.count = ROWS1 * COLUMNS1, .rows = ROWS1},
    {.count = ROWS0 * COLUMNS0, .rows = ROWS0},
};
enum { AT1 = ROWS0 * COLUMNS0, AT_VECTOR = AT1 + ROWS1 * COLUMNS1 };

static int nranks;
static struct clab_compression how;

// Element i of a rank's gradient: sizes of many magnitudes, and for whoever looks at columns, none like another.
static float given(int rank, int step, int i)
{
    const uint64_t h = clab_mix(clab_mix((uint64_t)rank + 1, (uint64_t)step), (uint64_t)i);
    const double x = (double)(int32_t)h / 0x1p31;
    return (float)(x * x * x * (rank + 1)); // scales of ranks differ
}

// What a test's rank works on.
struct bench {
    struct clab_job *job;
    struct clab_comm *comm;
    float *gradients; // (ALL)
    struct clab_compressor *compressor;
};

static int open_bench(struct bench *b)
{
    char name[] = "test", *argv[] = {name, NULL};
    int argc = 1;
    CLAB_TRY(clab_job_open(&argc, argv, &b->job));
    CLAB_TRY(clab_comm_create(b->job, &b->comm));
    CLAB_TRY(clab_alloc(b->job, ALL * sizeof(float), (void **)&b->gradients));
    return clab_compressor_create(b->comm, &how, &(struct clab_compressible){parameters, 0, 3, b->gradients},
                                  &b->compressor);
}

static void close_bench(struct bench *b)
{
    clab_compressor_destroy(b->compressor);
    clab_free(b->job, b->gradients);
    clab_comm_destroy(b->comm);
    clab_job_close(b->job);
}

static int average(struct bench *b)
{
    struct clab_work *work;
    CLAB_TRY(clab_compressor_start(b->compressor, &work));
    CLAB_TRY(clab_work_wait(work));
    return clab_compressor_finish(b->compressor);
}

static int step_with(struct bench *b, int step)
{
    for (int i = 0; i < ALL; i++)
        b->gradients[i] = given(clab_comm_rank(b->comm), step, i);
    return average(b);
}

static void assert_all_ranks(int n, body_fn body)
{
    nranks = n;
    const int status = run_job(ranks(n), body);
    if (status)
        fail_msg("%s, %d ranks: a rank ended with %d", how.method, n, status);
}

// ---- int8 ----------------------------------------------------------------------------------------------------

static int int8_is_as_counted_by_hand(int rank)
{
    struct bench b;
    float most = 0;
    if (open_bench(&b) || step_with(&b, 0))
        return 1;
    for (int r = 0; r < nranks; r++)
        for (int i = 0; i < ALL; i++)
            most = fmaxf(most, fabsf(given(r, 0, i)));
    const float scale = most / 127;
    int beyond = 0;
    for (int i = 0; i < ALL; i++) {
        long sum = 0;
        for (int r = 0; r < nranks; r++)
            sum += lrintf(given(r, 0, i) / scale);
        beyond += labs(sum) > 127;
        if (b.gradients[i] != rintf((float)sum / (float)nranks) * scale)
            return 2;
    }
    (void)rank;
    close_bench(&b);
    return beyond ? 0 : 3; // some sums would not fit eight bits
}

static void test_int8_adds_codes_of_one_scale_exactly(void **state)
{
    (void)state;
    how = (struct clab_compression){.method = "int8", .forgets = true};
    for (int n = 2; n <= 4; n++)
        assert_all_ranks(n, int8_is_as_counted_by_hand);
}

static int infinite_once(int rank)
{
    struct bench b;
    if (open_bench(&b) || step_with(&b, 0))
        return 1;
    for (int i = 0; i < ALL; i++)
        b.gradients[i] = given(rank, 1, i);
    if (rank == 1)
        b.gradients[5] = INFINITY;
    if (average(&b) || isfinite(b.gradients[5]))
        return 2;
    if (step_with(&b, 2))
        return 3;
    for (int i = 0; i < ALL; i++)
        if (!isfinite(b.gradients[i]) || !isfinite(clab_compressor_residual(b.compressor)[i]))
            return 4;
    close_bench(&b);
    return 0;
}

static void test_an_infinite_gradient_is_seen_once_and_does_not_stay(void **state)
{
    (void)state;
    const char *const keeping[] = {"int8", "powersgd", "topk"};
    for (int m = 0; m < 3; m++) {
        how = (struct clab_compression){.method = keeping[m], .first = -1, .part = 20};
        assert_all_ranks(2, infinite_once);
    }
}

// ---- 16 bits -------------------------------------------------------------------------------------------------

static int halves_are_near(int rank)
{
    // Each of P values is rounded once, and P - 1 sums: unit roundoff 2^-11, or 2^-8 of bf16.
    const double u = !strcmp(how.method, "fp16") ? 0x1p-11 : 0x1p-8, least = nranks * 0x1p-25;
    struct bench b;
    (void)rank;
    if (open_bench(&b) || step_with(&b, 0))
        return 1;
    for (int i = 0; i < ALL; i++) {
        double sum = 0, sizes = 0;
        for (int r = 0; r < nranks; r++)
            sum += given(r, 0, i) / (double)nranks, sizes += fabs(given(r, 0, i) / (double)nranks);
        if (!(fabs(b.gradients[i] - sum) <= 1.01 * nranks * u * sizes + least))
            return 2;
        if ((!strcmp(how.method, "fp16") ? f16_widen(f16_narrow(b.gradients[i]))
                                         : bf16_widen(bf16_narrow(b.gradients[i]))) != b.gradients[i])
            return 3; // it is a number of 16 bits
    }
    close_bench(&b);
    return 0;
}

static void test_halves_are_rounded_averages(void **state)
{
    (void)state;
    for (int n = 2; n <= 4; n++) {
        how = (struct clab_compression){.method = "fp16"};
        assert_all_ranks(n, halves_are_near);
        how = (struct clab_compression){.method = "bf16"};
        assert_all_ranks(n, halves_are_near);
    }
}

// ---- error feedback ------------------------------------------------------------------------------------------

// sums: (ALL), over all ranks
static int sum_of_all(struct bench *b, const float *values, double *sums)
{
    for (int i = 0; i < ALL; i++)
        sums[i] = values ? values[i] : 0;
    return clab_allreduce(b->comm, sums, sums, ALL, CLAB_F64, CLAB_SUM);
}

static int nothing_is_lost(int rank)
{
    static double before[ALL], after[ALL];
    struct bench b;
    double kept = 0;
    if (open_bench(&b))
        return 1;
    for (int s = 0; s < NSTEPS; s++) {
        if (sum_of_all(&b, clab_compressor_residual(b.compressor), before) || step_with(&b, s) ||
            sum_of_all(&b, clab_compressor_residual(b.compressor), after))
            return 2;
        for (int i = 0; i < ALL; i++) {
            double sum = before[i];
            for (int r = 0; r < nranks; r++)
                sum += given(r, s, i);
            kept = fmax(kept, fabs(after[i]));
            if (fabs(nranks * (double)b.gradients[i] + after[i] - sum) > 2e-5)
                return 3;
        }
    }
    (void)rank;
    close_bench(&b);
    return kept > 1e-3 ? 0 : 4; // there was something to keep
}

static void test_what_is_sent_and_what_is_kept_are_the_gradients(void **state)
{
    (void)state;
    const char *const keeping[] = {"int8", "powersgd", "topk"};
    for (int m = 0; m < 3; m++)
        for (int n = 2; n <= 4; n++) {
            how = (struct clab_compression){.method = keeping[m], .first = -1, .rank = THIN, .part = 20};
            assert_all_ranks(n, nothing_is_lost);
        }
}

// ---- PowerSGD ------------------------------------------------------------------------------------------------

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

static int powersgd_is_as_the_reference(int rank)
{
    static struct reference first = {.rows = ROWS0, .columns = COLUMNS0};
    static struct reference second = {.rows = ROWS1, .columns = COLUMNS1, .at = AT1, .q_at = COLUMNS0 * THIN};
    struct bench b;
    if (open_bench(&b))
        return 1;
    reference_draw(&first, 0);
    reference_draw(&second, 0);
    for (int s = 0; s < NSTEPS; s++) {
        if (step_with(&b, s))
            return 2;
        reference_step(&first, s);
        reference_step(&second, s);
        if (!is_near(&first, b.gradients, 2e-3) || !is_near(&second, b.gradients, 2e-3))
            return 3 + s;
        for (int i = 0; i < first.rows * first.columns; i++)
            if (fabs(clab_compressor_residual(b.compressor)[i] - first.error[rank][i]) > 4e-3)
                return 20;
        for (int i = AT_VECTOR; i < ALL; i++) { // what travels whole
            double mean = 0;
            for (int r = 0; r < nranks; r++)
                mean += given(r, s, i) / (double)nranks;
            if (fabs(b.gradients[i] - mean) > 1e-6 || clab_compressor_residual(b.compressor)[i] != 0)
                return 21;
        }
    }
    close_bench(&b);
    return 0;
}

static void test_powersgd_is_what_its_authors_wrote(void **state)
{
    (void)state;
    how = (struct clab_compression){.method = "powersgd", .first = -1, .rank = THIN};
    for (int n = 1; n <= 4; n++)
        assert_all_ranks(n, powersgd_is_as_the_reference);
}

// P is orthonormal if and only if what is lost is orthogonal to what is sent: M - P P' M to P.
static int what_is_lost_is_orthogonal(int rank)
{
    struct bench b;
    static double lost[ALL];
    (void)rank;
    if (open_bench(&b))
        return 1;
    for (int s = 0; s < NSTEPS; s++) {
        if (step_with(&b, s))
            return 2;
        for (int i = 0; i < ROWS0 * COLUMNS0; i++) {
            lost[i] = -b.gradients[i];
            for (int r = 0; r < nranks; r++)
                lost[i] += given(r, s, i) / (double)nranks;
        }
        for (int j = 0; j < COLUMNS0; j++)
            for (int k = 0; k < COLUMNS0; k++) {
                double along = 0;
                for (int i = 0; i < ROWS0; i++)
                    along += lost[i * COLUMNS0 + j] * b.gradients[i * COLUMNS0 + k];
                if (fabs(along) > 1e-5)
                    return 3;
            }
    }
    close_bench(&b);
    return 0;
}

static void test_columns_are_orthonormal(void **state)
{
    (void)state;
    how = (struct clab_compression){.method = "powersgd", .first = -1, .rank = THIN, .forgets = true};
    assert_all_ranks(3, what_is_lost_is_orthogonal);
}

// A matrix of rank 1, then zero, then the first again: nothing is lost, and no NaN.
static int low_ranks_are_exact(int rank)
{
    struct bench b;
    if (open_bench(&b))
        return 1;
    for (int s = 0; s < 3; s++) {
        for (int i = 0; i < ALL; i++)
            b.gradients[i] = s == 1 ? 0 : (float)((i / COLUMNS0 % 5 + 1) * (i % COLUMNS0 - 3) * (rank + 1)) / 16;
        if (average(&b))
            return 2;
        for (int i = 0; i < ROWS0 * COLUMNS0; i++) {
            const double mean = s == 1 ? 0 : (i / COLUMNS0 % 5 + 1) * (i % COLUMNS0 - 3) * ((nranks + 1) / 2.0) / 16;
            if (!(fabs(b.gradients[i] - mean) < 1e-5))
                return 3 + s;
        }
    }
    close_bench(&b);
    return 0;
}

static void test_a_matrix_of_low_rank_loses_nothing(void **state)
{
    (void)state;
    how = (struct clab_compression){.method = "powersgd", .first = -1, .rank = THIN, .forgets = true};
    assert_all_ranks(2, low_ranks_are_exact);
}

static double kept_of_warm, kept_of_cold;

// The same gradient again and again: how much of it is lost in the last step.
static int lose(int rank)
{
    struct bench b;
    double lost = 0;
    if (open_bench(&b))
        return 1;
    for (int s = 0; s < 40; s++)
        if (step_with(&b, 0))
            return 2;
    for (int i = 0; i < ROWS0 * COLUMNS0; i++)
        lost += pow(b.gradients[i] - (given(0, 0, i) + given(1, 0, i)) / 2, 2);
    if (rank == 0)
        left->moved = sqrt(lost);
    close_bench(&b);
    return 0;
}

static void test_a_warm_start_finds_the_best_matrix_of_that_rank(void **state)
{
    (void)state;
    static struct reference best = {.rows = ROWS0, .columns = COLUMNS0, .q_at = 12345}; // draws of its own
    double least = 0;
    how = (struct clab_compression){.method = "powersgd", .first = -1, .rank = THIN, .forgets = true};
    assert_all_ranks(2, lose);
    kept_of_warm = left->moved;
    how.is_cold = true;
    assert_all_ranks(2, lose);
    kept_of_cold = left->moved;
    reference_draw(&best, 0);
    for (int s = 0; s < 2000; s++) {
        memset(best.error, 0, sizeof best.error);
        reference_step(&best, 0);
    }
    for (int i = 0; i < ROWS0 * COLUMNS0; i++)
        least += pow(best.result[i] - best.mean[i], 2);
    assert_true(kept_of_warm < 1.01 * sqrt(least) && kept_of_warm > 0.999 * sqrt(least));
    assert_true(kept_of_cold > 1.02 * sqrt(least));
}

static int first_steps_are_whole(int rank)
{
    struct bench b;
    (void)rank;
    if (open_bench(&b))
        return 1;
    for (int s = 0; s < 3; s++) {
        double most = 0;
        if (step_with(&b, s))
            return 2;
        for (int i = 0; i < ALL; i++)
            most = fmax(most, fabs(b.gradients[i] - (given(0, s, i) + given(1, s, i)) / 2.0));
        if ((s < 2) != (most < 1e-6))
            return 3 + s;
    }
    close_bench(&b);
    return 0;
}

static void test_the_first_steps_travel_whole(void **state)
{
    (void)state;
    how = (struct clab_compression){.method = "powersgd", .first = 2};
    assert_all_ranks(2, first_steps_are_whole);
    how = (struct clab_compression){.method = "topk", .first = 2};
    assert_all_ranks(2, first_steps_are_whole);
}

// ---- top-k ---------------------------------------------------------------------------------------------------

static int by_size(const void *a, const void *b)
{
    const float x = fabsf(*(const float *)a), y = fabsf(*(const float *)b);
    return (x < y) - (x > y);
}

static int the_largest_are_sent(int rank)
{
    struct bench b;
    static float sorted[MOST_RANKS][ALL];
    const int k = (ALL + how.part - 1) / how.part;
    (void)rank;
    if (open_bench(&b) || step_with(&b, 0))
        return 1;
    for (int r = 0; r < nranks; r++) {
        for (int i = 0; i < ALL; i++)
            sorted[r][i] = given(r, 0, i);
        qsort(sorted[r], ALL, sizeof(float), by_size);
    }
    for (int i = 0; i < ALL; i++) {
        float sum = 0;
        for (int r = 0; r < nranks; r++)
            sum += fabsf(given(r, 0, i)) >= fabsf(sorted[r][k - 1]) ? given(r, 0, i) / (float)nranks : 0;
        if (b.gradients[i] != sum)
            return 2;
    }
    close_bench(&b);
    return 0;
}

static void test_topk_sends_the_largest(void **state)
{
    (void)state;
    how = (struct clab_compression){.method = "topk", .first = -1, .part = 20, .forgets = true};
    for (int n = 2; n <= 4; n++)
        assert_all_ranks(n, the_largest_are_sent);
}

static int equal_ones(int rank)
{
    struct bench b;
    int sent = 0;
    (void)rank;
    if (open_bench(&b))
        return 1;
    for (int i = 0; i < ALL; i++)
        b.gradients[i] = i % 2 ? 1 : -1;
    if (average(&b))
        return 2;
    for (int i = 0; i < ALL; i++)
        sent += b.gradients[i] != 0;
    close_bench(&b);
    return sent == (ALL + how.part - 1) / how.part ? 0 : 3;
}

static void test_of_equal_ones_as_many_are_sent(void **state)
{
    (void)state;
    how = (struct clab_compression){.method = "topk", .first = -1, .part = 20};
    assert_all_ranks(2, equal_ones);
}

// ---- training ------------------------------------------------------------------------------------------------

static const float rate = 0.05f;
enum { TRAINED = 30 };

// The loss of the last step is left in losses[0].
static int train(int rank)
{
    struct clab_ddp *ddp;
    const struct clab_ddp_options options = {.cap = 600, .first_cap = 100, .compress = &how};
    double loss = 0;
    int other;
    if (open_job(BATCH / nranks, &me) ||
        clab_ddp_create(me.comm, clab_mlp_parameters(me.mlp), 2 * LAYERS, &options, &ddp))
        return 1;
    for (int s = 0; s < TRAINED; s++)
        if (clab_ddp_begin(ddp, true) || pass(&me, 0, BATCH / nranks, rank, nranks, false, ddp, &loss) ||
            clab_ddp_finish(ddp) || clab_mlp_step(me.mlp, rate))
            return 2;
    if (clab_parameters_compare(me.comm, clab_mlp_parameters(me.mlp), 2 * LAYERS, &other) || other != -1)
        return 3;
    if (clab_allreduce(me.comm, &loss, &loss, 1, CLAB_F64, CLAB_AVG))
        return 4;
    if (rank == 0)
        left->losses[0] = loss;
    keep(&me);
    clab_ddp_destroy(ddp);
    close_job(&me);
    return 0;
}

static double loss_of(int n, struct clab_compression compression)
{
    how = compression;
    assert_all_ranks(n, train);
    return left->losses[0];
}

static void test_all_methods_train_and_ranks_stay_equal_to_the_bit(void **state)
{
    (void)state;
    for (int n = 2; n <= 4; n++) {
        const double whole = loss_of(n, (struct clab_compression){.method = "none"});
        for (int m = 1; m < CLAB_COMPRESSIONS; m++) {
            const struct clab_compression c = {.method = clab_compression_name(m), .rank = 1, .part = 10};
            const double loss = loss_of(n, c);
            if (!(fabs(loss - whole) < (m < 4 ? 0.01 : 0.1) * whole))
                fail_msg("%s, %d ranks: the loss is %g, of whole gradients %g", c.method, n, loss, whole);
        }
    }
}

static void test_what_is_forgotten_is_missing(void **state)
{
    (void)state;
    const struct clab_compression c = {.method = "topk", .first = -1, .part = 50};
    struct clab_compression forgets = c;
    forgets.forgets = true;
    const double whole = loss_of(2, (struct clab_compression){0}), kept = loss_of(2, c), lost = loss_of(2, forgets);
    assert_true(whole < kept && kept < 0.9 * lost);
}

static void test_virtual_ranks_train_the_same_to_the_bit_twice(void **state)
{
    (void)state;
    needs_inih();
    static float values[COUNT];
    setenv("CLAB_BACKEND", "sim", 1);
    setenv("CLAB_NET", "dgx-h100", 1);
    loss_of(4, (struct clab_compression){.method = "powersgd", .rank = 2});
    memcpy(values, left->values, sizeof values);
    loss_of(4, (struct clab_compression){.method = "powersgd", .rank = 2});
    unsetenv("CLAB_BACKEND");
    unsetenv("CLAB_NET");
    assert_memory_equal(values, left->values, sizeof values);
}

static int create_unknown(int rank)
{
    struct bench b;
    (void)rank;
    return open_bench(&b) == CLAB_EINVAL ? 0 : 1;
}

static void test_an_unknown_method_is_refused_with_those_there_are(void **state)
{
    (void)state;
    how = (struct clab_compression){.method = "int4"};
    const struct capture err = capture_begin(STDERR_FILENO);
    const int status = run_job(ranks(1), create_unknown);
    const char *text = capture_end(err);
    assert_int_equal(status, 0);
    assert_non_null(strstr(text, "there is no compression 'int4'; there are: none fp16 bf16 int8 powersgd topk"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_int8_adds_codes_of_one_scale_exactly),
        cmocka_unit_test(test_an_infinite_gradient_is_seen_once_and_does_not_stay),
        cmocka_unit_test(test_halves_are_rounded_averages),
        cmocka_unit_test(test_what_is_sent_and_what_is_kept_are_the_gradients),
        cmocka_unit_test(test_powersgd_is_what_its_authors_wrote),
        cmocka_unit_test(test_columns_are_orthonormal),
        cmocka_unit_test(test_a_matrix_of_low_rank_loses_nothing),
        cmocka_unit_test(test_a_warm_start_finds_the_best_matrix_of_that_rank),
        cmocka_unit_test(test_the_first_steps_travel_whole),
        cmocka_unit_test(test_topk_sends_the_largest),
        cmocka_unit_test(test_of_equal_ones_as_many_are_sent),
        cmocka_unit_test(test_all_methods_train_and_ranks_stay_equal_to_the_bit),
        cmocka_unit_test(test_what_is_forgotten_is_missing),
        cmocka_unit_test(test_virtual_ranks_train_the_same_to_the_bit_twice),
        cmocka_unit_test(test_an_unknown_method_is_refused_with_those_there_are),
    };
    return cmocka_run_group_tests(tests, share_all, NULL);
}
