// SPDX-License-Identifier: MIT
// expects: A time limit finds ranks that do not come
// Half-mended: the barrier is monitored, but only its time limit is used, which no straggler ever reaches.
//
//   mine [-n RANKS] [--backend B] [BYTES EXTRA...]
//
// - The last rank is the straggler: it does EXTRA percent of its work once more, and times that itself. Nothing sleeps.
// - Ranks begin a step together, by a barrier of another communicator, outside of what is timed.

#include <math.h>

#include "clab.h"
#include "lab.h"

enum { FLOATS = 4096 }; // 16 KiB: half of a core's nearest cache, so that ranks do not share what limits them
enum value { WORK, INJECTED, WAIT, STEP, NVALUES };
static const char about[] =
    "A loop of steps that end in a monitored barrier, in which the last rank has more to do than the others.\n"
    "Reports which rank came last and how late it was, who waited how long, and what was lost.\n\n"
    "  BYTES              of floats that a step's work goes over, a multiple of 16K (2M)\n"
    "  EXTRA...           percent of that which the straggler does once more, each measured (2000 4000 8000 16000)\n";
static const char usage[] = "give BYTES (a multiple of 16K) and EXTRA percents, as in 2M 2000 8000";

struct lab {
    struct clab_job *job;
    struct clab_comm *clock, *comm; // clock: for starts and reports
    int ranks, straggler;
    double bytes;           // of a step's work
    float *x;               // (FLOATS), the host's: the work is the processor's, on every backend
    double (*all)[NVALUES]; // (ranks): what each rank measured in a step
    double *slow;           // (ranks): seconds by which each rank was slow; the most names the straggler
    double check;           // the sum over x after the work
};

// Go over `bytes` of floats, 16 KiB at a time: each moves half of its way to 2, and is there after some 30 passes.
// Never inlined, and at a cache line's start, so that all work is done by the same code: copies differ twofold.
__attribute__((noinline, aligned(64))) static void work(struct lab *lab, double bytes)
{
    const double chunk = FLOATS * sizeof *lab->x;
    for (double done = 0; done < bytes; done += chunk)
        for (int i = 0; i < FLOATS; i++)
            lab->x[i] = 0.5f * lab->x[i] + 1;
    must(clab_compute(lab->job, CLAB_FP32, bytes / 2, 2 * bytes)); // 2 flop a float; each is read and written
}

static void check_work(struct lab *lab)
{
    float expected[FLOATS];
    lab->check = 0;
    for (int i = 0; i < FLOATS; lab->check += lab->x[i++])
        expected[i] = 2;
    lab_expect(clab_job_rank(lab->job), "work", FLOATS, lab->x, expected);
}

static void meet(struct lab *lab)
{
    must(clab_monitored_barrier(lab->comm, 1800, lab->slow));
}

static void compare(struct lab *lab)
{
    for (int r = 0; r < lab->ranks; r++)
        lab->slow[r] = isinf(lab->slow[r]) ? 1800 : 0;
}

// The first work is not timed: a core that has slept in the last barrier is slow at first.
static void step(struct lab *lab, double extra)
{
    work(lab, lab->bytes);
    for (int i = 0; i < FLOATS; i++)
        lab->x[i] = (float)(i % 7);
    must(clab_barrier(lab->clock));
    clab_span_begin(lab->job, "step");
    const double start = clab_seconds();
    work(lab, lab->bytes);
    const double worked = clab_seconds();
    if (clab_job_rank(lab->job) == lab->straggler)
        work(lab, extra * lab->bytes);
    const double came = clab_seconds();
    meet(lab);
    const double end = clab_seconds();
    clab_span_end(lab->job);
    check_work(lab);
    const double mine[NVALUES] = {worked - start, came - worked, end - came, end - start};
    must(clab_allgather(lab->clock, mine, lab->all, NVALUES, CLAB_F64));
    compare(lab);
}

// A step's results, in the order of judge's: name and unit.
static const char *const results[][2] = {{"step", "s"},     {"wait_straggler", "s"}, {"wait_others", "s"},
                                         {"lost", "s"},     {"injected", "s"},       {"named", "rank"},
                                         {"lateness", "s"}, {"lateness_off", "%"},   {"work", "s"}};
enum { NRESULTS = sizeof results / sizeof *results };

// What a step came to, from what all ranks measured. Lost is what each rank was less slow than the slowest.
static void judge(const struct lab *lab, int sample, double samples[][LAB_SAMPLES])
{
    const double *last = lab->all[lab->straggler];
    double longest = 0, waits = 0, least = INFINITY, lost = 0;
    int named = 0;
    for (int r = 0; r < lab->ranks; r++) {
        longest = fmax(longest, lab->all[r][STEP]);
        waits += lab->all[r][WAIT];
        named = lab->slow[r] > lab->slow[named] ? r : named;
        least = fmin(least, lab->slow[r]);
    }
    for (int r = 0; r < lab->ranks; r++)
        lost += lab->slow[named] - lab->slow[r];
    const double others = (waits - last[WAIT]) / (lab->ranks > 1 ? lab->ranks - 1 : 1); // their mean
    const double late = lab->slow[named] - least, off = 100 * fabs(late / last[INJECTED] - 1);
    const double result[NRESULTS] = {longest, last[WAIT], others, lost, last[INJECTED], named, late, off, last[WORK]};
    for (int k = 0; k < NRESULTS; k++)
        samples[k][sample] = result[k];
}

static void measure(struct lab *lab, int percent)
{
    double samples[NRESULTS][LAB_SAMPLES];
    const int n = clab_samples(LAB_SAMPLES);
    step(lab, percent / 100.0); // warm
    for (int i = 0; i < n; judge(lab, i++, samples))
        step(lab, percent / 100.0);
    for (int k = 0; k < NRESULTS; k++)
        lab_report(lab->clock, results[k][1], samples[k], n, "%s/%d", results[k][0], percent);
}

int main(int argc, char **argv)
{
    struct lab lab = {0};
    clab_help(argc, argv, "[BYTES EXTRA...]", about);
    must(clab_job_open(&argc, argv, &lab.job));
    must(clab_comm_create(lab.job, &lab.clock));
    must(clab_comm_create(lab.job, &lab.comm));
    lab_arguments(&argc, &argv, "2M 2000 4000 8000 16000");
    lab.ranks = clab_job_ranks(lab.job), lab.straggler = lab.ranks - 1;
    lab.bytes = (double)clab_must_size(lab.job, argc > 2 ? argv[1] : NULL, FLOATS * sizeof *lab.x, usage);
    must((lab.x = aligned_alloc(64, FLOATS * sizeof *lab.x)) ? CLAB_OK : CLAB_ENOMEM);
    must((lab.all = calloc((size_t)lab.ranks, sizeof *lab.all)) ? CLAB_OK : CLAB_ENOMEM);
    must((lab.slow = calloc((size_t)lab.ranks, sizeof *lab.slow)) ? CLAB_OK : CLAB_ENOMEM);
    for (int i = 2; i < argc; i++)
        measure(&lab, (int)clab_must_size(lab.job, argv[i], 1, usage));
    must(clab_report(lab.clock, "checksum", "1", &lab.check, 1));
    free(lab.slow);
    free(lab.all);
    free(lab.x);
    clab_comm_destroy(lab.comm);
    clab_comm_destroy(lab.clock);
    must(clab_job_close(lab.job));
    return 0;
}
