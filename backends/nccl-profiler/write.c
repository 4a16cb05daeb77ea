// SPDX-License-Identifier: MIT
// The event log as a trace file, with the processes and rows of core/trace/timeline.h: measured rank r is process 2r;
// its calls are in the row of collectives, and channel c is lane c.
//
// - A call lasts from where its first channel begins to where its last one ends; one that the GPU told nothing of, as
//   long as it took to be enqueued, and says so.
// - JSON by hand, of numbers and plain words: a GPU machine may have no library for it.

#include "backends/nccl-profiler/event_log.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "core/base/err.h"
#include "core/base/log.h"
#include "core/base/order.h"
#include "core/base/files/output.h"
#include "core/trace/timeline.h"

// What is drawn.
struct slice {
    int64_t begin, end; // ns of CLOCK_MONOTONIC
    int process, row;
    const struct logged_call *call; // NULL: overwritten since
    bool is_enqueued;
};

struct writer {
    FILE *out;
    int64_t origin;
    int process, row, rows; // of the slice before; rows: beside each other
    int64_t ends[CLAB_ROW_STRIDE];
    bool any;
};

// ---- slices --------------------------------------------------------------------------------------------------

static int64_t first_kept(int64_t ever, int64_t room)
{
    return ever > room ? ever - room : 0;
}

// Room for all is there. Returns how many.
static int take_calls(const struct event_log *events, struct slice *slices)
{
    int n = 0;
    for (int64_t i = first_kept(events->ncalls, EVENT_LOG_CALLS); i < events->ncalls; i++) {
        const struct logged_call *call = event_log_call(events, i);
        slices[n++] = (struct slice){.begin = call->begin,
                                     .end = call->end,
                                     .process = call->process,
                                     .row = CLAB_ROW_COLLECTIVE,
                                     .call = call,
                                     .is_enqueued = true};
    }
    return n;
}

// A call lasts as long as its channel events.
static void widen(struct slice *call, const struct slice *event)
{
    call->begin = call->is_enqueued || event->begin < call->begin ? event->begin : call->begin;
    call->end = call->is_enqueued || event->end > call->end ? event->end : call->end;
    call->is_enqueued = false;
}

// Append the channel events that have ended to (n) slices of calls, and widen those.
static int take_channel_events(struct event_log *events, struct slice *slices, int n)
{
    const int64_t first_call = first_kept(events->ncalls, EVENT_LOG_CALLS);
    for (int64_t i = first_kept(events->nchannel_events, EVENT_LOG_CHANNELS); i < events->nchannel_events; i++) {
        const struct channel_event *p = event_log_channel(events, i);
        const int64_t *clock = event_log_clock(events, p->process);
        if (!p->end || !clock || p->channel >= CLAB_ROW_COMPUTE - CLAB_ROW_LANE)
            continue;
        slices[n] = (struct slice){.begin = p->begin + *clock,
                                   .end = p->end + *clock,
                                   .process = p->process,
                                   .row = CLAB_ROW_LANE + p->channel,
                                   .call = event_log_call(events, p->call)};
        if (slices[n].call)
            widen(&slices[p->call - first_call], &slices[n]);
        n++;
    }
    return n;
}

static int by_row_and_begin(const void *a, const void *b)
{
    const struct slice *x = a, *y = b;
    return CLAB_ORDER(x->process, y->process) ?: CLAB_ORDER(x->row, y->row) ?: CLAB_ORDER(x->begin, y->begin)
        ?: CLAB_ORDER(y->end, x->end);
}

// ---- JSON ----------------------------------------------------------------------------------------------------

// Processes and rows are numbered from 1, as in all traces of the kit (core/base/files/viewer.h).
static void begin_event(struct writer *w, const char *kind, const char *category, int process, int row)
{
    fprintf(w->out, "%s\n{\"ph\":\"%s\",\"cat\":\"%s\",\"pid\":%d,\"tid\":%d,", w->any ? "," : "", kind, category,
            2 * process + 1, row + 1);
    w->any = true;
}

static void name_process(struct writer *w, int process)
{
    begin_event(w, "M", "__metadata", process, 0);
    fprintf(w->out, "\"name\":\"process_name\",\"args\":{\"name\":\"rank %d (measured)\"}}", process);
    begin_event(w, "M", "__metadata", process, 0);
    fprintf(w->out, "\"name\":\"process_sort_index\",\"args\":{\"sort_index\":%d}}", 2 * process);
}

static void name_row(struct writer *w, int process, int row, int beside)
{
    begin_event(w, "M", "__metadata", process, row * CLAB_ROW_STRIDE + beside);
    fprintf(w->out, "\"name\":\"thread_name\",\"args\":{\"name\":\"");
    if (row == CLAB_ROW_COLLECTIVE)
        fprintf(w->out, "NCCL");
    else
        fprintf(w->out, "channel %d", row - CLAB_ROW_LANE);
    if (beside)
        fprintf(w->out, " (%d)", beside + 1);
    fprintf(w->out, "\"}}");
}

// The row in which a slice overlaps no other one; -1: there are too many at once.
static int place(struct writer *w, const struct slice *s)
{
    int beside = 0;
    if (s->process != w->process)
        name_process(w, s->process);
    if (s->process != w->process || s->row != w->row)
        w->rows = 0;
    w->process = s->process;
    w->row = s->row;
    while (beside < w->rows && w->ends[beside] > s->begin)
        beside++;
    if (beside == CLAB_ROW_STRIDE)
        return -1;
    if (beside == w->rows) {
        w->rows++;
        name_row(w, s->process, s->row, beside);
    }
    w->ends[beside] = s->end;
    return s->row * CLAB_ROW_STRIDE + beside;
}

static void write_time(FILE *out, const char *key, int64_t ns)
{
    fprintf(out, "\"%s\":%" PRId64 ".%03d,", key, ns / 1000, (int)(ns % 1000));
}

static void write_name(FILE *out, const struct logged_call *c)
{
    if (!c)
        fprintf(out, "\"name\":\"overwritten\",");
    else if (c->peer != EVENT_LOG_NONE)
        fprintf(out, "\"name\":\"%s %d\",", c->name, c->peer);
    else
        fprintf(out, "\"name\":\"%s (%s %s)\",", c->name, c->algorithm, c->protocol);
}

static void write_arguments(FILE *out, const struct slice *s)
{
    const struct logged_call *c = s->call;
    fprintf(out, "\"args\":{");
    if (c) {
        fprintf(out,
                "\"count\":%" PRIu64 ",\"type\":\"%s\",\"rank\":%d,\"ranks\":%d,\"communicator\":\"%016" PRIx64 "\"",
                c->count, c->type, c->rank, c->ranks, c->communicator);
        if (c->peer == EVENT_LOG_NONE)
            fprintf(out, ",\"sequence\":%" PRIu64 ",\"root\":%d", c->sequence, c->root);
        fprintf(out, ",\"channels\":%d", c->channels);
        if (s->is_enqueued)
            fprintf(out, ",\"time\":\"of enqueueing: the GPU told nothing\"");
    }
    fprintf(out, "}}");
}

static bool write_slice(struct writer *w, const struct slice *s)
{
    const int row = place(w, s);
    if (row < 0)
        return false;
    begin_event(w, "X", s->row == CLAB_ROW_COLLECTIVE ? "collective" : "channel", s->process, row);
    write_name(w->out, s->call);
    write_time(w->out, "ts", s->begin - w->origin);
    write_time(w->out, "dur", s->end - s->begin);
    write_arguments(w->out, s);
    return true;
}

static void write_other_data(const struct event_log *events, int left_out, FILE *out)
{
    const int64_t calls = first_kept(events->ncalls, EVENT_LOG_CALLS),
                  channel_events = first_kept(events->nchannel_events, EVENT_LOG_CHANNELS);
    fprintf(out, "\n],\"otherData\":{\"source\":\"NCCL, by libnccl-profiler-commlab.so\"");
    if (calls || channel_events)
        fprintf(out, ",\"overwritten\":\"%" PRId64 " calls and %" PRId64 " channel events, the first ones\"", calls,
                channel_events);
    if (left_out)
        fprintf(out, ",\"missing\":\"%d that lay beside more than %d others\"", left_out, CLAB_ROW_STRIDE);
    fprintf(out, "}}\n");
}

static void write_all(const struct event_log *events, const struct slice *slices, int n, FILE *out)
{
    struct writer w = {.out = out, .origin = n ? slices[0].begin : 0, .process = -1, .row = -1};
    int left_out = 0;
    for (int i = 0; i < n; i++)
        w.origin = slices[i].begin < w.origin ? slices[i].begin : w.origin;
    fprintf(out, "{\"displayTimeUnit\":\"ns\",\"traceEvents\":[");
    for (int i = 0; i < n; i++)
        left_out += !write_slice(&w, &slices[i]);
    write_other_data(events, left_out, out);
}

int event_log_write(struct event_log *events, const char *path)
{
    const int64_t most = events->ncalls - first_kept(events->ncalls, EVENT_LOG_CALLS) + events->nchannel_events -
                         first_kept(events->nchannel_events, EVENT_LOG_CHANNELS);
    struct slice *slices = malloc(((size_t)most + 1) * sizeof *slices);
    struct clab_output output;
    if (!slices) {
        clab_error("%s: no memory for its %" PRId64 " events", path, most);
        return CLAB_ENOMEM;
    }
    const int n = take_channel_events(events, slices, take_calls(events, slices));
    qsort(slices, (size_t)n, sizeof *slices, by_row_and_begin);
    int err = clab_output_open(path, &output);
    if (!err) {
        write_all(events, slices, n, output.file);
        err = clab_output_close(&output);
    }
    free(slices);
    return err;
}
