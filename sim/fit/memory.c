// SPDX-License-Identifier: MIT
// Shared memory: a link of inline messages, slots and pulls, and levels by footprint. Every formula is a line of
// arithmetic that turns around one of price.h's:
//
//     half a round trip       o_send + latency + o_recv            + m * (gaps)
//     a message in a stream   max of o_send + m * gap_send, o_recv + m * gap_recv
//     an exchange             half a round trip + o_both           + m * gap_both (+ latency, where the sender waits)
//     a stream that is added  a message in a stream + o_reduce
//     a pull                  half a round trip + latency          + m * pull
//     a message on lanes      a message in a stream + lane
//     pulls on all lanes      a pull, and n - 1 messages of     o_recv + lane - o_joined + m * pull
//
// Streams, exchanges and pulls are of a program that calls: there is an empty call after each message, which is taken
// off. Back to back, a core fetches the next line while it reads the one before.

#include "sim/fit/inside.h"

#include <math.h>
#include <stdint.h>

// Bytes from which on the processor's string instruction fills slots fast; segments of the link.
enum { FEW_LINES = 256, SEGMENTS = 6 };
enum { PULLS = 8 }; // times the least pull: the longest message that tells what is fixed of one

// Of messages that have a call behind each, without it.
static struct fit_line line_of_paced(struct fit_round *r, enum clab_probe probe, size_t low, size_t high)
{
    struct fit_line line = fit_line_through(r, probe, low, high);
    line.start -= fit_time(r, CLAB_PROBE_CALL);
    return line;
}

static double at(struct fit_line line, double bytes)
{
    return line.start + line.slope * bytes;
}

// What a stream of messages that are reduced takes more than one of messages that are not. Each line is reduced by itself.
static double more_of_sums(struct fit_round *r, size_t low, size_t high)
{
    for (int i = 0; i < r->n; i++) {
        const struct clab_sample *s = &r->samples[i];
        if (s->probe == CLAB_PROBE_REDUCE && !s->level && s->bytes >= low && s->bytes <= high)
            return s->seconds - fit_line_through(r, CLAB_PROBE_STREAM, s->bytes, s->bytes).start;
    }
    return 0;
}

// Buffered messages: what is sent costs the sender `post`, what is received the receiver `stream`, bytes as well, since
// each has to get back lines that the other has; and the rest of half a round trip is the way between them. A stream is
// no faster than its sender, which asks for lines ahead there, and does not in the few messages of a post.
static void fit_buffered(struct fit_round *r, struct clab_segment *segment, size_t low, size_t high)
{
    struct fit_line post = fit_line_through(r, CLAB_PROBE_POST, low, high),
                    stream = line_of_paced(r, CLAB_PROBE_STREAM, low, high);
    struct fit_line way = fit_line_through(r, CLAB_PROBE_PINGPONG, low, high),
                    both = line_of_paced(r, CLAB_PROBE_EXCHANGE, low, high);
    const double middle = (double)(low + high) / 2;
    const struct fit_line sent = at(post, middle) < at(stream, middle) ? post : stream;
    segment->o_send = fit_at_least_0(sent.start);
    segment->gap_send = fmin(sent.slope, way.slope);
    segment->gap_recv = stream.slope;
    const double rest = at(way, middle) - segment->o_send - middle * (segment->gap_send + segment->gap_recv);
    segment->o_recv = fit_at_least_0(fmin(stream.start, rest));
    segment->latency = fit_at_least_0(rest - segment->o_recv);
    segment->gap_both = fit_at_least_0(both.slope - way.slope);
    segment->o_both = fit_at_least_0(at(both, middle) - at(way, middle) - middle * segment->gap_both);
    segment->o_reduce = fit_at_least_0(more_of_sums(r, low, high));
}

// Messages on all lanes at once: the sender is told once of all, and all but the first have come when they are looked at.
static double found_of(struct fit_round *r, const struct clab_segment *s, double lane, double slope)
{
    const size_t bytes = r->link->protocols->pull_bytes;
    const double call = fit_time(r, CLAB_PROBE_CALL), n = CLAB_FIT_LANES;
    const double each = fit_line_through(r, CLAB_PROBE_LANES, bytes, bytes).start - call / n;
    const double alone = s->o_recv + lane + (s->o_send + 2 * s->latency) / n + (double)bytes * slope;
    return fmin(s->o_recv, fit_at_least_0(alone - each) * n / (n - 1));
}

// Pulled messages: a stream's messages wait for the news that the one before was fetched, a round trip's do not. The
// least of all pulls is faster than any longer one.
static void fit_pulled(struct fit_round *r, struct clab_segment *segment, const struct clab_segment *small, size_t low,
                       size_t high, double lane)
{
    struct fit_line way = fit_line_through(r, CLAB_PROBE_PINGPONG, low, high);
    struct fit_line stream = line_of_paced(r, CLAB_PROBE_STREAM, low, high);
    struct fit_line both = line_of_paced(r, CLAB_PROBE_EXCHANGE, low, high);
    const double middle = (double)(low + high) / 2;
    segment->o_send = small->o_send;
    segment->latency = fit_at_least_0(stream.start - way.start + (stream.slope - way.slope) * middle);
    segment->o_recv = fit_at_least_0(way.start - segment->o_send - segment->latency);
    segment->o_both = fit_at_least_0(both.start - stream.start + (both.slope - stream.slope) * middle);
    segment->o_joined = found_of(r, segment, lane, way.slope);
}

// Each protocol has a segment, and slots have three: messages of more than half the longest that goes through them
// take longer.
static void fit_segments(struct fit_round *r, struct clab_link *link, double lane)
{
    const struct clab_protocols *p = r->link->protocols;
    struct clab_segment *s = link->segments;
    link->nsegments = SEGMENTS;
    s[0] = (struct clab_segment){.name = "inline", .up_to = p->inline_bytes, .fragment = SIZE_MAX};
    s[1] = (struct clab_segment){.name = "lines", .up_to = p->lines_bytes, .fragment = SIZE_MAX};
    s[2] = (struct clab_segment){.name = "few-lines", .up_to = FEW_LINES - 1, .fragment = SIZE_MAX};
    s[3] = (struct clab_segment){.name = "slots", .up_to = p->pull_bytes / 2, .fragment = SIZE_MAX};
    s[4] = (struct clab_segment){.name = "large-slots", .up_to = p->pull_bytes - 1, .fragment = SIZE_MAX};
    s[5] =
        (struct clab_segment){.name = "pull", .up_to = SIZE_MAX, .fragment = SIZE_MAX, .waits = true, .memory = true};
    fit_buffered(r, &s[0], 0, p->inline_bytes);
    fit_buffered(r, &s[1], p->inline_bytes + 1, p->lines_bytes);
    fit_buffered(r, &s[2], p->lines_bytes + 1, FEW_LINES - 1);
    fit_buffered(r, &s[3], FEW_LINES, p->pull_bytes / 2);
    fit_buffered(r, &s[4], p->pull_bytes / 2 + 1, p->pull_bytes - 1);
    fit_pulled(r, &s[5], &s[0], p->pull_bytes + 1, PULLS * p->pull_bytes, lane);
}

// ---- levels --------------------------------------------------------------------------------------------------

// What is left of a pull's time for its bytes.
static double per_byte(struct fit_round *r, const struct clab_segment *s, const struct clab_sample *sample,
                       double seconds, bool round_trip)
{
    double fixed = s->o_send + s->latency + s->o_recv;
    if (!round_trip) // the sender waits to be told, and a call follows
        fixed += s->latency + fit_time(r, CLAB_PROBE_CALL);
    if (sample->load == CLAB_BOTH)
        fixed += s->o_both;
    return fit_at_least_0(seconds - fixed) / (double)sample->bytes;
}

static double pull_of(struct fit_round *r, const struct clab_segment *s, enum clab_probe probe, size_t level,
                      enum clab_touch touch, enum clab_load load)
{
    const struct clab_sample *sample = fit_find(r, probe, level, touch, load);
    return per_byte(r, s, sample, sample->seconds, touch == CLAB_FRESH && load == CLAB_ALONE);
}

// A peer's sums, less the time that they take where nobody reads them: a pull, and what the sum must take back.
static double pull_of_sums(struct fit_round *r, const struct clab_segment *s, size_t level, enum clab_load load)
{
    const struct clab_sample *sum = fit_find(r, CLAB_PROBE_SUM, level, CLAB_KEPT, load);
    const struct clab_sample *summed = fit_find(r, CLAB_PROBE_SUMMED, level, CLAB_FRESH, load);
    return per_byte(r, s, summed, summed->seconds - sum->seconds, false);
}

// What a sum takes more if it writes lines that a peer has read, and the peer then reads it: what the probe of sums has
// more than a pull. The one waits for lines while it sums, the other while it pulls.
static double taken_of(struct fit_round *r, const struct clab_segment *s, const struct clab_level *level,
                       enum clab_load load)
{
    return fit_at_least_0(pull_of_sums(r, s, level->bytes, load) - level->pull[CLAB_KEPT][load]);
}

// A copy to where both ranks have read: what is left of the probe without an exchange of kept data, and without reading
// once more, which is half of a copy.
static double copy_of_shared(struct fit_round *r, const struct clab_segment *s, const struct clab_level *level)
{
    const double home = pull_of(r, s, CLAB_PROBE_HOME, level->bytes, CLAB_FRESH, CLAB_BOTH);
    return home - level->pull[CLAB_KEPT][CLAB_BOTH] - level->copy[CLAB_BOTH] / 2;
}

// `before`: the next smaller level. The probe of sums touches one buffer, and fills caches as the reductions of that level.
static void fit_level(struct fit_round *r, const struct clab_segment *s, size_t bytes, const struct clab_level *before,
                      struct clab_level *level)
{
    level->bytes = bytes;
    for (int load = 0; load < CLAB_LOADS; load++) {
        const struct clab_sample *copy = fit_find(r, CLAB_PROBE_COPY, bytes, CLAB_KEPT, load);
        level->copy[load] = copy->seconds / (double)copy->bytes;
        level->add[load] = pull_of(r, s, CLAB_PROBE_ADD, bytes, CLAB_KEPT, load);
        level->add_fresh[load] = fmax(level->add[load], pull_of(r, s, CLAB_PROBE_ADD, bytes, CLAB_FRESH, load));
        for (int touch = 0; touch < CLAB_TOUCHES; touch++)
            level->pull[touch][load] = pull_of(r, s, CLAB_PROBE_PULL, bytes, touch, load);
        level->reduce[CLAB_KEPT][load] = pull_of(r, s, CLAB_PROBE_REDUCE, bytes, CLAB_KEPT, load);
        const double less = before ? fmin(before->reduce[CLAB_KEPT][load], level->reduce[CLAB_KEPT][load])
                                   : level->reduce[CLAB_KEPT][load];
        level->reduce[CLAB_FRESH][load] = fmax(level->reduce[CLAB_KEPT][load], less + taken_of(r, s, level, load));
    }
    level->copy_shared[CLAB_BOTH] = fmax(level->copy[CLAB_BOTH], copy_of_shared(r, s, level));
}

static void fit_levels(struct fit_round *r, struct clab_net *net, const struct clab_link *link)
{
    const struct clab_segment *pull = &link->segments[SEGMENTS - 1];
    const struct clab_level *before = NULL;
    for (size_t bytes = 0; (bytes = fit_next_level(r, bytes)) && net->nlevels < CLAB_NET_LEVELS;) {
        struct clab_level *level = &net->levels[net->nlevels++];
        fit_level(r, pull, bytes, before, level);
        before = level;
    }
}

// Hockney's two numbers, for the closed form: the least message, and the level of 4 MiB.
static void fit_hockney(struct clab_net *net, struct clab_link *link)
{
    const struct clab_segment *s = &link->segments[0];
    struct clab_level level = clab_net_level(net, 4 << 20);
    link->alpha = s->o_send + s->latency + s->o_recv;
    link->beta = fmax(level.pull[CLAB_KEPT][CLAB_ALONE], 1e-15);
    net->gamma = fit_at_least_0(level.reduce[CLAB_KEPT][CLAB_ALONE] - level.pull[CLAB_KEPT][CLAB_ALONE]);
}

// A core that has waited for a message takes longer for a call than one that makes call after call.
static double wait_of(struct fit_round *r)
{
    const size_t bytes = fit_find(r, CLAB_PROBE_ANSWER, 0, CLAB_KEPT, CLAB_ALONE)->bytes;
    const double way = fit_line_through(r, CLAB_PROBE_PINGPONG, bytes, bytes).start;
    return fit_at_least_0(fit_time(r, CLAB_PROBE_ANSWER) - way - fit_time(r, CLAB_PROBE_CALL));
}

void fit_memory(struct fit_round *r, struct clab_net *net, struct clab_link *link)
{
    net->wait = wait_of(r);
    link->port = CLAB_PORT_CORE;
    fit_segments(r, link, net->lane);
    fit_levels(r, net, link);
    if (net->nlevels)
        fit_hockney(net, link);
}
