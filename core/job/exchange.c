// SPDX-License-Identifier: MIT
// The parts of an exchange, and the messages about its failure (exchange.h).

#include "core/job/exchange.h"

#include <stdio.h>

#include "core/base/log.h"
#include "core/base/mix.h"

enum { NAMES_BYTES = EXCHANGE_NAMED * 12 + 32 };

int exchange_in_parts(struct clab_fence fence, int nranks, const void *mine, size_t bytes, void *all, size_t most,
                      int (*run)(void *, const struct exchange_part *), void *of)
{
    size_t done = 0;
    do {
        const struct exchange_part part = {
            .ranks = fence.ranks,
            .n = fence.ranks ? fence.n : nranks,
            .key = clab_mix(fence.key, done),
            .quiet = fence.quiet,
            .mine = (const unsigned char *)mine + done,
            .bytes = bytes - done < most ? bytes - done : most,
            .whole = bytes,
            .all = (unsigned char *)all + done,
        };
        CLAB_TRY(run(of, &part));
        done += part.bytes;
    } while (done < bytes);
    return CLAB_OK;
}

void exchange_log_ended(int member, int nranks)
{
    const bool is_node = member >= nranks;
    clab_error("rendezvous: %s %d has ended", is_node ? "node" : "rank", member - (is_node ? nranks : 0));
}

void exchange_log_sizes(size_t mine, size_t other)
{
    clab_error("rendezvous: this rank gives %zu bytes, another %zu", mine, other);
}

// "1, 3 and 2 more"
static const char *names_of(const int *named, int nnamed, int missing, char names[NAMES_BYTES])
{
    size_t used = 0;
    names[0] = 0;
    for (int i = 0; i < nnamed; i++)
        used += (size_t)snprintf(names + used, NAMES_BYTES - used, "%s%d", i ? ", " : "", named[i]);
    if (missing > nnamed)
        snprintf(names + used, NAMES_BYTES - used, " and %d more", missing - nnamed);
    return names;
}

void exchange_log_missing(const struct exchange_part *part, const unsigned char *have, int nranks, double timeout)
{
    const bool are_nodes = exchange_member(part, 0) >= nranks;
    int named[EXCHANGE_NAMED] = {0}, missing = 0;
    char names[NAMES_BYTES];
    for (int i = 0; i < part->n; i++)
        if (!have[i] && missing++ < EXCHANGE_NAMED)
            named[missing - 1] = exchange_member(part, i) - (are_nodes ? nranks : 0);
    clab_error("rendezvous: %s%s %s of %d did not arrive within %g s (CLAB_TIMEOUT)", are_nodes ? "node" : "rank",
               missing == 1 ? "" : "s",
               names_of(named, missing < EXCHANGE_NAMED ? missing : EXCHANGE_NAMED, missing, names), part->n, timeout);
}

void exchange_log_awaited(const int *named, int nnamed, int missing, int n, const char *host, int port)
{
    char names[NAMES_BYTES];
    clab_warn("waiting for node%s %s of %d at %s:%d", missing == 1 ? "" : "s", names_of(named, nnamed, missing, names),
              n, host, port);
}
