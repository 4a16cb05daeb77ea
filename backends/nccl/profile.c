// SPDX-License-Identifier: MIT
// What NCCL did in the last call, by our profiler for NCCL (../nccl-profiler), where NCCL_PROFILER_PLUGIN names it: NCCL
// has loaded it into this process then.

#include "backends/nccl/endpoint.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

// clab_profiler_last, of that profiler.
typedef bool last_fn(struct clab_ran *last_p);

static const char *named(void)
{
    const char *name = getenv("NCCL_PROFILER_PLUGIN");
    return name && *name ? name : NULL;
}

void nccl_profile_ask(void)
{
    if (named())
        setenv(clab_variable_name(CLAB_VARIABLE_NCCL_LAST), "1", 1);
}

// As NCCL finds it: a file, or a short name.
static void *find_loaded(void)
{
    char file[256];
    const char *name = named();
    void *library = name ? dlopen(name, RTLD_NOW | RTLD_NOLOAD) : NULL;
    if (library || !name)
        return library;
    snprintf(file, sizeof file, "libnccl-profiler-%s.so", name);
    return dlopen(file, RTLD_NOW | RTLD_NOLOAD);
}

bool nccl_ran(const struct clab_endpoint *endpoint, struct clab_ran *ran_p)
{
    void *library = find_loaded();
    (void)endpoint;
    if (!library)
        return false;
    last_fn *ask = (last_fn *)(uintptr_t)dlsym(library, "clab_profiler_last");
    const bool is_known = ask && ask(ran_p);
    dlclose(library);
    return is_known;
}
