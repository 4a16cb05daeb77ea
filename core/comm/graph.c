// SPDX-License-Identifier: MIT
// Graphs of recorded collectives (graph.h).

#include "core/comm/graph.h"

#include <stdlib.h>

#include "core/base/log.h"
#include "core/comm/comm.h"
#include "core/comm/progress.h"

struct clab_graph {
    struct clab_comm *comm;
    void *recording; // the backend's
};

static int refuse(const struct clab_comm *comm, const char *why)
{
    clab_error("a graph can not be recorded with backend %s: %s", comm->backend->name, why);
    return CLAB_EUNSUPPORTED;
}

static bool reaches(const struct clab_comm *comm, const void *memory)
{
    return !memory || !comm->bounces || comm->backend->collectives->reaches(comm->job->domain, memory);
}

int clab_graph_check(const struct clab_comm *comm, const struct clab_work *work)
{
    if (!work->algorithm || !clab_native_is(work))
        return refuse(comm, "it holds the library's own collectives alone (--algo native)");
    if (work->op == CLAB_AVG && clab_collective_reduces(work->problem.collective))
        return refuse(comm, "an average is divided by the communicator, which no graph does: take another operation");
    if (!reaches(comm, work->in) || !reaches(comm, work->out))
        return refuse(comm, "its buffers must be of clab_alloc");
    return CLAB_OK;
}

static int begin(struct clab_comm *comm)
{
    if (comm->err)
        return CLAB_EPOISONED;
    if (comm->collectives || comm->messages || comm->check.is_on)
        return refuse(comm, comm->check.is_on ? "with CLAB_CHECK=1 calls are compared first"
                                              : "works of this communicator are under way");
    const int err = comm->backend->collectives->record(comm->endpoint);
    return err == CLAB_EUNSUPPORTED ? refuse(comm, "it has none") : err;
}

static int record(struct clab_comm *comm, int (*calls)(void *of), void *of, void **recording_p)
{
    CLAB_TRY(begin(comm));
    comm->is_recording = true;
    const int err = calls(of);
    comm->is_recording = false;
    if (comm->err)
        return comm->err;
    CLAB_TRY(comm->backend->collectives->recorded(comm->endpoint, recording_p));
    if (err)
        comm->backend->collectives->forget(*recording_p);
    return err;
}

int clab_graph_record(struct clab_comm *comm, int (*calls)(void *of), void *of, struct clab_graph **graph_p)
{
    struct clab_graph *graph = calloc(1, sizeof *graph);
    if (!graph)
        return CLAB_ENOMEM;
    graph->comm = comm;
    clab_job_enter(comm->job);
    const int err = record(comm, calls, of, &graph->recording);
    clab_job_leave(comm->job);
    if (err)
        free(graph);
    else
        *graph_p = graph;
    return err;
}

static int start(const struct clab_graph *graph, struct clab_work **work_p)
{
    struct clab_work *work;
    CLAB_TRY(clab_work_take(graph->comm, CLAB_BARRIER, &work));
    *work = (struct clab_work){.comm = graph->comm,
                               .algorithm = &clab_native_algorithm,
                               .problem = {.collective = CLAB_BARRIER, .nranks = graph->comm->nranks, .lanes = 1},
                               .type = CLAB_U8,
                               .op = CLAB_MAX,
                               .graph = graph->recording};
    work->engine = clab_engine_of(work);
    CLAB_TRY(clab_work_start(graph->comm, work));
    *work_p = work;
    return CLAB_OK;
}

int clab_graph_start(struct clab_graph *graph, struct clab_work **work_p)
{
    struct clab_comm *comm = graph->comm;
    clab_job_enter(comm->job);
    const int err = start(graph, work_p);
    clab_job_leave(comm->job);
    return err;
}

void clab_graph_free(struct clab_graph *graph)
{
    if (!graph)
        return;
    clab_job_enter(graph->comm->job);
    graph->comm->backend->collectives->forget(graph->recording);
    clab_job_leave(graph->comm->job);
    free(graph);
}
