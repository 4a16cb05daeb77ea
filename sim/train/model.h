// SPDX-License-Identifier: MIT
// Models that are trained, as the simulator sees them: layers in the order of the forward pass, with parameters and
// flop; and the buckets that their gradients are reduced in.
//
// - Files: sim/models/NAME.model (sim/models/README.md describes the format), or layers of a multilayer perceptron as
//   `784x1024x1024x10`.
// - A layer's backward pass takes twice its forward pass: the gradients of its input, and of its weights.
// - Buckets are PyTorch's: tensors in reverse order of the forward pass; a bucket is full when it holds its cap or
//   more. The first has a cap of its own, so that communication begins early.
// Source: Li et al. 2020, section 4.2; torch/csrc/distributed/c10d/reducer.cpp, compute_bucket_assignment_by_size.
#pragma once

#include <stdio.h>

#include "sim/train/train.h"

enum { CLAB_MODEL_NAME = 48, CLAB_MODEL_TITLE = 160 };

struct clab_model_layer {
    char name[CLAB_MODEL_NAME];
    size_t rows, columns; // of its matrix of weights; 0: none
    size_t vector;        // elements of what is no matrix: biases, scales
    double flop;          // of the forward pass, a sample
};

struct clab_model {
    char name[CLAB_MODEL_NAME], title[CLAB_MODEL_TITLE], sample[CLAB_MODEL_NAME]; // what a sample is: "sequence"
    int batch;                                                                    // samples a rank and micro step
    struct clab_model_layer *layers;                                              // (nlayers), in forward order
    int nlayers, room;
};

// The model `name`: of sim/models, or of CLAB_MODELS; a file; or the widths of a perceptron's layers.
//   errors: CLAB_ENOENT, CLAB_EPARSE (with file and line), CLAB_ENOMEM
int clab_model_load(const char *name, struct clab_model **model_p);
void clab_model_free(struct clab_model *model); // NULL is fine

// The description in a file that is open, and stays so. `path` is what lines that refuse call it.
//   errors: CLAB_EPARSE, CLAB_EIO, CLAB_EUNSUPPORTED (base/files/conf.h), CLAB_ENOMEM
int clab_model_read(FILE *file, const char *path, struct clab_model **model_p);

size_t clab_model_parameters(const struct clab_model *model);
double clab_model_flop(const struct clab_model *model); // of a sample's forward pass

// How a model is trained.
struct clab_train_setting {
    int batch;             // samples a rank and micro step
    double flop_seconds;   // s a flop, efficiency included
    size_t element_bytes;  // of a gradient
    size_t cap, first_cap; // bytes of a bucket, and of the first
    int codec_rank;        // of PowerSGD, which leaves alone what it would not halve; 0: all
};

struct clab_train_plan {
    struct clab_train_bucket *buckets; // (nbuckets), in the order they become ready
    int nbuckets, room;
    double compute; // s of a forward and a backward pass
};

// errors: CLAB_EINVAL (batch, element_bytes, caps < 1; logged), CLAB_ENOMEM
int clab_train_plan_make(const struct clab_model *model, const struct clab_train_setting *setting,
                         struct clab_train_plan *plan_p);
void clab_train_plan_free(struct clab_train_plan *plan);
