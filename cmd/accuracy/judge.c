// SPDX-License-Identifier: MIT
// Errors, noise and choices (accuracy.h). It measures and prints nothing.

#include "cmd/accuracy/accuracy.h"

#include <math.h>
#include <stdlib.h>

#include "core/base/mix.h"
#include "core/base/stats.h"
#include "cmd/probe/placement.h"
#include "core/base/err.h"
#include "sim/net/net.h"

static const double steady = 0.05;

// ---- which are alike -------------------------------------------------------------------------------------------

static bool is_same_problem(const struct accuracy_row *a, const struct accuracy_row *b)
{
    const struct clab_problem *p = &a->what.problem, *q = &b->what.problem;
    return p->collective == q->collective && p->nranks == q->nranks && p->root == q->root &&
           a->batch.placement == b->batch.placement && a->what.type == b->what.type && a->what.op == b->what.op;
}

static bool is_same_program(const struct accuracy_row *a, const struct accuracy_row *b)
{
    return a->what.algorithm == b->what.algorithm && is_same_problem(a, b);
}

static struct accuracy_row *find(const struct accuracy_rows *rows, const struct accuracy_row *row, bool same_round)
{
    for (int i = 0; i < rows->n; i++) {
        struct accuracy_row *other = &rows->all[i];
        if ((other->round == row->round) == same_round && other->bytes == row->bytes && is_same_program(other, row))
            return other;
    }
    return NULL;
}

struct accuracy_row *accuracy_same(const struct accuracy_rows *rows, const struct accuracy_row *row)
{
    return find(rows, row, true);
}

const struct accuracy_row *accuracy_again(const struct accuracy_rows *rows, const struct accuracy_row *row)
{
    return find(rows, row, false);
}

static double distance(const struct accuracy_row *row, const struct accuracy_row *again)
{
    return fmax(row->seconds, again->seconds) / fmin(row->seconds, again->seconds) - 1;
}

double accuracy_noise(const struct accuracy_rows *rows, const struct accuracy_row *row)
{
    const struct accuracy_row *again = accuracy_again(rows, row);
    return again && clab_placement_is_same(row->batch.probed, again->batch.probed) ? distance(row, again) : NAN;
}

// Whether the interval of its median is wider than +-5 %: something else ran.
static bool is_unsteady(const struct accuracy_row *row)
{
    return row->spread > steady;
}

static bool is_placed(const struct accuracy_row *row, const struct clab_net *net)
{
    return clab_placement_is_same(row->batch.probed, clab_net_placed(net, row->batch.probed)->probed);
}

bool accuracy_is_better(const struct accuracy_row *a, const struct accuracy_row *b, const struct clab_net *net)
{
    const double call_a = a->batch.probed.call, call_b = b->batch.probed.call;
    if (is_placed(a, net) != is_placed(b, net))
        return is_placed(a, net);
    if (is_unsteady(a) != is_unsteady(b))
        return is_unsteady(b);
    if (!probe_is_calm(call_a, call_b) || !probe_is_calm(call_b, call_a))
        return call_a < call_b;
    return a->spread < b->spread;
}

bool accuracy_is_slowed(const struct accuracy_row *row, const struct clab_net *net)
{
    const struct clab_placement_sample probed = row->batch.probed;
    const double call = clab_net_placed(net, probed)->call;
    return accuracy_is_disturbed(row, net) || (call > 0 && !probe_is_calm(probed.call, call));
}

bool accuracy_is_disturbed(const struct accuracy_row *row, const struct clab_net *net)
{
    return is_unsteady(row) || !is_placed(row, net);
}

// ---- held-out sizes --------------------------------------------------------------------------------------------

bool accuracy_is_held_out(enum clab_collective collective, size_t bytes)
{
    if (!bench_has_data(collective) || bytes == 0)
        return false;
    const unsigned octave = 63 - (unsigned)__builtin_clzll(bytes);
    return (clab_mix((uint64_t)collective, octave / 2) & 1) == octave % 2;
}

// ---- errors ----------------------------------------------------------------------------------------------------

double accuracy_error(const struct accuracy_row *row)
{
    return row->predicted / row->seconds - 1;
}

// In three columns of `room`, (3, rows->n): errors, their sizes, noise.
static void collect(const struct accuracy_rows *rows, accuracy_filter *is_of, const void *which, double *room,
                    struct accuracy_figures *f)
{
    double *sizes = room + rows->n, *noise = sizes + rows->n;
    int repeated = 0;
    for (int i = 0; i < rows->n; i++) {
        const struct accuracy_row *row = &rows->all[i];
        if (!is_of(row, which))
            continue;
        room[f->n] = accuracy_error(row);
        sizes[f->n] = fabs(room[f->n]);
        f->n++;
        noise[repeated] = accuracy_noise(rows, row);
        repeated += !isnan(noise[repeated]);
    }
    const bool none = !repeated;
    for (int i = 0; i < rows->n && none; i++) { // the cores had moved each time: then the noise includes that
        const struct accuracy_row *row = &rows->all[i], *again = accuracy_again(rows, row);
        if (is_of(row, which) && again)
            noise[repeated++] = distance(row, again);
    }
    if (f->n) {
        f->bias = clab_quantile(room, f->n, 0.5);
        f->median = clab_quantile(sizes, f->n, 0.5);
        f->p95 = clab_quantile(sizes, f->n, 0.95);
    }
    f->noise = repeated ? clab_quantile(noise, repeated, 0.5) : NAN;
    f->noise_p95 = repeated ? clab_quantile(noise, repeated, 0.95) : NAN;
}

int accuracy_figures(const struct accuracy_rows *rows, accuracy_filter *is_of, const void *which,
                     struct accuracy_figures *figures_p)
{
    struct accuracy_figures figures = {.median = NAN, .p95 = NAN, .bias = NAN};
    double *room = malloc((size_t)(3 * rows->n + 1) * sizeof *room);
    if (!room)
        return CLAB_ENOMEM;
    collect(rows, is_of, which, room, &figures);
    free(room);
    *figures_p = figures;
    return CLAB_OK;
}

// ---- choices ---------------------------------------------------------------------------------------------------

// The geometric mean over rounds of a row's time or prediction.
static double mean(const struct accuracy_rows *rows, const struct accuracy_row *row, bool predicted)
{
    const struct accuracy_row *again = accuracy_again(rows, row);
    const double one = predicted ? row->predicted : row->seconds;
    return again ? sqrt(one * (predicted ? again->predicted : again->seconds)) : one;
}

struct rivals {
    int n;
    double least;    // s measured, of the fastest
    double promised; // s predicted, of the one that is chosen
    double chosen;   // s measured, of that
};

static struct rivals rivals_of(const struct accuracy_rows *rows, const struct accuracy_row *row)
{
    struct rivals r = {.least = INFINITY, .promised = INFINITY};
    for (int i = 0; i < rows->n; i++) {
        const struct accuracy_row *other = &rows->all[i];
        if (other->bytes != row->bytes || !is_same_problem(row, other))
            continue;
        if (other->round != row->round && accuracy_again(rows, other))
            continue; // counted with the other
        const double seconds = mean(rows, other, false), promised = mean(rows, other, true);
        r.n++;
        r.least = fmin(r.least, seconds);
        if (promised < r.promised) {
            r.promised = promised;
            r.chosen = seconds;
        }
    }
    return r;
}

static bool is_first_of_its_problem(const struct accuracy_rows *rows, int index)
{
    for (int i = 0; i < index; i++)
        if (rows->all[i].bytes == rows->all[index].bytes && is_same_problem(&rows->all[i], &rows->all[index]))
            return false;
    return true;
}

struct accuracy_choices accuracy_choices(const struct accuracy_rows *rows, double noise)
{
    struct accuracy_choices c = {0};
    for (int i = 0; i < rows->n; i++) {
        if (!is_first_of_its_problem(rows, i))
            continue;
        const struct rivals r = rivals_of(rows, &rows->all[i]);
        if (r.n < 2)
            continue;
        const double regret = r.chosen / r.least - 1;
        c.n++;
        c.right += regret <= fmax(0, noise); // fmax ignores a NAN
        c.regret += regret;
        c.worst = fmax(c.worst, regret);
    }
    if (c.n)
        c.regret /= c.n;
    return c;
}
