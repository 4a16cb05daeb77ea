// SPDX-License-Identifier: MIT
// Rounds of all probes follow each other, so that what disturbs the machine for a while disturbs one round.

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/clock.h"
#include "fit_session.h"

enum { ROUNDS = 9, ROUNDS_AT_MOST = 64 }; // that are wanted; that there is room for

static void show_progress(double share)
{
    if (isatty(STDERR_FILENO))
        fprintf(stderr, "\rfit: %3.0f %%", 100 * share);
}

static void clear_progress(void)
{
    if (isatty(STDERR_FILENO))
        fprintf(stderr, "\r\033[K");
}

static int run_round(const struct fit_session *session, struct fit_ranks *ranks, struct fit_record *record,
                     double begin)
{
    int first = record->nrounds * record->ntasks;
    double each = 0.5 * session->seconds / ROUNDS / record->ntasks;
    for (int i = 0; i < record->ntasks; i++) {
        if (ranks->rank == 0 && i % 8 == 0)
            show_progress((clab_now() - begin) / session->seconds);
        CLAB_TRY(fit_task_run(ranks, &record->tasks[i], each, &record->samples[first + i], &record->lines[first + i]));
    }
    record->nrounds++;
    return CLAB_OK;
}

// Rank 0 says when the next round would be too late.
static int run_rounds(const struct fit_session *session, struct fit_ranks *ranks, struct fit_record *record)
{
    double begin = clab_now();
    for (int go = 1; go;) {
        CLAB_TRY(run_round(session, ranks, record, begin));
        double spent = clab_now() - begin;
        go = record->nrounds < ROUNDS_AT_MOST && spent + spent / record->nrounds < session->seconds;
        CLAB_TRY(clab_broadcast(ranks->comm, &go, &go, 1, CLAB_I32, 0));
    }
    return CLAB_OK;
}

int fit_rounds(const struct fit_session *session, struct fit_ranks *ranks, struct fit_record *record_p)
{
    struct fit_record record = {0};
    CLAB_TRY(fit_tasks_make(&session->reach, &record.tasks, &record.ntasks));
    size_t room = (size_t)record.ntasks * ROUNDS_AT_MOST;
    record.samples = calloc(room, sizeof *record.samples);
    record.lines = calloc(room, sizeof *record.lines);
    int err = record.samples && record.lines ? run_rounds(session, ranks, &record) : CLAB_ENOMEM;
    if (ranks->rank == 0)
        clear_progress();
    if (err)
        fit_record_free(&record);
    else
        *record_p = record;
    return err;
}

void fit_record_free(struct fit_record *record)
{
    free(record->lines);
    free(record->samples);
    free(record->tasks);
}
