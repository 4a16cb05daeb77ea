// SPDX-License-Identifier: MIT
// What is around the training of lab 09, the same in both programs: arguments, codes of 8 bits, reports, and other ways
// to make gradients smaller.
//
// - A program brings its way to average. Its name is in all that is reported; with any other name than fp32, the
//   library's ways (train/compress.h) and two mistakes are measured, too: ways.h.
// - What is timed is the slowest rank's median over steps; the time to average has the quantiser in it. Training takes its
//   steps times that (begin_of_step): the program's first steps, which are slower, count like all others. Nothing runs
//   beside the backward pass, and all gradients are one bucket: so what compression saves is all that changes.
// - After the timed steps one more is counted, and its averages are compared with those of float32. Its span is
//   "averaging", of the program's own way: `commlab check` counts in it.
#pragma once

#include <math.h>

#include "lab.h"
#include "train/compress.h"
#include "train/compress/int8.h"
#include "train/train.h"

enum { MOST_LAYERS = 256, MOST = 1 << 30, MOST_STEPS = 1000, SEED = 1 };
enum { LATE = 10 }; // PowerSGD and top-k begin at this step; times are of the steps from there on
static const float rate = 0.2f;
static const double wanted_loss = 0.3; // of the first step's: the target of "until"

// x, wanted, delta: (rows * repeat, width)
struct training {
    struct clab_job *job;
    struct clab_comm *comm;
    int rank, ranks;
    float *gradients; // (count) this rank's; a way to average leaves the average of all ranks there
    size_t count;
    size_t share;           // elements of a rank: count / ranks, rounded up
    int8_t *codes, *pieces; // (ranks, share): of each rank's share, a block
    int32_t *sums;          // (share)
    int8_t *means;          // (share)
    struct clab_mlp *mlp;
    struct clab_ddp *ddp;    // of the library's ways
    struct clab_comm *alone; // of this rank only: what averaging takes there is work on memory
    int layers, width, rows, repeat, steps;
    double began, averaging; // s: when averaging began, and what it has taken in this step
    bool is_counted;         // this step is a span
    float *x, *wanted, *delta, *exact;
};

// A way to average.
typedef void training_average(struct training *t);

// ---- for ways to average -------------------------------------------------------------------------------------

static inline void averaging_begins(struct training *t)
{
    if (t->is_counted)
        clab_span_begin(t->job, "averaging");
    t->began = clab_seconds();
}

static inline void averaging_ends(struct training *t)
{
    t->averaging += clab_seconds() - t->began;
    if (t->is_counted)
        clab_span_end(t->job);
}

// In virtual time, so many bytes of memory that were read or written take their time.
static inline void charge(const struct training *t, double bytes)
{
    must(clab_compute(t->job, CLAB_FP32, 0, bytes));
}

// The largest magnitude of this rank's gradients.
static inline float largest(const struct training *t)
{
    charge(t, 4.0 * (double)t->count);
    return clab_int8_largest(t->gradients, t->count);
}

// codes = gradients / scale, rounded to a whole number from -127 to 127. What is behind the last element is 0.
static inline void encode(struct training *t, float scale)
{
    clab_int8_encode(t->gradients, t->count, scale, t->codes);
    memset(t->codes + t->count, 0, t->share * (size_t)t->ranks - t->count);
    charge(t, 5.0 * (double)t->count);
}

// gradients = codes * scale. It charges for the sums of a share, too.
static inline void decode(struct training *t, float scale)
{
    clab_int8_decode(t->codes, t->count, scale, t->gradients);
    charge(t, 5.0 * (double)t->count + (9.0 * t->ranks + 5) * (double)t->share);
}

// The nearest whole number from -127 to 127. (Adding 1.5 * 2^23 leaves a float no bits behind the point.)
static inline int8_t nearest(float value)
{
    const float within = value > 127 ? 127 : value < -127 ? -127 : value;
    return (int8_t)(within + 0x1.8p23f - 0x1.8p23f);
}

#include "ways.h"

// ---- a way, measured -----------------------------------------------------------------------------------------

// One step. Returns the loss of this rank's samples before it.
static inline double train(struct training *t, const struct way *way)
{
    const float *outputs;
    double loss;
    must(clab_mlp_forward(t->mlp, t->x, &outputs));
    must(clab_mlp_loss(t->mlp, outputs, t->wanted, t->delta, &loss));
    way_average(t, way);
    must(clab_mlp_step(t->mlp, rate));
    return loss;
}

struct result {
    double time, averaging, work; // s, of a step
    double early;                 // of a step before LATE
    double bytes;                 // that this rank sends in a step
    double error;                 // of an average: the length of what is wrong, against that of float32's average, %
    double losses[MOST_STEPS]; // before a step
    double apart;              // parameters of two ranks, in percent of the largest parameter
    double saved;              // the loss of rank 0's model on the samples of all ranks
};

static inline void time_steps(struct training *t, const struct way *way, struct result *r)
{
    static double seconds[MOST_STEPS], averaging[MOST_STEPS];
    const int late = t->steps > LATE ? LATE : 0;
    must(clab_barrier(t->comm));
    for (int s = 0; s < t->steps; s++) {
        const double began = clab_seconds();
        t->averaging = 0;
        r->losses[s] = train(t, way);
        seconds[s] = clab_seconds() - began;
        averaging[s] = t->averaging;
    }
    r->early = late ? lab_median(seconds, late) : 0;
    r->time = lab_median(seconds + late, t->steps - late);
    r->averaging = lab_median(averaging + late, t->steps - late);
    must(clab_allreduce(t->comm, r->losses, r->losses, (size_t)t->steps, CLAB_F64, CLAB_AVG));
}

// What is saved in the end is rank 0's model.
static inline void judge_model(struct training *t, struct result *r)
{
    const struct clab_parameter *p = clab_mlp_parameters(t->mlp);
    const float *outputs;
    r->apart = way_apart(t);
    must(clab_broadcast(t->comm, p->value, p->value, t->count, CLAB_F32, 0));
    must(clab_mlp_forward(t->mlp, t->x, &outputs));
    must(clab_mlp_loss(t->mlp, outputs, t->wanted, t->delta, &r->saved));
    must(clab_allreduce(t->comm, &r->saved, &r->saved, 1, CLAB_F64, CLAB_AVG));
}

// One step more, whose averages are compared with float32's: after the span, outside of all clocks.
static inline void count_step(struct training *t, const struct way *way, struct result *r)
{
    double wrong = 0, size = 0;
    t->is_counted = !way->method && !way->is_wrong;
    way_backward(t, way);
    memcpy(t->exact, t->gradients, t->count * sizeof(float));
    const struct clab_counts before = clab_job_counts(t->job);
    way_exchange(t, way);
    const struct clab_counts after = clab_job_counts(t->job);
    t->is_counted = false;
    r->bytes = (double)(after.bytes_sent - before.bytes_sent);
    r->work = after.computed - before.computed;
    const bool is_own = t->ranks > 1 && !memcmp(t->exact, t->gradients, t->count * sizeof(float));
    float most = clab_int8_largest(t->exact, t->count);
    must(clab_allreduce(t->comm, &most, &most, 1, CLAB_F32, CLAB_MAX));
    must(clab_allreduce(t->comm, t->exact, t->exact, t->count, CLAB_F32, CLAB_AVG));
    if (!way->method && !way->is_wrong)
        expect_average(t, most / 127, is_own);
    for (size_t i = 0; i < t->count; i++) {
        wrong += pow((double)t->gradients[i] - t->exact[i], 2);
        size += pow(t->exact[i], 2);
    }
    r->error = 100 * sqrt(wrong / size);
    must(clab_mlp_step(t->mlp, rate));
}

// What is done on memory, without anyone to talk to. In virtual time it has been counted.
static inline void time_work(struct training *t, const struct way *way, struct result *r)
{
    enum { CALLS = 16 };
    double seconds[CALLS];
    if (clab_time_is_exact())
        return;
    struct training one = *t;
    one.comm = t->alone, one.ranks = 1, one.share = t->count;
    way_open(&one, way, -1);
    for (int i = 0; i < CALLS; i++) {
        one.averaging = 0;
        train(&one, way);
        seconds[i] = one.averaging;
    }
    way_close(&one, way);
    r->work = lab_median(seconds, CALLS);
}

// The first step whose loss is small enough, from 1; 0: none is.
static inline int steps_until(const struct training *t, const struct result *r)
{
    for (int s = 0; s < t->steps; s++)
        if (r->losses[s] <= wanted_loss * r->losses[0])
            return s + 1;
    return 0;
}

// Seconds of an allreduce, an alltoall and an allgather of one element: what their messages cost, whatever they carry.
static inline void time_messages(struct training *t, double seconds[3])
{
    enum { CALLS = 8 };
    double samples[3][CALLS];
    for (int i = 0; i < CALLS; i++)
        for (int kind = 0; kind < 3; kind++) {
            must(clab_barrier(t->comm));
            const double began = clab_seconds();
            if (kind == 0)
                must(clab_allreduce(t->comm, t->exact, t->exact, 1, CLAB_F32, CLAB_MAX));
            else if (kind == 1)
                must(clab_alltoall(t->comm, t->codes, t->pieces, 1, CLAB_I8));
            else
                must(clab_allgather(t->comm, t->means, t->codes, 1, CLAB_I8));
            samples[kind][i] = clab_seconds() - began;
        }
    for (int kind = 0; kind < 3; kind++)
        seconds[kind] = lab_median(samples[kind], CALLS);
    lab_slowest(t->comm, seconds, 3);
}

// The bandwidth of a link, in GB/s, at which the bytes that are saved take as long as the work and the messages that are
// more than float32's one allreduce. Negative: it pays at any.
static inline double breakeven(struct training *t, const struct way *way, const struct result *r)
{
    const double whole = 8.0 * (t->ranks - 1) / t->ranks * (double)t->count; // bytes that a rank sends of float32
    double seconds[3];
    time_messages(t, seconds);
    const double messages = (way->calls.allreduces - 1) * seconds[0] + way->calls.alltoalls * seconds[1] +
                            way->calls.allgathers * seconds[2];
    return 1e-9 * (whole - r->bytes) / (r->work + messages);
}

// When a step begins, in s since the first one: the only time of training that is told, and drawn.
//   step: from 1
static inline double begin_of_step(const struct way *way, const struct result *r, int step)
{
    const int early = way->is_late ? (step - 1 < LATE ? step - 1 : LATE) : 0;
    return early * r->early + (step - 1 - early) * r->time;
}

// How the training went. Times are now those of the slowest rank.
static inline void report_training(const struct training *t, const struct way *way, struct result *r)
{
    double steps = steps_until(t, r);
    for (int s = 0; s < t->steps; s += s ? 5 : 4)
        lab_report(t->comm, "1", &r->losses[s], 1, "loss/%s/%d", way->name, s + 1);
    lab_report(t->comm, "1", &r->saved, 1, "saved/%s/loss", way->name);
    if (way->is_wrong || !way->method)
        lab_report(t->comm, "%", &r->apart, 1, "apart/%s/end", way->name);
    if (way->is_late && t->steps > LATE)
        lab_report(t->comm, "s", &r->early, 1, "early/%s/step", way->name);
    if (way->is_wrong || steps == 0)
        return;
    double seconds = begin_of_step(way, r, (int)steps);
    lab_report(t->comm, "1", &steps, 1, "steps/%s/loss", way->name);
    lab_report(t->comm, "s", &seconds, 1, "until/%s/loss", way->name);
}

static inline void report(struct training *t, const struct way *way, struct result *r)
{
    const bool is_whole = !strcmp(way->name, "fp32");
    double compute = r->time - r->averaging;
    lab_report(t->comm, "s", &r->time, 1, "time/%s/step", way->name);
    if (!way->is_wrong && !way->method)
        lab_report(t->comm, "s", &r->averaging, 1, "averaging/%s/step", way->name);
    if (is_whole)
        lab_report(t->comm, "s", &compute, 1, "compute/%s/step", way->name);
    lab_report(t->comm, "B", &r->bytes, 1, "bytes/%s/step", way->name);
    lab_report(t->comm, "%", &r->error, 1, "error/%s/step", way->name);
    if (!is_whole)
        lab_report(t->comm, "s", &r->work, 1, "work/%s/step", way->name);
    double pays = is_whole ? 0 : breakeven(t, way, r); // of numbers that are now the same on all ranks
    if (!way->is_wrong && t->ranks > 1 && pays > 0)
        lab_report(t->comm, "GB/s", &pays, 1, "pays/%s/below", way->name);
    report_training(t, way, r);
}

// A new network for each way, the same for all.
static inline void measure(struct training *t, const struct way *way)
{
    static struct result r;
    r = (struct result){0};
    way_open(t, way, LATE);
    time_steps(t, way, &r);
    count_step(t, way, &r);
    if (strcmp(way->name, "fp32"))
        time_work(t, way, &r);
    judge_model(t, &r);
    if (r.apart > 0 && !way->is_wrong) {
        fprintf(stderr, "rank %d, %s: ranks have learnt parameters that are %.3g %% apart\n", t->rank, way->name,
                r.apart);
        must(CLAB_EWRONG);
    }
    report(t, way, &r);
    way_close(t, way);
}

// ---- arguments -----------------------------------------------------------------------------------------------

static const char about[] =
    "Data parallel training whose gradients travel whole, or compressed.\n"
    "Reports seconds per step, those of averaging and of the work on memory in it, bytes, errors, and losses.\n\n"
    "  LAYERS WIDTH       at most 256 layers, each so wide (3 64)\n"
    "  ROWS REPEAT        samples per rank, and how often its batch holds each (32 1)\n"
    "  STEPS              of training, at most 1000 (30)\n";
static const char usage[] =
    "give LAYERS WIDTH ROWS REPEAT STEPS, at most 256 layers and 1000 steps, as in 3 64 32 1 30";

static inline void read_arguments(struct training *t, int argc, char **argv)
{
    int *settings[] = {&t->layers, &t->width, &t->rows, &t->repeat, &t->steps};
    const int most[] = {MOST_LAYERS, MOST, MOST, MOST, MOST_STEPS};
    for (int i = 0; i < 5; i++)
        *settings[i] = clab_must_count(t->job, i + 1 < argc ? argv[i + 1] : NULL, most[i], usage);
}

static inline void allocate(struct training *t)
{
    const size_t block = (size_t)t->rows * (size_t)t->repeat * (size_t)t->width;
    t->rank = clab_job_rank(t->job), t->ranks = clab_job_ranks(t->job);
    t->count = (size_t)t->layers * ((size_t)t->width + 1) * (size_t)t->width;
    t->share = (t->count + (size_t)t->ranks - 1) / (size_t)t->ranks;
    const size_t codes = (size_t)t->ranks * t->share;
    must(clab_alloc(t->job, (3 * block + t->count) * sizeof(float), (void **)&t->x));
    t->wanted = t->x + block, t->delta = t->wanted + block, t->exact = t->delta + block;
    must(clab_alloc(t->job, t->count * sizeof(int32_t) + 3 * codes, (void **)&t->sums));
    t->codes = (int8_t *)(t->sums + t->count), t->pieces = t->codes + codes, t->means = t->pieces + codes;
}

// Students' codes are the processor's, and would be lost in a GPU's memory.
static inline void refuse_gpus(struct clab_job *job)
{
    if (clab_compress_is_on_host(clab_job_device(job)))
        return;
    if (clab_job_rank(job) == 0)
        fprintf(stderr, "lab 09 makes its codes on the processor, but memory of this backend is a GPU's: use --backend "
                        "shm, ofi or sim\n");
    must(clab_job_close(job));
    exit(2);
}

// All of a program's main. name: of its way
static inline int training_main(int argc, char **argv, training_average *average, const char *name)
{
    struct training t = {0};
    clab_help(argc, argv, "[LAYERS WIDTH ROWS REPEAT STEPS]", about);
    must(clab_job_open(&argc, argv, &t.job));
    refuse_gpus(t.job);
    must(clab_comm_create(t.job, &t.comm));
    must(clab_comm_split(t.comm, clab_job_rank(t.job), 0, &t.alone));
    must(clab_comm_set_algorithm(t.comm, CLAB_ALLREDUCE, "halving_doubling", 1));
    must(clab_comm_set_algorithm(t.comm, CLAB_ALLTOALL, "pairwise", 0));
    must(clab_comm_set_algorithm(t.comm, CLAB_ALLGATHER, "ring", 0));
    lab_arguments(&argc, &argv, "3 64 32 1 30");
    read_arguments(&t, argc, argv);
    allocate(&t);
    measure(&t, &(struct way){.name = name, .calls = {1, 1, 1}, .average = average});
    for (size_t w = 0; strcmp(name, "fp32") && w < sizeof others / sizeof *others; w++)
        measure(&t, &others[w]);
    clab_free(t.job, t.sums);
    clab_free(t.job, t.x);
    clab_comm_destroy(t.alone);
    clab_comm_destroy(t.comm);
    must(clab_job_close(t.job));
    return 0;
}
