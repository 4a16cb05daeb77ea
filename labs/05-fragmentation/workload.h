// SPDX-License-Identifier: MIT
// What lab 05's programs ask memory for: the buffers of a training job, drawn from a seed, the same in both programs.
//
// - A step has eight microbatches, padded to one of four lengths. Each one's activations are summed over the ranks and
//   stay until the backward pass, which frees them last to first.
// - One microbatch in three leaves a small record (statistics, a cached prefix) for 8 to 64 steps.
// - Then all gradients are summed in one flat buffer, of more than half of the memory.
// Sizes are in granules, of which a memory has 2048.
#pragma once

#include <stdint.h>
#include <stdlib.h>

#include "clab.h"

enum { GRANULES = 2048, MICROBATCHES = 8, LONGEST = 192, FLAT = 1120, MOST_STEPS = 4096 };
enum { EARLY = 12 }; // the first steps, of which times are reported

struct event {
    enum { TAKE, SUM, GIVE } kind; // a buffer is allocated, summed over the ranks, freed
    int step, buffer, granules;    // buffers are numbered from 0
};

struct workload {
    struct event *events; // (n)
    int n, nbuffers, nrecords;
    uint64_t state;
    struct {
        int buffer, until; // the step in which it is freed
    } records[MICROBATCHES * 64];
};

// Source: Steele et al. 2014, SplitMix64.
static inline int workload_draw(struct workload *w, int low, int high)
{
    uint64_t z = w->state += 0x9E3779B97F4A7C15u;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return low + (int)((z ^ (z >> 31)) % (uint64_t)(high - low + 1));
}

static inline int workload_take(struct workload *w, int step, int granules)
{
    w->events[w->n++] = (struct event){TAKE, step, w->nbuffers, granules};
    return w->nbuffers++;
}

static inline void workload_add_step(struct workload *w, int step)
{
    int activations[MICROBATCHES];
    for (int i = w->nrecords - 1; i >= 0; i--)
        if (w->records[i].until == step) {
            w->events[w->n++] = (struct event){GIVE, step, w->records[i].buffer, 0};
            w->records[i] = w->records[--w->nrecords];
        }
    for (int i = 0; i < MICROBATCHES; i++) {
        const int granules = LONGEST / 4 * workload_draw(w, 1, 4);
        activations[i] = workload_take(w, step, granules);
        w->events[w->n++] = (struct event){SUM, step, activations[i], granules};
        if (workload_draw(w, 1, 3) > 1)
            continue;
        w->records[w->nrecords].buffer = workload_take(w, step, workload_draw(w, 1, 4));
        w->records[w->nrecords++].until = step + workload_draw(w, 8, 64);
    }
    for (int i = MICROBATCHES - 1; i >= 0; i--)
        w->events[w->n++] = (struct event){GIVE, step, activations[i], 0};
    const int flat = workload_take(w, step, FLAT);
    w->events[w->n++] = (struct event){SUM, step, flat, FLAT};
    w->events[w->n++] = (struct event){GIVE, step, flat, 0};
}

// All that `steps` steps ask for, for the caller to free(events).
//   errors: CLAB_ENOMEM
static inline int workload_make(int steps, int seed, struct workload *workload_p)
{
    struct workload w = {.state = (uint64_t)seed};
    w.events = malloc((size_t)steps * (5 * MICROBATCHES + 3) * sizeof *w.events);
    if (!w.events)
        return CLAB_ENOMEM;
    for (int step = 0; step < steps; step++)
        workload_add_step(&w, step);
    *workload_p = w;
    return CLAB_OK;
}
