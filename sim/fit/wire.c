// SPDX-License-Identifier: MIT
// A wire: messages by way of sockets, adapters, or whatever moves bytes without one rank reading the other's memory.
//
// Where ranks send and receive at once (CLAB_PORT_DUPLEX):
//
//     half a round trip           o_send + latency + o_recv + m * gap_send
//     a message in a stream       gap + m * gap_send, or o_send, or o_recv, if they are more
//     an exchange                 half a round trip + o_both + m * gap_both
//
// Between hosts the wire is what costs, a byte of every message the same. Headers are bytes, too. A token bucket lets
// the first of them go ahead of their turn, so that large messages gain a `burst` of time; where they lose time instead,
// it is the latency of those that wait for their receiver. A core takes its time beside the wire:
//
//     after a rest, half a round trip         o_send + o_recv; then the sender's core is busy for o_after more
//     after a rest, messages in a row         o_send + o_after
//     a message that has come before          o_recv; of many of those, o_recv - o_joined
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

// Bytes: the largest that a probe sends in one packet; those from which on a wire is nearly all that counts. On a slow
// wire it is all that counts from fewer on, and probes go no further than twice those.
enum { PACKET = 1 << 10, LARGE = 32 << 10, LARGE_AT_LEAST = 8 << 10 };

// What TCP over Ethernet sends beside a message, in bytes: with each packet the headers of Ethernet, IP and TCP with
// timestamps (IEEE 802.3, RFC 791, RFC 7323); with each message libfabric's, which has its tag and immediate data.
enum { PACKET_HEADER = 14 + 20 + 32, PACKET_DATA = 1500 - 20 - 32, MESSAGE_HEADER = 32 };

// ---- between hosts -------------------------------------------------------------------------------------------

// What holds for messages of all sizes, in s and s/B.
struct wire {
    double byte, full;     // of all that passes; of a long message, with the headers of full packets
    double acks;           // of a long message, on the way back
    double half;           // from host to host, of a small message that finds the wire idle
    double o_send, o_recv; // of its cores
    double found;          // of the receiver's, for one of many that have come
    double o_after, o_both;
    double gain;           // s that a message may go ahead of its turn
    size_t some;           // bytes of a few packets
    double some_busy;      // s of the sender's core for those, after they are handed over
    struct fit_line carry; // of longer ones: of the sender's core
    double room, waiting;  // bytes that go ahead; s/B more of that core for those that wait
    double core_recv;
};

static size_t large_of(const struct clab_sample *samples, int n)
{
    size_t largest = 2 * LARGE_AT_LEAST;
    for (int i = 0; i < n; i++)
        if (samples[i].probe == CLAB_PROBE_EXCHANGE && samples[i].bytes > largest)
            largest = samples[i].bytes;
    return largest / 2 < LARGE ? largest / 2 : LARGE;
}

static double time_at(struct fit_round *r, enum clab_probe probe, size_t bytes)
{
    return fit_line_through(r, probe, bytes, bytes).start;
}

// The next larger size of the stream's messages, of one packet; 0: there is none.
static size_t next_size(const struct fit_round *r, size_t bytes)
{
    size_t next = 0;
    for (int i = 0; i < r->n; i++) {
        const size_t size = r->samples[i].bytes;
        if (r->samples[i].probe == CLAB_PROBE_STREAM && size > bytes && size <= PACKET && (!next || size < next))
            next = size;
    }
    return next;
}

// What the wire takes for a message of one packet that leaves alone, beside its own bytes.
static double headers_on(const struct wire *w)
{
    return (MESSAGE_HEADER + PACKET_HEADER) * w->byte;
}

// The same for a longer one, beside full packets: of its last packet, which is half full on average.
static double rest_on(const struct wire *w)
{
    return (MESSAGE_HEADER + PACKET_HEADER / 2) * w->byte;
}

// Whether the wire, rather than a core, decides how long the probe's message of one packet takes.
static bool is_held(const struct wire *w, size_t bytes, double seconds)
{
    return headers_on(w) + (double)bytes * w->byte > 0.9 * seconds;
}

// What a message gains by going ahead of its turn: of the two least sizes whose messages are away for so long that the
// bucket on the way back, which the last one emptied, fills again. Of those below, the bucket or the cores decide.
static double gain_of(struct fit_round *r, const struct wire *w)
{
    const double fills = 0.6; // of the wire's time for a message; at half of it, the bucket is what is measured
    const double counts = 4;  // times a small message's way, from which on the wire decides
    double sum = 0;
    int n = 0;
    for (size_t bytes = PACKET; n < 2 && !r->err; bytes *= 2) {
        const double seconds = time_at(r, CLAB_PROBE_PINGPONG, bytes), wire = (double)bytes * w->full + rest_on(w);
        if (seconds < fills * wire || wire < counts * w->half)
            continue;
        sum += w->half + wire - seconds;
        n++;
    }
    return sum / 2;
}

// The least of the carried messages that has several packets.
static size_t next_carried(const struct fit_round *r)
{
    size_t next = SIZE_MAX;
    for (int i = 0; i < r->n; i++)
        if (r->samples[i].probe == CLAB_PROBE_CARRY && r->samples[i].bytes > PACKET && r->samples[i].bytes < next)
            next = r->samples[i].bytes;
    return next;
}

// A core that sends a message of several packets takes its time by the byte, and for packets that wait a timer each.
// After a rest those wait that a bucket does not let go at once.
static void split_carry(struct fit_round *r, struct wire *w)
{
    const double some = (double)w->some;
    w->carry = fit_line_through(r, CLAB_PROBE_CARRY, w->some, SIZE_MAX);
    w->some_busy = fit_at_least_0(time_at(r, CLAB_PROBE_CARRY, w->some) - w->o_send - w->o_after);
    w->room = fit_at_least_0(w->gain / w->full);
    if (w->room > 0)
        w->waiting = fit_at_least_0(some * w->carry.slope - w->some_busy) / fmin(some, w->room);
    w->waiting = fmin(w->waiting, w->carry.slope);
}

static struct wire wire_of(struct fit_round *r)
{
    const double full = fit_line_through(r, CLAB_PROBE_STREAM, 2 * PACKET, SIZE_MAX).slope;
    const size_t least = next_size(r, 0);
    const double both = time_at(r, CLAB_PROBE_EXCHANGE, least);
    struct wire w = {.full = full, .byte = full * PACKET_DATA / (PACKET_DATA + PACKET_HEADER)};
    w.acks =
        fit_at_least_0(fit_line_through(r, CLAB_PROBE_EXCHANGE, large_of(r->samples, r->n), SIZE_MAX).slope - full);
    w.half = fit_time(r, CLAB_PROBE_REST);
    w.o_recv = fmin(time_at(r, CLAB_PROBE_FETCH, least), w.half / 2);
    w.o_send = w.half - w.o_recv;
    w.found = fmin(fit_time(r, CLAB_PROBE_FOUND), w.o_recv);
    const double post = time_at(r, CLAB_PROBE_POST, least), stream = time_at(r, CLAB_PROBE_STREAM, least);
    w.o_after = fit_at_least_0((is_held(&w, least, stream) ? post : fmax(post, stream)) - w.o_send);
    w.gain = gain_of(r, &w);
    w.some = next_carried(r);
    split_carry(r, &w);
    w.core_recv = fit_at_least_0(fit_line_through(r, CLAB_PROBE_FETCH, 0, SIZE_MAX).slope);
    if (!is_held(&w, least, both))
        w.o_both = fit_at_least_0(both - fmax(w.half, w.o_send + w.o_after + w.o_recv));
    return w;
}

// Messages of one packet, up to `bytes`. Those that follow each other wait for the wire, or for their sender; and where
// the sender is faster, TCP lets some of them leave together (autocorking), so that they share a packet's headers.
static struct clab_segment packet_of(struct fit_round *r, const struct wire *w, size_t bytes)
{
    const double near = 0.5; // of a message's time, from which on the wire has a part in it
    const double stream = time_at(r, CLAB_PROBE_STREAM, bytes), each = stream - (double)bytes * w->byte;
    const double wire = (double)bytes * w->byte + headers_on(w);
    struct clab_segment s = {.up_to = bytes,
                             .o_send = w->o_send,
                             .o_after = w->o_after,
                             .o_recv = w->o_recv,
                             .o_joined = w->o_recv - w->found,
                             .o_both = w->o_both,
                             .gap = headers_on(w),
                             .gap_send = w->byte,
                             .gap_recv = w->byte,
                             .buffers = true};
    snprintf(s.name, sizeof s.name, "to-%zu", bytes);
    if (stream > wire && wire > near * stream)
        s.gap_out = each - s.gap;
    else if (stream < wire)
        s.gap_joined = fmin(s.gap - each, PACKET_HEADER * w->byte);
    return s;
}

// Of a few packets.
static struct clab_segment some_of(const struct wire *w, const struct clab_segment *packet)
{
    struct clab_segment s = *packet;
    const double some = (double)w->some, late = fit_at_least_0(some - w->room); // bytes that wait after a rest
    snprintf(s.name, sizeof s.name, "to-%zu", w->some);
    s.up_to = w->some;
    s.gap = rest_on(w);
    s.gap_joined = s.gap_out = s.o_joined = 0;
    s.gap_send = s.gap_recv = w->full;
    s.gap_acks = w->acks;
    s.core_wait = late > 0 ? fmin(w->waiting, w->some_busy / late) : w->waiting;
    s.core_send = (w->some_busy - late * s.core_wait) / some;
    return s;
}

// Longer ones.
static struct clab_segment stream_of(const struct wire *w, const struct clab_segment *some)
{
    struct clab_segment s = *some;
    snprintf(s.name, sizeof s.name, "stream");
    s.up_to = SIZE_MAX;
    s.latency += fit_at_least_0(-w->gain);
    s.o_after = fit_at_least_0(w->carry.start - w->o_send + w->waiting * w->room);
    s.core_send = w->carry.slope - w->waiting;
    s.core_wait = w->waiting;
    s.core_recv = w->core_recv;
    return s;
}

static void fit_between(struct fit_round *r, struct clab_net *net, struct clab_link *link)
{
    const struct wire w = wire_of(r);
    struct clab_segment *s = link->segments;
    // The least size has the costs of the next.
    for (size_t bytes = next_size(r, 0); (bytes = next_size(r, bytes)) && link->nsegments < CLAB_NET_SEGMENTS - 2;)
        s[link->nsegments++] = packet_of(r, &w, bytes);
    if (link->nsegments == 0)
        return; // r->err
    s[link->nsegments - 1].up_to = PACKET_DATA - MESSAGE_HEADER;
    s[link->nsegments] = some_of(&w, &s[link->nsegments - 1]);
    s[link->nsegments + 1] = stream_of(&w, &s[link->nsegments]);
    link->nsegments += 2;
    link->burst = fit_at_least_0(w.gain);
    link->alpha = w.half;
    link->beta = w.full;
    net->probed.line = time_at(r, CLAB_PROBE_PINGPONG, next_size(r, 0));
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
    const size_t large = large_of(samples, n);
    int found = 0;
    if (!ratios)
        return CLAB_ENOMEM;
    for (int i = 0; i < n; i++)
        if (samples[i].probe == CLAB_PROBE_EXCHANGE && samples[i].bytes >= large)
            found += ratio_at(samples, n, i, &ratios[found]);
    if (found)
        *port_p = clab_quantile(ratios, found, 0.5) < nearer ? CLAB_PORT_DUPLEX : CLAB_PORT_CORE;
    else
        clab_error("fit: there is no exchange and round trip of %zu bytes or more", large);
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
        fit_between(r, net, link);
    else
        fit_within(r, link);
    fit_levels(r, net);
    if (net->nlevels)
        net->gamma = clab_net_level(net, 4 << 20).reduce[CLAB_KEPT][CLAB_ALONE];
}
