// SPDX-License-Identifier: MIT
#include "labs/homework/h3/thin.h"

#include <math.h>
#include <string.h>

#include "core/base/mix.h"

static const double rate = 0.1, part = 0.25, most = 0.5; // of a step; of tanh in what a layer adds; |values| at first

// Uniform in [-1, 1).
static double number(uint64_t seed, int a, int b, int c)
{
    const uint64_t x = clab_mix(clab_mix(clab_mix(seed, (uint64_t)a), (uint64_t)b), (uint64_t)c);
    return (double)(x >> 11) / 4503599627370496.0 - 1;
}

void thin_begin(struct thin *t, const struct h3_case *c)
{
    memset(t, 0, sizeof *t);
    t->c = c;
    for (int p = 0; p < h3_parameters(c); p++)
        for (int i = 0; i < thin_count(p); i++)
            t->values[p].v[i] = most * number(c->seed, 1, p, i);
}

static void layer_forward(struct thin *t, int layer, int row, struct thin_row *y)
{
    const double *w = t->values[2 * layer].v, *b = t->values[2 * layer + 1].v;
    t->input[layer][row] = *y;
    for (int j = 0; j < THIN_WIDTH; j++) {
        double z = b[j];
        for (int i = 0; i < THIN_WIDTH; i++)
            z += t->input[layer][row].x[i] * w[i * THIN_WIDTH + j];
        t->bent[layer][row].x[j] = tanh(z);
        y->x[j] += part * t->bent[layer][row].x[j];
    }
}

void thin_forward(struct thin *t, int rank, int step)
{
    const struct h3_case *c = t->c;
    for (int row = 0; row < THIN_ROWS; row++) {
        struct thin_row x, sum = {{0}}, y = {{0}};
        for (int i = 0; i < THIN_WIDTH; i++)
            x.x[i] = number(c->seed, 2, 1000 * step + 10 * rank + row, i);
        for (int l = 0; l < c->layers; l++) {
            if (h3_is_first_of_branch(c, l))
                y = x;
            layer_forward(t, l, row, &y);
            for (int i = 0; i < THIN_WIDTH && (l == c->layers - 1 || l == c->branch - 1); i++)
                sum.x[i] += y.x[i];
        }
        for (int i = 0; i < THIN_WIDTH; i++)
            t->delta[0][row].x[i] = t->delta[1][row].x[i] =
                2 * (sum.x[i] - number(c->seed, 3, 1000 * step + 10 * rank + row, i)) / (THIN_ROWS * THIN_WIDTH);
    }
    memset(t->gradients, 0xff, sizeof t->gradients);
}

// Which of `delta` is the layer's.
static int branch_of(const struct thin *t, int layer)
{
    return t->c->branch && layer >= t->c->branch;
}

static double before_bend(const struct thin *t, int layer, int row, int j)
{
    const double bent = t->bent[layer][row].x[j];
    return t->delta[branch_of(t, layer)][row].x[j] * (1 - bent * bent) * part;
}

void thin_backward(const struct thin *t, int layer, struct thin_parameter *weights_p, struct thin_parameter *biases_p)
{
    memset(weights_p, 0, sizeof *weights_p);
    memset(biases_p, 0, sizeof *biases_p);
    for (int row = 0; row < THIN_ROWS; row++)
        for (int j = 0; j < THIN_WIDTH; j++) {
            const double dz = before_bend(t, layer, row, j);
            biases_p->v[j] += dz;
            for (int i = 0; i < THIN_WIDTH; i++)
                weights_p->v[i * THIN_WIDTH + j] += t->input[layer][row].x[i] * dz;
        }
}

void thin_backward_inputs(struct thin *t, int layer)
{
    const double *w = t->values[2 * layer].v;
    for (int row = 0; row < THIN_ROWS; row++) {
        struct thin_row dx = t->delta[branch_of(t, layer)][row];
        for (int j = 0; j < THIN_WIDTH; j++)
            for (int i = 0; i < THIN_WIDTH; i++)
                dx.x[i] += before_bend(t, layer, row, j) * w[i * THIN_WIDTH + j];
        t->delta[branch_of(t, layer)][row] = dx;
    }
}

void thin_update(struct thin *t, int parameter)
{
    for (int i = 0; i < thin_count(parameter); i++)
        t->values[parameter].v[i] -= rate * t->gradients[parameter].v[i];
}

// ---- as it should be -----------------------------------------------------------------------------------------------

static void add_gradients(struct thin *t, int rank, int step, struct thin_parameter sums[])
{
    const int ranks = t->c->ranks;
    thin_forward(t, rank, step);
    for (int l = t->c->layers - 1; l >= 0; l--) {
        struct thin_parameter both[2];
        thin_backward(t, l, &both[0], &both[1]);
        thin_backward_inputs(t, l);
        for (int p = 2 * l; p <= 2 * l + 1; p++)
            for (int i = 0; i < thin_count(p); i++)
                sums[p].v[i] += both[p % 2].v[i] / ranks;
    }
}

void thin_expected(const struct h3_case *c, int steps, struct thin *t)
{
    struct thin_parameter sums[H3_PARAMETERS];
    thin_begin(t, c);
    for (int step = 0; step < steps; step++) {
        memset(sums, 0, sizeof sums);
        for (int rank = 0; rank < c->ranks; rank++)
            add_gradients(t, rank, step, sums);
        memcpy(t->gradients, sums, sizeof sums);
        for (int p = 0; p < h3_parameters(c); p++)
            thin_update(t, p);
    }
}
