// SPDX-License-Identifier: MIT
// JSON, written: objects and lists built piece by piece, by the jansson library.
// - json.c is the only file that knows jansson. Built without it, clab_json_create answers CLAB_EUNSUPPORTED with one
//   line that names the package; call it, or clab_json_check, before a long run.
// - A child belongs to its parent and goes with it. Adding to NULL does nothing and gives NULL; what could not be added
//   (no memory, text that is not UTF-8) is found by clab_json_write, so that builders need no error plumbing.
// - Reals are written with 12 digits; one that is not finite is null.
#pragma once

#include <stdbool.h>
#include <stdio.h>

#include "core/base/cell.h"

struct clab_json;

// CLAB_OK where JSON can be written, else CLAB_EUNSUPPORTED and the line.
int clab_json_check(void);

// An empty object.  errors: CLAB_EUNSUPPORTED, CLAB_ENOMEM
int clab_json_create(struct clab_json **json_p);
void clab_json_destroy(struct clab_json *json); // NULL is fine

// Set key in an object; in a list, append (key is then not read).
void clab_json_add(struct clab_json *json, const char *key, struct clab_cell cell);
void clab_json_add_bool(struct clab_json *json, const char *key, bool value);
struct clab_json *clab_json_add_object(struct clab_json *json, const char *key);
struct clab_json *clab_json_add_list(struct clab_json *json, const char *key);

// Print the whole to `out`, indented, with a line's end.  errors: CLAB_EIO, also when something was not added
int clab_json_write(const struct clab_json *json, FILE *out);
// The same on one line, without its end: a piece of a larger file.
int clab_json_write_compact(const struct clab_json *json, FILE *out);
