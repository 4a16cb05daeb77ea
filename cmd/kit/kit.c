// SPDX-License-Identifier: MIT
// Paths of the kit. See kit.h.

#include "cmd/kit/kit.h"

#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/machine/called.h"
#include "core/base/err.h"
#include "core/base/log.h"
#include "core/base/machine/trust.h"

static bool is_folder(const char *folder, const char *name)
{
    char path[PATH_MAX];
    struct stat status;
    return snprintf(path, sizeof path, "%s/%s", folder, name) < PATH_MAX && stat(path, &status) == 0 &&
           S_ISDIR(status.st_mode);
}

int kit_build(char **path_p)
{
    char folder[PATH_MAX];
    if (!clab_build_folder(folder)) {
        clab_error("/proc/self/exe can not be read: %s", strerror(errno));
        return CLAB_ESYS;
    }
    char *path = strdup(folder);
    if (!path)
        return CLAB_ENOMEM;
    *path_p = path;
    return CLAB_OK;
}

// build/, or build/NAME/ with other flags, is that far below the kit.
enum { FOLDERS_UP = 2 };

// Nobody else may change the scripts that all others load.
static int trust_root(const char *root)
{
    static const char *const loaded[] = {"style.gp", "bench.gp", "lab.gp"};
    char path[PATH_MAX], real[PATH_MAX];
    for (size_t i = 0; i < sizeof loaded / sizeof *loaded; i++) {
        snprintf(path, sizeof path, "%s/plots/%s", root, loaded[i]);
        CLAB_TRY(clab_trust(path, real));
    }
    return CLAB_OK;
}

int kit_root(char **path_p)
{
    char *folder;
    CLAB_TRY(kit_build(&folder));
    for (int i = 0; i < FOLDERS_UP; i++) {
        char style[PATH_MAX + 16], *slash = strrchr(folder, '/');
        *(slash ? slash : folder) = 0;
        snprintf(style, sizeof style, "%s/plots/style.gp", folder);
        if (access(style, R_OK) != 0)
            continue;
        const int err = trust_root(folder);
        if (err == CLAB_OK)
            *path_p = folder;
        else
            free(folder);
        return err;
    }
    free(folder);
    clab_error("no plots/style.gp above this program: run the one that make built in the kit, or that make install "
               "has put there");
    return CLAB_ENOENT;
}

int kit_home(const char *root, char home_p[PATH_MAX])
{
    char mark[PATH_MAX + 16];
    snprintf(mark, sizeof mark, "%s/installed", root); // install.sh
    if (access(mark, F_OK) != 0) {
        snprintf(home_p, PATH_MAX, "%s", root);
        return CLAB_OK;
    }
    if (getcwd(home_p, PATH_MAX))
        return CLAB_OK;
    clab_error("the current folder: %s: change to one that is there", strerror(errno));
    return CLAB_EIO;
}

int kit_made(char **path_p)
{
    char *build, above[PATH_MAX], home[PATH_MAX], *slash;
    CLAB_TRY(kit_build(&build));
    snprintf(above, sizeof above, "%s", build);
    slash = strrchr(above, '/');
    *(slash ? slash : above) = 0;
    int err = kit_home(above, home);
    if (!err && strcmp(home, above) == 0) {
        *path_p = build;
        return CLAB_OK;
    }
    free(build);
    if (!err && asprintf(path_p, "%s/build", home) < 0)
        err = CLAB_ENOMEM;
    return err;
}

const char *kit_relative(const char *path)
{
    char here[PATH_MAX];
    const size_t length = getcwd(here, sizeof here) ? strlen(here) : 0;
    return length > 0 && !strncmp(path, here, length) && path[length] == '/' ? path + length + 1 : path;
}

int kit_make_folder(const char *path)
{
    char part[PATH_MAX];
    snprintf(part, sizeof part, "%s", path);
    for (char *slash = part + 1; (slash = strchr(slash, '/')); slash++) {
        *slash = 0;
        mkdir(part, 0777); // what fails here fails again below
        *slash = '/';
    }
    if (mkdir(part, 0777) == 0 || (errno == EEXIST && is_folder(part, ".")))
        return CLAB_OK;
    clab_error("the folder %s can not be made: %s", path, strerror(errno));
    return CLAB_EIO;
}

int kit_make_work_folder(const char *path)
{
    struct clab_log_held held;
    clab_log_hold(&held);
    const int err = kit_make_folder(path);
    clab_log_release(&held);
    if (err)
        clab_error("%s; copy the kit to a folder of your own, and work there", held.text);
    return err;
}

// ---- paths ---------------------------------------------------------------------------------------------------

int kit_path(const char *root, const char *folder, const char *file, char path_p[PATH_MAX])
{
    const char *slash = *folder && *file ? "/" : "";
    if (snprintf(path_p, PATH_MAX, "%s/%s%s%s", root, folder, slash, file) < PATH_MAX)
        return CLAB_OK;
    clab_error("%s: the kit lies too deep; move it to a folder with a shorter path", root);
    return CLAB_EINVAL;
}

int kit_work_path(const char *root, const char *unit, const char *file, char path_p[PATH_MAX])
{
    char folder[32];
    char home[PATH_MAX];
    CLAB_TRY(kit_home(root, home));
    snprintf(folder, sizeof folder, "work%s%s", *unit ? "/" : "", unit);
    return kit_path(home, folder, file, path_p);
}

char *kit_command_line(int argc, char **argv)
{
    char *line = NULL;
    size_t size;
    FILE *out = open_memstream(&line, &size);
    if (!out)
        return NULL;
    fputs(clab_is_installed() ? "" : "./", out);
    for (int i = 0; i < argc; i++)
        fprintf(out, "%s%s", i ? " " : "", argv[i]);
    if (fclose(out) == 0)
        return line;
    free(line);
    return NULL;
}

int kit_figure_path(const char *file, char **path_p)
{
    const size_t length = strlen(file);
    const bool has_suffix = length > 4 && (!strcmp(file + length - 4, ".svg") || !strcmp(file + length - 4, ".png"));
    char *here = *file == '/' ? strdup("") : realpath(".", NULL);
    const int n = here ? asprintf(path_p, "%s%s%.*s", here, *file == '/' ? "" : "/",
                                  (int)(has_suffix ? length - 4 : length), file)
                       : -1;
    free(here);
    return n < 0 ? CLAB_ENOMEM : CLAB_OK;
}
