// SPDX-License-Identifier: MIT
// The reader of settings. inih says which line is malformed, but not on which one a setting stands (unless it was built
// so): we hand it the lines ourselves, and count.

#include "base/conf.h"

#include "base/err.h"
#include "base/log.h"

#ifdef HAVE_INIH

#include <errno.h>
#include <ini.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

struct reading {
    const char *path;
    FILE *file;
    int line;
    bool too_long;
    int err; // of `use`
    clab_setting_fn *use;
    void *context;
};

// inih's fgets.
static char *next_line(char *text, int room, void *stream)
{
    struct reading *r = stream;
    if (r->err || r->too_long || !fgets(text, room, r->file))
        return NULL;
    r->line++;
    r->too_long = !strchr(text, '\n') && !feof(r->file);
    return r->too_long ? NULL : text;
}

static int use_setting(void *context, const char *section, const char *name, const char *value)
{
    struct reading *r = context;
    if (r->err == CLAB_OK)
        r->err = r->use(r->context, &(struct clab_setting){r->path, r->line, section, name, value});
    return r->err == CLAB_OK;
}

static int verdict(const struct reading *r, int malformed)
{
    if (r->err)
        return r->err;
    if (malformed == -2)
        return CLAB_ENOMEM;
    if (r->too_long)
        clab_error("%s:%d: a line has at most 198 characters", r->path, r->line);
    else if (malformed > 0)
        clab_error("%s:%d: expected '[section]' or 'name = value'", r->path, malformed);
    return r->too_long || malformed ? CLAB_EPARSE : CLAB_OK;
}

int clab_conf_read(const char *path, clab_setting_fn *use, void *context)
{
    struct reading reading = {.path = path, .file = fopen(path, "r"), .use = use, .context = context};
    if (!reading.file) {
        clab_error("%s: %s", path, strerror(errno));
        return CLAB_ENOENT;
    }
    int err = verdict(&reading, ini_parse_stream(next_line, &reading, use_setting, &reading));
    if (!err && ferror(reading.file)) { // a directory, say
        clab_error("%s: %s", path, strerror(errno));
        err = CLAB_EIO;
    }
    fclose(reading.file);
    return err;
}

#else

int clab_conf_read(const char *path, clab_setting_fn *use, void *context)
{
    (void)use, (void)context;
    clab_error("%s can not be read: built without inih; install libinih-dev and run make again", path);
    return CLAB_EUNSUPPORTED;
}

#endif
