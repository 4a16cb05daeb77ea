// SPDX-License-Identifier: MIT
// Gradients of 16 bits: each is divided by the number of ranks, so that the sum fits; then narrowed, and added up.
#include "core/train/compress/method.h"

static int create(struct clab_compressor *c)
{
    return clab_alloc(c->job, 2 * c->count, &c->state);
}

static void destroy(struct clab_compressor *c)
{
    clab_free(c->job, c->state);
}

static int start(struct clab_compressor *c, enum clab_type type, struct clab_work **work_p)
{
    c->device->scale(CLAB_F32, c->what.gradients, c->count, clab_comm_ranks(c->comm));
    c->device->cast(CLAB_F32, c->what.gradients, type, c->state, c->count);
    CLAB_TRY(compress_charge(c, 14.0 * (double)c->count)); // reads and writes 4 B; reads 4 B, writes 2 B
    return clab_allreduce_start(c->comm, c->state, c->state, c->count, type, CLAB_SUM, work_p);
}

static int finish(struct clab_compressor *c, enum clab_type type)
{
    c->device->cast(type, c->state, CLAB_F32, c->what.gradients, c->count);
    return compress_charge(c, 6.0 * (double)c->count);
}

static int start_fp16(struct clab_compressor *c, struct clab_work **work_p)
{
    return start(c, CLAB_F16, work_p);
}

static int finish_fp16(struct clab_compressor *c)
{
    return finish(c, CLAB_F16);
}

static int start_bf16(struct clab_compressor *c, struct clab_work **work_p)
{
    return start(c, CLAB_BF16, work_p);
}

static int finish_bf16(struct clab_compressor *c)
{
    return finish(c, CLAB_BF16);
}

const struct compress_method compress_fp16 = {
    .name = "fp16", .create = create, .destroy = destroy, .start = start_fp16, .finish = finish_fp16};
const struct compress_method compress_bf16 = {
    .name = "bf16", .create = create, .destroy = destroy, .start = start_bf16, .finish = finish_bf16};
