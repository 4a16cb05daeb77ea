// SPDX-License-Identifier: MIT
// Ranks of a test of the fakes: processes, each with a device of its own, a communicator and a stream.
#pragma once

#include "tests/fakes/try.h"

#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>

#include <nccl.h>

struct rank {
    int rank, n;
    ncclUniqueId id;
    ncclComm_t comm;
    cudaStream_t stream;
};

// What a rank does before its body, if that is not to do it itself.
static inline void rank_join(struct rank *me)
{
    MUST(cudaSetDevice(me->rank));
    MUST(cudaStreamCreateWithFlags(&me->stream, cudaStreamNonBlocking));
    MUST(ncclCommInitRank(&me->comm, me->n, me->id, me->rank));
}

static inline void rank_leave(struct rank *me)
{
    MUST(cudaStreamSynchronize(me->stream));
    MUST(ncclCommDestroy(me->comm));
    MUST(cudaStreamDestroy(me->stream));
}

// Start `n` processes that do `body`, and leave what they end with in status[n], as waitpid has it. None lives longer
// than 20 s.
static inline void ranks_run(int n, void (*body)(struct rank *), int status[])
{
    struct rank me = {.n = n};
    pid_t pids[64];
    MUST(ncclGetUniqueId(&me.id));
    fflush(0);
    for (me.rank = 0; me.rank < n; me.rank++) {
        pids[me.rank] = fork();
        if (pids[me.rank] == 0) {
            char text[16];
            snprintf(text, sizeof text, "%d", me.rank);
            try_is_child = true;
            setenv("RANK", text, 1);
            signal(SIGALRM, SIG_DFL);
            alarm(20);
            body(&me);
            fflush(0);
            exit(0); // not _exit: the address sanitizer looks for leaks then
        }
        assert_true(pids[me.rank] > 0);
    }
    bool failed = false;
    for (int i = 0; i < n; i++) {
        // One that has stopped itself waits for another to kill it.
        if (failed)
            kill(pids[i], SIGKILL);
        assert_int_equal(waitpid(pids[i], &status[i], 0), pids[i]);
        failed = failed || (WIFEXITED(status[i]) && WEXITSTATUS(status[i]));
    }
}

// The same of ranks that must all do it.
static inline void ranks_do(int n, void (*body)(struct rank *))
{
    int status[64];
    ranks_run(n, body, status);
    for (int i = 0; i < n; i++)
        if (status[i])
            fail_msg("rank %d of %d ends with status %#x", i, n, (unsigned)status[i]);
}
