// SPDX-License-Identifier: MIT
// Prices on a student's cluster (price.h).

#include "labs/homework/h2/price.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "core/base/err.h"
#include "core/base/mix.h"

enum { ELEMENT = 4, MOST_LANES = 16 }; // bytes; lanes of a shipped algorithm

int h2_price(const struct h2_cluster *cluster, const int members[], const struct clab_net *net,
             const struct clab_problem *problem, const struct clab_algorithm *algorithm, double *seconds_p)
{
    const struct clab_sim_options options = {.element_bytes = ELEMENT, .members = members};
    struct clab_problem priced = *problem;
    struct clab_sim_result result;
    priced.count = cluster->bytes / ELEMENT;
    CLAB_TRY(clab_sim_run(&priced, algorithm, net, &options, &result));
    *seconds_p = result.seconds;
    return CLAB_OK;
}

// ---- the reference -----------------------------------------------------------------------------------------------------

// With S hosts, n bytes, and g ranks on the largest host:
//   1. its first rank takes the arrays of the g-1 others, and adds them up:  (g-1) (a + n b + n c)
//   2. S first ranks, each one part of n/S bytes after another, twice around: 2 (S-1) (A + n/S B), and (S-1) n/S c
//   3. the first rank gives the sum to the g-1 others:                        (g-1) (a + n b)
// a, b: per message and per byte in a host; A, B: between hosts; c: per byte that is added up.
double h2_reference(const struct h2_cluster *cluster, const struct clab_net *net)
{
    const double n = (double)cluster->bytes, S = cluster->nhosts, part = n / S, others = cluster->slots - 1;
    const double inside = net->intra.alpha + n * net->intra.beta, across = net->inter.alpha + part * net->inter.beta;
    return others * (inside + n * net->gamma) + 2 * (S - 1) * across + (S - 1) * part * net->gamma + others * inside;
}

// Each adapter must send, and receive, 2 (S-1)/S n bytes (Patarasuk and Yuan 2009, with hosts instead of ranks).
double h2_bound(const struct h2_cluster *cluster, const struct clab_net *net)
{
    return 2.0 * (cluster->nhosts - 1) / cluster->nhosts * (double)cluster->bytes * net->inter.beta;
}

// ---- what is shipped ---------------------------------------------------------------------------------------------------

struct best {
    double seconds;
    char name[32];
};

static int try_one(const struct h2_cluster *cluster, const int members[], const struct clab_net *net,
                   const struct clab_algorithm *algorithm, int lanes, int group, struct best *best)
{
    const struct clab_problem problem = {
        .collective = CLAB_ALLREDUCE, .nranks = cluster->nranks, .lanes = lanes, .group = group, .count = 1};
    double seconds;
    if (!algorithm->supports(&problem))
        return CLAB_OK;
    CLAB_TRY(h2_price(cluster, members, net, &problem, algorithm, &seconds));
    if (seconds < best->seconds) {
        best->seconds = seconds;
        snprintf(best->name, sizeof best->name, "%s", algorithm->name);
    }
    return CLAB_OK;
}

// Only those of two levels look at the group.
static int most_group(const struct clab_algorithm *algorithm, int nranks)
{
    return strcmp(algorithm->name, "hierarchical") && strcmp(algorithm->name, "leaders") ? 0 : nranks;
}

static int find_best(const struct h2_cluster *cluster, const int members[], const struct clab_net *net,
                     struct best *best_p)
{
    *best_p = (struct best){.seconds = INFINITY};
    for (int i = 0; clab_algorithms[i]; i++) {
        const struct clab_algorithm *algorithm = clab_algorithms[i];
        if (algorithm->collective != CLAB_ALLREDUCE)
            continue;
        for (int lanes = 1; lanes <= MOST_LANES; lanes *= 2)
            for (int group = 0; group <= most_group(algorithm, cluster->nranks); group++)
                CLAB_TRY(try_one(cluster, members, net, algorithm, lanes, group, best_p));
    }
    return CLAB_OK;
}

// The members in the order of hosts.
static void put_in_order(const struct h2_cluster *cluster, int members_p[])
{
    int n = 0;
    for (int host = 0; host < cluster->nhosts; host++)
        for (int i = 0; i < cluster->size[host]; i++)
            members_p[n++] = host * cluster->slots + i;
}

static int scale_on(const struct h2_cluster *cluster, const struct clab_net *net, struct h2_scale *scale_p)
{
    int members[H2_RANKS];
    struct best shipped, ordered;
    put_in_order(cluster, members);
    CLAB_TRY(find_best(cluster, cluster->member, net, &shipped));
    CLAB_TRY(find_best(cluster, members, net, &ordered));
    *scale_p = (struct h2_scale){.shipped = shipped.seconds,
                                 .ordered = ordered.seconds,
                                 .reference = h2_reference(cluster, net),
                                 .bound = h2_bound(cluster, net)};
    memcpy(scale_p->shipped_name, shipped.name, sizeof shipped.name);
    memcpy(scale_p->ordered_name, ordered.name, sizeof ordered.name);
    return CLAB_OK;
}

int h2_scale(const struct h2_cluster *cluster, struct h2_scale *scale_p)
{
    struct clab_net *net;
    CLAB_TRY(h2_cluster_net(cluster, &net));
    const int err = scale_on(cluster, net, scale_p);
    clab_net_free(net);
    return err;
}

// ---- the one that a student gets ---------------------------------------------------------------------------------------

static bool pays_to_think(const struct h2_scale *scale)
{
    return scale->ordered >= 1.15 * scale->reference && scale->shipped >= 1.5 * scale->reference;
}

int h2_cluster_choose(uint64_t seed, struct h2_cluster *cluster_p, struct h2_scale *scale_p)
{
    for (uint64_t attempt = 0;; attempt++) {
        h2_cluster_draw(clab_mix(seed, attempt), cluster_p);
        CLAB_TRY(h2_scale(cluster_p, scale_p));
        if (pays_to_think(scale_p))
            return CLAB_OK;
    }
}
