// SPDX-License-Identifier: MIT
// Our types and operations in NCCL's terms.

#include "backends/nccl/endpoint.h"

bool nccl_type(enum clab_type type, ncclDataType_t *type_p)
{
    static const ncclDataType_t types[CLAB_TYPE_COUNT] = {
        [CLAB_F32] = ncclFloat32, [CLAB_F64] = ncclFloat64, [CLAB_F16] = ncclFloat16, [CLAB_BF16] = ncclBfloat16,
        [CLAB_I8] = ncclInt8,     [CLAB_U8] = ncclUint8,    [CLAB_I32] = ncclInt32,   [CLAB_I64] = ncclInt64};
    if ((unsigned)type >= CLAB_TYPE_COUNT)
        return false;
    *type_p = types[type];
    return true;
}

ncclRedOp_t nccl_op(enum clab_op op)
{
    switch (op) {
    case CLAB_PROD: return ncclProd;
    case CLAB_MIN: return ncclMin;
    case CLAB_MAX: return ncclMax;
    default: return ncclSum;
    }
}
