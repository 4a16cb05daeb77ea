// SPDX-License-Identifier: MIT
// expects: You report the mean of the ratios
//
// Half a mend of lab 00: the right pairs, but their mean, and an interval of the normal distribution.

#include "disturb.h"
#include "interval.h"
#include "lab.h"

enum { WARM = 20 }; // calls
static const char about[] =
    "Times an allreduce (A), and times the same allreduce again (B). Any difference is noise.\n"
    "Reports the time, by how many percent B differs from A, and how certain that is after each number of pairs.\n\n"
    "  BYTES              of the buffer that is summed, a multiple of 4 (64K)\n"
    "  PAIRS...           numbers of pairs, rising, each at least 6 (6 12 25 50 100 200 400)\n"
    "  disturbed          in virtual time, calls last as on a busy machine\n";
static const char usage[] = "give BYTES (a multiple of 4) and PAIRS (at least 6, rising), as in 64K 6 100";

struct lab {
    struct clab_comm *comm;
    struct lab_data data;
    struct disturbance disturbance;
};

// Seconds that the slowest rank takes for one call, rounded to a tick. `name`: "A" or "B", for who counts the calls.
static double time_once(struct lab *lab, const char *name)
{
    const struct lab_data *data = &lab->data;
    must(clab_barrier(lab->comm));
    clab_span_begin(data->job, name);
    const double start = clab_seconds();
    disturb(&lab->disturbance, data->job);
    must(clab_allreduce(lab->comm, data->in, data->out, data->count, CLAB_F32, CLAB_SUM));
    double seconds = clab_seconds() - start;
    clab_span_end(data->job);
    lab_slowest(lab->comm, &seconds, 1);
    return round(seconds / clock_tick) * clock_tick;
}

// Half of the 95 % interval of the mean of n ratios, in percent, if they were normally distributed.
static double half_interval(const double ratios[], int n, double *mean_p)
{
    double sum = 0, squares = 0;
    for (int i = 0; i < n; i++)
        sum += ratios[i];
    for (int i = 0; i < n; i++)
        squares += (ratios[i] - sum / n) * (ratios[i] - sum / n);
    *mean_p = sum / n;
    return 100 * 1.96 * sqrt(squares / (n - 1) / n);
}

// Pairs of A and B, which take turns at being first.
static void measure(struct lab *lab, const struct tests *tests)
{
    const int pairs = tests->pairs[tests->n - 1];
    double *times = malloc(3 * (size_t)pairs * sizeof *times), *ratios = times + 2 * pairs;
    must(times ? CLAB_OK : CLAB_ENOMEM);
    for (int i = 0; i < pairs; i++) {
        const int first = i % 2;
        times[2 * i + first] = time_once(lab, first ? "B" : "A");
        times[2 * i + !first] = time_once(lab, first ? "A" : "B");
        ratios[i] = times[2 * i + 1] / times[2 * i];
    }
    lab_report(lab->comm, "s", times, 2 * pairs, "time");
    double mean = 1;
    for (int i = 0; i < tests->n; i++)
        lab_report(lab->comm, "%", &(double){half_interval(ratios, tests->pairs[i], &mean)}, 1, "interval/%d",
                   tests->pairs[i]);
    report_ratio(lab->comm, mean);
    free(times);
}

int main(int argc, char **argv)
{
    struct clab_job *job;
    struct lab lab = {0};
    clab_help(argc, argv, "[BYTES PAIRS...] [disturbed]", about);
    must(clab_job_open(&argc, argv, &job));
    must(clab_comm_create(job, &lab.comm));
    must(clab_comm_set_algorithm(lab.comm, CLAB_ALLREDUCE, "doubling", 0)); // so that we know what we predict
    lab.disturbance = disturbance_take(&argc, argv);
    lab_arguments(&argc, &argv, "64K 6 12 25 50 100 200 400");
    const struct tests tests = tests_parse(job, argc, argv, 2, usage);
    lab.data = lab_data_make(job, clab_must_size(job, argc > 2 ? argv[1] : NULL, sizeof(float), usage));
    for (int i = 0; i < clab_samples(WARM); i++)
        time_once(&lab, "warm");
    measure(&lab, &tests);
    lab_report(lab.comm, "1", &(double){lab_data_check(&lab.data, "allreduce")}, 1, "checksum");
    lab_data_free(&lab.data);
    clab_comm_destroy(lab.comm);
    must(clab_job_close(job));
    return 0;
}
