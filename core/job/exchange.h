// SPDX-License-Identifier: MIT
// What the two ways of an exchange share: over the control pages (pages/) and over the store (store/).
//
// - An exchange is cut into parts that fit one message. Every member cuts it at the same bytes.
// - The messages about an exchange that failed.
#pragma once

#include "core/transport/backend.h"

struct exchange_part {
    const int *ranks; // (n) members; NULL: all ranks of the job
    int n;
    uint64_t key;
    bool quiet;                // log no failure
    const unsigned char *mine; // (bytes)
    size_t bytes, whole;       // per member: of this part, and of the exchange
    unsigned char *all;        // the bytes of member i go to all + i * whole
};

static inline int exchange_member(const struct exchange_part *part, int i)
{
    return part->ranks ? part->ranks[i] : i;
}

// What to do while a member waits, as in struct clab_bootstrap.
struct exchange_progress {
    int (*meanwhile)(void *, bool *busy_p); // may be NULL
    void *of;
};

// The exchange of struct clab_bootstrap in one part.  nranks: of the job
struct exchange_part exchange_whole(struct clab_fence fence, int nranks, const void *mine, size_t bytes, void *all);
// Call `run(context, part)` for each part of at most `part_bytes` bytes of `whole`.
int exchange_in_parts(const struct exchange_part *whole, size_t part_bytes,
                      int (*run)(void *context, const struct exchange_part *part), void *context);

// Members from `nranks` on are nodes.
void exchange_log_ended(int member, int nranks);
// `member` (-1: not known) gives `other` bytes, and this rank `mine`.
void exchange_log_sizes(size_t mine, int member, size_t other, int nranks);
// Names the members that did not arrive.  have: (part->n) flags
void exchange_log_missing(const struct exchange_part *part, const unsigned char *have, int nranks, double timeout);

enum { EXCHANGE_LISTED = 8 }; // members that a message lists; it counts the others
// `missing` of `n` nodes have not joined the job at host:port yet.  listed: (nlisted) some of them
void exchange_log_awaited(const int *listed, int nlisted, int missing, int n, const char *host, int port);
