// SPDX-License-Identifier: MIT
// Progress of what has been started while the rank computes: by a thread of its own, or only in calls ("manual").
//
// - A thread works only while no call of the library is under way: a call that waits makes progress itself, as
//   without a thread. So whatever the caller hears, waits for and gives up is the same with and without.
// - The lock is held by a call from its beginning to its end. Where there is no thread, there is none to take: a
//   thread is made when a work is first left under way, so that who only waits never has one.
// - The thread sleeps for good while nothing is under way, and for at most CLAB_NAP while nothing moves: until a
//   delivery is due, or something comes (struct clab_nap). It never spins, since it may share its core with the
//   computation.
// - What fails in the thread fails as in any call: the communicator is poisoned, and who waits for the work is told.
//   The thread has no deadlines and hears no notices: those are the waits'.
// - CLAB_PROGRESS is auto, thread or manual. auto: a thread where each rank has a second core, or where the wire is
//   emulated and leaves the cores alone; else none, since it would take from the computation what it saves of
//   communication.
// Sources: MPICH's MPIR_CVAR_ASYNC_PROGRESS (a polling thread, wants a core), NCCL's proxy (a thread that sleeps
// while it has no operations); Hoefler, Lumsdaine 2008, Message Progression in Parallel Computing: To Thread or not
// to Thread?
#pragma once

#include <stdbool.h>

#include "core/job/job.h"

struct clab_progress;

// "manual", "thread" or "virtual".
const char *clab_progress_name(enum clab_progress_kind kind);

// Who makes progress at such a place: "thread", "manual" or "virtual"; *why_p (or NULL): in words. What CLAB_PROGRESS
// says goes first; one that is none counts as auto.
struct clab_progress_place {
    int job_ranks;    // on all hosts
    int ranks, cores; // of a host
    enum clab_mover mover;
    bool has_nap; // of the backend; without one, all its calls must come from one thread
};
enum clab_progress_kind clab_progress_rule(const struct clab_progress_place *place, const char **why_p);

// Decide, for a job that is being opened: job->progress_kind and job->progress_why.
//   errors: CLAB_EINVAL (logged)
int clab_progress_choose(struct clab_job *job);

// A call that leaves a work under way has ended: from now on there is a thread, if there is to be one.
void clab_progress_begin(struct clab_job *job);
// No thread any more, and no lock. To be called when there is none, too.
void clab_progress_end(struct clab_job *job);

void clab_progress_lock(struct clab_progress *progress);
void clab_progress_unlock(struct clab_progress *progress);

// Around each call that comes from the program; may be nested.
static inline void clab_job_enter(const struct clab_job *job)
{
    if (__builtin_expect(job->progress != NULL, 0))
        clab_progress_lock(job->progress);
}

static inline void clab_job_leave(const struct clab_job *job)
{
    if (__builtin_expect(job->progress != NULL, 0))
        clab_progress_unlock(job->progress);
}
