// SPDX-License-Identifier: MIT
// The estimation. Every formula is a line of arithmetic that turns around one of price.c's:
//
//     half a round trip       o_send + latency + o_recv            + m * (gaps)
//     a message in a stream   max of o_send + m * gap_send, o_recv + m * gap_recv
//     an exchange             half a round trip + o_both           (+ latency, where the sender waits to be told)
//     a pull                  half a round trip + latency          + m * pull
//     a message on lanes      a message in a stream + lane

#include "fit.h"

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/log.h"
#include "base/stats.h"
#include "net_keys.h"
#include "schedule/schedule.h"

static const char *const probe_names[CLAB_PROBES] = {
    "call", "stages", "post", "stream", "pingpong", "exchange", "copy",
    "pull", "reduce", "add",  "lanes",  "sum",      "summed",
};

// Bytes of LANES' messages; where slots are split, as a part of the least pull; segments of the link.
enum { LANE_BYTES = 8, SLOTS_SPLIT = 8, FIT_SEGMENTS = 4 };

struct round {
    const struct clab_sample *samples;
    int n;
    int err;
};

static double at_least_0(double x)
{
    return x > 0 ? x : 0;
}

// The sample of exactly these conditions; without it the round is of no use.
static const struct clab_sample *find(struct round *r, enum clab_probe probe, size_t level, enum clab_touch touch,
                                      enum clab_load load)
{
    static const struct clab_sample nothing = {.bytes = 1};
    for (int i = 0; i < r->n; i++) {
        const struct clab_sample *s = &r->samples[i];
        if (s->probe == probe && s->level == level && s->touch == touch && s->load == load)
            return s;
    }
    if (!r->err)
        clab_error("fit: the probe %s of level %zu (%s, %s) is missing", probe_names[probe], level,
                   touch == CLAB_FRESH ? "fresh" : "kept", load == CLAB_BOTH ? "both" : "alone");
    r->err = CLAB_EINVAL;
    return &nothing;
}

static double time_alone(struct round *r, enum clab_probe probe)
{
    return find(r, probe, 0, CLAB_KEPT, CLAB_ALONE)->seconds;
}

// A line through the samples of a probe whose sizes are in [low, high]: seconds = start + slope * bytes.
// Each residual counts by its share of the sample, since small messages matter as much as large ones.
struct line {
    double start, slope;
};

static struct line line_through(struct round *r, enum clab_probe probe, size_t low, size_t high)
{
    double w = 0, wx = 0, wxx = 0, wy = 0, wxy = 0;
    for (int i = 0; i < r->n; i++) {
        const struct clab_sample *s = &r->samples[i];
        if (s->probe != probe || s->level || s->bytes < low || s->bytes > high || s->seconds <= 0)
            continue;
        double x = (double)s->bytes, weight = 1 / (s->seconds * s->seconds);
        w += weight;
        wx += weight * x;
        wxx += weight * x * x;
        wy += weight * s->seconds;
        wxy += weight * x * s->seconds;
    }
    double spread = w * wxx - wx * wx;
    if (w == 0 || !(spread > 1e-12 * w * wxx)) { // no sample, or all of one size
        if (w == 0 && !r->err)
            clab_error("fit: the probe %s has no sample from %zu to %zu bytes", probe_names[probe], low, high);
        r->err = w == 0 ? CLAB_EINVAL : r->err;
        return (struct line){w == 0 ? 0 : wy / w, 0};
    }
    double slope = at_least_0((w * wxy - wx * wy) / spread);
    return (struct line){(wy - slope * wx) / w, slope};
}

// The time of STREAM at `bytes`.
static double stream_at(struct round *r, size_t bytes)
{
    return line_through(r, CLAB_PROBE_STREAM, bytes, bytes).start;
}

// ---- segments ------------------------------------------------------------------------------------------------

// Buffered messages: what is sent costs the sender `post`, what is received the receiver `stream`, and the rest of half
// a round trip is the way between them.
static void fit_buffered(struct round *r, struct clab_segment *segment, size_t low, size_t high)
{
    struct line post = line_through(r, CLAB_PROBE_POST, low, high),
                stream = line_through(r, CLAB_PROBE_STREAM, low, high);
    struct line way = line_through(r, CLAB_PROBE_PINGPONG, low, high),
                both = line_through(r, CLAB_PROBE_EXCHANGE, low, high);
    double middle = (double)(low + high) / 2;
    segment->o_send = at_least_0(post.start);
    segment->gap_send = fmin(post.slope, way.slope);
    segment->gap_recv = way.slope - segment->gap_send;
    segment->o_recv = at_least_0(fmin(stream.start, way.start - segment->o_send));
    segment->latency = at_least_0(way.start - segment->o_send - segment->o_recv);
    segment->o_both = at_least_0(both.start - way.start + (both.slope - way.slope) * middle);
}

// Pulled messages: a stream's messages wait for the news that the one before was fetched, a round trip's do not.
static void fit_pulled(struct round *r, struct clab_segment *segment, const struct clab_segment *small,
                       size_t pull_bytes)
{
    struct line way = line_through(r, CLAB_PROBE_PINGPONG, pull_bytes, 8 * pull_bytes);
    struct line stream = line_through(r, CLAB_PROBE_STREAM, pull_bytes, 8 * pull_bytes);
    struct line both = line_through(r, CLAB_PROBE_EXCHANGE, pull_bytes, 8 * pull_bytes);
    double middle = 4.5 * (double)pull_bytes;
    segment->o_send = small->o_send;
    segment->latency = at_least_0(stream.start - way.start + (stream.slope - way.slope) * middle);
    segment->o_recv = at_least_0(way.start - segment->o_send - segment->latency);
    segment->o_both = at_least_0(both.start - stream.start + (both.slope - stream.slope) * middle);
}

// A call whose stages have nothing to do takes longer than one that has none.
static double fit_stage(struct round *r, double call)
{
    const struct clab_algorithm *tree = clab_algorithm_find(CLAB_BARRIER, "tree");
    const struct clab_problem alone = {.collective = CLAB_BARRIER, .nranks = 1, .lanes = 1};
    double seconds = time_alone(r, CLAB_PROBE_STAGES);
    struct clab_step steps[8];
    int stages = 0;
    while (tree->width(&alone) < 8 && tree->stage(&alone, 0, 0, stages, steps) != CLAB_DONE)
        stages++;
    return stages > 0 ? at_least_0(seconds - call) / stages : 0;
}

// Slots have two segments: up to a few lines a core fetches ahead, and beyond them the first line's wait is spread.
static void fit_segments(struct round *r, const struct clab_protocols *p, struct clab_link *link)
{
    struct clab_segment *s = link->segments;
    size_t middle = p->pull_bytes / SLOTS_SPLIT;
    link->nsegments = FIT_SEGMENTS;
    s[0] = (struct clab_segment){.name = "inline", .up_to = p->inline_bytes, .fragment = SIZE_MAX};
    s[1] = (struct clab_segment){.name = "few-lines", .up_to = middle, .fragment = SIZE_MAX};
    s[2] = (struct clab_segment){.name = "slots", .up_to = p->pull_bytes - 1, .fragment = SIZE_MAX};
    s[3] =
        (struct clab_segment){.name = "pull", .up_to = SIZE_MAX, .fragment = SIZE_MAX, .waits = true, .memory = true};
    fit_buffered(r, &s[0], 0, p->inline_bytes);
    fit_buffered(r, &s[1], p->inline_bytes + 1, middle);
    fit_buffered(r, &s[2], middle, p->pull_bytes - 1);
    fit_pulled(r, &s[3], &s[0], p->pull_bytes);
}

// ---- levels --------------------------------------------------------------------------------------------------

// What is left of a pull's time for its bytes.
static double per_byte(const struct clab_segment *s, const struct clab_sample *sample, double seconds, bool round_trip)
{
    double fixed = s->o_send + s->latency + s->o_recv;
    if (!round_trip) // the sender waits to be told
        fixed += s->latency;
    if (sample->load == CLAB_BOTH)
        fixed += s->o_both;
    return at_least_0(seconds - fixed) / (double)sample->bytes;
}

static double pull_of(struct round *r, const struct clab_segment *s, enum clab_probe probe, size_t level,
                      enum clab_touch touch, enum clab_load load)
{
    const struct clab_sample *sample = find(r, probe, level, touch, load);
    return per_byte(s, sample, sample->seconds, touch == CLAB_FRESH && load == CLAB_ALONE);
}

// A peer's sums. What a core has copied leaves its caches by itself where it is large, sums do not: fresh data is
// priced as the dearer of both.
static double pull_of_sums(struct round *r, const struct clab_segment *s, size_t level, enum clab_load load)
{
    const struct clab_sample *sum = find(r, CLAB_PROBE_SUM, level, CLAB_KEPT, load);
    const struct clab_sample *summed = find(r, CLAB_PROBE_SUMMED, level, CLAB_FRESH, load);
    return per_byte(s, summed, summed->seconds - sum->seconds, false);
}

static void fit_level(struct round *r, const struct clab_segment *s, size_t bytes, struct clab_level *level)
{
    level->bytes = bytes;
    for (int load = 0; load < CLAB_LOADS; load++) {
        const struct clab_sample *copy = find(r, CLAB_PROBE_COPY, bytes, CLAB_KEPT, load);
        level->copy[load] = copy->seconds / (double)copy->bytes;
        level->add[load] = pull_of(r, s, CLAB_PROBE_ADD, bytes, CLAB_KEPT, load);
        for (int touch = 0; touch < CLAB_TOUCHES; touch++) {
            level->pull[touch][load] = pull_of(r, s, CLAB_PROBE_PULL, bytes, touch, load);
            level->reduce[touch][load] = pull_of(r, s, CLAB_PROBE_REDUCE, bytes, touch, load);
        }
        level->pull[CLAB_FRESH][load] = fmax(level->pull[CLAB_FRESH][load], pull_of_sums(r, s, bytes, load));
    }
}

// The least level of a COPY above `bytes`; 0: there is none.
static size_t next_level(const struct round *r, size_t bytes)
{
    size_t next = 0;
    for (int i = 0; i < r->n; i++) {
        const struct clab_sample *s = &r->samples[i];
        if (s->probe == CLAB_PROBE_COPY && s->level > bytes && (!next || s->level < next))
            next = s->level;
    }
    return next;
}

static void fit_levels(struct round *r, struct clab_net *net)
{
    const struct clab_segment *pull = &net->intra.segments[FIT_SEGMENTS - 1];
    for (size_t bytes = 0; (bytes = next_level(r, bytes)) && net->nlevels < CLAB_NET_LEVELS;)
        fit_level(r, pull, bytes, &net->levels[net->nlevels++]);
}

// Hockney's two numbers, for the closed form: the least message, and the level of 4 MiB.
static void fit_hockney(struct clab_net *net)
{
    const struct clab_segment *s = &net->intra.segments[0];
    struct clab_level level = clab_net_level(net, 4 << 20);
    net->intra.alpha = s->o_send + s->latency + s->o_recv;
    net->intra.beta = fmax(level.pull[CLAB_KEPT][CLAB_ALONE], 1e-15);
    net->gamma = at_least_0(level.reduce[CLAB_KEPT][CLAB_ALONE] - level.pull[CLAB_KEPT][CLAB_ALONE]);
}

int clab_fit_round(const struct clab_sample *samples, int n, const struct clab_protocols *protocols,
                   struct clab_net *net_p)
{
    struct round r = {.samples = samples, .n = n};
    struct clab_net net = {.nodes = 1, .ranks_per_node = 1};
    strcpy(net.name, "machine");
    net.intra = (struct clab_link){.name = "intra", .present = true, .port = CLAB_PORT_CORE};
    net.call = time_alone(&r, CLAB_PROBE_CALL);
    net.stage = fit_stage(&r, net.call);
    fit_segments(&r, protocols, &net.intra);
    net.lane = at_least_0(time_alone(&r, CLAB_PROBE_LANES) - stream_at(&r, LANE_BYTES));
    fit_levels(&r, &net);
    if (net.nlevels == 0 && !r.err) {
        clab_error("fit: there is no copy probe, and so no level");
        r.err = CLAB_EINVAL;
    }
    if (r.err)
        return r.err;
    fit_hockney(&net);
    *net_p = net;
    return CLAB_OK;
}

// ---- over rounds ---------------------------------------------------------------------------------------------

// Summarize the double that lies `offset` bytes into each round.
static int combine_one(const struct clab_net *rounds, int nrounds, size_t offset, double *values, struct clab_fit *fit)
{
    struct clab_summary summary;
    for (int i = 0; i < nrounds; i++)
        values[i] = *(const double *)((const char *)&rounds[i] + offset);
    CLAB_TRY(clab_summarize(values, nrounds, &summary));
    *(double *)((char *)&fit->median + offset) = summary.median;
    *(double *)((char *)&fit->low + offset) = summary.low;
    *(double *)((char *)&fit->high + offset) = summary.high;
    return CLAB_OK;
}

// All keys of a section that are times or costs, in the struct that lies `base` bytes into the net.
static int combine_section(const struct clab_net *rounds, int nrounds, const char *section, size_t base, double *values,
                           struct clab_fit *fit)
{
    for (const struct net_key *key = net_keys; key->section; key++)
        if (strcmp(key->section, section) == 0 && (key->kind == NET_SECONDS || key->kind == NET_PER_BYTE))
            CLAB_TRY(combine_one(rounds, nrounds, base + key->offset, values, fit));
    return CLAB_OK;
}

static int combine_all(const struct clab_net *rounds, int nrounds, double *values, struct clab_fit *fit)
{
    CLAB_TRY(combine_section(rounds, nrounds, "net", 0, values, fit));
    CLAB_TRY(combine_section(rounds, nrounds, "link", offsetof(struct clab_net, intra), values, fit));
    for (int i = 0; i < rounds->intra.nsegments; i++) {
        size_t base = offsetof(struct clab_net, intra.segments) + (size_t)i * sizeof(struct clab_segment);
        CLAB_TRY(combine_section(rounds, nrounds, "segment", base, values, fit));
    }
    for (int i = 0; i < rounds->nlevels; i++) {
        size_t base = offsetof(struct clab_net, levels) + (size_t)i * sizeof(struct clab_level);
        CLAB_TRY(combine_section(rounds, nrounds, "level", base, values, fit));
    }
    return CLAB_OK;
}

int clab_fit_combine(const struct clab_net *rounds, int nrounds, struct clab_fit *fit_p)
{
    if (nrounds < 1)
        return CLAB_EINVAL;
    double *values = malloc((size_t)nrounds * sizeof *values);
    if (!values)
        return CLAB_ENOMEM;
    struct clab_fit fit = {rounds[0], rounds[0], rounds[0]};
    int err = combine_all(rounds, nrounds, values, &fit);
    free(values);
    if (!err)
        *fit_p = fit;
    return err;
}

// Half the distance of the quartiles of every nprobes-th of `seconds`, as a fraction of the median.
static double spread_of(const double *seconds, int nrounds, int nprobes, double *room)
{
    for (int i = 0; i < nrounds; i++)
        room[i] = seconds[i * nprobes];
    return (clab_quantile(room, nrounds, 0.75) - clab_quantile(room, nrounds, 0.25)) / 2 /
           clab_quantile(room, nrounds, 0.5);
}

int clab_fit_noise(const double *seconds, int nrounds, int nprobes, double *noise_p)
{
    if (nrounds < 2 || nprobes < 1)
        return CLAB_EINVAL;
    double *spreads = malloc((size_t)(nprobes + nrounds) * sizeof *spreads);
    if (!spreads)
        return CLAB_ENOMEM;
    for (int p = 0; p < nprobes; p++)
        spreads[p] = spread_of(seconds + p, nrounds, nprobes, spreads + nprobes);
    *noise_p = clab_quantile(spreads, nprobes, 0.5);
    free(spreads);
    return CLAB_OK;
}
