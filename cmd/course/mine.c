// SPDX-License-Identifier: MIT
// The student's file of a unit (mine.h).

#include "cmd/course/mine.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "core/base/err.h"
#include "core/base/files/input.h"
#include "core/base/log.h"
#include "core/base/files/output.h"
#include "cmd/kit/kit.h"

static int refuse(const char *path)
{
    clab_error("%s: can not be written: %s", kit_relative(path), strerror(errno));
    return CLAB_EIO;
}

static int write_all(int file, const char *text, size_t bytes)
{
    while (bytes > 0) {
        const ssize_t written = write(file, text, bytes);
        if (written <= 0)
            return CLAB_EIO;
        text += written;
        bytes -= (size_t)written;
    }
    return fsync(file) == 0 ? CLAB_OK : CLAB_EIO;
}

int mine_write_new(const char *path, const struct clab_input *text, bool *is_there_p)
{
    const int file = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    *is_there_p = file < 0 && errno == EEXIST;
    if (*is_there_p)
        return CLAB_OK;
    int err = file < 0 ? refuse(path) : CLAB_OK;
    if (!err && write_all(file, text->text, text->bytes)) {
        err = refuse(path);
        unlink(path);
    }
    if (file >= 0)
        close(file);
    return err;
}

static int write_over(const char *path, const struct clab_input *text)
{
    struct clab_output output;
    CLAB_TRY(clab_output_open(path, &output));
    fwrite(text->text, 1, text->bytes, output.file);
    return clab_output_close(&output);
}

static int read_before(const struct course *course, const struct course_unit *unit, struct clab_input *before_p)
{
    char path[PATH_MAX];
    CLAB_TRY(course_unit_path(course, unit, "before.c", path));
    return clab_input_open(path, CLAB_INPUT_LOG, before_p);
}

static int start(const struct course_unit *unit, const char *mine, const struct clab_input *before)
{
    bool is_there;
    CLAB_TRY(mine_write_new(mine, before, &is_there));
    if (!is_there)
        return CLAB_OK;
    clab_error("start: %s is there already, and stays as it is; edit it, or type ./commlab reset %s to begin anew "
               "(which keeps a copy)",
               kit_relative(mine), unit->id);
    return CLAB_EINVAL;
}

int mine_start(const struct course *course, const struct course_unit *unit)
{
    char folder[PATH_MAX], mine[PATH_MAX];
    struct clab_input before;
    CLAB_TRY(course_mine_path(course, unit, "", folder));
    CLAB_TRY(course_mine_path(course, unit, "mine.c", mine));
    CLAB_TRY(read_before(course, unit, &before));
    int err = kit_make_work_folder(folder);
    if (!err)
        err = start(unit, mine, &before);
    clab_input_close(&before);
    return err;
}

// In a file of the first number that is free.
static int keep(const struct course *course, const struct course_unit *unit, const struct clab_input *mine,
                char kept_p[PATH_MAX])
{
    bool is_there = true;
    for (int i = 1; is_there; i++) {
        char name[32];
        snprintf(name, sizeof name, "mine.%d.c", i);
        CLAB_TRY(course_mine_path(course, unit, name, kept_p));
        CLAB_TRY(mine_write_new(kept_p, mine, &is_there));
    }
    return CLAB_OK;
}

static int replace(const struct course *course, const struct course_unit *unit, const char *path, char kept_p[PATH_MAX])
{
    struct clab_input mine, before;
    CLAB_TRY(read_before(course, unit, &before));
    int err = clab_input_open(path, CLAB_INPUT_LOG, &mine);
    if (!err) {
        err = keep(course, unit, &mine, kept_p);
        if (!err)
            err = write_over(path, &before);
        clab_input_close(&mine);
    }
    clab_input_close(&before);
    return err;
}

int mine_reset(const struct course *course, const struct course_unit *unit, char kept_p[PATH_MAX])
{
    char path[PATH_MAX];
    CLAB_TRY(course_mine_path(course, unit, "mine.c", path));
    if (access(path, F_OK) == 0)
        return replace(course, unit, path, kept_p);
    clab_error("reset: there is no %s yet; type ./commlab start %s", kit_relative(path), unit->id);
    return CLAB_ENOENT;
}
