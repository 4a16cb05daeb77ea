// SPDX-License-Identifier: MIT
// Which CUDA and NCCL these are, and whether they are real: doubles for tests say so by a function of their own.

#include "backends/nccl/endpoint.h"

#include <dlfcn.h>
#include <stdio.h>

// Whether the library that has `function` is a double.
static bool is_fake(const void *function)
{
    Dl_info info;
    void *library = dladdr(function, &info) ? dlopen(info.dli_fname, RTLD_NOW | RTLD_NOLOAD) : NULL;
    const bool fake = library && dlsym(library, "clab_fake_version");
    if (library)
        dlclose(library);
    return fake;
}

void nccl_describe(struct clab_domain *base, char *text, size_t room, bool *is_fake_p)
{
    struct nccl_domain *domain = (struct nccl_domain *)base;
    struct cudaDeviceProp properties = {.name = ""};
    const bool fake = is_fake((const void *)cudaRuntimeGetVersion) || is_fake((const void *)ncclGetVersion);
    int cuda = 0, nccl = 0;
    cudaRuntimeGetVersion(&cuda);
    ncclGetVersion(&nccl);
    if (domain)
        cudaGetDeviceProperties(&properties, domain->device);
    static const char *const registrations[] = {"", ", memory registered", ", memory in symmetric windows"};
    snprintf(text, room, "NCCL %d.%d.%d, CUDA %d.%d%s%s%s%s%s", nccl / 10000, nccl / 100 % 100, nccl % 100, cuda / 1000,
             cuda / 10 % 100, domain ? ", " : "", properties.name, domain ? registrations[domain->registration] : "",
             domain && domain->is_shared ? ", shared by ranks: no measure of speed" : "",
             fake ? "; all of them fakes for tests" : "");
    *is_fake_p = fake;
}
