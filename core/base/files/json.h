// SPDX-License-Identifier: MIT
// Written JSON: objects and lists, built piece by piece with the jansson library.
// - Only json.c knows jansson. In a build without it, clab_json_create answers CLAB_EUNSUPPORTED with one line that
//   names the package: call it, or clab_json_check, before a long run.
// - A child belongs to its parent and is freed with it. Adding to NULL does nothing and returns NULL. clab_json_write
//   reports what could not be added (no memory, text that is not UTF-8), so that builders need no error handling.
// - Reals are written with 12 digits, those of clab_json_write_compact so that they read back the same. One that is not
//   finite becomes null.
#pragma once

#include <stdbool.h>
#include <stdio.h>

#include "core/base/files/cell.h"

struct clab_json;

// CLAB_OK if this build can write JSON, else CLAB_EUNSUPPORTED (logged).
int clab_json_check(void);

// An empty object.  errors: CLAB_EUNSUPPORTED, CLAB_ENOMEM
int clab_json_create(struct clab_json **json_p);
void clab_json_destroy(struct clab_json *json); // NULL is fine

// Set `key` in an object, or append to a list, which ignores `key`.
void clab_json_add(struct clab_json *json, const char *key, struct clab_cell cell);
void clab_json_add_bool(struct clab_json *json, const char *key, bool value);
struct clab_json *clab_json_add_object(struct clab_json *json, const char *key);
struct clab_json *clab_json_add_list(struct clab_json *json, const char *key);

// Print everything to `out`, indented, ending with a newline.  errors: CLAB_EIO, also if something was not added
int clab_json_write(const struct clab_json *json, FILE *out);
// The same to a file, whole or not at all (output.h).  errors: CLAB_EIO, also if something was not added
int clab_json_write_file(const struct clab_json *json, const char *path);
// On one line, without a newline: for a part of a larger file.
int clab_json_write_compact(const struct clab_json *json, FILE *out);
