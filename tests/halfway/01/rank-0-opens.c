// SPDX-License-Identifier: MIT
// expects: clab_comm_create is collective: every rank of the job calls it
//
// Half a mend of lab 01: one communicator, which rank 0 makes for everyone. Making one needs every rank.

#include "lab.h"

enum phase { RENDEZVOUS, CONNECT, FIRST_OP, OP, DESTROY, PHASES };
static const char *const phase_names[PHASES] = {"rendezvous", "connect", "first_op", "op", "destroy"};
enum { REPEATS = 7 };
static const char about[] =
    "A training loop that averages gradients, and times the phases of its communicator.\n"
    "Reports for each number of iterations the seconds that one takes, and of the last its phases.\n\n"
    "  BYTES              of the buffer that is summed, a multiple of 4 (64K)\n"
    "  ITERATIONS...      lengths of the loop, each measured (1 4 16 64 256)\n";
static const char usage[] = "give BYTES (a multiple of 4) and ITERATIONS, as in 65536 1 16";

struct loop {
    struct clab_job *job;
    struct clab_comm *clock, *comm; // clock stays: for barriers and reports; comm is the one that the loop uses
    enum phase next;                // what the next operation is: the communicator's first, or a later one
    struct lab_data data;
    double spent[PHASES]; // seconds
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
    const struct lab_data *data = &loop->data;
    const double start = start_together(loop);
    must(clab_allreduce(loop->comm, data->in, data->out, data->count, CLAB_F32, CLAB_SUM));
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
    if (clab_job_rank(loop->job) == 0)
        open_comm(loop);
    for (int i = 0; i < iterations; i++)
        reduce_gradients(loop);
    close_comm(loop);
}

// After how many operations they have cost as much as the communicator. `whole`: seconds per iteration of k.
static double break_even(int k, double whole, double later_ops)
{
    const double op = later_ops * k / (k - 1);
    return k * (whole - later_ops) / op - 1; // the first operation is one of them
}

// Seconds per iteration with k of them, in total and by phase; by phase is reported when `last`.
static void measure(struct loop *loop, int k, bool last)
{
    double seconds[PHASES + 1][REPEATS] = {0}; // the last row is the total
    const int repeats = clab_samples(REPEATS);
    for (int i = 0; i < repeats; i++) {
        memset(loop->spent, 0, sizeof loop->spent);
        lab_data_poison(&loop->data);
        lab_span_begin(loop->job, "loop/%d", k);
        train(loop, k);
        clab_span_end(loop->job);
        lab_data_check(&loop->data, "sum of the gradients");
        for (int p = 0; p < PHASES; p++)
            seconds[PHASES][i] += seconds[p][i] = loop->spent[p] / k;
    }
    lab_report(loop->clock, "s", seconds[PHASES], repeats, "iteration/%d", k);
    for (int p = 0; last && p < PHASES; p++)
        lab_report(loop->clock, "s", seconds[p], repeats, "%s", phase_names[p]);
    if (!last || seconds[OP][0] <= 0)
        return; // there is no later operation
    for (int i = 0; i < repeats; i++)
        seconds[PHASES][i] = break_even(k, seconds[PHASES][i], seconds[OP][i]);
    lab_report(loop->clock, "iterations", seconds[PHASES], repeats, "break_even");
}

int main(int argc, char **argv)
{
    struct loop loop = {0};
    clab_help(argc, argv, "[BYTES ITERATIONS...]", about);
    must(clab_job_open(&argc, argv, &loop.job));
    must(clab_comm_create(loop.job, &loop.clock));
    lab_arguments(&argc, &argv, "65536 1 4 16 64 256");
    loop.data = lab_data_make(loop.job, clab_must_size(loop.job, argc > 2 ? argv[1] : NULL, sizeof(float), usage));
    train(&loop, 2); // warm
    for (int i = 2; i < argc; i++)
        measure(&loop, (int)clab_must_size(loop.job, argv[i], 1, usage), i == argc - 1);
    lab_report(loop.clock, "1", &(double){lab_data_check(&loop.data, "sum of the gradients")}, 1, "checksum");
    lab_data_free(&loop.data);
    clab_comm_destroy(loop.clock);
    must(clab_job_close(loop.job));
    return 0;
}
