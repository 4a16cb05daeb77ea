// SPDX-License-Identifier: MIT
// Whose failure decides how a job of several nodes ends (job_status.h).

#include "core/job/store/job_status.h"

void store_verdict_give(struct store_verdict *verdict, int node, int rank, int status)
{
    if (verdict->is_given)
        return;
    verdict->end = (struct store_message){.kind = STORE_END, .node = node, .member = rank, .status = status};
    verdict->is_given = true;
    verdict->until = INFINITY;
}

static void give_held(struct store_verdict *verdict)
{
    if (verdict->held.status)
        store_verdict_give(verdict, verdict->held.node, verdict->held.member, verdict->held.status);
}

void store_verdict_await(struct store_verdict *verdict, int rank)
{
    if (verdict->awaited < 0)
        verdict->awaited = rank;
}

static void hold(struct store_verdict *verdict, int node, int rank, int status, double now)
{
    if (verdict->held.status || verdict->is_given)
        return;
    verdict->held = (struct store_message){.kind = STORE_END, .node = node, .member = rank, .status = status};
    verdict->until = now + VERDICT_PATIENCE;
}

void store_verdict_hear(struct store_verdict *verdict, int node, int rank, int status, double now)
{
    const bool is_awaited = verdict->awaited == rank;
    if (status && verdict->awaited >= 0 && !is_awaited)
        hold(verdict, node, rank, status, now);
    else if (status)
        store_verdict_give(verdict, node, rank, status);
    else if (is_awaited)
        give_held(verdict);
    if (is_awaited)
        verdict->awaited = -1;
}

void store_verdict_look(struct store_verdict *verdict, double now)
{
    if (now >= verdict->until)
        give_held(verdict);
}
