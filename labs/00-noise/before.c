// SPDX-License-Identifier: MIT
// Before: one timing of A, one of B, and a percentage. Here A and B are the same allreduce.
//
//   before [-n RANKS] [--backend B] [BYTES PAIRS...]
//
// - All ranks start one call together. Its time is that of the slowest rank. Both programs take the same arguments;
//   here PAIRS are ignored.

#include <math.h>
#include <stdlib.h>

#include "clab.h"

enum { WARM = 20 };
static const double tick = 1e-10; // s: no clock can tell times apart that differ by less
static const char about[] = "Times an allreduce (A), and times the same allreduce again (B).\n"
                            "Reports the time of A, and by how many percent B differs from it.\n\n"
                            "  BYTES              of the buffer that is summed, a multiple of 4 (64K)\n"
                            "  PAIRS...           only the program after uses them\n";
static const char usage[] = "give BYTES (a multiple of 4) and PAIRS, as in 64K 6 100";

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

static void measure(struct lab *lab)
{
    const double a = time_once(lab), b = time_once(lab);
    const double difference = 100 * fabs(b / a - 1);
    must(clab_report(lab->comm, "time", "s", &a, 1));
    must(clab_report(lab->comm, "difference", "%", &difference, 1));
}

int main(int argc, char **argv)
{
    struct lab lab = {0};
    clab_help(argc, argv, "[BYTES PAIRS...]", about);
    must(clab_job_open(&argc, argv, &lab.job));
    must(clab_comm_create(lab.job, &lab.comm));
    must(clab_comm_set_algorithm(lab.comm, CLAB_ALLREDUCE, "doubling", 0)); // so that we know what we predict
    static char *standard[] = {"before", "64K", "6"};
    if (argc == 1)
        argv = standard, argc = sizeof standard / sizeof *standard;
    const size_t bytes = clab_must_size(lab.job, argc > 2 ? argv[1] : NULL, sizeof(float), usage);
    for (int i = 2; i < argc; i++)
        clab_must_size(lab.job, argv[i], 1, usage);
    lab.count = bytes / sizeof(float);
    must(clab_alloc(lab.job, bytes, (void **)&lab.in));
    must(clab_alloc(lab.job, bytes, (void **)&lab.out));
    must((lab.host = malloc(bytes)) ? CLAB_OK : CLAB_ENOMEM);
    for (size_t i = 0; i < lab.count; i++)
        lab.host[i] = (float)(clab_job_rank(lab.job) + 1 + (int)(i % 5));
    must(clab_copy(lab.job, lab.in, lab.host, bytes));
    for (int i = 0; i < WARM; i++)
        time_once(&lab);
    measure(&lab);
    must(clab_report(lab.comm, "checksum", "1", &(double){check(&lab)}, 1));
    free(lab.host);
    clab_free(lab.job, lab.out);
    clab_free(lab.job, lab.in);
    clab_comm_destroy(lab.comm);
    must(clab_job_close(lab.job));
    return 0;
}
