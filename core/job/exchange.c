// SPDX-License-Identifier: MIT
// The parts of an exchange, and the messages about its failure (exchange.h).

#include "core/job/exchange.h"

#include <stdio.h>

#include "core/base/log.h"
#include "core/base/mix.h"

enum { LIST_BYTES = EXCHANGE_LISTED * 12 + 32 };

struct exchange_part exchange_whole(struct clab_fence fence, int nranks, const void *mine, size_t bytes, void *all)
{
    return (struct exchange_part){
        .ranks = fence.ranks,
        .n = fence.ranks ? fence.n : nranks,
        .key = fence.key,
        .quiet = fence.quiet,
        .mine = mine,
        .bytes = bytes,
        .whole = bytes,
        .all = all,
    };
}

int exchange_in_parts(const struct exchange_part *whole, size_t part_bytes,
                      int (*run)(void *, const struct exchange_part *), void *context)
{
    size_t done = 0;
    do {
        struct exchange_part part = *whole;
        part.key = clab_mix(whole->key, done);
        part.mine += done;
        part.bytes = whole->bytes - done < part_bytes ? whole->bytes - done : part_bytes;
        part.all += done;
        CLAB_TRY(run(context, &part));
        done += part.bytes;
    } while (done < whole->bytes);
    return CLAB_OK;
}

// Members from `nranks` on are nodes.
static const char *kind_of(int member, int nranks)
{
    return member >= nranks ? "node" : "rank";
}

static int number_of(int member, int nranks)
{
    return member >= nranks ? member - nranks : member;
}

void exchange_log_ended(int member, int nranks)
{
    clab_error("rendezvous: %s %d has ended", kind_of(member, nranks), number_of(member, nranks));
}

void exchange_log_sizes(size_t mine, int member, size_t other, int nranks)
{
    if (member < 0)
        clab_error("rendezvous: this rank gives %zu bytes, another member gives %zu", mine, other);
    else
        clab_error("rendezvous: this rank gives %zu bytes, %s %d gives %zu", mine, kind_of(member, nranks),
                   number_of(member, nranks), other);
}

// "1, 3 and 2 more"
static const char *list_members(const int *listed, int nlisted, int missing, char list[LIST_BYTES])
{
    size_t used = 0;
    list[0] = 0;
    for (int i = 0; i < nlisted; i++)
        used += (size_t)snprintf(list + used, LIST_BYTES - used, "%s%d", i ? ", " : "", listed[i]);
    if (missing > nlisted)
        snprintf(list + used, LIST_BYTES - used, " and %d more", missing - nlisted);
    return list;
}

void exchange_log_missing(const struct exchange_part *part, const unsigned char *have, int nranks, double timeout)
{
    int listed[EXCHANGE_LISTED] = {0}, missing = 0;
    char list[LIST_BYTES];
    for (int i = 0; i < part->n; i++)
        if (!have[i] && missing++ < EXCHANGE_LISTED)
            listed[missing - 1] = number_of(exchange_member(part, i), nranks);
    clab_error("rendezvous: %s%s %s of %d did not arrive within %g s (CLAB_TIMEOUT)",
               kind_of(exchange_member(part, 0), nranks), missing == 1 ? "" : "s",
               list_members(listed, missing < EXCHANGE_LISTED ? missing : EXCHANGE_LISTED, missing, list), part->n,
               timeout);
}

void exchange_log_awaited(const int *listed, int nlisted, int missing, int n, const char *host, int port)
{
    char list[LIST_BYTES];
    clab_warn("waiting for node%s %s of %d at %s:%d", missing == 1 ? "" : "s",
              list_members(listed, nlisted, missing, list), n, host, port);
}
