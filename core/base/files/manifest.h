// SPDX-License-Identifier: MIT
// What a reader must know to judge a result: an ordered list of `key: value` lines at the start of every result file.
// - Keys are unique. Adding to an existing key appends to its value after "; ".
// - A value is one line: line breaks become spaces.
#pragma once

struct clab_manifest_entry {
    char *key, *value;
};

struct clab_manifest {
    struct clab_manifest_entry *entries; // in the order that they were added
    int count, room;
};

// An empty manifest is all zeros: struct clab_manifest m = {0};
//   errors: CLAB_ENOMEM, and the manifest is as it was
int clab_manifest_add(struct clab_manifest *manifest, const char *key, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

// The value of `key`, or NULL.
const char *clab_manifest_get(const struct clab_manifest *manifest, const char *key);

void clab_manifest_free(struct clab_manifest *manifest);
