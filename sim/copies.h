// SPDX-License-Identifier: MIT
// Copies of a rank's own memory, as the executor makes them: before messages leave, while the first ones travel, and home
// at the end. For full.c alone, as price.h.
#pragma once

#include "post.h"

// A message is one piece of memory. Lanes lie between the blocks of a span, so that such a span must be packed.
static bool must_pack(const struct full *s, struct clab_span span)
{
    return s->problem->lanes > 1 && span.first % s->slices.chunks + span.count > s->slices.chunks;
}

// `bytes` of the rank's own memory, from `from` on; returns the end.
static double copy_bytes(const struct turn *t, double from, size_t bytes, enum clab_load load)
{
    return bytes ? price_core(t, from, full_cost(t->s, bytes, t->s->level.copy[load]), PART_BANDWIDTH, MODE_ANY) : from;
}

// Where nothing is said of the other ranks, they copy, too.
static double copy_home(const struct turn *t, double from, size_t bytes)
{
    return copy_bytes(t, from, bytes, t->s->problem->nranks > 1 ? CLAB_BOTH : CLAB_ALONE);
}

// Bytes that the executor copies before this step's message leaves.
static size_t bytes_copied(const struct turn *t, const struct clab_step *step)
{
    struct full *s = t->s;
    if (step->op == CLAB_COPY || (step->op == CLAB_SEND && must_pack(s, step->src)))
        return span_bytes(s, t->lane, step->src);
    if (step->op == CLAB_SEND && !s->places.in_place && places_is_fresh(&s->places, t->rank, t->lane, step->src))
        return places_bring(&s->places, &s->slices, t->rank, t->lane, step->src);
    return 0;
}

static void copy(const struct turn *t, const struct clab_step *step)
{
    t->l->clock = copy_bytes(t, t->l->clock, bytes_copied(t, step), t->s->load);
    if (step->op == CLAB_COPY)
        places_write(&t->s->places, t->rank, t->lane, step->dst);
}

// What is copied while the first messages travel.
static void copy_aside(const struct turn *t)
{
    struct full *s = t->s;
    if (!s->aside)
        return;
    if (s->recorder)
        recorder_from_clock(t);
    double end = copy_home(t, t->l->clock, s->aside[(size_t)t->rank * (size_t)s->problem->lanes + (size_t)t->lane]);
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
            bytes += places_bring(&s->places, &s->slices, rank, lane,
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
                places_write(&s->places, rank, lane, step->dst);
            else if (places_is_fresh(&s->places, rank, lane, step->src))
                places_bring(&s->places, &s->slices, rank, lane, step->src);
        }
    size_t bytes = bring_wanted(s, rank, lane);
    places_reset_lane(&s->places, rank, lane);
    return bytes;
}

// What a call in place before the first one that is simulated has written.
static void write_before(struct full *s, int rank, int lane)
{
    int n;
    for (int stage = 0; (n = s->algorithm->stage(s->problem, rank, lane, stage, s->steps)) != CLAB_DONE; stage++)
        for (int i = 0; i < n; i++)
            if (s->steps[i].op != CLAB_SEND)
                places_write(&s->places, rank, lane, s->steps[i].dst);
}

// Before the first call.
static void prepare_copies(struct full *s, int rank, int lane)
{
    if (s->aside)
        s->aside[rank * s->problem->lanes + lane] = price_aside(s, rank, lane);
    else if (s->has_places && s->busy)
        write_before(s, rank, lane);
}

// What is copied home at the end of a lane, in place.
static void price_finish(const struct turn *t)
{
    size_t bytes = t->s->places.in_place ? bring_wanted(t->s, t->rank, t->lane) : 0;
    if (t->s->recorder)
        recorder_from_clock(t);
    if (t->l->stage == 0 && t->s->aside) { // there was no stage
        copy_aside(t);
        t->l->clock = later(t->l->clock, t->l->end);
    }
    t->l->clock = copy_home(t, t->l->clock, bytes);
    if (t->s->recorder)
        recorder_clock(t);
}
