// SPDX-License-Identifier: MIT
// The network that a lab is predicted by: in virtual time the one that is simulated, else --net's, or this machine's
// profile of the backend; with --emulate the emulated one on top of that profile.
//
// - An emulated message is delivered when the network would, and not before (backends/emulate): what this machine needs
//   to move and to add its bytes is hidden behind that as long as it is shorter. So the wire has the machine's calls
//   and copies, whose time is not hidden, but no cost of pulls and sums; and a prediction is the longer one of the
//   wire's and of the machine's without it (model.c).
// - Without a profile, the machine's part is taken to be nothing.

#include "cmd/lab/lab.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/err.h"
#include "backends/model/virtual.h"

// What is left of the machine's costs on top of a wire that hides its messages'.
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

// One that was asked for by name: what is wrong with it is wrong usage, unlike what is wrong with the kit's own files.
static int load_named(const char *name, struct clab_net **net_p)
{
    const int err = clab_net_load(name, net_p);
    return err == CLAB_EPARSE ? CLAB_EINVAL : err;
}

static int load_emulated(const char *name, const char *backend, struct lab_nets *nets)
{
    CLAB_TRY(load_named(name, &nets->net));
    nets->name = last_part(name);
    CLAB_TRY(clab_net_load_profile(backend, nets->why, &nets->machine));
    put_on(nets->machine, nets->net);
    return CLAB_OK;
}

// A default network may be missing or broken: then nothing that needs it is predicted.
static int load_profile(const char *backend, struct lab_nets *nets)
{
    CLAB_TRY(clab_net_load_profile(backend, nets->why, &nets->net));
    nets->name = nets->net ? "machine" : "none";
    return CLAB_OK;
}

int lab_nets_load(const struct lab_request *request, const char *backend, bool is_virtual, struct lab_nets *nets)
{
    if (request->emulate)
        return load_emulated(request->emulate, backend, nets);
    const char *name = request->net ? request->net : is_virtual ? clab_sim_net_name() : NULL;
    if (!name)
        return load_profile(backend, nets);
    if (is_virtual)
        setenv("CLAB_NET", name, 1);
    nets->name = last_part(name);
    return load_named(name, &nets->net);
}

void lab_nets_free(struct lab_nets *nets)
{
    clab_net_free(nets->net);
    clab_net_free(nets->machine);
}
