// SPDX-License-Identifier: MIT
// Places in the book (event_log.h).

#include "backends/nccl-profiler/event_log.h"

#include <stddef.h>
#include <time.h>

int64_t book_now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static bool is_kept(int64_t number, int64_t ever, int64_t room)
{
    return number >= 0 && number < ever && number + room >= ever;
}

struct book_call *book_call(const struct book *book, int64_t number)
{
    return is_kept(number, book->ncalls, BOOK_CALLS) ? &book->calls[number % BOOK_CALLS] : NULL;
}

struct book_piece *book_piece(const struct book *book, int64_t number)
{
    return is_kept(number, book->npieces, BOOK_PIECES) ? &book->pieces[number % BOOK_PIECES] : NULL;
}

int64_t *book_clock(struct book *book, int process)
{
    for (int i = 0; i < book->nclocks; i++)
        if (book->clocks[i].process == process)
            return &book->clocks[i].behind;
    if (book->nclocks == BOOK_RANKS)
        return NULL;
    book->clocks[book->nclocks] = (struct book_clock){process, INT64_MAX};
    return &book->clocks[book->nclocks++].behind;
}
