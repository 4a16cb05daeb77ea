// SPDX-License-Identifier: MIT
// Data parallel training: replicas whose gradients are averaged over all ranks, in buckets, while the backward pass
// goes on.
//
// - At the start all ranks get rank 0's parameters.
// - Gradients appear in reverse order of the forward pass, and so are parameters put in buckets: one is full when it
//   holds its cap or more. The first has a cap of its own, so that communication begins early.
// - A bucket *is* the memory of its gradients: the backward pass writes them there, the allreduce sends them from
//   there, and the average arrives there, without copies. (`copies` makes copies, to show their cost.)
// - A bucket's allreduce starts when its last gradient is ready and the buckets before it have started, so that all
//   ranks start the same ones in the same order. The communicator decides whether it proceeds meanwhile.
// - With find_unused, parameters that this pass does not use are ready at once: their gradient is 0, or the accumulated
//   one. Without it their bucket never starts, and finish reports an error.
// - With `compress`, what travels is smaller (compress.h). Its first collective starts when the bucket is ready;
//   the others, in finish.
// - Of a step of several passes (gradient accumulation) only the last one communicates.
// Source: Li et al. 2020, PyTorch Distributed: Experiences on Accelerating Data Parallel Training.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "compress.h"
#include "parameters.h"

struct clab_comm;
struct clab_ddp;

struct clab_ddp_options {
    size_t cap;       // bytes of a bucket; 0: 25 MiB. 1: one a parameter; SIZE_MAX: one in all
    size_t first_cap; // of the first; 0: 1 MiB, or cap if that is less
    bool no_overlap;  // all buckets start after the backward pass
    bool find_unused;
    bool copies; // gradients stay in memory of their own, and are copied to buckets and back
    const struct clab_compression *compress; // how gradients travel; NULL: whole
};

// Parameters go into buckets from the last to the first: bucket b holds parameters first[b] to (first[b - 1] or n) - 1.
//   counts: (n) elements; first: (n), filled. Returns how many buckets there are.
int clab_buckets_plan(const size_t counts[], int n, size_t cap, size_t first_cap, int first[]);

struct clab_bucket {
    int first, last;  // parameters; last >= first
    size_t count;     // elements
    float *gradients; // (count), in reverse order of parameters
};

// Collective over comm, whose ranks all have such parameters. They, and where their gradients are, are the caller's to
// keep until destroy.
//   errors: CLAB_EINVAL (n < 1; logged), CLAB_ENOMEM, of clab_broadcast, of clab_compressor_create
int clab_ddp_create(struct clab_comm *comm, struct clab_parameter parameters[], int n,
                    const struct clab_ddp_options *options, struct clab_ddp **ddp_p);
// Not within a step. Gradients lose their memory. NULL is fine.
void clab_ddp_destroy(struct clab_ddp *ddp);

// A backward pass begins; `reduce`: its gradients are to be averaged, else they only add up here (no_sync).
//   errors: CLAB_EINVAL (the pass before has not been finished; logged), and as clab_ddp_ready
int clab_ddp_begin(struct clab_ddp *ddp, bool reduce);
// The gradient of a parameter is complete. Fits clab_mlp_ready: `ddp` is a struct clab_ddp.
//   errors: CLAB_EINVAL (it was before, or there is none; logged), of clab_allreduce_start
int clab_ddp_ready(void *ddp, int parameter);
// Wait until all gradients are averages: to be called before the optimiser's step.
//   errors: CLAB_EINVAL (parameters got no gradient, and find_unused is off; logged), of clab_allreduce
int clab_ddp_finish(struct clab_ddp *ddp);

int clab_ddp_nbuckets(const struct clab_ddp *ddp);
const struct clab_bucket *clab_ddp_bucket(const struct clab_ddp *ddp, int bucket);
// Seconds that the last finish has taken: communication that no computation hid and, with `copies`, the copies that it
// makes meanwhile.
double clab_ddp_exposed(const struct clab_ddp *ddp);
// A table of the buckets: parameters, elements, MB.  errors: CLAB_ENOMEM
int clab_ddp_print(const struct clab_ddp *ddp, FILE *file);
