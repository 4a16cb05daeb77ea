// SPDX-License-Identifier: MIT
// What tests of failing communicators share: jobs whose ranks `act` on a communicator of all, tell what it answered and
// when, and leave the job as after a success.
// - Who still has a usable communicator after `act` calls a sum, in which it must learn of the failure.
// - After the error every call answers CLAB_EPOISONED.
#pragma once

#include "job_fixture.h"

#include "clab.h"

enum { COUNT = 64, LARGE = 1 << 18, NOT_JOINED = 10, STILL_USABLE, NOT_POISONED };
#define BOUND 1.0 // seconds from the detection to the last answer

static float in[LARGE], out[LARGE];

// What the ranks of this test do; a job's ranks are copies, so that they have it, too.
typedef int (*act_fn)(struct clab_comm *comm, int rank);
static act_fn act;
static struct clab_job *job; // of this rank

static inline int join(struct clab_comm **comm_p)
{
    char name[] = "test", *argv[] = {name, NULL};
    int argc = 1;
    CLAB_TRY(clab_job_open(&argc, argv, &job));
    CLAB_TRY(clab_comm_create(job, comm_p));
    CLAB_TRY(clab_barrier(*comm_p));
    told->joined++;
    await(&told->joined, clab_job_ranks(job)); // who leaves a barrier first may die while others are in it
    return CLAB_OK;
}

static inline int ring_sum(struct clab_comm *comm, size_t count)
{
    clab_comm_set_algorithm(comm, CLAB_ALLREDUCE, "ring", 1);
    return clab_allreduce(comm, in, out, count, CLAB_F32, CLAB_SUM);
}

static inline bool is_poisoned(struct clab_comm *comm)
{
    struct clab_comm *half = NULL;
    struct clab_work *work = NULL;
    return clab_barrier(comm) == CLAB_EPOISONED && clab_send(comm, in, 1, CLAB_F32, 0) == CLAB_EPOISONED &&
           clab_allreduce_start(comm, in, out, 1, CLAB_F32, CLAB_SUM, &work) == CLAB_EPOISONED && !work &&
           clab_comm_split(comm, 0, 0, &half) == CLAB_EPOISONED && !half;
}

static inline void tell_answer(int rank, int err)
{
    told->seconds[rank] = clab_now();
    told->values[rank] = err;
    told->ready++;
}

static inline int fail_once(int rank)
{
    struct clab_comm *comm;
    signal(SIGTERM, SIG_IGN); // which the launcher sends to those who survive a rank
    if (join(&comm))
        return NOT_JOINED;
    int err = act(comm, rank), status = 0;
    if (!err)
        err = ring_sum(comm, COUNT);
    tell_answer(rank, err);
    if (!err)
        status = STILL_USABLE;
    else if (!is_poisoned(comm))
        status = NOT_POISONED;
    clab_comm_destroy(comm);
    clab_job_close(job);
    return status;
}

// The same, but for the calls after `act`, which may do without the communicator, or leave.
static inline int just_act(int rank)
{
    struct clab_comm *comm;
    signal(SIGTERM, SIG_IGN);
    if (join(&comm))
        return NOT_JOINED;
    tell_answer(rank, act(comm, rank));
    clab_comm_destroy(comm);
    clab_job_close(job);
    return 0;
}

// Run a job of `nranks` whose ranks do `what`; it ends with `status`.  What they wrote.
static inline const char *run_all(int nranks, body_fn body, act_fn what, const char *timeout, int status)
{
    act = what;
    setenv("CLAB_TIMEOUT", timeout, 1);
    const struct capture err = capture_begin(STDERR_FILENO);
    const int ended = run_job(ranks(nranks), body);
    const char *text = capture_end(err);
    if (ended != status)
        fail_msg("status %d, not %d: %s", ended, status, text);
    return text;
}

// Some time after the last barrier of join, and before nobody believes it any more.
static inline void stay_away(int n)
{
    for (const double start = clab_now(); told->ready < n && clab_now() - start < PATIENCE;)
        usleep(1000);
}

static inline double first_answer(int nranks)
{
    double first = clab_now();
    for (int rank = 0; rank < nranks; rank++)
        if (told->seconds[rank] > 0 && told->seconds[rank] < first)
            first = told->seconds[rank];
    return first;
}

// Ranks `first` to `end` - 1, but `not`, have answered with `err`, within BOUND after `since`.
static inline void assert_all_answer(int err, int first, int end, int not, double since, const char *text)
{
    for (int rank = first; rank < end; rank++) {
        if (rank == not )
            continue;
        if (told->values[rank] != err)
            fail_msg("rank %d: %s, not %s: %s", rank, clab_strerror(told->values[rank]), clab_strerror(err), text);
        if (told->seconds[rank] - since > BOUND)
            fail_msg("rank %d needed %g s: %s", rank, told->seconds[rank] - since, text);
    }
}
