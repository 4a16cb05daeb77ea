// SPDX-License-Identifier: MIT
// Rounds of all probes follow each other, so that a short disturbance of the machine affects one round only.

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/clock.h"
#include "core/base/log.h"
#include "core/base/stats.h"
#include "cmd/fit/session.h"
#include "cmd/kit/progress.h"
#include "cmd/probe/placement.h"

enum { ROUNDS_AT_MOST = 64, CHUNK = 8 }; // room for; tasks between two looks at the progress

static const double spent_on_tasks = 0.15; // of the time: the rest is their first turns, and looks at the cores
static const double hurried_part = 0.5;    // of the time, by which the first round must end
static const double fastest_part = 0.05;   // of a placement's samples: they show how fast its cores are
static const double one_pace = 1.1;        // the factor within which round trips are of one pace
static const double loose = 0.04;          // half the distance of FIT_ROUNDS samples' quartiles that is too much

// Seconds per task, so that FIT_ROUNDS fit into half the time.
static double each_of(const struct fit_session *session, const struct fit_record *record)
{
    return 0.5 * spent_on_tasks * session->seconds / FIT_ROUNDS / record->ntasks;
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

int fit_pace_find(const struct fit_record *record, struct fit_pace *pace_p)
{
    const int n = record->nrounds * record->ntasks;
    double *lines = malloc((size_t)n * sizeof *lines);
    int found = 0;
    if (!lines)
        return CLAB_ENOMEM;
    for (int i = 0; i < n; i++)
        if (record->all_probed[i].line > 0)
            lines[found++] = record->all_probed[i].line;
    const double pace = found ? clab_quantile(lines, found, 0.25) : 0;
    free(lines);
    *pace_p = (struct fit_pace){pace / one_pace, pace * one_pace};
    return CLAB_OK;
}

bool fit_pace_has(const struct fit_pace *pace, const struct fit_record *record, int i)
{
    const double line = record->all_probed[i].line;
    return record->samples[i].seconds > 0 && line > 0 && line >= pace->least && line <= pace->most;
}

// ---- which tasks need more ----------------------------------------------------------------------------------

// The usual placement, by rank 0's placement samples; zeros if all were interrupted.
static int find_placed(const struct fit_record *record, struct clab_placement_sample *usual_p)
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

// Rank 0: what samples count, by the rounds so far.
struct usual {
    bool places;                         // in shared memory: those in this placement, with the cores at their fastest
    struct clab_placement_sample placed; // zeros: of no round, or all were interrupted
    struct fit_pace pace;                // else: those at this pace
};

static bool counts(const struct fit_record *record, const struct usual *usual, int i)
{
    const struct clab_placements one = {1, {usual->placed.fresh}};
    const struct clab_placement_sample probed = record->all_probed[i];
    if (!usual->places)
        return fit_pace_has(&usual->pace, record, i);
    return record->samples[i].seconds > 0 && clab_fit_placement_of(&one, probed.fresh) == 0 &&
           probe_is_calm(probed.call, usual->placed.call);
}

// The task's samples that count. Returns how many.
static int samples_of(const struct fit_record *record, const struct usual *usual, int task,
                      double seconds[ROUNDS_AT_MOST])
{
    int n = 0;
    for (int i = task; i < record->nrounds * record->ntasks; i += record->ntasks)
        if (counts(record, usual, i))
            seconds[n++] = record->samples[i].seconds;
    return n;
}

// Whether the task has too few samples, or such as differ too much. The interval of a median shrinks with the root of
// their number. ENOUGH samples that still differ always will, and more of them predict no better.
enum { ENOUGH = 2 * FIT_ROUNDS };

static bool is_loose(const struct fit_record *record, const struct usual *usual, int task)
{
    double seconds[ROUNDS_AT_MOST];
    const int n = samples_of(record, usual, task, seconds);
    if (n < FIT_ROUNDS || n >= ENOUGH)
        return n < FIT_ROUNDS;
    const double half = (clab_quantile(seconds, n, 0.75) - clab_quantile(seconds, n, 0.25)) / 2;
    return half * sqrt((double)FIT_ROUNDS / n) > loose * clab_quantile(seconds, n, 0.5);
}

// ---- rounds --------------------------------------------------------------------------------------------------

// What rank 0 decides of a task: it is timed, in a hurry or not, or passed over, or the time is up.
enum decision { PASS, TIME, HURRY, STOP };

struct course {
    const struct fit_session *session;
    struct usual usual; // of the rounds before
    double begin;
};

static enum decision decide(const struct course *course, const struct fit_record *record, int task)
{
    const double spent = (clab_now() - course->begin) / course->session->seconds;
    if (spent >= 1)
        return STOP;
    if (record->nrounds >= FIT_ROUNDS && !is_loose(record, &course->usual, task))
        return PASS;
    const bool is_late = record->nrounds == 0 && spent * record->ntasks > hurried_part * (task + 1);
    return is_late ? HURRY : TIME;
}

static int say_too_slow(const struct course *course, const struct fit_record *record, int task)
{
    clab_error(
        "fit: this machine was too busy to measure: %g s were up after %d of %d probes, and no profile is written. "
        "Close other programs, or give --seconds 60s",
        course->session->seconds, task, record->ntasks);
    return CLAB_ETIMEOUT;
}

// The tasks that need a sample. Others have none in this round. *ntimed_p: how many were timed; 0: the rounds are over
static int run_round(const struct course *course, struct fit_ranks *ranks, struct fit_record *record, int *ntimed_p)
{
    const int first = record->nrounds * record->ntasks;
    const double each = each_of(course->session, record);
    int decided = PASS;
    *ntimed_p = 0;
    for (int i = 0; i < record->ntasks && decided != STOP; i++) {
        if (ranks->rank == 0) {
            decided = decide(course, record, i);
            if (i % CHUNK == 0)
                kit_progress("fit: %3.0f %%", 100 * (clab_now() - course->begin) / course->session->seconds);
        }
        CLAB_TRY(clab_broadcast(ranks->comm, &decided, &decided, 1, CLAB_I32, 0));
        if (decided == STOP && record->nrounds == 0)
            return ranks->rank == 0 ? say_too_slow(course, record, i) : CLAB_ETIMEOUT;
        if (decided == PASS || decided == STOP)
            continue;
        const struct fit_effort effort = {each, record->nrounds, decided == HURRY};
        CLAB_TRY(fit_task_run(ranks, &record->tasks[i], &effort, &record->samples[first + i],
                              &record->all_probed[first + i]));
        ++*ntimed_p;
    }
    record->nrounds++;
    if (decided == STOP)
        *ntimed_p = 0;
    return CLAB_OK;
}

// All tasks a few times, and then those that need more, until none does or the time is up.
static int run_rounds(const struct fit_session *session, struct fit_ranks *ranks, struct fit_record *record)
{
    struct course course = {
        .session = session, .usual.places = session->backend->protocols.memory, .begin = clab_now()};
    for (int ntimed = 1; ntimed && record->nrounds < ROUNDS_AT_MOST;) {
        if (ranks->rank == 0 && record->nrounds)
            CLAB_TRY(course.usual.places ? find_placed(record, &course.usual.placed)
                                         : fit_pace_find(record, &course.usual.pace));
        CLAB_TRY(run_round(&course, ranks, record, &ntimed));
    }
    return CLAB_OK;
}

int fit_rounds(const struct fit_session *session, struct fit_ranks *ranks, struct fit_record *record_p)
{
    struct fit_record record = {0};
    CLAB_TRY(fit_tasks_make(&session->reach, &record.tasks, &record.ntasks));
    size_t room = (size_t)record.ntasks * ROUNDS_AT_MOST;
    record.samples = calloc(room, sizeof *record.samples);
    record.all_probed = calloc(room, sizeof *record.all_probed);
    int err = record.samples && record.all_probed ? run_rounds(session, ranks, &record) : CLAB_ENOMEM;
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
