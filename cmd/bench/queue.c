// SPDX-License-Identifier: MIT
// Calls that are started one behind the other (queue.h).

#include "cmd/bench/queue.h"

#include "core/base/err.h"
#include "core/clab.h"
#include "core/comm/graph.h"

static int call_all(void *of)
{
    const struct bench_queue *q = of;
    for (int i = 0; i < q->recorded; i++)
        CLAB_TRY(bench_call(q->comm, q->row, q->buffers));
    return CLAB_OK;
}

int bench_queue_prepare(struct bench_queue *q, int calls)
{
    if (!q->launches || (q->graph && q->recorded == calls))
        return CLAB_OK;
    bench_queue_free(q);
    q->recorded = calls;
    return clab_graph_record(q->comm, call_all, q, &q->graph);
}

static int wait_for(struct clab_work *works[], int n)
{
    for (int i = 0; i < n; i++)
        if (works[i])
            CLAB_TRY(clab_work_wait(works[i]));
    return CLAB_OK;
}

static int start(struct bench_queue *q, struct clab_work *works[2])
{
    works[1] = NULL;
    return q->launches ? clab_graph_start(q->graph, works) : bench_call_start(q->comm, q->row, q->buffers, works);
}

int bench_queue_run(struct bench_queue *q, int calls, double *started_p)
{
    struct clab_work *works[BENCH_QUEUED][2];
    const int starts = q->launches ? q->launches : calls;
    double started = 0;
    for (int first = 0; first < starts; first += BENCH_QUEUED) {
        const int n = starts - first < BENCH_QUEUED ? starts - first : BENCH_QUEUED;
        const double begin = clab_seconds();
        for (int i = 0; i < n; i++)
            CLAB_TRY(start(q, works[i]));
        started += clab_seconds() - begin;
        CLAB_TRY(wait_for(works[0], 2 * n));
    }
    *started_p = started / bench_queue_calls(q, calls);
    return CLAB_OK;
}

int bench_queue_calls(const struct bench_queue *q, int calls)
{
    return q->launches ? q->launches * calls : calls;
}

void bench_queue_free(struct bench_queue *q)
{
    clab_graph_free(q->graph);
    q->graph = NULL;
}
