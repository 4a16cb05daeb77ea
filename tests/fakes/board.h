// SPDX-License-Identifier: MIT
// What tests of communicators share: a board of their own, beside NCCL, on which ranks tell each other how far they
// are.
#pragma once

#include "tests/fakes/ranks.h"

#include <semaphore.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

enum { COUNT = 256 };

// Shared by the ranks of a test, beside NCCL.
static struct board {
    atomic_int pids[8], steps[8], settled[8];
    char name[64];
} * board;

static inline int new_board(void **state)
{
    (void)state;
    board = mmap(0, sizeof *board, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    return board == MAP_FAILED;
}

static inline int drop_board(void **state)
{
    (void)state;
    return munmap(board, sizeof *board);
}

static inline void nap(int milliseconds)
{
    nanosleep(&(struct timespec){milliseconds / 1000, milliseconds % 1000 * 1000000L}, 0);
}

static inline void step(int rank)
{
    atomic_store(&board->pids[rank], (int)getpid());
    atomic_fetch_add(&board->steps[rank], 1);
}

// The alarm of ranks_run ends a wait for ever.
static inline void await_step(int rank, int n)
{
    while (atomic_load(&board->steps[rank]) < n)
        nap(1);
}

// Wait until all ranks have seen what there is to see: one that ends is seen by the others.
static inline void settle(const struct rank *me)
{
    atomic_fetch_add(&board->settled[me->rank], 1);
    for (int i = 0; i < me->n; i++)
        while (atomic_load(&board->settled[i]) < atomic_load(&board->settled[me->rank]))
            nap(1);
}

static inline double seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

// What the communicator's error becomes within five seconds, if it changes.
static inline ncclResult_t error_after(ncclComm_t comm, ncclResult_t from)
{
    ncclResult_t error = from;
    for (const double end = seconds() + 5; error == from && seconds() < end; nap(1))
        MUST(ncclCommGetAsyncError(comm, &error));
    return error;
}

static inline void join_without_blocking(struct rank *me)
{
    ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
    config.blocking = 0;
    MUST(cudaSetDevice(me->rank));
    MUST(cudaStreamCreateWithFlags(&me->stream, cudaStreamNonBlocking));
    MUST_BE(ncclInProgress, ncclCommInitRankConfig(&me->comm, me->n, me->id, me->rank, &config));
}
