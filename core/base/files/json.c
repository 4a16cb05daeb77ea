// SPDX-License-Identifier: MIT
// JSON with jansson (json.h), and tables as JSON (table.h). Only this file knows the library, and cmd/trace/file.c,
// which reads.

#include "core/base/machine/called.h"
#include "core/base/files/json.h"

#include "core/base/err.h"
#include "core/base/log.h"
#include "core/base/files/output.h"
#include "core/base/files/table.h"

#ifdef HAVE_JANSSON

#include <jansson.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

struct clab_json {
    json_t *value;          // owned by the root's value; the root owns its own
    struct clab_json *root; // itself in the root
    struct clab_json *next; // the root's chain of all its descendants
    bool failed;            // in the root: something could not be added
};

int clab_json_check(void)
{
    return CLAB_OK;
}

int clab_json_create(struct clab_json **json_p)
{
    struct clab_json *json = calloc(1, sizeof *json);
    if (json && (json->value = json_object())) {
        json->root = json;
        *json_p = json;
        return CLAB_OK;
    }
    free(json);
    clab_error("no memory for a JSON document");
    return CLAB_ENOMEM;
}

void clab_json_destroy(struct clab_json *json)
{
    if (!json)
        return;
    json_decref(json->value);
    for (struct clab_json *next; json; json = next) {
        next = json->next;
        free(json);
    }
}

// Takes the reference to `value`, which may be NULL for want of memory.
static bool attach(struct clab_json *json, const char *key, json_t *value)
{
    int failed = json_is_array(json->value) ? json_array_append_new(json->value, value)
                                            : json_object_set_new(json->value, key, value);
    if (failed)
        json->root->failed = true;
    return !failed;
}

static json_t *cell_value(struct clab_cell cell)
{
    switch (cell.kind) {
    case CLAB_KIND_TEXT:
        return json_string(cell.text);
    case CLAB_KIND_INTEGER:
        return json_integer(cell.integer);
    case CLAB_KIND_REAL:
        return isfinite(cell.real) ? json_real(cell.real) : json_null();
    default:
        return json_null();
    }
}

void clab_json_add(struct clab_json *json, const char *key, struct clab_cell cell)
{
    if (json)
        attach(json, key, cell_value(cell));
}

void clab_json_add_bool(struct clab_json *json, const char *key, bool value)
{
    if (json)
        attach(json, key, json_boolean(value));
}

static struct clab_json *add_child(struct clab_json *json, const char *key, json_t *value)
{
    struct clab_json *child = calloc(1, sizeof *child);
    if (!child) {
        json_decref(value);
        value = NULL; // attach then notes the failure
    }
    if (!attach(json, key, value)) {
        free(child);
        return NULL;
    }
    *child = (struct clab_json){.value = value, .root = json->root, .next = json->root->next};
    json->root->next = child;
    return child;
}

struct clab_json *clab_json_add_object(struct clab_json *json, const char *key)
{
    return json ? add_child(json, key, json_object()) : NULL;
}

struct clab_json *clab_json_add_list(struct clab_json *json, const char *key)
{
    return json ? add_child(json, key, json_array()) : NULL;
}

int clab_json_write(const struct clab_json *json, FILE *out)
{
    if (json->root->failed) {
        clab_error("a JSON document is incomplete: no memory, or text that is not UTF-8");
        return CLAB_EIO;
    }
    if (json_dumpf(json->value, out, JSON_INDENT(2) | JSON_REAL_PRECISION(12)) != 0 || fputc('\n', out) == EOF) {
        clab_error("a JSON document could not be written: %m");
        return CLAB_EIO;
    }
    return CLAB_OK;
}

int clab_json_write_compact(const struct clab_json *json, FILE *out)
{
    if (!json->root->failed && json_dumpf(json->value, out, JSON_COMPACT | JSON_REAL_PRECISION(17)) == 0)
        return CLAB_OK;
    if (!ferror(out)) // else who closes the file says which one
        clab_error("a piece of JSON could not be made: no memory, or text that is not UTF-8");
    return CLAB_EIO;
}

#else // without jansson

int clab_json_check(void)
{
    clab_error("JSON needs the jansson library: install libjansson-dev (Debian) or jansson-devel (Fedora), then %s",
               clab_rebuild());
    return CLAB_EUNSUPPORTED;
}

int clab_json_create(struct clab_json **json_p)
{
    (void)json_p;
    return clab_json_check();
}

void clab_json_destroy(struct clab_json *json)
{
    (void)json;
}

void clab_json_add(struct clab_json *json, const char *key, struct clab_cell cell)
{
    (void)json, (void)key, (void)cell;
}

void clab_json_add_bool(struct clab_json *json, const char *key, bool value)
{
    (void)json, (void)key, (void)value;
}

struct clab_json *clab_json_add_object(struct clab_json *json, const char *key)
{
    (void)json, (void)key;
    return NULL;
}

struct clab_json *clab_json_add_list(struct clab_json *json, const char *key)
{
    (void)json, (void)key;
    return NULL;
}

int clab_json_write(const struct clab_json *json, FILE *out)
{
    (void)json, (void)out;
    return clab_json_check();
}

int clab_json_write_compact(const struct clab_json *json, FILE *out)
{
    (void)json, (void)out;
    return clab_json_check();
}

#endif

int clab_json_write_file(const struct clab_json *json, const char *path)
{
    struct clab_output output;
    CLAB_TRY(clab_output_open(path, &output));
    const int err = clab_json_write(json, output.file);
    if (!err)
        return clab_output_close(&output);
    clab_output_abandon(&output);
    return err;
}

static void add_table(struct clab_json *root, const struct clab_table *table, const struct clab_manifest *manifest)
{
    struct clab_json *about = clab_json_add_object(root, "manifest");
    for (int i = 0; manifest && i < manifest->count; i++)
        clab_json_add(about, manifest->entries[i].key, clab_cell_text(manifest->entries[i].value));
    struct clab_json *rows = clab_json_add_list(root, "rows");
    for (int row = 0; row < clab_table_rows(table); row++) {
        struct clab_json *object = clab_json_add_object(rows, NULL);
        for (int i = 0; i < table->ncolumns; i++)
            clab_json_add(object, table->columns[i].name, clab_table_cell(table, row, i));
    }
}

int clab_table_write_json(const struct clab_table *table, const struct clab_manifest *manifest, const char *path)
{
    struct clab_json *json;
    CLAB_TRY(clab_json_create(&json));
    add_table(json, table, manifest);
    const int err = clab_json_write_file(json, path);
    clab_json_destroy(json);
    return err;
}
