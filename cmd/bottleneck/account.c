// SPDX-License-Identifier: MIT
// Where the time of a run goes (account.h).

#include "cmd/bottleneck/account.h"

#include <math.h>
#include <stdlib.h>

#include "core/base/err.h"
#include "core/base/stats.h"
#include "core/base/vector.h"
#include "sim/sim.h"

static const double worth = 0.05;       // of the time: the target for overhead
static const double for_one = 0.7;      // of all waiting is for one rank: far more than chance gives one of two or more
static const double stalled = 3;        // times the median of its kind: other causes rarely make a call that much longer
static const double too_slow = 1.5;     // times as long as the network says: its descriptions are right to well below that
static const double mostly = 0.5;       // of the busy time: a buffer limited the connection more often than not
static const double displaced = 1.1;    // times as long as memory should take: above what runs differ by
enum {
    FEW = 4,           // calls of a kind have a median that one stalled call does not move
    APART = 4,         // times larger: only then small and large calls can tell a window from a slow wire
    LEAST_BYTES = 1024 // below, a call costs what an empty one does, and says nothing of bytes
};

// One collective of all ranks.
struct exchange {
    double last;     // s: when the last rank came
    int late;        // which one
    double transfer; // s from then until the last rank was done
    double exposed;  // s of that in which no rank computes
    double
        waited; // s before that, and of that, in which a rank computes nothing, but waits for others: mean over ranks
    int kind;
};

// What is known of a kind of calls.
struct kind {
    const struct bottleneck_call *call;
    int n;
    double usual;    // s: the median of its transfers
    double expected; // s by the network; NAN: not known
};

struct desk {
    const struct bottleneck_run *run;
    const struct clab_net *net;
    struct exchange *exchanges; // (n)
    struct kind *kinds;
    int n;
    struct bottleneck_rank busy; // its computes: when any rank computes
    double empty;                // s that an allreduce without bytes takes
    double expected_empty;
};

// ---- intervals -----------------------------------------------------------------------------------------------

// Seconds from `begin` to `end` in which the rank computes nothing.
static double idle(const struct bottleneck_rank *rank, double begin, double end)
{
    if (end <= begin)
        return 0;
    double left = end - begin;
    int low = 0, high = rank->ncomputes; // the first that ends after `begin`
    while (low < high) {
        const int middle = (low + high) / 2;
        if (rank->computes[middle].end > begin)
            high = middle;
        else
            low = middle + 1;
    }
    for (int i = low; i < rank->ncomputes && rank->computes[i].begin < end; i++)
        left -= fmin(end, rank->computes[i].end) - fmax(begin, rank->computes[i].begin);
    return fmax(0, left);
}

// Whether ranks wait in it for one rank, or, in a barrier, for the last one, and not for data of all others.
static bool is_waited_for(enum clab_collective collective)
{
    return collective == CLAB_BROADCAST || collective == CLAB_SCATTER || collective == CLAB_BARRIER ||
           collective == CLAB_GATHER || collective == CLAB_REDUCE;
}

// ---- exchanges -----------------------------------------------------------------------------------------------

static void look_at(const struct desk *desk, int i, struct exchange *x)
{
    const struct bottleneck_run *run = desk->run;
    *x = (struct exchange){.last = -INFINITY, .kind = run->ranks[0].calls[i].kind};
    double end = -INFINITY;
    for (int r = 0; r < run->n; r++) {
        const struct bottleneck_call *call = &run->ranks[r].calls[i];
        if (call->begin > x->last)
            x->last = call->begin, x->late = r;
        end = fmax(end, call->end);
    }
    x->transfer = end - x->last;
    for (int r = 0; r < run->n; r++) {
        const struct bottleneck_call *call = &run->ranks[r].calls[i];
        const double came = fmin(x->last, call->end);
        x->waited += idle(&run->ranks[r], call->begin, came) / run->n;
        const double from = fmax(call->begin, came), all = idle(&desk->busy, from, call->end);
        x->exposed += all / run->n;
        x->waited += (idle(&run->ranks[r], from, call->end) - all) / run->n;
    }
}

// s that the network says for a call of so many elements; NAN: it does not.
static double price(const struct desk *desk, const struct bottleneck_call *call, size_t count)
{
    const struct clab_algorithm *algorithm = call->algorithm;
    struct clab_sim_result result;
    if (!desk->net || !algorithm)
        return NAN;
    const struct clab_problem problem = {.collective = call->collective,
                                         .nranks = desk->run->n,
                                         .lanes = algorithm->default_lanes,
                                         .group = clab_net_group(desk->net, desk->run->n),
                                         .count = count};
    const struct clab_sim_options options = {.element_bytes = call->element_bytes, .in_place = true};
    if (!algorithm->supports(&problem) || clab_sim_run(&problem, algorithm, desk->net, &options, &result) != CLAB_OK)
        return NAN;
    return result.seconds;
}

static int look_at_kind(struct desk *desk, int kind, double scratch[])
{
    struct kind *k = &desk->kinds[kind];
    for (int i = 0; i < desk->n; i++)
        if (desk->exchanges[i].kind == kind) {
            k->call = &desk->run->ranks[0].calls[i];
            scratch[k->n++] = desk->exchanges[i].transfer;
        }
    k->usual = clab_quantile(scratch, k->n, 0.5);
    k->expected = price(desk, k->call, k->call->count);
    return CLAB_OK;
}

static size_t bytes_of(const struct kind *k)
{
    return k->call->count * k->call->element_bytes;
}

// The cost of an empty allreduce: that of the smallest one here, less what the network says of its bytes.
static void find_empty(struct desk *desk)
{
    const struct kind *least = NULL;
    for (int k = 0; k < desk->run->kinds; k++)
        if (desk->kinds[k].call->collective == CLAB_ALLREDUCE &&
            (!least || bytes_of(&desk->kinds[k]) < bytes_of(least)))
            least = &desk->kinds[k];
    if (!least)
        return;
    const double empty = price(desk, least->call, (size_t)desk->run->n);
    desk->expected_empty = isnan(empty) ? 0 : empty;
    desk->empty = bytes_of(least) <= LEAST_BYTES ? least->usual : fmin(least->usual, desk->expected_empty);
}

// ---- classes -------------------------------------------------------------------------------------------------

static double memory_of(const struct bottleneck_rank *rank, double *bytes_p)
{
    double seconds = 0;
    *bytes_p = 0;
    for (int i = 0; i < rank->nmemories; i++) {
        seconds += rank->memories[i].end - rank->memories[i].begin;
        *bytes_p += fmax(0, rank->memories[i].bytes);
    }
    return seconds;
}

// Without calls that can be compared, all time in them is network.
static void add_calls(const struct desk *desk, struct bottleneck_account *a)
{
    for (int r = 0; r < desk->run->n && desk->n == 0; r++)
        for (int i = 0; i < desk->run->ranks[r].ncalls; i++)
            a->classes[BOTTLENECK_NETWORK] +=
                idle(&desk->run->ranks[r], desk->run->ranks[r].calls[i].begin, desk->run->ranks[r].calls[i].end) /
                desk->run->n;
    for (int i = 0; i < desk->n; i++) {
        const struct exchange *x = &desk->exchanges[i];
        const enum clab_collective collective = desk->kinds[x->kind].call->collective;
        const double share = collective == CLAB_BARRIER ? 1 : x->transfer > 0 ? fmin(1, desk->empty / x->transfer) : 0;
        a->classes[BOTTLENECK_COMMUNICATION] += x->exposed * share;
        a->classes[BOTTLENECK_NETWORK] += x->exposed * (1 - share);
        a->classes[is_waited_for(collective) ? BOTTLENECK_SYNCHRONISATION : BOTTLENECK_IMBALANCE] += x->waited;
    }
}

static void add_classes(const struct desk *desk, struct bottleneck_account *a)
{
    const struct bottleneck_run *run = desk->run;
    double bytes, rest;
    for (int r = 0; r < run->n; r++) {
        a->seconds += (run->ranks[r].end - run->ranks[r].begin) / run->n;
        a->classes[BOTTLENECK_MEMORY] += memory_of(&run->ranks[r], &bytes) / run->n;
    }
    add_calls(desk, a);
    rest = a->seconds;
    for (int c = 0; c < BOTTLENECK_CLASSES; c++)
        rest -= a->classes[c];
    a->classes[BOTTLENECK_COMPUTE] = fmax(0, rest); // the program's own time, whatever it is
    a->calls = run->ranks[0].ncalls;
}

// ---- faults --------------------------------------------------------------------------------------------------

// The rank for which is waited the longest in rooted calls, or in others. *part_p: its part of all waiting there.
static int find_late(const struct desk *desk, bool rooted, double *part_p)
{
    double all = 0, most = 0, *waits = calloc((size_t)desk->run->n, sizeof *waits);
    int late = 0;
    for (int i = 0; waits && i < desk->n; i++) {
        const struct exchange *x = &desk->exchanges[i];
        if (is_waited_for(desk->kinds[x->kind].call->collective) != rooted)
            continue;
        waits[x->late] += x->waited, all += x->waited;
        if (waits[x->late] > most)
            most = waits[x->late], late = x->late;
    }
    free(waits);
    *part_p = all > 0 ? most / all : 0;
    return late;
}

// What dividing the work evenly would save: the rank that computes the longest, less the mean. Where the trace has no
// computing, what ranks wait.
static double find_surplus(const struct desk *desk, int rank, double waited)
{
    double most = 0, mean = 0, mine = 0;
    for (int r = 0; r < desk->run->n; r++) {
        double seconds = 0;
        for (int i = 0; i < desk->run->ranks[r].ncomputes; i++)
            seconds += desk->run->ranks[r].computes[i].end - desk->run->ranks[r].computes[i].begin;
        mean += seconds / desk->run->n;
        most = fmax(most, seconds);
        mine = r == rank ? seconds : mine;
    }
    return mean == 0 ? waited : mine == most ? most - mean : 0;
}

// If nearly all waiting is for one rank, it is slow; else chance decides who is late, which has no remedy here. Who is
// late as a root, as rank 0 with its own work, does what the others do not do; who is late elsewhere does more of the same.
static void judge_waiting(const struct desk *desk, struct bottleneck_account *a)
{
    double part, root_part;
    a->late = find_late(desk, false, &part);
    a->late_root = find_late(desk, true, &root_part);
    const double even = a->classes[BOTTLENECK_IMBALANCE], rooted = a->classes[BOTTLENECK_SYNCHRONISATION];
    const bool is_root = rooted > even;
    const int late = is_root ? a->late_root : a->late;
    if ((is_root ? root_part : part) > for_one)
        a->gains[is_root && late == 0 ? BOTTLENECK_FIRST_RANK : BOTTLENECK_STRAGGLER] =
            find_surplus(desk, late, even + rooted);
}

// Messages that were sent again: calls that take much longer than others of their kind.
static double find_stalls(const struct desk *desk, const struct bottleneck_seen *seen)
{
    const bool is_described = desk->run->is_virtual || desk->run->is_emulated;
    double sum = 0;
    if (!desk->run->has_wire || (!is_described && seen->retransmits == 0))
        return 0; // the processor was busy with something else
    for (int i = 0; i < desk->n; i++) {
        const struct exchange *x = &desk->exchanges[i];
        const struct kind *k = &desk->kinds[x->kind];
        if (k->n >= FEW && x->transfer > stalled * k->usual)
            sum += fmin(x->transfer - k->usual, x->exposed);
    }
    return sum;
}

// Times as long as the network says that a byte of such calls takes; NAN: not known.
static double slower(const struct desk *desk, const struct kind *k)
{
    const double expected = k->expected - desk->expected_empty;
    return expected > 0 ? fmax(0, k->usual - desk->empty) / expected : NAN;
}

static void judge_network(const struct desk *desk, const struct bottleneck_seen *seen, struct bottleneck_account *a)
{
    const struct kind *small = NULL, *large = NULL;
    double late = 0, exposed = a->classes[BOTTLENECK_COMMUNICATION] + a->classes[BOTTLENECK_NETWORK] -
                               a->gains[BOTTLENECK_RETRANSMITS];
    for (int i = 0; i < desk->run->kinds; i++) {
        const struct kind *k = &desk->kinds[i];
        if (k->call->collective != CLAB_ALLREDUCE || isnan(k->expected) || bytes_of(k) < LEAST_BYTES)
            continue;
        small = !small || bytes_of(k) < bytes_of(small) ? k : small;
        large = !large || bytes_of(k) > bytes_of(large) ? k : large;
        late += k->n * fmax(0, k->usual - k->expected);
    }
    if (!large || !desk->run->has_wire)
        return;
    a->slower = slower(desk, large);
    const bool is_slow = a->slower > too_slow,
               has_window = bytes_of(small) * APART < bytes_of(large) && slower(desk, small) < too_slow;
    const enum bottleneck_fault fault = has_window || seen->limited > mostly ? BOTTLENECK_BUFFERS : BOTTLENECK_INTERFACE;
    a->gains[fault] = is_slow ? fmin(fmax(0, exposed), late) : 0;
}

// Two small calls in one save the cost of a call. Calls whose bytes take as long as the call are large enough.
static void judge_buckets(const struct desk *desk, struct bottleneck_account *a)
{
    double calls = 0, bytes = 0;
    const double steps = desk->run->steps ? desk->run->steps : 1;
    for (int i = 0; i < desk->run->kinds; i++) {
        const struct kind *k = &desk->kinds[i];
        if (k->call->collective != CLAB_ALLREDUCE || k->usual >= 2 * desk->empty || k->n < 2 * steps)
            continue;
        calls += k->n, bytes += k->n * (k->usual - desk->empty);
    }
    const double wanted = desk->empty > 0 ? fmax(steps, bytes / desk->empty) : calls;
    a->gains[BOTTLENECK_BUCKETS] = fmax(
        0, fmin((calls - wanted) * desk->empty, a->classes[BOTTLENECK_COMMUNICATION] + a->classes[BOTTLENECK_NETWORK]));
}

// Memory that is slow at all ranks: it is another socket's. Ranks that share one core: each gets its part of it.
static void judge_binding(const struct desk *desk, const struct bottleneck_seen *seen, struct bottleneck_account *a)
{
    const double working = a->classes[BOTTLENECK_COMPUTE] + a->classes[BOTTLENECK_MEMORY];
    double least = INFINITY;
    for (int r = 0; r < desk->run->n; r++) {
        double bytes, seconds = memory_of(&desk->run->ranks[r], &bytes), expected;
        if (!desk->net || !desk->run->is_virtual || bytes <= 0 ||
            clab_net_compute(desk->net, CLAB_FP32, 0, bytes, &expected) != CLAB_OK || expected <= 0)
            least = 0;
        else
            least = fmin(least, seconds / expected);
    }
    const int cores = seen->sharing < seen->cores ? seen->sharing : seen->cores;
    a->slowness = fmax(isfinite(least) ? least : 0, cores);
    a->gains[BOTTLENECK_BINDING] = a->slowness > displaced ? working * (1 - 1 / a->slowness) : 0;
    a->gains[BOTTLENECK_COPY] = a->classes[BOTTLENECK_MEMORY] / fmax(1, a->slowness);
}

// ---- when any rank computes ------------------------------------------------------------------------------------

static int by_begin(const void *a, const void *b)
{
    const struct bottleneck_interval *x = a, *y = b;
    return (x->begin > y->begin) - (x->begin < y->begin);
}

static int find_busy(struct desk *desk)
{
    struct bottleneck_rank *busy = &desk->busy;
    int kept = 0;
    for (int r = 0; r < desk->run->n; r++)
        CLAB_TRY(CLAB_APPEND(busy->computes, busy->ncomputes, busy->compute_room, desk->run->ranks[r].computes,
                             desk->run->ranks[r].ncomputes));
    if (busy->ncomputes)
        qsort(busy->computes, (size_t)busy->ncomputes, sizeof *busy->computes, by_begin);
    for (int i = 0; i < busy->ncomputes; i++)
        if (kept && busy->computes[i].begin <= busy->computes[kept - 1].end)
            busy->computes[kept - 1].end = fmax(busy->computes[kept - 1].end, busy->computes[i].end);
        else
            busy->computes[kept++] = busy->computes[i];
    busy->ncomputes = kept;
    return CLAB_OK;
}

// ---- all of it -----------------------------------------------------------------------------------------------

static int prepare(struct desk *desk)
{
    const struct bottleneck_run *run = desk->run;
    desk->n = run->is_aligned ? run->ranks[0].ncalls : 0;
    desk->exchanges = calloc((size_t)desk->n + 1, sizeof *desk->exchanges);
    desk->kinds = calloc((size_t)run->kinds + 1, sizeof *desk->kinds);
    double *scratch = malloc(((size_t)desk->n + 1) * sizeof *scratch);
    const int err = desk->exchanges && desk->kinds && scratch ? find_busy(desk) : CLAB_ENOMEM;
    for (int i = 0; i < desk->n && !err; i++)
        look_at(desk, i, &desk->exchanges[i]);
    for (int k = 0; k < run->kinds && desk->n && !err; k++)
        look_at_kind(desk, k, scratch);
    free(scratch);
    if (!err && desk->n)
        find_empty(desk);
    return err;
}

int bottleneck_account(const struct bottleneck_run *run, const struct clab_net *net, const struct bottleneck_seen *seen,
                       struct bottleneck_account *account_p)
{
    struct desk desk = {.run = run, .net = net};
    struct bottleneck_account a = {0};
    const int err = prepare(&desk);
    if (!err) {
        add_classes(&desk, &a);
        judge_waiting(&desk, &a);
        a.gains[BOTTLENECK_RETRANSMITS] = find_stalls(&desk, seen);
        if (desk.n)
            judge_network(&desk, seen, &a);
        if (desk.n)
            judge_buckets(&desk, &a);
        judge_binding(&desk, seen, &a);
        *account_p = a;
    }
    free(desk.busy.computes);
    free(desk.kinds);
    free(desk.exchanges);
    return err;
}

enum bottleneck_fault bottleneck_name(const struct bottleneck_account *a)
{
    enum bottleneck_fault named = BOTTLENECK_FAULTS;
    double most = worth * a->seconds;
    for (int f = 0; f < BOTTLENECK_FAULTS; f++)
        if (a->gains[f] > most) {
            most = a->gains[f];
            named = f;
        }
    return named;
}
