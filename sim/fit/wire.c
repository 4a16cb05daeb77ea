// SPDX-License-Identifier: MIT
// A wire: messages by way of sockets, adapters, or whatever moves bytes without one rank reading the other's memory.
//
// Where ranks send and receive at once (CLAB_PORT_DUPLEX):
//
//     half a round trip           o_send + latency + o_recv + m * gap_send
//     a message in a stream       gap + m * gap_send, or o_send, or o_recv, if they are more
//     an exchange                 half a round trip + o_both + m * gap_both
//
// Between hosts the wire is what costs, a byte of every message the same. A token bucket lets the first of them go
// ahead of their turn, so that large messages gain a `burst` of time; where they lose time instead, it is the latency
// of those that wait for their receiver.
//
// Within a host there is no wire, and what a byte costs changes with the size, as caches and protocols do: there is a
// segment for each range of sizes. Where a core moves all bytes, one after the other (CLAB_PORT_CORE):
//
//     half a round trip           o_send + latency + o_recv + m * gap_send      the receiver takes what still comes,
//     an exchange                 the same + o_both + m * gap_recv              but not while it sends itself
//
// Copies and sums are the cores' own, whatever the wire.

#include "sim/fit/inside.h"

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "core/base/err.h"
#include "core/base/log.h"
#include "core/base/stats.h"

// Bytes: messages that are all fixed cost; of one packet; those from which on a wire is nearly all that counts.
enum { SMALL = 64, PACKET = 1 << 10, LARGE = 32 << 10 };

// ---- between hosts -------------------------------------------------------------------------------------------

// Of messages that are all fixed cost.
static double least_of(struct fit_round *r, enum clab_probe probe)
{
    struct fit_line line = fit_line_through(r, probe, 0, SMALL);
    return fit_at_least_0(line.start + line.slope * SMALL / 2);
}

// What a message gains by going ahead of its turn: of the two least sizes whose messages are away for so long that the
// bucket on the way back, which the last one emptied, fills again. Those below are held up by that.
static double gain_of(struct fit_round *r, double half, double gap)
{
    const double fills = 0.6; // of the wire's time for a message; at half of it, the bucket is what is measured
    double sum = 0;
    int n = 0;
    for (size_t bytes = PACKET; n < 2 && !r->err; bytes *= 2) {
        double seconds = fit_line_through(r, CLAB_PROBE_PINGPONG, bytes, bytes).start, wire = (double)bytes * gap;
        if (seconds < fills * wire)
            continue;
        sum += half + wire - seconds;
        n++;
    }
    return sum / 2;
}

static void fit_between(struct fit_round *r, struct clab_link *link)
{
    double half = least_of(r, CLAB_PROBE_PINGPONG), both = least_of(r, CLAB_PROBE_EXCHANGE);
    double o_send = fmin(least_of(r, CLAB_PROBE_POST), half / 2), stream = least_of(r, CLAB_PROBE_STREAM);
    double o_recv = fmin(stream, half - o_send);
    double gap = fit_line_through(r, CLAB_PROBE_PINGPONG, LARGE, SIZE_MAX).slope, gain = gain_of(r, half, gap);
    double gap_both = fit_line_through(r, CLAB_PROBE_EXCHANGE, LARGE, SIZE_MAX).slope - gap;
    struct clab_segment *s = link->segments;
    link->nsegments = 2;
    link->burst = fit_at_least_0(gain);
    link->alpha = half;
    link->beta = gap;
    s[0] = (struct clab_segment){.name = "packet",
                                 .up_to = PACKET,
                                 .o_send = o_send,
                                 .o_recv = o_recv,
                                 .o_both = fit_at_least_0(both - half),
                                 .latency = half - o_send - o_recv,
                                 .gap = stream,
                                 .gap_send = gap,
                                 .gap_recv = gap,
                                 .gap_both = fit_at_least_0(gap_both),
                                 .buffers = true};
    s[1] = s[0];
    snprintf(s[1].name, sizeof s[1].name, "stream");
    s[1].up_to = SIZE_MAX;
    s[1].gap = 0;
    s[1].latency += fit_at_least_0(-gain);
}

// ---- within a host -------------------------------------------------------------------------------------------

// The samples of a probe up to `low` and from there to `high`: the range's own, and where it begins.
static void fit_range(struct fit_round *r, size_t low, size_t high, bool duplex, struct clab_segment *s)
{
    struct fit_line post = fit_line_through(r, CLAB_PROBE_POST, low, high);
    struct fit_line stream = fit_line_through(r, CLAB_PROBE_STREAM, low, high);
    struct fit_line way = fit_line_through(r, CLAB_PROBE_PINGPONG, low, high);
    struct fit_line both = fit_line_through(r, CLAB_PROBE_EXCHANGE, low, high);
    double more = both.slope - way.slope, start = fit_at_least_0(way.start);
    s->o_send = fmin(fit_at_least_0(post.start), start);
    s->o_recv = start - s->o_send;
    s->o_both = fit_at_least_0(both.start - way.start);
    s->gap_send = way.slope;
    if (duplex) {
        s->gap = fit_at_least_0(stream.start + (stream.slope - way.slope) * (double)low);
        s->gap_recv = way.slope;
        s->gap_both = fit_at_least_0(more);
    } else {
        s->gap_recv = fmin(fit_at_least_0(more), way.slope);
    }
    s->buffers = duplex;
}

static size_t largest_of(const struct fit_round *r, enum clab_probe probe)
{
    size_t largest = 0;
    for (int i = 0; i < r->n; i++)
        if (r->samples[i].probe == probe && r->samples[i].bytes > largest)
            largest = r->samples[i].bytes;
    return largest;
}

// Ranges are eightfold; one of them ends where the protocol changes. The last has three sizes at least.
static void fit_within(struct fit_round *r, struct clab_link *link)
{
    size_t pull = r->link->protocols->pull_bytes, largest = largest_of(r, CLAB_PROBE_PINGPONG), low = 0;
    size_t end = pull > 1 ? pull - 1 : PACKET;
    while (end > PACKET)
        end /= 8;
    for (bool last = false; !last; low = end + 1, end *= 8) {
        struct clab_segment *s = &link->segments[link->nsegments++];
        last = 4 * end > largest || link->nsegments == CLAB_NET_SEGMENTS;
        s->up_to = last ? SIZE_MAX : end;
        snprintf(s->name, sizeof s->name, last ? "larger" : "to-%zu", end);
        fit_range(r, low, s->up_to, link->port == CLAB_PORT_DUPLEX, s);
    }
    const struct clab_segment *first = &link->segments[0];
    link->alpha = first->o_send + first->latency + first->o_recv;
    link->beta = link->segments[link->nsegments - 1].gap_send;
}

// ---- the whole -----------------------------------------------------------------------------------------------

// The ratio of the exchange at samples[i] to half a round trip of its size and round: the next before or behind it.
static bool ratio_at(const struct clab_sample *samples, int n, int i, double *ratio_p)
{
    const struct clab_sample *both = &samples[i];
    for (int d = 1; d < n; d++)
        for (int k = i - d; k <= i + d; k += 2 * d)
            if (k >= 0 && k < n && samples[k].probe == CLAB_PROBE_PINGPONG && samples[k].bytes == both->bytes) {
                *ratio_p = both->seconds / samples[k].seconds;
                return true;
            }
    return false;
}

int clab_fit_port(const struct clab_sample *samples, int n, enum clab_port *port_p)
{
    const double nearer = 1.2; // to one message than to one and a half, which is what a core makes of two
    double *ratios = malloc((size_t)(n > 0 ? n : 1) * sizeof *ratios);
    int found = 0;
    if (!ratios)
        return CLAB_ENOMEM;
    for (int i = 0; i < n; i++)
        if (samples[i].probe == CLAB_PROBE_EXCHANGE && samples[i].bytes >= LARGE)
            found += ratio_at(samples, n, i, &ratios[found]);
    if (found)
        *port_p = clab_quantile(ratios, found, 0.5) < nearer ? CLAB_PORT_DUPLEX : CLAB_PORT_CORE;
    else
        clab_error("fit: there is no exchange and round trip of %d bytes or more", LARGE);
    free(ratios);
    return found ? CLAB_OK : CLAB_EINVAL;
}

static void fit_levels(struct fit_round *r, struct clab_net *net)
{
    for (size_t bytes = 0; (bytes = fit_next_level(r, bytes)) && net->nlevels < CLAB_NET_LEVELS;) {
        struct clab_level *level = &net->levels[net->nlevels++];
        level->bytes = bytes;
        for (int load = 0; load < CLAB_LOADS; load++) {
            const struct clab_sample *copy = fit_find(r, CLAB_PROBE_COPY, bytes, CLAB_KEPT, load);
            const struct clab_sample *sum = fit_find(r, CLAB_PROBE_SUM, bytes, CLAB_KEPT, load);
            level->copy[load] = copy->seconds / (double)copy->bytes;
            level->reduce[CLAB_KEPT][load] = level->add[load] = sum->seconds / (double)sum->bytes;
        }
    }
}

void fit_wire(struct fit_round *r, struct clab_net *net, struct clab_link *link)
{
    link->port = r->link->port;
    if (r->link->across && link->port == CLAB_PORT_DUPLEX)
        fit_between(r, link);
    else
        fit_within(r, link);
    fit_levels(r, net);
    if (net->nlevels)
        net->gamma = clab_net_level(net, 4 << 20).reduce[CLAB_KEPT][CLAB_ALONE];
}
