// SPDX-License-Identifier: MIT
// Part of full.c: the cost of copies within a rank's own memory, before messages leave, while the first ones travel,
// after them, and at the end. core/program/layout.h decides which copies the executor's program makes.
#pragma once

#include "sim/engine/delivery.h"

// ---- lines in a peer's cache ----------------------------------------------------------------------------------

// The extra cost of a written byte whose cache line a peer may hold, in s.
struct taking {
    double pull;        // written by a pull or copy
    double reduce, add; // written by a reduction to a third buffer; by one that adds in place
};

// What a byte takes more than in this call if it costs `fresh`, and `kept` with lines that no peer has. Whoever takes a
// line back does not also fetch it from memory: where this call's memory makes kept data dearer, less is left.
static double more_than(double fresh, double kept, double here)
{
    return later(0, fresh - later(kept, here));
}

// `since`: bytes that the peer has touched since it read the data that is overwritten now, on average. (The probes of
// fresh data overwrite data after the peer has touched half of their level.)
static struct taking taking_back(struct full *s, double since, enum clab_load load)
{
    const struct clab_level *l = &s->fresh, *here = &s->level;
    const double most = (double)s->net->levels[s->net->nlevels - 1].bytes; // beyond which nothing changes
    const size_t footprint = since <= 1 ? 1 : 2 * since < most ? (size_t)(2 * since) : (size_t)most;
    if (s->fresh_footprint != footprint) {
        s->fresh = clab_net_level(s->net, footprint);
        s->fresh_footprint = footprint;
    }
    return (struct taking){
        more_than(l->pull[CLAB_FRESH][load], l->pull[CLAB_KEPT][load], here->pull[CLAB_KEPT][load]),
        s->bypasses ? 0
                    : more_than(l->reduce[CLAB_FRESH][load], l->reduce[CLAB_KEPT][load], here->reduce[CLAB_KEPT][load]),
        more_than(l->add_fresh[load], l->add[load], here->add[load]),
    };
}

// The extra cost of writing `bytes` to `dst` in `region`, while the peer touches `meanwhile` other bytes, and `load` says
// whether it takes lines back as well.
static struct taking taking_of(const struct turn *t, struct clab_span dst, enum clab_region region, size_t bytes,
                               double meanwhile, enum clab_load load)
{
    struct full *s = t->s;
    const double since = cache_state_since(&s->cache, &s->layout, dst, region);
    if (since < 0)
        return (struct taking){0};
    // The peer read the first byte before it touched the `bytes` after it; half of `meanwhile` is the average.
    return taking_back(s, since + (double)bytes + meanwhile / 2, load);
}

// The load at a call's begin and end: the other ranks are assumed to copy, too.
static enum clab_load load_at_home(const struct full *s)
{
    return s->problem->nranks > 1 ? CLAB_BOTH : CLAB_ALONE;
}

// The extra cost of writing data that both ranks have read. Its lines are in the shared state, even after both cores
// have evicted them.
static double taking_shared(const struct full *s, enum clab_load load)
{
    return later(0, s->level.copy_shared[load] - s->level.copy[load]);
}

// Record that the receiver reads the message of `step` from this rank's memory, if it pulls.
static void lend(struct full *s, const struct clab_step *step, enum clab_load load)
{
    const int rank = s->layout.rank, lane = s->layout.lane;
    const double touched = 2 * (double)span_bytes(s, lane, step->src);
    if (load == CLAB_ALONE)
        cache_state_touch(&s->cache, rank, touched);
    if (clab_link_segment(full_link(s, rank, step->peer), span_bytes(s, lane, step->src))->memory)
        cache_state_lend(&s->cache, &s->layout, step->src, load == CLAB_ALONE ? 0 : touched);
}

// The extra cost of receiving `bytes` from `peer` into `dst` in `region`, while the peer touches `meanwhile` other bytes.
// A chunk that alternates overwrites data that both ranks have read.
FULL_INLINE struct taking taking_at(const struct turn *t, int peer, struct clab_span dst, enum clab_region region,
                                    size_t bytes, double meanwhile)
{
    struct full *s = t->s;
    const struct layout *l = &s->layout;
    const enum clab_region now = layout_chunks(l, dst)->region;
    const bool takes = cache_state_since(&s->cache, l, dst, region) >= 0;
    s->cache.takes[t->rank].now |= takes && s->load == CLAB_BOTH;
    if (now == CLAB_IN || (now == CLAB_ALT) == (region == CLAB_ALT))
        return taking_of(t, dst, region, bytes, meanwhile, s->cache.takes[peer].spared ? CLAB_ALONE : s->load);
    if (!takes)
        return (struct taking){0};
    const double taken = taking_shared(s, load_at_home(s));
    return (struct taking){taken, taken, taken};
}

// A copy or a sum has landed in `dst`, in `region`.
static void settle(struct full *s, struct clab_span dst, enum clab_region region)
{
    cache_state_write(&s->cache, &s->layout, dst, region);
    layout_settle(&s->layout, dst, region);
}

// ---- copies ---------------------------------------------------------------------------------------------------

// Copy `bytes` within the rank's own memory from the time `from` on, at `more` seconds per byte than a plain copy;
// returns the end.
static double copy_bytes(const struct turn *t, double from, size_t bytes, enum clab_load load, double more)
{
    if (!bytes)
        return from;
    return price_core(t, from, full_cost(t->s, bytes, t->s->level.copy[load] + more), PART_BANDWIDTH, MODE_ANY);
}

// Copy `bytes` before messages leave, at `more` seconds per byte than a plain copy; peers touch `touched` meanwhile.
static void copy_before(const struct turn *t, size_t bytes, double touched, double more)
{
    cache_state_touch(&t->s->cache, t->rank, touched);
    t->l->clock = copy_bytes(t, t->l->clock, bytes, t->s->load, more);
}

// The bytes that peers touch while a rank copies `bytes` before its messages leave.
static double touched_beside(const struct full *s, size_t bytes)
{
    return s->load == CLAB_BOTH ? 2 * (double)bytes : 0;
}

// Move the chunks that `next` (layout.h) finds to their home; returns their bytes.
static size_t bring_home(struct full *s, int (*next)(const struct layout *, int))
{
    const struct layout *l = &s->layout;
    size_t bytes = 0;
    for (int c = next(l, 0); c >= 0; c = next(l, c + 1)) {
        const struct clab_span chunk = {CLAB_DATA, c, 1};
        settle(s, chunk, layout_home(l, chunk));
        bytes += slices_bytes(&s->slices, l->lane, c, 1);
    }
    return bytes;
}

// A COMBINE of `bytes`: what a copy costs, and as much more as a sum costs more than a pull.
static void combine(const struct turn *t, const struct clab_step *step, size_t bytes)
{
    struct full *s = t->s;
    const struct clab_level *level = &s->level;
    const enum clab_region region = layout_choose(&s->layout, step->dst);
    const bool in_place = layout_chunks(&s->layout, step->dst)->region == region;
    const double touched = touched_beside(s, bytes);
    const double sum = in_place ? level->add[s->load] : level->reduce[CLAB_KEPT][s->load];
    const double more = later(0, sum - level->pull[CLAB_KEPT][s->load]);
    const struct taking taking = taking_of(t, step->dst, region, bytes, touched, s->load);
    copy_before(t, bytes, touched, 0);
    t->l->clock = price_core(t, t->l->clock, full_cost(s, bytes, more + (in_place ? taking.add : taking.reduce)),
                             PART_REDUCE, MODE_ANY);
    settle(s, step->dst, region);
}

// The copy that `step` makes before messages leave: a COPY or COMBINE, or the packing of a send.
static void copy(const struct turn *t, const struct clab_step *step)
{
    struct full *s = t->s;
    if (step->op == CLAB_CALC || (step->op == CLAB_SEND && !layout_packs(&s->layout, step->src)))
        return;
    const size_t bytes = span_bytes(s, t->lane, step->src);
    const double touched = touched_beside(s, bytes);
    if (step->op == CLAB_COMBINE) {
        combine(t, step, bytes);
    } else if (step->op == CLAB_SEND) {
        copy_before(t, bytes, touched, 0);
    } else {
        const enum clab_region region = layout_choose(&s->layout, step->dst);
        copy_before(t, bytes, touched, taking_of(t, step->dst, region, bytes, touched, s->load).pull);
        settle(s, step->dst, region);
    }
}

// The copies of the stage at hand, before its messages leave. In a stage without messages all ranks copy.
static void copy_all(const struct turn *t)
{
    struct full *s = t->s;
    if (s->sends + s->receives == 0)
        s->load = load_at_home(s);
    if (t->l->stage == 0 && s->layout.walk.moves_early) {
        const size_t bytes = bring_home(s, layout_next_early);
        copy_before(t, bytes, touched_beside(s, bytes), 0);
    }
    layout_begin_stage(&s->layout, s->steps, s->nsteps);
    for (int i = 0; i < s->nsteps; i++)
        if (!is_receive(&s->steps[i]))
            copy(t, &s->steps[i]);
}

// What is copied while the first messages travel.
static void copy_aside(const struct turn *t)
{
    struct full *s = t->s;
    if (!s->has_levels || s->layout.in_place)
        return;
    if (s->recorder)
        recorder_from_clock(t);
    const size_t bytes = full_copies(s, t->rank, t->lane)->aside;
    double end = copy_bytes(t, t->l->clock, bytes, load_at_home(s), 0);
    if (s->recorder)
        recorder_end(t, end, s->recorder->at);
    t->l->end = later(t->l->end, end);
}

// ---- before the first call, and at the end of a lane -----------------------------------------------------------

// A stage of a call that is not simulated: what it lends, and writes.
static void pass_stage(struct full *s, int rank, int lane, int nsteps)
{
    const struct layout *l = full_layout(s, rank, lane);
    bool sends = false, receives = false;
    for (int i = 0; i < nsteps; i++) {
        sends |= s->steps[i].op == CLAB_SEND;
        receives |= s->steps[i].op < CLAB_COPY && s->steps[i].op != CLAB_SEND;
    }
    layout_begin_stage(l, s->steps, nsteps);
    for (int i = 0; i < nsteps; i++)
        if (s->steps[i].op == CLAB_SEND)
            lend(s, &s->steps[i], sends && receives ? CLAB_BOTH : CLAB_ALONE);
    for (int i = 0; i < nsteps; i++)
        if (s->steps[i].op != CLAB_SEND) {
            const struct clab_span dst = s->steps[i].dst;
            if (sends && receives)
                cache_state_touch(&s->cache, rank, 2 * (double)span_bytes(s, lane, dst));
            settle(s, dst, layout_choose(l, dst));
        }
    layout_end_stage(l, s->steps, nsteps);
}

// What a call before the first one that is simulated has done.
static void pass_call(struct full *s, int rank, int lane)
{
    struct layout *l = full_layout(s, rank, lane);
    int n;
    layout_begin(l);
    bring_home(s, layout_next_early);
    for (int stage = 0; (n = s->algorithm->stage(s->problem, rank, lane, stage, s->steps)) != CLAB_DONE; stage++)
        pass_stage(s, rank, lane, n);
    bring_home(s, layout_next_away);
}

// A call of the rank begins.
static void begin_copies(struct full *s, int rank, bool is_first)
{
    if (s->has_levels && !is_first)
        cache_state_next_call(&s->cache, rank);
    for (int lane = 0; s->has_levels && lane < s->problem->lanes; lane++) {
        if (is_first && s->busy)
            pass_call(s, rank, lane);
        layout_begin(full_layout(s, rank, lane));
    }
}

// Bytes of chunks that lie at their other place, and whose home a peer has read: what is copied there goes to what both
// ranks have read.
static size_t bytes_alternated(const struct full *s)
{
    const struct layout *l = &s->layout;
    size_t bytes = 0;
    for (int c = layout_next_away(l, 0); c >= 0; c = layout_next_away(l, c + 1)) {
        const struct clab_span chunk = {CLAB_DATA, c, 1};
        if (l->chunks[c].region == CLAB_ALT && cache_state_since(&s->cache, l, chunk, layout_home(l, chunk)) >= 0)
            bytes += slices_bytes(&s->slices, l->lane, c, 1);
    }
    return bytes;
}

// What is copied to `out` at the end of a lane.
static void price_finish(const struct turn *t)
{
    struct full *s = t->s;
    const size_t shared = s->has_levels && s->layout.walk.alternates ? bytes_alternated(s) : 0;
    const size_t bytes = s->has_levels ? bring_home(s, layout_next_away) : 0;
    if (s->recorder)
        recorder_from_clock(t);
    if (t->l->stage == 0) { // there was no stage
        copy_aside(t);
        t->l->clock = later(t->l->clock, t->l->end);
    }
    if (bytes)
        cache_state_touch(&s->cache, t->rank, 2 * (double)bytes);
    t->l->clock = copy_bytes(t, t->l->clock, shared, load_at_home(s), taking_shared(s, load_at_home(s)));
    t->l->clock = copy_bytes(t, t->l->clock, bytes - shared, load_at_home(s), 0);
    if (s->recorder)
        recorder_clock(t);
}
