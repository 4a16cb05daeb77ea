// SPDX-License-Identifier: MIT
// Messages and receives that wait for each other, in a hash of lists.

#include "sim/goal/match.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/err.h"
#include "core/base/mix.h"
#include "core/base/vector.h"

static const uint32_t any = UINT32_MAX;

static struct match_list *list_of(const struct match *m, struct match_list *lists, size_t nlists, struct match_key key)
{
    const uint64_t hash = m->by_rank ? key.dst : clab_mix((uint64_t)key.dst << 32 | key.src, key.tag);
    return &lists[hash & (nlists - 1)];
}

static struct match_list *new_lists(size_t n)
{
    struct match_list *lists = malloc(n * sizeof *lists);
    if (lists)
        memset(lists, 0xff, n * sizeof *lists);
    return lists;
}

int match_open(struct match *m, size_t nranks, bool by_rank)
{
    *m = (struct match){.nlists = 64, .spare = MATCH_NONE, .by_rank = by_rank};
    while (m->nlists < nranks)
        m->nlists *= 2;
    for (int side = 0; side < MATCH_SIDES; side++)
        if (!(m->lists[side] = new_lists(m->nlists)))
            return CLAB_ENOMEM;
    return CLAB_OK;
}

void match_close(struct match *m)
{
    for (int side = 0; side < MATCH_SIDES; side++)
        free(m->lists[side]);
    free(m->entries);
}

size_t match_bytes(const struct match *m)
{
    return m->room * sizeof *m->entries + MATCH_SIDES * m->nlists * sizeof *m->lists[0];
}

static void append(struct match *m, struct match_list *list, int32_t i)
{
    m->entries[i].next = MATCH_NONE;
    *(list->last == MATCH_NONE ? &list->first : &m->entries[list->last].next) = i;
    list->last = i;
}

// Twice as many lists. What shared a list and a key keeps its order.
static int grow(struct match *m)
{
    for (int side = 0; side < MATCH_SIDES; side++) {
        struct match_list *lists = new_lists(2 * m->nlists);
        if (!lists)
            return CLAB_ENOMEM;
        for (size_t i = 0; i < m->nlists; i++)
            for (int32_t e = m->lists[side][i].first, next; e != MATCH_NONE; e = next) {
                next = m->entries[e].next;
                append(m, list_of(m, lists, 2 * m->nlists, m->entries[e].key), e);
            }
        free(m->lists[side]);
        m->lists[side] = lists;
        if (side == MATCH_SIDES - 1)
            m->nlists *= 2;
    }
    return CLAB_OK;
}

int match_put(struct match *m, enum match_side side, struct match_key key, uint32_t item, double when)
{
    int32_t i = m->spare;
    if (m->count >= 2 * m->nlists && !m->by_rank)
        CLAB_TRY(grow(m));
    if (i != MATCH_NONE) {
        m->spare = m->entries[i].next;
    } else {
        if (m->used == INT32_MAX)
            return CLAB_ENOMEM;
        CLAB_TRY(CLAB_RESERVE(m->entries, m->room, m->used + 1));
        i = (int32_t)m->used++;
    }
    m->entries[i] = (struct match_entry){.key = key, .item = item, .when = when};
    append(m, list_of(m, m->lists[side], m->nlists, key), i);
    m->count++;
    return CLAB_OK;
}

static bool fits(struct match_key a, struct match_key b)
{
    return a.dst == b.dst && (a.src == b.src || a.src == any || b.src == any) &&
           (a.tag == b.tag || a.tag == any || b.tag == any);
}

bool match_take(struct match *m, enum match_side side, struct match_key key, struct match_entry *entry_p)
{
    struct match_list *list = list_of(m, m->lists[side], m->nlists, key);
    int32_t before = MATCH_NONE, i = list->first;
    while (i != MATCH_NONE && !fits(m->entries[i].key, key)) {
        before = i;
        i = m->entries[i].next;
    }
    if (i == MATCH_NONE)
        return false;
    *entry_p = m->entries[i];
    *(before == MATCH_NONE ? &list->first : &m->entries[before].next) = m->entries[i].next;
    if (list->last == i)
        list->last = before;
    m->entries[i].next = m->spare;
    m->spare = i;
    m->count--;
    return true;
}

bool match_left(const struct match *m, enum match_side side, struct match_entry *entry_p)
{
    bool is_there = false;
    for (size_t i = 0; i < m->nlists; i++)
        for (int32_t e = m->lists[side][i].first; e != MATCH_NONE; e = m->entries[e].next) {
            const struct match_entry *entry = &m->entries[e];
            if (is_there && (entry->key.dst > entry_p->key.dst ||
                             (entry->key.dst == entry_p->key.dst && entry->when >= entry_p->when)))
                continue;
            *entry_p = *entry;
            is_there = true;
        }
    return is_there;
}
