// SPDX-License-Identifier: MIT
// sum.h: what p4's programs share, so that they hold nothing but two ways to sum.
//
// - sum_main runs both ways and the library's ring one after another, each on the same arrays.
// - After each way it checks the sum at every rank, and reports seconds, messages and bytes of the busiest rank.
// - `out`, `other` and `pass` are filled with NaN before each way. A way may swap the pointers `other` and `pass`.
#pragma once

#include <stdbool.h>

#include "lab.h"

// What a way works with. Arrays: (count).
struct sum {
    struct clab_comm *comm;
    int rank, ranks;
    size_t count;
    const float *in;     // this rank's array: not to be changed
    float *out;          // where the sum of all ranks' arrays is to be
    float *other, *pass; // room for two more arrays, in `room`
    float *room;         // (2, count)
};

static inline void copy(float *to, const float *from, size_t count)
{
    memcpy(to, from, count * sizeof *to);
}

static inline void add(float *to, const float *from, size_t count)
{
    for (size_t i = 0; i < count; i++)
        to[i] += from[i];
}

// The library's ring.
static inline void sum_by_library(struct sum *s)
{
    must(clab_comm_set_algorithm(s->comm, CLAB_ALLREDUCE, "ring", 0));
    must(clab_allreduce(s->comm, s->in, s->out, s->count, CLAB_F32, CLAB_SUM));
}

// Before each way, whatever the one before it did to the pointers.
static inline void sum_empty_room(struct sum *s)
{
    memset(s->room, 0xff, 2 * s->count * sizeof *s->room);
    s->other = s->room, s->pass = s->room + s->count;
}

// Whether the first wrong element is larger than the sum: then some array was added more than once.
static inline bool sum_is_too_much(const struct lab_data *data)
{
    size_t i = 0;
    while (i < data->count && data->out[i] == data->expected[i])
        i++;
    return i < data->count && data->out[i] > data->expected[i];
}

static inline void sum_check(const struct lab_data *data, const char *name)
{
    char what[64];
    snprintf(what, sizeof what, "%s%s", name, sum_is_too_much(data) ? ": more than the sum of all arrays" : "");
    lab_data_check(data, what);
}

static inline void sum_measure(struct sum *s, const struct lab_data *data, const char *name, void (*way)(struct sum *))
{
    sum_empty_room(s);
    lab_data_poison(data);
    must(clab_barrier(s->comm));
    lab_span_begin(data->job, "%s", name);
    const struct clab_comm_traffic start = clab_comm_traffic(s->comm);
    double seconds = -clab_seconds();
    way(s);
    seconds += clab_seconds();
    const struct clab_comm_traffic end = clab_comm_traffic(s->comm);
    clab_span_end(data->job);
    sum_check(data, name);
    lab_report(s->comm, "1", &(double){(double)(end.messages - start.messages)}, 1, "messages/%s", name);
    lab_report(s->comm, "B", &(double){(double)(end.bytes_sent - start.bytes_sent)}, 1, "bytes_sent/%s", name);
    lab_report(s->comm, "s", &seconds, 1, "time/%s", name);
}

static inline int sum_main(int argc, char **argv, void (*through_rank_0)(struct sum *),
                           void (*around_ring)(struct sum *))
{
    struct clab_job *job;
    struct sum s;
    must(clab_job_open(&argc, argv, &job));
    must(clab_comm_create(job, &s.comm));
    lab_arguments(&argc, &argv, "64K");
    const struct lab_data data =
        lab_data_make(job, clab_must_size(job, argv[1], sizeof(float), "give BYTES, a multiple of 4, as in 64K"));
    s.rank = clab_comm_rank(s.comm), s.ranks = clab_comm_ranks(s.comm), s.count = data.count;
    s.in = data.in, s.out = data.out;
    must((s.room = malloc(2 * data.bytes)) ? CLAB_OK : CLAB_ENOMEM);
    sum_measure(&s, &data, "rank_0", through_rank_0);
    sum_measure(&s, &data, "ring", around_ring);
    sum_measure(&s, &data, "library", sum_by_library);
    free(s.room);
    lab_data_free(&data);
    clab_comm_destroy(s.comm);
    must(clab_job_close(job));
    return 0;
}
