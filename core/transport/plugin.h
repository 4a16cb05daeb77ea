// SPDX-License-Identifier: MIT
// Backends in files of their own, NAME.so, which are loaded when they are asked for: one program serves machines with
// and without their libraries.
//
// - They lie in the folder `backends` of the build that the program is of, or where CLAB_BACKENDS says; and only root
//   and the user may change them (base/machine/trust.h).
// - A plugin exports one symbol, `clab_plugin`. What it calls of the core is in the program that loads it: every
//   program of the kit exports its symbols (-rdynamic).
// - A plugin that was built from other headers is refused by its version.
#pragma once

#include "core/transport/backend.h"

// To be raised whenever backend.h changes what passes between core and plugin.
enum { CLAB_PLUGIN_VERSION = 14 };

struct clab_plugin {
    int version;      // CLAB_PLUGIN_VERSION
    size_t bytes;     // sizeof(struct clab_backend)
    const char *name; // as its file is called
    const struct clab_backend *backend;
};

// Defines the symbol, in a plugin's C file; in C++, within extern "C".
#define CLAB_PLUGIN(NAME, BACKEND)         \
    __attribute__((visibility("default"))) \
    const struct clab_plugin clab_plugin = {CLAB_PLUGIN_VERSION, sizeof(struct clab_backend), NAME, BACKEND}

// ---- for the registry ----------------------------------------------------------------------------------------

// Whether there is such a file.
bool clab_plugin_exists(const char *name);
// The backend of plugin `name`, loaded once in the life of this process; NULL with one logged line.
const struct clab_backend *clab_plugin_load(const char *name);
// The names of all files there are, sorted; NULL after the last. Good until the next call.
const char *clab_plugin_name(int i);
