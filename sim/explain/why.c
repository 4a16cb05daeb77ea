// SPDX-License-Identifier: MIT
// The critical path, and rows of it.

#include "sim/explain/why.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "core/base/err.h"
#include "sim/net/net.h"

// ---- the path ------------------------------------------------------------------------------------------------

// What is explained: from `begin` to `end`, which is `calls` calls; `last` is what ended then.
struct window {
    double begin, end;
    int calls;
    int32_t last;
};

// As full_fill's result: of several calls the second half, which follow each other steadily.
static struct window window_of(const struct clab_record *r)
{
    int first = r->calls / 2, last = r->calls - 1;
    return (struct window){.begin = r->calls == 1 ? 0 : r->finish[first - 1],
                           .end = r->finish[last],
                           .calls = r->calls == 1 ? 1 : r->calls - first,
                           .last = r->ends[last]};
}

// What of it is behind `from`; -INFINITY: all.
static struct clab_why_piece piece_of(const struct clab_record_item *item, double from)
{
    double begin = item->begin > from ? item->begin : from;
    return (struct clab_why_piece){.seconds = item->end - begin,
                                   .bytes = item->bytes,
                                   .rank = item->rank,
                                   .peer = item->peer,
                                   .stage = item->stage,
                                   .link = item->link,
                                   .did = item->did,
                                   .lane = item->lane};
}

// Whether the path goes on before this item. (Items of a port that is ahead may begin before the window, and lead back
// into it.)
static bool goes_on(const struct clab_record *r, int32_t item, const struct window *w)
{
    return r->items[item].cause != CLAB_RECORD_NONE && r->items[item].begin > w->begin;
}

static int count_pieces(const struct clab_record *r, const struct window *w)
{
    int n = w->last != CLAB_RECORD_NONE;
    for (int32_t i = w->last; i != CLAB_RECORD_NONE && goes_on(r, i, w); i = r->items[i].cause)
        n++;
    return n;
}

static void walk(const struct clab_record *r, const struct window *w, struct clab_why *why)
{
    int32_t item = w->last;
    for (int i = why->npieces - 1; i > 0; i--, item = r->items[item].cause)
        why->pieces[i] = piece_of(&r->items[item], -INFINITY);
    if (why->npieces == 0)
        return;
    const struct clab_record_item *first = &r->items[item];
    why->pieces[0] = piece_of(first, w->begin);
    if (first->begin <= w->begin)
        return;
    // It waited for what was there before the beginning.
    for (int i = why->npieces++; i > 0; i--)
        why->pieces[i] = why->pieces[i - 1];
    why->pieces[0].seconds = first->begin - w->begin;
    why->pieces[0].did = CLAB_DID_USED;
}

static void add_up(struct clab_why *why, const struct window *w)
{
    for (int i = 0; i < why->npieces; i++) {
        struct clab_why_piece *p = &why->pieces[i];
        p->seconds /= w->calls;
        why->parts[clab_did_part((enum clab_did)p->did)] += p->seconds;
        why->seconds += p->seconds;
    }
}

// ---- rows ----------------------------------------------------------------------------------------------------

enum { LONGEST_PERIOD = 96 };

static bool is_alike(const struct clab_why_piece *a, const struct clab_why_piece *b)
{
    return a->did == b->did && a->link == b->link && a->bytes == b->bytes && (a->stage < 0) == (b->stage < 0);
}

// How often the `period` pieces from `first` on follow each other.
static int count_times(const struct clab_why *why, int first, int period)
{
    int n = first + period;
    while (n < why->npieces && is_alike(&why->pieces[n], &why->pieces[n - period]))
        n++;
    return (n - first) / period;
}

// The period that covers most, from `first` on; the shortest of those.
static int best_period(const struct clab_why *why, int first, int *times_p)
{
    int best = 1, most = 1;
    *times_p = 1;
    for (int period = 1; period <= LONGEST_PERIOD && first + 2 * period <= why->npieces; period++) {
        int times = count_times(why, first, period);
        if (times > 1 && times * period > most) {
            best = period;
            most = times * period;
            *times_p = times;
        }
    }
    return best;
}

static void add_row(struct clab_why *why, int first, int step, int times)
{
    struct clab_why_row *row = &why->rows[why->nrows++];
    *row = (struct clab_why_row){.first = first, .step = step, .times = times, .stage_first = why->pieces[first].stage};
    row->stage_last = row->stage_first;
    for (int i = 0; i < times; i++) {
        const struct clab_why_piece *p = &why->pieces[first + i * step];
        row->seconds += p->seconds;
        row->stage_first = p->stage < row->stage_first ? p->stage : row->stage_first;
        row->stage_last = p->stage > row->stage_last ? p->stage : row->stage_last;
    }
}

static int merge(struct clab_why *why)
{
    if (!(why->rows = malloc((size_t)(why->npieces + 1) * sizeof *why->rows)))
        return CLAB_ENOMEM;
    for (int i = 0, times; i < why->npieces;) {
        int period = best_period(why, i, &times);
        for (int k = 0; k < period; k++)
            add_row(why, i + k, period, times);
        i += period * times;
    }
    return CLAB_OK;
}

int clab_why_find(const struct clab_record *record, struct clab_why *why_p)
{
    const struct window w = window_of(record);
    struct clab_why why = {.npieces = count_pieces(record, &w)};
    if (!(why.pieces = malloc((size_t)(why.npieces + 1) * sizeof *why.pieces)))
        return CLAB_ENOMEM;
    walk(record, &w, &why);
    add_up(&why, &w);
    if (merge(&why)) {
        clab_why_free(&why);
        return CLAB_ENOMEM;
    }
    *why_p = why;
    return CLAB_OK;
}

void clab_why_free(struct clab_why *why)
{
    free(why->pieces);
    free(why->rows);
    *why = (struct clab_why){0};
}

// ---- words ---------------------------------------------------------------------------------------------------

const char *clab_why_ranks(const struct clab_why *why, const struct clab_why_row *row, char text[CLAB_WHY_TEXT])
{
    enum { SHOWN = 3 };
    int n = 0, shown = 0, last = CLAB_RECORD_NONE;
    for (int i = 0; i < row->times; i++) {
        int rank = why->pieces[row->first + i * row->step].rank;
        if (i > 0 && rank == last)
            continue;
        last = rank;
        if (shown++ < SHOWN)
            n += snprintf(text + n, CLAB_WHY_TEXT - (size_t)n, "%s%d", shown > 1 ? "→" : "", rank);
    }
    if (shown > SHOWN)
        snprintf(text + n, CLAB_WHY_TEXT - (size_t)n, "%s→%d", shown > SHOWN + 1 ? " …" : "", last);
    return text;
}

const char *clab_why_link(const struct clab_net *net, int index)
{
    static const char *const names[CLAB_NET_FIRST_TIER] = {"intra", "inter", "pair"};
    if (index == CLAB_RECORD_NONE)
        return "";
    return index < CLAB_NET_FIRST_TIER ? names[index] : net->tiers[index - CLAB_NET_FIRST_TIER].name;
}
