// SPDX-License-Identifier: MIT
#include "core/train/data.h"

#include <stdlib.h>

#include "core/base/mix.h"
#include "core/clab.h"

// Uniform in [-1, 1), in steps of 2^-23, all of which a float has.
static float uniform(uint64_t bits)
{
    return (float)((int32_t)(bits >> 40) - (1 << 23)) / (1 << 23);
}

// Sample `index`.  x: (inputs), target: (outputs)
static void make_sample(const struct clab_data *data, uint64_t index, float *x, float *target)
{
    const uint64_t sample = clab_mix(data->seed, index);
    for (int i = 0; i < data->inputs; i++)
        x[i] = uniform(clab_mix(sample, (uint64_t)i));
    for (int j = 0; j < data->outputs; j++) {
        const float a = x[j % data->inputs], b = x[(j + 1) % data->inputs];
        target[j] = a > b ? a : b;
    }
}

void clab_data_share(const struct clab_data *data, uint64_t step, int rows, int rank, int nranks, float *x,
                     float *targets)
{
    const uint64_t first = (step * (uint64_t)nranks + (uint64_t)rank) * (uint64_t)rows;
    for (int i = 0; i < rows; i++)
        make_sample(data, first + (uint64_t)i, x + (size_t)i * (size_t)data->inputs,
                         targets + (size_t)i * (size_t)data->outputs);
}

// `in`, of `batch` bytes, one after another until `bytes` are filled.
static int load(struct clab_job *job, const float *in, size_t batch, size_t bytes, float *out)
{
    for (size_t at = 0; at < bytes; at += batch)
        CLAB_TRY(clab_copy(job, (char *)out + at, in, bytes - at < batch ? bytes - at : batch));
    return CLAB_OK;
}

int clab_data_load(struct clab_job *job, const struct clab_data *data, uint64_t step, int rows, int all, int rank,
                   int nranks, float *x, float *targets)
{
    const size_t input = (size_t)data->inputs * sizeof *x, target = (size_t)data->outputs * sizeof *targets;
    float *host = malloc((size_t)rows * (input + target));
    if (!host)
        return CLAB_ENOMEM;
    float *wanted = host + (size_t)rows * (size_t)data->inputs;
    clab_data_share(data, step, rows, rank, nranks, host, wanted);
    int err = load(job, host, (size_t)rows * input, (size_t)all * input, x);
    if (!err)
        err = load(job, wanted, (size_t)rows * target, (size_t)all * target, targets);
    free(host);
    return err;
}
