// SPDX-License-Identifier: MIT
// Who may change the code that we run (trust.h).

#include "core/base/machine/trust.h"

#include <grp.h>
#include <libgen.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/err.h"
#include "core/base/log.h"

static const char self[] = "/proc/self/exe";

static bool is_ours(uid_t owner)
{
    struct stat program;
    return owner == 0 || owner == geteuid() || (stat(self, &program) == 0 && owner == program.st_uid);
}

static bool is_own_group(uid_t owner, gid_t gid)
{
    const struct passwd *user = getpwuid(owner);
    const struct group *group = user ? getgrgid(gid) : NULL;
    if (!group || strcmp(user->pw_name, group->gr_name) != 0)
        return false;
    for (char *const *member = group->gr_mem; *member; member++)
        if (strcmp(*member, user->pw_name) != 0)
            return false;
    return true;
}

// out: "user bob", or by number where the name is not known
static void name_owner(uid_t owner, char out[64])
{
    const struct passwd *user = getpwuid(owner);
    if (user)
        snprintf(out, 64, "user %s", user->pw_name);
    else
        snprintf(out, 64, "user %ld", (long)owner);
}

// out: "others", "group students", or by number where the name is not known
static void name_writers(const struct stat *status, char out[64])
{
    const struct group *group = getgrgid(status->st_gid);
    if (status->st_mode & S_IWOTH)
        snprintf(out, 64, "others");
    else if (group)
        snprintf(out, 64, "group %s", group->gr_name);
    else
        snprintf(out, 64, "group %ld", (long)status->st_gid);
}

// `folder` is that of the code, and `path` it or the code.
static int judge(const char *path, const char *folder)
{
    struct stat status;
    char who[64];
    if (stat(path, &status) != 0) {
        clab_error("%s: %m", path);
        return CLAB_ENOENT;
    }
    if (!is_ours(status.st_uid)) {
        name_owner(status.st_uid, who);
        clab_error("%s belongs to %s, who is neither you nor root, so its code is not run: make a copy of the kit of "
                   "your own, or as root type: chown root '%s'",
                   path, who, path);
        return CLAB_ESYS;
    }
    const bool is_open = status.st_mode & S_IWOTH,
               is_grouped = (status.st_mode & S_IWGRP) && !is_own_group(status.st_uid, status.st_gid);
    if (!is_open && !is_grouped)
        return CLAB_OK;
    name_writers(&status, who);
    clab_error("%s can be changed by %s (mode %04o), so its code is not run; if it is what you built, type: "
               "chmod -R go-w '%s'",
               path, who, (unsigned)status.st_mode & 07777, folder);
    return CLAB_ESYS;
}

static int judge_folder(const char *path)
{
    char parts[PATH_MAX];
    snprintf(parts, sizeof parts, "%s", path);
    const char *folder = dirname(parts);
    return judge(folder, folder);
}

int clab_trust(const char *path, char *real_p)
{
    char parts[PATH_MAX];
    if (!realpath(path, real_p)) {
        clab_error("%s: %m", path);
        return CLAB_ENOENT;
    }
    CLAB_TRY(judge_folder(path)); // where a link may lie
    CLAB_TRY(judge_folder(real_p));
    snprintf(parts, sizeof parts, "%s", real_p);
    return judge(real_p, dirname(parts));
}

static bool ends_in(const char *path, const char *name)
{
    const char *slash = strrchr(path, '/');
    return slash && strcmp(slash + 1, name) == 0;
}

bool clab_build_folder(char *folder_p)
{
    const ssize_t length = readlink(self, folder_p, PATH_MAX - 1);
    if (length < 0)
        return false;
    folder_p[length] = '\0';
    dirname(folder_p);
    char above[PATH_MAX];
    snprintf(above, sizeof above, "%s", folder_p);
    dirname(above);
    if (ends_in(folder_p, "build")) // in a kit that is itself called labs or tests
        return true;
    if (ends_in(above, "labs") || ends_in(above, "tests"))
        dirname(strcpy(folder_p, above));
    else if (ends_in(folder_p, "tests"))
        strcpy(folder_p, above);
    return true;
}
