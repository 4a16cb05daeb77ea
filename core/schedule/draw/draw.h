// SPDX-License-Identifier: MIT
// Drawings of schedules: what every rank does in every round, and what its chunks are made of after it.
// - Made from a trace, so from the schedule itself.
// - Chunks are c0, c1 ... of CLAB_DATA, i0 ... of CLAB_INPUT, s0 ... of CLAB_SCRATCH; lane 2's are 2:c0 ...
#pragma once

#include <stdio.h>

#include "core/schedule/verify/trace.h"

// Rounds from top to bottom. Up to 8 ranks: one column per rank, with its messages and chunks; more: one line per
// round.
//   errors: CLAB_ENOMEM
int clab_draw_text(const struct clab_trace *trace, FILE *out);

// A space-time diagram, time from left to right, and matrices of (rank, chunk) under it. In SVG 1.1, black, blue and
// orange that can be told apart in grey.
//   errors: CLAB_ENOMEM
int clab_draw_svg(const struct clab_trace *trace, FILE *out);

// The space-time diagram alone, without a title, in letters that the last row of a hall can read.
//   trace: of at most 16 ranks
int clab_draw_slide(const struct clab_trace *trace, FILE *out);

// One page that plays the rounds, with buttons and keys, and lists them; it loads nothing. Bytes: an element is one.
//   trace:  of at most 64 ranks
//   errors: CLAB_ENOMEM
int clab_draw_html(const struct clab_trace *trace, FILE *out);

enum { CLAB_LABEL = 40 }; // enough for any span's name

// "c3", "c3-5", or, of several lanes, "1:c3"; "" for what a barrier sends.
const char *clab_span_label(const struct clab_trace *trace, int lane, struct clab_span span, char out[CLAB_LABEL]);

// "allreduce ring, 4 ranks: 6 rounds, each sends ≤ 1.5 buffers". A buffer is the collective's whole one.
const char *clab_trace_title(const struct clab_trace *trace, char out[200]);
