// SPDX-License-Identifier: MIT
// The secret of a job whose launcher can not give it one: the job's own (CLAB_TOKEN), or the user's. Whoever joins
// proves that they know it.
//
// - The user's is a file that nobody else may read. Processes that make it at the same time end up with the same one:
//   each writes its own beside it, and the first to give it its name wins.

#include "core/job/launchers/launcher.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/log.h"
#include "core/base/variables.h"

enum { TEXT_BYTES = 2 * CLAB_TOKEN_BYTES };

static int refuse(const char *what, const char *path)
{
    clab_error("can not %s %s: %m; or set CLAB_TOKEN to 32 hexadecimal digits, the same for all ranks", what, path);
    return CLAB_ESYS;
}

// The path of the file, in a folder that is made if there is none.
static int find_path(char path_p[PATH_MAX])
{
    const char *config = getenv("XDG_CONFIG_HOME"), *home = getenv("HOME");
    const bool is_config = config && *config == '/';
    if (!is_config && (!home || *home != '/')) {
        clab_error("HOME is not set, so there is no token in it: set CLAB_TOKEN to 32 hexadecimal digits, the same for "
                   "all ranks");
        return CLAB_ESYS;
    }
    char folder[PATH_MAX - 64];
    const int base = snprintf(folder, sizeof folder, "%s%s", is_config ? config : home, is_config ? "" : "/.config");
    const int length =
        snprintf(folder + base, base < (int)sizeof folder ? sizeof folder - (size_t)base : 0, "/commlab");
    if (base + length >= (int)sizeof folder) {
        errno = ENAMETOOLONG;
        return refuse("use", is_config ? "XDG_CONFIG_HOME" : "HOME");
    }
    folder[base] = '\0';
    mkdir(folder, 0700); // if it can not be made, the next can not either
    folder[base] = '/';
    if (mkdir(folder, 0700) != 0 && errno != EEXIST)
        return refuse("make", folder);
    snprintf(path_p, PATH_MAX, "%s/token", folder);
    return CLAB_OK;
}

static int write_token(int fd)
{
    unsigned char token[CLAB_TOKEN_BYTES];
    char line[TEXT_BYTES + 1];
    if (getrandom(token, sizeof token, 0) != sizeof token)
        return CLAB_ESYS;
    launcher_hex(token, sizeof token, line);
    line[TEXT_BYTES] = '\n';
    return write(fd, line, sizeof line) == sizeof line && fsync(fd) == 0 ? CLAB_OK : CLAB_ESYS;
}

// Make the file, unless somebody was faster.
static int make_token(const char *path)
{
    char own[PATH_MAX + 16];
    snprintf(own, sizeof own, "%s.XXXXXX", path);
    const int fd = mkstemp(own); // with mode 0600
    if (fd < 0)
        return refuse("make", own);
    int err = write_token(fd);
    if (err == CLAB_OK && link(own, path) != 0 && errno != EEXIST)
        err = CLAB_ESYS;
    if (err != CLAB_OK)
        refuse("make", path);
    unlink(own);
    close(fd);
    return err;
}

static int read_token(int fd, const char *path, unsigned char token[CLAB_TOKEN_BYTES])
{
    struct stat status;
    char text[TEXT_BYTES + 2];
    if (fstat(fd, &status) != 0)
        return refuse("read", path);
    if (!S_ISREG(status.st_mode)) {
        clab_error("%s is not a regular file, but should hold your token: remove it, and run this again", path);
        return CLAB_EPARSE;
    }
    if (status.st_uid != geteuid() || (status.st_mode & 077)) {
        clab_error("%s is a secret that others may read: remove it; commlab makes a new one", path);
        return CLAB_EPARSE;
    }
    const ssize_t n = read(fd, text, sizeof text - 1);
    text[n > 0 ? n : 0] = '\0';
    text[strcspn(text, "\n")] = '\0';
    if (launcher_unhex(text, token, CLAB_TOKEN_BYTES) == CLAB_OK)
        return CLAB_OK;
    clab_error("%s does not hold %d hexadecimal digits: remove it; commlab makes a new one", path, TEXT_BYTES);
    return CLAB_EPARSE;
}

int clab_launcher_token(unsigned char token[CLAB_TOKEN_BYTES])
{
    char path[PATH_MAX];
    const char *text = clab_variable_text(CLAB_VARIABLE_TOKEN);
    if (text && launcher_unhex(text, token, CLAB_TOKEN_BYTES) == CLAB_OK)
        return CLAB_OK;
    if (text) {
        clab_error("CLAB_TOKEN is not %d hexadecimal digits (0-9a-f)", TEXT_BYTES);
        return CLAB_EPARSE;
    }
    CLAB_TRY(find_path(path));
    if (access(path, F_OK) != 0)
        CLAB_TRY(make_token(path));
    const int fd = open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK); // a pipe would be waited for
    if (fd < 0)
        return refuse("read", path);
    const int err = read_token(fd, path, token);
    close(fd);
    return err;
}
