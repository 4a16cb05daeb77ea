// SPDX-License-Identifier: MIT
// Where descriptions of networks lie: above the program (program_path.h).

#include <dirent.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/err.h"
#include "core/base/log.h"
#include "core/base/nearest.h"
#include "core/base/variables.h"
#include "sim/net/program_path.h"
#include "sim/net/net.h"

static const char profile_name[] = "machine"; // and machine-NAME of the backend NAME

static int duplicate(const char *text, char **copy_p)
{
    char *copy = strdup(text);
    if (!copy)
        return CLAB_ENOMEM;
    *copy_p = copy;
    return CLAB_OK;
}

int clab_net_folder(char **path_p)
{
    char path[PATH_MAX];
    const char *given = clab_variable_text(CLAB_VARIABLE_NETS);
    if (given)
        return duplicate(given, path_p);
    if (program_path_find("sim/nets", path))
        return duplicate(path, path_p);
    clab_error("no folder sim/nets above this program; set CLAB_NETS to where the network descriptions are");
    return CLAB_ENOENT;
}

// The folder of settings in the user's home; false: there is none.
static bool find_settings(char folder_p[PATH_MAX])
{
    const char *config = getenv("XDG_CONFIG_HOME"), *home = getenv("HOME");
    if (config && *config == '/')
        return snprintf(folder_p, PATH_MAX, "%s/commlab", config) < PATH_MAX;
    return home && *home == '/' && snprintf(folder_p, PATH_MAX, "%s/.config/commlab", home) < PATH_MAX;
}

// The profile of shm: given, or machine.net in the program's own folder, or in the user's settings where that folder is
// another's.
static int own_profile(char **path_p)
{
    const char *given = clab_variable_text(CLAB_VARIABLE_PROFILE);
    char path[PATH_MAX] = "";
    if (given)
        return duplicate(given, path_p);
    if (!program_path_find(".", path))
        return duplicate("machine.net", path_p);
    char settings[PATH_MAX];
    if (access(path, W_OK) != 0 && find_settings(settings))
        return asprintf(path_p, "%s/machine.net", settings) < 0 ? CLAB_ENOMEM : CLAB_OK;
    return asprintf(path_p, "%.*smachine.net", (int)strlen(path) - 1, path) < 0 ? CLAB_ENOMEM : CLAB_OK;
}

int clab_net_profile_path(const char *backend, char **path_p)
{
    char *own;
    CLAB_TRY(own_profile(&own));
    if (strcmp(backend, "shm") == 0) {
        *path_p = own;
        return CLAB_OK;
    }
    size_t length = strlen(own), stem = length > 4 && strcmp(own + length - 4, ".net") == 0 ? length - 4 : length;
    int n = asprintf(path_p, "%.*s-%s.net", (int)stem, own, backend);
    free(own);
    return n < 0 ? CLAB_ENOMEM : CLAB_OK;
}

static int find_profile(const char *backend, char **path_p)
{
    const char *given = clab_variable_text(CLAB_VARIABLE_PROFILE);
    char *path, found[PATH_MAX];
    CLAB_TRY(clab_net_profile_path(backend, &path));
    if (access(path, R_OK) == 0) {
        *path_p = path;
        return CLAB_OK;
    }
    if (!given && program_path_find(strrchr(path, '/') ? strrchr(path, '/') + 1 : path, found)) {
        free(path);
        return duplicate(found, path_p);
    }
    if (given)
        clab_error("%s (CLAB_PROFILE) can not be read; write it with `commlab fit --backend %s`", path, backend);
    else
        clab_error("this machine is not measured yet with backend %s; run `commlab fit --backend %s` first", backend,
                   backend);
    free(path);
    return CLAB_ENOENT;
}

static bool is_path(const char *name)
{
    size_t length = strlen(name);
    return strchr(name, '/') || (length > 4 && strcmp(name + length - 4, ".net") == 0);
}

// The folder of `path` may have one of a name like it.
static void say_there_is_none(const char *name, const char *path)
{
    char folder[PATH_MAX], other[NAME_MAX + 1];
    struct clab_nearest nearest = clab_nearest_to(name, strlen(name));
    snprintf(folder, sizeof folder, "%.*s", (int)(strrchr(path, '/') - path), path);
    DIR *files = opendir(folder);
    for (const struct dirent *file; files && (file = readdir(files));)
        if (is_path(file->d_name)) {
            snprintf(other, sizeof other, "%.*s", (int)(strlen(file->d_name) - strlen(".net")), file->d_name);
            clab_nearest_offer(&nearest, other);
        }
    if (files)
        closedir(files);
    clab_nearest_offer(&nearest, profile_name);
    clab_error("no network '%s'%s: there is no %s; `commlab nets` lists those there are", name,
               clab_nearest_hint(&nearest), path);
}

int clab_net_find(const char *name, char **path_p)
{
    char *folder, *path;
    if (is_path(name))
        return duplicate(name, path_p);
    size_t length = strlen(profile_name);
    if (strcmp(name, profile_name) == 0)
        return find_profile("shm", path_p);
    if (strncmp(name, profile_name, length) == 0 && name[length] == '-')
        return find_profile(name + length + 1, path_p);
    CLAB_TRY(clab_net_folder(&folder));
    int written = asprintf(&path, "%s/%s.net", folder, name);
    free(folder);
    if (written < 0)
        return CLAB_ENOMEM;
    if (access(path, F_OK) != 0) {
        say_there_is_none(name, path);
        free(path);
        return CLAB_ENOENT;
    }
    *path_p = path;
    return CLAB_OK;
}
