// SPDX-License-Identifier: MIT
// What tests of jobs share: jobs of copies of the test, what their ranks tell it, and what they write.
#pragma once

#include "capture.h"

#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include "base/clock.h"
#include "base/err.h"
#include "job/job.h"

enum { MAX_TOLD = 64 };
#define PATIENCE 10.0 // seconds until a test says that something does not happen

// What ranks tell the test: shared with all processes of a test.
struct told {
    _Atomic int joined, ready;  // ranks that have come to their places
    _Atomic int pids[MAX_TOLD]; // of ranks, their children, supervisors
    _Atomic int npids;
    _Atomic int values[MAX_TOLD]; // by rank
    _Atomic int signals[MAX_TOLD];
    _Atomic int cores[MAX_TOLD];
    double seconds[MAX_TOLD];
    double moment; // of something, on clab_now's clock
};
static struct told *told;

static inline int share_told(void **state)
{
    (void)state;
    told = mmap(NULL, sizeof *told, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    return told == MAP_FAILED;
}

static inline int forget(void **state)
{
    (void)state;
    memset((void *)told, 0, sizeof *told);
    return 0;
}

static inline void tell_pid(pid_t pid)
{
    told->pids[told->npids++] = pid;
}

// A job of copies of this process, each of which runs `body`.  The job's exit status.
typedef int (*body_fn)(int rank);
static inline int run_job(struct clab_launch launch, body_fn body)
{
    int rank, status = -1;
    assert_int_equal(clab_launch_ranks(&launch, &rank, &status), CLAB_OK);
    if (rank >= 0) {
        crash_as_others_do();
        _exit(body(rank));
    }
    return status;
}

static inline struct clab_launch ranks(int nranks)
{
    return (struct clab_launch){.nranks = nranks, .grace = 2};
}

// The same, in a process of its own that can be killed.
static inline pid_t start_job(struct clab_launch launch, body_fn body)
{
    fflush(NULL); // else the launcher writes what is buffered here, too
    const pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL); // a test that fails leaves no job behind
        setpgid(0, 0);
        _exit(run_job(launch, body));
    }
    return pid;
}

static inline int end_status(pid_t pid)
{
    int status;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

static inline void await(const _Atomic int *value, int wanted)
{
    for (const double start = clab_now(); *value < wanted; usleep(1000))
        if (clab_now() - start > PATIENCE)
            fail_msg("%d of %d within %g s", *value, wanted, PATIENCE);
}

// The letter of proc(5): R, S, T, Z; '-' when there is no such process.
static inline char process_state(pid_t pid)
{
    char path[64], state = '-';
    snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
    FILE *file = fopen(path, "r");
    if (file) {
        if (fscanf(file, "%*d %*[^)]) %c", &state) != 1)
            state = '-';
        fclose(file);
    }
    return state;
}

static inline bool is_gone(pid_t pid)
{
    const char state = process_state(pid);
    return state == '-' || state == 'Z'; // who is left to the system's reaper may wait for it
}

static inline void assert_all_end(void)
{
    const double start = clab_now();
    for (int i = 0; i < told->npids; i++)
        while (!is_gone(told->pids[i])) {
            if (clab_now() - start > PATIENCE)
                fail_msg("process %d of the job is still there", told->pids[i]);
            usleep(1000);
        }
}

static inline int occurrences(const char *text, const char *part)
{
    int count = 0;
    for (; (text = strstr(text, part)); text += strlen(part))
        count++;
    return count;
}

static inline int wait_for_ever(int rank)
{
    (void)rank;
    tell_pid(getpid());
    told->ready++;
    while (pause() < 0)
        ; // a signal was handled
    return 0;
}
