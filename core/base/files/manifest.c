// SPDX-License-Identifier: MIT
// An ordered list of key and value (manifest.h).

#include "core/base/files/manifest.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/err.h"
#include "core/base/log.h"
#include "core/base/text.h"
#include "core/base/vector.h"

static struct clab_manifest_entry *find(const struct clab_manifest *manifest, const char *key)
{
    for (int i = 0; i < manifest->count; i++)
        if (strcmp(manifest->entries[i].key, key) == 0)
            return &manifest->entries[i];
    return NULL;
}

// A command line or an environment may hold any bytes; a file of JSON may not.
static void make_line(char *text)
{
    clab_make_utf8(text);
    for (; *text; text++)
        if (*text == '\n' || *text == '\r')
            *text = ' ';
}

// Takes `value` on success.
static int append(struct clab_manifest_entry *entry, char *value)
{
    char *joined;
    if (asprintf(&joined, "%s; %s", entry->value, value) < 0)
        return CLAB_ENOMEM;
    free(entry->value);
    free(value);
    entry->value = joined;
    return CLAB_OK;
}

// Takes `value` on success.
static int insert(struct clab_manifest *manifest, const char *key, char *value)
{
    char *copy = strdup(key);
    if (!copy || CLAB_PUSH(manifest->entries, manifest->count, manifest->room,
                           (struct clab_manifest_entry){.key = copy, .value = value})) {
        free(copy);
        return CLAB_ENOMEM;
    }
    make_line(copy);
    return CLAB_OK;
}

int clab_manifest_add(struct clab_manifest *manifest, const char *key, const char *format, ...)
{
    va_list values;
    va_start(values, format);
    char *value = NULL;
    int printed = vasprintf(&value, format, values);
    va_end(values);
    int err = CLAB_ENOMEM;
    if (printed >= 0) {
        make_line(value);
        struct clab_manifest_entry *entry = find(manifest, key);
        err = entry ? append(entry, value) : insert(manifest, key, value);
        if (err)
            free(value);
    }
    if (err)
        clab_error("no memory for the manifest's `%s`", key);
    return err;
}

const char *clab_manifest_get(const struct clab_manifest *manifest, const char *key)
{
    const struct clab_manifest_entry *entry = find(manifest, key);
    return entry ? entry->value : NULL;
}

void clab_manifest_free(struct clab_manifest *manifest)
{
    for (int i = 0; i < manifest->count; i++) {
        free(manifest->entries[i].key);
        free(manifest->entries[i].value);
    }
    free(manifest->entries);
    *manifest = (struct clab_manifest){0};
}
