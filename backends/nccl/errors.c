// SPDX-License-Identifier: MIT
// Errors of CUDA and NCCL as ours.
//
// - NCCL's system error is most often a connection that has broken because a peer has ended: the job knows who has.

#include "backends/nccl/endpoint.h"

#include <string.h>

#include "core/base/log.h"

int nccl_cuda_error(cudaError_t code, const char *what)
{
    if (code == cudaSuccess)
        return CLAB_OK;
    cudaGetLastError(); // clears it: else the next call that asks would get it, too
    clab_error("CUDA: %s: %s (%d)", what, cudaGetErrorString(code), (int)code);
    return code == cudaErrorMemoryAllocation ? CLAB_ENOMEM : CLAB_ESYS;
}

bool nccl_has_lost_a_peer(const struct nccl_endpoint *endpoint)
{
    struct clab_bootstrap *boot = endpoint->domain->boot;
    for (int r = 0; r < endpoint->nranks; r++)
        if (boot->presence(boot, endpoint->job_ranks[r]) >= CLAB_LEAVING)
            return true;
    return false;
}

// NCCL says only that CUDA has failed. How, its last warning has in CUDA's words: it calls CUDA from threads of its
// own, and CUDA keeps the last error for each thread.
static bool is_out_of_memory(ncclResult_t code, const char *warning)
{
    return code == ncclUnhandledCudaError && warning && strstr(warning, cudaGetErrorString(cudaErrorMemoryAllocation));
}

int nccl_error(const struct nccl_endpoint *endpoint, ncclComm_t comm, ncclResult_t code, const char *what)
{
    if (code == ncclSuccess)
        return CLAB_OK;
    const char *more = ncclGetLastError(comm);
    if (code == ncclRemoteError || (code == ncclSystemError && nccl_has_lost_a_peer(endpoint))) {
        clab_debug("NCCL: %s: %s: %s", what, ncclGetErrorString(code), more);
        return CLAB_EPEER;
    }
    clab_error("NCCL: %s: %s (%d)%s%s; NCCL_DEBUG=WARN says more", what, ncclGetErrorString(code), (int)code,
               more && *more ? ": " : "", more ? more : "");
    return is_out_of_memory(code, more) ? CLAB_ENOMEM : CLAB_ESYS;
}
