// SPDX-License-Identifier: MIT
// A file that is written whole or not at all (output.h).

#include "core/base/files/output.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "core/base/err.h"
#include "core/base/log.h"
#include "core/base/text.h"

#define TEMPORARY ".XXXXXX" // behind a target's name, for mkstemp

static int refuse(const char *path, int error)
{
    clab_error("%s: can not be written: %s", *path ? path : "(an empty file name)",
               error == EILSEQ ? "its name is not UTF-8, as what is written about it must be" : strerror(error));
    return CLAB_EIO;
}

// The directory part of `path`, to be freed: "." where there is none. NULL without memory.
static char *directory_of(const char *path)
{
    const char *slash = strrchr(path, '/');
    if (!slash)
        return strdup(".");
    return strndup(path, slash == path ? 1 : (size_t)(slash - path));
}

// 0, or the errno that making a file in the directory of `path` would meet.
static int directory_error(const char *path)
{
    char *directory = directory_of(path);
    if (!directory)
        return ENOMEM;
    struct stat status;
    int error = 0;
    if (stat(directory, &status) != 0 || access(directory, W_OK | X_OK) != 0)
        error = errno;
    else if (!S_ISDIR(status.st_mode))
        error = ENOTDIR;
    free(directory);
    return error;
}

// Our own stdout or stderr, if that is what `status` tells of, else -1. A file that already takes our output (as
// /dev/stdout may be) must not be replaced under it.
static int own_descriptor(const struct stat *status)
{
    for (int descriptor = STDOUT_FILENO; descriptor <= STDERR_FILENO; descriptor++) {
        struct stat own;
        if (fstat(descriptor, &own) == 0 && own.st_dev == status->st_dev && own.st_ino == status->st_ino)
            return descriptor;
    }
    return -1;
}

// 0, or the errno that writing `path` would meet; *straight_p: it is there and can not be replaced.
static int path_error(const char *path, bool *straight_p)
{
    struct stat status;
    *straight_p = false;
    if (!*path)
        return ENOENT;
    if (!clab_is_utf8(path))
        return EILSEQ;
    if (stat(path, &status) != 0)
        return errno != ENOENT ? errno : path[strlen(path) - 1] == '/' ? EISDIR : directory_error(path);
    if (S_ISDIR(status.st_mode))
        return EISDIR;
    if (access(path, W_OK) != 0)
        return errno;
    *straight_p = !S_ISREG(status.st_mode) || own_descriptor(&status) >= 0;
    return *straight_p ? 0 : directory_error(path);
}

// Results that somebody may want to keep: not an empty file.
// A device or a pipe keeps nothing.
static void say_replaced(const char *path)
{
    struct stat status;
    struct tm local;
    char date[64], here[PATH_MAX];
    if (stat(path, &status) != 0 || !S_ISREG(status.st_mode) || status.st_size == 0 ||
        !localtime_r(&status.st_mtime, &local) || strftime(date, sizeof date, "%Y-%m-%d %H:%M:%S", &local) == 0)
        return;
    const size_t length = getcwd(here, sizeof here) ? strlen(here) : 0;
    const bool below = length > 0 && !strncmp(path, here, length) && path[length] == '/';
    clab_warn("%s of %s will be replaced", path + (below ? length + 1 : 0), date);
}

int clab_output_check(const char *path)
{
    bool straight;
    int error = path_error(path, &straight);
    return error ? refuse(path, error) : CLAB_OK;
}

int clab_output_announce(const char *path)
{
    CLAB_TRY(clab_output_check(path));
    say_replaced(path);
    return CLAB_OK;
}

static void forget(struct clab_output *output)
{
    free(output->path);
    free(output->temp);
    *output = (struct clab_output){0};
}

// A new file beside output->path, with the mode that a plain creation would give it. Returns 0 or an errno.
static int open_temp(struct clab_output *output)
{
    if (asprintf(&output->temp, "%s" TEMPORARY, output->path) < 0) {
        output->temp = NULL;
        return ENOMEM;
    }
    int descriptor = mkstemp(output->temp);
    if (descriptor < 0)
        return errno;
    mode_t mask = umask(0);
    umask(mask);
    fchmod(descriptor, 0666 & ~mask);
    output->file = fdopen(descriptor, "w");
    if (output->file)
        return 0;
    int error = errno;
    close(descriptor);
    unlink(output->temp);
    return error;
}

static int open_straight(struct clab_output *output)
{
    struct stat status;
    if (stat(output->path, &status) != 0)
        return errno;
    int descriptor = own_descriptor(&status);
    fflush(NULL); // what we printed there before comes first
    output->file = descriptor >= 0 ? fdopen(dup(descriptor), "w") : fopen(output->path, "w");
    return output->file ? 0 : errno;
}

int clab_output_open(const char *path, struct clab_output *output_p)
{
    bool straight;
    int error = path_error(path, &straight);
    if (error)
        return refuse(path, error);
    struct clab_output output = {0};
    output.path = straight ? NULL : realpath(path, NULL); // the target of a link; NULL where nothing is there yet
    if (!output.path)
        output.path = strdup(path);
    error = !output.path ? ENOMEM : straight ? open_straight(&output) : open_temp(&output);
    if (error) {
        forget(&output);
        return refuse(path, error);
    }
    *output_p = output;
    return CLAB_OK;
}

int clab_output_close(struct clab_output *output)
{
    bool failed = ferror(output->file);
    int error = failed ? EIO : 0;
    if (fclose(output->file) != 0)
        error = errno;
    if (!error && output->temp && rename(output->temp, output->path) != 0)
        error = errno;
    if (error && output->temp)
        unlink(output->temp);
    int err = error ? refuse(output->path, error) : CLAB_OK;
    forget(output);
    return err;
}

void clab_output_abandon(struct clab_output *output)
{
    fclose(output->file);
    if (output->temp)
        unlink(output->temp);
    forget(output);
}

// Whether mkstemp may have made `name` for the target `base`.
static bool is_temporary_of(const char *name, const char *base)
{
    const size_t length = strlen(base);
    return strlen(name) == length + strlen(TEMPORARY) && strncmp(name, base, length) == 0 && name[length] == '.';
}

void clab_output_remove(const char *path)
{
    const char *slash = strrchr(path, '/'), *base = slash ? slash + 1 : path;
    char *directory = directory_of(path);
    DIR *dir = directory ? opendir(directory) : NULL;
    for (const struct dirent *entry; dir && (entry = readdir(dir));)
        if (is_temporary_of(entry->d_name, base))
            unlinkat(dirfd(dir), entry->d_name, 0);
    if (dir)
        closedir(dir);
    free(directory);
    unlink(path);
}
