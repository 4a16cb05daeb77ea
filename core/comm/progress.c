// SPDX-License-Identifier: MIT
// The progress thread, and the lock that it shares with the program's calls (progress.h).

#include "core/comm/progress.h"

#include <math.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/clock.h"
#include "core/base/log.h"
#include "core/base/machine/machine.h"
#include "core/base/variables.h"
#include "core/comm/comm.h"

struct clab_progress {
    struct clab_job *job;
    pid_t pid;      // a child of this process has a copy without the thread
    pid_t launcher; // ours, which has pinned this rank; 0: another's
    pthread_t thread;
    pthread_mutex_t mutex;
    pthread_cond_t wake;
    _Atomic int depth; // of the program's calls; written by its thread alone
    _Atomic bool ends;
    bool waits; // the thread, on `wake`; under the lock
};

// The thread of this process's job, to end it at exit if the program has not closed the job.
static struct clab_progress *running;

static const char *const names[] = {
    [CLAB_PROGRESS_MANUAL] = "manual", [CLAB_PROGRESS_THREAD] = "thread", [CLAB_PROGRESS_NETWORK] = "virtual"};

// ---- the choice ----------------------------------------------------------------------------------------------

const char *clab_progress_name(enum clab_progress_kind kind)
{
    return names[kind];
}

static enum clab_progress_kind give(enum clab_progress_kind kind, const char *why, const char **why_p)
{
    if (why_p)
        *why_p = why;
    return kind;
}

static bool is_asked(enum clab_progress_kind kind)
{
    const char *text = clab_variable_text(CLAB_VARIABLE_PROGRESS);
    return text && !strcmp(text, names[kind]);
}

enum clab_progress_kind clab_progress_rule(const struct clab_progress_place *place, const char **why_p)
{
    if (place->mover == CLAB_MOVED_BY_ITSELF)
        return give(CLAB_PROGRESS_NETWORK, "in virtual time the network waits for no call", why_p);
    if (place->job_ranks == 1)
        return give(CLAB_PROGRESS_MANUAL, "one rank has nobody to wait for", why_p);
    if (is_asked(CLAB_PROGRESS_MANUAL))
        return give(CLAB_PROGRESS_MANUAL, "CLAB_PROGRESS says so", why_p);
    if (!place->has_nap)
        return give(CLAB_PROGRESS_MANUAL, "the backend's library takes calls from one thread only", why_p);
    if (is_asked(CLAB_PROGRESS_THREAD))
        return give(CLAB_PROGRESS_THREAD, "CLAB_PROGRESS says so", why_p);
    if (place->mover == CLAB_MOVED_BY_CLOCK)
        return give(CLAB_PROGRESS_THREAD, "the wire is emulated, and leaves the cores free", why_p);
    if (place->cores >= 2 * place->ranks)
        return give(CLAB_PROGRESS_THREAD, "each rank has a second core", why_p);
    return give(CLAB_PROGRESS_MANUAL, "no core is free beside the ranks'", why_p);
}

// errors: CLAB_EINVAL (logged)
static int find_may_hold(const struct clab_job *job, bool *may_hold_p)
{
    const char *text = clab_variable_text(CLAB_VARIABLE_PACKETS);
    const bool is_off = text && !strcmp(text, "off");
    if (text && *text && strcmp(text, "auto") != 0 && !is_off) {
        clab_error("CLAB_PACKETS is '%s': it can be auto or off", text);
        return CLAB_EINVAL;
    }
    *may_hold_p = job->backend->flush && job->ranks > 1 && !is_asked(CLAB_PROGRESS_MANUAL) && !is_off;
    return CLAB_OK;
}

int clab_progress_choose(struct clab_job *job)
{
    const char *text = clab_variable_text(CLAB_VARIABLE_PROGRESS);
    const struct clab_progress_place place = {.job_ranks = job->ranks,
                                              .ranks = job->bootstrap->local_ranks,
                                              .cores = job->bootstrap->cores,
                                              .mover = job->backend->mover,
                                              .has_nap = job->backend->nap};
    if (text && *text && strcmp(text, "auto") != 0 && !is_asked(CLAB_PROGRESS_THREAD) &&
        !is_asked(CLAB_PROGRESS_MANUAL)) {
        clab_error("CLAB_PROGRESS is '%s': it can be auto, thread or manual", text);
        return CLAB_EINVAL;
    }
    job->progress_kind = clab_progress_rule(&place, &job->progress_why);
    CLAB_TRY(find_may_hold(job, &job->domain->may_hold));
    if (job->progress_kind == CLAB_PROGRESS_MANUAL && is_asked(CLAB_PROGRESS_THREAD) && job->ranks > 1 &&
        job->rank == 0)
        clab_warn("CLAB_PROGRESS=thread: %s: progress is made in calls", job->progress_why);
    return CLAB_OK;
}

const char *clab_job_progress(const struct clab_job *job, const char **why_p)
{
    if (why_p)
        *why_p = job->progress_why;
    return names[job->progress_kind];
}

// ---- the thread ----------------------------------------------------------------------------------------------

static int depth(const struct clab_progress *p)
{
    return atomic_load_explicit(&p->depth, memory_order_relaxed);
}

static bool holds(const struct clab_job *job)
{
    return clab_domain_holds(job->domain);
}

static bool is_busy(const struct clab_job *job)
{
    return job->progress_kind == CLAB_PROGRESS_THREAD && clab_job_is_busy(job);
}

static bool is_ended(struct clab_progress *p)
{
    while (!p->ends && (depth(p) > 0 || !(is_busy(p->job) || holds(p->job)))) {
        p->waits = true;
        pthread_cond_wait(&p->wake, &p->mutex);
        p->waits = false;
    }
    return p->ends;
}

// Nothing moves: returns until when the thread may sleep, s of clab_now.
static double arm(const struct clab_job *job)
{
    double until = clab_now() + CLAB_NAP;
    for (const struct clab_comm *comm = job->comms; comm; comm = comm->next)
        if (clab_comm_is_busy(comm))
            until = fmin(until, job->backend->nap->arm(comm->endpoint));
    return until;
}

// Messages are held back. While calls follow each other, the calls see to them.
static void flush(struct clab_progress *p)
{
    pthread_mutex_unlock(&p->mutex);
    do
        clab_nap_until(clab_now() + CLAB_HOLD);
    while (depth(p) > 0 && holds(p->job) && !p->ends);
    pthread_mutex_lock(&p->mutex);
    if (depth(p) == 0 && holds(p->job))
        p->job->backend->flush(p->job->domain);
}

static void *work(void *of)
{
    struct clab_progress *p = of;
    if (p->launcher)
        clab_machine_follow(p->launcher);
    clab_machine_short_slices(); // beside a computation: it gets the core as soon as it wakes, and briefly
    pthread_mutex_lock(&p->mutex);
    while (!is_ended(p)) {
        if (!is_busy(p->job)) {
            flush(p);
            continue;
        }
        if (clab_job_advance(p->job))
            continue;
        const double until = arm(p->job);
        if (clab_job_advance(p->job))
            continue;
        pthread_mutex_unlock(&p->mutex);
        p->job->backend->nap->sleep(p->job->domain, until);
        pthread_mutex_lock(&p->mutex);
    }
    pthread_mutex_unlock(&p->mutex);
    return NULL;
}

// Signals are the program's. Returns 0, or pthread_create's error number.
static int start_thread(struct clab_progress *p)
{
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    const int failed = pthread_create(&p->thread, NULL, work, p);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return failed;
}

static void destroy(struct clab_progress *p)
{
    pthread_cond_destroy(&p->wake);
    pthread_mutex_destroy(&p->mutex);
    free(p);
}

// Now and from now on.
static void hold_nothing(struct clab_job *job)
{
    job->domain->may_hold = false;
    if (holds(job))
        job->backend->flush(job->domain);
}

static void end_running(void)
{
    if (!running || running->pid != getpid())
        return;
    struct clab_job *job = running->job;
    clab_progress_end(job);
    hold_nothing(job);
}

void clab_progress_begin(struct clab_job *job)
{
    static bool asked;
    if (job->progress || !(is_busy(job) || holds(job)))
        return;
    struct clab_progress *p = calloc(1, sizeof *p);
    if (!p) {
        hold_nothing(job);
        return;
    }
    p->job = job;
    p->pid = getpid();
    p->launcher = clab_variable_is_set(CLAB_VARIABLE_CORES) ? getppid() : 0;
    pthread_mutex_init(&p->mutex, NULL);
    pthread_cond_init(&p->wake, NULL);
    const int failed = start_thread(p);
    if (failed) {
        if (job->progress_kind == CLAB_PROGRESS_THREAD) {
            clab_warn("no thread can be started (%s): progress is made in calls", strerror(failed));
            job->progress_kind = give(CLAB_PROGRESS_MANUAL, "no thread can be started", &job->progress_why);
        }
        hold_nothing(job);
        destroy(p);
        return;
    }
    job->progress = running = p;
    if (!asked)
        atexit(end_running);
    asked = true;
}

void clab_progress_end(struct clab_job *job)
{
    struct clab_progress *p = job->progress;
    if (!p)
        return;
    pthread_mutex_lock(&p->mutex);
    p->ends = true;
    pthread_cond_signal(&p->wake);
    pthread_mutex_unlock(&p->mutex);
    pthread_join(p->thread, NULL);
    destroy(p);
    job->progress = running = NULL;
}

// ---- the lock ------------------------------------------------------------------------------------------------

// `depth` is set before the lock is taken: the thread sees it after its current step, and releases the lock.
void clab_progress_lock(struct clab_progress *p)
{
    const int depth = atomic_load_explicit(&p->depth, memory_order_relaxed);
    atomic_store_explicit(&p->depth, depth + 1, memory_order_relaxed);
    if (depth == 0)
        pthread_mutex_lock(&p->mutex);
}

void clab_progress_unlock(struct clab_progress *p)
{
    const int depth = atomic_load_explicit(&p->depth, memory_order_relaxed) - 1;
    atomic_store_explicit(&p->depth, depth, memory_order_relaxed);
    if (depth > 0)
        return;
    if (p->waits && (is_busy(p->job) || holds(p->job)))
        pthread_cond_signal(&p->wake);
    pthread_mutex_unlock(&p->mutex);
}
