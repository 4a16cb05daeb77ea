// SPDX-License-Identifier: MIT
// The program's own name in texts (called.h).

#include "core/base/machine/called.h"

#include <limits.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/text.h"
#include "core/base/machine/trust.h"

static const char of_kit[] = "./commlab";
static const char *path_called; // with a slash; NULL: found in PATH, or this is another program of the kit

void clab_called_by(const char *argv0)
{
    path_called = argv0 && strchr(argv0, '/') ? argv0 : NULL;
}

// The file `installed` lies above the build's folder (install.sh).
bool clab_is_installed(void)
{
    static atomic_int known = -1;
    char folder[PATH_MAX], mark[PATH_MAX + 16];
    if (known < 0) {
        snprintf(mark, sizeof mark, "%s/../installed", clab_build_folder(folder) ? folder : "");
        known = access(mark, F_OK) == 0;
    }
    return known;
}

const char *clab_called(void)
{
    return !clab_is_installed() ? of_kit : path_called ? path_called : "commlab";
}

const char *clab_rebuild(void)
{
    return clab_is_installed() ? "make and make install in the kit's sources" : "make";
}

const char *clab_setup(void)
{
    return clab_is_installed() ? "setup.sh in the kit's sources" : "./setup.sh";
}

// The next place in `text` that names the program, NULL: there is none.
static const char *find(const char *text)
{
    static const char of_names[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-/";
    for (const char *at = text; (at = strstr(at, of_kit)); at++) {
        const char next = at[strlen(of_kit)];
        const bool is_longer = next && strchr(of_names, next);
        const bool is_tail = at > text && (strchr(of_names, at[-1]) || at[-1] == '.'); // "../commlab", "a/./commlab"
        if (!is_longer && !is_tail)
            return at;
    }
    return NULL;
}

void clab_called_write(FILE *out, const char *text)
{
    for (const char *at; clab_is_installed() && (at = find(text)); text = at + strlen(of_kit))
        fprintf(out, "%.*s%s", (int)(at - text), text, clab_called());
    fputs(text, out);
}

size_t clab_called_copy(const char *text, char *out, size_t room)
{
    struct clab_text copy = clab_text_begin(out, room);
    for (const char *at; clab_is_installed() && (at = find(text)); text = at + strlen(of_kit))
        clab_text_add(&copy, "%.*s%s", (int)(at - text), text, clab_called());
    clab_text_add(&copy, "%s", text);
    return copy.used;
}

char *clab_called_text(const char *text)
{
    char *named;
    size_t size;
    FILE *out = open_memstream(&named, &size);
    if (!out)
        return NULL;
    clab_called_write(out, text);
    if (fclose(out) == 0)
        return named;
    free(named);
    return NULL;
}

static void say(FILE *out, const char *format, va_list values)
{
    char *text;
    if (vasprintf(&text, format, values) < 0)
        return;
    clab_called_write(out, text);
    free(text);
}

void clab_say_to(FILE *out, const char *format, ...)
{
    va_list values;
    va_start(values, format);
    say(out, format, values);
    va_end(values);
}

void clab_say(const char *format, ...)
{
    va_list values;
    va_start(values, format);
    say(stdout, format, values);
    va_end(values);
}
