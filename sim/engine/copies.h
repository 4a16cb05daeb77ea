// SPDX-License-Identifier: MIT
// Copies of a rank's own memory, as the executor makes them: before messages leave, while the first ones travel, and
// home at the end. For full.c alone, as price.h.
#pragma once

#include "sim/engine/delivery.h"

// A message is one piece of memory. Lanes lie between the blocks of a span, so that such a span must be packed.
static bool must_pack(const struct full *s, struct clab_span span)
{
    return s->problem->lanes > 1 && span.first % s->slices.chunks + span.count > s->slices.chunks;
}

// ---- lines that a peer has ------------------------------------------------------------------------------------

// What a written byte costs more where a peer may have its line, in s.
struct taking {
    double pull, summed; // what is written by a pull or a copy; by those of sums
    double reduce, add;  // by a reduction; by one that adds to it
};

// `since`: bytes that the peer has touched since it read what is written now, on average over it. The probes of fresh
// data write what was read half of their level ago. What has left the cache that ranks share is in no other.
static struct taking taking_back(struct full *s, double since, enum clab_load load)
{
    const struct clab_level *l = &s->fresh;
    const size_t footprint = since > 1 ? (size_t)(2 * since) : 1;
    if (s->net->shared_cache > 0 && footprint >= s->net->shared_cache)
        return (struct taking){0};
    if (s->fresh_footprint != footprint) {
        s->fresh = clab_net_level(s->net, footprint);
        s->fresh_footprint = footprint;
    }
    return (struct taking){later(0, l->pull[CLAB_FRESH][load] - l->pull[CLAB_KEPT][load]),
                           later(0, l->pull_summed[load] - l->pull[CLAB_KEPT][load]),
                           later(0, l->reduce[CLAB_FRESH][load] - l->reduce[CLAB_KEPT][load]),
                           later(0, l->add_fresh[load] - l->add[load])};
}

// Of `bytes` that are written to the place of `dst`, while the peer touches `meanwhile` others.
static struct taking taking_of(const struct turn *t, struct clab_span dst, size_t bytes, enum clab_load load,
                               double meanwhile)
{
    const double since = cache_state_since(&t->s->cache, t->rank, t->lane, dst, false);
    if (since < 0)
        return (struct taking){0};
    // It read the first byte when all others were to come.
    return taking_back(t->s, since + (double)bytes + meanwhile / 2, load);
}

// What both ranks have read is shared, and stays so even where it has left their own caches. Between near cores of a
// virtual machine (AMD EPYC), 2026-11-22, by a program of copies and sums in steps: such a byte cost 75 to 108 ps to
// write instead of 21, up to the size of the shared cache. These say where between such bounds:
#define CERTAIN_PART   0.25 // of a core's own cache: so much is in it for certain
#define TOUCHED_TIMES  5    // its own bytes: what is touched until it is copied home
#define NONE_LEFT_PART 1.5  // of the shared cache: when so much is touched nothing is left there, of half of it all
static struct taking taking_shared(struct full *s, size_t bytes, enum clab_load load)
{
    const double n = (double)bytes, own = (double)s->net->core_cache, near = own > 0 ? CERTAIN_PART * own : n;
    const double cache = (double)s->net->shared_cache;
    const double left = cache > 0 ? NONE_LEFT_PART - TOUCHED_TIMES * n / cache : 1;
    const double held = left > 1 ? 1 : later(0, left);
    struct taking taking = taking_back(s, n < near ? n : near, load);
    return (struct taking){held * taking.pull, held * taking.summed, held * taking.reduce, held * taking.add};
}

// The message of `step` is read where it lies by who gets it, if it is pulled.
static void lend(struct full *s, int rank, int lane, const struct clab_step *step, enum clab_load load)
{
    const double touched = 2 * (double)span_bytes(s, lane, step->src);
    if (load == CLAB_ALONE)
        cache_state_touch(&s->cache, rank, touched);
    if (clab_link_segment(full_link(s, rank, step->peer), span_bytes(s, lane, step->src))->memory)
        cache_state_lend(&s->cache, rank, lane, step->src, load == CLAB_ALONE ? 0 : touched);
}

// Whether a receive's place is being read by a send of its stage.
static bool is_sent_too(const struct full *s, struct clab_span dst, int nsteps)
{
    for (int i = 0; i < nsteps; i++) {
        struct clab_span src = s->steps[i].src;
        if (s->steps[i].op == CLAB_SEND && src.buffer == dst.buffer && src.first < dst.first + dst.count &&
            dst.first < src.first + src.count)
            return true;
    }
    return false;
}

// Of `bytes` that are written to where `dst` is received, while the peer touches `meanwhile` others. What lands beside
// is copied home, to what both have read.
FULL_INLINE struct taking taking_at(const struct turn *t, struct clab_span dst, size_t bytes, double meanwhile)
{
    struct full *s = t->s;
    if (!s->cache.in_place || dst.buffer != CLAB_DATA || !is_sent_too(s, dst, s->nsteps))
        return taking_of(t, dst, bytes, s->load, meanwhile);
    if (cache_state_since(&s->cache, t->rank, t->lane, dst, true) < 0)
        return (struct taking){0};
    return taking_shared(s, bytes, s->load);
}

// What has landed lies in the place of `dst`, or beside it.
static void settle(struct full *s, int rank, int lane, const struct clab_step *step, int nsteps)
{
    const struct clab_span dst = step->dst;
    if (s->cache.in_place && dst.buffer == CLAB_DATA && is_sent_too(s, dst, nsteps))
        cache_state_swap(&s->cache, rank, lane, dst);
    cache_state_write(&s->cache, rank, lane, dst, step->op == CLAB_RECV_REDUCE);
}

// ---- copies ---------------------------------------------------------------------------------------------------

// `bytes` of the rank's own memory, from `from` on, each for `more` than a copy takes; returns the end.
static double copy_bytes(const struct turn *t, double from, size_t bytes, enum clab_load load, double more)
{
    if (!bytes)
        return from;
    return price_core(t, from, full_cost(t->s, bytes, t->s->level.copy[load] + more), PART_BANDWIDTH, MODE_ANY);
}

// Where nothing is said of the other ranks, they copy, too.
static enum clab_load load_at_home(const struct full *s)
{
    return s->problem->nranks > 1 ? CLAB_BOTH : CLAB_ALONE;
}

// Bytes that the executor copies before this step's message leaves.
static size_t bytes_copied(const struct turn *t, const struct clab_step *step)
{
    struct full *s = t->s;
    if (step->op == CLAB_COPY || (step->op == CLAB_SEND && must_pack(s, step->src)))
        return span_bytes(s, t->lane, step->src);
    // Of one chunk, nothing is missing where it has been written.
    if (step->op == CLAB_SEND && !s->cache.in_place && step->src.count > 1 &&
        cache_state_is_fresh(&s->cache, t->rank, t->lane, step->src))
        return cache_state_bring(&s->cache, &s->slices, t->rank, t->lane, step->src);
    return 0;
}

// What `step` copies before messages leave.
static void copy(const struct turn *t, const struct clab_step *step)
{
    struct full *s = t->s;
    const size_t bytes = bytes_copied(t, step);
    if (bytes) {
        const bool together = s->load == CLAB_BOTH || s->sends + s->receives == 0;
        const double touched = together ? 2 * (double)bytes : 0;
        const double more = step->op == CLAB_COPY ? taking_of(t, step->dst, bytes, s->load, touched).pull : 0;
        cache_state_touch(&s->cache, t->rank, touched);
        t->l->clock = copy_bytes(t, t->l->clock, bytes, s->load, more);
    }
    if (step->op == CLAB_COPY)
        cache_state_write(&s->cache, t->rank, t->lane, step->dst, false);
}

// What is copied while the first messages travel.
static void copy_aside(const struct turn *t)
{
    struct full *s = t->s;
    if (!s->aside)
        return;
    if (s->recorder)
        recorder_from_clock(t);
    const size_t bytes = s->aside[(size_t)t->rank * (size_t)s->problem->lanes + (size_t)t->lane];
    double end = copy_bytes(t, t->l->clock, bytes, load_at_home(s), 0);
    if (s->recorder)
        recorder_end(t, end, s->recorder->at);
    t->l->end = later(t->l->end, end);
}

// ---- at the end of a lane --------------------------------------------------------------------------------------

// All blocks that `rank` wants, as far as they are not home.
static size_t bring_wanted(struct full *s, int rank, int lane)
{
    size_t bytes = 0;
    for (int b = 0; b < clab_problem_blocks(s->problem); b++)
        if (clab_problem_wants(s->problem, rank, b))
            bytes += cache_state_bring(&s->cache, &s->slices, rank, lane,
                                       (struct clab_span){CLAB_DATA, b * s->slices.chunks, s->slices.chunks});
    return bytes;
}

// Bytes of `lane` that no stage brings to `out`: the executor copies them aside. Walks all stages, before the first
// call.
static size_t price_aside(struct full *s, int rank, int lane)
{
    int n;
    for (int stage = 0; (n = s->algorithm->stage(s->problem, rank, lane, stage, s->steps)) != CLAB_DONE; stage++)
        for (int i = 0; i < n; i++) {
            const struct clab_step *step = &s->steps[i];
            if (step->op != CLAB_SEND)
                cache_state_write(&s->cache, rank, lane, step->dst, false);
            else if (cache_state_is_fresh(&s->cache, rank, lane, step->src))
                cache_state_bring(&s->cache, &s->slices, rank, lane, step->src);
        }
    size_t bytes = bring_wanted(s, rank, lane);
    cache_state_reset_lane(&s->cache, rank, lane);
    return bytes;
}

// Ranks with one representative (schedule.h) copy the same, where their chunks are equal; the first of them has been seen before.
static size_t find_aside(struct full *s, int rank, int lane)
{
    const bool alike = s->algorithm->representative && s->slices.extra[lane] == 0;
    const int first = alike ? s->algorithm->representative(s->problem, 1, rank, rank) : rank;
    return first < rank ? s->aside[first * s->problem->lanes + lane] : price_aside(s, rank, lane);
}

// A stage of a call that is not simulated: what it lends, and writes.
static void pass_stage(struct full *s, int rank, int lane, int nsteps)
{
    bool sends = false, receives = false;
    for (int i = 0; i < nsteps; i++) {
        sends |= s->steps[i].op == CLAB_SEND;
        receives |= s->steps[i].op < CLAB_COPY && s->steps[i].op != CLAB_SEND;
    }
    for (int i = 0; i < nsteps; i++)
        if (s->steps[i].op == CLAB_SEND)
            lend(s, rank, lane, &s->steps[i], sends && receives ? CLAB_BOTH : CLAB_ALONE);
    for (int i = 0; i < nsteps; i++)
        if (s->steps[i].op != CLAB_SEND) {
            if (sends && receives)
                cache_state_touch(&s->cache, rank, 2 * (double)span_bytes(s, lane, s->steps[i].dst));
            settle(s, rank, lane, &s->steps[i], nsteps);
        }
}

// What a call before the first one that is simulated has done.
static void pass_call(struct full *s, int rank, int lane)
{
    int n;
    for (int stage = 0; (n = s->algorithm->stage(s->problem, rank, lane, stage, s->steps)) != CLAB_DONE; stage++)
        pass_stage(s, rank, lane, n);
    if (s->cache.in_place)
        bring_wanted(s, rank, lane);
}

// Before the first call.
static void prepare_copies(struct full *s, int rank, int lane)
{
    if (s->aside)
        s->aside[rank * s->problem->lanes + lane] = find_aside(s, rank, lane);
    if (s->has_levels && s->busy)
        pass_call(s, rank, lane);
}

// What is copied home at the end of a lane, in place.
static void price_finish(const struct turn *t)
{
    size_t bytes = t->s->cache.in_place ? bring_wanted(t->s, t->rank, t->lane) : 0;
    if (t->s->recorder)
        recorder_from_clock(t);
    if (t->l->stage == 0 && t->s->aside) { // there was no stage
        copy_aside(t);
        t->l->clock = later(t->l->clock, t->l->end);
    }
    const double more = bytes ? taking_shared(t->s, bytes, load_at_home(t->s)).summed : 0; // what lies beside are sums
    if (bytes)
        cache_state_touch(&t->s->cache, t->rank, 2 * (double)bytes);
    t->l->clock = copy_bytes(t, t->l->clock, bytes, load_at_home(t->s), more);
    if (t->s->recorder)
        recorder_clock(t);
}
