// SPDX-License-Identifier: MIT
// Files read whole, up to a bound (input.h).

#include "core/base/files/input.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "core/base/err.h"
#include "core/base/log.h"
#include "core/base/units.h"
#include "core/base/vector.h"

enum { PIECE = 64 << 10 };

static const struct kind {
    const char *name; // "the most that is read of ..."
    size_t most;      // bytes
    const char *remedy;
} kinds[CLAB_INPUT_KINDS] = {
    [CLAB_INPUT_SETTINGS] = {"a file of settings", 1 << 20, "name another file, or leave out what is not needed"},
    [CLAB_INPUT_TABLE] = {"a table", 64 << 20, "give fewer rows"},
    [CLAB_INPUT_LOG] = {"a log", 64 << 20, "give the first rank's lines alone"},
    [CLAB_INPUT_SCHEDULE] = {"a schedule", 256 << 20, "write it for fewer ranks or chunks"},
    [CLAB_INPUT_TRACE] = {"a trace", 256 << 20, "trace fewer ranks, or a shorter run"},
};

size_t clab_input_most(enum clab_input_kind kind)
{
    return kinds[kind].most;
}

static int refuse(const char *path, const char *why)
{
    clab_error("%s: %s", *path ? path : "(an empty file name)", why);
    return CLAB_ENOENT;
}

static int refuse_size(const char *path, const struct kind *kind)
{
    char most[CLAB_TEXT];
    clab_error("%s: larger than %s, the most that is read of %s: %s", path, clab_size_text(kind->most, most),
               kind->name, kind->remedy);
    return CLAB_EPARSE;
}

// Whether the file is what our standard input is: who gives us a device there means it.
static bool is_own_input(const struct stat *status)
{
    struct stat own;
    return fstat(STDIN_FILENO, &own) == 0 && own.st_dev == status->st_dev && own.st_ino == status->st_ino;
}

// Whether a shell or a parent made this pipe for us. A named pipe lies in a folder, as a file does, and whoever put it
// there may never write.
static bool is_unnamed_pipe(int fd)
{
    struct statfs system;
    return fstatfs(fd, &system) == 0 && system.f_type == PIPEFS_MAGIC;
}

// Why nothing of that kind is read; NULL: it may be.
static const char *fault_of(const struct stat *status, int fd)
{
    if (S_ISDIR(status->st_mode))
        return strerror(EISDIR);
    if (S_ISBLK(status->st_mode) || (S_ISCHR(status->st_mode) && !isatty(fd) && !is_own_input(status)))
        return "it is a device, not a file";
    if (S_ISFIFO(status->st_mode) && !is_unnamed_pipe(fd) && !is_own_input(status))
        return "it is a named pipe, not a file: give what it holds as /dev/stdin";
    return NULL;
}

// At most one byte more than the kind may have.
static int read_all(int fd, const char *path, const struct kind *kind, struct clab_input *input)
{
    size_t room = 0;
    ssize_t got = 1;
    while (got > 0 && input->bytes <= kind->most) {
        CLAB_TRY(CLAB_RESERVE(input->text, room, input->bytes + PIECE)); // and for a 0 behind them
        const size_t left = kind->most + 1 - input->bytes, free_bytes = room - 1 - input->bytes;
        do
            got = read(fd, input->text + input->bytes, left < free_bytes ? left : free_bytes);
        while (got < 0 && errno == EINTR);
        input->bytes += got > 0 ? (size_t)got : 0;
    }
    if (got < 0) {
        refuse(path, strerror(errno));
        return CLAB_EIO;
    }
    if (input->bytes > kind->most)
        return refuse_size(path, kind);
    input->text[input->bytes] = '\0';
    return CLAB_OK;
}

static int read_file(int fd, const char *path, const struct kind *kind, struct clab_input *input)
{
    struct stat status;
    if (fstat(fd, &status) != 0)
        return refuse(path, strerror(errno));
    const char *fault = fault_of(&status, fd);
    if (fault)
        return refuse(path, fault);
    if (S_ISREG(status.st_mode) && status.st_size > 0 && (size_t)status.st_size > kind->most)
        return refuse_size(path, kind);
    if (!S_ISREG(status.st_mode) && fcntl(fd, F_SETFL, 0) != 0) // now its writer may take its time
        return refuse(path, strerror(errno));
    CLAB_TRY(read_all(fd, path, kind, input));
    // fmemopen would read a byte of its own where there is none.
    input->file = input->bytes ? fmemopen(input->text, input->bytes, "r") : fopen("/dev/null", "re");
    return input->file ? CLAB_OK : CLAB_ENOMEM;
}

int clab_input_open(const char *path, enum clab_input_kind kind, struct clab_input *input_p)
{
    struct clab_input input = {0};
    const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK); // a named pipe would be waited for
    if (fd < 0)
        return refuse(path, strerror(errno));
    const int err = read_file(fd, path, &kinds[kind], &input);
    close(fd);
    if (err == CLAB_ENOMEM)
        clab_error("%s: no memory to read it", path);
    if (err)
        free(input.text);
    else
        *input_p = input;
    return err;
}

int clab_input_stream(const char *path, FILE **file_p)
{
    struct stat status;
    const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    if (fd < 0)
        return refuse(path, strerror(errno));
    const char *fault = fstat(fd, &status) != 0 ? strerror(errno) : fault_of(&status, fd);
    FILE *file = fault || (!S_ISREG(status.st_mode) && fcntl(fd, F_SETFL, 0) != 0) ? NULL : fdopen(fd, "r");
    if (!file) {
        close(fd);
        return refuse(path, fault ? fault : strerror(errno));
    }
    *file_p = file;
    return CLAB_OK;
}

void clab_input_close(struct clab_input *input)
{
    fclose(input->file);
    free(input->text);
    *input = (struct clab_input){0};
}
