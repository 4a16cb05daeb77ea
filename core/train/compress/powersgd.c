// SPDX-License-Identifier: MIT
// PowerSGD: a matrix of gradients as the product of two thin ones, by one step of power iteration per training step.
// - All thin matrices of a bucket lie together, so that two allreduces are enough: of all P and of what travels whole,
//   and then of all Q.
// - The Q of the step before is near the best one, since gradients change slowly (warm start).
// - A column of P that depends on those before it becomes 0: the gradient's rank is lower. Its Q is then drawn anew, or
//   it would stay 0.
// Source: Vogels, Karimireddy and Jaggi 2019, algorithms 1 and 2.
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/mix.h"
#include "core/train/compress/method.h"

enum { SEED = 9 };

// A matrix of the bucket, or an array that travels whole: then rows is 0.
struct matrix {
    size_t at, count;     // elements, from the bucket's `at`-th on
    size_t rows, columns; // M (rows, columns), P (rows, rank), Q (columns, rank)
    size_t p, q;          // where P, or what travels whole, lies in `ps`; and Q in `qs`
};

struct powersgd {
    struct matrix *matrices; // (n)
    int n;
    float *ps, *qs; // (np), (nq)
    size_t np, nq;
    float *thin; // (the longer of both) in the host's memory
};

// ---- shapes --------------------------------------------------------------------------------------------------

static struct matrix shape_of(const struct clab_parameter *p, size_t rank)
{
    struct matrix m = {.count = p->count, .rows = p->rows};
    m.columns = m.rows ? p->count / m.rows : 0;
    if ((m.rows + m.columns) * rank >= p->count)
        m.rows = m.columns = 0;
    return m;
}

static void place(const struct clab_compressor *c, struct powersgd *s)
{
    const size_t rank = (size_t)c->how.rank;
    size_t at = 0;
    for (int p = c->what.last; p >= c->what.first; p--) {
        struct matrix *m = &s->matrices[s->n++];
        *m = shape_of(&c->what.parameters[p], rank);
        m->at = at, m->p = s->np, m->q = s->nq;
        at += m->count;
        s->np += m->rows ? m->rows * rank : m->count;
        s->nq += m->columns * rank;
    }
}

// ---- thin matrices -------------------------------------------------------------------------------------------

// Of all ranks alike: element i of draw number `draw`, uniform in +-1.
static float drawn(size_t draw, size_t i)
{
    return (float)(int32_t)(clab_mix(clab_mix(SEED, draw), i) >> 40) / (1 << 23) - 1;
}

static void draw_column(const struct clab_compressor *c, const struct matrix *m, size_t column, float *q)
{
    const size_t rank = (size_t)c->how.rank;
    for (size_t i = 0; i < m->columns; i++)
        q[i * rank + column] = drawn((size_t)c->step, m->q + i * rank + column);
}

static void draw_all(const struct clab_compressor *c, const struct powersgd *s)
{
    for (size_t i = 0; i < s->nq; i++)
        s->thin[i] = drawn((size_t)c->step, i);
    c->device->copy(s->qs, s->thin, s->nq * sizeof(float));
}

static double product(const float *a, const float *b, size_t rows, size_t stride)
{
    double sum = 0;
    for (size_t i = 0; i < rows; i++)
        sum += (double)a[i * stride] * b[i * stride];
    return sum;
}

// Columns of `thin` (rows, rank) become orthonormal: modified Gram-Schmidt, in float64 but for what is stored. Done
// twice, so that columns that were nearly parallel are, too (Giraud et al. 2005). What is left of a dependent one is 0.
static void make_orthonormal(float *thin, size_t rows, size_t rank)
{
    for (size_t column = 0; column < rank; column++) {
        float *own = thin + column;
        const double size = sqrt(product(own, own, rows, rank));
        for (size_t before = 0; before < 2 * column; before++) {
            const float *other = thin + before % column;
            const double along = product(own, other, rows, rank);
            for (size_t i = 0; i < rows; i++)
                own[i * rank] = (float)(own[i * rank] - along * other[i * rank]);
        }
        const double left = sqrt(product(own, own, rows, rank));
        const double factor = left > 1e-5 * size ? 1 / left : left <= 1e-5 * size ? 0 : NAN;
        for (size_t i = 0; i < rows; i++)
            own[i * rank] = (float)(own[i * rank] * factor);
    }
}

static void make_all_orthonormal(const struct clab_compressor *c, const struct powersgd *s)
{
    c->device->copy(s->thin, s->ps, s->np * sizeof(float));
    for (const struct matrix *m = s->matrices; m < s->matrices + s->n; m++)
        if (m->rows)
            make_orthonormal(s->thin + m->p, m->rows, (size_t)c->how.rank);
    c->device->copy(s->ps, s->thin, s->np * sizeof(float));
}

static bool is_finite(const float *values, size_t count)
{
    bool finite = true;
    for (size_t i = 0; i < count; i++)
        finite = finite && isfinite(values[i]);
    return finite;
}

// For the next step.
static void mend_columns(const struct clab_compressor *c, const struct powersgd *s)
{
    const size_t rank = (size_t)c->how.rank;
    for (const struct matrix *m = s->matrices; m < s->matrices + s->n; m++)
        for (size_t column = 0; m->rows && column < rank; column++)
            if (!(product(s->thin + m->q + column, s->thin + m->q + column, m->columns, rank) > 0))
                draw_column(c, m, column, s->thin + m->q);
    c->device->copy(s->qs, s->thin, s->nq * sizeof(float));
}

// ---- life ----------------------------------------------------------------------------------------------------

static int create(struct clab_compressor *c)
{
    struct powersgd *s = c->state = calloc(1, sizeof *s);
    if (!s)
        return CLAB_ENOMEM;
    s->matrices = calloc((size_t)(c->what.last - c->what.first + 1), sizeof *s->matrices);
    if (!s->matrices)
        return CLAB_ENOMEM;
    place(c, s);
    CLAB_TRY(clab_alloc(c->job, s->np * sizeof(float), (void **)&s->ps));
    CLAB_TRY(clab_alloc(c->job, s->nq * sizeof(float), (void **)&s->qs));
    s->thin = malloc((s->np > s->nq ? s->np : s->nq) * sizeof(float));
    if (!s->thin)
        return CLAB_ENOMEM;
    draw_all(c, s);
    return CLAB_OK;
}

static void destroy(struct clab_compressor *c)
{
    struct powersgd *s = c->state;
    if (!s)
        return;
    clab_free(c->job, s->ps);
    clab_free(c->job, s->qs);
    free(s->matrices);
    free(s->thin);
    free(s);
}

// ---- a step --------------------------------------------------------------------------------------------------

// Between the bucket and `ps`: what is no matrix, or would not be smaller.
static void copy_whole(const struct clab_compressor *c, const struct powersgd *s, bool into)
{
    for (const struct matrix *m = s->matrices; m < s->matrices + s->n; m++) {
        float *own = c->what.gradients + m->at, *sent = s->ps + m->p;
        if (!m->rows)
            c->device->copy(into ? sent : own, into ? own : sent, m->count * sizeof(float));
    }
}

// M is read once, or written; its products with thin matrices take two operations per element and column.
static int charge(const struct clab_compressor *c, double passes)
{
    const double n = (double)c->count;
    return clab_compute(c->job, CLAB_FP32, 2.0 * c->how.rank * n, 4 * passes * n);
}

static int start(struct clab_compressor *c, struct clab_work **work_p)
{
    struct powersgd *s = c->state;
    if (c->how.is_cold)
        draw_all(c, s);
    for (const struct matrix *m = s->matrices; m < s->matrices + s->n; m++)
        if (m->rows)
            c->device->gemm(&(struct clab_gemm){.m = m->rows,
                                                .n = (size_t)c->how.rank,
                                                .k = m->columns,
                                                .a = c->what.gradients + m->at,
                                                .b = s->qs + m->q,
                                                .c = s->ps + m->p});
    copy_whole(c, s, true);
    CLAB_TRY(charge(c, 1));
    return clab_allreduce_start(c->comm, s->ps, s->ps, s->np, CLAB_F32, CLAB_AVG, work_p);
}

static int average_q(const struct clab_compressor *c, const struct powersgd *s)
{
    for (const struct matrix *m = s->matrices; m < s->matrices + s->n; m++)
        if (m->rows)
            c->device->gemm(&(struct clab_gemm){.m = m->columns,
                                                .n = (size_t)c->how.rank,
                                                .k = m->rows,
                                                .a = c->what.gradients + m->at,
                                                .b = s->ps + m->p,
                                                .c = s->qs + m->q,
                                                .transpose_a = true});
    CLAB_TRY(charge(c, 1));
    return s->nq ? clab_allreduce(c->comm, s->qs, s->qs, s->nq, CLAB_F32, CLAB_AVG) : CLAB_OK;
}

// Gradients become P Q'; residuals what that lacks. What has travelled whole lacks nothing.
static int put_together(const struct clab_compressor *c, const struct powersgd *s, bool keeps)
{
    if (keeps)
        c->device->copy(c->residual, c->what.gradients, c->count * sizeof(float));
    for (const struct matrix *m = s->matrices; m < s->matrices + s->n; m++)
        if (m->rows)
            c->device->gemm(&(struct clab_gemm){.m = m->rows,
                                                .n = m->columns,
                                                .k = (size_t)c->how.rank,
                                                .a = s->ps + m->p,
                                                .b = s->qs + m->q,
                                                .c = c->what.gradients + m->at,
                                                .transpose_b = true});
    copy_whole(c, s, false);
    for (const struct matrix *m = s->matrices; keeps && m < s->matrices + s->n; m++)
        if (m->rows)
            c->device->axpy(m->count, -1, c->what.gradients + m->at, c->residual + m->at);
        else
            c->device->set(c->residual + m->at, 0, m->count * sizeof(float));
    return charge(c, keeps ? 6 : 1);
}

static int finish(struct clab_compressor *c)
{
    struct powersgd *s = c->state;
    make_all_orthonormal(c, s);
    CLAB_TRY(average_q(c, s));
    c->device->copy(s->thin, s->qs, s->nq * sizeof(float));
    const bool finite = is_finite(s->thin, s->nq);
    CLAB_TRY(put_together(c, s, c->residual && finite));
    if (finite)
        mend_columns(c, s);
    else
        draw_all(c, s);
    return CLAB_OK;
}

const struct compress_method compress_powersgd = {.name = "powersgd",
                                                  .keeps_residual = true,
                                                  .is_late = true,
                                                  .create = create,
                                                  .destroy = destroy,
                                                  .start = start,
                                                  .finish = finish};
