// SPDX-License-Identifier: MIT
// What NCCL has told, kept until it is written: the last calls, and the last pieces of them, a channel each.
//
// - A number is what NCCL has of an event (its handle): the place of a call or piece in the order of all. What has been
//   overwritten since is known by it, and left alone.
// - Whoever reads or writes the book holds its lock.
#pragma once

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

enum { BOOK_CALLS = 1 << 14, BOOK_PIECES = 1 << 17, BOOK_RANKS = 64, BOOK_NONE = -1 };

// A collective, or a message to a peer. Times in ns of CLOCK_MONOTONIC.
struct book_call {
    int64_t begin, end; // when it was enqueued
    char name[24], algorithm[16], protocol[16], type[24];
    uint64_t count, sequence, communicator;
    int peer, root; // BOOK_NONE: there is none
    int rank, ranks, channels;
    int process; // as whom it is shown
};

// A channel's part of a call, in ns of the GPU's clock.
struct book_piece {
    int64_t begin, end; // end 0: not yet
    int64_t call;       // its number, or BOOK_NONE
    int process, channel;
};

// The clock of a rank's GPU.
struct book_clock {
    int process;
    int64_t behind; // ns to be added for CLOCK_MONOTONIC: the least that was seen, as each is told a little late
};

struct book {
    pthread_mutex_t lock;
    struct book_call *calls;
    struct book_piece *pieces;
    int64_t ncalls, npieces; // ever
    struct book_clock clocks[BOOK_RANKS];
    int nclocks;
    int open; // communicators
    bool is_written;
    _Atomic pid_t pid; // whose it is; also read without the lock
    uint64_t first_communicator;
    int first_rank;
};

int64_t book_now(void);
// The call or piece of a number; NULL: it is overwritten, or never was.
struct book_call *book_call(const struct book *book, int64_t number);
struct book_piece *book_piece(const struct book *book, int64_t number);
// ns to be added to the clock of the GPU of `process`; NULL: nothing is known of it, and there is no room.
int64_t *book_clock(struct book *book, int process);

// Write all to `path` (write.c), as `commlab trace` reads it.  errors: CLAB_EIO, CLAB_ENOMEM (logged on stderr)
int book_write(struct book *book, const char *path);
