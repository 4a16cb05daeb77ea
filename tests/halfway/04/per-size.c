// SPDX-License-Identifier: MIT
// expects: A process joins one job
// Half-mended: small buffers go over shared memory, large ones over TCP: each size opens a job of its own.

#include "clab.h"
#include "lab.h"

enum { FIRST = 3 }; // calls that are not timed, and then those that say how many calls a sample takes
static const double sample_seconds = 5e-3;
static const char about[] = "An allreduce on the backend that fits where the ranks are.\n"
                            "Reports for each size the seconds a call; of all sizes alpha and beta.\n\n"
                            "  BYTES...           sizes of the buffer, multiples of 4, rising (8 to 8M)\n";
static const char usage[] = "give BYTES, multiples of 4, as in 8 64K";
static const char usual[] = "8 128 2048 32768 524288 8388608";

// Below 1 MiB latency counts, above it bandwidth.
static const char *choose_backend(size_t bytes)
{
    return bytes < 1 << 20 ? NULL : "ofi";
}

struct lab {
    struct clab_comm *comm;
    struct lab_data data;
};

// What all sizes together say: T(S) = alpha + S beta.
struct line {
    size_t least, most; // bytes
    double at_least, at_most;
};

static void sum(void *context)
{
    const struct lab *lab = context;
    must(clab_allreduce(lab->comm, lab->data.in, lab->data.out, lab->data.count, CLAB_F32, CLAB_SUM));
}

// Returns the number of samples, in seconds per call of the slowest rank.
static int measure(struct lab *lab, double samples[LAB_SAMPLES])
{
    lab_time(lab->comm, FIRST, sum, lab); // warm
    lab_data_poison(&lab->data);
    lab_span_begin(lab->data.job, "sum/%zu", lab->data.bytes);
    const int n = lab_sample(lab->comm, sample_seconds, FIRST, sum, lab, samples);
    clab_span_end(lab->data.job);
    return n;
}

static void measure_size(struct clab_job *job, struct clab_comm *comm, size_t bytes, struct line *line)
{
    struct lab lab = {comm, lab_data_make(job, bytes)};
    double samples[LAB_SAMPLES];
    const int n = measure(&lab, samples);
    double checksum = lab_data_check(&lab.data, "sum");
    lab_report(comm, "s", samples, n, "time/%zu", bytes);
    lab_report(comm, "1", &checksum, 1, "checksum/%zu", bytes);
    line->at_most = lab_median(samples, n), line->most = bytes;
    if (!line->least)
        line->least = bytes, line->at_least = line->at_most;
    lab_data_free(&lab.data);
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
    struct clab_job_options options = {0};
    struct clab_job *job;
    struct clab_comm *comm;
    struct line line = {0};
    clab_help(argc, argv, "[BYTES...]", about);
    must(clab_job_options_take(&argc, argv, &options));
    lab_arguments(&argc, &argv, usual);
    for (int i = 1; i < argc; i++) {
        const size_t bytes = clab_must_size(NULL, argv[i], sizeof(float), usage);
        options.usual_backend = choose_backend(bytes);
        must(clab_job_open_with(&options, &job));
        must(clab_comm_create(job, &comm));
        measure_size(job, comm, clab_must_size(job, argv[i], sizeof(float), usage), &line);
        if (i + 1 == argc)
            report_line(comm, &line);
        clab_comm_destroy(comm);
        must(clab_job_close(job));
    }
    return 0;
}
