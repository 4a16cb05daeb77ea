// SPDX-License-Identifier: MIT
// Top-k: a rank sends its k gradients of the largest magnitude, each with its index; the others wait in its residual.
// - Ranks choose by themselves, so all pairs of all ranks are gathered: P k pairs of 8 bytes arrive at each.
// - The k-th largest is found by counting: first the upper 15 bits of magnitudes, then the lower 16 of those that share
//   them. Of equal ones the first are taken.
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/numbers/half.h"
#include "core/train/compress/method.h"

struct pair {
    uint32_t index;
    float value;
};

enum { BINS = 1 << 16 };

struct topk {
    size_t k;
    struct pair *own, *all; // (k), (ranks, k)
    uint32_t *bins;         // (BINS)
};

static int create(struct clab_compressor *c)
{
    struct topk *s = c->state = calloc(1, sizeof *s);
    if (!s)
        return CLAB_ENOMEM;
    const size_t ranks = (size_t)clab_comm_ranks(c->comm), part = (size_t)c->how.part;
    s->k = (c->count + part - 1) / part;
    CLAB_TRY(clab_alloc(c->job, s->k * sizeof *s->own, (void **)&s->own));
    CLAB_TRY(clab_alloc(c->job, ranks * s->k * sizeof *s->all, (void **)&s->all));
    s->bins = malloc(BINS * sizeof *s->bins);
    return s->bins ? CLAB_OK : CLAB_ENOMEM;
}

static void destroy(struct clab_compressor *c)
{
    struct topk *s = c->state;
    if (!s)
        return;
    clab_free(c->job, s->own);
    clab_free(c->job, s->all);
    free(s->bins);
    free(s);
}

// ---- which ---------------------------------------------------------------------------------------------------

static uint32_t magnitude(float value)
{
    return float_bits(value) & 0x7fffffff;
}

// The highest bin so that it and those above hold *wanted_p; what is then wanted of it alone is left there.
static uint32_t bin_of(const uint32_t *bins, size_t *wanted_p)
{
    uint32_t bin = BINS - 1;
    for (; bins[bin] < *wanted_p; bin--)
        *wanted_p -= bins[bin];
    return bin;
}

// The k-th largest magnitude; *equal_p: how many of just that are among the k.
static uint32_t least_of(const struct topk *s, const float *values, size_t count, size_t *equal_p)
{
    *equal_p = s->k;
    memset(s->bins, 0, BINS * sizeof *s->bins);
    for (size_t i = 0; i < count; i++)
        s->bins[magnitude(values[i]) >> 16]++;
    const uint32_t upper = bin_of(s->bins, equal_p);
    memset(s->bins, 0, BINS * sizeof *s->bins);
    for (size_t i = 0; i < count; i++)
        if (magnitude(values[i]) >> 16 == upper)
            s->bins[magnitude(values[i]) & 0xffff]++;
    return upper << 16 | bin_of(s->bins, equal_p);
}

static void choose(const struct clab_compressor *c, const struct topk *s)
{
    const float *values = c->what.gradients;
    size_t equal, n = 0;
    const uint32_t least = least_of(s, values, c->count, &equal);
    for (size_t i = 0; i < c->count; i++) {
        const uint32_t size = magnitude(values[i]);
        if (size > least || (size == least && equal && equal--))
            s->own[n++] = (struct pair){(uint32_t)i, values[i]};
    }
}

// ---- a step --------------------------------------------------------------------------------------------------

// A gradient that is no finite number, and was not chosen, would stay there for ever.
static void keep_rest(const struct clab_compressor *c, const struct topk *s)
{
    for (size_t i = 0; c->residual && i < c->count; i++)
        c->residual[i] = isfinite(c->what.gradients[i]) ? c->what.gradients[i] : 0;
    for (size_t i = 0; c->residual && i < s->k; i++)
        c->residual[s->own[i].index] = 0;
}

static int start(struct clab_compressor *c, struct clab_work **work_p)
{
    const struct topk *s = c->state;
    choose(c, s);
    keep_rest(c, s);
    // Three times read; the residual is written.
    CLAB_TRY(compress_charge(c, (c->residual ? 20.0 : 12.0) * (double)c->count));
    return clab_allgather_start(c->comm, s->own, s->all, sizeof *s->own * s->k, CLAB_U8, work_p);
}

// In the order of ranks, so that all get the same sums.
static int finish(struct clab_compressor *c)
{
    const struct topk *s = c->state;
    const int ranks = clab_comm_ranks(c->comm);
    memset(c->what.gradients, 0, c->count * sizeof(float));
    for (const struct pair *p = s->all; p < s->all + (size_t)ranks * s->k; p++)
        c->what.gradients[p->index] += p->value / (float)ranks;
    return compress_charge(c, 4.0 * (double)c->count + 16.0 * ranks * (double)s->k);
}

const struct compress_method compress_topk = {.name = "topk",
                                              .keeps_residual = true,
                                              .is_late = true,
                                              .is_host_only = true,
                                              .create = create,
                                              .destroy = destroy,
                                              .start = start,
                                              .finish = finish};
