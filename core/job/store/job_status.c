// SPDX-License-Identifier: MIT
// Whose failure decides how a job of several nodes ends (job_status.h).

#include "core/job/store/job_status.h"

void store_job_status_decide(struct store_job_status *job_status, int node, int rank, int status)
{
    if (job_status->is_decided)
        return;
    job_status->end = (struct store_message){.kind = STORE_END, .node = node, .member = rank, .status = status};
    job_status->is_decided = true;
    job_status->until = INFINITY;
}

static void give_held(struct store_job_status *job_status)
{
    if (job_status->held.status)
        store_job_status_decide(job_status, job_status->held.node, job_status->held.member, job_status->held.status);
}

void store_job_status_await(struct store_job_status *job_status, int rank)
{
    if (job_status->awaited < 0)
        job_status->awaited = rank;
}

static void hold(struct store_job_status *job_status, int node, int rank, int status, double now)
{
    if (job_status->held.status || job_status->is_decided)
        return;
    job_status->held = (struct store_message){.kind = STORE_END, .node = node, .member = rank, .status = status};
    job_status->until = now + JOB_STATUS_PATIENCE;
}

void store_job_status_report(struct store_job_status *job_status, int node, int rank, int status, double now)
{
    const bool is_awaited = job_status->awaited == rank;
    if (status && job_status->awaited >= 0 && !is_awaited)
        hold(job_status, node, rank, status, now);
    else if (status)
        store_job_status_decide(job_status, node, rank, status);
    else if (is_awaited)
        give_held(job_status);
    if (is_awaited)
        job_status->awaited = -1;
}

void store_job_status_poll(struct store_job_status *job_status, double now)
{
    if (now >= job_status->until)
        give_held(job_status);
}
