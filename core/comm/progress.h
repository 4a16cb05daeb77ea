// SPDX-License-Identifier: MIT
// Asynchronous progress while the rank computes: by a thread, or only in the library's calls ("manual").
//
// - The thread works only while no call of the library is under way. A call that waits makes progress itself. So
//   errors, deadlines and notices are the same with and without a thread.
// - A call holds the lock from its beginning to its end. Without a thread there is no lock. The thread starts when a
//   call first leaves a work under way, so a program that always waits never has one.
// - The thread sleeps as long as no work is under way. If nothing moves, it sleeps for at most CLAB_NAP: until a
//   delivery is due, or a message comes (struct clab_nap). It never spins, since it may share its core with the
//   computation.
// - A backend may hold short messages back, to send several as one (CLAB_PACKETS: auto or off). The thread sends them
//   CLAB_HOLD later, unless a call does so before. Where progress is "manual", the thread does nothing else. With
//   CLAB_PROGRESS=manual there is no thread, and so nothing is held back.
// - A failure in the thread poisons the communicator, and the next wait returns the error. The thread checks no
//   deadlines and reads no notices; waits do that.
// - CLAB_PROGRESS is auto, thread or manual. auto: a thread if each rank has a second core, or if delivery takes time
//   but no core (CLAB_MOVED_BY_CLOCK). Else manual: a thread would take as much time from the computation as it saves.
// Sources: MPICH's MPIR_CVAR_ASYNC_PROGRESS (a polling thread, wants a core), NCCL's proxy (a thread that sleeps
// while it has no operations); Hoefler, Lumsdaine 2008, Message Progression in Parallel Computing: To Thread or not
// to Thread?
#pragma once

#include <stdbool.h>

#include "core/comm/job.h"

struct clab_progress;

// "manual", "thread" or "virtual".
const char *clab_progress_name(enum clab_progress_kind kind);

// How progress is made on such a host; *why_p (or NULL): the reason in words. CLAB_PROGRESS decides first; an invalid
// value counts as auto.
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

// A call that leaves a work under way, or a message held back, has ended: start the thread, if it is for that.
void clab_progress_begin(struct clab_job *job);

// After a call that leaves no work under way.
static inline void clab_progress_begin_if_held(struct clab_job *job)
{
    if (__builtin_expect(!job->progress && clab_domain_holds(job->domain), 0))
        clab_progress_begin(job);
}
// End the thread and remove the lock. Does nothing if there is no thread.
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
