// SPDX-License-Identifier: MIT
// Gradients as codes of 8 bits with one scale for all ranks.
// - A rank owns a share of the elements: it gets all ranks' codes of them, adds them up, and sends the mean to all.
// - Its residual holds what its own codes have lost and, times the number of ranks, what rounding the mean has.
#include "core/train/compress/int8.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/numbers/quantize.h"
#include "core/train/compress/method.h"

// ---- loops ---------------------------------------------------------------------------------------------------

// The bits of a float below its sign order like its magnitude, with infinity and NaN above all others.
float clab_int8_largest(const float *values, size_t count)
{
    int32_t most = 0;
    for (size_t i = 0; i < count; i++) {
        const int32_t bits = (int32_t)(float_bits(values[i]) & 0x7fffffff);
        most = bits > most ? bits : most;
    }
    return quantize_most(0, float_from_bits((uint32_t)most));
}

// As quantize_one does it for a scale above 0, in a form that becomes vectors: magnitudes are compared as whole numbers,
// and with 1.5 * 2^23 added, the code is the lowest byte of the float.
static inline int8_t code_of(float value, float scale)
{
    const uint32_t bits = float_bits(value / scale), sign = bits & 0x80000000;
    const int32_t size = (int32_t)(bits & 0x7fffffff), most = 0x42fe0000; // 127
    const uint32_t within = (uint32_t)(size < most ? size : most) | sign;
    return (int8_t)(uint8_t)(float_bits(float_from_bits(within) + 0x1.8p23f) & 0xff);
}

void clab_int8_encode(const float *values, size_t count, float scale, int8_t *codes)
{
    if (!(scale > 0)) // all are 0, or one is no finite number
        memset(codes, 0, count);
    for (size_t i = 0; scale > 0 && i < count; i++)
        codes[i] = code_of(values[i], scale);
}

void clab_int8_decode(const int8_t *codes, size_t count, float scale, float *values)
{
    for (size_t i = 0; i < count; i++)
        values[i] = (float)codes[i] * scale;
}

void clab_int8_add(const int8_t *codes, size_t count, int32_t *sums)
{
    for (size_t i = 0; i < count; i++)
        sums[i] += codes[i];
}

// A sum of up to 2^17 codes is a float exactly.
void clab_int8_mean(const int32_t *sums, size_t count, int ranks, int8_t *codes)
{
    for (size_t i = 0; i < count; i++)
        codes[i] = code_of((float)sums[i], (float)ranks);
}

// ---- the method ----------------------------------------------------------------------------------------------

struct int8 {
    size_t share;   // elements of a rank
    int8_t *codes;  // (ranks, share): this rank's, then the means; 0 behind the last element
    int8_t *pieces; // (ranks, share): of this rank's share, from each rank
    int32_t *sums;  // (share)
    float *most;    // (1) the largest magnitude: of this rank, then of all
};

static int create(struct clab_compressor *c)
{
    struct int8 *s = c->state = calloc(1, sizeof *s);
    if (!s)
        return CLAB_ENOMEM;
    const size_t ranks = (size_t)clab_comm_ranks(c->comm);
    s->share = (c->count + ranks - 1) / ranks;
    CLAB_TRY(clab_alloc(c->job, ranks * s->share, (void **)&s->codes));
    CLAB_TRY(clab_alloc(c->job, ranks * s->share, (void **)&s->pieces));
    CLAB_TRY(clab_alloc(c->job, sizeof *s->most, (void **)&s->most));
    s->sums = malloc(s->share * sizeof *s->sums);
    return s->sums ? CLAB_OK : CLAB_ENOMEM;
}

static void destroy(struct clab_compressor *c)
{
    struct int8 *s = c->state;
    if (!s)
        return;
    clab_free(c->job, s->codes);
    clab_free(c->job, s->pieces);
    clab_free(c->job, s->most);
    free(s->sums);
    free(s);
}

static int start(struct clab_compressor *c, struct clab_work **work_p)
{
    struct int8 *s = c->state;
    *s->most = clab_int8_largest(c->what.gradients, c->count);
    CLAB_TRY(compress_charge(c, 4.0 * (double)c->count));
    return clab_allreduce_start(c->comm, s->most, s->most, 1, CLAB_F32, CLAB_MAX, work_p);
}

// After an infinite gradient, residuals stay as they were: such a step is not taken (scaling.h), and the next ones go on.
static bool keeps(const struct clab_compressor *c, float scale)
{
    return c->residual && isfinite(scale);
}

// What codes lack of the values; and what means lack of the sums, for all ranks.
static void keep_rest(const float *values, const int8_t *codes, size_t count, float scale, float *residual)
{
    for (size_t i = 0; i < count; i++)
        residual[i] = values[i] - (float)codes[i] * scale;
}

static void keep_rounding(const int32_t *sums, const int8_t *means, size_t count, int ranks, float scale,
                          float *residual)
{
    for (size_t i = 0; i < count; i++)
        residual[i] += (float)(sums[i] - ranks * means[i]) * scale;
}

static int encode(const struct clab_compressor *c, const struct int8 *s, float scale)
{
    const size_t all = s->share * (size_t)clab_comm_ranks(c->comm);
    clab_int8_encode(c->what.gradients, c->count, scale, s->codes);
    memset(s->codes + c->count, 0, all - c->count);
    if (keeps(c, scale))
        keep_rest(c->what.gradients, s->codes, c->count, scale, c->residual);
    return compress_charge(c, (c->residual ? 14.0 : 5.0) * (double)c->count);
}

// Of this rank's share, into its block of s->codes.
static int average(const struct clab_compressor *c, const struct int8 *s, float scale)
{
    const int ranks = clab_comm_ranks(c->comm);
    const size_t first = (size_t)clab_comm_rank(c->comm) * s->share;
    memset(s->sums, 0, s->share * sizeof *s->sums);
    for (int r = 0; r < ranks; r++)
        clab_int8_add(s->pieces + (size_t)r * s->share, s->share, s->sums);
    clab_int8_mean(s->sums, s->share, ranks, s->codes + first);
    if (keeps(c, scale) && first < c->count) {
        const size_t rest = c->count - first, own = rest < s->share ? rest : s->share;
        keep_rounding(s->sums, s->codes + first, own, ranks, scale, c->residual + first);
    }
    return compress_charge(c, (9.0 * ranks + (c->residual ? 18 : 5)) * (double)s->share);
}

static int finish(struct clab_compressor *c)
{
    const struct int8 *s = c->state;
    const float scale = quantize_scale(*s->most);
    CLAB_TRY(encode(c, s, scale));
    CLAB_TRY(clab_alltoall(c->comm, s->codes, s->pieces, s->share, CLAB_I8));
    CLAB_TRY(average(c, s, scale));
    CLAB_TRY(
        clab_allgather(c->comm, s->codes + (size_t)clab_comm_rank(c->comm) * s->share, s->codes, s->share, CLAB_I8));
    clab_int8_decode(s->codes, c->count, scale, c->what.gradients);
    return compress_charge(c, 5.0 * (double)c->count);
}

const struct compress_method compress_int8 = {.name = "int8",
                                              .keeps_residual = true,
                                              .is_host_only = true,
                                              .create = create,
                                              .destroy = destroy,
                                              .start = start,
                                              .finish = finish};
