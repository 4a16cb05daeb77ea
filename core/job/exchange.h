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

// The exchange of struct clab_bootstrap, by one call of `run(of, part)` per part of at most `most` bytes.
//   nranks: of the job
int exchange_in_parts(struct clab_fence fence, int nranks, const void *mine, size_t bytes, void *all, size_t most,
                      int (*run)(void *of, const struct exchange_part *part), void *of);

// Members from `nranks` on are nodes.
void exchange_log_ended(int member, int nranks);
void exchange_log_sizes(size_t mine, size_t other);
// Names the members that did not arrive.  have: (part->n) flags
void exchange_log_missing(const struct exchange_part *part, const unsigned char *have, int nranks, double timeout);

enum { EXCHANGE_NAMED = 8 }; // members that a message names; it counts the others
// `missing` of `n` nodes have not joined the job at host:port yet.  named: (nnamed)
void exchange_log_awaited(const int *named, int nnamed, int missing, int n, const char *host, int port);
