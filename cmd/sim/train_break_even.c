// SPDX-License-Identifier: MIT
// Below which bandwidth of a network's links compression makes a step shorter: found by asking for steps with and without
// it on the same network, with faster and slower links.
//
// - The links are those between nodes if ranks are on several nodes, else those within a node. What a message costs
//   apart from its bytes, and all that is computed, stay as they are.
// - The answer is the highest bandwidth at which a step with compression is shorter, as long as it is at all lower ones.

#include "cmd/sim/train.h"

#include <math.h>

#include "core/base/err.h"
#include "core/base/units.h"

enum { HALVINGS = 24 };
static const double slowest = 1e5, fastest = 1e13; // B/s

static void scale_links(struct clab_net *net, bool is_between, double factor)
{
    if (!is_between) {
        clab_link_scale(&net->intra, factor);
        clab_link_scale(&net->pair, factor);
        return;
    }
    clab_link_scale(&net->inter, factor);
    for (int t = 0; t < net->ntiers; t++)
        clab_link_scale(&net->tiers[t], factor);
}

static int step_of(const struct train_request *r, const struct train_row *row, const struct train_coding *coding,
                   double *seconds_p)
{
    struct train_row asked = {.nranks = row->nranks, .cap = row->cap, .overlap = row->overlap, .coding = coding};
    const int err = train_answer(r, &asked);
    *seconds_p = err ? NAN : asked.result.median;
    clab_train_plan_free(&asked.plan);
    clab_train_free(&asked.result);
    return err;
}

// With these links at `bandwidth` B/s. The network is as before afterwards.
static int pays_at(const struct train_request *r, const struct train_row *row, double bandwidth, bool *pays_p)
{
    static const struct train_coding whole = {.codec = CLAB_TRAIN_WHOLE, .name = "none"};
    const bool is_between = row->nranks > r->net->ranks_per_node;
    const struct clab_net as_it_is = *r->net;
    const double own = is_between ? r->net->inter.beta : r->net->intra.beta;
    double without, with;
    scale_links(r->net, is_between, 1 / (bandwidth * own));
    int err = step_of(r, row, &whole, &without);
    if (!err)
        err = step_of(r, row, row->coding, &with);
    *r->net = as_it_is;
    if (!err)
        *pays_p = with < without * (1 - 1e-9); // else both are hidden, or nothing is won
    return err;
}

static int find(const struct train_request *r, const struct train_row *row, double *bandwidth_p)
{
    double low = slowest, high = fastest;
    bool pays;
    CLAB_TRY(pays_at(r, row, low, &pays));
    if (!pays) {
        *bandwidth_p = 0;
        return CLAB_OK;
    }
    CLAB_TRY(pays_at(r, row, high, &pays));
    for (int i = 0; !pays && i < HALVINGS; i++) {
        bool there;
        const double middle = sqrt(low * high);
        CLAB_TRY(pays_at(r, row, middle, &there));
        low = there ? middle : low;
        high = there ? high : middle;
    }
    *bandwidth_p = pays ? INFINITY : low;
    return CLAB_OK;
}

int train_break_even(const struct train_request *r, const struct train_rows *rows)
{
    for (const struct train_row *row = rows->rows; row < rows->rows + rows->n; row++) {
        const bool is_between = row->nranks > r->net->ranks_per_node;
        char rate[CLAB_TEXT], own[CLAB_TEXT];
        double bandwidth;
        if (row->coding->codec == CLAB_TRAIN_WHOLE || row->nranks == 1)
            continue;
        CLAB_TRY(find(r, row, &bandwidth));
        printf("break-even: %d ranks, buckets of %s, overlap %s: %s ", row->nranks, clab_size_text(row->cap, own),
               clab_train_overlap_name(row->overlap), row->coding->name);
        clab_rate_text(1 / (is_between ? r->net->inter.beta : r->net->intra.beta), own);
        if (bandwidth > 0 && isfinite(bandwidth))
            printf("pays if links %s nodes carry less than %s", is_between ? "between" : "within",
                   clab_rate_text(bandwidth, rate));
        else
            printf(bandwidth > 0 ? "pays at any bandwidth" : "pays at no bandwidth");
        printf("; these carry %s\n", own);
    }
    return CLAB_OK;
}
