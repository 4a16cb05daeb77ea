// SPDX-License-Identifier: MIT
// What a reader must know to judge a number: an ordered list of `key: value` lines that opens every result file.
// - Keys are unique; adding to a key that is there appends to its value after "; ".
// - Values are one line: line breaks in them become spaces.
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
