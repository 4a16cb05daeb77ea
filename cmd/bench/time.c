// SPDX-License-Identifier: MIT
// Batches of calls until their median is known.
//
// - A batch is long enough for the clock (1 ms), begins at a barrier, and gives one sample. The mode says how.
// - First we find the number of calls per batch. Then we drop batches until a dozen show no drift. Then we keep batches
//   until the interval of their median is within 1 %, or the time is up: such a row is noisy.
// - Rank 0 decides, and tells the others after each batch.
// - In mode enqueue the calls of a batch are started one behind the other, and then waited for (queue.h). The time until
//   the last is started is the host's, beside.
// - After each batch we observe where the cores are (cmd/probe/placement.h), where that can be seen. A batch does not
//   count if the cores were elsewhere then, or taken by other processes. A row of hosts that share cores, most of whose
//   batches do not count, is measured again.
// - Times of several ranks are compared: all ranks of a machine have one monotonic clock. The timers enclose calls only.
// - Where ranks share cores, one that gets its core late finds messages that have come, and its own time is too short:
//   of six hosts on two cores, a gather of 32 KiB seemed a third faster than its wire. So a batch there lasts from the
//   first rank's begin to the last rank's end. It is longer, too, since the system leaves a core to a rank for some 3 ms.
//
// Source: Hunold and Carpen-Amarie 2016, Reproducible MPI Benchmarking (modes, barriers between measurements).

#include "cmd/bench/time.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cmd/bench/bench.h"
#include "cmd/bench/queue.h"
#include "cmd/probe/placement.h"
#include "core/base/clock.h"
#include "core/base/err.h"
#include "core/base/stats.h"
#include "core/clab.h"
#include "core/comm/job.h"
#include "core/transport/backend.h"

enum {
    WINDOW = 12, // batches that are tested for drift
    FEW = 3,     // batches of calls that take longer than the whole budget
    MOST = BENCH_MOST_BATCHES,
    TRIES = 6,           // to find the number of calls
    SINGLE_CALLS = 1024, // most calls per batch where calls are timed one by one
    CALLS = 1 << 22,     // most calls per batch elsewhere
};
static const double batch_seconds = 1e-3, shared_batch_seconds = 5e-3, wanted_width = 0.01;

static const char *const mode_names[BENCH_MODES] = {"throughput", "latency", "local", "enqueue"};

const char *bench_mode_name(enum bench_mode mode)
{
    return mode_names[mode];
}

// The samples of a row, at rank 0. In local mode a value is the mean over ranks; in the other modes least and most are
// equal to it.
struct sampling {
    struct bench *bench;
    const struct bench_row *row;
    struct bench_buffers buffers;
    int calls;                            // per batch
    double *values, *least, *most, *host; // (MOST); seconds per call
    struct bench_queue queue;
    double started;                           // s per call until those of the last batch were started
    double begin, end;                        // of the last batch, at this rank
    struct clab_placement_sample *all_probed; // (MOST); zeros: not observed
    struct clab_placement_sample probed;      // the last
    int n;
    double start; // of the row
};

// ---- one batch -----------------------------------------------------------------------------------------------

// Ranks leave a barrier one after another. By an exact clock all ranks continue in the same instant, a second after the
// last one has arrived.
static int start_together(const struct sampling *s)
{
    struct clab_job *job = s->bench->job;
    CLAB_TRY(clab_barrier(s->bench->control));
    if (!job->backend->time->is_exact)
        return CLAB_OK;
    double last = clab_seconds();
    CLAB_TRY(clab_allreduce(s->bench->control, &last, &last, 1, CLAB_F64, CLAB_MAX));
    job->backend->time->reach(job->domain, last + 1);
    return CLAB_OK;
}

// A GPU may still be working on the last call.
static int finish(const struct sampling *s)
{
    return s->bench->job->backend->device->finish();
}

static int call_one_by_one(const struct sampling *s, int calls)
{
    for (int i = 0; i < calls; i++)
        CLAB_TRY(bench_call(s->bench->comm, s->row, s->buffers));
    return CLAB_OK;
}

// *each_p: s per call.
static int make_calls(struct sampling *s, int calls, double *each_p)
{
    const bool enqueues = s->bench->options->mode == BENCH_ENQUEUE;
    if (enqueues)
        CLAB_TRY(bench_queue_prepare(&s->queue, calls));
    CLAB_TRY(start_together(s));
    s->begin = clab_seconds();
    CLAB_TRY(enqueues ? bench_queue_run(&s->queue, calls, &s->started) : call_one_by_one(s, calls));
    CLAB_TRY(finish(s));
    s->end = clab_seconds();
    *each_p = (s->end - s->begin) / bench_queue_calls(&s->queue, calls);
    return CLAB_OK;
}

static void keep(struct sampling *s, double value, double least, double most)
{
    if (s->n == MOST)
        return;
    s->values[s->n] = value;
    s->least[s->n] = least;
    s->host[s->n] = s->started;
    s->all_probed[s->n] = s->probed;
    s->most[s->n++] = most;
}

// Whether ranks wait for each other's cores.
static bool shares_cores(const struct bench *bench)
{
    const struct clab_backend *backend = bench->options->backend;
    return bench->nranks > bench->options->cores && !backend->own_cores && !backend->time->is_exact;
}

// Where ranks of one machine share cores. *each_p: s per call since the first rank began
static int begin_with_first(struct sampling *s, double *each_p)
{
    double first = -s->begin;
    CLAB_TRY(clab_allreduce(s->bench->control, &first, &first, 1, CLAB_F64, CLAB_MAX));
    *each_p = (s->end + first) / bench_queue_calls(&s->queue, s->calls);
    return CLAB_OK;
}

// Calls back to back: the mean of the slowest rank, or of each rank.
static int batch_of_many(struct sampling *s)
{
    const int nranks = s->bench->nranks;
    const bool is_local = s->bench->options->mode == BENCH_LOCAL;
    const double before = probe_interruptions();
    const struct probe_turns begin = probe_turns();
    double sum;
    CLAB_TRY(make_calls(s, s->calls, &sum));
    const double interruptions = probe_interruptions() - before;
    if (!is_local && shares_cores(s->bench) && s->bench->job->bootstrap->machines == 1)
        CLAB_TRY(begin_with_first(s, &sum));
    double extremes[3] = {sum, -sum, interruptions};
    CLAB_TRY(clab_allreduce(s->bench->control, extremes, extremes, 3, CLAB_F64, CLAB_MAX));
    const struct probe_turns end = probe_turns(); // of all: who has less to do polls for the others
    CLAB_TRY(bench_samples_take(s->bench, s->n < MOST ? s->n : MOST - 1, sum));
    const double mine = sum; // rank 0 keeps it
    double sums[4] = {sum, end.now - begin.now, end.had - begin.had, end.sleeps - begin.sleeps};
    CLAB_TRY(clab_allreduce(s->bench->control, sums, sums, 4, CLAB_F64, CLAB_SUM));
    sum = sums[0];
    // A rank that yields its core is interrupted, too. Of long calls the system's own threads carry packets.
    const struct probe_turns turns = {sums[1], sums[2], sums[3]};
    if (shares_cores(s->bench) ? s->calls > FEW && probe_are_taken(turns, nranks, s->bench->options->cores)
                               : extremes[2] > 0)
        s->probed = (struct clab_placement_sample){0};
    const double times[BENCH_AVERAGES] = {mine, sum / nranks, -extremes[1], extremes[0]};
    const double one = times[s->bench->options->average];
    if (is_local)
        keep(s, sum / nranks, -extremes[1], extremes[0]);
    else
        keep(s, one, one, one);
    return CLAB_OK;
}

// Calls one by one, each after a barrier, timed from the last rank's entry to the last rank's exit. Their median is the
// batch's sample.
static int batch_of_single(struct sampling *s)
{
    double *exits = s->bench->latencies, *entries = exits + s->calls;
    for (int i = 0; i < s->calls; i++) {
        CLAB_TRY(start_together(s));
        entries[i] = clab_seconds();
        CLAB_TRY(bench_call(s->bench->comm, s->row, s->buffers));
        CLAB_TRY(finish(s));
        exits[i] = clab_seconds();
    }
    CLAB_TRY(clab_allreduce(s->bench->control, exits, exits, 2 * (size_t)s->calls, CLAB_F64, CLAB_MAX));
    for (int i = 0; i < s->calls; i++)
        exits[i] -= entries[i];
    const double median = clab_quantile(exits, s->calls, 0.5);
    keep(s, median, median, median);
    return CLAB_OK;
}

// Whether messages go over sockets between hosts, and cores take a part of their time.
static bool is_wire(const struct bench *bench)
{
    const struct clab_job *job = bench->job;
    return job->backend->sockets && !job->backend->time->is_exact && job->bootstrap->nnodes == bench->nranks &&
           bench->nranks > 1;
}

// Where ranks of one host share cores, observing the cores tells nothing.
static bool has_probe(const struct bench *bench)
{
    const struct clab_backend *backend = bench->options->backend;
    return is_wire(bench) || (bench->nranks <= bench->options->cores && backend->protocols.memory);
}

// Hosts that share cores: ranks 0 and 1 have theirs for themselves while the others sleep.
static int sample_shared(struct sampling *s)
{
    enum { FALL_ASLEEP = 100 }; // us
    struct bench *bench = s->bench;
    usleep(bench->rank < 2 ? FALL_ASLEEP : BENCH_SLEEP_US);
    CLAB_TRY(probe_wire(bench->control, &s->probed)); // they wake one after the other
    return probe_wire(bench->control, &s->probed);
}

static int sample_placement(struct sampling *s)
{
    struct bench *bench = s->bench;
    if (is_wire(bench) && shares_cores(bench))
        return sample_shared(s);
    if (is_wire(bench))
        return probe_wire(bench->control, &s->probed);
    if (!bench->alone)
        CLAB_TRY(probe_alone(bench->control, &bench->alone));
    return probe_placement(bench->control, bench->alone, bench->probe_room, &s->probed);
}

static int batch(struct sampling *s)
{
    if (has_probe(s->bench))
        CLAB_TRY(sample_placement(s));
    return s->bench->options->mode == BENCH_LATENCY ? batch_of_single(s) : batch_of_many(s);
}

// ---- how many ------------------------------------------------------------------------------------------------

// Send rank 0's decision to all ranks.
static int agree(const struct sampling *s, int *decision)
{
    return clab_broadcast(s->bench->control, decision, decision, 1, CLAB_I32, 0);
}

static int most_calls(const struct sampling *s)
{
    const enum bench_mode mode = s->bench->options->mode;
    return mode == BENCH_LATENCY ? SINGLE_CALLS : mode == BENCH_ENQUEUE ? BENCH_QUEUED : CALLS;
}

static double least_seconds(const struct sampling *s)
{
    return shares_cores(s->bench) ? shared_batch_seconds : batch_seconds;
}

static int calls_for(const struct sampling *s, double seconds_a_call)
{
    const double calls = ceil(1.2 * least_seconds(s) / seconds_a_call);
    return calls < 1 ? 1 : calls < most_calls(s) ? (int)calls : most_calls(s);
}

// Raise the number of calls until a batch is long enough. The first batches are slow, so they do not decide.
static int find_calls(struct sampling *s)
{
    const int fixed = s->bench->options->iterations;
    s->calls = fixed > 0 && fixed < most_calls(s) ? fixed : fixed > 0 ? most_calls(s) : 1;
    for (int try = 0; try < TRIES && fixed <= 0; try++) {
        CLAB_TRY(batch(s));
        const double seconds = s->values[s->n - 1];
        int calls = s->calls;
        if (seconds * calls < least_seconds(s))
            calls = calls_for(s, seconds);
        CLAB_TRY(agree(s, &calls));
        if (calls <= s->calls && try > 0)
            break;
        s->calls = calls > s->calls ? calls : s->calls;
    }
    s->n = 0;
    return CLAB_OK;
}

// ---- until when ----------------------------------------------------------------------------------------------

static double spent(const struct sampling *s)
{
    return clab_now() - s->start;
}

static double half_width(const struct clab_summary *summary)
{
    return (summary->high - summary->low) / 2 / summary->median;
}

// Drop batches while they drift, for at most half of the time. Of the last window, as many are kept as were asked for.
static int warm_up(struct sampling *s)
{
    const double allowed = s->bench->options->budget / 2;
    const int calls = s->bench->options->warmup, batches = s->bench->options->batches;
    double each;
    if (calls >= 0)
        return calls ? make_calls(s, calls, &each) : CLAB_OK;
    for (int drifts = 1; drifts;) {
        s->n = 0;
        for (int more = 1; more;) {
            CLAB_TRY(batch(s));
            more = s->n < WINDOW && spent(s) < allowed;
            CLAB_TRY(agree(s, &more));
        }
        drifts = clab_has_drift(s->values, s->n) && spent(s) < allowed;
        CLAB_TRY(agree(s, &drifts));
    }
    if (batches && s->n > batches)
        s->n = batches;
    return CLAB_OK;
}

// Whether rank 0 wants another batch.
static int wants_more(const struct sampling *s)
{
    const double budget = s->bench->options->budget, seconds = spent(s);
    const int batches = s->bench->options->batches;
    struct clab_summary summary;
    if (batches && s->n >= batches)
        return 0;
    if (s->n < FEW)
        return 1;
    if (s->n >= MOST || seconds > 4 * budget)
        return 0;
    if (s->n < BENCH_ENOUGH)
        return 1;
    if (seconds > budget)
        return 0;
    if (batches)
        return 1;
    if (clab_summarize(s->values, s->n, &summary) != CLAB_OK)
        return 0;
    return s->n < WINDOW || half_width(&summary) > wanted_width;
}

static int collect(struct sampling *s)
{
    for (int more = 1; more;) {
        more = s->bench->rank == 0 ? wants_more(s) : 0;
        CLAB_TRY(agree(s, &more));
        if (more)
            CLAB_TRY(batch(s));
    }
    return CLAB_OK;
}

// ---- interface -----------------------------------------------------------------------------------------------

// Keep the batches during which the cores were in the most frequent place.
static int summarize(const struct sampling *s, double values[], struct clab_summary *summary_p,
                     struct clab_placement_sample *probed_p)
{
    return clab_summarize(values, has_probe(s->bench) ? probe_keep_same(values, s->all_probed, s->n, probed_p) : s->n,
                          summary_p);
}

// Which batches `summarize` keeps, for --samples.
static int keep_samples(const struct sampling *s)
{
    double numbers[MOST];
    bool kept[MOST] = {false};
    struct clab_placement_sample probed;
    if (!s->bench->samples || !s->bench->samples->row || s->bench->rank != 0)
        return CLAB_OK;
    for (int i = 0; i < s->n; i++)
        numbers[i] = i;
    const int n = has_probe(s->bench) ? probe_keep_same(numbers, s->all_probed, s->n, &probed) : s->n;
    for (int i = 0; i < n; i++)
        kept[(int)numbers[i]] = true;
    return bench_samples_end(s->bench, s->calls, kept, s->n);
}

// Whether other processes took the shared cores during most batches.
static int is_disturbed(const struct sampling *s)
{
    int calm = 0;
    for (int i = 0; i < s->n; i++)
        calm += s->all_probed[i].line > 0;
    return has_probe(s->bench) && shares_cores(s->bench) && 2 * calm < s->n;
}

static int conclude(const struct sampling *s, struct bench_time *time_p)
{
    struct clab_summary middle, least, most, host;
    struct clab_placement_sample probed = {0};
    CLAB_TRY(keep_samples(s));
    CLAB_TRY(summarize(s, s->values, &middle, &probed));
    CLAB_TRY(summarize(s, s->least, &least, &probed));
    CLAB_TRY(summarize(s, s->most, &most, &probed));
    CLAB_TRY(summarize(s, s->host, &host, &probed)); // of the same batches: it is a part of their time
    const bool local = s->bench->options->mode == BENCH_LOCAL, enqueues = s->bench->options->mode == BENCH_ENQUEUE;
    const bool is_exact = s->bench->options->backend->time->is_exact;
    *time_p = (struct bench_time){
        .seconds = middle.median,
        .low = local ? least.median : middle.low,
        .high = local ? most.median : middle.high,
        .half_width = half_width(&middle),
        .noisy = !is_exact && (middle.n < BENCH_ENOUGH || half_width(&middle) > wanted_width),
        .disturbed = is_disturbed(s),
        .host = enqueues && !is_exact ? host.median : NAN,
        .calls = s->calls,
        .probed = probed,
    };
    return CLAB_OK;
}

// A row is measured again while it is disturbed, which may take as long as all rows do that are not.
static int decide_to_repeat(struct sampling *s, int *again_p)
{
    struct bench *bench = s->bench;
    *again_p = is_disturbed(s) && bench->repeated < bench->plan->nrows * bench->options->budget;
    CLAB_TRY(agree(s, again_p));
    if (*again_p) {
        bench->repeated += spent(s);
        s->start = clab_now();
    }
    return CLAB_OK;
}

// An exact clock: all calls from a common start take the same time.
static int measure_exactly(struct sampling *s, struct bench_time *time_p)
{
    const int fixed = s->bench->options->iterations;
    s->calls = fixed > 0 && fixed < most_calls(s) ? fixed : 1;
    CLAB_TRY(batch(s));
    return conclude(s, time_p);
}

static int measure(struct sampling *s, struct bench_time *time_p)
{
    if (s->bench->options->backend->time->is_exact)
        return measure_exactly(s, time_p);
    for (int again = 1; again;) {
        CLAB_TRY(find_calls(s));
        CLAB_TRY(warm_up(s));
        CLAB_TRY(collect(s));
        CLAB_TRY(decide_to_repeat(s, &again));
    }
    return conclude(s, time_p);
}

// ---- by the device's clock ----------------------------------------------------------------------------------

struct timed {
    const struct sampling *s;
    int err;
};

static void call_all(void *of)
{
    struct timed *t = of;
    for (int i = 0; i < t->s->calls && t->err == CLAB_OK; i++)
        t->err = bench_call(t->s->bench->comm, t->s->row, t->s->buffers);
}

// One more batch: seconds per call that the device's kernels take at this rank. NAN: the device is the processor.
static int time_by_device(const struct sampling *s, double *seconds_p)
{
    const struct clab_job *job = s->bench->job;
    struct timed timed = {.s = s};
    *seconds_p = NAN;
    if (job->backend->reaches(job->domain, &timed))
        return CLAB_OK;
    CLAB_TRY(start_together(s));
    *seconds_p = job->backend->device->time_calls(call_all, &timed) / s->calls;
    return timed.err;
}

int bench_time_calls(struct bench *bench, const struct bench_row *row, struct bench_buffers buffers,
                     struct bench_time *time_p)
{
    double *room = malloc(4 * MOST * sizeof *room);
    struct clab_placement_sample *all_probed = malloc(MOST * sizeof *all_probed);
    if (!bench->latencies)
        bench->latencies = malloc(2 * SINGLE_CALLS * sizeof *bench->latencies);
    const struct bench_queue queue = {
        .comm = bench->comm, .row = row, .buffers = buffers, .launches = bench->options->launches};
    struct sampling s = {
        .queue = queue, .bench = bench, .row = row, .buffers = buffers, .values = room, .start = clab_now()};
    int err = CLAB_ENOMEM;
    if (room && all_probed && bench->latencies) {
        s.least = room + MOST;
        s.most = room + 2 * MOST;
        s.host = room + 3 * MOST;
        s.all_probed = all_probed;
        err = measure(&s, time_p);
    }
    bench_queue_free(&s.queue);
    if (err == CLAB_OK)
        err = time_by_device(&s, &time_p->by_device);
    free(all_probed);
    free(room);
    return err;
}
