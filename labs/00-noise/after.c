// SPDX-License-Identifier: MIT
// After: an A/A test. It times the same allreduce as A and as B in interleaved pairs: any difference is noise.
//
//   after [-n RANKS] [--backend B] [BYTES PAIRS...]
//
// - All ranks start one call together. Its time is that of the slowest rank. The ratio of a pair is B / A.
// - After PAIRS pairs, you can see a change only if it is larger than half of the 95 % interval of the median ratio.

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "clab.h"

enum { WARM = 20, FEWEST = 6 };   // pairs: fewer have no 95 % interval
static const double target = 5;   // percent: the change that we want to see
static const double tick = 1e-10; // s: no clock can tell times apart that differ by less
static const char about[] =
    "An A/A test: times the same allreduce as A and as B in interleaved pairs.\n"
    "Reports how much identical calls differ, the 95 % interval of their ratio after each number of pairs, and how\n"
    "many pairs you need to see a change of 5 %.\n\n"
    "  BYTES              of the buffer that is summed, a multiple of 4 (64K)\n"
    "  PAIRS...           numbers of pairs, rising, each at least 6 (6 12 25 50 100 200 400)\n";
static const char usage[] = "give BYTES (a multiple of 4) and PAIRS (at least 6, rising), as in 64K 6 100";

struct lab {
    struct clab_job *job;
    struct clab_comm *comm;
    size_t count;
    float *in, *out, *host; // (count): in and out may be a GPU's memory; host is the program's own
};

// Seconds that the slowest rank takes for one call, rounded to a tick.
static double time_once(struct lab *lab)
{
    must(clab_barrier(lab->comm));
    const double start = clab_seconds();
    must(clab_allreduce(lab->comm, lab->in, lab->out, lab->count, CLAB_F32, CLAB_SUM));
    double seconds = clab_seconds() - start;
    must(clab_allreduce(lab->comm, &seconds, &seconds, 1, CLAB_F64, CLAB_MAX));
    return round(seconds / tick) * tick;
}

// Fails unless `out` is the sum of all ranks' in; returns the sum over its elements.
static double check(const struct lab *lab)
{
    const int P = clab_job_ranks(lab->job);
    double sum = 0;
    must(clab_copy(lab->job, lab->host, lab->out, lab->count * sizeof *lab->host));
    for (size_t i = 0; i < lab->count; sum += lab->host[i++])
        must(lab->host[i] == (float)(P * (P + 1) / 2 + P * (int)(i % 5)) ? CLAB_OK : CLAB_EWRONG);
    return sum;
}

static int by_size(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

// The number of ratios below the true median is binomial: with 95 % certainty n / 2 -+ 1.96 sqrt(n) / 2. So the
// interval leaves out `low` of the n sorted ratios at each end. (n >= 6; David and Nagaraja 2003, section 7.1)
static double half_interval_pct(const double ratios[], int n, double sorted[])
{
    for (int i = 0; i < n; i++)
        sorted[i] = ratios[i];
    qsort(sorted, (size_t)n, sizeof *sorted, by_size);
    const int low = (int)floor((n - 1) / 2.0 - 1.96 * sqrt(n) / 2);
    return 100 * (sorted[n - 1 - low] - sorted[low]) / 2;
}

// Half of the range that holds 95 of 100 ratios.
static double spread_pct(const double sorted[], int n)
{
    const int out = (int)(0.025 * n);
    return 100 * (sorted[n - 1 - out] - sorted[out]) / 2;
}

static void report_tests(struct lab *lab, const double ratios[], const int pairs[], int n, double room[])
{
    double interval = 0;
    char name[32];
    for (int i = 0; i < n; i++) {
        interval = half_interval_pct(ratios, pairs[i], room);
        snprintf(name, sizeof name, "interval/%d", pairs[i]);
        must(clab_report(lab->comm, name, "%", &interval, 1));
    }
    const int last = pairs[n - 1];
    const double spread = spread_pct(room, last), difference = 100 * fabs(room[last / 2] - 1);
    const double scale = interval / target; // the interval falls as 1 / sqrt(pairs)
    const double wanted = interval > 0 ? fmax(FEWEST, ceil(last * scale * scale)) : 1;
    must(clab_report(lab->comm, "difference", "%", &difference, 1));
    must(clab_report(lab->comm, "spread", "%", &spread, 1));
    must(clab_report(lab->comm, "pairs_for_5pct", "pairs", &wanted, 1));
    if (spread == 0 && clab_job_rank(lab->job) == 0)
        printf("no spread: virtual time is computed, so one timing is enough\n");
}

static void measure(struct lab *lab, const int pairs[], int n)
{
    const int most = pairs[n - 1];
    double *times = malloc(4 * (size_t)most * sizeof *times), *ratios = times + 2 * most, *room = ratios + most;
    must(times ? CLAB_OK : CLAB_ENOMEM);
    for (int i = 0; i < most; i++) {
        const int a = i % 2, b = !a; // which of them goes first
        times[2 * i + a] = time_once(lab);
        times[2 * i + b] = time_once(lab);
        ratios[i] = times[2 * i + 1] / times[2 * i];
    }
    must(clab_report(lab->comm, "time", "s", times, 2 * most));
    report_tests(lab, ratios, pairs, n, room);
    free(times);
}

int main(int argc, char **argv)
{
    struct lab lab = {0};
    int pairs[16], n = 0;
    clab_help(argc, argv, "[BYTES PAIRS...]", about);
    must(clab_job_open(&argc, argv, &lab.job));
    must(clab_comm_create(lab.job, &lab.comm));
    must(clab_comm_set_algorithm(lab.comm, CLAB_ALLREDUCE, "doubling", 0)); // so that we know what we predict
    static char *standard[] = {"after", "64K", "6", "12", "25", "50", "100", "200", "400"};
    if (argc == 1)
        argv = standard, argc = sizeof standard / sizeof *standard;
    const size_t bytes = clab_must_size(lab.job, argc > 2 ? argv[1] : NULL, sizeof(float), usage);
    for (int i = 2; i < argc && n < 16; i++) {
        pairs[n] = (int)clab_must_size(lab.job, argv[i], 1, usage);
        if (pairs[n] < (n ? pairs[n - 1] : FEWEST))
            clab_must_size(lab.job, argv[i], (size_t)1 << 30, usage); // ends the program
        n++;
    }
    lab.count = bytes / sizeof(float);
    must(clab_alloc(lab.job, bytes, (void **)&lab.in));
    must(clab_alloc(lab.job, bytes, (void **)&lab.out));
    must((lab.host = malloc(bytes)) ? CLAB_OK : CLAB_ENOMEM);
    for (size_t i = 0; i < lab.count; i++)
        lab.host[i] = (float)(clab_job_rank(lab.job) + 1 + (int)(i % 5));
    must(clab_copy(lab.job, lab.in, lab.host, bytes));
    for (int i = 0; i < WARM; i++)
        time_once(&lab);
    measure(&lab, pairs, n);
    must(clab_report(lab.comm, "checksum", "1", &(double){check(&lab)}, 1));
    free(lab.host);
    clab_free(lab.job, lab.out);
    clab_free(lab.job, lab.in);
    clab_comm_destroy(lab.comm);
    must(clab_job_close(lab.job));
    return 0;
}
