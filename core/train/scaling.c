// SPDX-License-Identifier: MIT
#include "core/train/scaling.h"

#include <math.h>
#include <stdlib.h>

#include "core/clab.h"

static int multiply(struct clab_job *job, float *values, size_t count, double factor)
{
    float *host = malloc(count * sizeof *host);
    if (!host)
        return CLAB_ENOMEM;
    int err = clab_copy(job, host, values, count * sizeof *host);
    for (size_t i = 0; !err && i < count; i++)
        host[i] = (float)(host[i] * factor);
    if (!err)
        err = clab_copy(job, values, host, count * sizeof *host);
    free(host);
    return err ? err : clab_compute(job, CLAB_FP32, (double)count, 8.0 * (double)count);
}

static int add_squares(struct clab_job *job, const float *values, size_t count, double *sum)
{
    float *host = malloc(count * sizeof *host);
    if (!host)
        return CLAB_ENOMEM;
    const int err = clab_copy(job, host, values, count * sizeof *host);
    for (size_t i = 0; !err && i < count; i++)
        *sum += (double)host[i] * host[i];
    free(host);
    return err ? err : clab_compute(job, CLAB_FP32, 2.0 * (double)count, 4.0 * (double)count);
}

int clab_loss_scale_apply(struct clab_job *job, const struct clab_loss_scale *scaling, float *values, size_t count)
{
    return multiply(job, values, count, scaling->scale);
}

bool clab_loss_scale_take(struct clab_loss_scale *scaling, double norm)
{
    scaling->last = scaling->scale;
    if (!isfinite(norm)) {
        scaling->scale = fmaxf(scaling->scale / 2, 1);
        scaling->good = 0;
        return false;
    }
    scaling->good++;
    if (scaling->patience && scaling->good % scaling->patience == 0 && scaling->scale < 0x1p60f)
        scaling->scale *= 2;
    return true;
}

int clab_gradients_norm(struct clab_job *job, const struct clab_parameter parameters[], int n, double *norm_p)
{
    double sum = 0;
    for (int p = 0; p < n; p++)
        CLAB_TRY(add_squares(job, parameters[p].gradient, parameters[p].count, &sum));
    *norm_p = sqrt(sum);
    return CLAB_OK;
}

int clab_gradients_multiply(struct clab_job *job, const struct clab_parameter parameters[], int n, double factor)
{
    for (int p = 0; p < n; p++)
        CLAB_TRY(multiply(job, parameters[p].gradient, parameters[p].count, factor));
    return CLAB_OK;
}

double clab_clip(double norm, double most)
{
    return norm > most ? most / norm : 1;
}
