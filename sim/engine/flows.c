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
    return f->capacity && f->spare && f->users && f->touched ? CLAB_OK : CLAB_ENOMEM;
}

void flows_free(struct flows *f)
{
    free(f->flows);
    free(f->capacity);
    free(f->spare);
    free(f->users);
    free(f->touched);
    *f = (struct flows){0};
}

int flows_add(struct flows *f, double now, double end, double most, const int *links, int nlinks, int tag)
{
    CLAB_TRY(CLAB_RESERVE(f->flows, f->room, f->n + 1));
    struct flow *flow = &f->flows[f->n++];
    *flow = (struct flow){.rate = most, .most = most, .end = end, .nlinks = nlinks, .tag = tag};
    for (int i = 0; i < nlinks; i++)
        flow->links[i] = links[i];
    f->now = now;
    f->stale = true;
    return CLAB_OK;
}

// ---- rates ---------------------------------------------------------------------------------------------------

static void fix(struct flows *f, struct flow *flow, double rate)
{
    for (int i = 0; i < flow->nlinks; i++) {
        f->spare[flow->links[i]] -= rate;
        f->users[flow->links[i]]--;
    }
    flow->fixed = true;
    if (rate == flow->rate)
        return;
    flow->left = flow->slowed ? flow->left - flow->rate * (f->now - flow->since) : flow->most * (flow->end - f->now);
    flow->slowed = true;
    flow->since = f->now;
    flow->rate = rate;
    flow->end = f->now + ticks_round(f->ticks, fmax(0, flow->left) / rate);
}

// The links that flows pass, in touched[]; returns how many.
static int count_users(struct flows *f)
{
    int n = 0;
    for (int i = 0; i < f->n; i++) {
        f->flows[i].fixed = false;
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
    return f->users[link] > 0 ? fmax(0, f->spare[link]) / f->users[link] : INFINITY;
}

static bool is_held(const struct flows *f, const struct flow *flow, double level)
{
    for (int i = 0; i < flow->nlinks; i++)
        if (share_of(f, flow->links[i]) <= level)
            return true;
    return false;
}

// Fill all links evenly up to the next level at which a link is full, or flows want no more; returns how many flows
// that leaves.
static int fill(struct flows *f, int nlinks, int left)
{
    double level = INFINITY, wanted = INFINITY;
    for (int i = 0; i < nlinks; i++)
        level = fmin(level, share_of(f, f->touched[i]));
    for (int i = 0; i < f->n; i++)
        if (!f->flows[i].fixed)
            wanted = fmin(wanted, f->flows[i].most);
    level = fmin(level, wanted);
    // A flow that goes takes its share along: those of its links' others stay, but for rounding.
    double tolerant = level * (1 + 1e-12);
    for (int i = 0; i < f->n; i++) {
        struct flow *flow = &f->flows[i];
        if (!flow->fixed && (flow->most <= level || is_held(f, flow, tolerant))) {
            fix(f, flow, fmin(flow->most, level));
            left--;
        }
    }
    return left;
}

static void share(struct flows *f)
{
    int nlinks = count_users(f);
    for (int left = f->n; left > 0;)
        left = fill(f, nlinks, left);
    f->next = INFINITY;
    for (int i = 0; i < f->n; i++)
        f->next = fmin(f->next, f->flows[i].end);
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
