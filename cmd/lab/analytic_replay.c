// SPDX-License-Identifier: MIT
// Ranks' clocks, walked through what a lab's program calls.

#include "cmd/lab/lab.h"

#include <math.h>
#include <stdlib.h>

#include "core/base/err.h"
#include "backends/model/clock.h"
#include "core/comm/comm.h"

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

void lab_walk_note(const struct lab_walk *walk, double times[])
{
    for (int r = 0; r < walk->nranks; r++)
        times[r] = walk->clocks[r].now;
}

void lab_walk_work(struct lab_walk *walk, int rank, double seconds)
{
    struct clab_clock *clock = &walk->clocks[rank];
    clab_clock_reach(clock, fmax(clock->now, clock->core) + seconds);
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

static void receive(struct lab_walk *walk, int me, int peer, size_t bytes, const struct letter *letter)
{
    struct clab_clock *clock = &walk->clocks[me];
    clab_clock_reach(clock, clab_clock_receive(clock, peer, bytes, letter->posted, letter->stamp));
}

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
            receive(walk, me, peer, bytes, &letters[peer * P + me]);
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

// ---- the monitored barrier -----------------------------------------------------------------------------------

// Rank 0's messages with each other rank: (nranks) down to it, and up from it.
struct star {
    struct letter *down, *up;
};

static void start_down(struct lab_walk *walk, size_t bytes, struct letter down[])
{
    for (int r = 1; r < walk->nranks; r++)
        down[r].due = clab_clock_send(&walk->clocks[0], r, bytes, &down[r].stamp);
}

// Rank 0 sends to all at once, and waits until all of it is sent.
static void tell_all(struct lab_walk *walk, size_t bytes, struct letter down[])
{
    start_down(walk, bytes, down);
    for (int r = 1; r < walk->nranks; r++)
        clab_clock_reach(&walk->clocks[0], down[r].due);
}

// Rank 0 asks all at once, and waits for one after another.
static void hear_all(struct lab_walk *walk, size_t bytes, struct letter up[])
{
    for (int r = 1; r < walk->nranks; r++)
        up[r].posted = walk->clocks[0].now;
    for (int r = 1; r < walk->nranks; r++)
        receive(walk, 0, r, bytes, &up[r]);
}

// Both sides say that they are here, and look for the other meanwhile.
static void call_the_roll(struct lab_walk *walk, struct star s)
{
    start_down(walk, 1, s.down);
    for (int r = 1; r < walk->nranks; r++) {
        struct clab_clock *clock = &walk->clocks[r];
        s.up[r].due = clab_clock_send(clock, 0, 1, &s.up[r].stamp);
        s.down[r].posted = clock->now;
        receive(walk, r, 0, 1, &s.down[r]);
        clab_clock_reach(clock, s.up[r].due);
        s.down[r].posted = clock->now; // the next one's
    }
    hear_all(walk, 1, s.up);
}

// All hear who is here, say how long they have waited, and hear what that comes to.
static void settle_who_is_late(struct lab_walk *walk, struct star s)
{
    const size_t n = (size_t)walk->nranks;
    tell_all(walk, n, s.down);
    for (int r = 1; r < walk->nranks; r++) {
        struct clab_clock *clock = &walk->clocks[r];
        receive(walk, r, 0, n, &s.down[r]);
        clab_clock_reach(clock, clab_clock_send(clock, 0, sizeof(double), &s.up[r].stamp));
        s.down[r].posted = clock->now;
    }
    hear_all(walk, sizeof(double), s.up);
    tell_all(walk, n * sizeof(double), s.down);
    for (int r = 1; r < walk->nranks; r++)
        receive(walk, r, 0, n * sizeof(double), &s.down[r]);
}

int lab_walk_monitored_barrier(struct lab_walk *walk)
{
    const size_t n = (size_t)walk->nranks;
    struct letter *letters = calloc(2 * n, sizeof *letters);
    if (!letters)
        return CLAB_ENOMEM;
    const struct star star = {letters, letters + n};
    call_the_roll(walk, star);
    settle_who_is_late(walk, star);
    free(letters);
    return CLAB_OK;
}
