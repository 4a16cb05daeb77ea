// SPDX-License-Identifier: MIT
// Homework h3: what your mine.c defines, and what it may call. h3.md is the task.
//
// One step of data parallel training, on one rank. Each rank runs your program, and has a copy of all parameters:
//
//     begin(s);                  the backward pass begins; no gradient is there yet
//     ready(s, parameter);       once per parameter: its gradient has just been computed. Then the backward pass goes on
//     finish(s);                 the backward pass is over; when this returns, all parameters must be updated
//
// Parameters have the numbers 0 to n - 1 in the order of the forward pass. Most of the time their gradients come from
// n - 1 down to 0, on all ranks alike. In a model of two branches they do not: there, odd ranks compute the other
// branch first.
//
// - Gradients lie in memory one after another, in the order of their parameters' numbers. So (first, count) names those
//   of parameters first, first + 1, ..., first + count - 1: one collective can take them all, without a copy.
// - Ranks must start the same collectives in the same order.
// - Your variables stay from step to step, and each rank has its own.
#pragma once

#include <stddef.h>

struct step; // one step on one rank

// What you know. The same on all ranks but for `rank`, and the same in all steps.
struct step_facts {
    int rank, ranks;       // 0 to ranks - 1; ranks is a power of two, at most 16
    int n;                 // parameters (arrays of numbers: a layer's weights, a layer's biases), at most 256
    const size_t *bytes;   // (n) of each gradient; a number has 4 bytes
    const double *seconds; // (n) s from the begin of the backward pass until this gradient is there, on rank 0, if
                           // nothing stops the pass
    double backward;       // s of the whole backward pass
    double alpha, beta;    // a message of b bytes takes alpha + b beta: s, s per byte
    double gamma;          // s per byte that is added
    double memory;         // s per byte that is read or written, by step_scale and step_update
};
const struct step_facts *step_facts(const struct step *s);

// ---- you write -----------------------------------------------------------------------------------------------------

void begin(struct step *s);
void ready(struct step *s, int parameter);
void finish(struct step *s);

// ---- you call ------------------------------------------------------------------------------------------------------

enum { STEP_ACTIONS = 4096 }; // calls of these in one step, at most

// Start an allreduce: each of these gradients becomes the *sum* of all ranks' gradients. It returns at once; the sum
// travels while the pass goes on, by the algorithm halving_doubling. One collective travels after another, in the order in
// which they were started. Until step_wait you may not touch these gradients. Returns a handle: 0 for the first one of a
// step, 1 for the next, ...
int step_reduce(struct step *s, int first, int count);
// Wait until a collective of this step is over: meanwhile this rank computes nothing. Each handle is waited for once.
void step_wait(struct step *s, int handle);
// gradient = factor * gradient. Reads and writes each number.
void step_scale(struct step *s, int first, int count, double factor);
// parameter = parameter - rate * gradient, for which the gradient must be the mean over all ranks. Reads two numbers and
// writes one. The backward pass needs weights until it has computed the gradient that comes next.
void step_update(struct step *s, int first, int count);
