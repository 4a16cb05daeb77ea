// SPDX-License-Identifier: MIT
// A profiler that takes NVTX's ranges, for tests: NVTX_INJECTION64_PATH names it. It says of each range that it begins,
// and that it ends: `nvtx DOMAIN: begin NAME`, `nvtx DOMAIN: end NAME`.
//
// Source: nvtx3/nvToolsExt.h and nvtxDetail/nvtxTypes.h, of the CUDA toolkit.

#if __has_include(<nvtx3/nvToolsExt.h>)

#include <nvtx3/nvToolsExt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct named {
    const char *domain;
    char *name;
};

static nvtxDomainHandle_t create_domain(const char *name)
{
    return (nvtxDomainHandle_t)(void *)strdup(name);
}

static nvtxStringHandle_t register_string(nvtxDomainHandle_t domain, const char *name)
{
    struct named *named = malloc(sizeof *named);
    *named = (struct named){(const char *)(void *)domain, strdup(name)};
    return (nvtxStringHandle_t)(void *)named;
}

static nvtxRangeId_t start_range(nvtxDomainHandle_t domain, const nvtxEventAttributes_t *attributes)
{
    const struct named *named = (const struct named *)(void *)attributes->message.registered;
    if (attributes->messageType != NVTX_MESSAGE_TYPE_REGISTERED || strcmp(named->domain, (const char *)(void *)domain))
        abort();
    fprintf(stderr, "nvtx %s: begin %s\n", named->domain, named->name);
    return (nvtxRangeId_t)(uintptr_t)named;
}

static void end_range(nvtxDomainHandle_t domain, nvtxRangeId_t range)
{
    fprintf(stderr, "nvtx %s: end %s\n", (const char *)(void *)domain, ((const struct named *)(uintptr_t)range)->name);
}

__attribute__((visibility("default"))) int InitializeInjectionNvtx2(NvtxGetExportTableFunc_t get_table);
int InitializeInjectionNvtx2(NvtxGetExportTableFunc_t get_table)
{
    const NvtxExportTableCallbacks *callbacks = get_table(NVTX_ETID_CALLBACKS);
    NvtxFunctionTable table;
    unsigned size;
    if (!callbacks || !callbacks->GetModuleFunctionTable(NVTX_CB_MODULE_CORE2, &table, &size) ||
        size <= NVTX_CBID_CORE2_DomainCreateA)
        return 0;
    *table[NVTX_CBID_CORE2_DomainCreateA] = (NvtxFunctionPointer)create_domain;
    *table[NVTX_CBID_CORE2_DomainRegisterStringA] = (NvtxFunctionPointer)register_string;
    *table[NVTX_CBID_CORE2_DomainRangeStartEx] = (NvtxFunctionPointer)start_range;
    *table[NVTX_CBID_CORE2_DomainRangeEnd] = (NvtxFunctionPointer)end_range;
    return 1;
}

#endif
