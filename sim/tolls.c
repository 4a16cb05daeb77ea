// SPDX-License-Identifier: MIT
// A segment's figures times a message's bytes.

#include "tolls.h"

struct toll *tolls_fill(struct tolls *tolls, struct toll *toll, const struct clab_link *link, size_t bytes)
{
    const struct clab_segment *s = clab_link_segment(link, bytes);
    struct ticks t = tolls->ticks;
    double each = s->buffers ? s->gap : 0, whole = (double)bytes, first = (double)(bytes < s->fragment ? bytes : s->fragment);
    *toll = (struct toll){
        .segment = s,
        .bytes = bytes,
        .o_send = ticks_round(t, s->o_send),
        .send = ticks_round(t, each + whole * s->gap_send),
        .head = ticks_round(t, first * s->gap_send) + ticks_round(t, s->latency),
        .o_recv = ticks_round(t, s->o_recv),
        .both = ticks_round(t, s->o_both + whole * s->gap_both),
        .recv = s->memory ? 0 : ticks_round(t, each + whole * s->gap_recv),
        .last = ticks_round(t, (whole - first) * s->gap_send) + (s->memory ? 0 : ticks_round(t, first * s->gap_recv)),
        .reduce = ticks_round(t, whole * tolls->gamma),
        .latency = ticks_round(t, s->latency),
        .ahead = ticks_round(t, link->burst),
        .waits = s->waits,
        .buffers = s->buffers,
    };
    return toll;
}
