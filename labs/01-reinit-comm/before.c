// SPDX-License-Identifier: MIT
// Before: a training loop that makes its communicator anew in every iteration.
//
//   before [-n RANKS] [--backend B] [BYTES ITERATIONS...]
//
// - Ranks start each phase together (a barrier, outside of the timer): none is charged for who is late from another.

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "clab.h"

enum phase { RENDEZVOUS, CONNECT, FIRST_OP, OP, DESTROY, PHASES };
static const char *const phase_names[PHASES] = {"rendezvous", "connect", "first_op", "op", "destroy"};
enum { REPEATS = 7 };
static const char about[] =
    "A training loop that makes its communicator anew in every iteration.\n"
    "Reports for each number of iterations the seconds that one takes, and of the last its phases.\n\n"
    "  BYTES              of the buffer that is summed, a multiple of 4 (64K)\n"
    "  ITERATIONS...      lengths of the loop, each measured (1 4 16 64 256)\n";
static const char usage[] = "give BYTES (a multiple of 4) and ITERATIONS, as in 65536 1 16";

struct loop {
    struct clab_job *job;
    struct clab_comm *clock, *comm; // clock stays: for barriers and reports; comm is the one that the loop uses
    enum phase next;                // what the next operation is: the communicator's first, or a later one
    size_t count;                   // floats
    float *in, *out, *host;         // (count): in and out of clab_alloc, perhaps a GPU's; host the program's own
    double spent[PHASES];           // seconds
};

static double start_together(struct loop *loop)
{
    must(clab_barrier(loop->clock));
    return clab_seconds();
}

static void open_comm(struct loop *loop)
{
    const double start = start_together(loop);
    must(clab_comm_create(loop->job, &loop->comm));
    must(clab_comm_set_algorithm(loop->comm, CLAB_ALLREDUCE, "doubling", 0)); // so that we know what we predict
    const double rendezvous = clab_comm_setup(loop->comm).rendezvous;
    loop->spent[RENDEZVOUS] += rendezvous;
    loop->spent[CONNECT] += clab_seconds() - start - rendezvous;
    loop->next = FIRST_OP;
}

static void reduce_gradients(struct loop *loop)
{
    const double start = start_together(loop);
    must(clab_allreduce(loop->comm, loop->in, loop->out, loop->count, CLAB_F32, CLAB_SUM));
    loop->spent[loop->next] += clab_seconds() - start;
    loop->next = OP;
}

static void close_comm(struct loop *loop)
{
    const double start = start_together(loop);
    clab_comm_destroy(loop->comm);
    loop->spent[DESTROY] += clab_seconds() - start;
}

static void train(struct loop *loop, int iterations)
{
    for (int i = 0; i < iterations; i++) {
        open_comm(loop);
        reduce_gradients(loop);
        close_comm(loop);
    }
}

static unsigned value(int rank, size_t i)
{
    return ((unsigned)i * 2654435761u ^ (unsigned)(rank + 1) * 2246822519u) >> 24;
}

// Fails unless `out` is the sum of all ranks' in; returns the sum over its elements.
static double check(const struct loop *loop)
{
    double sum = 0;
    must(clab_copy(loop->job, loop->host, loop->out, loop->count * sizeof *loop->host));
    for (size_t i = 0; i < loop->count; sum += loop->host[i++]) {
        unsigned expected = 0;
        for (int rank = 0; rank < clab_job_ranks(loop->job); rank++)
            expected += value(rank, i);
        must(loop->host[i] == (float)expected ? CLAB_OK : CLAB_EWRONG);
    }
    return sum;
}

// Seconds an iteration with k of them, in total and by phase; by phase is reported when `last`.
static void measure(struct loop *loop, int k, bool last)
{
    double seconds[PHASES + 1][REPEATS] = {0}; // the last row is the total
    const int repeats = clab_samples(REPEATS);
    char name[32];
    for (int i = 0; i < repeats; i++) {
        memset(loop->spent, 0, sizeof loop->spent);
        must(clab_set(loop->job, loop->out, 0xff, loop->count * sizeof *loop->out)); // NaN
        train(loop, k);
        check(loop);
        for (int p = 0; p < PHASES; p++)
            seconds[PHASES][i] += seconds[p][i] = loop->spent[p] / k;
    }
    must(clab_allreduce(loop->clock, seconds, seconds, sizeof seconds / sizeof(double), CLAB_F64, CLAB_MAX));
    snprintf(name, sizeof name, "iteration/%d", k);
    must(clab_report(loop->clock, name, "s", seconds[PHASES], repeats));
    for (int p = 0; last && p < PHASES; p++)
        must(clab_report(loop->clock, phase_names[p], "s", seconds[p], repeats));
}

int main(int argc, char **argv)
{
    struct loop loop = {0};
    clab_help(argc, argv, "[BYTES ITERATIONS...]", about);
    must(clab_job_open(&argc, argv, &loop.job));
    must(clab_comm_create(loop.job, &loop.clock));
    static char *standard[] = {"before", "65536", "1", "4", "16", "64", "256"};
    if (argc == 1)
        argv = standard, argc = sizeof standard / sizeof *standard;
    loop.count = clab_must_size(loop.job, argc > 2 ? argv[1] : NULL, sizeof(float), usage) / sizeof(float);
    must(clab_alloc(loop.job, loop.count * sizeof(float), (void **)&loop.in));
    must(clab_alloc(loop.job, loop.count * sizeof(float), (void **)&loop.out));
    must((loop.host = malloc(loop.count * sizeof(float))) ? CLAB_OK : CLAB_ENOMEM);
    for (size_t i = 0; i < loop.count; i++)
        loop.host[i] = (float)value(clab_job_rank(loop.job), i);
    must(clab_copy(loop.job, loop.in, loop.host, loop.count * sizeof(float)));
    train(&loop, 2); // warm
    for (int i = 2; i < argc; i++)
        measure(&loop, (int)clab_must_size(loop.job, argv[i], 1, usage), i == argc - 1);
    must(clab_report(loop.clock, "checksum", "1", &(double){check(&loop)}, 1));
    free(loop.host);
    clab_free(loop.job, loop.out);
    clab_free(loop.job, loop.in);
    clab_comm_destroy(loop.clock);
    must(clab_job_close(loop.job));
    return 0;
}
