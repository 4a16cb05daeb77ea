// SPDX-License-Identifier: MIT
// Models and networks that h3 asks about (case.h).
//
// - Three families: equal layers; a transformer, whose first layer is a large table; a network of convolutions, whose
//   early layers compute long and whose late ones have most of the parameters.
// - A network is chosen for its model by two numbers: how long all bytes travel, and how long it takes to start
//   collectives, both as parts of the backward pass.

#include <math.h>
#include <string.h>

#include "core/base/mix.h"
#include "labs/homework/h3/case.h"

// ---- random numbers ------------------------------------------------------------------------------------------------

struct dice {
    uint64_t seed, thrown;
};

static double between(struct dice *d, double least, double most)
{
    return least + (most - least) * (double)(clab_mix(d->seed, d->thrown++) >> 11) / 9007199254740992.0;
}

static int among(struct dice *d, int least, int most)
{
    return least + (int)(clab_mix(d->seed, d->thrown++) % (uint64_t)(most - least + 1));
}

// ---- models --------------------------------------------------------------------------------------------------------

// A layer that takes `work` for each of its two passes; times are scaled later.
static void add(struct h3_case *c, double weights, double biases, double work)
{
    if (c->layers < H3_LAYERS)
        c->layer[c->layers++] = (struct h3_layer){(size_t)weights, (size_t)biases, work, work};
}

static void equal(struct h3_case *c, int layers, double width)
{
    for (int l = 0; l < layers; l++)
        add(c, width * width, width, width * width);
}

static void transformer(struct h3_case *c, int blocks, double width, double words)
{
    const double square = width * width;
    add(c, words * width, width, 8 * square); // only the rows of the words in the batch are touched
    for (int b = 0; b < blocks; b++) {
        add(c, width, width, 4 * width);
        add(c, 3 * square, 3 * width, 3 * square);
        add(c, square, width, square);
        add(c, width, width, 4 * width);
        add(c, 4 * square, 4 * width, 4 * square);
        add(c, 4 * square, width, 4 * square);
    }
}

static void convolutions(struct h3_case *c, int per_stage, double channels, int stages)
{
    double area = pow(4, stages);
    add(c, 7 * 7 * 3 * channels, channels, 7 * 7 * 3 * channels * area);
    for (int stage = 0; stage < stages; stage++, channels *= 2, area /= 4)
        for (int l = 0; l < per_stage; l++)
            add(c, 9 * channels * channels, channels, 9 * channels * channels * area);
    add(c, channels / 2 * 1000, 1000, channels / 2 * 1000 * area);
}

// A model of one of the families.
static void draw(struct h3_case *c, struct dice *d, int family)
{
    if (family == 0)
        equal(c, among(d, 24, 60), 64 * among(d, 3, 10));
    else if (family == 1)
        transformer(c, among(d, 6, 12), 64 * among(d, 4, 8), 1000 * among(d, 2, 8));
    else
        convolutions(c, among(d, 4, 9), 8 * among(d, 6, 9), 4);
}

static void scale_times(struct h3_case *c, double backward)
{
    const double factor = backward / h3_backward(c);
    for (int l = 0; l < c->layers; l++) {
        c->layer[l].weights_seconds *= factor;
        c->layer[l].inputs_seconds *= factor;
    }
}

// ---- networks ------------------------------------------------------------------------------------------------------

// bytes: the time of one allreduce of all of them without its start; starts: that of one start per parameter. Both as
// parts of the backward pass.
static void connect(struct h3_case *c, double bytes, double starts)
{
    const double rounds = 2 * log2(c->ranks), part = (c->ranks - 1.0) / c->ranks, all = (double)h3_all_bytes(c);
    c->gamma = 0.1 * bytes * h3_backward(c) / all / part;
    c->beta = 0.9 * bytes * h3_backward(c) / all / part / 2;
    c->alpha = starts * h3_backward(c) / h3_parameters(c) / rounds;
    c->memory = 0.01 * h3_backward(c) / all; // so that updates take a twentieth of the pass
}

void h3_network(int which, uint64_t seed, struct h3_case *c)
{
    static const char *const names[H3_NETWORKS] = {"a network whose bytes fit beside the backward pass",
                                                   "a network with slow links", "a network with slow starts"};
    struct dice d = {.seed = seed};
    *c = (struct h3_case){.seed = seed, .ranks = 4 << among(&d, 0, 2)};
    strncpy(c->name, names[which], sizeof c->name - 1);
    draw(c, &d, among(&d, 0, 2));
    scale_times(c, between(&d, 20e-3, 60e-3));
    // Of the pass: all bytes, and one start. The best buckets are then some 9, 30 and 3.
    const double bytes[H3_NETWORKS] = {between(&d, 0.78, 0.86), between(&d, 1.02, 1.06), between(&d, 0.3, 0.5)},
                 start[H3_NETWORKS] = {between(&d, 0.017, 0.023), between(&d, 0.0005, 0.001), between(&d, 0.11, 0.16)};
    connect(c, bytes[which], start[which] * h3_parameters(c));
    c->memory = 0.004 * h3_backward(c) / (double)h3_all_bytes(c); // updates take a fiftieth of it
}

// ---- small ones ----------------------------------------------------------------------------------------------------

static void name(struct h3_case *c, const char *text)
{
    strncpy(c->name, text, sizeof c->name - 1);
}

void h3_plain(int which, struct h3_case *c)
{
    *c = (struct h3_case){.seed = (uint64_t)which, .ranks = which == 1 ? 8 : which == 3 ? 2 : 4};
    if (which == 0) {
        name(c, "ten equal layers");
        equal(c, 10, 256);
    } else if (which == 1) {
        name(c, "a large first and a large last layer");
        add(c, 4e6, 100, 1e4);
        equal(c, 6, 100);
        add(c, 4e6, 10, 1e4);
    } else if (which == 2) {
        name(c, "forty layers of very different size");
        for (int l = 0; l < 40; l++)
            add(c, (l % 7 + 1) * (l % 5 + 1) * 3000.0, 1 + l, 1000.0);
    } else {
        name(c, "one layer");
        equal(c, 1, 64);
    }
    scale_times(c, 10e-3);
    connect(c, 0.7, 1);
}

void h3_branched(int which, uint64_t seed, struct h3_case *c)
{
    struct dice d = {.seed = seed + (uint64_t)which};
    *c = (struct h3_case){.seed = seed, .ranks = which ? 4 : 2};
    name(c, which ? "two branches of different size" : "two equal branches");
    equal(c, which ? among(&d, 2, 5) : 4, 128);
    c->branch = c->layers;
    equal(c, which ? among(&d, 6, 9) : 4, which ? 64 : 128);
    scale_times(c, 10e-3);
    connect(c, 0.7, 1);
}

void h3_shape(int which, uint64_t seed, struct h3_case *c)
{
    struct dice d = {.seed = seed + (uint64_t)which};
    *c = (struct h3_case){.seed = seed, .ranks = 2 << among(&d, 0, 2)};
    name(c, which == 2 ? "two branches" : which ? "a transformer" : "convolutions");
    if (which == 2) {
        equal(c, among(&d, 3, 9), 32 * among(&d, 2, 8));
        c->branch = c->layers;
        equal(c, among(&d, 3, 9), 32 * among(&d, 2, 8));
    } else {
        draw(c, &d, which ? 1 : 2);
    }
    scale_times(c, between(&d, 5e-3, 20e-3));
    connect(c, between(&d, 0.4, 1.5), between(&d, 0.3, 6));
}
