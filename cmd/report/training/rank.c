// SPDX-License-Identifier: MIT
// What each rank of the training run does: real steps of core/train, and the same communication alone.
//
//   commlab report --training-rank -n N --backend B [--emulate NET] LAYERS WIDTH ROWS REPEAT
//
// - Quantities go to CLAB_RESULTS, each the slowest rank's: `step` (with gradients averaged in buckets while the backward
//   pass goes on), `exposed` (of that, communication which nothing hides), `compute` (a step that communicates nothing,
//   all ranks at once), `buckets`, `allreduce`, `broadcast`, `barrier` (alone), `skew` (how much later than the first the
//   last rank ends its backward pass), `latency`, `bandwidth` (a pair of ranks), `setup`, `sent`, `loss`.
// - Gradients are averaged in buckets of 256 KiB, so that several travel per step. Replicas must stay equal, bit for bit.

#include "cmd/report/training/run.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/variables.h"
#include "core/clab.h"
#include "core/train/train.h"

enum { LAYERS_MOST = 256, SAMPLES = 5, LEARNT = 4, SEED = 1, BIG = 4 << 20, LATE_SAMPLES = 5 };
static const float rate = 0.02f;
static const double sample_seconds = 0.02, patience = 20;

struct trainee {
    struct clab_job *job;
    struct clab_comm *comm;
    struct clab_mlp *mlp, *alone; // the replica, and one that is never averaged
    struct clab_ddp *ddp;
    float *x, *wanted, *gradient; // (rows * repeat, width)
    float *flat;                  // (count): what collectives carry when they are timed alone
    size_t count;                 // elements of all gradients
    double loss, exposed;
};

bool training_is_rank(int argc, char **argv)
{
    return argc > 1 && !strcmp(argv[1], TRAINING_RANK);
}

// ---- one step ------------------------------------------------------------------------------------------------

static void backward(struct trainee *t)
{
    const float *outputs;
    clab_span_begin(t->job, "forward and backward");
    must(clab_mlp_forward(t->mlp, t->x, &outputs));
    must(clab_mlp_loss(t->mlp, outputs, t->wanted, t->gradient, &t->loss));
    must(clab_ddp_begin(t->ddp, true));
    must(clab_mlp_backward(t->mlp, t->gradient, false, clab_ddp_ready, t->ddp));
    clab_span_end(t->job);
}

static void step(void *of)
{
    struct trainee *t = of;
    backward(t);
    must(clab_ddp_finish(t->ddp));
    t->exposed += clab_ddp_exposed(t->ddp);
    must(clab_mlp_step(t->mlp, rate));
}

static void compute(void *of)
{
    struct trainee *t = of;
    double loss;
    must(clab_mlp_train(t->alone, t->x, t->wanted, t->gradient, rate, &loss));
}

static void reduce_buckets(void *of)
{
    struct trainee *t = of;
    for (int b = 0; b < clab_ddp_nbuckets(t->ddp); b++) {
        const size_t count = clab_ddp_bucket(t->ddp, b)->count;
        must(clab_allreduce(t->comm, t->flat, t->flat, count, CLAB_F32, CLAB_AVG));
    }
}

static void reduce_all(void *of)
{
    struct trainee *t = of;
    must(clab_allreduce(t->comm, t->flat, t->flat, t->count, CLAB_F32, CLAB_AVG));
}

static void send_parameters(void *of)
{
    struct trainee *t = of;
    must(clab_broadcast(t->comm, t->flat, t->flat, t->count, CLAB_F32, 0));
}

static void meet(void *of)
{
    must(clab_barrier(((struct trainee *)of)->comm));
}

// Half a round trip between rank 0 and the last one.
static void ping(struct trainee *t, size_t count)
{
    const int rank = clab_comm_rank(t->comm), last = clab_comm_ranks(t->comm) - 1;
    if (rank == 0) {
        must(clab_send(t->comm, t->flat, count, CLAB_F32, last));
        must(clab_recv(t->comm, t->flat, count, CLAB_F32, last));
    } else if (rank == last) {
        must(clab_recv(t->comm, t->flat, count, CLAB_F32, 0));
        must(clab_send(t->comm, t->flat, count, CLAB_F32, 0));
    }
}

static void ping_small(void *of)
{
    ping(of, 2);
}

static size_t big_count(const struct trainee *t)
{
    return t->count < BIG / sizeof(float) ? t->count : BIG / sizeof(float);
}

static void ping_big(void *of)
{
    ping(of, big_count(of));
}

// ---- samples -------------------------------------------------------------------------------------------------

typedef void action(void *of);

static double slowest(struct trainee *t, double value)
{
    must(clab_allreduce(t->comm, &value, &value, 1, CLAB_F64, CLAB_MAX));
    return value;
}

static double time_calls(struct trainee *t, action *call, int calls)
{
    must(clab_barrier(t->comm));
    const double start = clab_seconds();
    for (int i = 0; i < calls; i++)
        call(t);
    return slowest(t, (clab_seconds() - start) / calls);
}

static void report(struct trainee *t, const char *quantity, const char *unit, const double samples[], int n)
{
    must(clab_report(t->comm, quantity, unit, samples, n));
}

// Seconds per call, times `factor`.
static void measure(struct trainee *t, const char *quantity, action *call, double factor)
{
    double samples[SAMPLES];
    const int n = clab_samples(SAMPLES);
    const int calls = clab_repeats(sample_seconds, time_calls(t, call, 1));
    for (int i = 0; i < n; i++)
        samples[i] = factor * time_calls(t, call, calls);
    report(t, quantity, "s", samples, n);
}

// Steps, of which each sample knows what of their communication was exposed.
static void measure_steps(struct trainee *t)
{
    double seconds[SAMPLES], exposed[SAMPLES];
    const int n = clab_samples(SAMPLES);
    const int calls = clab_repeats(2 * sample_seconds, time_calls(t, step, 1));
    for (int i = 0; i < n; i++) {
        t->exposed = 0;
        seconds[i] = time_calls(t, step, calls);
        exposed[i] = slowest(t, t->exposed / calls);
    }
    report(t, "step", "s", seconds, n);
    report(t, "exposed", "s", exposed, n);
}

// Bytes that the busiest rank sends in a step; natives are not known, and count as 0.
static void count_bytes(struct trainee *t)
{
    const size_t before = clab_job_counts(t->job).bytes_sent;
    step(t);
    const double sent = slowest(t, (double)(clab_job_counts(t->job).bytes_sent - before));
    report(t, "sent", "B", &sent, 1);
}

static void measure_skew(struct trainee *t)
{
    const int ranks = clab_comm_ranks(t->comm), n = clab_samples(LATE_SAMPLES);
    double samples[LATE_SAMPLES], *late = calloc((size_t)ranks, sizeof *late);
    must(late ? CLAB_OK : CLAB_ENOMEM);
    for (int i = 0; i < n; i++) {
        must(clab_barrier(t->comm));
        compute(t);
        must(clab_monitored_barrier(t->comm, patience, late));
        samples[i] = 0;
        for (int r = 0; r < ranks; r++)
            samples[i] = fmax(samples[i], late[r]);
    }
    report(t, "skew", "s", samples, n);
    free(late);
}

static void measure_communication(struct trainee *t)
{
    const struct clab_comm_setup setup = clab_comm_setup(t->comm);
    const double seconds = slowest(t, setup.rendezvous + setup.connect);
    report(t, "setup", "s", &seconds, 1);
    measure_skew(t);
    count_bytes(t);
    measure(t, "buckets", reduce_buckets, 1);
    measure(t, "allreduce", reduce_all, 1);
    measure(t, "broadcast", send_parameters, 1);
    measure(t, "barrier", meet, 1);
    measure(t, "latency", ping_small, 0.5);
    measure(t, "message", ping_big, 0.5);
    const double bytes = (double)(big_count(t) * sizeof(float));
    report(t, "message_bytes", "B", &bytes, 1);
}

// A few steps: nothing is timed before them, and a trace shows them. Their number is the same in every run, so the loss is.
static void learn(struct trainee *t)
{
    for (int i = 0; i < LEARNT; i++)
        step(t);
    must(clab_allreduce(t->comm, &t->loss, &t->loss, 1, CLAB_F64, CLAB_AVG));
    report(t, "loss", "1", &t->loss, 1);
}

static void measure_all(struct trainee *t)
{
    measure_steps(t);
    measure(t, "compute", compute, 1);
    if (clab_job_ranks(t->job) > 1)
        measure_communication(t);
}

// ---- all of it -----------------------------------------------------------------------------------------------

static void check_replicas(struct trainee *t)
{
    int other;
    must(clab_parameters_compare(t->comm, clab_mlp_parameters(t->mlp), clab_mlp_nparameters(t->mlp), &other));
    if (other < 0)
        return;
    fprintf(stderr, "rank %d: its parameters are not rank 0's after training\n", other);
    must(CLAB_EWRONG);
}

// Backends without collectives of their own use these, which the simulator prices.
static void choose_algorithms(struct trainee *t)
{
    const char *backend = clab_job_backend(t->job);
    if (!training_is_modelled(backend))
        return;
    must(clab_comm_set_algorithm(t->comm, CLAB_ALLREDUCE, TRAINING_ALLREDUCE, 1));
    must(clab_comm_set_algorithm(t->comm, CLAB_BROADCAST, TRAINING_BROADCAST, 1));
    must(clab_comm_set_algorithm(t->comm, CLAB_BARRIER, TRAINING_BARRIER, 1));
}

static void open_training(struct trainee *t, const struct clab_mlp_shape *shape)
{
    const struct clab_data data = {SEED, shape->widths[0], shape->widths[shape->layers]};
    const struct clab_ddp_options options = {.cap = TRAINING_BUCKET, .first_cap = TRAINING_BUCKET};
    must(clab_mlp_create(t->job, shape, SEED, &t->mlp));
    must(clab_mlp_create(t->job, shape, SEED, &t->alone));
    must(clab_ddp_create(t->comm, clab_mlp_parameters(t->mlp), clab_mlp_nparameters(t->mlp), &options, &t->ddp));
    const int rows = clab_mlp_rows(t->mlp);
    const size_t block = (size_t)rows * (size_t)shape->widths[0] * sizeof(float);
    t->count = clab_mlp_count(shape);
    must(clab_alloc(t->job, block, (void **)&t->x));
    must(clab_alloc(t->job, block, (void **)&t->wanted));
    must(clab_alloc(t->job, block, (void **)&t->gradient));
    must(clab_alloc(t->job, t->count * sizeof(float), (void **)&t->flat));
    must(clab_set(t->job, t->flat, 0, t->count * sizeof(float)));
    must(clab_data_load(t->job, &data, 0, shape->rows, rows, clab_job_rank(t->job), clab_job_ranks(t->job), t->x,
                        t->wanted));
}

static void close_training(struct trainee *t)
{
    clab_free(t->job, t->flat);
    clab_free(t->job, t->gradient);
    clab_free(t->job, t->wanted);
    clab_free(t->job, t->x);
    clab_ddp_destroy(t->ddp);
    clab_mlp_destroy(t->alone);
    clab_mlp_destroy(t->mlp);
}

int training_rank(int argc, char **argv)
{
    int widths[LAYERS_MOST + 1];
    struct trainee t = {0};
    argv[1] = argv[0];
    argc--, argv++;
    must(clab_job_open(&argc, argv, &t.job));
    must(clab_comm_create(t.job, &t.comm));
    choose_algorithms(&t);
    static const char usage[] = "give LAYERS WIDTH ROWS REPEAT";
    const int layers = clab_must_count(t.job, argc > 1 ? argv[1] : NULL, LAYERS_MOST, usage);
    const int width = clab_must_count(t.job, argc > 2 ? argv[2] : NULL, 1 << 14, usage);
    const int rows = clab_must_count(t.job, argc > 3 ? argv[3] : NULL, 1 << 20, usage);
    struct clab_mlp_shape shape = clab_mlp_even(layers, width, width, width, rows, widths);
    shape.repeat = clab_must_count(t.job, argc > 4 ? argv[4] : NULL, 1 << 20, usage);
    open_training(&t, &shape);
    learn(&t);
    if (!clab_variable_is_set(CLAB_VARIABLE_TRACE))
        measure_all(&t);
    check_replicas(&t);
    close_training(&t);
    clab_comm_destroy(t.comm);
    must(clab_job_close(t.job));
    return 0;
}
