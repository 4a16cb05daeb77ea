// SPDX-License-Identifier: MIT
// How much of the communication nothing was computed beside: a sweep over the ends of all intervals (timeline.h).

#include <stdlib.h>

#include "core/base/err.h"
#include "core/base/order.h"
#include "core/trace/timeline.h"

// An end of an interval: how many of each kind are open from then on changes.
struct edge {
    double when;
    int communication, compute; // +1, 0 or -1
};

static int by_when(const void *a, const void *b)
{
    const struct edge *x = a, *y = b;
    return CLAB_ORDER(x->when, y->when);
}

int clab_timeline_exposed(const struct clab_interval communication[], int n, const struct clab_interval compute[],
                          int m, double *whole_p, double *exposed_p)
{
    double whole = 0, exposed = 0;
    int edges = 0, open = 0, busy = 0;
    struct edge *edge = malloc(((size_t)n + (size_t)m + 1) * 2 * sizeof *edge);
    if (!edge)
        return CLAB_ENOMEM;
    for (int i = 0; i < n; i++) {
        edge[edges++] = (struct edge){communication[i].begin, 1, 0};
        edge[edges++] = (struct edge){communication[i].end, -1, 0};
    }
    for (int i = 0; i < m; i++) {
        edge[edges++] = (struct edge){compute[i].begin, 0, 1};
        edge[edges++] = (struct edge){compute[i].end, 0, -1};
    }
    qsort(edge, (size_t)edges, sizeof *edge, by_when);
    for (int i = 0; i < edges; i++) {
        double since = i > 0 ? edge[i].when - edge[i - 1].when : 0;
        whole += open > 0 ? since : 0;
        exposed += open > 0 && busy == 0 ? since : 0;
        open += edge[i].communication;
        busy += edge[i].compute;
    }
    free(edge);
    *whole_p = whole;
    *exposed_p = exposed;
    return CLAB_OK;
}
