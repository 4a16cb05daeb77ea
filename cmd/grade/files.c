// SPDX-License-Identifier: MIT
// Files of people whom nobody trusts (homework.h): plain ones of bounded size, to which no link leads.

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cmd/grade/inside.h"

// What is in the folder NAME of `above`: files go, folders move up, so that no path gets long.
static void flatten(int above, const char *name, int *moved)
{
    fchmodat(above, name, 0700, 0);
    const int folder = openat(above, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    DIR *entries = folder < 0 ? NULL : fdopendir(folder);
    for (struct dirent *entry; entries && (entry = readdir(entries));) {
        char up[32];
        if (!strcmp(entry->d_name, ".") || !strcmp(entry->d_name, "..") || unlinkat(folder, entry->d_name, 0) == 0)
            continue;
        snprintf(up, sizeof up, "moved-%d", *moved);
        fchmodat(folder, entry->d_name, 0700, 0); // a folder that moves must be writable
        *moved += renameat(folder, entry->d_name, above, up) == 0;
    }
    if (entries)
        closedir(entries);
    unlinkat(above, name, AT_REMOVEDIR);
}

void grading_remove(const char *path)
{
    for (int moved = 0, before = -1; moved != before;) {
        DIR *entries = opendir(path);
        before = moved;
        for (struct dirent *entry; entries && (entry = readdir(entries));)
            if (strcmp(entry->d_name, ".") && strcmp(entry->d_name, "..") && unlinkat(dirfd(entries), entry->d_name, 0) != 0)
                flatten(dirfd(entries), entry->d_name, &moved);
        if (entries)
            closedir(entries);
    }
    rmdir(path);
}

static char *read_all(int file, size_t bytes)
{
    char *data = malloc(bytes + 1);
    size_t got = 0;
    for (ssize_t n; data && got < bytes && (n = read(file, data + got, bytes - got)) > 0;)
        got += (size_t)n;
    if (data && got < bytes) {
        free(data);
        return NULL;
    }
    if (data)
        data[bytes] = 0;
    return data;
}

char *grading_slurp(struct grading *g, const char *path, size_t most, size_t *bytes_p, const char **why_p)
{
    struct stat there;
    const int file = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
    char *data = NULL;
    *why_p = file < 0 ? "is not there, or is a link" : NULL;
    if (file >= 0 && (fstat(file, &there) != 0 || !S_ISREG(there.st_mode) || there.st_nlink != 1))
        *why_p = "is no plain file";
    else if (file >= 0 && (size_t)there.st_size > most)
        *why_p = "is larger than it may be";
    if (!*why_p && !(data = read_all(file, (size_t)there.st_size)))
        *why_p = "can not be read";
    if (data && g->nkept < GRADING_KEPT) {
        g->kept[g->nkept++] = data;
        *bytes_p = (size_t)there.st_size;
    } else if (data) {
        free(data);
        data = NULL;
        *why_p = "is one file too many";
    }
    if (file >= 0)
        close(file);
    return data;
}

const char *grading_file(struct grading *g, const char *name, size_t most, size_t *bytes_p)
{
    char path[PATH_MAX + 256];
    const char *why;
    snprintf(path, sizeof path, "%s/%s", g->box, name);
    const char *data = grading_slurp(g, path, most, bytes_p, &why);
    if (!data)
        grading_fail(g, NULL, "the program's result %s %s (at most %zu bytes)", name, why, most);
    return data;
}

const char *grading_read(struct grading *g, const char *name, size_t most, size_t *bytes_p)
{
    char path[PATH_MAX + 256];
    const char *why;
    snprintf(path, sizeof path, "%s%s%s", g->submission, *name ? "/" : "", name);
    const char *data = grading_slurp(g, path, most, bytes_p, &why);
    if (!data)
        grading_fail(g, NULL, "%s %s (at most %zu bytes)", *name ? name : g->homework->file, why, most);
    return data;
}
