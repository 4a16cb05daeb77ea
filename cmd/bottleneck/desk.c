// SPDX-License-Identifier: MIT
// A run laid out for account.c (desk.h).

#include "cmd/bottleneck/desk.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/err.h"
#include "core/base/order.h"
#include "core/base/stats.h"
#include "core/base/vector.h"
#include "sim/sim.h"

static const double undisturbed = 0.1; // of the calls: on a busy machine the others wait for a core, too
enum {
    FEW = 4,           // calls of a kind have a median that one stalled call does not move
    LEAST_BYTES = 1024 // below, a call costs what an empty one does, and says nothing of bytes
};

// ---- intervals -----------------------------------------------------------------------------------------------

// Seconds from `begin` to `end` in which the rank computes nothing.
double bottleneck_idle(const struct bottleneck_rank *rank, double begin, double end)
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
bool bottleneck_is_rooted(enum clab_collective collective)
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
        x->waited += bottleneck_idle(&run->ranks[r], call->begin, came) / run->n;
        const double from = fmax(call->begin, came), all = bottleneck_idle(&desk->busy, from, call->end);
        x->exposed += all / run->n;
        x->waited += (bottleneck_idle(&run->ranks[r], from, call->end) - all) / run->n;
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

static void look_at_kind(struct desk *desk, int kind, double scratch[])
{
    struct kind *k = &desk->kinds[kind];
    for (int i = 0; i < desk->n; i++)
        if (desk->exchanges[i].kind == kind) {
            k->call = &desk->run->ranks[0].calls[i];
            scratch[k->n++] = desk->exchanges[i].transfer;
        }
    k->has_median = k->n >= FEW;
    k->usual = clab_quantile(scratch, k->n, 0.5);
    k->fast = desk->run->is_virtual ? k->usual : clab_quantile(scratch, k->n, undisturbed);
    k->expected = price(desk, k->call, k->call->count);
}

// The cost of an empty allreduce: that of the smallest one here, less what the network says of its bytes.
static void find_empty(struct desk *desk)
{
    const struct kind *least = NULL;
    for (int k = 0; k < desk->run->kinds; k++)
        if (desk->kinds[k].call->collective == CLAB_ALLREDUCE &&
            (!least || bottleneck_bytes(&desk->kinds[k]) < bottleneck_bytes(least)))
            least = &desk->kinds[k];
    if (!least)
        return;
    const double empty = price(desk, least->call, (size_t)desk->run->n);
    desk->expected_empty = isnan(empty) ? 0 : empty;
    desk->empty = bottleneck_bytes(least) <= LEAST_BYTES ? least->fast : fmin(least->fast, desk->expected_empty);
}

// ---- when any rank computes ------------------------------------------------------------------------------------

static int by_begin(const void *a, const void *b)
{
    const struct bottleneck_interval *x = a, *y = b;
    return CLAB_ORDER(x->begin, y->begin);
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

int bottleneck_desk_lay(const struct bottleneck_run *run, const struct clab_net *net, struct desk *desk)
{
    *desk = (struct desk){.run = run, .net = net, .n = run->is_aligned ? run->ranks[0].ncalls : 0};
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

void bottleneck_desk_clear(struct desk *desk)
{
    free(desk->busy.computes);
    free(desk->kinds);
    free(desk->exchanges);
    *desk = (struct desk){0};
}

// ---- one step ------------------------------------------------------------------------------------------------

// Of an array that is sorted by begin, what begins within the rank's time.
#define NARROW(rank, items, n)                                                                    \
    do {                                                                                          \
        while ((rank)->n > 0 && (rank)->items->begin < (rank)->begin - BOTTLENECK_ROUNDING)       \
            (rank)->items++, (rank)->n--;                                                         \
        int kept = 0;                                                                             \
        while (kept < (rank)->n && (rank)->items[kept].begin < (rank)->end - BOTTLENECK_ROUNDING) \
            kept++;                                                                               \
        (rank)->n = kept;                                                                         \
    } while (0)

static struct bottleneck_rank rank_in_step(const struct bottleneck_rank *whole, int step)
{
    struct bottleneck_rank rank = *whole;
    rank.begin = whole->steps[step].begin, rank.end = whole->steps[step].end;
    NARROW(&rank, computes, ncomputes);
    NARROW(&rank, memories, nmemories);
    NARROW(&rank, calls, ncalls);
    return rank;
}

struct desk bottleneck_desk_step(const struct desk *whole, int step, struct step_room *room)
{
    const struct bottleneck_run *run = whole->run;
    struct desk desk = *whole;
    bool is_aligned = run->is_aligned;
    room->run = *run;
    room->run.ranks = room->ranks;
    room->run.steps = 1;
    for (int r = 0; r < run->n; r++) {
        room->ranks[r] = rank_in_step(&run->ranks[r], step);
        is_aligned &= room->ranks[r].ncalls == room->ranks[0].ncalls;
    }
    memcpy(room->kinds, whole->kinds, (size_t)run->kinds * sizeof *room->kinds);
    for (int k = 0; k < run->kinds; k++)
        room->kinds[k].n = 0;
    desk.run = &room->run;
    desk.kinds = room->kinds;
    desk.n = is_aligned ? room->ranks[0].ncalls : 0;
    desk.exchanges += is_aligned ? room->ranks[0].calls - run->ranks[0].calls : 0;
    for (int i = 0; i < desk.n; i++)
        desk.kinds[desk.exchanges[i].kind].n++;
    return desk;
}
