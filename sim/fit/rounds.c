// SPDX-License-Identifier: MIT
// Over rounds: medians with their intervals, what levels know of each other, and how far probes are from themselves.

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

// Of the level `l`: as the next larger one, where that says less.
static void take_lesser(struct clab_fit *fit, int l, size_t cost)
{
    struct clab_net *const parts[] = {&fit->median, &fit->low, &fit->high};
    const size_t level = offsetof(struct clab_net, levels) + (size_t)l * sizeof(struct clab_level) + cost;
    const double *here = (const double *)((const char *)&fit->median + level);
    const double *next = (const double *)((const char *)here + sizeof(struct clab_level));
    if (*here <= *next)
        return;
    for (int i = 0; i < 3; i++) {
        double *to = (double *)((char *)parts[i] + level);
        *to = *(const double *)((const char *)to + sizeof(struct clab_level));
    }
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
