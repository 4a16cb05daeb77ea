// SPDX-License-Identifier: MIT
// Compression of gradients: what is sent, and what it costs to make it. n is the elements of a bucket, e bytes each;
// work is bytes of memory that are read and written, since all of it is limited by that.
//
//   fp16, bf16  read e n, write 2 n; an allreduce of 2 n bytes; read 2 n, write e n
//   int8        find the largest (read e n); an allreduce of it, 4 B, since all ranks need one scale; round (read e n,
//               write n); an alltoall of n bytes; add up P pieces in 32 bits and round the mean (read n, and 9 n / P
//               for the sums); an allgather of n bytes; read n, write e n. Sums of int8 would overflow in an allreduce.
//   powersgd:R  M (rows x columns) is what is left from before plus the gradient: read 2 e n, write e n; P = M Q, read
//               e n; an allreduce of P, R elements a row, and of all that is no matrix; Q = M' P, read e n; an
//               allreduce of Q, R elements a column; P Q' and what is left: read e n, write 2 e n. Products with so
//               thin matrices, and making P orthogonal, take less than reading M.
//
// Source: Wang et al. 2023 (ZeRO++, quantised gradients by alltoall); Vogels, Karimireddy and Jaggi 2019 (PowerSGD).

#include "sim/train/inside.h"

#include <math.h>

static struct train_phases one_allreduce(size_t bytes, size_t element_bytes, double work, double decode)
{
    return (struct train_phases){.phases = {{work, CLAB_ALLREDUCE, bytes, element_bytes}}, .n = 1, .decode = decode};
}

static struct train_phases halves(const struct clab_train *t, size_t n)
{
    const double work = (double)(t->element_bytes + 2) * (double)n * t->memory;
    return one_allreduce(2 * n, 2, work, work);
}

static struct train_phases bytes_each(const struct clab_train *t, size_t n)
{
    const double e = (double)t->element_bytes, elements = (double)n;
    return (struct train_phases){.phases = {{e * elements * t->memory, CLAB_ALLREDUCE, sizeof(float), sizeof(float)},
                                            {(e + 1) * elements * t->memory, CLAB_ALLTOALL, n, 1},
                                            {elements * (1 + 9.0 / t->nranks) * t->memory, CLAB_ALLGATHER, n, 1}},
                                 .n = 3,
                                 .decode = (1 + e) * elements * t->memory};
}

static struct train_phases thin_matrices(const struct clab_train *t, const struct clab_train_bucket *bucket, size_t n)
{
    const bool has_shape = bucket->rows || bucket->vectors;
    const size_t side = (size_t)ceil(sqrt((double)n)), e = t->element_bytes, r = (size_t)t->codec_rank;
    const size_t rows = has_shape ? bucket->rows : side, columns = has_shape ? bucket->columns : side;
    const size_t vectors = has_shape ? bucket->vectors : 0;
    const double pass = (double)e * (double)(n - vectors) * t->memory;
    if (rows == 0)
        return one_allreduce(e * n, e, 0, 0);
    return (struct train_phases){
        .phases = {{4 * pass, CLAB_ALLREDUCE, e * (r * rows + vectors), e}, {pass, CLAB_ALLREDUCE, e * r * columns, e}},
        .n = 2,
        .decode = 3 * pass};
}

struct train_phases train_phases_of(const struct clab_train *train, const struct clab_train_bucket *bucket)
{
    const size_t n = bucket->bytes / train->element_bytes;
    if (train->nranks == 1)
        return (struct train_phases){.n = 0};
    switch (train->codec) {
    case CLAB_TRAIN_FP16:
    case CLAB_TRAIN_BF16: return halves(train, n);
    case CLAB_TRAIN_INT8: return bytes_each(train, n);
    case CLAB_TRAIN_POWERSGD: return thin_matrices(train, bucket, n);
    default: return one_allreduce(bucket->bytes, train->element_bytes, 0, 0);
    }
}
