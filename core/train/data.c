// SPDX-License-Identifier: MIT
#include "train/data.h"

#include <string.h>

#include "base/mix.h"

// Uniform in [-1, 1), in steps of 2^-23, all of which a float has.
static float uniform(uint64_t bits)
{
    return (float)((int32_t)(bits >> 40) - (1 << 23)) / (1 << 23);
}

void clab_data_sample(const struct clab_data *data, uint64_t index, float *x, float *target)
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
        clab_data_sample(data, first + (uint64_t)i, x + (size_t)i * (size_t)data->inputs,
                         targets + (size_t)i * (size_t)data->outputs);
}

void clab_data_repeat(const struct clab_data *data, int rows, int all, float *x, float *targets)
{
    const size_t inputs = (size_t)data->inputs, outputs = (size_t)data->outputs;
    for (int i = rows; i < all; i++) {
        memcpy(x + (size_t)i * inputs, x + (size_t)(i % rows) * inputs, inputs * sizeof *x);
        memcpy(targets + (size_t)i * outputs, targets + (size_t)(i % rows) * outputs, outputs * sizeof *targets);
    }
}
