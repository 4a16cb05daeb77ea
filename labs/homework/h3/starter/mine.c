// SPDX-License-Identifier: MIT
// Homework h3: overlap in a training step. The task: labs/homework/h3/h3.md. What you may call: labs/homework/h3/step.h.
//
// Name and ID:
// How buckets are formed and when they start, in at most ten lines:
// How their size is chosen, and what a step should expose on network 1 (formula, then numbers):
// What the grader says for the three networks, and why that differs:

#include "labs/homework/h3/step.h"

// The backward pass begins. What is remembered between the calls of a step begins anew here.
void begin(struct step *s)
{
    (void)s;
}

// The gradient of `parameter` is there.
// TODO: put it into a bucket. Start the bucket's allreduce (step_reduce) when it is full.
void ready(struct step *s, int parameter)
{
    (void)s, (void)parameter;
}

// The backward pass is over.
// TODO: the update below uses this rank's own gradients, so each rank learns something else. Wait for each bucket
// (step_wait), make its sums means (step_scale), then update its parameters.
void finish(struct step *s)
{
    step_update(s, 0, step_facts(s)->n);
}
