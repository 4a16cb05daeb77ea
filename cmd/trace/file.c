// SPDX-License-Identifier: MIT
// Trace files by jansson (file.h).

#include "cmd/trace/file.h"

#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/err.h"
#include "core/base/files/input.h"
#include "core/base/files/json.h"
#include "core/base/log.h"
#include "core/base/order.h"
#include "core/base/files/output.h"
#include "core/base/vector.h"
#include "core/base/files/viewer.h"

#ifdef HAVE_JANSSON

#include "cmd/trace/file_inside.h"

enum { PROCESSES_APART = 1 << 20 };

// ---- reading -------------------------------------------------------------------------------------------------

static int refuse(const char *path, size_t index, const char *what)
{
    clab_error("%s: event %zu %s: commlab did not write this trace, or somebody changed it", path, index, what);
    return CLAB_EPARSE;
}

static bool is_number_from_one(const json_t *json)
{
    const json_int_t number = json_integer_value(json); // 0: it is none
    return number >= CLAB_VIEWER_FIRST && number <= INT_MAX;
}

static int read_event(const char *path, size_t index, const json_t *json, struct event *event_p)
{
    const json_t *process = json_object_get(json, "pid"), *row = json_object_get(json, "tid");
    const json_t *when = json_object_get(json, "ts"), *lasts = json_object_get(json, "dur");
    const char *kind = json_string_value(json_object_get(json, "ph"));
    const char *name = json_string_value(json_object_get(json, "name"));
    if (!kind || !strchr("XsfM", *kind) || !is_number_from_one(process) || !is_number_from_one(row) || !name)
        return refuse(path, index, "has no ph of X, s, f or M, or no pid and tid from 1 on, or no name");
    *event_p = (struct event){.process = (int)json_integer_value(process) - CLAB_VIEWER_FIRST,
                              .row = (int)json_integer_value(row) - CLAB_VIEWER_FIRST,
                              .kind = *kind,
                              .name = name,
                              .index = index};
    if (*kind == 'M')
        return CLAB_OK;
    if (!json_is_number(when) || (*kind == 'X' && !(json_number_value(lasts) >= 0)))
        return refuse(path, index, "has no time, or a negative duration");
    event_p->begin = 1e-6 * json_number_value(when);
    event_p->end = event_p->begin + 1e-6 * json_number_value(lasts);
    event_p->id = json_string_value(json_object_get(json, "id"));
    if (*kind != 'X' && !event_p->id)
        return refuse(path, index, "is an arrow without an id");
    return CLAB_OK;
}

// Slices first, by process, row and begin, the longer first; then arrows by id, s before f.
static int by_row(const void *a, const void *b)
{
    const struct event *x = a, *y = b;
    if (x->kind != 'X' && y->kind != 'X')
        return strcmp(x->id, y->id) ?: CLAB_ORDER(y->kind, x->kind);
    return CLAB_ORDER(y->kind == 'X', x->kind == 'X') ?: CLAB_ORDER(x->process, y->process) ?: CLAB_ORDER(x->row, y->row)
        ?: CLAB_ORDER(x->begin, y->begin) ?: CLAB_ORDER(y->end, x->end);
}

// Each row is a stack of nested slices.
static int check_nested(const char *path, const struct trace_file *f)
{
    const double near = 0.4e-9; // s: less than a tick of the file (core/base/files/viewer.c)
    double open[64];
    int depth = 0;
    for (size_t i = 0; i < f->nslices; i++) {
        const struct event *e = &f->events[i];
        if (i == 0 || e->process != f->events[i - 1].process || e->row != f->events[i - 1].row)
            depth = 0;
        while (depth > 0 && open[depth - 1] <= e->begin + near)
            depth--;
        if (depth > 0 && e->end > open[depth - 1] + near)
            return refuse(path, e->index, "overlaps another slice of its row");
        if (depth == sizeof open / sizeof *open)
            return refuse(path, e->index, "is nested too deep");
        open[depth++] = e->end;
    }
    return CLAB_OK;
}

static int check_arrows(const char *path, const struct trace_file *f)
{
    for (size_t i = f->nslices; i < f->n; i += 2) {
        const struct event *s = &f->events[i], *e = &f->events[i + 1];
        if (i + 1 == f->n || s->kind != 's' || e->kind != 'f' || strcmp(s->id, e->id))
            return refuse(path, s->index, "is an arrow without its other end");
    }
    return CLAB_OK;
}

static int read_events(const char *path, struct trace_file *f)
{
    size_t i;
    json_t *json;
    if (!(f->events = malloc((json_array_size(f->list) + 1) * sizeof *f->events)))
        return CLAB_ENOMEM;
    json_array_foreach(f->list, i, json)
    {
        struct event event;
        CLAB_TRY(read_event(path, i, json, &event));
        if (event.kind == 'M')
            continue;
        f->nslices += event.kind == 'X';
        f->events[f->n++] = event;
    }
    if (f->n)
        qsort(f->events, f->n, sizeof *f->events, by_row);
    CLAB_TRY(check_nested(path, f));
    return check_arrows(path, f);
}

static int parse(const char *text, size_t bytes, const char *path, json_t **root_p)
{
    json_error_t error;
    if ((*root_p = json_loadb(text, bytes, 0, &error)))
        return CLAB_OK;
    clab_error("%s:%d: %s", path, error.line > 0 ? error.line : 1, error.text);
    return CLAB_EPARSE;
}

int trace_file_read(const char *text, size_t bytes, const char *path, struct trace_file **file_p)
{
    struct trace_file *f = calloc(1, sizeof *f);
    if (!f)
        return CLAB_ENOMEM;
    f->path = path;
    int err = parse(text, bytes, path, &f->root);
    if (!err && !json_is_array(f->list = json_object_get(f->root, "traceEvents"))) {
        clab_error("%s: there is no list `traceEvents`, so it is not a trace", path);
        err = CLAB_EPARSE;
    }
    if (!err)
        err = read_events(path, f);
    if (err)
        trace_file_free(f);
    else
        *file_p = f;
    return err;
}

int trace_file_load(const char *path, struct trace_file **file_p)
{
    struct clab_input input;
    CLAB_TRY(clab_input_open(path, CLAB_INPUT_TRACE, &input));
    const int err = trace_file_read(input.text, input.bytes, path, file_p);
    clab_input_close(&input);
    return err;
}

void trace_file_free(struct trace_file *file)
{
    json_decref(file->root);
    free(file->events);
    free(file);
}

// ---- otherData: a file's own description --------------------------------------------------------------------------

static json_t *parts_of(const struct trace_file *file)
{
    return json_object_get(json_object_get(file->root, "otherData"), "files");
}

size_t trace_file_parts(const struct trace_file *file)
{
    const json_t *parts = parts_of(file);
    return json_is_array(parts) ? json_array_size(parts) : 1;
}

const char *trace_file_about(const struct trace_file *file, size_t i, const char *key)
{
    const json_t *parts = parts_of(file);
    const json_t *about = json_is_array(parts) ? json_array_get(parts, i) : json_object_get(file->root, "otherData");
    return json_string_value(json_object_get(about, key));
}

// Append the otherData of `file`, or of each file that is joined in it.
static int add_about(json_t *list, const struct trace_file *file)
{
    json_t *parts = parts_of(file), *about = json_object_get(file->root, "otherData");
    if (json_is_array(parts))
        return json_array_extend(list, parts) ? CLAB_ENOMEM : CLAB_OK;
    json_t *copy = json_is_object(about) ? json_copy(about) : json_object();
    if (json_object_set_new(copy, "file", json_string(file->path)) || json_array_append(list, copy)) {
        json_decref(copy);
        return CLAB_ENOMEM;
    }
    json_decref(copy);
    return CLAB_OK;
}

static int join_abouts(struct trace_file *file, const struct trace_file *other)
{
    json_t *list = json_array();
    int err = list ? add_about(list, file) : CLAB_ENOMEM;
    if (!err)
        err = add_about(list, other);
    json_t *about = err ? NULL : json_pack("{s:O}", "files", list);
    json_decref(list);
    if (!about)
        return CLAB_ENOMEM;
    return json_object_set_new(file->root, "otherData", about) ? CLAB_ENOMEM : CLAB_OK;
}

// ---- joining ----------------------------------------------------------------------------------------

// Numbers of processes, each once.
struct numbers {
    long long *at;
    size_t n, room;
};

static bool has_number(const struct numbers *numbers, long long number)
{
    for (size_t i = numbers->n; i-- > 0;)
        if (numbers->at[i] == number)
            return true;
    return false;
}

static int collect(const json_t *list, struct numbers *numbers)
{
    size_t i;
    json_t *event;
    json_array_foreach(list, i, event)
    {
        const long long number = json_integer_value(json_object_get(event, "pid"));
        if (!has_number(numbers, number))
            CLAB_TRY(CLAB_PUSH(numbers->at, numbers->n, numbers->room, number));
    }
    return CLAB_OK;
}

static bool meet(const struct numbers *here, const struct numbers *others, int by)
{
    for (size_t i = 0; i < others->n; i++)
        if (has_number(here, others->at[i] + (long long)by * PROCESSES_APART))
            return true;
    return false;
}

// How far the processes of `other` move, so that none has the number of one in `file`, whichever it came with.
static int find_move(const struct trace_file *file, const struct trace_file *other, int *by_p)
{
    struct numbers here = {0}, others = {0};
    int err = collect(file->list, &here);
    if (!err)
        err = collect(other->list, &others);
    for (*by_p = 0; !err && meet(&here, &others, *by_p);)
        ++*by_p;
    free(here.at);
    free(others.at);
    return err;
}

static int move_event(json_t *event, int by, int number)
{
    const char *id = json_string_value(json_object_get(event, "id"));
    char text[64];
    int failed = json_object_set_new(
        event, "pid",
        json_integer(json_integer_value(json_object_get(event, "pid")) + (long long)by * PROCESSES_APART));
    snprintf(text, sizeof text, "%d:%s", number, id ? id : "");
    if (id)
        failed |= json_object_set_new(event, "id", json_string(text));
    return failed ? CLAB_ENOMEM : CLAB_OK;
}

int trace_file_add(struct trace_file *file, const struct trace_file *other)
{
    const int number = (int)trace_file_parts(file);
    int by;
    size_t i;
    json_t *json;
    CLAB_TRY(find_move(file, other, &by));
    json_array_foreach(other->list, i, json)
    {
        json_t *copy = json_deep_copy(json);
        if (!copy || move_event(copy, by, number) || json_array_append_new(file->list, copy))
            return CLAB_ENOMEM;
    }
    return join_abouts(file, other);
}

int trace_file_write(const struct trace_file *file, const char *path)
{
    struct clab_output output;
    CLAB_TRY(clab_output_announce(path));
    CLAB_TRY(clab_output_open(path, &output));
    if (json_dumpf(file->root, output.file, JSON_COMPACT | JSON_REAL_PRECISION(17)) == 0)
        return clab_output_close(&output);
    clab_error("%s: could not be written", path);
    clab_output_abandon(&output);
    return CLAB_EIO;
}

#else // without jansson

int trace_file_load(const char *path, struct trace_file **file_p)
{
    (void)path, (void)file_p;
    return clab_json_check();
}

int trace_file_read(const char *text, size_t bytes, const char *path, struct trace_file **file_p)
{
    (void)text, (void)bytes, (void)path, (void)file_p;
    return clab_json_check();
}

void trace_file_free(struct trace_file *file)
{
    (void)file;
}

const char *trace_file_about(const struct trace_file *file, size_t i, const char *key)
{
    (void)file, (void)i, (void)key;
    return NULL;
}

size_t trace_file_parts(const struct trace_file *file)
{
    (void)file;
    return 0;
}

int trace_file_add(struct trace_file *file, const struct trace_file *other)
{
    (void)file, (void)other;
    return CLAB_EUNSUPPORTED;
}

int trace_file_write(const struct trace_file *file, const char *path)
{
    (void)file, (void)path;
    return CLAB_EUNSUPPORTED;
}

#endif
