// SPDX-License-Identifier: MIT
// The memory of a record, and its words.

#include "sim/engine/record.h"

#include <stdlib.h>

#include "core/base/err.h"
#include "core/base/log.h"
#include "core/base/vector.h"
#include "sim/engine/full.h"
#include "sim/engine/recorder.h"

const char *clab_did_text(enum clab_did did)
{
    static const char *const texts[] = {
#define X(name, text, part) text,
        CLAB_DIDS(X)
#undef X
    };
    return texts[did];
}

enum clab_record_part clab_did_part(enum clab_did did)
{
    static const enum clab_record_part parts[] = {
#define X(name, text, part) CLAB_PART_##part,
        CLAB_DIDS(X)
#undef X
    };
    return parts[did];
}

const char *clab_record_part_name(enum clab_record_part part)
{
    static const char *const names[] = {"latency", "bandwidth", "reduce", "wait"};
    return names[part];
}

void clab_record_free(struct clab_record *record)
{
    free(record->items);
    free(record->messages);
    free(record->stages);
    free(record->ends);
    free(record->finish);
    *record = (struct clab_record){0};
}

// ---- the recorder --------------------------------------------------------------------------------------------

static void clear(int32_t *indices, size_t n)
{
    for (size_t i = 0; i < n; i++)
        indices[i] = CLAB_RECORD_NONE;
}

static int32_t *new_indices(size_t n)
{
    int32_t *indices = malloc((n + 1) * sizeof *indices);
    if (indices)
        clear(indices, n);
    return indices;
}

int recorder_open(struct full *s, struct clab_record *record)
{
    const size_t ranks = (size_t)s->nranks, lanes = ranks * (size_t)s->problem->lanes;
    struct recorder *r = s->recorder = calloc(1, sizeof *r);
    if (!r)
        return CLAB_ENOMEM;
    *record = (struct clab_record){
        .calls = s->calls, .nranks = s->nranks, .lanes = s->problem->lanes, .folded = s->period > 0};
    r->record = record;
    r->ncores = s->owners ? (size_t)s->net->machine_cores : s->cores ? ranks * (size_t)s->net->cores_per_node : 0;
    r->values = new_indices(ranks * RECORDER_VALUES);
    r->clocks = new_indices(lanes);
    r->lane_ends = new_indices(lanes);
    r->begun = calloc(lanes, sizeof *r->begun);
    r->cores = new_indices(r->ncores);
    record->ends = new_indices((size_t)s->calls);
    record->finish = calloc((size_t)s->calls, sizeof *record->finish);
    if (!r->values || !r->clocks || !r->lane_ends || !r->begun || !r->cores || !record->ends || !record->finish)
        return CLAB_ENOMEM;
    return CLAB_OK;
}

void recorder_close(struct full *s)
{
    struct recorder *r = s->recorder;
    if (!r)
        return;
    free(r->values);
    free(r->clocks);
    free(r->lane_ends);
    free(r->begun);
    free(r->cores);
    free(r->in_flight);
    free(r);
    s->recorder = NULL;
}

int32_t recorder_item(struct full *s, struct clab_record_item item)
{
    struct clab_record *r = s->recorder->record;
    if (item.begin == item.end)
        return item.cause;
    if (CLAB_PUSH(r->items, r->nitems, r->items_room, item)) {
        s->err = CLAB_ENOMEM;
        return CLAB_RECORD_NONE;
    }
    return r->nitems - 1;
}

int32_t recorder_message(struct full *s, struct clab_record_message message)
{
    struct clab_record *r = s->recorder->record;
    if (r->nmessages == CLAB_RECORD_MESSAGES) {
        clab_error("a record holds %d messages at most, and this collective has more: ask for fewer ranks or calls",
                   CLAB_RECORD_MESSAGES);
        s->err = CLAB_EINVAL;
    }
    if (!s->err)
        s->err = CLAB_PUSH(r->messages, r->nmessages, r->messages_room, message);
    return s->err ? CLAB_RECORD_NONE : r->nmessages - 1;
}

void recorder_stage(struct full *s, struct clab_record_stage stage)
{
    struct clab_record *r = s->recorder->record;
    if (CLAB_PUSH(r->stages, r->nstages, r->stages_room, stage))
        s->err = CLAB_ENOMEM;
}

void recorder_keep(struct full *s, int32_t index)
{
    struct recorder *r = s->recorder;
    if (CLAB_RESERVE(r->in_flight, r->in_flight_room, index + 1))
        s->err = CLAB_ENOMEM;
    else
        r->in_flight[index] = r->posting;
}
