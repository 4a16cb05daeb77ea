// SPDX-License-Identifier: MIT
// Right, and of middling speed: as many buckets as make starts and the last bucket's bytes alike, which forgets when
// gradients are there, and what fits beside the pass. See sample-C.md.

#include "labs/homework/h3/step.h"

#include <math.h>

enum { MOST = 256 };

static int first[MOST], count[MOST], buckets; // parameters of each bucket
static int awaited[MOST], handle[MOST], started;

// k starts take k a, and the last of k buckets b / k: their sum is the least at k = sqrt(b / a).
static double best_size(const struct step_facts *f)
{
    double all = 0;
    for (int p = 0; p < f->n; p++)
        all += (double)f->bytes[p];
    const double start = 2 * log2(f->ranks) * f->alpha, bytes = all * (2 * f->beta + f->gamma);
    return all / sqrt(bytes / start);
}

// Buckets are the same in all steps: filled from the last parameter to the first.
static void plan(const struct step_facts *f)
{
    const double cap = best_size(f);
    double bytes = 0;
    int last = f->n - 1;
    buckets = 0;
    for (int p = f->n - 1; p >= 0; p--) {
        bytes += (double)f->bytes[p];
        if (bytes < cap && p > 0)
            continue;
        first[buckets] = p;
        count[buckets++] = last - p + 1;
        last = p - 1;
        bytes = 0;
    }
}

void begin(struct step *s)
{
    plan(step_facts(s));
    started = 0;
    for (int b = 0; b < buckets; b++)
        awaited[b] = count[b];
}

static int bucket_of(int parameter)
{
    int b = 0;
    while (first[b] > parameter)
        b++;
    return b;
}

void ready(struct step *s, int parameter)
{
    awaited[bucket_of(parameter)]--;
    for (; started < buckets && awaited[started] == 0; started++)
        handle[started] = step_reduce(s, first[started], count[started]);
}

void finish(struct step *s)
{
    for (int b = 0; b < buckets; b++) {
        step_wait(s, handle[b]);
        step_scale(s, first[b], count[b], 1.0 / step_facts(s)->ranks);
        step_update(s, first[b], count[b]);
    }
}
