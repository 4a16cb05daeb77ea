// SPDX-License-Identifier: MIT
// Ranges for NVIDIA's profilers (NVTX 3): a collective of NCCL's, or a stage of a lane, from when NCCL is called until
// this rank has found it done. They are in the domain "commlab"; NCCL has ranges of its calls in its own.
//
// - NVTX 3 is headers alone, of the CUDA toolkit that the build uses. Without a profiler a range costs a test of a
//   pointer. A toolkit without them: nothing is built.

#include "backends/nccl/endpoint.h"

#if __has_include(<nvtx3/nvToolsExt.h>)

#include <nvtx3/nvToolsExt.h>
#include <stdio.h>

enum { NAME = 16 };

static nvtxDomainHandle_t domain;
static nvtxStringHandle_t collectives[CLAB_COLLECTIVE_COUNT], lanes[CLAB_MAX_LANES];

// NULL: no profiler is there.
static nvtxStringHandle_t name_of(nvtxStringHandle_t *known, const char *name)
{
    if (!*known)
        *known = nvtxDomainRegisterStringA(domain, name);
    return *known;
}

static uint64_t begin(nvtxStringHandle_t name)
{
    const nvtxEventAttributes_t attributes = {.version = NVTX_VERSION,
                                              .size = NVTX_EVENT_ATTRIB_STRUCT_SIZE,
                                              .messageType = NVTX_MESSAGE_TYPE_REGISTERED,
                                              .message.registered = name};
    return nvtxDomainRangeStartEx(domain, &attributes);
}

static bool has_profiler(void)
{
    static bool is_known;
    if (!is_known)
        domain = nvtxDomainCreateA("commlab");
    is_known = true;
    return domain != NULL;
}

uint64_t nccl_range_of_collective(enum clab_collective collective)
{
    return has_profiler() ? begin(name_of(&collectives[collective], clab_collective_name(collective))) : 0;
}

uint64_t nccl_range_of_lane(int lane)
{
    char name[NAME];
    if (!has_profiler())
        return 0;
    snprintf(name, sizeof name, "lane %d", lane);
    return begin(name_of(&lanes[lane], name));
}

void nccl_range_end(uint64_t range)
{
    if (has_profiler())
        nvtxDomainRangeEnd(domain, range);
}

#else

uint64_t nccl_range_of_collective(enum clab_collective collective)
{
    (void)collective;
    return 0;
}

uint64_t nccl_range_of_lane(int lane)
{
    (void)lane;
    return 0;
}

void nccl_range_end(uint64_t range)
{
    (void)range;
}

#endif
