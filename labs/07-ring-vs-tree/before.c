// SPDX-License-Identifier: MIT
// Before: an allreduce as people first write it. Everyone sends its whole buffer to everyone, and adds up what arrives.
//
//   before [-n RANKS] [--backend B] [BYTES...]
//
// - One round of messages, but each rank sends P-1 times its buffer, and P-1 buffers arrive.
// - What is timed is the slowest rank's mean over a few milliseconds of back-to-back calls. Checks are outside of it.

#include <stdio.h>
#include <stdlib.h>

#include "clab.h"

enum { SAMPLES = 9 };
static const double sample_seconds = 2e-3;
static const char about[] =
    "An allreduce as people first write it: everyone sends its whole buffer to everyone, and adds up what arrives.\n"
    "Reports for each size the seconds a call, and the messages and bytes that the busiest rank sends in one.\n\n"
    "  BYTES...           sizes of the buffer, multiples of 4 (8 to 2M)\n";
static const char usage[] = "give BYTES, multiples of 4, as in 8 64K";

// Of clab_alloc, perhaps a GPU's: in, out: (count); inbox, what each peer sent: (P, count).
// The program's own: expected, what `out` should be, and got, what it is: (count); sends, receives: (P)
struct buffers {
    struct clab_job *job;
    size_t count;
    float *in, *out, *inbox, *expected, *got;
    struct clab_work **sends, **receives;
};

// out = sum of all ranks' in: send it to everyone, receive from everyone, add, and tell virtual time what that moved.
static void allreduce(struct clab_comm *comm, const struct buffers *b)
{
    const int P = clab_comm_ranks(comm), me = clab_comm_rank(comm);
    for (int peer = (me + 1) % P; peer != me; peer = (peer + 1) % P) {
        must(clab_recv_start(comm, b->inbox + (size_t)peer * b->count, b->count, CLAB_F32, peer, &b->receives[peer]));
        must(clab_send_start(comm, b->in, b->count, CLAB_F32, peer, &b->sends[peer]));
    }
    must(clab_copy(b->job, b->out, b->in, b->count * sizeof *b->out));
    for (int peer = (me + 1) % P; peer != me; peer = (peer + 1) % P) {
        must(clab_work_wait(b->receives[peer]));
        must(clab_reduce_local(b->job, b->inbox + (size_t)peer * b->count, b->out, b->count, CLAB_F32, CLAB_SUM));
        must(clab_compute(b->job, CLAB_FP32, 0, 3.0 * (double)b->count * sizeof *b->out));
    }
    for (int peer = (me + 1) % P; peer != me; peer = (peer + 1) % P)
        must(clab_work_wait(b->sends[peer]));
}

// Small whole numbers, so that every order of adding gives the same sum.
static unsigned value(int rank, size_t i)
{
    return ((unsigned)i * 2654435761u ^ (unsigned)(rank + 1) * 2246822519u) >> 24;
}

// What this rank gives, and what the sum of all is.
static void fill(const struct buffers *b, int rank, int ranks)
{
    for (size_t i = 0; i < b->count; i++) {
        b->got[i] = (float)value(rank, i);
        b->expected[i] = 0;
        for (int r = 0; r < ranks; r++)
            b->expected[i] += (float)value(r, i);
    }
    must(clab_copy(b->job, b->in, b->got, b->count * sizeof *b->got));
}

// Fails unless `out` is the sum; returns the sum over all its elements.
static double check(const struct buffers *b)
{
    double sum = 0;
    must(clab_copy(b->job, b->got, b->out, b->count * sizeof *b->got));
    for (size_t i = 0; i < b->count; sum += b->got[i++])
        must(b->got[i] == b->expected[i] ? CLAB_OK : CLAB_EWRONG);
    return sum;
}

// Seconds a call, this rank's mean over `calls` of them.
static double time_calls(struct clab_comm *comm, const struct buffers *b, int calls)
{
    must(clab_barrier(comm));
    const double start = clab_seconds();
    for (int i = 0; i < calls; i++)
        allreduce(comm, b);
    return (clab_seconds() - start) / calls;
}

static void report(struct clab_comm *comm, const char *quantity, const char *method, size_t bytes, const char *unit,
                   double *samples, int n)
{
    char name[96];
    snprintf(name, sizeof name, "%s/%s/%zu", quantity, method, bytes);
    must(clab_allreduce(comm, samples, samples, (size_t)n, CLAB_F64, CLAB_MAX)); // the slowest, the busiest rank
    must(clab_report(comm, name, unit, samples, n));
}

static void measure(struct clab_comm *comm, const char *method, const struct buffers *b)
{
    const size_t bytes = b->count * sizeof *b->in;
    must(clab_set(b->job, b->out, 0xff, bytes)); // NaN
    const struct clab_comm_traffic start = clab_comm_traffic(comm);
    allreduce(comm, b);
    const struct clab_comm_traffic end = clab_comm_traffic(comm);
    check(b);
    double messages = (double)(end.messages - start.messages), sent = (double)(end.bytes_sent - start.bytes_sent);
    const int nsamples = clab_samples(SAMPLES);
    double once = time_calls(comm, b, clab_samples(3)), samples[SAMPLES];
    must(clab_allreduce(comm, &once, &once, 1, CLAB_F64, CLAB_MAX)); // all ranks make as many calls
    for (int i = 0; i < nsamples; i++)
        samples[i] = time_calls(comm, b, clab_repeats(sample_seconds, once));
    report(comm, "time", method, bytes, "s", samples, nsamples);
    report(comm, "messages", method, bytes, "1", &messages, 1);
    report(comm, "bytes_sent", method, bytes, "B", &sent, 1);
    report(comm, "checksum", "sum", bytes, "1", &(double){check(b)}, 1);
}

static void measure_size(struct clab_job *job, struct clab_comm *comm, size_t bytes)
{
    const size_t P = (size_t)clab_job_ranks(job);
    struct buffers b = {.job = job, .count = bytes / sizeof(float)};
    must(clab_alloc(job, bytes, (void **)&b.in));
    must(clab_alloc(job, bytes, (void **)&b.out));
    must(clab_alloc(job, bytes * P, (void **)&b.inbox));
    must((b.sends = calloc(2 * P, sizeof *b.sends)) ? CLAB_OK : CLAB_ENOMEM);
    b.receives = b.sends + P;
    must((b.expected = malloc(2 * bytes)) ? CLAB_OK : CLAB_ENOMEM);
    b.got = b.expected + b.count;
    fill(&b, clab_job_rank(job), clab_job_ranks(job));
    measure(comm, "by_hand", &b);
    free(b.sends);
    free(b.expected);
    clab_free(job, b.inbox);
    clab_free(job, b.out);
    clab_free(job, b.in);
}

int main(int argc, char **argv)
{
    struct clab_job *job;
    struct clab_comm *comm;
    clab_help(argc, argv, "[BYTES...]", about);
    must(clab_job_open(&argc, argv, &job));
    must(clab_comm_create(job, &comm));
    for (int i = 1; i < argc; i++)
        measure_size(job, comm, clab_must_size(job, argv[i], sizeof(float), usage));
    for (size_t bytes = 8; argc == 1 && bytes <= 2 << 20; bytes *= 8)
        measure_size(job, comm, bytes);
    clab_comm_destroy(comm);
    must(clab_job_close(job));
    return 0;
}
