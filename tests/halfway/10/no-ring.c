// SPDX-License-Identifier: MIT
// expects: choose ring for it
//
// Half a mend of lab 10: two levels, and the library chooses the algorithm between the hosts.

#include "placement.h"

static const double sample_seconds = 5e-3;
static const char about[] =
    "Sums a buffer over ranks on several hosts: an allreduce, by each method that the program has.\n"
    "Reports for each size the seconds per call, and the bytes that the busiest host sends to other hosts in one.\n\n"
    "  BYTES...           sizes of the buffer, multiples of 4 and of the ranks per host (8K to 512K)\n";
static const char usage[] = "give BYTES, multiples of 4 times the ranks per host, as in 8K 512K";

struct lab {
    struct clab_comm *dealt; // all ranks, as a launcher has dealt them out: those of a host do not follow each other
    struct clab_comm *order; // all ranks, in the order of the ring
    struct clab_comm *inside; // the ranks of my host
    struct clab_comm *across; // a rank of each host: those with my number in `inside`
    struct lab_data data;
};

// The communicators, made once. Who is in `order`: all. In which order: by the key, then as in `dealt`.
static void prepare(struct lab *lab)
{
    const int host = clab_comm_host(lab->dealt, clab_comm_rank(lab->dealt));
    must(clab_comm_split(lab->dealt, 0, host, &lab->order));
    must(clab_comm_split(lab->dealt, host, 0, &lab->inside));
    must(clab_comm_split(lab->dealt, clab_comm_rank(lab->inside), host, &lab->across));
    must(clab_comm_set_algorithm(lab->order, CLAB_ALLREDUCE, "ring", 0));
}

// data.out = the sum of all ranks' data.in
static void flat(void *context)
{
    const struct lab *lab = context;
    const struct lab_data *data = &lab->data;
    must(clab_allreduce(lab->order, data->in, data->out, data->count, CLAB_F32, CLAB_SUM));
}

// The same. My host sums my block of the buffer, then all hosts do; finally, each host puts its blocks together.
static void two_level(void *context)
{
    const struct lab *lab = context;
    const size_t n = lab->data.count / (size_t)clab_comm_ranks(lab->inside);
    float *mine = lab->data.out + (size_t)clab_comm_rank(lab->inside) * n;
    must(clab_reduce_scatter(lab->inside, lab->data.in, mine, n, CLAB_F32, CLAB_SUM));
    must(clab_allreduce(lab->across, mine, mine, n, CLAB_F32, CLAB_SUM));
    must(clab_allgather(lab->inside, mine, lab->data.out, n, CLAB_F32));
}

static const struct method {
    const char *name;
    void (*call)(void *);
} methods[] = {{"compact", flat}, {"two_level", two_level}};

// One call that is checked and counted, then many that are timed.
static void measure(struct lab *lab, const struct method *method)
{
    struct clab_job *job = lab->data.job;
    const size_t bytes = lab->data.bytes;
    double samples[LAB_SAMPLES];
    lab_data_poison(&lab->data);
    must(clab_barrier(lab->dealt));
    const size_t start = clab_job_counts(job).bytes_across;
    lab_span_begin(job, "%s/%zu", method->name, bytes);
    method->call(lab);
    clab_span_end(job);
    const size_t sent = clab_job_counts(job).bytes_across - start;
    lab_data_check(&lab->data, method->name);
    const int n = lab_sample(lab->dealt, sample_seconds, clab_samples(3), method->call, lab, samples);
    lab_report(lab->dealt, "s", samples, n, "time/%s/%zu", method->name, bytes);
    placement_report_across(lab->dealt, sent, method->name, bytes);
    lab_report(lab->dealt, "1", &(double){lab_data_check(&lab->data, method->name)}, 1, "checksum/sum/%zu", bytes);
}

int main(int argc, char **argv)
{
    struct clab_job *job;
    struct clab_comm *all;
    struct lab lab = {0};
    clab_help(argc, argv, "[BYTES...]", about);
    must(clab_job_open(&argc, argv, &job));
    must(clab_comm_create(job, &all));
    lab.dealt = placement_deal(all);
    const size_t unit = (size_t)placement_per_host(all) * sizeof(float);
    lab_arguments(&argc, &argv, "8K 64K 512K");
    prepare(&lab);
    for (int i = 1; i < argc; i++) {
        lab.data = lab_data_make(job, clab_must_size(job, argv[i], unit, usage));
        for (size_t m = 0; m < sizeof methods / sizeof *methods; m++)
            measure(&lab, &methods[m]);
        lab_data_free(&lab.data);
    }
    clab_comm_destroy(lab.across);
    clab_comm_destroy(lab.inside);
    clab_comm_destroy(lab.order);
    clab_comm_destroy(lab.dealt);
    clab_comm_destroy(all);
    must(clab_job_close(job));
    return 0;
}
