// SPDX-License-Identifier: MIT
// Whether a folder is a class of this homework (class.h). A wrong one is refused before anything is written into it.
//
// - A class has one folder per homework. So a folder that is called as another homework, that holds another one's results,
//   or that has a homework's folder in it, was not meant.
// - A run without a salt would put points for practice in the place of those that count.

#include <dirent.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cmd/grade/class.h"
#include "core/base/err.h"
#include "core/base/log.h"

enum { ID = 2 }; // characters of "h2"

// The homework that a name begins with, as in "h3.csv", if what follows is `ends` or one of our endings.
static bool is_result_of(const char *name, char id_p[ID + 1])
{
    static const char *const ends[] = {".csv", ".results", ".person.csv", ".grades.csv"};
    snprintf(id_p, ID + 1, "%.*s", ID, name);
    bool is_ours = false;
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++)
        is_ours = is_ours || (strlen(name) > ID && !strcmp(name + ID, ends[i]));
    return is_ours && homework_find(id_p);
}

static int refuse_name(const struct class *class)
{
    char *path = realpath(class->folder, NULL);
    const char *name = path ? strrchr(path, '/') : NULL;
    const bool is_other = name && strcmp(name + 1, class->id) && homework_find(name + 1);
    if (is_other)
        clab_error(
            "class: %s is called as homework %s, and --homework says %s: type --homework %s, or name the folder of %s",
            class->folder, name + 1, class->id, name + 1, class->id);
    free(path);
    return is_other ? CLAB_EINVAL : CLAB_OK;
}

static int refuse_entry(const struct class *class, DIR *folder, const char *name)
{
    char id[ID + 1];
    struct stat there;
    if (is_result_of(name, id) && strcmp(id, class->id)) {
        clab_error(
            "class: %s has results of %s (%s), and --homework says %s: take one folder per homework, or remove %s.*",
            class->folder, id, name, class->id, id);
        return CLAB_EINVAL;
    }
    if (homework_find(name) && fstatat(dirfd(folder), name, &there, AT_SYMLINK_NOFOLLOW) == 0 &&
        S_ISDIR(there.st_mode)) {
        clab_error(
            "class: %s/%s is the folder of a homework, and no student's: type ./commlab class %s/%s --homework %s",
            class->folder, name, class->folder, name, name);
        return CLAB_EINVAL;
    }
    return CLAB_OK;
}

static int refuse_practice(const struct class *class)
{
    char path[PATH_MAX];
    if (class->salt || snprintf(path, sizeof path, "%s/%s.grades.csv", class->folder, class->id) >= PATH_MAX ||
        access(path, F_OK) != 0)
        return CLAB_OK;
    clab_error(
        "class: %s has points that count, given with a salt: add --salt FILE. For practice, copy the students' folders elsewhere",
        path);
    return CLAB_EINVAL;
}

int class_check_folder(const struct class *class)
{
    DIR *folder = opendir(class->folder);
    int err = CLAB_OK;
    if (!folder) {
        clab_error("class: %s: there is no such folder; it has a folder per student, named by the ID", class->folder);
        return CLAB_ENOENT;
    }
    err = refuse_name(class);
    for (struct dirent *entry; !err && (entry = readdir(folder));)
        err = refuse_entry(class, folder, entry->d_name);
    closedir(folder);
    return err ? err : refuse_practice(class);
}
