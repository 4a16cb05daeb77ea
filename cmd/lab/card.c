// SPDX-License-Identifier: MIT
// The machine card's numbers: of this machine's profile, of a described network, or of a wire between ranks here.
//
// - They are the numbers that the labs' models use: lab_line_of (lab.h).

#include "cmd/lab/card.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "core/base/err.h"
#include "core/base/log.h"
#include "core/job/job.h"
#include "core/transport/backend.h"
#include "cmd/lab/lab.h"

static struct card_link link_of(const struct clab_link *link)
{
    return link->present ? (struct card_link){link->alpha, link->beta} : (struct card_link){NAN, NAN};
}

static void take_net(const struct clab_net *net, struct card *card)
{
    card->inside = link_of(&net->intra);
    card->between = link_of(&net->inter);
    card->gamma = net->gamma;
    card->flops = net->compute.present ? net->compute.flops[CLAB_FP32] : NAN;
    card->cores = net->cores_per_node;
    card->line = net->probed.line > 0        ? net->probed.line
                 : isnan(card->inside.alpha) ? card->between.alpha
                                             : card->inside.alpha;
    card->copy = clab_net_fastest_copy(net);
}

// gamma: of an allreduce, which adds as well, the same line less that of an exchange.
static void take_lines(const struct clab_net *net, struct card *card)
{
    enum { SHORT = 8, LONG = 1 << 20 };
    const struct lab_line line = lab_line_of(net, &net->intra);
    const struct clab_algorithm *doubling = clab_algorithm_find(CLAB_ALLREDUCE, "doubling");
    const struct clab_problem ends[] = {lab_problem(doubling, 2, SHORT), lab_problem(doubling, 2, LONG)};
    const struct clab_sim_options calls = lab_calls(&(struct lab_context){.is_exact = false});
    const double added = lab_simulate(net, &ends[1], doubling, calls) - lab_simulate(net, &ends[0], doubling, calls);
    card->inside = (struct card_link){line.alpha, line.beta};
    card->gamma = fmax(0, added / (LONG - SHORT) - line.beta);
    card->is_doubtful = !(line.beta > 0 && !(line.beta < card->copy / 2));
}

static int take_profile(const char *backend, struct card *card)
{
    char why[CLAB_NET_WHY];
    struct clab_net *net;
    CLAB_TRY(clab_net_load_profile(backend, why, &net));
    if (!net) {
        clab_error("card: this machine is not known yet: %s", why);
        return CLAB_ENOENT;
    }
    take_net(net, card);
    card->is_measured = true;
    take_lines(net, card);
    card->cores = card->cores ? card->cores : clab_cores();
    snprintf(card->of, sizeof card->of, "this machine, backend %s (%.80s), measured %.10s", backend, net->machine,
             net->date);
    clab_net_free(net);
    return CLAB_OK;
}

static int take_named(const char *name, struct card *card)
{
    struct clab_net *net;
    const int err = clab_net_load(name, &net);
    if (err)
        return err;
    take_net(net, card);
    snprintf(card->of, sizeof card->of, "%s", net->title);
    clab_net_free(net);
    return CLAB_OK;
}

// The wire's links, and this machine's cores. While the wire carries bytes, the cores add: lab.md of lab 02.
static int take_wire(const char *name, struct card *card)
{
    CLAB_TRY(take_named(name, card));
    card->gamma = 0;
    card->flops = card->copy = NAN;
    card->cores = clab_cores();
    card->is_emulated = true;
    const size_t used = strlen(card->of);
    snprintf(card->of + used, sizeof card->of - used, "; emulated between ranks of this machine");
    return CLAB_OK;
}

int card_read(const struct card_request *r, struct card *card_p)
{
    struct card card = {0};
    CLAB_TRY(r->emulate ? take_wire(r->emulate, &card)
             : r->net && strcmp(r->net, "machine") != 0
                 ? take_named(r->net, &card)
                 : take_profile(r->backend ? r->backend : clab_backend_usual(1), &card));
    *card_p = card;
    return CLAB_OK;
}

// 0 is no limit.
static double least_of(double a, double b)
{
    const double least = fmin(a, b); // the other one where one is NAN
    return least > 0 ? least : NAN;
}

void card_limits(const struct card *card, int ranks, struct prediction_limits *limits_p)
{
    const double alpha = least_of(card->inside.alpha, card->between.alpha);
    limits_p->message = card->is_measured ? least_of(alpha, card->line) : alpha;
    limits_p->byte = least_of(card->copy, least_of(card->inside.beta, card->between.beta));
    limits_p->ranks = ranks;
}
