// SPDX-License-Identifier: MIT
// claim.h: what the programs of lab 13 share: published claims as numbers, and a measurement that can refute one.
//
// - A claim is `n:BYTES:MICROSECONDS:GBITS`: n ranks, each with a link of so many Gb/s, sum a buffer in that time.
// - What is counted is one call per algorithm and size: the span "ALGORITHM/BYTES".
#pragma once

#include "lab.h"

enum { MOST_CLAIMS = 16 };

static const double sample_seconds = 2e-3;
static const char about[] =
    "Checks published times of allreduces against the least that their links allow, and measures a published ratio.\n"
    "Reports for each claim that least time, and 1 if the claim is possible, else 0; and the time of a ring divided by that\n"
    "of a tree.\n\n"
    "  CLAIMS             n:BYTES:MICROSECONDS:GBITS, commas between them\n"
    "  BYTES...           sizes of the buffer that is measured here, multiples of 4 (64K 4M)\n";
static const char usage[] = "give claims n:BYTES:MICROSECONDS:GBITS with commas, and BYTES, as in 8:100000000:2450:100 64K";

struct claim {
    double n;     // ranks
    double bytes; // of the buffer
    double time;  // s, as published
    double link;  // Gb/s of a rank, one way
};

// The program's own: the least time in s that the links allow; whether the claim can be; time of a ring / time of a tree.
static double floor_of(const struct claim *claim);
static bool is_possible(const struct claim *claim);
static double speedup_of_tree(struct clab_comm *comm, size_t bytes);

struct call {
    struct clab_comm *comm;
    struct lab_data data;
};

static inline void sum(void *context)
{
    const struct call *call = context;
    must(clab_allreduce(call->comm, call->data.in, call->data.out, call->data.count, CLAB_F32, CLAB_SUM));
}

// Seconds of an allreduce by an algorithm, measured here, checked and counted. In virtual time one call tells; ranks do not
// leave a barrier together, so it begins with the last one.
static inline double seconds_of(struct clab_comm *comm, const char *algorithm, size_t bytes)
{
    struct call call = {comm, lab_data_make(clab_comm_job(comm), bytes)};
    double samples[LAB_SAMPLES], ends[2];
    must(clab_comm_set_algorithm(comm, CLAB_ALLREDUCE, algorithm, 0));
    lab_data_poison(&call.data);
    must(clab_barrier(comm));
    ends[0] = clab_seconds();
    lab_span_begin(call.data.job, "%s/%zu", algorithm, bytes);
    sum(&call);
    clab_span_end(call.data.job);
    ends[1] = clab_seconds();
    lab_data_check(&call.data, algorithm);
    lab_slowest(comm, ends, 2);
    double seconds = ends[1] - ends[0];
    if (!clab_time_is_exact())
        seconds = lab_median(samples, lab_sample(comm, sample_seconds, clab_samples(3), sum, &call, samples));
    lab_data_free(&call.data);
    return seconds;
}

static inline struct claim read_claim(const struct clab_job *job, const char *text)
{
    struct claim claim;
    char end;
    if (sscanf(text, "%lf:%lf:%lf:%lf%c", &claim.n, &claim.bytes, &claim.time, &claim.link, &end) != 4 || claim.n < 2 ||
        claim.bytes <= 0 || claim.time <= 0 || claim.link <= 0)
        clab_must_size(job, NULL, 1, usage);
    claim.time *= 1e-6;
    return claim;
}

static inline void audit(struct clab_comm *comm, char *text)
{
    int i = 0;
    for (char *rest = text, *one; (one = strsep(&rest, ",")) && i < MOST_CLAIMS; i++) {
        const struct claim claim = read_claim(clab_comm_job(comm), one);
        lab_report(comm, "s", &(double){floor_of(&claim)}, 1, "floor/claim/%d", i + 1);
        lab_report(comm, "1", &(double){is_possible(&claim)}, 1, "possible/claim/%d", i + 1);
    }
}
