// SPDX-License-Identifier: MIT
// Finding and loading plugins (plugin.h).
//
// - What has been loaded stays: a process attaches to a backend again and again, and libraries that start threads do
//   not survive being unloaded.

#include "core/transport/plugin.h"

#include <dirent.h>
#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/err.h"
#include "core/base/log.h"
#include "core/base/machine/trust.h"
#include "core/base/variables.h"

enum { MOST = 16, NAME_BYTES = 32 };
static const char suffix[] = ".so";

// ---- the folder ----------------------------------------------------------------------------------------------

// out: folder (PATH_MAX); false: there is none
static bool find_folder(char *folder)
{
    const char *given = clab_variable_text(CLAB_VARIABLE_BACKENDS);
    char build[PATH_MAX];
    if (given)
        return snprintf(folder, PATH_MAX, "%s", given) < PATH_MAX;
    return clab_build_folder(build) && snprintf(folder, PATH_MAX, "%s/backends", build) < PATH_MAX;
}

// Files called lib*.so are for other programs.
static bool is_name(const char *name, size_t length)
{
    return length > 0 && length < NAME_BYTES && strncmp(name, "lib", 3) != 0 &&
           strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789_-") >= length;
}

// out: path (PATH_MAX); false: no plugin can be called so, or there is no folder
static bool find_path(const char *name, char *path)
{
    char folder[PATH_MAX];
    return is_name(name, strlen(name)) && find_folder(folder) &&
           snprintf(path, PATH_MAX, "%s/%s%s", folder, name, suffix) < PATH_MAX;
}

bool clab_plugin_exists(const char *name)
{
    char path[PATH_MAX];
    return find_path(name, path) && access(path, F_OK) == 0;
}

static int is_plugin(const struct dirent *entry)
{
    const char *end = strrchr(entry->d_name, '.');
    return end && !strcmp(end, suffix) && is_name(entry->d_name, (size_t)(end - entry->d_name));
}

const char *clab_plugin_name(int i)
{
    static char name[NAME_BYTES];
    char folder[PATH_MAX];
    struct dirent **entries;
    const int n = find_folder(folder) ? scandir(folder, &entries, is_plugin, alphasort) : -1;
    if (n < 0)
        return NULL;
    if (i < n)
        snprintf(name, sizeof name, "%.*s", (int)(strrchr(entries[i]->d_name, '.') - entries[i]->d_name),
                 entries[i]->d_name);
    for (int e = 0; e < n; e++)
        free(entries[e]);
    free(entries);
    return i < n ? name : NULL;
}

// ---- loading -------------------------------------------------------------------------------------------------

static bool fits(const struct clab_plugin *plugin, const char *name, const char *path)
{
    if (!plugin)
        clab_error("%s is no plugin of commlab: it has no symbol clab_plugin", path);
    else if (plugin->version != CLAB_PLUGIN_VERSION || plugin->bytes != sizeof(struct clab_backend))
        clab_error("%s was built for another version of commlab (%d, and this is %d): build both anew, with make", path,
                   plugin->version, CLAB_PLUGIN_VERSION);
    else if (strcmp(plugin->name, name) != 0)
        clab_error("%s holds the backend %s: it must be called so", path, plugin->name);
    else
        return true;
    return false;
}

const struct clab_backend *clab_plugin_load(const char *name)
{
    static const struct clab_plugin *loaded[MOST];
    char path[PATH_MAX], real[PATH_MAX];
    int n = 0;
    for (; n < MOST && loaded[n]; n++)
        if (!strcmp(loaded[n]->name, name))
            return loaded[n]->backend;
    if (n == MOST || !find_path(name, path) || clab_trust(path, real) != CLAB_OK)
        return NULL;
    void *file = dlopen(real, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    if (!file) {
        clab_error("backend %s can not be loaded here: %s", name, dlerror());
        return NULL;
    }
    const struct clab_plugin *plugin = dlsym(file, "clab_plugin");
    if (!fits(plugin, name, path)) {
        dlclose(file);
        return NULL;
    }
    loaded[n] = plugin;
    return plugin->backend;
}
