// SPDX-License-Identifier: MIT
// A timeline's memory, and the file that a viewer reads (timeline.h).

#include "core/trace/timeline.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/err.h"
#include "core/base/order.h"
#include "core/base/vector.h"
#include "core/base/files/viewer.h"
#include "core/trace/arrows.h"

// ---- memory --------------------------------------------------------------------------------------------------

void clab_timeline_free(struct clab_timeline *timeline)
{
    free(timeline->calls);
    free(timeline->stages);
    free(timeline->spans);
    *timeline = (struct clab_timeline){0};
}

int clab_timeline_add_calls(struct clab_timeline *timeline, const struct clab_timeline_call calls[], int n)
{
    return CLAB_APPEND(timeline->calls, timeline->ncalls, timeline->call_room, calls, n);
}

int clab_timeline_add_stages(struct clab_timeline *timeline, const struct clab_timeline_stage stages[], int n)
{
    return CLAB_APPEND(timeline->stages, timeline->nstages, timeline->stage_room, stages, n);
}

int clab_timeline_add_spans(struct clab_timeline *timeline, const struct clab_timeline_span spans[], int n)
{
    return CLAB_APPEND(timeline->spans, timeline->nspans, timeline->span_room, spans, n);
}

// ---- order ---------------------------------------------------------------------------------------------------

static int by_begin(double a, double b, double a_end, double b_end)
{
    return CLAB_ORDER(a, b) ?: CLAB_ORDER(b_end, a_end); // the longer first
}

static int by_process_and_begin(const void *a, const void *b)
{
    const struct clab_timeline_call *x = a, *y = b;
    return CLAB_ORDER(x->process, y->process) ?: by_begin(x->begin, y->begin, x->end, y->end)
        ?: CLAB_ORDER(x->serial, y->serial);
}

static int by_row_and_begin(const void *a, const void *b)
{
    const struct clab_timeline_span *x = a, *y = b;
    return CLAB_ORDER(x->process, y->process) ?: CLAB_ORDER(x->row, y->row)
        ?: by_begin(x->begin, y->begin, x->end, y->end);
}

static int by_call(const void *a, const void *b)
{
    const struct clab_timeline_stage *x = a, *y = b;
    return CLAB_ORDER(x->process, y->process) ?: CLAB_ORDER(x->serial, y->serial) ?: CLAB_ORDER(x->lane, y->lane)
        ?: CLAB_ORDER(x->stage, y->stage);
}

static int by_serial(const void *a, const void *b)
{
    const struct clab_timeline_call *x = a, *y = b;
    return CLAB_ORDER(x->process, y->process) ?: CLAB_ORDER(x->serial, y->serial);
}

static const struct clab_timeline_call *call_of(const struct clab_timeline *t, const struct clab_timeline_stage *s)
{
    const struct clab_timeline_call key = {.process = s->process, .serial = s->serial};
    return t->ncalls ? bsearch(&key, t->calls, (size_t)t->ncalls, sizeof key, by_serial) : NULL;
}

static double first_of(const struct clab_timeline *t)
{
    double first = 1e300;
    for (int i = 0; i < t->ncalls; i++)
        first = t->calls[i].begin < first ? t->calls[i].begin : first;
    for (int i = 0; i < t->nstages; i++)
        first = t->stages[i].begin < first ? t->stages[i].begin : first;
    for (int i = 0; i < t->nspans; i++)
        first = t->spans[i].begin < first ? t->spans[i].begin : first;
    return first < 1e300 ? first : 0;
}

// ---- cutting -------------------------------------------------------------------------------------------------

double clab_timeline_cut(struct clab_timeline *t, double from)
{
    const struct clab_timeline all = *t;
    double until = from;
    t->nstages = t->nspans = 0;
    if (all.ncalls)
        qsort(t->calls, (size_t)t->ncalls, sizeof *t->calls, by_serial);
    for (int i = 0; i < all.nstages; i++) {
        const struct clab_timeline_call *call = call_of(&all, &all.stages[i]);
        if ((call ? call->begin : all.stages[i].begin) >= from) {
            until = fmax(until, all.stages[i].end);
            t->stages[t->nstages++] = all.stages[i];
        }
    }
    t->ncalls = 0;
    for (int i = 0; i < all.ncalls; i++)
        if (all.calls[i].begin >= from) {
            until = fmax(until, all.calls[i].end);
            t->calls[t->ncalls++] = all.calls[i];
        }
    for (int i = 0; i < all.nspans; i++)
        if (all.spans[i].end > from) {
            until = fmax(until, all.spans[i].end);
            t->spans[t->nspans] = all.spans[i];
            t->spans[t->nspans].begin = fmax(all.spans[i].begin, from);
            t->nspans++;
        }
    return until;
}

// ---- rows ----------------------------------------------------------------------------------------------------

// What overlaps in a row goes to further rows of the same name, the first that is free.
enum { ROWS_BESIDE = CLAB_ROW_STRIDE };

struct rows {
    struct clab_viewer *viewer;
    enum clab_timeline_kind kind;
    int process, row;
    double ends[ROWS_BESIDE];
    int n;
};

static int process_of(enum clab_timeline_kind kind, int process)
{
    return 2 * process + (kind == CLAB_TIMELINE_SIMULATED);
}

static void name_row(struct rows *r, int beside)
{
    static const char *const others[] = {"compute", "core", "port out", "port in"};
    char name[CLAB_TIMELINE_NAME], text[2 * CLAB_TIMELINE_NAME];
    if (r->row == CLAB_ROW_COLLECTIVE)
        snprintf(name, sizeof name, "collective");
    else if (r->row < CLAB_ROW_COMPUTE)
        snprintf(name, sizeof name, "lane %d", r->row - CLAB_ROW_LANE);
    else
        snprintf(name, sizeof name, "%s", others[r->row - CLAB_ROW_COMPUTE]);
    snprintf(text, sizeof text, beside ? "%s (%d)" : "%s", name, beside + 1);
    clab_viewer_name_row(r->viewer, process_of(r->kind, r->process), r->row * CLAB_ROW_STRIDE + beside, text);
}

// A place for what begins and ends then, in the row of a process. Given by process and row, then by begin.
static int place(struct rows *r, int process, int row, double begin, double end)
{
    int beside = 0;
    if (r->process != process || r->row != row) {
        r->process = process;
        r->row = row;
        r->n = 0;
    }
    while (beside < r->n && r->ends[beside] > begin)
        beside++;
    if (beside == ROWS_BESIDE)
        beside--;
    if (beside == r->n) {
        r->n++;
        name_row(r, beside);
    }
    r->ends[beside] = end;
    return row * CLAB_ROW_STRIDE + beside;
}

// ---- slices --------------------------------------------------------------------------------------------------

static void write_call(struct rows *rows, const struct clab_timeline_call *c, double origin)
{
    char name[96];
    const char *algorithm = c->algorithm ? clab_algorithms[c->algorithm - 1]->name : NULL;
    const bool is_message = c->what >= CLAB_TIMELINE_SEND;
    if (is_message)
        snprintf(name, sizeof name, "%s %d", c->what == CLAB_TIMELINE_SEND ? "send to" : "receive from", c->root);
    else
        snprintf(name, sizeof name, "%s%s%s%s", clab_collective_name((enum clab_collective)c->what),
                 algorithm ? " (" : "", algorithm ? algorithm : "", algorithm ? ")" : "");
    const struct clab_viewer_arg args[] = {
        {"bytes", clab_cell_integer((long long)(c->count * clab_type_bytes((enum clab_type)c->type)))},
        {"peer", is_message ? clab_cell_integer(c->root) : clab_cell_none()},
        {"algorithm", clab_cell_text(algorithm)},
        {"sequence", is_message ? clab_cell_none() : clab_cell_integer(c->sequence)},
        {"count", clab_cell_integer((long long)c->count)},
        {"type", clab_cell_text(clab_type_name((enum clab_type)c->type))},
        {"lanes", is_message ? clab_cell_none() : clab_cell_integer(c->lanes)},
        {"rank", clab_cell_integer(c->rank)},
    };
    const int row = place(rows, c->process, CLAB_ROW_COLLECTIVE, c->begin, c->end);
    clab_viewer_slice(rows->viewer, process_of(rows->kind, c->process), row, is_message ? "message" : "collective",
                      name, c->begin - origin, c->end - origin, args, sizeof args / sizeof *args);
}

static void write_span(struct rows *rows, const struct clab_timeline_span *s, double origin)
{
    const struct clab_viewer_arg args[] = {
        {"bytes", s->bytes >= 0 ? clab_cell_integer(s->bytes) : clab_cell_none()},
        {"peer", s->peer >= 0 ? clab_cell_integer(s->peer) : clab_cell_none()},
        {"stage", s->stage >= 0 ? clab_cell_integer(s->stage) : clab_cell_none()},
        {"kept", s->kept >= 0 ? clab_cell_real(1e6 * s->kept) : clab_cell_none()},
    };
    const int row = place(rows, s->process, s->row, s->begin, s->end);
    clab_viewer_slice(rows->viewer, process_of(rows->kind, s->process), row, s->row < CLAB_ROW_OUT ? "compute" : "port",
                      s->name, s->begin - origin, s->end - origin, args, sizeof args / sizeof *args);
}

static void write_stage(struct rows *rows, const struct clab_timeline_stage *s, int row,
                        const struct clab_timeline_call *c, const struct clab_arrow_ends *ends, double origin)
{
    char name[32];
    const int peer = ends->to >= 0 ? ends->to : ends->from;
    snprintf(name, sizeof name, "stage %d", s->stage);
    const struct clab_viewer_arg args[] = {
        {"stage", clab_cell_integer(s->stage)},
        {"algorithm", clab_cell_text(c && c->algorithm ? clab_algorithms[c->algorithm - 1]->name : NULL)},
        {"sequence", c ? clab_cell_integer(c->sequence) : clab_cell_none()},
        {"peer", peer >= 0 ? clab_cell_integer(peer) : clab_cell_none()},
        {"bytes", clab_cell_integer((long long)(ends->to >= 0 ? ends->sent : ends->received))},
        {"from", ends->from >= 0 ? clab_cell_integer(ends->from) : clab_cell_none()},
        {"received", ends->from >= 0 ? clab_cell_integer((long long)ends->received) : clab_cell_none()},
    };
    clab_viewer_slice(rows->viewer, process_of(rows->kind, s->process), row, "stage", name, s->begin - origin,
                      s->end - origin, args, sizeof args / sizeof *args);
}

// ---- stages and arrows ---------------------------------------------------------------------------------------

// A stage in the order of its row.
struct placed {
    const struct clab_timeline_stage *stage;
    int index;
};

static int by_lane_and_begin(const void *a, const void *b)
{
    const struct clab_timeline_stage *x = ((const struct placed *)a)->stage, *y = ((const struct placed *)b)->stage;
    return CLAB_ORDER(x->process, y->process) ?: CLAB_ORDER(x->lane, y->lane)
        ?: by_begin(x->begin, y->begin, x->end, y->end);
}

// The row of each stage, in rows_p[index].
static int place_stages(struct rows *rows, const struct clab_timeline *t, int stage_rows[])
{
    struct placed *placed = malloc(((size_t)t->nstages + 1) * sizeof *placed);
    if (!placed)
        return CLAB_ENOMEM;
    for (int i = 0; i < t->nstages; i++)
        placed[i] = (struct placed){&t->stages[i], i};
    qsort(placed, (size_t)t->nstages, sizeof *placed, by_lane_and_begin);
    for (int i = 0; i < t->nstages; i++) {
        const struct clab_timeline_stage *s = placed[i].stage;
        stage_rows[placed[i].index] = place(rows, s->process, CLAB_ROW_LANE + s->lane, s->begin, s->end);
    }
    free(placed);
    return CLAB_OK;
}

static void write_arrow(struct rows *rows, const struct clab_timeline *t, const int stage_rows[], int number,
                        struct clab_arrow arrow, double origin)
{
    const struct clab_timeline_stage *from = &t->stages[arrow.sent], *to = &t->stages[arrow.received];
    char id[32];
    snprintf(id, sizeof id, "%c%d", rows->kind == CLAB_TIMELINE_MEASURED ? 'm' : 's', number);
    clab_viewer_arrow(rows->viewer, false, id, process_of(rows->kind, from->process), stage_rows[arrow.sent],
                      from->begin - origin, "message");
    clab_viewer_arrow(rows->viewer, true, id, process_of(rows->kind, to->process), stage_rows[arrow.received],
                      to->end - origin, "message");
}

// The calls are sorted by serial.
static int write_stages(struct rows *rows, const struct clab_timeline *t, double origin)
{
    struct clab_arrows arrows;
    int *stage_rows = malloc(((size_t)t->nstages + 1) * sizeof *stage_rows);
    int err = stage_rows ? place_stages(rows, t, stage_rows) : CLAB_ENOMEM;
    if (!err)
        err = clab_arrows_find(t, &arrows);
    if (!err) {
        for (int i = 0; i < t->nstages; i++)
            write_stage(rows, &t->stages[i], stage_rows[i], call_of(t, &t->stages[i]), &arrows.ends[i], origin);
        for (int i = 0; i < arrows.n; i++)
            write_arrow(rows, t, stage_rows, i, arrows.arrows[i], origin);
        clab_arrows_free(&arrows);
    }
    free(stage_rows);
    return err;
}

// ---- the whole -----------------------------------------------------------------------------------------------

static void name_processes(struct clab_viewer *viewer, const struct clab_timeline *t, enum clab_timeline_kind kind)
{
    int most = -1;
    for (int i = 0; i < t->ncalls; i++)
        most = t->calls[i].process > most ? t->calls[i].process : most;
    for (int i = 0; i < t->nspans; i++)
        most = t->spans[i].process > most ? t->spans[i].process : most;
    for (int p = 0; p <= most; p++) {
        char name[48];
        snprintf(name, sizeof name, "rank %d (%s)", p, kind == CLAB_TIMELINE_MEASURED ? "measured" : "simulated");
        clab_viewer_name_process(viewer, process_of(kind, p), name);
    }
}

static int write_all(struct clab_viewer *viewer, struct clab_timeline *t, enum clab_timeline_kind kind)
{
    const double origin = first_of(t);
    struct rows rows = {.viewer = viewer, .kind = kind, .process = -1};
    name_processes(viewer, t, kind);
    if (t->ncalls)
        qsort(t->calls, (size_t)t->ncalls, sizeof *t->calls, by_process_and_begin);
    for (int i = 0; i < t->ncalls; i++)
        write_call(&rows, &t->calls[i], origin);
    if (t->nspans)
        qsort(t->spans, (size_t)t->nspans, sizeof *t->spans, by_row_and_begin);
    for (int i = 0; i < t->nspans; i++)
        write_span(&rows, &t->spans[i], origin);
    if (!t->nstages)
        return CLAB_OK;
    if (t->ncalls)
        qsort(t->calls, (size_t)t->ncalls, sizeof *t->calls, by_serial);
    qsort(t->stages, (size_t)t->nstages, sizeof *t->stages, by_call);
    return write_stages(&rows, t, origin);
}

int clab_timeline_write(struct clab_timeline *timeline, enum clab_timeline_kind kind, const char *path,
                        const struct clab_manifest *about)
{
    struct clab_viewer *viewer;
    CLAB_TRY(clab_viewer_open(path, &viewer));
    int err = write_all(viewer, timeline, kind);
    if (err) {
        clab_viewer_abandon(viewer);
        return err;
    }
    return clab_viewer_close(viewer, about);
}
