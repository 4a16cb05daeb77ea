// SPDX-License-Identifier: MIT
// Which backends there are, and how one is found by name: those built in, and plugins (plugin.h).

#include "core/base/machine/called.h"
#include "core/transport/backend.h"

#include <stdio.h>
#include <string.h>

#include "core/base/log.h"
#include "core/base/nearest.h"
#include "core/transport/plugin.h"

// The backends of this build.
extern const struct clab_backend clab_backend_shm, clab_backend_sim;
#ifdef HAVE_LIBFABRIC
extern const struct clab_backend clab_backend_ofi;
#endif

static const struct clab_backend *const built_in[] = {
    &clab_backend_shm,
#ifdef HAVE_LIBFABRIC
    &clab_backend_ofi,
#endif
    &clab_backend_sim,
    NULL,
};

// Those that a machine may lack, and what they are built from.
static const struct {
    const char *name, *needs;
} optional[] = {
    {"ofi", "libfabric (libfabric-dev)"},
    {"gloo", "Gloo (libgloo-dev) and a C++ compiler"},
    {"mpi", "an MPI (libopenmpi-dev or libmpich-dev)"},
    {"nccl", "NVIDIA's CUDA toolkit and NCCL (./probe.sh says what is missing)"},
};

static const struct clab_backend *find_built_in(const char *name)
{
    for (int i = 0; built_in[i]; i++)
        if (!strcmp(built_in[i]->name, name))
            return built_in[i];
    return NULL;
}

const char *clab_backend_name(int i)
{
    for (int b = 0; built_in[b]; b++, i--)
        if (i == 0)
            return built_in[b]->name;
    return clab_plugin_name(i);
}

const char *clab_backend_usual(int nnodes)
{
    return nnodes > 1 ? "ofi" : "shm";
}

static void say_what_there_is(const char *name)
{
    char names[512] = "";
    size_t used = 0;
    struct clab_nearest nearest = clab_nearest_to(name, strlen(name));
    for (size_t i = 0; i < sizeof optional / sizeof *optional; i++)
        if (!strcmp(optional[i].name, name)) {
            clab_error("--backend: %s is not in this build: it needs %s; install that (%s, but for CUDA), "
                       "then run %s",
                       name, optional[i].needs, clab_setup(), clab_rebuild());
            return;
        }
    for (int i = 0; clab_backend_name(i) && used < sizeof names; i++) {
        clab_nearest_offer(&nearest, clab_backend_name(i));
        used += (size_t)snprintf(names + used, sizeof names - used, " %s", clab_backend_name(i));
    }
    clab_error("--backend: there is no '%s' in this build%s; there is:%s", name, clab_nearest_hint(&nearest), names);
}

const struct clab_backend *clab_backend_find(const char *name)
{
    const struct clab_backend *found = find_built_in(name);
    if (found)
        return found;
    if (clab_plugin_exists(name))
        return clab_plugin_load(name);
    say_what_there_is(name);
    return NULL;
}
