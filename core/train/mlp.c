// SPDX-License-Identifier: MIT
#include "core/train/mlp.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/log.h"
#include "core/base/mix.h"
#include "core/clab.h"
#include "core/transport/device.h"

struct clab_mlp {
    struct clab_job *job;
    const struct clab_device *device;
    struct clab_mlp_shape shape;
    int *widths; // (layers + 1), the shape's
    int rows;    // that are computed
    bool *skipped;
    struct clab_parameter *parameters; // (2 * layers)
    float *values, *gradients;         // (count), all parameters'; gradients may be NULL
    float *outputs;                    // of all layers, (rows, width) after (rows, width)
    float *deltas[2];                  // (rows, widest): gradients of a layer's outputs, and of its inputs
    const float **inputs;              // (layers + 1) what each layer was given, and what came out in the end
};

struct clab_mlp_shape clab_mlp_even(int layers, int inputs, int width, int outputs, int rows, int widths[])
{
    widths[0] = inputs;
    for (int l = 1; l < layers; l++)
        widths[l] = width;
    widths[layers] = outputs;
    return (struct clab_mlp_shape){.widths = widths, .layers = layers, .rows = rows};
}

// ---- what it takes -------------------------------------------------------------------------------------------

static double charged_rows(const struct clab_mlp_shape *shape)
{
    return (double)shape->rows * (shape->repeat ? shape->repeat : 1);
}

struct clab_mlp_load clab_mlp_layer_load(const struct clab_mlp_shape *shape, int layer, enum clab_pass pass)
{
    const double rows = charged_rows(shape), in = shape->widths[layer], out = shape->widths[layer + 1];
    const double weights = in * out, four = sizeof(float);
    if (pass == CLAB_STEP) // two are read, one is written
        return (struct clab_mlp_load){2 * (weights + out), 3 * four * (weights + out)};
    if (pass == CLAB_BACKWARD_INPUT && layer == 0)
        return (struct clab_mlp_load){0, 0};
    return (struct clab_mlp_load){2 * rows * weights, four * (rows * (in + out) + weights)};
}

struct clab_mlp_load clab_mlp_loss_load(const struct clab_mlp_shape *shape)
{
    const double outputs = charged_rows(shape) * shape->widths[shape->layers];
    return (struct clab_mlp_load){3 * outputs, 3 * sizeof(float) * outputs};
}

size_t clab_mlp_count(const struct clab_mlp_shape *shape)
{
    size_t count = 0;
    for (int l = 0; l < shape->layers; l++)
        count += ((size_t)shape->widths[l] + 1) * (size_t)shape->widths[l + 1];
    return count;
}

static int charge(const struct clab_mlp *mlp, struct clab_mlp_load load)
{
    return clab_compute(mlp->job, CLAB_FP32, load.flop, load.bytes);
}

static void begin_span(const struct clab_mlp *mlp, const char *what, int layer)
{
    char name[32];
    snprintf(name, sizeof name, "%s %d", what, layer);
    clab_span_begin(mlp->job, name);
}

// ---- life ----------------------------------------------------------------------------------------------------

static int check(const struct clab_mlp_shape *shape)
{
    bool good = shape->layers >= 1 && shape->rows >= 1 && shape->repeat >= 0;
    for (int l = 0; good && l <= shape->layers; l++)
        good = shape->widths[l] >= 1;
    if (good)
        return CLAB_OK;
    clab_error("a network of %d layers, %d rows, each %d times: layers, rows and all widths are 1 or more",
               shape->layers, shape->rows, shape->repeat);
    return CLAB_EINVAL;
}

static size_t widest(const struct clab_mlp *mlp)
{
    int most = 0;
    for (int l = 0; l <= mlp->shape.layers; l++)
        most = mlp->widths[l] > most ? mlp->widths[l] : most;
    return (size_t)most;
}

static int allocate(struct clab_mlp *mlp, const int widths[])
{
    const size_t layers = (size_t)mlp->shape.layers, rows = (size_t)mlp->rows, each = sizeof(float);
    size_t columns = 0;
    mlp->widths = malloc((layers + 1) * sizeof *mlp->widths);
    mlp->skipped = calloc(layers, sizeof *mlp->skipped);
    mlp->parameters = calloc(2 * layers, sizeof *mlp->parameters);
    mlp->inputs = calloc(layers + 1, sizeof *mlp->inputs);
    if (!mlp->widths || !mlp->skipped || !mlp->parameters || !mlp->inputs)
        return CLAB_ENOMEM;
    memcpy(mlp->widths, widths, (layers + 1) * sizeof *widths);
    for (size_t l = 1; l <= layers; l++)
        columns += (size_t)widths[l];
    mlp->shape.widths = mlp->widths;
    CLAB_TRY(clab_alloc(mlp->job, clab_mlp_count(&mlp->shape) * each, (void **)&mlp->values));
    CLAB_TRY(clab_alloc(mlp->job, columns * rows * each, (void **)&mlp->outputs));
    for (int i = 0; i < 2; i++)
        CLAB_TRY(clab_alloc(mlp->job, rows * widest(mlp) * each, (void **)&mlp->deltas[i]));
    return CLAB_OK;
}

// `count` numbers, uniform within +-limit, in the host's memory.
static void randomize(float *values, size_t count, float limit, uint64_t seed)
{
    for (size_t i = 0; i < count; i++)
        values[i] = limit * ((float)(int32_t)(clab_mix(seed, i) >> 40) / (1 << 23) - 1);
}

static void name_parameters(struct clab_mlp *mlp)
{
    float *value = mlp->values;
    for (int l = 0; l < mlp->shape.layers; l++) {
        const size_t in = (size_t)mlp->widths[l], out = (size_t)mlp->widths[l + 1];
        struct clab_parameter *weight = &mlp->parameters[2 * l], *bias = weight + 1;
        *weight = (struct clab_parameter){.count = in * out, .rows = in, .value = value};
        *bias = (struct clab_parameter){.count = out, .value = value + in * out};
        snprintf(weight->name, sizeof weight->name, "weight%d", l);
        snprintf(bias->name, sizeof bias->name, "bias%d", l);
        value += (in + 1) * out;
    }
}

// Biases are 0.
static int begin_parameters(const struct clab_mlp *mlp, uint64_t seed)
{
    const size_t bytes = clab_mlp_count(&mlp->shape) * sizeof(float);
    float *host = calloc(1, bytes);
    if (!host)
        return CLAB_ENOMEM;
    for (int l = 0; l < mlp->shape.layers; l++) {
        const struct clab_parameter *weight = &mlp->parameters[2 * l];
        randomize(host + (weight->value - mlp->values), weight->count, sqrtf(6 / (float)mlp->widths[l]),
                  clab_mix(seed, (uint64_t)l));
    }
    const int err = clab_copy(mlp->job, mlp->values, host, bytes);
    free(host);
    return err;
}

int clab_mlp_create(struct clab_job *job, const struct clab_mlp_shape *shape, uint64_t seed, struct clab_mlp **mlp_p)
{
    CLAB_TRY(check(shape));
    struct clab_mlp *mlp = calloc(1, sizeof *mlp);
    if (!mlp)
        return CLAB_ENOMEM;
    const int repeat = shape->repeat && !clab_time_is_exact() ? shape->repeat : 1;
    *mlp = (struct clab_mlp){.job = job, .device = clab_job_device(job), .shape = *shape, .rows = shape->rows * repeat};
    int err = allocate(mlp, shape->widths);
    if (!err) {
        name_parameters(mlp);
        err = begin_parameters(mlp, seed);
    }
    if (err)
        clab_mlp_destroy(mlp);
    else
        *mlp_p = mlp;
    return err;
}

void clab_mlp_destroy(struct clab_mlp *mlp)
{
    if (!mlp)
        return;
    clab_free(mlp->job, mlp->values);
    clab_free(mlp->job, mlp->gradients);
    clab_free(mlp->job, mlp->outputs);
    clab_free(mlp->job, mlp->deltas[0]);
    clab_free(mlp->job, mlp->deltas[1]);
    free(mlp->widths);
    free(mlp->skipped);
    free(mlp->parameters);
    free(mlp->inputs);
    free(mlp);
}

int clab_mlp_rows(const struct clab_mlp *mlp)
{
    return mlp->rows;
}

struct clab_parameter *clab_mlp_parameters(struct clab_mlp *mlp)
{
    return mlp->parameters;
}

int clab_mlp_nparameters(const struct clab_mlp *mlp)
{
    return 2 * mlp->shape.layers;
}

int clab_mlp_skip(struct clab_mlp *mlp, int layer, bool skip)
{
    if (layer < 0 || layer >= mlp->shape.layers - 1 || mlp->widths[layer] != mlp->widths[layer + 1]) {
        clab_error("layer %d can not be skipped: only hidden layers can whose widths are equal", layer);
        return CLAB_EINVAL;
    }
    mlp->skipped[layer] = skip;
    return CLAB_OK;
}

// ---- passes --------------------------------------------------------------------------------------------------

// y = x W + b, and the max of that and 0 but in the last layer.  x: (rows, in), y: (rows, out)
static void layer_forward(const struct clab_mlp *mlp, int l, const float *x, float *y)
{
    const size_t rows = (size_t)mlp->rows, in = (size_t)mlp->widths[l], out = (size_t)mlp->widths[l + 1];
    const struct clab_parameter *weight = &mlp->parameters[2 * l], *bias = weight + 1;
    const struct clab_gemm product = {.m = rows, .n = out, .k = in, .a = x, .b = weight->value, .c = y};
    mlp->device->gemm(&product);
    mlp->device->add_bias(rows, out, bias->value, y);
    if (l < mlp->shape.layers - 1)
        mlp->device->relu(rows * out, y);
}

int clab_mlp_forward(struct clab_mlp *mlp, const float *x, const float **outputs_p)
{
    float *y = mlp->outputs;
    mlp->inputs[0] = x;
    for (int l = 0; l < mlp->shape.layers; l++) {
        mlp->parameters[2 * l].unused = mlp->parameters[2 * l + 1].unused = mlp->skipped[l];
        mlp->inputs[l + 1] = mlp->skipped[l] ? mlp->inputs[l] : y;
        if (mlp->skipped[l])
            continue;
        begin_span(mlp, "forward", l);
        layer_forward(mlp, l, mlp->inputs[l], y);
        const int err = charge(mlp, clab_mlp_layer_load(&mlp->shape, l, CLAB_FORWARD));
        clab_span_end(mlp->job);
        CLAB_TRY(err);
        y += (size_t)mlp->rows * (size_t)mlp->widths[l + 1];
    }
    *outputs_p = mlp->inputs[mlp->shape.layers];
    return CLAB_OK;
}

int clab_mlp_loss(struct clab_mlp *mlp, const float *outputs, const float *targets, float *gradient, double *loss_p)
{
    const size_t count = (size_t)mlp->rows * (size_t)mlp->widths[mlp->shape.layers];
    clab_span_begin(mlp->job, "loss");
    const double loss = mlp->device->squares(count, outputs, targets, gradient);
    const int err = charge(mlp, clab_mlp_loss_load(&mlp->shape));
    clab_span_end(mlp->job);
    CLAB_TRY(err);
    *loss_p = loss;
    return CLAB_OK;
}

// Gradients that nobody else has put anywhere lie together in memory of our own.
static int place_gradients(struct clab_mlp *mlp)
{
    const int n = clab_mlp_nparameters(mlp);
    float *gradient;
    bool is_placed = true;
    for (int p = 0; p < n; p++)
        is_placed = is_placed && mlp->parameters[p].gradient;
    if (is_placed)
        return CLAB_OK;
    if (!mlp->gradients) // they may have been elsewhere meanwhile
        CLAB_TRY(clab_alloc(mlp->job, clab_mlp_count(&mlp->shape) * sizeof(float), (void **)&mlp->gradients));
    gradient = mlp->gradients;
    for (int p = 0; p < n; gradient += mlp->parameters[p++].count)
        mlp->parameters[p].gradient = gradient;
    return CLAB_OK;
}

// dW = x^T dy, db = the sum of dy's rows.
static int weights_backward(const struct clab_mlp *mlp, int l, const float *dy, bool add)
{
    const size_t rows = (size_t)mlp->rows, in = (size_t)mlp->widths[l], out = (size_t)mlp->widths[l + 1];
    const struct clab_parameter *weight = &mlp->parameters[2 * l], *bias = weight + 1;
    const struct clab_gemm product = {.m = in,
                                      .n = out,
                                      .k = rows,
                                      .a = mlp->inputs[l],
                                      .b = dy,
                                      .c = weight->gradient,
                                      .transpose_a = true,
                                      .add = add};
    mlp->device->gemm(&product);
    mlp->device->sum_rows(rows, out, dy, add, bias->gradient);
    return charge(mlp, clab_mlp_layer_load(&mlp->shape, l, CLAB_BACKWARD));
}

// dx = dy W^T
static int inputs_backward(const struct clab_mlp *mlp, int l, const float *dy, float *dx)
{
    const size_t rows = (size_t)mlp->rows, in = (size_t)mlp->widths[l], out = (size_t)mlp->widths[l + 1];
    const struct clab_gemm product = {
        .m = rows, .n = in, .k = out, .a = dy, .b = mlp->parameters[2 * l].value, .c = dx, .transpose_b = true};
    mlp->device->gemm(&product);
    return charge(mlp, clab_mlp_layer_load(&mlp->shape, l, CLAB_BACKWARD_INPUT));
}

// Before anything is ready: what is unused may travel with the first that is.
static void zero_unused(const struct clab_mlp *mlp)
{
    for (int p = 0; p < 2 * mlp->shape.layers; p++)
        if (mlp->skipped[p / 2])
            mlp->device->set(mlp->parameters[p].gradient, 0, mlp->parameters[p].count * sizeof(float));
}

static int tell_ready(int l, clab_mlp_ready *ready, void *user)
{
    if (!ready)
        return CLAB_OK;
    CLAB_TRY(ready(user, 2 * l + 1));
    return ready(user, 2 * l);
}

static bool reaches_inputs(const struct clab_mlp *mlp, int l)
{
    for (int below = 0; below < l; below++)
        if (!mlp->skipped[below])
            return true;
    return false;
}

// One layer, whose outputs' gradient is dy; that of its inputs goes to `dx` or, for the lowest, nowhere. `ready` is
// no part of the spans: what it starts is not computed.
static int layer_backward(const struct clab_mlp *mlp, int l, const float *dy, bool add, float *dx,
                          clab_mlp_ready *ready, void *user)
{
    int err = weights_backward(mlp, l, dy, add);
    clab_span_end(mlp->job);
    CLAB_TRY(err);
    CLAB_TRY(tell_ready(l, ready, user));
    if (!reaches_inputs(mlp, l))
        return CLAB_OK;
    begin_span(mlp, "backward inputs", l);
    err = inputs_backward(mlp, l, dy, dx);
    clab_span_end(mlp->job);
    return err;
}

int clab_mlp_backward(struct clab_mlp *mlp, const float *gradient, bool add, clab_mlp_ready *ready, void *user)
{
    const float *dy = gradient;
    CLAB_TRY(place_gradients(mlp));
    if (!add)
        zero_unused(mlp);
    for (int l = mlp->shape.layers - 1, turn = 0; l >= 0; l--) {
        if (mlp->skipped[l])
            continue;
        begin_span(mlp, "backward", l); // layer_backward ends it
        if (dy != gradient)             // what came out of the max
            mlp->device->relu_gradient((size_t)mlp->rows * (size_t)mlp->widths[l + 1], mlp->inputs[l + 1],
                                       mlp->deltas[!turn]);
        CLAB_TRY(layer_backward(mlp, l, dy, add, mlp->deltas[turn], ready, user));
        dy = mlp->deltas[turn];
        turn = !turn;
    }
    return mlp->device->finish();
}

int clab_mlp_step(struct clab_mlp *mlp, float rate)
{
    clab_span_begin(mlp->job, "step");
    int err = CLAB_OK;
    for (int p = 0; !err && p < clab_mlp_nparameters(mlp); p++) {
        const struct clab_parameter *parameter = &mlp->parameters[p];
        if (!parameter->gradient) {
            clab_error("a step before the first backward pass: %s has no gradient", parameter->name);
            err = CLAB_EINVAL;
        } else {
            mlp->device->axpy(parameter->count, -rate, parameter->gradient, parameter->value);
        }
    }
    for (int l = 0; !err && l < mlp->shape.layers; l++)
        err = charge(mlp, clab_mlp_layer_load(&mlp->shape, l, CLAB_STEP));
    if (!err)
        err = mlp->device->finish();
    clab_span_end(mlp->job);
    return err;
}

int clab_mlp_train(struct clab_mlp *mlp, const float *x, const float *targets, float *gradient, float rate,
                   double *loss_p)
{
    const float *outputs;
    CLAB_TRY(clab_mlp_forward(mlp, x, &outputs));
    CLAB_TRY(clab_mlp_loss(mlp, outputs, targets, gradient, loss_p));
    CLAB_TRY(clab_mlp_backward(mlp, gradient, false, NULL, NULL));
    return clab_mlp_step(mlp, rate);
}
