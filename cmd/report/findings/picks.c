// SPDX-License-Identifier: MIT
// Of each setting and size the fastest row (findings.h): a library may choose its algorithm, so that setting and size
// are compared by their best.

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/report/findings/findings.h"
#include "core/base/err.h"

enum { MOST = 20000 }; // rows that are looked at: comparing takes the square of settings

static int order_work(const struct report_row *a, const struct report_row *b)
{
    int order = strcmp(a->collective, b->collective);
    order = order ? order : strcmp(a->type, b->type);
    order = order ? order : strcmp(a->op, b->op);
    order = order ? order : strcmp(a->mode, b->mode);
    return order ? order : a->is_in_place - b->is_in_place;
}

static int order_place(const struct report_rows *rows, const struct report_row *a, const struct report_row *b)
{
    int order = strcmp(a->backend, b->backend);
    order = order ? order : strcmp(a->device, b->device);
    order = order ? order : strcmp(rows->sources[a->source].machine, rows->sources[b->source].machine);
    return order ? order : strcmp(rows->sources[a->source].wire, rows->sources[b->source].wire);
}

static int order_rows(const void *a, const void *b, void *of)
{
    const struct report_row *x = *(const struct report_row *const *)a, *y = *(const struct report_row *const *)b;
    int order = order_work(x, y);
    order = order ? order : order_place(of, x, y);
    order = order ? order : (x->ranks > y->ranks) - (x->ranks < y->ranks);
    order = order ? order : (x->bytes > y->bytes) - (x->bytes < y->bytes);
    return order ? order : (x->usec > y->usec) - (x->usec < y->usec);
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

static bool is_rival(const struct report_row *of, const struct report_row *row)
{
    return row->source == of->source && strcmp(row->algorithm, of->algorithm);
}

int report_picks_make(const struct report_rows *rows, struct report_picks *picks_p)
{
    const struct report_row **sorted = calloc((size_t)rows->n + 1, sizeof *sorted);
    struct report_picks picks = {.rows = rows, .picks = calloc((size_t)rows->n + 1, sizeof *picks.picks)};
    int n = 0;
    if (!sorted || !picks.picks) {
        free(sorted);
        free(picks.picks);
        return CLAB_ENOMEM;
    }
    for (int i = 0; i < rows->n && n < MOST; i++)
        if (report_row_counts(&rows->rows[i]))
            sorted[n++] = &rows->rows[i];
    picks.is_cut = n == MOST;
    qsort_r(sorted, (size_t)n, sizeof *sorted, order_rows, (void *)(uintptr_t)rows);
    for (int i = 0; i < n; i++) {
        struct report_pick *last = picks.n ? &picks.picks[picks.n - 1] : NULL;
        if (!last || last->row->bytes != sorted[i]->bytes || !is_same_setting(rows, last->row, sorted[i]))
            picks.picks[picks.n++].row = sorted[i];
        else if (!last->rival && is_rival(last->row, sorted[i]))
            last->rival = sorted[i];
    }
    free(sorted);
    *picks_p = picks;
    return CLAB_OK;
}

void report_picks_free(struct report_picks *picks)
{
    free(picks->picks);
    *picks = (struct report_picks){0};
}

int report_series_end(const struct report_picks *picks, int first)
{
    int end = first + 1;
    while (end < picks->n && is_same_setting(picks->rows, picks->picks[first].row, picks->picks[end].row))
        end++;
    return end;
}
