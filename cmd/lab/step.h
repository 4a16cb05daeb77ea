// SPDX-License-Identifier: MIT
// A step of the training job (core/train) on paper: what is computed, when gradients are ready, what their collectives
// take, and how much of that nothing hides.
//
// - With an exact clock a layer takes what the network says; else its part, by operations, of a step that a probe has timed
//   without communication.
// - Buckets are reduced one after another, each when it is ready and the one before is over. Where ranks move their
//   bytes by the cores that compute (no exact clock, no delayed wire), nothing is hidden: buckets follow the backward
//   pass.
#pragma once

#include "cmd/lab/lab.h"
#include "core/train/mlp.h"

enum { LAB_STEP_LAYERS = 256 };

struct lab_step {
    const struct lab_context *context;
    int ranks;
    struct clab_mlp_shape shape;
    const char *algorithm;         // of the gradients' allreduce
    double second;                 // s an operation, by a probe; 0 with an exact clock
    double forward, loss, update;  // s
    double backward;               // s, all of it
    double ready[LAB_STEP_LAYERS]; // s after the backward pass began: a layer's gradients
};

// What the lab's short runs of before say of `quantity`; NAN: there were none, or none of that.
double lab_step_probed(const struct lab_context *context, const char *quantity);

// Fills in all from `second` on. alone: s of a step without communication by a probe (lab_step_probed), not
// used with an exact clock.
//   errors: CLAB_ENOENT (there is no network, or it computes nothing)
int lab_step_plan(struct lab_step *step, double alone);

// Seconds of a collective of float32 that all begin together, in place, by the algorithm of that name; bytes: of a
// rank's block. Over a delayed wire the longer of the wire's and the machine's; NAN: there is no such algorithm.
double lab_step_price(const struct lab_step *step, enum clab_collective collective, const char *name, size_t bytes);

double lab_step_compute(const struct lab_step *step);            // s of one rank's computation
double lab_step_copy(const struct lab_step *step, double bytes); // s to read and write so many

// Seconds of a step whose gradients are reduced in buckets of `cap` bytes, the first of `first_cap`.
//   out: *exposed_p, s after the backward pass until all are averages; *buckets_p; either may be NULL
double lab_step_bucketed(const struct lab_step *step, size_t cap, size_t first_cap, bool copies, double *exposed_p,
                         int *buckets_p);
