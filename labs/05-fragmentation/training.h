// SPDX-License-Identifier: MIT
// What is around each event of lab 05's training, and around all of it, the same in both programs: arguments, the
// workload and its buffers, data that are filled in and checked, and what is measured.
//
// - How buffers are allocated and registered is each program's own: its functions between training_begin and
//   training_end, which alone are timed.
#pragma once

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#include "clab.h"
#include "device.h"
#include "measure.h"
#include "pool.h"
#include "workload.h"

struct training {
    struct clab_job *job;
    struct device device;
    struct workload workload;
    struct buffer *buffers; // by number
    struct measure measure;
};

// Whether the step of an event begins or ends with it: each step is a span, which `commlab check` counts in. A step
// whose buffer finds no memory does not end.
static inline bool training_begins_step(const struct training *t, const struct event *e)
{
    return e == t->workload.events || e[-1].step != e->step;
}

static inline bool training_ends_step(const struct training *t, const struct event *e)
{
    return e + 1 == t->workload.events + t->workload.n || e[1].step != e->step;
}

// Before an event, of the memory that `pool` has: the buffer that it is about.
static inline struct buffer *training_begin(struct training *t, const struct event *e, const struct pool *pool)
{
    struct buffer *b = &t->buffers[e->buffer];
    if (training_begins_step(t, e))
        clab_span_begin(t->job, "step");
    if (e->kind == TAKE)
        b->granules = e->granules;
    if (e->kind == SUM)
        device_fill(&t->device, b, e->step);
    measure_look(&t->measure, e, b, pool);
    return b;
}

// After an event, which took so long.
static inline void training_end(struct training *t, const struct event *e, double seconds)
{
    struct cost *cost = measure_cost(&t->measure, e->step);
    cost->step += seconds;
    if (e->kind == SUM)
        cost->checksum += device_check(&t->device, &t->buffers[e->buffer], e->step);
    if (training_ends_step(t, e))
        clab_span_end(t->job);
    if (e + 1 == t->workload.events + t->workload.n)
        t->measure.done = t->measure.steps;
}

// ---- all of it -----------------------------------------------------------------------------------------------

static const char usage[] = "give BYTES (a multiple of 128K), STEPS (at most 4096) and SEED, as in 8M 96 1";
static const char arguments[] = "  BYTES              of the memory, a multiple of 128K; registered if one of 8M (8M)\n"
                                "  STEPS              of training, at most 4096 (96)\n"
                                "  SEED               of the workload (1)\n";

// By a program's arguments. about: what it says of itself to --help
static inline void training_open(int argc, char **argv, const char *about, struct training *training_p)
{
    struct training t = {0};
    char text[1024];
    snprintf(text, sizeof text, "%s\n\n%s", about, arguments);
    clab_help(argc, argv, "[BYTES STEPS SEED]", text);
    must(clab_job_open(&argc, argv, &t.job));
    const size_t bytes = clab_must_size(t.job, argc > 1 ? argv[1] : "8M", GRANULES * (size_t)64, usage);
    const int steps = clab_must_count(t.job, argc > 2 ? argv[2] : "96", MOST_STEPS, usage);
    must(workload_make(steps, (int)clab_must_size(t.job, argc > 3 ? argv[3] : "1", 1, usage), &t.workload));
    must((t.buffers = calloc((size_t)t.workload.nbuffers, sizeof *t.buffers)) ? CLAB_OK : CLAB_ENOMEM);
    must(measure_create(steps, &t.measure));
    device_open(t.job, bytes, &t.device);
    *training_p = t;
}

static inline void training_close(struct training *t)
{
    device_close(&t->device);
    measure_destroy(&t->measure);
    free(t->buffers);
    free(t->workload.events);
    must(clab_job_close(t->job));
}
