// SPDX-License-Identifier: MIT
// The replay of a lane: ranks enter stages, post their steps, and leave when all of them are matched.

#include "core/schedule/verify/replay.h"

#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "core/schedule/formats/listing.h"

enum { NOTHING = -1 };

const char *clab_flaw_text(enum clab_flaw flaw)
{
#define X(name, text) text,
    static const char *const texts[CLAB_FLAW_COUNT] = {CLAB_FLAWS(X)};
#undef X
    return texts[flaw];
}

bool clab_replay_fail(struct clab_replay *r, enum clab_flaw flaw, int rank, int stage, int chunk, const char *format,
                      ...)
{
    struct clab_verify_result *result = r->result;
    if (result->flaw != CLAB_SOUND)
        return false;
    result->flaw = flaw;
    r->channels_are_dirty = true;
    result->rank = rank;
    result->lane = r->lane;
    result->stage = stage;
    result->chunk = chunk;
    size_t room = sizeof result->text;
    int used = rank < 0 ? 0 : snprintf(result->text, room, "rank %d, lane %d", rank, r->lane);
    if (stage >= 0)
        used += snprintf(result->text + used, room - (size_t)used, ", stage %d", stage);
    if (used > 0)
        used += snprintf(result->text + used, room - (size_t)used, ": ");
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(result->text + used, room - (size_t)used, format, arguments);
    va_end(arguments);
    return false;
}

static bool fail_step(struct clab_replay *r, enum clab_flaw flaw, int rank, int chunk, const char *what)
{
    return clab_replay_fail(r, flaw, rank, r->actors[rank].stage, chunk, "%s (chunk %d)", what, chunk);
}

// ---- values --------------------------------------------------------------------------------------------------

static uint64_t *set_at(uint64_t *sets, const struct clab_replay *r, size_t index)
{
    return sets + index * (size_t)r->words;
}

// Take n values from `from` on into the waiting room from `to` on.
static void put_aside(struct clab_replay *r, size_t from, size_t to, int n)
{
    for (int i = 0; i < n; i++)
        r->waiting_identity[to + (size_t)i] = r->identity[from + (size_t)i];
    memcpy(set_at(r->waiting_set, r, to), set_at(r->set, r, from), (size_t)(n * r->words) * sizeof *r->set);
}

// ---- steps are checked when they are posted ------------------------------------------------------------------

static bool is_inside(const struct clab_replay *r, struct clab_span span)
{
    if (span.buffer < 0 || span.buffer >= CLAB_BUFFER_COUNT)
        return false;
    int size = r->base[span.buffer + 1] - r->base[span.buffer];
    return span.first >= 0 && span.count >= 1 && span.first <= size - span.count;
}

// "writes chunks 0 to 2 of scratch, and there is 1 chunk". verb: "reads" or "writes"
static bool fail_span(struct clab_replay *r, int rank, struct clab_span span, const char *verb)
{
    static const char *const of[CLAB_BUFFER_COUNT] = {
        [CLAB_DATA] = "", [CLAB_INPUT] = " of the input", [CLAB_SCRATCH] = " of scratch"};
    const int stage = r->actors[rank].stage, last = span.first + span.count - 1;
    char chunks[48];
    if (span.buffer < 0 || span.buffer >= CLAB_BUFFER_COUNT || is_inside(r, span))
        return clab_replay_fail(r, CLAB_FLAW_SPAN, rank, stage, span.first,
                                "%s a buffer that is not there for that (chunk %d)", verb, span.first);
    if (span.count < 1)
        return clab_replay_fail(r, CLAB_FLAW_SPAN, rank, stage, span.first,
                                "%s %d chunks from chunk %d%s on, and a step has 1 at least", verb, span.count,
                                span.first, of[span.buffer]);
    const int size = r->base[span.buffer + 1] - r->base[span.buffer];
    snprintf(chunks, sizeof chunks, span.count == 1 ? "chunk %d" : "chunks %d to %d", span.first, last);
    return clab_replay_fail(r, CLAB_FLAW_SPAN, rank, stage, span.first,
                            size == 1 ? "%s %s%s, and there is %d chunk" : "%s %s%s, and there are %d chunks", verb,
                            chunks, of[span.buffer], size);
}

// Check that what a step reads holds values, and mark it as read in this stage.
static bool check_read(struct clab_replay *r, int rank, struct clab_span span)
{
    if (!is_inside(r, span))
        return fail_span(r, rank, span, "reads");
    size_t first = clab_replay_index(r, rank, span.buffer, span.first);
    for (int i = 0; i < span.count; i++) {
        if (r->identity[first + (size_t)i] == NOTHING)
            return fail_step(r, CLAB_FLAW_UNDEFINED, rank, span.first + i,
                             span.buffer == CLAB_SCRATCH ? "reads a chunk of scratch that nothing was put into"
                                                         : "reads a chunk that it does not have");
        r->used[first + (size_t)i] = r->actors[rank].stage + 1;
    }
    return true;
}

static bool check_write(struct clab_replay *r, int rank, struct clab_span span)
{
    if (!is_inside(r, span) || span.buffer == CLAB_INPUT)
        return fail_span(r, rank, span, "writes");
    int stamp = r->actors[rank].stage + 1;
    size_t first = clab_replay_index(r, rank, span.buffer, span.first);
    for (int i = 0; i < span.count; i++) {
        if (r->written[first + (size_t)i] == stamp && !clab_listing_is_loose(r->problem->listing))
            return fail_step(r, CLAB_FLAW_OVERLAP, rank, span.first + i, "writes a chunk twice");
        r->written[first + (size_t)i] = stamp;
    }
    return true;
}

static bool check_step(struct clab_replay *r, int rank, const struct clab_step *step)
{
    bool local = step->op == CLAB_COPY || step->op == CLAB_COMBINE,
         reduces = step->op == CLAB_RECV_REDUCE || step->op == CLAB_COMBINE;
    if (step->op == CLAB_CALC && clab_listing_is_loose(r->problem->listing))
        return true;
    if (step->op > CLAB_COMBINE || (reduces && !clab_collective_reduces(r->problem->collective)))
        return fail_step(r, CLAB_FLAW_STEP, rank, step->dst.first, "a step that this collective does not know");
    if (!local && (step->peer < 0 || step->peer >= r->problem->nranks || step->peer == rank))
        return clab_replay_fail(r, CLAB_FLAW_PEER, rank, r->actors[rank].stage, -1, "its peer is %d, of %d ranks",
                                step->peer, r->problem->nranks);
    if ((local || step->op == CLAB_SEND || (step->op == CLAB_RECV_REDUCE && step->src.count != 0)) &&
        !check_read(r, rank, step->src))
        return false;
    if (step->op != CLAB_SEND && clab_step_reads(step) && step->src.count != step->dst.count)
        return fail_step(r, CLAB_FLAW_LENGTH, rank, step->dst.first, "copies to a span of another length");
    return step->op == CLAB_SEND || check_write(r, rank, step->dst);
}

// Check that no chunk of `span` has `stamp`: what a copy or combine writes, no other step of the stage reads; what a
// receive adds to, none writes.
static bool check_unused(struct clab_replay *r, int rank, struct clab_span span, const int *stamps, const char *what)
{
    for (int c = 0; c < span.count; c++)
        if (stamps[clab_replay_index(r, rank, span.buffer, span.first + c)] == r->actors[rank].stage + 1)
            return fail_step(r, CLAB_FLAW_OVERLAP, rank, span.first + c, what);
    return true;
}

static bool check_overlaps(struct clab_replay *r, int rank, int n)
{
    for (const struct clab_step *step = r->steps; step < r->steps + n; step++) {
        if (step->op >= CLAB_COPY &&
            !check_unused(r, rank, step->dst, r->used, "copies to a chunk that the same stage reads"))
            return false;
        if (step->op == CLAB_RECV_REDUCE && clab_step_reads(step) &&
            !check_unused(r, rank, step->src, r->written, "adds to a chunk that the same stage writes"))
            return false;
    }
    return true;
}

// ---- matching ------------------------------------------------------------------------------------------------

static struct clab_channel *channel(struct clab_replay *r, int src, int dst)
{
    return &r->channels[(size_t)src * (size_t)r->problem->nranks + (size_t)dst];
}

static void step_is_done(struct clab_replay *r, int rank)
{
    if (--r->actors[rank].pending == 0)
        r->ready[r->nready++] = rank;
}

static bool match(struct clab_replay *r, int src, struct clab_post *sending, int dst, struct clab_post *receiving)
{
    struct clab_span from = sending->step.src, to = receiving->step.dst;
    if (from.count != to.count)
        return clab_replay_fail(r, CLAB_FLAW_LENGTH, dst, r->actors[dst].stage, to.first,
                                "expects %d chunks where rank %d sends %d, in its stage %d", to.count, src, from.count,
                                r->actors[src].stage);
    put_aside(r, clab_replay_index(r, src, from.buffer, from.first), (size_t)receiving->room, from.count);
    sending->matched = receiving->matched = true;
    receiving->leaves = sending->leaves;
    receiving->sender_stage = r->actors[src].stage;
    receiving->sent = from;
    step_is_done(r, src);
    step_is_done(r, dst);
    return true;
}

// Match post `id` of `rank` with what waits in its channel, or let it wait there.
static bool post(struct clab_replay *r, int rank, int id)
{
    struct clab_post *mine = &r->posts[id];
    bool sends = mine->step.op == CLAB_SEND;
    struct clab_channel *c = sends ? channel(r, rank, mine->step.peer) : channel(r, mine->step.peer, rank);
    struct clab_post *other = c->first == NOTHING ? NULL : &r->posts[c->first];
    if (other && sends != (other->step.op == CLAB_SEND)) {
        c->first = other->next;
        return sends ? match(r, rank, mine, mine->step.peer, other) : match(r, mine->step.peer, other, rank, mine);
    }
    if (other)
        r->posts[c->last].next = id;
    else
        c->first = id;
    c->last = id;
    return true;
}

// ---- a rank's stages -----------------------------------------------------------------------------------------

// Everything that the stage moves is given room to wait in, and a time at which it leaves.
static bool take_up(struct clab_replay *r, int rank, int n)
{
    struct clab_actor *actor = &r->actors[rank];
    struct clab_clocks leaves = actor->now;
    size_t room = clab_replay_index(r, rank, CLAB_DATA, 0);
    actor->nposts = n;
    actor->pending = 0;
    for (int i = 0; i < n; i++) {
        const struct clab_step *step = &r->steps[i];
        if (!check_step(r, rank, step))
            return false;
        actor->pending += step->op < CLAB_COPY;
        if (step->op == CLAB_SEND) {
            leaves.alpha++;
            leaves.beta += step->src.count;
        }
        r->posts[rank * r->width + i] =
            (struct clab_post){.step = *step, .next = NOTHING, .room = (int)room, .leaves = leaves};
        if (step->op == CLAB_COPY || step->op == CLAB_COMBINE)
            put_aside(r, clab_replay_index(r, rank, step->src.buffer, step->src.first), room, step->src.count);
        if (step->op != CLAB_SEND)
            room += (size_t)step->dst.count;
    }
    return check_overlaps(r, rank, n);
}

// A bound on stages: a schedule with more never ends.
static int stage_limit(const struct clab_replay *r)
{
    return r->problem->listing ? INT_MAX : 64 + 16 * r->problem->nranks;
}

// Enter the next stage that has steps, or end.
static bool enter(struct clab_replay *r, int rank)
{
    struct clab_actor *actor = &r->actors[rank];
    int n;
    while ((n = r->algorithm->stage(r->problem, rank, r->lane, actor->stage, r->steps)) == 0 &&
           actor->stage < stage_limit(r))
        actor->stage++;
    actor->done = n == CLAB_DONE;
    if (actor->done)
        return true;
    if (actor->stage >= stage_limit(r))
        return clab_replay_fail(r, CLAB_FLAW_ENDLESS, rank, actor->stage, -1, "no end is in sight");
    if (n < 0 || n > r->width)
        return clab_replay_fail(r, CLAB_FLAW_WIDTH, rank, actor->stage, -1, "%d steps, with a width of %d", n,
                                r->width);
    actor->busy_stages++;
    if (!take_up(r, rank, n))
        return false;
    if (actor->pending == 0)
        r->ready[r->nready++] = rank;
    for (int id = rank * r->width; id < rank * r->width + n; id++)
        if (r->posts[id].step.op < CLAB_COPY && !post(r, rank, id))
            return false;
    return true;
}

// The i-th value of `post` comes to its place.
static bool land(struct clab_replay *r, int rank, const struct clab_post *post, int i)
{
    const struct clab_step *step = &post->step;
    int chunk = step->dst.first + i;
    size_t to = clab_replay_index(r, rank, step->dst.buffer, chunk), from = (size_t)(post->room + i);
    bool reduces = step->op == CLAB_RECV_REDUCE || step->op == CLAB_COMBINE,
         joins = reduces || r->problem->collective == CLAB_BARRIER;
    uint64_t *set = set_at(r->set, r, to);
    if (step->op == CLAB_RECV_REDUCE && clab_step_reads(step)) { // what it adds to comes to its place first
        size_t read = clab_replay_index(r, rank, step->src.buffer, step->src.first + i);
        r->identity[to] = r->identity[read];
        memcpy(set, set_at(r->set, r, read), (size_t)r->words * sizeof *set);
    }
    const uint64_t *more = set_at(r->waiting_set, r, from);
    if (r->waiting_identity[from] % r->chunks != chunk % r->chunks && !clab_listing_is_even(r->problem->listing))
        return clab_replay_fail(r, CLAB_FLAW_SIZE, rank, r->actors[rank].stage, chunk,
                                "%schunk %d gets what was chunk %d, and the two may differ in size",
                                step->dst.buffer == CLAB_SCRATCH ? "scratch " : "", chunk,
                                r->waiting_identity[from] % r->chunks);
    if (reduces && r->identity[to] == NOTHING)
        return fail_step(r, CLAB_FLAW_UNDEFINED, rank, chunk,
                         step->dst.buffer == CLAB_SCRATCH ? "reduces into a chunk of scratch that nothing was put into"
                                                          : "reduces into a chunk that it does not have");
    if (reduces && r->identity[to] != r->waiting_identity[from])
        return fail_step(r, CLAB_FLAW_MIXED, rank, chunk, "reduces two different chunks");
    for (int w = 0; w < r->words; w++) {
        if (reduces && (set[w] & more[w]))
            return clab_replay_fail(r, CLAB_FLAW_DOUBLE_COUNT, rank, r->actors[rank].stage, chunk,
                                    "chunk %d gets the contribution of rank %d a second time", chunk,
                                    64 * w + __builtin_ctzll(set[w] & more[w]));
        set[w] = joins ? set[w] | more[w] : more[w];
    }
    r->identity[to] = r->waiting_identity[from];
    return true;
}

static long later(long a, long b)
{
    return a > b ? a : b;
}

// The clocks of costs (schedule.h): all sends have left, all receives landed in order, then the reductions.
static void advance_clocks(struct clab_replay *r, int rank)
{
    struct clab_actor *actor = &r->actors[rank];
    struct clab_clocks end = actor->now, landed = actor->now;
    long reduced = 0;
    for (int i = 0; i < actor->nposts; i++) {
        struct clab_post *post = &r->posts[rank * r->width + i];
        if (post->step.op == CLAB_SEND) {
            actor->messages++;
            actor->sent += post->step.src.count;
            end = post->leaves;
        } else if (post->step.op < CLAB_COPY) {
            landed.alpha = later(landed.alpha + 1, post->leaves.alpha);
            landed.beta = later(landed.beta + post->step.dst.count, post->leaves.beta);
            landed.gamma = later(landed.gamma, post->leaves.gamma);
            post->landed = landed.alpha;
            reduced += post->step.op == CLAB_RECV_REDUCE ? post->step.dst.count : 0;
        } else if (post->step.op == CLAB_COMBINE) {
            reduced += post->step.dst.count;
        } else if (post->step.op == CLAB_CALC) { // what is read from GOAL reduces in ns
            reduced += 1000000000L * post->step.src.first + post->step.src.count;
        }
    }
    actor->reduced += reduced;
    actor->now.alpha = later(end.alpha, landed.alpha);
    actor->now.beta = later(end.beta, landed.beta);
    actor->now.gamma = later(end.gamma, landed.gamma) + reduced;
}

static void show_message(const struct clab_replay *r, int rank, const struct clab_post *post)
{
    const struct clab_message message = {
        .lane = r->lane,
        .src = post->step.peer,
        .src_stage = post->sender_stage,
        .dst = rank,
        .dst_stage = r->actors[rank].stage,
        .reduces = post->step.op == CLAB_RECV_REDUCE,
        .src_span = post->sent,
        .dst_span = post->step.dst,
        .leaves = post->leaves.alpha - 1,
        .lands = post->landed,
    };
    r->observer->message(r->observer->context, &message);
}

static void show_write(const struct clab_replay *r, int rank, enum clab_buffer buffer, int chunk)
{
    const struct clab_write write = {
        .lane = r->lane,
        .rank = rank,
        .stage = r->actors[rank].stage,
        .buffer = buffer,
        .chunk = chunk,
        .identity = r->identity[clab_replay_index(r, rank, buffer, chunk)],
        .time = r->actors[rank].now.alpha,
        .set = set_at(r->set, r, clab_replay_index(r, rank, buffer, chunk)),
    };
    r->observer->write(r->observer->context, &write);
}

static void show(const struct clab_replay *r, int rank, const struct clab_post *post)
{
    const struct clab_step *step = &post->step;
    if (step->op < CLAB_COPY && r->observer->message)
        show_message(r, rank, post);
    for (int i = 0; i < step->dst.count && r->observer->write; i++)
        show_write(r, rank, step->dst.buffer, step->dst.first + i);
}

// All steps are matched: received and copied values are written, and the next stage begins.
static bool leave(struct clab_replay *r, int rank)
{
    struct clab_actor *actor = &r->actors[rank];
    const struct clab_post *posts = &r->posts[rank * r->width];
    advance_clocks(r, rank);
    for (int p = 0; p < actor->nposts; p++) {
        if (posts[p].step.op == CLAB_SEND)
            continue;
        for (int i = 0; i < posts[p].step.dst.count; i++)
            if (!land(r, rank, &posts[p], i))
                return false;
        if (r->observer)
            show(r, rank, &posts[p]);
    }
    actor->stage++;
    return enter(r, rank);
}

// ---- when nothing moves any more -----------------------------------------------------------------------------

static const struct clab_post *first_pending(const struct clab_replay *r, int rank)
{
    const struct clab_post *post = &r->posts[rank * r->width];
    while (post->matched || post->step.op >= CLAB_COPY)
        post++;
    return post;
}

static const char *doing(const struct clab_post *post)
{
    return post->step.op == CLAB_SEND ? "sends to" : "receives from";
}

// Follow from a waiting rank to the rank that it waits for, until one is done, or a circle closes.
static bool explain_standstill(struct clab_replay *r)
{
    int rank = 0;
    while (r->actors[rank].done)
        rank++;
    const struct clab_post *post = first_pending(r, rank);
    for (int i = 0; i < r->problem->nranks && !r->actors[post->step.peer].done; i++) {
        rank = post->step.peer;
        post = first_pending(r, rank);
    }
    int stage = r->actors[rank].stage, peer = post->step.peer;
    int chunk = post->step.op == CLAB_SEND ? post->step.src.first : post->step.dst.first;
    if (r->actors[peer].done)
        return clab_replay_fail(r, CLAB_FLAW_UNMATCHED, rank, stage, chunk, "%s rank %d, which has ended (chunk %d)",
                                doing(post), peer, chunk);
    const struct clab_post *answer = first_pending(r, peer);
    return clab_replay_fail(r, CLAB_FLAW_DEADLOCK, rank, stage, chunk,
                            "%s rank %d, which in its stage %d %s rank %d, and so on in a circle", doing(post), peer,
                            r->actors[peer].stage, doing(answer), answer->step.peer);
}

static bool all_done(const struct clab_replay *r)
{
    for (int rank = 0; rank < r->problem->nranks; rank++)
        if (!r->actors[rank].done)
            return false;
    return true;
}

static bool run(struct clab_replay *r)
{
    for (int rank = 0; rank < r->problem->nranks; rank++)
        if (!enter(r, rank))
            return false;
    while (r->nready > 0)
        if (!leave(r, r->ready[--r->nready]))
            return false;
    return all_done(r) || explain_standstill(r);
}

bool clab_replay_lane(struct clab_replay *r, int lane)
{
    r->lane = lane;
    clab_replay_reset(r);
    return run(r);
}
