// SPDX-License-Identifier: MIT
// Ranks' clocks, walked through what a lab's program calls.

#include "lab.h"

#include <math.h>
#include <stdlib.h>

#include "base/err.h"
#include "clock.h"
#include "comm/comm.h"

void lab_walk_free(struct lab_walk *walk)
{
    free(walk->clocks);
    free(walk->delays);
    free(walk->ends);
    free(walk->members);
    *walk = (struct lab_walk){0};
}

int lab_walk_begin(const struct clab_net *net, int nranks, struct lab_walk *walk_p)
{
    const size_t n = (size_t)nranks;
    struct lab_walk walk = {.net = net, .nranks = nranks};
    walk.clocks = calloc(n, sizeof *walk.clocks);
    walk.delays = malloc(n * sizeof *walk.delays);
    walk.ends = malloc(n * sizeof *walk.ends);
    walk.members = malloc(n * sizeof *walk.members);
    if (!walk.clocks || !walk.delays || !walk.ends || !walk.members) {
        lab_walk_free(&walk);
        return CLAB_ENOMEM;
    }
    for (int r = 0; r < nranks; r++) {
        walk.clocks[r] = (struct clab_clock){.net = net, .rank = r, .slowness = 1};
        walk.members[r] = r;
    }
    *walk_p = walk;
    return CLAB_OK;
}

double lab_walk_now(const struct lab_walk *walk, int rank)
{
    return walk->clocks[rank].now;
}

// ---- calls ---------------------------------------------------------------------------------------------------

static int price(struct lab_walk *walk, const struct clab_problem *problem, const struct clab_algorithm *algorithm,
                 size_t element_bytes)
{
    double first = INFINITY;
    bool together = true;
    for (int r = 0; r < walk->nranks; r++)
        first = fmin(first, walk->clocks[r].now);
    for (int r = 0; r < walk->nranks; r++) {
        walk->delays[r] = walk->clocks[r].now - first;
        together &= walk->delays[r] == 0;
    }
    const struct clab_sim_options options = {
        .element_bytes = element_bytes, .delays = together ? NULL : walk->delays, .ends = walk->ends};
    struct clab_sim_result result;
    CLAB_TRY(clab_sim_run(problem, algorithm, walk->net, &options, &result));
    for (int r = 0; r < walk->nranks; r++)
        clab_clock_reach(&walk->clocks[r], first + clab_clock_round(walk->ends[r]));
    return CLAB_OK;
}

int lab_walk_call(struct lab_walk *walk, enum clab_collective collective, const char *name, size_t count,
                  enum clab_type type)
{
    struct clab_problem problem = {.collective = collective, .nranks = walk->nranks, .lanes = 1, .count = count};
    const size_t element_bytes = clab_type_bytes(type);
    const struct clab_algorithm *algorithm = name ? clab_algorithm_find(collective, name) : NULL;
    if (algorithm)
        problem.lanes = algorithm->default_lanes;
    else if (!name)
        algorithm = clab_select(&problem, element_bytes, (struct clab_ground){0});
    if (!algorithm || !algorithm->supports(&problem))
        return CLAB_ENOENT;
    return price(walk, &problem, algorithm, element_bytes);
}

int lab_walk_barrier(struct lab_walk *walk)
{
    return lab_walk_call(walk, CLAB_BARRIER, NULL, 0, CLAB_U8);
}

void lab_walk_rendezvous(struct lab_walk *walk)
{
    double latest = 0;
    for (int r = 0; r < walk->nranks; r++)
        latest = fmax(latest, walk->clocks[r].now);
    for (int r = 0; r < walk->nranks; r++)
        clab_clock_reach(&walk->clocks[r], latest + clab_net_rendezvous(walk->net, walk->members, walk->nranks));
}

void lab_walk_connect(struct lab_walk *walk)
{
    for (int r = 0; r < walk->nranks; r++)
        clab_clock_reach(&walk->clocks[r],
                         walk->clocks[r].now + clab_net_connect(walk->net, walk->members, walk->nranks, r));
}

// ---- messages ------------------------------------------------------------------------------------------------

struct letter {
    struct clab_stamp stamp;
    double posted, due; // s: when its receiver asked for it; when its sender is done with it
};

static void post_all(struct lab_walk *walk, size_t bytes, struct letter *letters)
{
    const int P = walk->nranks;
    for (int me = 0; me < P; me++)
        for (int peer = (me + 1) % P; peer != me; peer = (peer + 1) % P) {
            struct letter *mine = &letters[me * P + peer];
            letters[peer * P + me].posted = walk->clocks[me].now;
            mine->due = clab_clock_send(&walk->clocks[me], peer, bytes, &mine->stamp);
        }
}

static int wait_for_all(struct lab_walk *walk, size_t bytes, double touched, struct letter *letters)
{
    const int P = walk->nranks;
    for (int me = 0; me < P; me++) {
        struct clab_clock *clock = &walk->clocks[me];
        for (int peer = (me + 1) % P; peer != me; peer = (peer + 1) % P) {
            const struct letter *theirs = &letters[peer * P + me];
            clab_clock_reach(clock, clab_clock_receive(clock, peer, bytes, theirs->posted, theirs->stamp));
            CLAB_TRY(clab_clock_compute(clock, CLAB_FP32, 0, touched));
        }
        for (int peer = 0; peer < P; peer++)
            if (peer != me)
                clab_clock_reach(clock, letters[me * P + peer].due);
    }
    return CLAB_OK;
}

int lab_walk_exchange(struct lab_walk *walk, size_t bytes, double touched)
{
    struct letter *letters = malloc((size_t)walk->nranks * (size_t)walk->nranks * sizeof *letters);
    if (!letters)
        return CLAB_ENOMEM;
    post_all(walk, bytes, letters);
    const int err = wait_for_all(walk, bytes, touched, letters);
    free(letters);
    return err;
}
