// SPDX-License-Identifier: MIT
// Over rounds: medians with their intervals, what levels know of each other, and how far probes are from themselves.

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/err.h"
#include "core/base/stats.h"
#include "sim/fit/fit.h"
#include "sim/net/keys.h"

// Summarize the double that lies `offset` bytes into each round.
static int combine_one(const struct clab_net *rounds, int nrounds, size_t offset, double *values, struct clab_fit *fit)
{
    struct clab_summary summary;
    for (int i = 0; i < nrounds; i++)
        values[i] = *(const double *)((const char *)&rounds[i] + offset);
    CLAB_TRY(clab_summarize(values, nrounds, &summary));
    *(double *)((char *)&fit->median + offset) = summary.median;
    *(double *)((char *)&fit->low + offset) = summary.low;
    *(double *)((char *)&fit->high + offset) = summary.high;
    return CLAB_OK;
}

// All keys of a section that are times or costs, in the struct that lies `base` bytes into the net.
static int combine_section(const struct clab_net *rounds, int nrounds, const char *section, size_t base, double *values,
                           struct clab_fit *fit)
{
    for (const struct net_key *key = net_keys; key->section; key++)
        if (strcmp(key->section, section) == 0 && (key->kind == NET_SECONDS || key->kind == NET_PER_BYTE))
            CLAB_TRY(combine_one(rounds, nrounds, base + key->offset, values, fit));
    return CLAB_OK;
}

static int combine_link(const struct clab_net *rounds, int nrounds, const struct clab_link *link, double *values,
                        struct clab_fit *fit)
{
    size_t base = (size_t)((const char *)link - (const char *)rounds);
    CLAB_TRY(combine_section(rounds, nrounds, "link", base, values, fit));
    for (int i = 0; i < link->nsegments; i++) {
        size_t segment = base + offsetof(struct clab_link, segments) + (size_t)i * sizeof(struct clab_segment);
        CLAB_TRY(combine_section(rounds, nrounds, "segment", segment, values, fit));
    }
    return CLAB_OK;
}

static int combine_all(const struct clab_net *rounds, int nrounds, double *values, struct clab_fit *fit)
{
    CLAB_TRY(combine_section(rounds, nrounds, "net", 0, values, fit));
    CLAB_TRY(combine_section(rounds, nrounds, "profile", 0, values, fit));
    CLAB_TRY(combine_link(rounds, nrounds, &rounds->intra, values, fit));
    CLAB_TRY(combine_link(rounds, nrounds, &rounds->inter, values, fit));
    for (int i = 0; i < rounds->nlevels; i++) {
        size_t base = offsetof(struct clab_net, levels) + (size_t)i * sizeof(struct clab_level);
        CLAB_TRY(combine_section(rounds, nrounds, "level", base, values, fit));
    }
    return CLAB_OK;
}

// ---- levels --------------------------------------------------------------------------------------------------

// What a byte costs that nobody has written since it was read. It is a double for each load.
static const size_t kept_costs[] = {
    offsetof(struct clab_level, copy),
    offsetof(struct clab_level, add),
    offsetof(struct clab_level, pull[CLAB_KEPT]),
    offsetof(struct clab_level, reduce[CLAB_KEPT]),
};

// What a byte costs that has just been written, beside what it costs when it has not.
static const struct {
    size_t fresh, kept;
} fresh_costs[] = {
    {offsetof(struct clab_level, pull[CLAB_FRESH]), offsetof(struct clab_level, pull[CLAB_KEPT])},
    {offsetof(struct clab_level, reduce[CLAB_FRESH]), offsetof(struct clab_level, reduce[CLAB_KEPT])},
    {offsetof(struct clab_level, add_fresh), offsetof(struct clab_level, add)},
    {offsetof(struct clab_level, copy_shared), offsetof(struct clab_level, copy)},
};

// The cost that lies `cost` bytes into level `l` of a part of the fit.
static double *cost_at(struct clab_net *part, int l, size_t cost)
{
    return (double *)((char *)&part->levels[l] + cost);
}

// Of the level `l`: as the next larger one, where that says less.
static void take_lesser(struct clab_fit *fit, int l, size_t cost)
{
    struct clab_net *const parts[] = {&fit->median, &fit->low, &fit->high};
    if (*cost_at(&fit->median, l, cost) <= *cost_at(&fit->median, l + 1, cost))
        return;
    for (int i = 0; i < 3; i++)
        *cost_at(parts[i], l, cost) = *cost_at(parts[i], l + 1, cost);
}

enum { JUMP = 4 }; // times: cores far apart, a pull of fresh data has jumped by 2.7 where a core's own cache ends

// Of the level `l`: as the next smaller one, or as data that is kept, where it would be more than JUMP times the dearer
// of them.
static void take_dearer(struct clab_fit *fit, int l, size_t fresh, size_t kept)
{
    struct clab_net *const parts[] = {&fit->median, &fit->low, &fit->high};
    const double before = *cost_at(&fit->median, l - 1, fresh), same = *cost_at(&fit->median, l, kept);
    if (*cost_at(&fit->median, l, fresh) <= JUMP * fmax(before, same))
        return;
    for (int i = 0; i < 3; i++)
        *cost_at(parts[i], l, fresh) = before > same ? *cost_at(parts[i], l - 1, fresh) : *cost_at(parts[i], l, kept);
}

// No byte of less memory costs more than one of more memory; where it seems to, a neighbour was in the caches while the
// less was measured. Where few batches were made in a placement, their median does not tell.
static void calm_levels(struct clab_fit *fit)
{
    for (int l = fit->median.nlevels - 2; l >= 0; l--)
        for (size_t i = 0; i < sizeof kept_costs / sizeof *kept_costs; i++)
            for (int load = 0; load < CLAB_LOADS; load++)
                take_lesser(fit, l, kept_costs[i] + (size_t)load * sizeof(double));
}

// Data that was just written comes from the other core's cache or from memory: from level to level its cost changes by
// less than JUMP. Where it seems to change more, another program had a core during each turn of the probe, which
// takes some milliseconds at a large level.
static void calm_fresh_levels(struct clab_fit *fit)
{
    for (int l = 1; l < fit->median.nlevels; l++)
        for (size_t i = 0; i < sizeof fresh_costs / sizeof *fresh_costs; i++)
            for (size_t load = 0; load < CLAB_LOADS; load++)
                take_dearer(fit, l, fresh_costs[i].fresh + load * sizeof(double),
                            fresh_costs[i].kept + load * sizeof(double));
}

// ---- the whole -----------------------------------------------------------------------------------------------

int clab_fit_combine(const struct clab_net *rounds, int nrounds, struct clab_fit *fit_p)
{
    if (nrounds < 1)
        return CLAB_EINVAL;
    double *values = malloc((size_t)nrounds * sizeof *values);
    if (!values)
        return CLAB_ENOMEM;
    struct clab_fit fit = {rounds[0], rounds[0], rounds[0]};
    int err = combine_all(rounds, nrounds, values, &fit);
    free(values);
    calm_levels(&fit);
    calm_fresh_levels(&fit);
    if (!err)
        *fit_p = fit;
    return err;
}

// Half the distance of the quartiles of every nprobes-th of `seconds`, as a fraction of the median.
static double spread_of(const double *seconds, int nrounds, int nprobes, double *room)
{
    for (int i = 0; i < nrounds; i++)
        room[i] = seconds[i * nprobes];
    return (clab_quantile(room, nrounds, 0.75) - clab_quantile(room, nrounds, 0.25)) / 2 /
           clab_quantile(room, nrounds, 0.5);
}

int clab_fit_noise(const double *seconds, int nrounds, int nprobes, double *noise_p)
{
    if (nrounds < 2 || nprobes < 1)
        return CLAB_EINVAL;
    double *spreads = malloc((size_t)(nprobes + nrounds) * sizeof *spreads);
    if (!spreads)
        return CLAB_ENOMEM;
    for (int p = 0; p < nprobes; p++)
        spreads[p] = spread_of(seconds + p, nrounds, nprobes, spreads + nprobes);
    *noise_p = clab_quantile(spreads, nprobes, 0.5);
    free(spreads);
    return CLAB_OK;
}
