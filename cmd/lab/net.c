// SPDX-License-Identifier: MIT
// The network that predicts a lab. With an exact clock it is the simulated one. Else it is that of --net, or this machine's
// profile of the backend. With --emulate it is the emulated network on top of that profile.
//
// - A delayed wire delivers a message when the described network would, and not before. That hides the time in
//   which this machine moves and adds the bytes, as long as it is shorter. So `net` has the machine's calls and copies,
//   which nothing hides, and no cost of pulls and sums. A prediction is the longer one of that and of the machine's
//   without the delayed wire (model.c).
// - Without a profile, the machine's part counts as nothing.

#include "cmd/lab/lab.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/err.h"
#include "core/base/variables.h"

// Add the machine's costs that a delayed wire does not hide.
static void put_on(const struct clab_net *machine, struct clab_net *wire)
{
    wire->gamma = 0;
    wire->nlevels = 0;
    if (!machine)
        return;
    wire->call = machine->call;
    wire->stage = machine->stage;
    wire->core_cache = machine->core_cache;
    wire->shared_cache = machine->shared_cache;
    for (int i = 0; i < machine->nlevels; i++) {
        struct clab_level level = {.bytes = machine->levels[i].bytes};
        memcpy(level.copy, machine->levels[i].copy, sizeof level.copy);
        wire->levels[wire->nlevels++] = level;
    }
}

static const char *last_part(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

// A network that the user named: a mistake in it is wrong usage, unlike a mistake in the kit's own files.
static int load_named(const char *name, struct clab_net **net_p)
{
    const int err = clab_net_load(name, net_p);
    return err == CLAB_EPARSE ? CLAB_EINVAL : err;
}

static int load_delayed(const char *name, const char *backend, struct lab_nets *nets)
{
    CLAB_TRY(load_named(name, &nets->net));
    nets->name = last_part(name);
    CLAB_TRY(clab_net_load_profile(backend, nets->why, &nets->machine));
    put_on(nets->machine, nets->net);
    return CLAB_OK;
}

// A default network may be missing or broken. Then the lab runs without predictions that need one.
static int load_profile(const char *backend, struct lab_nets *nets)
{
    CLAB_TRY(clab_net_load_profile(backend, nets->why, &nets->net));
    nets->name = nets->net ? "machine" : "none";
    return CLAB_OK;
}

int lab_nets_load(const struct lab_request *request, const struct clab_backend *backend, struct lab_nets *nets)
{
    if (request->emulate)
        return load_delayed(request->emulate, backend->name, nets);
    const char *name = request->net ? request->net : backend->time->net(NULL);
    if (!name)
        return load_profile(backend->name, nets);
    if (backend->time->is_exact)
        clab_variable_set(CLAB_VARIABLE_NET, name);
    nets->name = last_part(name);
    return load_named(name, &nets->net);
}

void lab_nets_free(struct lab_nets *nets)
{
    clab_net_free(nets->net);
    clab_net_free(nets->machine);
}
