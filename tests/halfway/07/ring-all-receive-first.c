// SPDX-License-Identifier: MIT
// expects: Ranks wait to receive what nobody sends
//
// Half a mend of lab 07: a ring in which every rank receives before it sends, by calls that wait.

#include "lab.h"

static const double sample_seconds = 2e-3;
static const char *const methods[] = {"ring"};
static const char about[] =
    "Sums a buffer over all ranks: an allreduce, by each method that the program has.\n"
    "Reports for each size the seconds per call, and the messages and bytes that the busiest rank sends in one.\n\n"
    "  BYTES...           sizes of the buffer, multiples of 4 (8 to 2M)\n";
static const char usage[] = "give BYTES, multiples of 4, as in 8 64K";

struct lab {
    struct clab_comm *comm;
    struct lab_data data;
    float *inbox; // (2, count): a chunk that the left neighbour sent; of clab_alloc
};

// data.out = the sum of all ranks' data.in
static void allreduce(void *context)
{
    const struct lab *lab = context;
    struct clab_comm *comm = lab->comm;
    const struct lab_data *data = &lab->data;
    const size_t count = data->count;
    const int P = clab_comm_ranks(comm), me = clab_comm_rank(comm);
    const size_t each = (count + (size_t)P - 1) / (size_t)P;
    must(clab_copy(data->job, data->out, data->in, data->bytes));
    for (int step = 0; step < 2 * (P - 1); step++) {
        const size_t from = (size_t)((me - step + 2 * P) % P) * each,
                     into = (size_t)((me - step - 1 + 2 * P) % P) * each;
        const size_t sent = from >= count ? 0 : from + each > count ? count - from : each;
        const size_t got = into >= count ? 0 : into + each > count ? count - into : each;
        must(clab_recv(comm, lab->inbox, got, CLAB_F32, (me + P - 1) % P));
        must(clab_send(comm, data->out + from, sent, CLAB_F32, (me + 1) % P));
        if (step >= P - 1) {
            must(clab_copy(data->job, data->out + into, lab->inbox, got * sizeof(float)));
            continue;
        }
        must(clab_reduce_local(data->job, lab->inbox, data->out + into, got, CLAB_F32, CLAB_SUM));
        must(clab_compute(data->job, CLAB_FP32, 0, 3.0 * (double)(got * sizeof(float))));
    }
}

// One call that is checked and counted, then many that are timed.
static void measure(struct lab *lab, const char *method)
{
    const size_t bytes = lab->data.bytes;
    double samples[LAB_SAMPLES];
    lab_data_poison(&lab->data);
    must(clab_barrier(lab->comm));
    const struct clab_comm_traffic start = clab_comm_traffic(lab->comm);
    lab_span_begin(lab->data.job, "%s/%zu", method, bytes);
    allreduce(lab);
    clab_span_end(lab->data.job);
    const struct clab_comm_traffic end = clab_comm_traffic(lab->comm);
    lab_data_check(&lab->data, method);
    double messages = (double)(end.messages - start.messages), sent = (double)(end.bytes_sent - start.bytes_sent);
    const int n = lab_sample(lab->comm, sample_seconds, clab_samples(3), allreduce, lab, samples);
    lab_report(lab->comm, "s", samples, n, "time/%s/%zu", method, bytes);
    lab_report(lab->comm, "1", &messages, 1, "messages/%s/%zu", method, bytes);
    lab_report(lab->comm, "B", &sent, 1, "bytes_sent/%s/%zu", method, bytes);
    lab_report(lab->comm, "1", &(double){lab_data_check(&lab->data, method)}, 1, "checksum/sum/%zu", bytes);
}

static void measure_size(struct clab_comm *comm, size_t bytes)
{
    struct lab lab = {.comm = comm, .data = lab_data_make(clab_comm_job(comm), bytes)};
    must(clab_alloc(lab.data.job, 2 * bytes, (void **)&lab.inbox));
    for (size_t i = 0; i < sizeof methods / sizeof *methods; i++)
        measure(&lab, methods[i]);
    clab_free(lab.data.job, lab.inbox);
    lab_data_free(&lab.data);
}

int main(int argc, char **argv)
{
    struct clab_job *job;
    struct clab_comm *comm;
    clab_help(argc, argv, "[BYTES...]", about);
    must(clab_job_open(&argc, argv, &job));
    must(clab_comm_create(job, &comm));
    lab_arguments(&argc, &argv, "8 64 512 4K 32K 256K 2M");
    for (int i = 1; i < argc; i++)
        measure_size(comm, clab_must_size(job, argv[i], sizeof(float), usage));
    clab_comm_destroy(comm);
    must(clab_job_close(job));
    return 0;
}
