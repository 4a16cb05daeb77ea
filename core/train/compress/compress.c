// SPDX-License-Identifier: MIT
#include "core/train/compress.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/log.h"
#include "core/train/compress/method.h"

enum { RANK = 4, FIRST = 10, PART = 100 }; // powersgd's as PyTorch's hook has them

// ---- whole ---------------------------------------------------------------------------------------------------

static int nothing(struct clab_compressor *c)
{
    (void)c;
    return CLAB_OK;
}

static void free_nothing(struct clab_compressor *c)
{
    (void)c;
}

static int start_whole(struct clab_compressor *c, struct clab_work **work_p)
{
    return clab_allreduce_start(c->comm, c->what.gradients, c->what.gradients, c->count, CLAB_F32, CLAB_AVG, work_p);
}

static const struct compress_method whole = {
    .name = "none", .create = nothing, .destroy = free_nothing, .start = start_whole, .finish = nothing};

static const struct compress_method *const methods[CLAB_COMPRESSIONS] = {
    &whole, &compress_fp16, &compress_bf16, &compress_int8, &compress_powersgd, &compress_topk,
};

const char *clab_compression_name(int method)
{
    return methods[method]->name;
}

// ---- life ----------------------------------------------------------------------------------------------------

static int find(const char *name, const struct compress_method **method_p)
{
    for (int m = 0; m < CLAB_COMPRESSIONS; m++)
        if (!strcmp(methods[m]->name, name ? name : "none")) {
            *method_p = methods[m];
            return CLAB_OK;
        }
    clab_error("there is no compression '%s'; there are: none fp16 bf16 int8 powersgd topk", name);
    return CLAB_EINVAL;
}

bool clab_compress_is_on_host(const struct clab_device *device)
{
    return device == &clab_device_cpu || device == &clab_device_plain;
}

static int check(const struct compress_method *method, const struct clab_compression *how,
                 const struct clab_device *device)
{
    if (how->rank < 0 || how->part < 0) {
        clab_error("compression %s with rank %d, one of %d elements: both are 1 or more, or 0 for the usual one",
                   method->name, how->rank, how->part);
        return CLAB_EINVAL;
    }
    if (method->is_host_only && !clab_compress_is_on_host(device)) {
        clab_error("compression %s computes on the CPU, and these gradients lie in the memory of %s: use fp16, bf16 or "
                   "powersgd",
                   method->name, device->name);
        return CLAB_EUNSUPPORTED;
    }
    return CLAB_OK;
}

static struct clab_compression with_defaults(const struct clab_compression *how)
{
    struct clab_compression all = *how;
    all.rank = how->rank ? how->rank : RANK;
    all.part = how->part ? how->part : PART;
    all.first = how->first > 0 ? how->first : how->first < 0 ? 0 : FIRST;
    return all;
}

static int prepare(struct clab_compressor *c)
{
    for (int p = c->what.first; p <= c->what.last; p++)
        c->count += c->what.parameters[p].count;
    if (c->method->keeps_residual && !c->how.forgets) {
        CLAB_TRY(clab_alloc(c->job, c->count * sizeof(float), (void **)&c->residual));
        c->device->set(c->residual, 0, c->count * sizeof(float));
    }
    return c->method->create(c);
}

int clab_compressor_create(struct clab_comm *comm, const struct clab_compression *how,
                           const struct clab_compressible *what, struct clab_compressor **compressor_p)
{
    const struct compress_method *method;
    struct clab_job *job = clab_comm_job(comm);
    CLAB_TRY(find(how->method, &method));
    CLAB_TRY(check(method, how, clab_job_device(job)));
    struct clab_compressor *c = calloc(1, sizeof *c);
    if (!c)
        return CLAB_ENOMEM;
    *c = (struct clab_compressor){method, comm, job, clab_job_device(job), with_defaults(how), .what = *what};
    const int err = prepare(c);
    if (err)
        clab_compressor_destroy(c);
    else
        *compressor_p = c;
    return err;
}

void clab_compressor_destroy(struct clab_compressor *c)
{
    if (!c)
        return;
    c->method->destroy(c);
    clab_free(c->job, c->residual);
    free(c);
}

const float *clab_compressor_residual(const struct clab_compressor *c)
{
    return c->residual;
}

// ---- a step --------------------------------------------------------------------------------------------------

int compress_charge(const struct clab_compressor *c, double bytes)
{
    return clab_compute(c->job, CLAB_FP32, 0, bytes);
}

static const struct compress_method *method_of(const struct clab_compressor *c)
{
    return c->method->is_late && c->step < c->how.first ? &whole : c->method;
}

int clab_compressor_start(struct clab_compressor *c, struct clab_work **work_p)
{
    const struct compress_method *method = method_of(c);
    if (c->residual && method != &whole) {
        c->device->axpy(c->count, 1, c->residual, c->what.gradients);
        CLAB_TRY(compress_charge(c, 12.0 * (double)c->count)); // reads two, writes one
    }
    return method->start(c, work_p);
}

int clab_compressor_finish(struct clab_compressor *c)
{
    const int err = method_of(c)->finish(c);
    c->step++;
    return err;
}
