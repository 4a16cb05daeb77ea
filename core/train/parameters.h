// SPDX-License-Identifier: MIT
// Parameters: named arrays of float32 that are learnt, with their gradients.
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct clab_comm;

struct clab_parameter {
    char name[24];   // "weight3"
    size_t count;    // elements
    size_t rows;     // of a matrix, with count / rows columns, row after row; 0: it is none
    float *value;    // (count)
    float *gradient; // (count); NULL: there is no memory for it yet
    bool unused;     // in the last forward pass
};

// Whether all ranks of `comm` hold the same values, bit for bit: by a hash of each rank's, so that 8 bytes a rank
// travel.
//   out:    *other_p, the first rank whose values are not rank 0's, or -1
//   errors: of clab_allgather, of clab_copy, CLAB_ENOMEM
int clab_parameters_compare(struct clab_comm *comm, const struct clab_parameter parameters[], int n, int *other_p);

// How far an element may differ between two runs of the same training, `steps` steps of SGD, that add in different
// orders.
//   terms:   additions behind an element of a gradient: samples of the global batch, plus ranks
//   moved:   most that a step moves an element, were all samples' gradients of one sign: rate * mean |gradient|
//   largest: magnitude of an element
//
// A sum of m floats in any order is off by at most g = m u / (1 - m u) times the sum of their magnitudes, u = 2^-24
// (Higham 2002, section 4.2), so two orders are twice that apart. A step thus adds at most 2 g moved, and u largest
// twice, since each run rounds value + update. A difference changes later gradients: per step it grows to first order
// by 1 + rate * L, where L is the loss's curvature, and rate * L < 2 or training diverges. So a difference of one step
// grows at most by 3 in each later step: (3^steps - 1) / 2 in all. Not covered: a max(0, x) whose x is 0 up to
// rounding in one of the runs.
double clab_parameters_bound(int steps, double terms, double moved, double largest);
