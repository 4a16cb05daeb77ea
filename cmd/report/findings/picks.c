// SPDX-License-Identifier: MIT
// Of each setting and size the fastest algorithm (findings.h): a library may choose it, so that setting and size are
// compared by their best. Several runs of one algorithm count as one row, their median (runs.c).

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/report/findings/findings.h"
#include "core/base/err.h"
#include "core/base/order.h"

enum { MOST = 20000 }; // rows that are looked at: comparing takes the square of settings

static int order_work(const struct report_row *a, const struct report_row *b)
{
    return strcmp(a->collective, b->collective) ?: strcmp(a->type, b->type) ?: strcmp(a->op, b->op)
        ?: strcmp(a->mode, b->mode) ?: CLAB_ORDER(a->root, b->root) ?: CLAB_ORDER(a->is_in_place, b->is_in_place);
}

static int order_place(const struct report_rows *rows, const struct report_row *a, const struct report_row *b)
{
    const struct report_source *x = &rows->sources[a->source], *y = &rows->sources[b->source];
    return strcmp(a->backend, b->backend) ?: strcmp(a->device, b->device) ?: strcmp(x->machine, y->machine)
        ?: strcmp(x->wire, y->wire) ?: strcmp(x->settings, y->settings);
}

static int order_rows(const void *a, const void *b, void *of)
{
    const struct report_row *x = *(const struct report_row *const *)a, *y = *(const struct report_row *const *)b;
    return order_work(x, y) ?: order_place(of, x, y) ?: CLAB_ORDER(x->ranks, y->ranks) ?: CLAB_ORDER(x->bytes, y->bytes)
        ?: strcmp(x->algorithm, y->algorithm) ?: CLAB_ORDER(x->usec, y->usec) ?: CLAB_ORDER(x, y); // as they were read
}

bool report_is_same_work(const struct report_row *a, const struct report_row *b)
{
    return order_work(a, b) == 0;
}

bool report_is_same_place(const struct report_rows *rows, const struct report_row *a, const struct report_row *b)
{
    return order_place(rows, a, b) == 0;
}

static bool is_same_setting(const struct report_rows *rows, const struct report_row *a, const struct report_row *b)
{
    return report_is_same_work(a, b) && report_is_same_place(rows, a, b) && a->ranks == b->ranks;
}

static bool is_of(const struct report_row *row, int source)
{
    bool is = row->source == source;
    for (int i = 0; i < row->nruns; i++)
        is |= row->runs[i]->source == source;
    return is;
}

// By another algorithm, and measured beside it: in one file.
static bool is_rival(const struct report_row *of, const struct report_row *row)
{
    bool is_beside = is_of(of, row->source);
    for (int i = 0; i < row->nruns; i++)
        is_beside |= is_of(of, row->runs[i]->source);
    return is_beside && strcmp(row->algorithm, of->algorithm);
}

// The end of the rows from `first` on that are of one setting and size; by one algorithm, if asked for.
static int setting_end(const struct report_picks *p, int first, int n, bool is_of_algorithm)
{
    const struct report_row *a = p->sorted[first];
    int end = first + 1;
    for (; end < n; end++) {
        const struct report_row *b = p->sorted[end];
        if (a->bytes != b->bytes || !is_same_setting(p->rows, a, b) ||
            (is_of_algorithm && strcmp(a->algorithm, b->algorithm)))
            break;
    }
    return end;
}

// The row of n runs: the run itself, or what several come to, kept at `slot`.
static const struct report_row *row_of(const struct report_row **runs, int n, struct report_row *slot)
{
    n = report_runs_drop_copies(runs, n);
    if (n == 1)
        return runs[0];
    *slot = report_runs_merge(runs, n);
    return slot;
}

static struct report_pick pick_of(struct report_picks *p, int first, int end)
{
    struct report_pick pick = {0};
    for (int i = first, next; i < end; i = next) { // the fastest
        next = setting_end(p, i, end, true);
        const struct report_row *row = row_of(&p->sorted[i], next - i, &p->merged[i]);
        pick.row = !pick.row || row->usec < pick.row->usec ? row : pick.row;
    }
    for (int i = first, next; i < end; i = next) { // the next fastest
        next = setting_end(p, i, end, true);
        const struct report_row *row = p->merged[i].nruns ? &p->merged[i] : p->sorted[i];
        if (is_rival(pick.row, row) && (!pick.rival || row->usec < pick.rival->usec))
            pick.rival = row;
    }
    return pick;
}

int report_picks_make(const struct report_rows *rows, struct report_picks *picks_p)
{
    const size_t room = (size_t)rows->n + 1;
    struct report_picks picks = {.rows = rows,
                                 .picks = calloc(room, sizeof *picks.picks),
                                 .sorted = calloc(room, sizeof *picks.sorted),
                                 .merged = calloc(room, sizeof *picks.merged)};
    int n = 0;
    if (!picks.sorted || !picks.picks || !picks.merged) {
        report_picks_free(&picks);
        return CLAB_ENOMEM;
    }
    for (int i = 0; i < rows->n && n < MOST; i++)
        if (report_row_counts(&rows->rows[i]))
            picks.sorted[n++] = &rows->rows[i];
    picks.is_cut = n == MOST;
    qsort_r(picks.sorted, (size_t)n, sizeof *picks.sorted, order_rows, (void *)(uintptr_t)rows);
    for (int i = 0, end; i < n; i = end) {
        end = setting_end(&picks, i, n, false);
        picks.picks[picks.n++] = pick_of(&picks, i, end);
    }
    *picks_p = picks;
    return CLAB_OK;
}

void report_picks_free(struct report_picks *picks)
{
    free(picks->picks);
    free(picks->sorted);
    free(picks->merged);
    *picks = (struct report_picks){0};
}

int report_series_end(const struct report_picks *picks, int first)
{
    int end = first + 1;
    while (end < picks->n && is_same_setting(picks->rows, picks->picks[first].row, picks->picks[end].row))
        end++;
    return end;
}
