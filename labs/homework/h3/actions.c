// SPDX-License-Identifier: MIT
#include "labs/homework/h3/actions.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/err.h"
#include "core/base/vector.h"

enum { LINE = 96 };

// What the next READY of a rank must be.
struct reading {
    const struct h3_case *c;
    struct h3_rank *rank;
    int order[H3_LAYERS];
    int steps, readies, actions; // begun; seen in this step; of the student in this step
    bool is_in_step, is_finishing;
};

// One line without its end, cut to LINE. False: there is none.
static bool read_line(const char **text_p, const char *end, char line[LINE])
{
    const char *text = *text_p, *stop = text < end ? memchr(text, '\n', (size_t)(end - text)) : NULL;
    if (!stop)
        return false;
    const size_t length = (size_t)(stop - text) < LINE - 1 ? (size_t)(stop - text) : LINE - 1;
    memcpy(line, text, length);
    line[length] = 0;
    *text_p = stop + 1;
    return true;
}

static int put(struct reading *r, struct h3_action action)
{
    return CLAB_PUSH(r->rank->actions, r->rank->n, r->rank->room, action);
}

static int expected_ready(const struct reading *r)
{
    return 2 * r->order[r->readies / 2] + (r->readies % 2 ? 0 : 1);
}

// What the harness itself says. False: it would not say this here.
static bool take_place(struct reading *r, const char *line, struct h3_action *action_p)
{
    int parameter;
    *action_p = (struct h3_action){0};
    if (!strcmp(line, "step") && !r->is_in_step && r->steps < H3_STEPS) {
        action_p->kind = H3_STEP;
        r->steps++;
        r->readies = r->actions = 0;
        r->is_in_step = true;
        r->is_finishing = false;
    } else if (sscanf(line, "ready %d", &parameter) == 1 && r->is_in_step && r->readies < h3_parameters(r->c) &&
               parameter == expected_ready(r)) {
        *action_p = (struct h3_action){.kind = H3_READY, .first = parameter};
        r->readies++;
    } else if (!strcmp(line, "finish") && r->is_in_step && r->readies == h3_parameters(r->c) && !r->is_finishing) {
        action_p->kind = H3_FINISH;
        r->is_finishing = true;
    } else if (!strcmp(line, "done") && r->is_finishing) {
        action_p->kind = H3_DONE;
        r->is_in_step = r->is_finishing = false;
    } else {
        return false;
    }
    return true;
}

// What the student's code has called.
static bool take_call(struct reading *r, const char *line, struct h3_action *a)
{
    *a = (struct h3_action){0};
    if (!r->is_in_step || ++r->actions > H3_ACTIONS)
        return false;
    if (sscanf(line, "reduce %d %d", &a->first, &a->count) == 2)
        a->kind = H3_REDUCE;
    else if (sscanf(line, "wait %d", &a->first) == 1)
        a->kind = H3_WAIT;
    else if (sscanf(line, "scale %d %d %lf", &a->first, &a->count, &a->factor) == 3)
        a->kind = H3_SCALE;
    else if (sscanf(line, "update %d %d", &a->first, &a->count) == 2)
        a->kind = H3_UPDATE;
    else
        return false;
    return true;
}

// The last line of a rank. False: it is none.
static bool take_end(struct reading *r, const char *line)
{
    if (!strcmp(line, "end"))
        r->rank->end = r->steps == H3_STEPS && !r->is_in_step ? H3_ENDED : H3_BROKEN;
    else if (!strcmp(line, "left"))
        r->rank->end = r->rank->end == H3_MANY ? H3_MANY : H3_LEFT;
    else if (sscanf(line, "died %d", &r->rank->signal) == 1)
        r->rank->end = H3_DIED;
    else
        return false;
    return true;
}

static int read_rank(struct reading *r, const char **text_p, const char *end)
{
    char line[LINE];
    struct h3_action action;
    bool is_broken = false;
    while (read_line(text_p, end, line)) {
        if (!line[0])
            continue;
        if (take_end(r, line)) {
            r->rank->end = is_broken ? H3_BROKEN : r->rank->end;
            return CLAB_OK;
        }
        if (!strcmp(line, "many"))
            r->rank->end = H3_MANY;
        else if (!is_broken && (take_place(r, line, &action) || take_call(r, line, &action)))
            CLAB_TRY(put(r, action));
        else
            is_broken = true;
    }
    r->rank->end = H3_BROKEN; // the text is over before the rank
    return CLAB_OK;
}

int h3_trace_read(const struct h3_case *c, int which, const char **text_p, const char *end, struct h3_trace *trace_p)
{
    char line[LINE];
    int got_case, got_rank;
    *trace_p = (struct h3_trace){0};
    for (int rank = 0; rank < c->ranks; rank++) {
        struct reading r = {.c = c, .rank = &trace_p->rank[rank]};
        h3_order(c, rank, r.order);
        const bool is_there = read_line(text_p, end, line) && sscanf(line, "rank %d %d", &got_case, &got_rank) == 2 &&
                              got_case == which && got_rank == rank;
        const int err = is_there ? read_rank(&r, text_p, end) : CLAB_OK;
        if (!is_there)
            r.rank->end = *text_p == end ? H3_UNRUN : H3_BROKEN;
        if (err) {
            h3_trace_free(trace_p);
            return err;
        }
    }
    return CLAB_OK;
}

void h3_trace_free(struct h3_trace *trace)
{
    for (int rank = 0; rank < H3_RANKS; rank++)
        free(trace->rank[rank].actions);
    *trace = (struct h3_trace){0};
}
