// SPDX-License-Identifier: MIT
// One rank's device in lab 05: a memory of so many granules, and what is done to the data in its buffers.
//
// - Where a buffer lies, and what is registered, is each program's own: here nothing is allocated but the memory, once.
// - Data are filled in and checked outside of what is timed, and so is meeting the other ranks.
// - The memory may be a GPU's: the program writes and reads it by clab_copy, from and to an array of its own.
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>

#include "clab.h"
#include "lab.h"
#include "workload.h"

struct buffer {
    int first, granules;
};

struct device {
    struct clab_job *job;
    struct clab_comm *comm;
    char *room, *memory; // memory: (GRANULES, granule) bytes of the room, from the start of a page
    size_t granule;      // bytes
    float *host;         // (FLAT, granule) bytes: the program's own, room for any buffer
    float *expected;     // likewise, for the right sum
    bool registers;      // the system lets every rank
};

static inline void *device_at(const struct device *d, int granule)
{
    return d->memory + (size_t)granule * d->granule;
}

static inline size_t device_bytes(const struct device *d, const struct buffer *b)
{
    return (size_t)b->granules * d->granule;
}

// Each element becomes the sum of all ranks'.
static inline void device_sum(const struct device *d, const struct buffer *b)
{
    void *data = device_at(d, b->first);
    must(clab_allreduce(d->comm, data, data, device_bytes(d, b) / sizeof(float), CLAB_F32, CLAB_SUM));
}

// Then all ranks meet. Small whole numbers, so that every order of adding gives the same sum.
static inline void device_fill(const struct device *d, const struct buffer *b, int step)
{
    const int least = clab_job_rank(d->job) + 1 + step % 3, count = (int)(device_bytes(d, b) / sizeof *d->host);
    for (int i = 0; i < count; i++)
        d->host[i] = (float)(least + i % 5);
    must(clab_copy(d->job, device_at(d, b->first), d->host, device_bytes(d, b)));
    must(clab_barrier(d->comm));
}

// Fails unless the buffer holds the sum of what all ranks filled in; returns the sum over its elements.
static inline double device_check(const struct device *d, const struct buffer *b, int step)
{
    const int ranks = clab_job_ranks(d->job), least = ranks * (ranks + 1) / 2 + ranks * (step % 3),
              count = (int)(device_bytes(d, b) / sizeof *d->host);
    long long sum = 0; // of whole numbers, which a processor adds many at a time
    must(clab_copy(d->job, d->host, device_at(d, b->first), device_bytes(d, b)));
    for (int i = 0; i < count; i++)
        d->expected[i] = (float)(least + ranks * (i % 5));
    lab_expect(clab_job_rank(d->job), "the sum of a buffer", (size_t)count, d->host, d->expected);
    for (int i = 0; i < count; i++)
        sum += (int)d->host[i];
    return (double)sum;
}

// ---- its life ------------------------------------------------------------------------------------------------

// Two sizes are in use all the time, so that no plan is made while the clock runs; and no page is touched for the
// first time.
static inline void device_warm_up(const struct device *d)
{
    must(clab_set(d->job, d->memory, 0, GRANULES * d->granule));
    for (int granules = LONGEST / 4; granules <= LONGEST; granules += LONGEST / 4)
        device_sum(d, &(struct buffer){.granules = granules});
    device_sum(d, &(struct buffer){.granules = FLAT});
}

// Whether all ranks may register all of the memory. What is registered is pages, so a granule has to be some.
static inline bool device_may_register(const struct device *d)
{
    struct clab_registration *all = NULL;
    int may = d->granule % (size_t)sysconf(_SC_PAGESIZE) == 0 &&
              clab_register(d->job, d->memory, GRANULES * d->granule, &all) == CLAB_OK;
    clab_unregister(d->job, all);
    must(clab_allreduce(d->comm, &may, &may, 1, CLAB_I32, CLAB_MIN));
    return may;
}

// The device of a job's rank, with a memory of `bytes`, a multiple of GRANULES.
static inline void device_open(struct clab_job *job, size_t bytes, struct device *device_p)
{
    struct device d = {.job = job, .granule = bytes / GRANULES};
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    must(clab_comm_create(job, &d.comm));
    must(clab_comm_set_algorithm(d.comm, CLAB_ALLREDUCE, "ring", 0)); // so that we know what we predict
    must(clab_alloc(job, bytes + page, (void **)&d.room));
    must((d.host = malloc(2 * FLAT * d.granule)) ? CLAB_OK : CLAB_ENOMEM);
    d.expected = d.host + FLAT * d.granule / sizeof *d.host;
    d.memory = d.room + (page - (uintptr_t)d.room % page) % page;
    device_warm_up(&d);
    d.registers = device_may_register(&d);
    *device_p = d;
}

static inline void device_close(struct device *d)
{
    free(d->host);
    clab_free(d->job, d->room);
    clab_comm_destroy(d->comm);
}
