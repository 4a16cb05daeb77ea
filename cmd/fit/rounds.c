// SPDX-License-Identifier: MIT
// Rounds of all probes follow each other, so that a short disturbance of the machine affects one round only.

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/clock.h"
#include "core/base/log.h"
#include "core/base/stats.h"
#include "cmd/fit/session.h"
#include "cmd/kit/progress.h"
#include "cmd/probe/placement.h"

enum { ROUNDS = 9, ROUNDS_AT_MOST = 64 }; // wanted; room for

static const double enough = 30;         // s, the most per task
static const double lacking_share = 0.2; // of the time, for lacking samples after all rounds
static const double hurried_part = 0.5;  // of the time, by which the first round must end
static const double fastest_part = 0.05; // of a placement's samples: they show how fast its cores are

// Seconds per task. More time means more rounds, since the cores move meanwhile.
static double each_of(const struct fit_session *session, const struct fit_record *record)
{
    return 0.5 * fmin(session->seconds, enough) / ROUNDS / record->ntasks;
}

// How to time a task: not at all, if the time is up; once, if the first round would take all of it; else in full. Rank 0
// decides.
static int choose_pace(const struct fit_session *session, struct fit_ranks *ranks, const struct fit_record *record,
                       int i, double begin, int *batches_p)
{
    const double spent = (clab_now() - begin) / session->seconds;
    const bool is_late = record->nrounds == 0 && spent * record->ntasks > hurried_part * (i + 1);
    *batches_p = spent >= 1 ? 0 : is_late ? 1 : FIT_BATCHES;
    if (ranks->rank == 0 && i % 8 == 0)
        kit_progress("fit: %3.0f %%", 100 * spent);
    return clab_broadcast(ranks->comm, batches_p, batches_p, 1, CLAB_I32, 0);
}

// *is_over_p: the time is up, and the round is not whole.
static int run_round(const struct fit_session *session, struct fit_ranks *ranks, struct fit_record *record,
                     double begin, bool *is_over_p)
{
    int first = record->nrounds * record->ntasks, batches;
    double each = each_of(session, record);
    *is_over_p = false;
    for (int i = 0; i < record->ntasks; i++) {
        CLAB_TRY(choose_pace(session, ranks, record, i, begin, &batches));
        if (!batches) {
            *is_over_p = true;
            if (ranks->rank == 0 && record->nrounds == 0)
                clab_error(
                    "fit: this machine was too busy to measure: %g s were up after %d of %d probes, and no profile is "
                    "written. Close other programs, or give --seconds 60s",
                    session->seconds, i, record->ntasks);
            return record->nrounds ? CLAB_OK : CLAB_ETIMEOUT;
        }
        CLAB_TRY(fit_task_run(ranks, &record->tasks[i], each, batches, &record->samples[first + i],
                              &record->all_probed[first + i]));
    }
    record->nrounds++;
    return CLAB_OK;
}

// Rank 0 decides when the next round would end too late.
static int run_rounds(const struct fit_session *session, struct fit_ranks *ranks, struct fit_record *record,
                      double begin, double seconds)
{
    bool is_over = false;
    for (int go = 1; go;) {
        CLAB_TRY(run_round(session, ranks, record, begin, &is_over));
        if (is_over)
            return CLAB_OK;
        double spent = clab_now() - begin;
        go = record->nrounds < ROUNDS_AT_MOST - 1 && spent + spent / record->nrounds < seconds;
        CLAB_TRY(clab_broadcast(ranks->comm, &go, &go, 1, CLAB_I32, 0));
    }
    return CLAB_OK;
}

int fit_fastest_calls(const struct fit_record *record, const struct clab_placements *all, int which, double *seconds_p)
{
    const int n = record->nrounds * record->ntasks;
    double *calls = malloc((size_t)n * sizeof *calls);
    int found = 0;
    if (!calls)
        return CLAB_ENOMEM;
    for (int i = 0; i < n; i++)
        if (clab_fit_placement_of(all, record->all_probed[i].fresh) == which)
            calls[found++] = record->all_probed[i].call;
    *seconds_p = clab_quantile(calls, found, fastest_part);
    free(calls);
    return CLAB_OK;
}

// ---- lacking samples -----------------------------------------------------------------------------------------

// Whether `task` has a sample in the usual placement, with the cores at their fastest.
static bool is_made(const struct fit_record *record, struct clab_placement_sample usual, int task)
{
    const struct clab_placements one = {1, {usual.fresh}};
    for (int i = task; i <= record->nrounds * record->ntasks + task; i += record->ntasks)
        if (clab_fit_placement_of(&one, record->all_probed[i].fresh) == 0 &&
            probe_is_calm(record->all_probed[i].call, usual.call))
            return true;
    return false;
}

// The usual placement, by rank 0's placement samples; zeros if all were interrupted.
static int find_usual(const struct fit_record *record, struct clab_placement_sample *usual_p)
{
    const int n = record->nrounds * record->ntasks;
    struct clab_placements all;
    double *marks = malloc((size_t)n * sizeof *marks);
    if (!marks)
        return CLAB_ENOMEM;
    int found = 0;
    for (int i = 0; i < n; i++)
        if (record->all_probed[i].fresh > 0)
            marks[found++] = record->all_probed[i].fresh;
    const int err = found ? clab_fit_placements(marks, found, &all) : CLAB_OK;
    free(marks);
    if (!found || err)
        return err;
    usual_p->fresh = all.mark[0];
    return fit_fastest_calls(record, &all, 0, &usual_p->call);
}

// One more round, of lacking samples only: we repeat each until it succeeds or the time is up. Other tasks have no
// sample in this round.
static int run_lacking(struct fit_ranks *ranks, struct fit_record *record, double each, double begin, double until)
{
    const int first = record->nrounds * record->ntasks;
    struct clab_placement_sample usual = {0};
    if (ranks->rank == 0)
        CLAB_TRY(find_usual(record, &usual));
    for (int go = 1; go;) {
        go = 0;
        for (int i = 0; i < record->ntasks; i++) {
            int lacks = ranks->rank == 0 && !is_made(record, usual, i) && clab_now() < until;
            if (lacks)
                kit_progress("fit: %3.0f %%", 100 * (clab_now() - begin) / (until - begin));
            CLAB_TRY(clab_broadcast(ranks->comm, &lacks, &lacks, 1, CLAB_I32, 0));
            if (lacks)
                CLAB_TRY(fit_task_run(ranks, &record->tasks[i], each, FIT_BATCHES, &record->samples[first + i],
                                      &record->all_probed[first + i]));
            go |= lacks;
        }
    }
    record->nrounds++;
    return CLAB_OK;
}

int fit_rounds(const struct fit_session *session, struct fit_ranks *ranks, struct fit_record *record_p)
{
    const bool places = session->backend->protocols.memory;
    const double begin = clab_now(), seconds = session->seconds * (places ? 1 - lacking_share : 1);
    struct fit_record record = {0};
    CLAB_TRY(fit_tasks_make(&session->reach, &record.tasks, &record.ntasks));
    size_t room = (size_t)record.ntasks * ROUNDS_AT_MOST;
    record.samples = calloc(room, sizeof *record.samples);
    record.all_probed = calloc(room, sizeof *record.all_probed);
    int err = record.samples && record.all_probed ? run_rounds(session, ranks, &record, begin, seconds) : CLAB_ENOMEM;
    if (!err && places)
        err = run_lacking(ranks, &record, each_of(session, &record), begin, begin + session->seconds);
    if (ranks->rank == 0)
        kit_progress_clear();
    if (err)
        fit_record_free(&record);
    else
        *record_p = record;
    return err;
}

void fit_record_free(struct fit_record *record)
{
    free(record->all_probed);
    free(record->samples);
    free(record->tasks);
}
