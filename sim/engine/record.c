// SPDX-License-Identifier: MIT
// The memory of a record, and its words.

#include "sim/engine/record.h"

#include <stdlib.h>

#include "core/base/err.h"
#include "core/base/log.h"
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
    r->ncores = s->cores ? ranks * (size_t)s->net->cores_per_node : 0;
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

// `things` with room for more than n, each of `size` bytes; NULL: there is no memory, and they are as they were.
static void *make_room(struct full *s, void *things, int *room, int n, size_t size)
{
    if (n < *room)
        return things;
    int wanted = n < 512 ? 1024 : 2 * n;
    void *more = realloc(things, (size_t)wanted * size);
    if (more)
        *room = wanted;
    else
        s->err = CLAB_ENOMEM;
    return more;
}

int32_t recorder_item(struct full *s, struct clab_record_item item)
{
    struct clab_record *r = s->recorder->record;
    if (item.begin == item.end)
        return item.cause;
    struct clab_record_item *items = make_room(s, r->items, &r->items_room, r->nitems, sizeof *items);
    if (!items)
        return CLAB_RECORD_NONE;
    r->items = items;
    items[r->nitems] = item;
    return r->nitems++;
}

int32_t recorder_message(struct full *s, struct clab_record_message message)
{
    struct clab_record *r = s->recorder->record;
    if (r->nmessages == CLAB_RECORD_MESSAGES) {
        clab_error("a record holds %d messages at most, and this collective has more: ask for fewer ranks or calls",
                   CLAB_RECORD_MESSAGES);
        s->err = CLAB_EINVAL;
    }
    if (s->err)
        return CLAB_RECORD_NONE;
    struct clab_record_message *messages = make_room(s, r->messages, &r->messages_room, r->nmessages, sizeof *messages);
    if (!messages)
        return CLAB_RECORD_NONE;
    r->messages = messages;
    messages[r->nmessages] = message;
    return r->nmessages++;
}

void recorder_stage(struct full *s, struct clab_record_stage stage)
{
    struct clab_record *r = s->recorder->record;
    struct clab_record_stage *stages = make_room(s, r->stages, &r->stages_room, r->nstages, sizeof *stages);
    if (!stages)
        return;
    r->stages = stages;
    stages[r->nstages++] = stage;
}

void recorder_keep(struct full *s, int32_t index)
{
    struct recorder *r = s->recorder;
    struct recorded *in_flight = make_room(s, r->in_flight, &r->in_flight_room, index, sizeof *in_flight);
    if (!in_flight)
        return;
    r->in_flight = in_flight;
    in_flight[index] = r->posting;
}
