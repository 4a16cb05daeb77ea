// SPDX-License-Identifier: MIT
// What each process of a trace has done: calls, stages, messages, and how much of its communication no computing covers.

#include "cmd/trace/file.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/err.h"
#include "core/base/order.h"
#include "core/base/files/viewer.h"
#include "core/trace/timeline.h"

#ifdef HAVE_JANSSON

#include "cmd/trace/file_inside.h"

static void name_process(const struct trace_file *f, int process, char name[64])
{
    size_t i;
    json_t *json;
    snprintf(name, 64, "process %d", process);
    json_array_foreach(f->list, i, json)
    {
        const char *what = json_string_value(json_object_get(json, "name"));
        const char *text = json_string_value(json_object_get(json_object_get(json, "args"), "name"));
        if (json_integer_value(json_object_get(json, "pid")) == process + CLAB_VIEWER_FIRST && what && text &&
            strcmp(what, "process_name") == 0)
            snprintf(name, 64, "%s", text);
    }
}

// In virtual time what a program has told clab_compute: nothing else is done in it.
static bool is_charged(const struct event *e)
{
    return !strcmp(e->name, "compute") || !strcmp(e->name, CLAB_SPAN_MEMORY);
}

// By begin, what holds another before that.
static int by_begin(const void *a, const void *b)
{
    const struct event *x = *(const struct event *const *)a, *y = *(const struct event *const *)b;
    return CLAB_ORDER(x->begin, y->begin) ?: CLAB_ORDER(y->end, x->end) ?: CLAB_ORDER(is_charged(x), is_charged(y));
}

int trace_find_computes(const struct event *spans[], int n, const struct event *calls[], int ncalls,
                        const struct event *computes[])
{
    const double near = 2e-9; // s, as in check_nested
    int found = 0;
    qsort(spans, (size_t)n, sizeof *spans, by_begin);
    qsort(calls, (size_t)ncalls, sizeof *calls, by_begin);
    for (int i = 0, c = 0; i < n; i++) {
        const struct event *e = spans[i];
        const bool has_parts = i + 1 < n && spans[i + 1]->begin < e->end - near;
        while (c < ncalls && calls[c]->begin < e->begin - near)
            c++;
        const bool has_calls = c < ncalls && calls[c]->begin < e->end - near;
        if (!has_parts && (!has_calls || is_charged(e)))
            computes[found++] = e;
    }
    return found;
}

// Room for the slices of a process, taken apart.
struct room {
    const struct event **calls, **spans, **computes;
    struct clab_interval *communication, *computing;
};

// The process of slices [first, last).
static int sum_up(const struct trace_file *f, size_t first, size_t last, const struct room *room,
                  struct trace_process *p)
{
    double begin = f->events[first].begin, end = begin;
    int nspans = 0;
    for (size_t i = first; i < last; i++) {
        const struct event *e = &f->events[i];
        const int row = e->row / CLAB_ROW_STRIDE;
        begin = e->begin < begin ? e->begin : begin;
        end = e->end > end ? e->end : end;
        if (row == CLAB_ROW_COLLECTIVE)
            room->calls[p->calls++] = e;
        else if (row == CLAB_ROW_COMPUTE)
            room->spans[nspans++] = e;
        else if (row < CLAB_ROW_COMPUTE)
            p->stages++;
    }
    p->seconds = end - begin;
    for (size_t i = f->nslices; i < f->n; i++)
        p->arrows += f->events[i].kind == 'f' && f->events[i].process == f->events[first].process;
    const int ncomputes = trace_find_computes(room->spans, nspans, room->calls, p->calls, room->computes);
    for (int i = 0; i < ncomputes; i++)
        room->computing[i] = (struct clab_interval){room->computes[i]->begin, room->computes[i]->end};
    for (int i = 0; i < p->calls; i++)
        room->communication[i] = (struct clab_interval){room->calls[i]->begin, room->calls[i]->end};
    return clab_timeline_exposed(room->communication, p->calls, room->computing, ncomputes, &p->communication,
                                 &p->exposed);
}

static int make_room(size_t n, struct room *room_p)
{
    *room_p = (struct room){malloc((n + 1) * sizeof *room_p->calls), malloc((n + 1) * sizeof *room_p->spans),
                            malloc((n + 1) * sizeof *room_p->computes), malloc((n + 1) * sizeof *room_p->communication),
                            malloc((n + 1) * sizeof *room_p->computing)};
    return room_p->calls && room_p->spans && room_p->computes && room_p->communication && room_p->computing
               ? CLAB_OK
               : CLAB_ENOMEM;
}

static void free_room(const struct room *room)
{
    free(room->computing);
    free(room->communication);
    free(room->computes);
    free(room->spans);
    free(room->calls);
}

int trace_file_sum_up(const struct trace_file *file, struct trace_process **processes_p, int *n_p)
{
    int n = 0;
    struct trace_process *all = calloc(file->nslices + 1, sizeof *all);
    struct room room;
    int err = make_room(file->nslices, &room);
    if (!all)
        err = CLAB_ENOMEM;
    for (size_t first = 0, last; first < file->nslices && !err; first = last) {
        for (last = first; last < file->nslices && file->events[last].process == file->events[first].process;)
            last++;
        name_process(file, file->events[first].process, all[n].name);
        err = sum_up(file, first, last, &room, &all[n++]);
    }
    free_room(&room);
    if (err) {
        free(all);
        return err;
    }
    *processes_p = all;
    *n_p = n;
    return CLAB_OK;
}

#else

int trace_file_sum_up(const struct trace_file *file, struct trace_process **processes_p, int *n_p)
{
    (void)file, (void)processes_p, (void)n_p;
    return CLAB_EUNSUPPORTED;
}

#endif
