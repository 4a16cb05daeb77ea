// SPDX-License-Identifier: MIT
// Our types and operations in MPI's terms.
// - MPI has no 16-bit floats: two bytes, with operations of ours.
// - Operations on bytes are ours, too: Open MPI 4.1's sums saturate where the processor can (ompi/mca/op/avx), MPICH
//   4.0 compares unsigned ones as if they were signed.
// - MPI's minimum and maximum of other floats may lose a NaN, where ours keep it.

#include "backends/mpi/endpoint.h"

#include "core/base/numbers/reduce.h"

enum { REDUCING = CLAB_AVG }; // operations before the average, which never comes here

static MPI_Datatype two_bytes;
static MPI_Op ours[CLAB_TYPE_COUNT][REDUCING];

// inout = in (op) inout
#define OPERATION(NAME, TYPE, OP)                                           \
    static void NAME(void *in, void *inout, int *count, MPI_Datatype *type) \
    {                                                                       \
        (void)type;                                                         \
        clab_elements_reduce(TYPE, OP, in, inout, inout, (size_t)*count);   \
    }
#define OPERATIONS(PREFIX, TYPE)              \
    OPERATION(PREFIX##_sum, TYPE, CLAB_SUM)   \
    OPERATION(PREFIX##_prod, TYPE, CLAB_PROD) \
    OPERATION(PREFIX##_min, TYPE, CLAB_MIN)   \
    OPERATION(PREFIX##_max, TYPE, CLAB_MAX)
OPERATIONS(f16, CLAB_F16)
OPERATIONS(bf16, CLAB_BF16)
OPERATIONS(i8, CLAB_I8)
OPERATIONS(u8, CLAB_U8)
#define FUNCTIONS(PREFIX)                                       \
    {                                                           \
        PREFIX##_sum, PREFIX##_prod, PREFIX##_min, PREFIX##_max \
    } // in the order of enum clab_op

static MPI_User_function *const functions[CLAB_TYPE_COUNT][REDUCING] = {
    [CLAB_F16] = FUNCTIONS(f16), [CLAB_BF16] = FUNCTIONS(bf16), [CLAB_I8] = FUNCTIONS(i8), [CLAB_U8] = FUNCTIONS(u8)};

int mpi_types_make(void)
{
    MPI_TRY(MPI_Type_contiguous(2, MPI_BYTE, &two_bytes));
    MPI_TRY(MPI_Type_commit(&two_bytes));
    for (int type = 0; type < CLAB_TYPE_COUNT; type++)
        for (int op = 0; op < REDUCING; op++)
            if (functions[type][op])
                MPI_TRY(MPI_Op_create(functions[type][op], 1, &ours[type][op]));
    return CLAB_OK;
}

void mpi_types_free(void)
{
    MPI_Type_free(&two_bytes);
    for (int type = 0; type < CLAB_TYPE_COUNT; type++)
        for (int op = 0; op < REDUCING; op++)
            if (functions[type][op])
                MPI_Op_free(&ours[type][op]);
}

MPI_Datatype mpi_type(enum clab_type type)
{
    switch (type) {
    case CLAB_F32: return MPI_FLOAT;
    case CLAB_F64: return MPI_DOUBLE;
    case CLAB_I8: return MPI_INT8_T;
    case CLAB_U8: return MPI_UINT8_T;
    case CLAB_I32: return MPI_INT32_T;
    case CLAB_I64: return MPI_INT64_T;
    default: return two_bytes;
    }
}

MPI_Op mpi_op(enum clab_type type, enum clab_op op)
{
    if (functions[type][op])
        return ours[type][op];
    switch (op) {
    case CLAB_PROD: return MPI_PROD;
    case CLAB_MIN: return MPI_MIN;
    case CLAB_MAX: return MPI_MAX;
    default: return MPI_SUM;
    }
}
