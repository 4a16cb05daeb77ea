// SPDX-License-Identifier: MIT
// Which backends there are, and how one is found by name: those built in, and plugins (plugin.h).

#include "core/transport/backend.h"

#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "core/base/clock.h"
#include "core/base/log.h"
#include "core/base/nearest.h"
#include "core/base/relax.h"
#include "core/transport/plugin.h"
#include "backends/shm/shm.h"
#include "backends/model/virtual.h"

#ifdef HAVE_LIBFABRIC
#include "backends/ofi/ofi.h"
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

static void say_what_there_is(const char *name)
{
    char names[512] = "";
    size_t used = 0;
    struct clab_nearest nearest = clab_nearest_to(name, strlen(name));
    for (size_t i = 0; i < sizeof optional / sizeof *optional; i++)
        if (!strcmp(optional[i].name, name)) {
            clab_error("--backend: %s is not in this build: it needs %s; install that (./setup.sh, but for CUDA), "
                       "then run make",
                       name, optional[i].needs);
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

void clab_nap_until(double until)
{
    const double now = clab_now(), end = until < now + CLAB_NAP ? until : now + CLAB_NAP;
    const struct timespec at = {(time_t)end, (long)((end - (double)(time_t)end) * 1e9)};
    clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &at, NULL);
}

// The kernel adds its timer slack, another 50 us.
static const struct timespec doze = {.tv_nsec = 50000};
static const double doze_takes = 1e-4, most_added = 1. / 200;

bool clab_poll_idle(const struct clab_bootstrap *boot, unsigned spins, unsigned fruitless)
{
    enum { YIELDS = 1000 };
    static _Thread_local double start; // of this thread's wait, but for its spins
    if (boot->crowded)
        spins = 0;
    if (fruitless < spins) {
        clab_relax();
        return false;
    }
    if (fruitless == spins)
        start = clab_now();
    if (fruitless < spins + YIELDS || (!boot->crowded && (clab_now() - start) * most_added < doze_takes))
        sched_yield();
    else
        nanosleep(&doze, NULL);
    return true;
}

bool clab_host_reaches(struct clab_domain *domain, const void *memory)
{
    (void)domain, (void)memory;
    return true;
}

int clab_any_lanes(struct clab_endpoint *endpoint, int lanes)
{
    (void)endpoint, (void)lanes;
    return CLAB_OK;
}

void clab_no_description(struct clab_domain *domain, char *text, size_t room, bool *is_fake_p)
{
    (void)domain, (void)room;
    text[0] = '\0';
    *is_fake_p = false;
}

bool clab_no_native(enum clab_collective collective, enum clab_type type, enum clab_op op)
{
    (void)collective, (void)type, (void)op;
    return false;
}

int clab_no_native_start(struct clab_endpoint *endpoint, const struct clab_call *call, struct clab_native **native_p)
{
    (void)endpoint, (void)call, (void)native_p;
    return CLAB_EUNSUPPORTED;
}

int clab_no_native_test(struct clab_endpoint *endpoint, struct clab_native *native, bool *done_p)
{
    (void)endpoint, (void)native, (void)done_p;
    return CLAB_EUNSUPPORTED;
}
