// SPDX-License-Identifier: MIT
// --trace: the engine's record as a timeline, in the same form as a measured one.

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/err.h"
#include "core/base/machine/machine.h"
#include "sim/engine/record.h"
#include "core/trace/timeline.h"
#include "cmd/sim/why.h"

// ---- calls and stages ----------------------------------------------------------------------------------------

static int add_stages(const struct clab_record *record, struct clab_timeline *timeline)
{
    struct clab_timeline_stage *stages = malloc(((size_t)record->nstages + 1) * sizeof *stages);
    if (!stages)
        return CLAB_ENOMEM;
    for (int i = 0; i < record->nstages; i++) {
        const struct clab_record_stage *s = &record->stages[i];
        stages[i] = (struct clab_timeline_stage){.begin = s->begin,
                                                 .end = s->end,
                                                 .serial = s->call,
                                                 .process = s->rank,
                                                 .stage = s->stage,
                                                 .lane = s->lane};
    }
    int err = clab_timeline_add_stages(timeline, stages, record->nstages);
    free(stages);
    return err;
}

static void widen(struct clab_timeline_call *call, double begin, double end)
{
    call->begin = begin < call->begin ? begin : call->begin;
    call->end = end > call->end ? end : call->end;
}

// A call lasts from its rank's first action for it to the last.
static int add_calls(const struct sim_why *w, const struct clab_record *record, struct clab_timeline *timeline)
{
    const struct clab_problem *p = w->problem;
    const int n = record->nranks * record->calls;
    struct clab_timeline_call *calls = malloc(((size_t)n + 1) * sizeof *calls);
    if (!calls)
        return CLAB_ENOMEM;
    for (int i = 0; i < n; i++)
        calls[i] = (struct clab_timeline_call){.begin = 1e300,
                                               .comm = 1,
                                               .count = p->count,
                                               .serial = (uint32_t)(i % record->calls),
                                               .sequence = (uint32_t)(i % record->calls),
                                               .process = i / record->calls,
                                               .rank = i / record->calls,
                                               .nranks = p->nranks,
                                               .root = p->root,
                                               .group = p->group,
                                               .what = (uint8_t)p->collective,
                                               .type = (uint8_t)w->type,
                                               .lanes = (uint8_t)p->lanes,
                                               .algorithm = (uint8_t)clab_algorithm_number(w->algorithm)};
    for (int i = 0; i < record->nstages; i++) {
        const struct clab_record_stage *s = &record->stages[i];
        widen(&calls[s->rank * record->calls + s->call], s->begin, s->end);
    }
    for (int i = 0; i < record->nitems; i++) {
        const struct clab_record_item *item = &record->items[i];
        if (item->unit == CLAB_UNIT_CORE && item->did != CLAB_DID_DELAY && item->did != CLAB_DID_COMPUTE)
            widen(&calls[item->rank * record->calls + item->call], item->begin, item->end);
    }
    int kept = 0;
    for (int i = 0; i < n; i++)
        if (calls[i].begin <= calls[i].end)
            calls[kept++] = calls[i];
    int err = clab_timeline_add_calls(timeline, calls, kept);
    free(calls);
    return err;
}

// ---- cores and ports -----------------------------------------------------------------------------------------

static int row_of(const struct clab_record_item *item)
{
    return item->did == CLAB_DID_COMPUTE  ? CLAB_ROW_COMPUTE
           : item->unit == CLAB_UNIT_CORE ? CLAB_ROW_CORE
           : item->unit == CLAB_UNIT_OUT  ? CLAB_ROW_OUT
                                          : CLAB_ROW_IN;
}

// The ports at both ends show the bytes on the wire. A port whose clock is ahead can not be drawn beside the others.
static bool is_shown(const struct clab_record_item *item)
{
    return item->unit != CLAB_UNIT_WIRE && item->end > item->begin && item->did != CLAB_DID_BURST;
}

static int add_spans(const struct clab_record *record, struct clab_timeline *timeline)
{
    struct clab_timeline_span *spans = malloc(((size_t)record->nitems + 1) * sizeof *spans);
    int n = 0;
    if (!spans)
        return CLAB_ENOMEM;
    for (int i = 0; i < record->nitems; i++) {
        const struct clab_record_item *item = &record->items[i];
        if (!is_shown(item))
            continue;
        struct clab_timeline_span *s = &spans[n++];
        *s = (struct clab_timeline_span){.kept = -1,
                                         .begin = item->begin,
                                         .end = item->end,
                                         .bytes = item->peer >= 0 ? (int64_t)item->bytes : -1,
                                         .process = item->rank,
                                         .row = row_of(item),
                                         .peer = item->peer,
                                         .stage = item->stage};
        snprintf(s->name, sizeof s->name, "%s", clab_did_text((enum clab_did)item->did));
    }
    int err = clab_timeline_add_spans(timeline, spans, n);
    free(spans);
    return err;
}

// ---- the file ------------------------------------------------------------------------------------------------

static int describe(const struct sim_why *w, const struct clab_record *record, struct clab_manifest *about)
{
    CLAB_TRY(clab_manifest_add(about, "command", "%s", w->command));
    CLAB_TRY(clab_manifest_add(about, "kind", "simulated"));
    CLAB_TRY(clab_manifest_add(about, "network", "%s: %s", w->net->name, w->net->title));
    CLAB_TRY(clab_manifest_add(about, "algorithm", "%s", w->algorithm->name));
    if (record->folded)
        CLAB_TRY(clab_manifest_add(about, "folded", "%d ranks stand for all %d", record->nranks, w->problem->nranks));
    return clab_machine_describe(about);
}

int sim_trace_write(const struct sim_why *w, const struct clab_record *record)
{
    struct clab_timeline timeline = {0};
    struct clab_manifest about = {0};
    int err = add_calls(w, record, &timeline);
    if (!err)
        err = add_stages(record, &timeline);
    if (!err)
        err = add_spans(record, &timeline);
    if (!err)
        err = describe(w, record, &about);
    if (!err)
        err = clab_timeline_write(&timeline, CLAB_TIMELINE_SIMULATED, w->trace, &about);
    clab_manifest_free(&about);
    clab_timeline_free(&timeline);
    return err;
}
