// SPDX-License-Identifier: MIT
// Max-min fair rates by progressive filling.

#include "sim/engine/flows.h"

#include <math.h>
#include <stdlib.h>

#include "core/base/err.h"
#include "core/base/vector.h"

int flows_init(struct flows *f, int nlinks, struct ticks ticks)
{
    size_t n = (size_t)nlinks + 1;
    *f = (struct flows){.nlinks = nlinks, .ticks = ticks};
    f->capacity = calloc(n, sizeof *f->capacity);
    f->spare = calloc(n, sizeof *f->spare);
    f->users = calloc(n, sizeof *f->users);
    f->touched = calloc(n, sizeof *f->touched);
    f->share = calloc(n, sizeof *f->share);
    return f->capacity && f->spare && f->users && f->touched && f->share ? CLAB_OK : CLAB_ENOMEM;
}

void flows_free(struct flows *f)
{
    free(f->flows);
    free(f->capacity);
    free(f->spare);
    free(f->users);
    free(f->touched);
    free(f->share);
    free(f->open);
    *f = (struct flows){0};
}

int flows_add(struct flows *f, double now, double end, double most, const int *links, int nlinks, int tag)
{
    CLAB_TRY(CLAB_RESERVE(f->flows, f->room, f->n + 1));
    CLAB_TRY(CLAB_RESERVE(f->open, f->open_room, f->n + 1));
    struct flow *flow = &f->flows[f->n++];
    *flow = (struct flow){.rate = most, .most = most, .end = end, .nlinks = nlinks, .tag = tag};
    for (int i = 0; i < nlinks; i++)
        flow->links[i] = links[i];
    f->now = now;
    f->stale = true;
    return CLAB_OK;
}

// ---- rates ---------------------------------------------------------------------------------------------------

static double less(double a, double b)
{
    return a < b ? a : b;
}

static void fix(struct flows *f, struct flow *flow, double rate)
{
    for (int i = 0; i < flow->nlinks; i++) {
        f->spare[flow->links[i]] -= rate;
        f->users[flow->links[i]]--;
    }
    if (rate == flow->rate)
        return;
    flow->left = flow->slowed ? flow->left - flow->rate * (f->now - flow->since) : flow->most * (flow->end - f->now);
    flow->slowed = true;
    flow->since = f->now;
    flow->rate = rate;
    flow->end = f->now + ticks_round(f->ticks, fmax(0, flow->left) / rate);
}

// No flow has its rate yet. The links that they pass, in touched[]; returns how many.
static int begin(struct flows *f)
{
    int n = 0;
    for (int i = 0; i < f->n; i++) {
        f->open[i] = i;
        for (int k = 0; k < f->flows[i].nlinks; k++) {
            int link = f->flows[i].links[k];
            if (f->users[link]++ == 0) {
                f->touched[n++] = link;
                f->spare[link] = f->capacity[link];
            }
        }
    }
    return n;
}

// What each of a link's flows may have, at most.
static double share_of(const struct flows *f, int link)
{
    const double spare = f->spare[link];
    return f->users[link] > 0 ? (spare > 0 ? spare : 0) / f->users[link] : INFINITY;
}

static bool is_held(const struct flows *f, const struct flow *flow, double level)
{
    for (int i = 0; i < flow->nlinks; i++)
        if (f->share[flow->links[i]] <= level)
            return true;
    return false;
}

// The next level at which a link is full, or a flow wants no more.
static double next_level(struct flows *f, int nlinks, int nopen)
{
    double level = INFINITY;
    for (int i = 0; i < nlinks; i++)
        level = less(level, f->share[f->touched[i]] = share_of(f, f->touched[i]));
    for (int i = 0; i < nopen; i++)
        level = less(level, f->flows[f->open[i]].most);
    return level;
}

// Fill all links evenly up to the next level; returns how many flows are then without a rate.
static int fill(struct flows *f, int nlinks, int nopen)
{
    const double level = next_level(f, nlinks, nopen);
    // A flow that goes takes its share along: those of its links' others stay, but for rounding.
    const double tolerant = level * (1 + 1e-12);
    int n = 0;
    for (int i = 0; i < nopen; i++) {
        struct flow *flow = &f->flows[f->open[i]];
        if (flow->most <= level || is_held(f, flow, tolerant))
            fix(f, flow, less(flow->most, level));
        else
            f->open[n++] = f->open[i];
    }
    return n;
}

static void share(struct flows *f)
{
    const int nlinks = begin(f);
    for (int nopen = f->n; nopen > 0;)
        nopen = fill(f, nlinks, nopen);
    f->next = INFINITY;
    for (int i = 0; i < f->n; i++)
        f->next = less(f->next, f->flows[i].end);
    f->stale = false;
}

// ---- ends ----------------------------------------------------------------------------------------------------

double flows_next(struct flows *f)
{
    if (f->stale)
        share(f);
    return f->next;
}

bool flows_take(struct flows *f, double when, int *tag_p)
{
    for (int i = 0; i < f->n; i++)
        if (f->flows[i].end <= when) {
            *tag_p = f->flows[i].tag;
            f->flows[i] = f->flows[--f->n];
            f->now = when;
            f->stale = true;
            return true;
        }
    return false;
}
