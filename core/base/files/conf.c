// SPDX-License-Identifier: MIT
// The reader of settings (conf.h). inih says which line is malformed, but not where a setting stands (unless it was
// built that way). So we hand it the lines ourselves, and count them.
//
// - inih cuts some things silently: long lines, long names of sections, what follows a zero byte. We refuse them.
// - For inih an indented line continues the value above it; here indentation means nothing.

#include "core/base/machine/called.h"
#include "core/base/files/conf.h"

#include <ctype.h>
#include <errno.h>
#include <string.h>

#include "core/base/err.h"
#include "core/base/log.h"

#ifdef HAVE_INIH

#include <ini.h>
#include <search.h>
#include <stdlib.h>

enum { LINE_BYTES = 198, SECTION_BYTES = 49 }; // inih's own limits, as it is built unless told otherwise

struct reading {
    const char *path;
    FILE *file;
    char *text; // the line at hand, with room for more
    size_t room;
    int line;
    const char *wrong; // with the line at hand
    int err;           // with a setting
    clab_setting_fn *use;
    void *context;
    void *given; // a tree of "section]name" of the settings so far
};

// What is wrong with a line of `bytes` bytes; NULL: nothing, so far.
static const char *fault_of(const char *text, size_t bytes)
{
    if (strlen(text) != bytes)
        return "a zero byte: this is no text";
    if (strcspn(text, "\n") > LINE_BYTES)
        return "a line has at most 198 characters";
    text += strspn(text, "\xef\xbb\xbf"); // the mark that some editors put before UTF-8
    if (*text == '[' && strcspn(text, "]\n") > SECTION_BYTES + 1)
        return "the name of a section has at most 49 characters";
    return NULL;
}

// inih's fgets.
static char *next_line(char *text, int room, void *stream)
{
    struct reading *r = stream;
    const ssize_t bytes = r->err || r->wrong ? -1 : getline(&r->text, &r->room, r->file);
    if (bytes < 0)
        return NULL;
    const char *begin = r->text;
    r->line++;
    while (isspace((unsigned char)*begin) && *begin != '\n')
        begin++;
    r->wrong = fault_of(begin, (size_t)(r->text + bytes - begin));
    if (r->wrong)
        return NULL;
    return strncat(strcpy(text, ""), begin, (size_t)room - 1);
}

static int compare(const void *a, const void *b)
{
    return strcmp(a, b);
}

static int refuse_repetition(struct reading *r, const char *section, const char *name)
{
    char *key;
    if (asprintf(&key, "%s]%s", section, name) < 0)
        return CLAB_ENOMEM;
    char **first = tsearch(key, &r->given, compare);
    if (first && *first == key)
        return CLAB_OK;
    free(key);
    if (!first)
        return CLAB_ENOMEM;
    clab_error("%s:%d: [%s]: this key was given before: %s", r->path, r->line, section, name);
    return CLAB_EPARSE;
}

static int use_setting(void *context, const char *section, const char *name, const char *value)
{
    struct reading *r = context;
    if (r->err == CLAB_OK)
        r->err = r->use(r->context, &(struct clab_setting){r->path, r->line, section, name, value});
    if (r->err == CLAB_OK)
        r->err = refuse_repetition(r, section, name);
    return r->err == CLAB_OK;
}

static int error_of(const struct reading *r, int malformed)
{
    if (r->err)
        return r->err;
    if (malformed == -2)
        return CLAB_ENOMEM;
    if (malformed > 0)
        clab_error("%s:%d: expected '[section]' or 'name = value'", r->path, malformed);
    else if (r->wrong)
        clab_error("%s:%d: %s", r->path, r->line, r->wrong);
    return r->wrong || malformed ? CLAB_EPARSE : CLAB_OK;
}

int clab_conf_read(FILE *file, const char *path, clab_setting_fn *use, void *context)
{
    struct reading reading = {.path = path, .file = file, .use = use, .context = context};
    int err = error_of(&reading, ini_parse_stream(next_line, &reading, use_setting, &reading));
    if (!err && ferror(file)) { // a directory, say
        clab_error("%s: %s", path, strerror(errno));
        err = CLAB_EIO;
    }
    tdestroy(reading.given, free);
    free(reading.text);
    return err;
}

int clab_conf_check(const char *what)
{
    (void)what;
    return CLAB_OK;
}

#else

int clab_conf_check(const char *what)
{
    clab_error("%s can not be read: built without inih; install libinih-dev and run %s", what,
               clab_rebuild());
    return CLAB_EUNSUPPORTED;
}

int clab_conf_read(FILE *file, const char *path, clab_setting_fn *use, void *context)
{
    (void)file, (void)use, (void)context;
    return clab_conf_check(path);
}

#endif
