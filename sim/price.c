// SPDX-License-Identifier: MIT
// What the dataflow engine charges: sends, landings, local copies, each on the port or core that is busy with it.

#include "full.h"

static double later(double a, double b)
{
    return a > b ? a : b;
}

// Count [from, to] as time of `part`, but for what was counted already: adapters and core work at the same time.
static void spend(struct rank_state *rank, enum part part, double from, double to)
{
    double begin = later(from, rank->seen);
    if (to > begin) {
        rank->spent[part] += to - begin;
        rank->seen = to;
    }
}

double price_core(struct rank_state *rank, double from, double seconds, enum part part)
{
    double begin = later(from, rank->core);
    rank->core = begin + seconds;
    spend(rank, part, begin, rank->core);
    return rank->core;
}

static double *port_of(const struct full *s, const struct clab_link *link, double *core, double ports[2])
{
    return link->port == CLAB_PORT_CORE ? core : &ports[link == &s->net->inter];
}

static size_t span_bytes(const struct full *s, int lane, struct clab_span span)
{
    return slices_bytes(&s->slices, lane, span.first, span.count);
}

// A message is one piece of memory. Lanes lie between the blocks of a span, so that such a span must be packed.
static bool must_pack(const struct full *s, struct clab_span span)
{
    return s->problem->lanes > 1 && span.first % s->slices.chunks + span.count > s->slices.chunks;
}

// `bytes` of the rank's own memory, from `from` on; returns the end.
static double copy_bytes(struct full *s, int rank, double from, size_t bytes, enum clab_load load)
{
    return bytes ? price_core(&s->ranks[rank], from, (double)bytes * s->level.copy[load], PART_BANDWIDTH) : from;
}

// Where nothing is said of the other ranks, they copy, too.
static double copy_home(struct full *s, int rank, double from, size_t bytes)
{
    return copy_bytes(s, rank, from, bytes, s->problem->nranks > 1 ? CLAB_BOTH : CLAB_ALONE);
}

// Bytes that the executor copies before this step's message leaves.
static size_t bytes_copied(struct full *s, int rank, int lane, const struct clab_step *step)
{
    if (step->op == CLAB_COPY || (step->op == CLAB_SEND && must_pack(s, step->src)))
        return span_bytes(s, lane, step->src);
    if (step->op == CLAB_SEND && !s->places.in_place && places_is_fresh(&s->places, rank, lane, step->src))
        return places_bring(&s->places, &s->slices, rank, lane, step->src);
    return 0;
}

static void copy(struct full *s, int rank, int lane, const struct clab_step *step)
{
    struct lane_state *l = full_lane(s, rank, lane);
    l->clock = copy_bytes(s, rank, l->clock, bytes_copied(s, rank, lane, step), s->load);
    if (step->op == CLAB_COPY)
        places_write(&s->places, rank, lane, step->dst);
}

// ---- sending -------------------------------------------------------------------------------------------------

static void send(struct full *s, int rank, int lane, const struct clab_step *step)
{
    struct rank_state *r = &s->ranks[rank];
    struct lane_state *l = full_lane(s, rank, lane);
    size_t bytes = span_bytes(s, lane, step->src);
    const struct clab_link *link = clab_net_link(s->net, rank, step->peer);
    const struct clab_segment *segment = clab_link_segment(link, bytes);
    double *port = port_of(s, link, &r->core, r->tx), begin = later(l->clock, *port);
    double first = (double)(bytes < segment->fragment ? bytes : segment->fragment);
    double posted = begin + segment->o_send;
    *port = posted + (double)bytes * segment->gap_send;
    spend(r, PART_LATENCY, begin, posted);
    spend(r, PART_BANDWIDTH, posted, *port);
    l->end = later(l->end, *port);
    l->acks += segment->waits;
    struct message message = {
        .head = posted + first * segment->gap_send + segment->latency,
        .src = rank,
        .dst = step->peer,
        .lane = (uint16_t)lane,
        .fresh = s->has_places && places_is_fresh(&s->places, rank, lane, step->src),
    };
    s->err = inflight_post(&s->inflight, message);
    s->messages++;
    struct lane_state *to = full_lane(s, step->peer, lane);
    if (to->phase == PHASE_COLLECTS && to->awaited == rank) {
        to->awaited = -1; // once is enough
        full_wake(s, step->peer, lane);
    }
}

// Whether the stage at hand has no message. (What a stage takes beside its messages is part of theirs.)
static bool is_silent(const struct full *s)
{
    for (int i = 0; i < s->nsteps; i++)
        if (s->steps[i].op != CLAB_COPY)
            return false;
    return true;
}

// What is copied while the first messages travel.
static void copy_aside(struct full *s, int rank, int lane)
{
    struct lane_state *l = full_lane(s, rank, lane);
    if (s->aside)
        l->end = later(l->end, copy_home(s, rank, l->clock, s->aside[l - s->lanes]));
}

void price_entry(struct full *s, int rank, int lane)
{
    struct lane_state *l = full_lane(s, rank, lane);
    if (s->net->stage > 0 && is_silent(s))
        l->clock = price_core(&s->ranks[rank], l->clock, s->net->stage, PART_LATENCY);
    for (int i = 0; i < s->nsteps && s->has_places; i++)
        copy(s, rank, lane, &s->steps[i]);
    l->end = l->clock;
    for (int i = 0; i < s->nsteps && !s->err; i++)
        if (s->steps[i].op == CLAB_SEND)
            send(s, rank, lane, &s->steps[i]);
    if (l->stage == 0)
        copy_aside(s, rank, lane);
}

// ---- receiving -----------------------------------------------------------------------------------------------

// What a received byte costs the core that takes it, and a reduced byte more than that.
struct rates {
    double pull, reduce;
};

// Fresh data lies where its writer's caches left it. That depends on the message that was written, not on all that is
// touched, so it is looked up by the message.
static struct rates rates_of(struct full *s, size_t bytes, bool fresh, bool adds)
{
    const struct clab_level *kept = &s->level;
    struct rates r = {kept->pull[CLAB_KEPT][s->load], adds ? kept->add[s->load] : kept->reduce[CLAB_KEPT][s->load]};
    size_t footprint = bytes * (s->load == CLAB_BOTH ? 4 : 2); // what is read and what is written, one way or both
    if (fresh && s->fresh_footprint != footprint) {
        s->fresh = clab_net_level(s->net, footprint);
        s->fresh_footprint = footprint;
    }
    if (fresh) { // but it must be written somewhere, which is no cheaper
        r.pull = later(r.pull, s->fresh.pull[CLAB_FRESH][s->load]);
        r.reduce = later(r.reduce, s->fresh.reduce[CLAB_FRESH][s->load]);
    }
    r.reduce = later(0, r.reduce - r.pull);
    return r;
}

// Whether a receive's place is being read by a send of its stage.
static bool is_sent_too(const struct full *s, struct clab_span dst)
{
    for (int i = 0; i < s->nsteps; i++) {
        struct clab_span src = s->steps[i].src;
        if (s->steps[i].op == CLAB_SEND && src.buffer == dst.buffer && src.first < dst.first + dst.count &&
            dst.first < src.first + src.count)
            return true;
    }
    return false;
}

// Whether a receive-reduce adds to what lies in its place, rather than writing the sum of two others to a third.
static bool adds(const struct full *s, int rank, int lane, struct clab_span dst)
{
    if (!s->has_places || dst.buffer != CLAB_DATA)
        return s->has_places;
    return s->places.in_place ? !is_sent_too(s, dst) : places_is_fresh(&s->places, rank, lane, dst);
}

// What has landed lies in the place of `dst`, or beside it.
static void settle(struct full *s, int rank, int lane, struct clab_span dst)
{
    if (s->places.in_place && dst.buffer == CLAB_DATA && is_sent_too(s, dst))
        places_swap(&s->places, rank, lane, dst);
    places_write(&s->places, rank, lane, dst);
}

static void acknowledge(struct full *s, int src, int lane, double when)
{
    struct lane_state *l = full_lane(s, src, lane);
    l->end = later(l->end, when);
    if (--l->acks == 0 && l->phase == PHASE_ACKS) {
        l->when = l->end;
        full_wake(s, src, lane);
    }
}

double price_landing(struct full *s, int rank, int lane, const struct clab_step *step, const struct message *message)
{
    struct rank_state *r = &s->ranks[rank];
    const struct clab_link *link = clab_net_link(s->net, message->src, rank);
    size_t bytes = span_bytes(s, lane, step->dst);
    const struct clab_segment *segment = clab_link_segment(link, bytes);
    struct rates rates = rates_of(s, bytes, message->fresh && segment->memory, adds(s, rank, lane, step->dst));
    double *port = port_of(s, link, &r->core, r->rx);
    double begin = later(later(message->head, *port), full_lane(s, rank, lane)->clock);
    double ready = begin + segment->o_recv + (s->load == CLAB_BOTH ? segment->o_both : 0) +
                   (s->problem->lanes > 1 ? s->net->lane : 0);
    double pull = segment->memory ? rates.pull : segment->gap_recv;
    double end = ready + (double)bytes * pull;
    if (bytes > segment->fragment) // the last fragment can not land before it was sent
        end = later(end, message->head + (double)(bytes - segment->fragment) * segment->gap_send +
                             (double)segment->fragment * pull);
    *port = end;
    spend(r, PART_LATENCY, begin, ready);
    spend(r, PART_BANDWIDTH, end - (double)bytes * pull, end);
    if (step->op == CLAB_RECV_REDUCE && rates.reduce > 0)
        end = price_core(r, end, (double)bytes * rates.reduce, PART_REDUCE);
    if (s->has_places && must_pack(s, step->dst))
        end = copy_bytes(s, rank, end, bytes, s->load);
    if (s->has_places)
        settle(s, rank, lane, step->dst);
    if (segment->waits)
        acknowledge(s, message->src, lane, end + segment->latency);
    return end;
}

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

size_t price_aside(struct full *s, int rank, int lane)
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

void price_finish(struct full *s, int rank, int lane)
{
    struct lane_state *l = full_lane(s, rank, lane);
    size_t bytes = s->places.in_place ? bring_wanted(s, rank, lane) : 0;
    if (l->stage == 0 && s->aside) { // there was no stage
        copy_aside(s, rank, lane);
        l->clock = later(l->clock, l->end);
    }
    l->clock = copy_home(s, rank, l->clock, bytes);
}
