// SPDX-License-Identifier: MIT
// Where the time of a run goes (account.h).

#include "cmd/bottleneck/account.h"

#include <math.h>
#include <stdlib.h>

#include "cmd/bottleneck/desk.h"
#include "core/base/err.h"
#include "core/base/stats.h"
#include "sim/sim.h"

static const double worth = 0.05;    // of the time: the target for overhead
static const double for_one = 0.7;   // of all waiting is for one rank: far more than chance gives one of two or more
static const double stalled = 3;     // times the median of its kind: other causes rarely make a call that much longer
static const double too_slow = 1.5;  // times as long as the network says: its descriptions are right to well below that
static const double mostly = 0.5;    // of the busy time: a buffer limited the connection more often than not
static const double displaced = 1.1; // times as long as memory should take: above what runs differ by
static const double uneven = 1.5;    // times as long: less than that, the same work differs where others use the caches
static const double crowded = 1.5;   // programs per core that want one: where the kernel does not say who had them
enum {
    APART = 4,         // times larger: only then small and large calls can tell a window from a slow wire
    LEAST_BYTES = 1024 // below, a call costs what an empty one does, and says nothing of bytes
};

// ---- classes -------------------------------------------------------------------------------------------------

// With the time in which others had its core: that is a part of the whole, but no remedy's.
static double memory_of(const struct bottleneck_rank *rank, double *bytes_p, double *kept_p)
{
    double seconds = 0;
    *bytes_p = *kept_p = 0;
    for (int i = 0; i < rank->nmemories; i++) {
        seconds += rank->memories[i].end - rank->memories[i].begin;
        *kept_p += rank->memories[i].kept;
        *bytes_p += fmax(0, rank->memories[i].bytes);
    }
    return seconds;
}

// Without calls that can be compared, all time in them is network.
static void add_calls(const struct desk *desk, struct bottleneck_account *a)
{
    for (int r = 0; r < desk->run->n && desk->n == 0; r++)
        for (int i = 0; i < desk->run->ranks[r].ncalls; i++)
            a->classes[BOTTLENECK_NETWORK] += bottleneck_idle(&desk->run->ranks[r], desk->run->ranks[r].calls[i].begin,
                                                              desk->run->ranks[r].calls[i].end) /
                                              desk->run->n;
    for (int i = 0; i < desk->n; i++) {
        const struct exchange *x = &desk->exchanges[i];
        const enum clab_collective collective = desk->kinds[x->kind].call->collective;
        const double share = collective == CLAB_BARRIER ? 1 : x->transfer > 0 ? fmin(1, desk->empty / x->transfer) : 0;
        a->classes[BOTTLENECK_COMMUNICATION] += x->exposed * share;
        a->classes[BOTTLENECK_NETWORK] += x->exposed * (1 - share);
        a->classes[bottleneck_is_rooted(collective) ? BOTTLENECK_SYNCHRONISATION : BOTTLENECK_IMBALANCE] += x->waited;
    }
}

static void add_classes(const struct desk *desk, struct bottleneck_account *a)
{
    const struct bottleneck_run *run = desk->run;
    double bytes, kept, rest;
    for (int r = 0; r < run->n; r++) {
        a->seconds += (run->ranks[r].end - run->ranks[r].begin) / run->n;
        a->classes[BOTTLENECK_MEMORY] += memory_of(&run->ranks[r], &bytes, &kept) / run->n;
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
        if (bottleneck_is_rooted(desk->kinds[x->kind].call->collective) != rooted)
            continue;
        waits[x->late] += x->waited, all += x->waited;
        if (waits[x->late] > most)
            most = waits[x->late], late = x->late;
    }
    free(waits);
    *part_p = all > 0 ? most / all : 0;
    return late;
}

// What a rank computes by itself, in s: before calls in which ranks wait for one, and before others. Without the time in
// which others had its core.
struct work {
    double rooted, even;
};

static struct work work_of(const struct bottleneck_rank *rank)
{
    struct work work = {0};
    for (int i = 0, next = 0; i < rank->ncomputes; i++) {
        const struct bottleneck_interval *c = &rank->computes[i];
        while (next < rank->ncalls && rank->calls[next].begin < c->end - BOTTLENECK_ROUNDING)
            next++;
        const double seconds = fmax(0, c->end - c->begin - c->kept);
        if (next < rank->ncalls && bottleneck_is_rooted(rank->calls[next].collective))
            work.rooted += seconds;
        else
            work.even += seconds;
    }
    return work;
}

// What dividing the work evenly would save: that of `rank`, less the mean. `waited` where the trace has no computing.
static double find_surplus(const struct desk *desk, int rank, double waited, bool *is_rooted_p)
{
    struct work mine = {0}, mean = {0};
    for (int r = 0; r < desk->run->n; r++) {
        const struct work work = work_of(&desk->run->ranks[r]);
        mean.rooted += work.rooted / desk->run->n, mean.even += work.even / desk->run->n;
        mine = r == rank ? work : mine;
    }
    if (mean.rooted + mean.even == 0)
        return waited;
    *is_rooted_p = mine.rooted - mean.rooted > mine.even - mean.even;
    return fmax(0, mine.rooted + mine.even - mean.rooted - mean.even);
}

// The rank that computes the longest; -1: the trace has no computing. *times_p: as long as the others, on average.
static int find_slowest(const struct desk *desk, double *times_p)
{
    int slowest = -1;
    double most = 0, sum = 0;
    for (int r = 0; r < desk->run->n; r++) {
        const struct work work = work_of(&desk->run->ranks[r]);
        sum += work.rooted + work.even;
        if (work.rooted + work.even > most)
            most = work.rooted + work.even, slowest = r;
    }
    *times_p = sum > most ? most / ((sum - most) / (desk->run->n - 1)) : INFINITY;
    return slowest;
}

// One rank is slow if nearly all waiting is for it, and it computes the longest; else chance decides who is late, which
// has no remedy here. Who is late as a root, as rank 0 with its own work, does what the others do not do; who is late
// elsewhere does more of the same. Where others had the cores, waiting says nothing of whom it is for.
static void judge_waiting(const struct desk *desk, bool is_disturbed, struct bottleneck_account *a)
{
    double part, root_part, times;
    a->late = find_late(desk, false, &part);
    a->late_root = find_late(desk, true, &root_part);
    const double even = a->classes[BOTTLENECK_IMBALANCE], rooted = a->classes[BOTTLENECK_SYNCHRONISATION];
    bool is_root = rooted > even;
    const int slowest = find_slowest(desk, &times), late = is_disturbed ? slowest : is_root ? a->late_root : a->late;
    const bool is_one = is_disturbed ? slowest >= 0 && times > uneven : (is_root ? root_part : part) > for_one;
    const double surplus = find_surplus(desk, late, even + rooted, &is_root);
    a->slowest = late;
    if (is_one && (slowest < 0 || late == slowest))
        a->gains[is_root && late == 0 ? BOTTLENECK_FIRST_RANK : BOTTLENECK_STRAGGLER] = fmin(surplus, even + rooted);
}

// Messages that were sent again: calls that take much longer than others of their kind.
static double find_stalls(const struct desk *desk, const struct bottleneck_seen *seen)
{
    const double resent = seen->retransmits + desk->run->resent;
    double sum = 0, stalls = 0;
    if (!desk->run->has_wire || (!desk->run->is_virtual && resent == 0))
        return 0; // the processor was busy with something else
    for (int i = 0; i < desk->n; i++) {
        const struct exchange *x = &desk->exchanges[i];
        const struct kind *k = &desk->kinds[x->kind];
        if (k->has_median && x->transfer > stalled * k->usual)
            sum += fmin(x->transfer - k->usual, x->exposed), stalls++;
    }
    return desk->run->is_virtual || stalls <= resent ? sum : sum * resent / stalls;
}

// Times as long as the network says that a byte of such calls takes; NAN: not known.
static double slower(const struct desk *desk, const struct kind *k)
{
    const double expected = k->expected - desk->expected_empty;
    return expected > 0 ? fmax(0, k->fast - desk->empty) / expected : NAN;
}

static void judge_network(const struct desk *desk, const struct bottleneck_seen *seen, struct bottleneck_account *a)
{
    const struct kind *small = NULL, *large = NULL;
    double late = 0, exposed = a->classes[BOTTLENECK_COMMUNICATION] + a->classes[BOTTLENECK_NETWORK] -
                               a->gains[BOTTLENECK_RETRANSMITS];
    for (int i = 0; i < desk->run->kinds; i++) {
        const struct kind *k = &desk->kinds[i];
        if (k->call->collective != CLAB_ALLREDUCE || isnan(k->expected) || bottleneck_bytes(k) < LEAST_BYTES)
            continue;
        small = !small || bottleneck_bytes(k) < bottleneck_bytes(small) ? k : small;
        large = !large || bottleneck_bytes(k) > bottleneck_bytes(large) ? k : large;
        late += k->n * fmax(0, k->fast - k->expected);
    }
    if (!large || !desk->run->has_wire)
        return;
    a->slower = slower(desk, large);
    const bool is_slow = a->slower > too_slow,
               has_window = bottleneck_bytes(small) * APART < bottleneck_bytes(large) && slower(desk, small) < too_slow;
    const enum bottleneck_fault fault =
        has_window || seen->limited > mostly ? BOTTLENECK_BUFFERS : BOTTLENECK_INTERFACE;
    a->gains[fault] = is_slow ? fmin(fmax(0, exposed), late) : 0;
}

// Two small calls in one save the cost of a call. Calls whose bytes take as long as the call are large enough.
static void judge_buckets(const struct desk *desk, struct bottleneck_account *a)
{
    double calls = 0, bytes = 0;
    const double steps = desk->run->steps ? desk->run->steps : 1;
    for (int i = 0; i < desk->run->kinds; i++) {
        const struct kind *k = &desk->kinds[i];
        if (k->call->collective != CLAB_ALLREDUCE || k->fast >= 2 * desk->empty || k->n < 2 * steps)
            continue;
        calls += k->n, bytes += k->n * (k->fast - desk->empty);
    }
    const double wanted = desk->empty > 0 ? fmax(steps, bytes / desk->empty) : calls;
    a->gains[BOTTLENECK_BUCKETS] = fmax(
        0, fmin((calls - wanted) * desk->empty, a->classes[BOTTLENECK_COMMUNICATION] + a->classes[BOTTLENECK_NETWORK]));
}

// Memory that is slow at all ranks: it is another socket's. Ranks that share one core: each gets its part of it.
static void judge_binding(const struct desk *desk, const struct bottleneck_seen *seen, struct bottleneck_account *a)
{
    const double working = a->classes[BOTTLENECK_COMPUTE] + a->classes[BOTTLENECK_MEMORY];
    double least = INFINITY, copying = 0;
    for (int r = 0; r < desk->run->n; r++) {
        double bytes, kept, seconds = memory_of(&desk->run->ranks[r], &bytes, &kept), expected;
        copying += fmax(0, seconds - kept) / desk->run->n;
        if (!desk->net || !desk->run->is_virtual || bytes <= 0 ||
            clab_net_compute(desk->net, CLAB_FP32, 0, bytes, &expected) != CLAB_OK || expected <= 0)
            least = 0;
        else
            least = fmin(least, seconds / expected);
    }
    const int cores = seen->sharing < seen->cores ? seen->sharing : seen->cores;
    a->slowness = fmax(isfinite(least) ? least : 0, cores);
    a->gains[BOTTLENECK_BINDING] = a->slowness > displaced ? working * (1 - 1 / a->slowness) : 0;
    a->gains[BOTTLENECK_COPY] = copying / fmax(1, a->slowness);
}

// ---- of all steps, or of one ----------------------------------------------------------------------------------

static void judge(const struct desk *desk, const struct bottleneck_seen *seen, bool is_disturbed,
                  struct bottleneck_account *a)
{
    *a = (struct bottleneck_account){0};
    add_classes(desk, a);
    judge_waiting(desk, is_disturbed, a);
    a->gains[BOTTLENECK_RETRANSMITS] = find_stalls(desk, seen);
    if (desk->n)
        judge_network(desk, seen, a);
    if (desk->n)
        judge_buckets(desk, a);
    judge_binding(desk, seen, a);
}

// ---- what is sure in real time ---------------------------------------------------------------------------------

// What each step says, of all steps.
struct samples {
    double *seconds, *gains[BOTTLENECK_FAULTS]; // (steps)
};

// What was seen apart from times is as sure in all steps together as in one.
bool bottleneck_is_seen(enum bottleneck_fault fault, const struct bottleneck_seen *seen)
{
    return fault == BOTTLENECK_RETRANSMITS || (fault == BOTTLENECK_BINDING && seen->sharing > 1);
}

static int sum_up(const struct samples *samples, int steps, const struct bottleneck_seen *seen,
                  struct bottleneck_account *a)
{
    struct clab_summary of;
    CLAB_TRY(clab_summarize(samples->seconds, steps, &of));
    a->usual = of.median * steps;
    a->quarter = clab_quantile(samples->seconds, steps, 0.25) * steps;
    a->three_quarters = clab_quantile(samples->seconds, steps, 0.75) * steps;
    for (int f = 0; f < BOTTLENECK_FAULTS; f++) {
        if (bottleneck_is_seen((enum bottleneck_fault)f, seen))
            continue;
        CLAB_TRY(clab_summarize(samples->gains[f], steps, &of));
        a->gains[f] = of.median * steps;
        a->least[f] = of.low * steps;
    }
    return CLAB_OK;
}

static int judge_steps(const struct desk *desk, const struct bottleneck_seen *seen, struct bottleneck_account *a)
{
    const struct bottleneck_run *run = desk->run;
    const size_t steps = (size_t)run->steps;
    struct step_room room = {.ranks = calloc((size_t)run->n, sizeof *room.ranks),
                             .kinds = calloc((size_t)run->kinds + 1, sizeof *room.kinds)};
    double *all = calloc(steps * (BOTTLENECK_FAULTS + 1), sizeof *all);
    struct samples samples = {.seconds = all};
    for (int f = 0; f < BOTTLENECK_FAULTS && all; f++)
        samples.gains[f] = all + steps * (size_t)(f + 1);
    int err = room.ranks && room.kinds && all ? CLAB_OK : CLAB_ENOMEM;
    for (int s = 0; s < run->steps && !err; s++) {
        const struct desk step = bottleneck_desk_step(desk, s, &room);
        struct bottleneck_account one;
        judge(&step, seen, a->is_disturbed, &one);
        samples.seconds[s] = one.seconds;
        for (int f = 0; f < BOTTLENECK_FAULTS; f++)
            samples.gains[f][s] = one.gains[f];
    }
    if (!err)
        err = sum_up(&samples, run->steps, seen, a);
    free(all);
    free(room.kinds);
    free(room.ranks);
    return err;
}

// In virtual time all is sure. Else what others do on the machine is in each time, too: what steps agree on is sure. Of
// one step alone, nothing is if others had the cores. Ranks that share a core delay each other: what else is slow then,
// is slow for that.
static int find_sure(const struct desk *desk, const struct bottleneck_seen *seen, struct bottleneck_account *a)
{
    const struct bottleneck_run *run = desk->run;
    a->usual = a->quarter = a->three_quarters = a->seconds;
    for (int f = 0; f < BOTTLENECK_FAULTS; f++)
        a->least[f] = a->is_disturbed && !bottleneck_is_seen((enum bottleneck_fault)f, seen) ? 0 : a->gains[f];
    if (!run->is_virtual && run->steps > 1)
        CLAB_TRY(judge_steps(desk, seen, a));
    for (int f = 0; f < BOTTLENECK_FAULTS && seen->sharing > 1; f++)
        a->least[f] = f == BOTTLENECK_BINDING ? a->least[f] : 0;
    return CLAB_OK;
}

static bool is_disturbed(const struct bottleneck_run *run)
{
    if (run->is_virtual)
        return false;
    return isnan(run->kept) ? run->cores && run->load > crowded * run->cores : run->kept > worth;
}

int bottleneck_account(const struct bottleneck_run *run, const struct clab_net *net, const struct bottleneck_seen *seen,
                       struct bottleneck_account *account_p)
{
    struct desk desk;
    struct bottleneck_account a;
    int err = bottleneck_desk_lay(run, net, &desk);
    if (!err) {
        judge(&desk, seen, is_disturbed(run), &a);
        a.is_disturbed = is_disturbed(run);
        err = find_sure(&desk, seen, &a);
    }
    if (!err)
        *account_p = a;
    bottleneck_desk_clear(&desk);
    return err;
}

enum bottleneck_fault bottleneck_name(const struct bottleneck_account *a)
{
    enum bottleneck_fault named = BOTTLENECK_FAULTS;
    double most = worth * a->usual;
    for (int f = 0; f < BOTTLENECK_FAULTS; f++)
        if (a->least[f] > worth * a->usual && a->gains[f] > most) {
            most = a->gains[f];
            named = f;
        }
    return named;
}

bool bottleneck_is_unsure(const struct bottleneck_account *a)
{
    bool is_possible = a->is_disturbed || a->is_contradicted;
    for (int f = 0; f < BOTTLENECK_FAULTS; f++)
        is_possible |= a->gains[f] > worth * a->usual;
    return is_possible && bottleneck_name(a) == BOTTLENECK_FAULTS;
}

void bottleneck_agree(struct bottleneck_account *first, const struct bottleneck_account *second)
{
    const enum bottleneck_fault named = bottleneck_name(first);
    const bool is_rank = named == BOTTLENECK_STRAGGLER || named == BOTTLENECK_FIRST_RANK;
    if (named == bottleneck_name(second) && (!is_rank || first->slowest == second->slowest))
        return;
    first->is_contradicted = true;
    first->claimed = named;
    first->claimed_then = bottleneck_name(second);
    for (int f = 0; f < BOTTLENECK_FAULTS; f++)
        first->least[f] = 0;
}
