// SPDX-License-Identifier: MIT
// Searching for shared libraries (libraries.h).

#include "cmd/doctor/libraries.h"

#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct search {
    const char *pattern;
    struct doctor_library *libraries;
    char (*real)[PATH_MAX];
    int n;
};

static void keep(struct search *search, const char *path, const char *where)
{
    char real[PATH_MAX];
    if (search->n == DOCTOR_MOST_LIBRARIES || strlen(path) >= PATH_MAX || !realpath(path, real))
        return;
    for (int i = 0; i < search->n; i++)
        if (!strcmp(search->real[i], real))
            return;
    strcpy(search->real[search->n], real);
    strcpy(search->libraries[search->n].path, path);
    search->libraries[search->n++].where = where;
}

// Keep all files that match FOLDER/MIDDLE/pattern; both folders may hold wildcards.
static void look(struct search *search, const char *folder, const char *middle, const char *where)
{
    char *path;
    glob_t found;
    if (!folder || !*folder || asprintf(&path, "%s%s/%s", folder, middle, search->pattern) < 0)
        return;
    if (glob(path, 0, NULL, &found) == 0) {
        for (size_t i = 0; i < found.gl_pathc; i++)
            keep(search, found.gl_pathv[i], where);
        globfree(&found);
    }
    free(path);
}

static void look_in_list(struct search *search, const char *list, const char *middle, const char *where)
{
    char *copy = list ? strdup(list) : NULL, *rest = copy;
    for (char *folder; (folder = strsep(&rest, ":"));)
        look(search, folder, middle, where);
    free(copy);
}

static void look_in_toolkits(struct search *search)
{
    static const char where[] = "CUDA toolkit";
    static const char *const middles[] = {"/lib64", "/lib", "/targets/*/lib"};
    const char *roots[] = {getenv("CUDA_HOME"), getenv("CUDA_PATH"), "/usr/local/cuda", "/usr/local/cuda-*",
                           "/opt/cuda"};
    for (size_t r = 0; r < sizeof roots / sizeof *roots; r++)
        for (size_t m = 0; m < sizeof middles / sizeof *middles; m++)
            look(search, roots[r], middles[m], where);
}

// The folder above that of the first python3 on the PATH: its own packages are below it.
static const char *python_root(char out[PATH_MAX])
{
    const char *path = getenv("PATH");
    char *copy = path ? strdup(path) : NULL, *rest = copy, program[PATH_MAX + 16];
    const char *root = NULL;
    for (char *folder; !root && (folder = strsep(&rest, ":"));) {
        snprintf(program, sizeof program, "%s/python3", folder);
        char *slash = strrchr(folder, '/');
        if (!realpath(program, out) || !slash)
            continue;
        *slash = '\0'; // a virtual environment's python3 is a link out of it: the link's own folder counts
        snprintf(out, PATH_MAX, "%s", folder);
        root = out;
    }
    free(copy);
    return root;
}

// Wheels keep libraries in PACKAGES/nvidia/NAME/lib; those of CUDA 13 in one folder.
static void look_in_python(struct search *search)
{
    static const char where[] = "Python package";
    static const char *const middles[] = {"/lib/python3*/site-packages/nvidia/*/lib",
                                          "/lib/python3*/dist-packages/nvidia/*/lib"};
    char python[PATH_MAX], home[PATH_MAX] = "";
    if (getenv("HOME"))
        snprintf(home, sizeof home, "%s/.local", getenv("HOME"));
    const char *roots[] = {
        getenv("VIRTUAL_ENV"), getenv("CONDA_PREFIX"), python_root(python), home, "/usr/local", "/usr"};
    look_in_list(search, getenv("PYTHONPATH"), "/nvidia/*/lib", where);
    for (size_t r = 0; r < sizeof roots / sizeof *roots; r++)
        for (size_t m = 0; m < sizeof middles / sizeof *middles; m++)
            look(search, roots[r], middles[m], where);
}

int doctor_libraries(const char *pattern, struct doctor_library libraries[DOCTOR_MOST_LIBRARIES])
{
    static const char *const system[] = {"/usr/local/lib", "/usr/lib/*-linux-gnu", "/usr/lib64", "/usr/lib", "/lib64"};
    char(*real)[PATH_MAX] = calloc(DOCTOR_MOST_LIBRARIES, PATH_MAX);
    struct search search = {pattern, libraries, real, 0};
    if (!real)
        return 0;
    look_in_list(&search, getenv("LD_LIBRARY_PATH"), "", "LD_LIBRARY_PATH");
    look_in_toolkits(&search);
    for (size_t i = 0; i < sizeof system / sizeof *system; i++)
        look(&search, system[i], "", "system");
    look_in_python(&search);
    free(real);
    return search.n;
}
