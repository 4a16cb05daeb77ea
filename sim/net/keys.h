// SPDX-License-Identifier: MIT
// The keys of the text format, and where their values lie in struct clab_net's parts: reader and writer share this
// table.
#pragma once

#include <stdbool.h>
#include <stddef.h>

enum net_kind {
    NET_COUNT,
    NET_SECONDS,
    NET_PER_BYTE,
    NET_FLOPS,
    NET_SIZE,
    NET_YES_NO,
    NET_PORT,
    NET_PERCENT,
    NET_TEXT,
    NET_NAME,
    NET_RATIO,
    NET_INSIDE,
    NET_BETWEEN,
    NET_GRID
};

struct net_key {
    const char *section, *name; // section: its first word
    enum net_kind kind;
    bool required;
    size_t offset; // in the section's struct: clab_net, clab_link, clab_segment or clab_level
    size_t absent; // of sizes: what a file that does not say means
};

extern const struct net_key net_keys[]; // ended by a NULL section
enum { NET_KEYS_AT_MOST = 96 };

struct clab_net;

// What the sections of a file say together; links without segments get Hockney's.  errors: CLAB_EPARSE (logged)
int net_check(struct clab_net *net, const char *path);
