// SPDX-License-Identifier: MIT
// From times to rows (tune.h). Per communicator and collective we go through the sizes, smallest first. NCCL's own choice
// stays unless another is faster by the margin; so does the choice of the size below. The winner at a size holds up to
// the next timed size; at the smallest size also from 0 on, at the largest up to twice its size.

#include "cmd/nccl/tune.h"

#include <math.h>
#include <stdlib.h>

#include "core/base/err.h"
#include "core/base/order.h"
#include "core/base/vector.h"

int tune_times_add(struct tune_times *times, struct tune_time time)
{
    return CLAB_PUSH(times->all, times->n, times->room, time);
}

void tune_times_free(struct tune_times *times)
{
    free(times->all);
    *times = (struct tune_times){0};
}

// ---- order ---------------------------------------------------------------------------------------------------

// Allreduce first: programs spend most time on it.
static int by_communicator(const struct tune_time *x, const struct tune_time *y)
{
    return CLAB_ORDER(x->nodes, y->nodes) ?: CLAB_ORDER(x->ranks, y->ranks) ?: CLAB_ORDER(y->function, x->function);
}

static int by_size(const void *a, const void *b)
{
    const struct tune_time *x = a, *y = b;
    return by_communicator(x, y) ?: CLAB_ORDER(x->bytes, y->bytes) ?: CLAB_ORDER(x->is_own, y->is_own)
        ?: CLAB_ORDER(x->algorithm, y->algorithm) ?: CLAB_ORDER(x->protocol, y->protocol)
        ?: CLAB_ORDER(x->channels, y->channels);
}

// ---- a size --------------------------------------------------------------------------------------------------

// Times of one communicator, collective and size.
struct size {
    const struct tune_time *times;
    int n;
};

static bool is_same_pair(const struct tune_time *t, const struct clab_nccl_row *row)
{
    return t->algorithm == row->algorithm && t->protocol == row->protocol && t->channels == row->channels;
}

// The least time of NCCL's own choice, of a row's choice, or (row NULL) of all others; NULL: there is none.
static const struct tune_time *least(struct size size, bool is_own, const struct clab_nccl_row *row)
{
    const struct tune_time *found = NULL;
    for (int i = 0; i < size.n; i++) {
        const struct tune_time *t = &size.times[i];
        if (t->is_own == is_own && (!row || is_same_pair(t, row)) && (!found || t->usec < found->usec))
            found = t;
    }
    return found;
}

static bool is_near(const struct tune_time *time, const struct tune_time *best, double margin)
{
    return time && (!best || time->usec <= best->usec * margin);
}

// The choice at this size; NULL: NCCL's own.  last: the choice of the size below, or NULL
static const struct tune_time *take(struct size size, struct tune_rule rule, const struct tune_choice *last)
{
    const struct tune_time *best = least(size, false, NULL), *own = least(size, true, NULL);
    const struct tune_time *same = last && !last->is_own ? least(size, false, &last->row) : NULL;
    if (!best || (!rule.pins && is_near(own, best, rule.margin)))
        return NULL;
    return is_near(same, best, rule.margin) ? same : best;
}

// ---- ranges --------------------------------------------------------------------------------------------------

static struct tune_choice begin(struct size size, const struct tune_time *taken, struct tune_rule rule)
{
    const struct tune_time *own = least(size, true, NULL), *t = &size.times[0];
    return (struct tune_choice){
        .row = {.function = t->function,
                .algorithm = taken ? taken->algorithm : TUNE_UNKNOWN,
                .protocol = taken ? taken->protocol : TUNE_UNKNOWN,
                .channels = taken ? taken->channels : CLAB_NCCL_ANY,
                .first = t->bytes,
                .nodes = t->nodes,
                .ranks = t->ranks,
                .ops = CLAB_NCCL_ANY,
                .registered = rule.registered},
        .is_own = !taken,
        .own_algorithm = own ? own->algorithm : TUNE_UNKNOWN,
        .own_protocol = own ? own->protocol : TUNE_UNKNOWN,
        .gain = 0, // of logarithms, until close
        .least = INFINITY,
    };
}

static void extend(struct tune_choice *c, struct size size, const struct tune_time *taken)
{
    const struct tune_time *own = least(size, true, NULL);
    const double gain = !taken ? 1 : own ? own->usec / taken->usec : NAN;
    c->gain += log(gain);
    c->least = isnan(gain) || gain < c->least ? gain : c->least;
    c->nsizes++;
}

static void close_at(struct tune_choice *c, size_t last)
{
    c->row.last = last;
    c->gain = exp(c->gain / c->nsizes);
    c->least = isnan(c->gain) ? NAN : c->least;
}

static bool goes_on(const struct tune_choice *c, const struct tune_time *taken)
{
    return c->is_own == !taken && (!taken || is_same_pair(taken, &c->row));
}

// How many of times[0, n) have the first one's communicator and collective (size: and size).
static int count_alike(const struct tune_time *times, int n, bool size)
{
    int i = 1;
    while (i < n && by_communicator(times, &times[i]) == 0 && (!size || times[i].bytes == times->bytes))
        i++;
    return i;
}

// For one communicator and collective: append to choices (room for n).
static int choose(const struct tune_time *times, int n, struct tune_rule rule, struct tune_choice *choices)
{
    struct tune_choice *c = NULL;
    for (int i = 0, alike; i < n; i += alike) {
        alike = count_alike(&times[i], n - i, true);
        const struct size size = {&times[i], alike};
        const struct tune_time *taken = take(size, rule, c);
        if (!c || !goes_on(c, taken)) {
            if (c)
                close_at(c, times[i].bytes - 1);
            c = c ? c + 1 : choices;
            *c = begin(size, taken, rule);
        }
        extend(c, size, taken);
    }
    choices->row.first = 0;
    const size_t largest = times[n - 1].bytes;
    close_at(c, largest > SIZE_MAX / 2 ? SIZE_MAX : 2 * largest - (largest > 0));
    return (int)(c - choices) + 1;
}

int tune_choose(struct tune_times *times, struct tune_rule rule, struct tune_choice **choices_p, int *n_p)
{
    struct tune_choice *choices = malloc(((size_t)times->n + 1) * sizeof *choices);
    int n = 0;
    if (!choices)
        return CLAB_ENOMEM;
    if (times->n)
        qsort(times->all, (size_t)times->n, sizeof *times->all, by_size);
    for (int i = 0, alike; i < times->n; i += alike) {
        alike = count_alike(&times->all[i], times->n - i, false);
        n += choose(&times->all[i], alike, rule, &choices[n]);
    }
    *choices_p = choices;
    *n_p = n;
    return CLAB_OK;
}
