// SPDX-License-Identifier: MIT
// Before: an allreduce on the backend that a script names, since it works everywhere.
//
//   before [-n RANKS] [--backend B] [BYTES...]
//
// - It does work everywhere: over TCP, through the kernel, also where all ranks share one memory.
// - What is timed is the slowest rank's mean over a few milliseconds of back-to-back calls, many times over. Ranks
//   meet, and sums are checked, outside of it.

#include <stdio.h>
#include <stdlib.h>

#include "clab.h"

enum { SAMPLES = 9 };
static const double sample_seconds = 5e-3;
static const char about[] = "An allreduce on the backend that a script names, since it works everywhere (gloo).\n"
                            "Reports for each size the seconds a call; of all sizes alpha and beta.\n\n"
                            "  BYTES...           sizes of the buffer, multiples of 4, rising (8 to 8M)\n";
static const char usage[] = "give BYTES, multiples of 4, as in 8 64K";

// init_process_group(backend="gloo"): the name is in the program, and goes wherever the program goes.
static const char *choose_backend(void)
{
    return "gloo";
}

// in, out, host: (count); in and out of clab_alloc, perhaps a GPU's; host the program's own
struct buffers {
    struct clab_job *job;
    size_t count;
    float *in, *out, *host;
};

// What all sizes together say: T(S) = alpha + S beta.
struct line {
    size_t least, most; // bytes
    double at_least, at_most;
};

// Small whole numbers, so that every order of adding gives the same sum.
static float value(int rank, size_t i)
{
    return (float)(rank + 1 + (int)(i % 7));
}

// Fails unless `out` is the sum of all ranks' in; returns the sum over its elements.
static double check(struct clab_comm *comm, const struct buffers *b)
{
    const int ranks = clab_comm_ranks(comm);
    double sum = 0;
    must(clab_copy(b->job, b->host, b->out, b->count * sizeof *b->host));
    for (size_t i = 0; i < b->count; sum += b->host[i++])
        must(b->host[i] == (float)(ranks * (ranks + 1) / 2 + ranks * (int)(i % 7)) ? CLAB_OK : CLAB_EWRONG);
    return sum;
}

// Seconds a call, this rank's mean over `calls` of them.
static double time_calls(struct clab_comm *comm, const struct buffers *b, int calls)
{
    must(clab_barrier(comm));
    const double start = clab_seconds();
    for (int i = 0; i < calls; i++)
        must(clab_allreduce(comm, b->in, b->out, b->count, CLAB_F32, CLAB_SUM));
    return (clab_seconds() - start) / calls;
}

static int by_size(const void *a, const void *b)
{
    return (*(const double *)a > *(const double *)b) - (*(const double *)a < *(const double *)b);
}

// The median; samples become those of the slowest rank, sorted.
static double measure(struct clab_comm *comm, const struct buffers *b, double samples[], int n)
{
    double once = time_calls(comm, b, 3); // warm
    once = time_calls(comm, b, 3);
    must(clab_allreduce(comm, &once, &once, 1, CLAB_F64, CLAB_MAX)); // all ranks make as many calls
    must(clab_set(b->job, b->out, 0xff, b->count * sizeof *b->out)); // NaN
    for (int i = 0; i < n; i++)
        samples[i] = time_calls(comm, b, clab_repeats(sample_seconds, once));
    must(clab_allreduce(comm, samples, samples, (size_t)n, CLAB_F64, CLAB_MAX)); // the slowest rank
    qsort(samples, (size_t)n, sizeof *samples, by_size);
    return samples[n / 2];
}

static void measure_size(struct clab_job *job, struct clab_comm *comm, size_t bytes, struct line *line)
{
    const int n = clab_samples(SAMPLES);
    struct buffers b = {.job = job, .count = bytes / sizeof(float)};
    double samples[SAMPLES];
    char name[64];
    must(clab_alloc(job, bytes, (void **)&b.in));
    must(clab_alloc(job, bytes, (void **)&b.out));
    must((b.host = malloc(bytes)) ? CLAB_OK : CLAB_ENOMEM);
    for (size_t i = 0; i < b.count; i++)
        b.host[i] = value(clab_job_rank(job), i);
    must(clab_copy(job, b.in, b.host, bytes));
    const double median = measure(comm, &b, samples, n), sum = check(comm, &b);
    snprintf(name, sizeof name, "time/%zu", bytes);
    must(clab_report(comm, name, "s", samples, n));
    snprintf(name, sizeof name, "checksum/%zu", bytes);
    must(clab_report(comm, name, "1", &sum, 1));
    if (!line->least)
        line->least = bytes, line->at_least = median;
    line->most = bytes, line->at_most = median;
    free(b.host);
    clab_free(job, b.out);
    clab_free(job, b.in);
}

// The line through the smallest size and the largest; and the size of which half of the time is alpha.
static void report_line(struct clab_comm *comm, const struct line *line)
{
    if (line->most <= line->least)
        return;
    const double beta = (line->at_most - line->at_least) / (double)(line->most - line->least),
                 alpha = line->at_least - beta * (double)line->least, per_gb = beta * 1e9, half = alpha / beta / 1024;
    must(clab_report(comm, "alpha", "s", &alpha, 1));
    must(clab_report(comm, "beta", "s/GB", &per_gb, 1));
    must(clab_report(comm, "half", "KiB", &half, 1));
}

int main(int argc, char **argv)
{
    struct clab_job_options options = {.usual_backend = choose_backend()}; // --backend and CLAB_BACKEND go before it
    struct clab_job *job;
    struct clab_comm *comm;
    struct line line = {0};
    clab_help(argc, argv, "[BYTES...]", about);
    must(clab_job_options_take(&argc, argv, &options));
    must(clab_job_open_with(&options, &job));
    must(clab_comm_create(job, &comm));
    for (int i = 1; i < argc; i++)
        measure_size(job, comm, clab_must_size(job, argv[i], sizeof(float), usage), &line);
    for (size_t bytes = 8; argc == 1 && bytes <= 8 << 20; bytes *= 16)
        measure_size(job, comm, bytes, &line);
    report_line(comm, &line);
    clab_comm_destroy(comm);
    must(clab_job_close(job));
    return 0;
}
