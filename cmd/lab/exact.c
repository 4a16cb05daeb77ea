// SPDX-License-Identifier: MIT
// What the programs of labs 01 and 07 report in virtual time: their calls, one after another, by each rank's clock. A
// call begins when its rank comes, and a barrier lets ranks go at different times: it is not enough to know what a call
// takes of which all ranks are ready.

#include "cmd/lab/lab.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/err.h"

// The slowest rank's time since it was at starts[], in s.
static double slowest_since(const struct lab_walk *walk, const double starts[])
{
    double most = 0;
    for (int r = 0; r < walk->nranks; r++)
        most = fmax(most, lab_walk_now(walk, r) - starts[r]);
    return most;
}

// ---- an allreduce of a size ----------------------------------------------------------------------------------

// `algorithm` NULL: by hand, whose sums read two floats and write one.
static int call_once(struct lab_walk *walk, const char *algorithm, size_t bytes)
{
    return algorithm ? lab_walk_call(walk, CLAB_ALLREDUCE, algorithm, bytes / clab_type_bytes(CLAB_F32), CLAB_F32)
                     : lab_walk_exchange(walk, bytes, 3 * (double)bytes);
}

// As the labs' time_calls: a barrier, then a call. Ranks come to it as they leave the allreduce of the time before.
static int time_call(struct lab_walk *walk, const char *algorithm, size_t bytes, double starts[], double *seconds_p)
{
    for (int i = 0; i < 2; i++) {
        CLAB_TRY(lab_walk_barrier(walk));
        lab_walk_note(walk, starts);
        CLAB_TRY(call_once(walk, algorithm, bytes));
        *seconds_p = slowest_since(walk, starts);
        CLAB_TRY(lab_walk_call(walk, CLAB_ALLREDUCE, NULL, 1, CLAB_F64));
    }
    return CLAB_OK;
}

double lab_exact_allreduce(const struct clab_net *net, int ranks, const char *algorithm, size_t bytes)
{
    struct lab_walk walk;
    double seconds = NAN, *starts = malloc((size_t)ranks * sizeof *starts);
    if (starts && lab_walk_begin(net, ranks, &walk) == CLAB_OK) {
        if (time_call(&walk, algorithm, bytes, starts, &seconds) != CLAB_OK)
            seconds = NAN;
        lab_walk_free(&walk);
    }
    free(starts);
    return seconds;
}

// ---- a loop that makes its communicator ----------------------------------------------------------------------

// The loop of lab 01, and what its ranks have spent so far, in s.
struct loop {
    struct lab_walk walk;
    bool anew;      // a communicator in every iteration
    size_t bytes;   // of the allreduce
    double *starts; // (nranks)
    double *spent;  // (LAB_PHASES, nranks)
};

static void add_time(struct loop *loop, enum lab_phase phase)
{
    const int n = loop->walk.nranks;
    for (int r = 0; r < n; r++)
        loop->spent[phase * n + r] += lab_walk_now(&loop->walk, r) - loop->starts[r];
}

static int start_together(struct loop *loop)
{
    CLAB_TRY(lab_walk_barrier(&loop->walk));
    lab_walk_note(&loop->walk, loop->starts);
    return CLAB_OK;
}

static int open_comm(struct loop *loop)
{
    CLAB_TRY(start_together(loop));
    lab_walk_rendezvous(&loop->walk);
    add_time(loop, LAB_RENDEZVOUS);
    lab_walk_note(&loop->walk, loop->starts);
    lab_walk_connect(&loop->walk);
    add_time(loop, LAB_CONNECT);
    return CLAB_OK;
}

static int iterate(struct loop *loop, bool opens, bool closes)
{
    if (opens)
        CLAB_TRY(open_comm(loop));
    CLAB_TRY(start_together(loop));
    CLAB_TRY(call_once(&loop->walk, "doubling", loop->bytes));
    add_time(loop, opens ? LAB_FIRST_OP : LAB_OP);
    return closes ? start_together(loop) : CLAB_OK; // to destroy it is free
}

// Iterations repeat: from the fourth on each is taken to be as the one before it.
static int run_loop(struct loop *loop, int k)
{
    enum { SETTLED = 4 };
    const size_t n = (size_t)loop->walk.nranks * LAB_PHASES;
    double *before = calloc(n, sizeof *before);
    int err = before ? CLAB_OK : CLAB_ENOMEM;
    for (int i = 0; i < k && i < SETTLED && !err; i++) {
        memcpy(before, loop->spent, n * sizeof *before);
        err = iterate(loop, i == 0 || loop->anew, i == k - 1 || loop->anew);
    }
    for (size_t i = 0; k > SETTLED && !err && i < n; i++)
        loop->spent[i] += (k - SETTLED) * (loop->spent[i] - before[i]);
    free(before);
    return err;
}

static struct lab_loop slowest_of(const struct loop *loop, int k)
{
    const int n = loop->walk.nranks;
    struct lab_loop out = {0};
    for (int r = 0; r < n; r++) {
        double whole = 0;
        for (int phase = 0; phase < LAB_PHASES; phase++) {
            const double spent = loop->spent[phase * n + r] / k;
            out.phases[phase] = fmax(out.phases[phase], spent);
            whole += spent;
        }
        out.iteration = fmax(out.iteration, whole);
    }
    return out;
}

// What comes before: the programs warm up, and after each loop they share what they have measured (6 times 7 doubles).
static int run_all_before(struct loop *loop, const int ks[], int n)
{
    CLAB_TRY(run_loop(loop, 2));
    for (int i = 0; i < n; i++) {
        CLAB_TRY(run_loop(loop, ks[i]));
        CLAB_TRY(lab_walk_call(&loop->walk, CLAB_ALLREDUCE, NULL, 42, CLAB_F64));
    }
    memset(loop->spent, 0, (size_t)loop->walk.nranks * LAB_PHASES * sizeof *loop->spent);
    return CLAB_OK;
}

int lab_exact_loop(const struct clab_net *net, enum lab_program program, int ranks, const int ks[], int n, size_t bytes,
                   struct lab_loop *loop_p)
{
    struct loop loop = {.anew = program == LAB_BEFORE, .bytes = bytes};
    CLAB_TRY(lab_walk_begin(net, ranks, &loop.walk));
    loop.starts = malloc((size_t)ranks * sizeof *loop.starts);
    loop.spent = calloc((size_t)ranks * LAB_PHASES, sizeof *loop.spent);
    int err = loop.starts && loop.spent ? run_all_before(&loop, ks, n - 1) : CLAB_ENOMEM;
    if (!err)
        err = run_loop(&loop, ks[n - 1]);
    if (!err)
        *loop_p = slowest_of(&loop, ks[n - 1]);
    free(loop.spent);
    free(loop.starts);
    lab_walk_free(&loop.walk);
    return err;
}
