// SPDX-License-Identifier: MIT
// A training step that h3 asks about: a model, its times, a network. What a student's code is told of it, and what the
// grader replays.
//
// - A layer has two parameters: 2 l are its weights, 2 l + 1 its biases, as in core/train/mlp.h. Its gradients are there
//   after `weights` s, biases first; then the gradients of its inputs take `inputs` s.
// - A model is one chain of layers, or two branches side by side whose outputs are added. Then odd ranks compute the lower
//   branch first. A branch's first layer has no gradients of inputs.
// - Sizes and times are those that are told and priced. Numbers are replayed on a thin model with as many layers (replay.h).
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

enum { H3_RANKS = 16, H3_LAYERS = 128, H3_PARAMETERS = 2 * H3_LAYERS, H3_STEPS = 3, H3_NAME = 64, H3_ACTIONS = 4096 };

struct h3_layer {
    size_t weights, biases;                 // elements, of 4 B
    double weights_seconds, inputs_seconds; // s, of the backward pass
};

struct h3_case {
    char name[H3_NAME]; // "two equal layers"
    int ranks;          // a power of two
    int layers;
    int branch; // layers from this one on are the upper branch; 0: there is one chain
    struct h3_layer layer[H3_LAYERS];
    double alpha, beta, gamma; // s, s/B, s/B
    double memory;             // s/B
    uint64_t seed;             // of the thin model
};

static inline int h3_parameters(const struct h3_case *c)
{
    return 2 * c->layers;
}
size_t h3_bytes(const struct h3_case *c, int parameter);
size_t h3_all_bytes(const struct h3_case *c);
double h3_backward(const struct h3_case *c); // s of the whole backward pass
// The order in which rank `rank` computes its layers' gradients.  order: (layers), filled
void h3_order(const struct h3_case *c, int rank, int order[]);
bool h3_is_first_of_branch(const struct h3_case *c, int layer);

// ---- where cases come from -----------------------------------------------------------------------------------------

// Small models whose gradients come in the usual order. which: 0 to H3_PLAIN - 1
enum { H3_PLAIN = 4 };
void h3_plain(int which, struct h3_case *c);
// Models of two branches, by a seed.  which: 0 or 1
enum { H3_BRANCHED = 2 };
void h3_branched(int which, uint64_t seed, struct h3_case *c);
// Models of any kind, by a seed.
enum { H3_SHAPES = 3 };
void h3_shape(int which, uint64_t seed, struct h3_case *c);
// What is timed, by a seed: on the first network bytes take most of the backward pass; on the second a little more than all
// of it, and starts next to nothing; on the third starting a collective is slow.
enum { H3_NETWORKS = 3 };
void h3_network(int which, uint64_t seed, struct h3_case *c);

// ---- files ---------------------------------------------------------------------------------------------------------

// What the harness reads (harness.c).
void h3_write(const struct h3_case *c, FILE *file);
// What a student reads: the model and all numbers of a case, with when each gradient is ready; a network for `--net`.
void h3_write_model(const struct h3_case *c, FILE *file);
void h3_write_network(const struct h3_case *c, FILE *file);
