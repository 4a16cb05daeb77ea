// SPDX-License-Identifier: MIT
// How the gradients of a bucket travel: whole, or smaller.
//
//   none      an allreduce of float32
//   fp16      each gradient / P as IEEE binary16, added up in it: half the bytes; below 6e-8 all is 0, above 65504 infinite
//   bf16      likewise as bfloat16: the range of float32, 8 bits of precision
//   int8      whole numbers of one scale, which all ranks share: the largest |gradient| of all ranks / 127. An alltoall
//             brings each rank its share of all codes, which it adds up in 32 bits. The mean, rounded, is gathered.
//   powersgd  of a matrix M (rows, columns) two thin ones: P = M Q, averaged and made orthonormal; Q = M' P, averaged.
//             The average is P Q'. Q is kept for the next step (warm start). What is no matrix, or would not be smaller,
//             travels whole.
//   topk      of so many elements the one with the largest magnitude, with its index, from each rank to all
//
// - What int8, powersgd and topk have not sent is kept, and added to the next step's gradients (error feedback): with
//   the gradients g and residuals e of P ranks before a step, and e' after it, P average + sum e' = sum (g + e).
// - All ranks get the same average, to the bit. Where a gradient is no finite number, neither is its average (of int8
//   and powersgd: of the whole bucket, or matrix); residuals stay finite.
// - Work on memory is told to clab_compute: it is part of a step's time, in virtual time, too.
// - int8 and topk compute in loops of their own, so their gradients lie in the host's memory.
// Source: Vogels, Karimireddy and Jaggi 2019 (PowerSGD); Seide et al. 2014 and Stich et al. 2018 (error feedback);
// Lin et al. 2018 (Deep Gradient Compression: top-k).
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "parameters.h"

struct clab_comm;
struct clab_work;
struct clab_compressor; // of a bucket

struct clab_compression {
    const char *method; // NULL: "none"
    int rank;           // powersgd: columns of the thin matrices; 0: 4
    int first;          // powersgd, topk: steps before this one travel whole; 0: 10, -1: none do
    int part;           // topk: of so many elements one is sent; 0: 100
    bool forgets;       // no error feedback: what is not sent is lost
    bool is_cold;       // powersgd: Q is drawn anew in each step
};

// The methods' names, in the order above, and how many there are.
enum { CLAB_COMPRESSIONS = 6 };
const char *clab_compression_name(int method);

// Memory that gradients lie in, and what they are.
struct clab_compressible {
    const struct clab_parameter *parameters; // with the shapes of parameters
    int first, last;                         // from parameter `last` down to `first`
    float *gradients;                        // (all of theirs), one parameter after another
};

// Not a collective. comm, parameters and gradients stay the caller's, and where they are.
//   errors: CLAB_EINVAL (no such method, or a rank or part below 0; logged), CLAB_EUNSUPPORTED (int8 or topk of
//   gradients in a GPU's memory; logged), CLAB_ENOMEM
int clab_compressor_create(struct clab_comm *comm, const struct clab_compression *how,
                           const struct clab_compressible *what, struct clab_compressor **compressor_p);
void clab_compressor_destroy(struct clab_compressor *compressor); // NULL is fine

// Begin to average the gradients over all ranks.  out: *work_p, to be waited for before finish
int clab_compressor_start(struct clab_compressor *compressor, struct clab_work **work_p);
// The rest, which communicates, too: collective. On return gradients are the average.
int clab_compressor_finish(struct clab_compressor *compressor);

// What has not been sent: (elements of the bucket), in the order of its gradients; NULL: this method keeps nothing.
const float *clab_compressor_residual(const struct clab_compressor *compressor);

struct clab_device;
// Whether the processor computes where memory of that device lies. False: it is a GPU's, which int8 and top-k refuse.
bool clab_compress_is_on_host(const struct clab_device *device);
