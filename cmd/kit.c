// SPDX-License-Identifier: MIT
// Paths of the kit, and gnuplot. See kit.h.

#include "kit.h"

#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/err.h"
#include "base/log.h"
#include "base/trust.h"
#include "child.h"

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
    static const char *const loaded[] = {"style.gp", "bench.gp"};
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
    clab_error("no plots/style.gp above this program: run the one that make built in the kit");
    return CLAB_ENOENT;
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

char *kit_command_line(int argc, char **argv)
{
    char *line = NULL;
    size_t size;
    FILE *out = open_memstream(&line, &size);
    if (!out)
        return NULL;
    fprintf(out, "./");
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

// ---- gnuplot -------------------------------------------------------------------------------------------------

enum { NOT_THERE = 127, NOT_STARTED = 126 };

// In a child: become argv[0], which is looked up on the PATH, in `folder`. It ends with `parent`, however that ends.
static _Noreturn void become(char **argv, const char *folder, pid_t parent)
{
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    if (getppid() != parent)
        _exit(NOT_STARTED);
    if (chdir(folder) != 0) {
        clab_error("can not go to %s, where %s is to run: %m", folder, argv[0]);
        _exit(NOT_STARTED);
    }
    execvp(argv[0], argv);
    if (errno == ENOENT)
        _exit(NOT_THERE);
    clab_error("%s can not be started: %m", argv[0]);
    _exit(NOT_STARTED);
}

// text with "'" doubled, as gnuplot's quotes want it
static void quote(const char *text, char out[PATH_MAX])
{
    size_t n = 0;
    for (; *text && n + 3 < PATH_MAX; text++) {
        out[n++] = *text;
        if (*text == '\'')
            out[n++] = '\'';
    }
    out[n] = 0;
}

static int run_gnuplot(const char *root, const char *script, const char *csv, const char *out)
{
    char data[PATH_MAX], figure[PATH_MAX], variables[2 * PATH_MAX + 32];
    int status = 0;
    quote(csv, data);
    quote(out, figure);
    snprintf(variables, sizeof variables, "csv = '%s'; out = '%s'", data, figure);
    char *argv[] = {"gnuplot", "-e", variables, (char *)script, NULL};
    setenv("LC_ALL", "C.UTF-8", 1); // in a plain C locale gnuplot complains of every sign beyond ASCII
    const pid_t parent = getpid(), pid = child_fork();
    if (pid == 0)
        become(argv, root, parent);
    CLAB_TRY(pid < 0 ? CLAB_ESYS : child_wait(pid, &status));
    if (child_ended_by())
        return CLAB_EPEER;
    if (WIFEXITED(status) && WEXITSTATUS(status) == NOT_THERE) {
        clab_error("no gnuplot here, so nothing is drawn; install gnuplot-nox (Debian) or gnuplot, and run this again");
        return CLAB_EUNSUPPORTED;
    }
    if (status != 0) {
        clab_error("gnuplot failed on %s with the data %s", script, csv);
        return CLAB_EIO;
    }
    return CLAB_OK;
}

int kit_plot(const char *root, const char *script, const char *csv, const char *out)
{
    char path[PATH_MAX], real[PATH_MAX], folder[PATH_MAX], data[PATH_MAX];
    snprintf(path, sizeof path, "%s/%s", root, script);
    if (access(path, R_OK) != 0 || !realpath(csv, data)) {
        clab_error("%s: %s", access(path, R_OK) ? path : csv, strerror(errno));
        return CLAB_ENOENT;
    }
    CLAB_TRY(clab_trust(path, real));
    snprintf(folder, sizeof folder, "%s", out);
    char *slash = strrchr(folder, '/');
    if (slash) {
        *slash = 0;
        CLAB_TRY(kit_make_folder(folder));
    }
    return run_gnuplot(root, script, data, out);
}
