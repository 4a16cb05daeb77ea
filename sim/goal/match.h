// SPDX-License-Identifier: MIT
// Which message a receive takes: the first that came of those that fit, and likewise the first receive that was posted.
// A receive may take from any rank, or with any tag.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum match_side { MATCH_RECEIVES, MATCH_MESSAGES, MATCH_SIDES };
enum { MATCH_NONE = -1 };

struct match_key {
    uint32_t dst, src, tag; // src, tag: of a receive, UINT32_MAX: any
};

struct match_entry {
    struct match_key key;
    int32_t next;
    uint32_t item; // the caller's
    double when;
};

struct match_list {
    int32_t first, last;
};

struct match {
    struct match_entry *entries;
    struct match_list *lists[MATCH_SIDES]; // (nlists)
    size_t nlists, used, room, count;
    int32_t spare;
    bool by_rank; // a rank's entries share a list, in their order, since some receives take any
};

int match_open(struct match *m, size_t nranks, bool by_rank); // CLAB_ENOMEM
void match_close(struct match *m);
size_t match_bytes(const struct match *m);

// One waits on `side`, since `when`.  errors: CLAB_ENOMEM
int match_put(struct match *m, enum match_side side, struct match_key key, uint32_t item, double when);
// The first on `side` that fits `key` waits no longer; false: there is none.
bool match_take(struct match *m, enum match_side side, struct match_key key, struct match_entry *entry_p);
// One that is left on `side`, of the lowest rank; false: there is none.
bool match_left(const struct match *m, enum match_side side, struct match_entry *entry_p);
