// SPDX-License-Identifier: MIT
// The networks flat and loggp have their figures from the command line.

#include "cmd/sim/given_net.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/command.h"
#include "core/base/err.h"
#include "core/base/log.h"
#include "sim/net/loggp.h"
#include "sim/sim.h"

#define GIVEN struct given_net
enum { SECONDS_AT_MOST = 3600 };

const struct clab_option given_net_options[] = {
    {"net", 0, "NAME|FILE", "the network: `commlab nets` lists them (machine)", CLAB_TEXT_AT(GIVEN, name)},
    CLAB_HEADING("With --net flat, or --net loggp:"),
    {"gamma", 0, "COST", "cost per reduced byte (0ns/B)", CLAB_COST(GIVEN, gamma)},
    CLAB_HEADING("With --net flat:"),
    {"alpha", 0, "TIME", "cost per message, such as 5us (0s)", CLAB_SECONDS(GIVEN, alpha, 0, SECONDS_AT_MOST)},
    {"beta", 0, "COST", "cost per byte, such as 0.1ns/B or 10GB/s (0ns/B)", CLAB_COST(GIVEN, beta)},
    CLAB_HEADING("With --net loggp:"),
    {"L", 0, "TIME", "latency from core to core (2.5us)", CLAB_SECONDS(GIVEN, latency, 0, SECONDS_AT_MOST)},
    {"o", 0, "TIME", "a core's time for a message, at each end (1.5us)",
     CLAB_SECONDS(GIVEN, overhead, 0, SECONDS_AT_MOST)},
    {"g", 0, "TIME", "least time between two messages of an adapter (1us)",
     CLAB_SECONDS(GIVEN, gap, 0, SECONDS_AT_MOST)},
    {"G", 0, "COST", "cost per byte after the first (6ns/B)", CLAB_COST(GIVEN, byte)},
    {"receiver", 0, "NAME",
     "who is busy while bytes come in: the adapter, as in LogGP, or also the core, as in LogGOPSim (adapter)",
     CLAB_NAME(GIVEN, receiver, &CLAB_NAMES([GIVEN_ADAPTER] = "adapter", [GIVEN_CORE] = "core"))},
    {0},
};

static bool is_given(double figure)
{
    return figure >= 0;
}

static bool is_named(const struct given_net *given, const char *name)
{
    return given->name && strcmp(given->name, name) == 0;
}

static void refuse(const char *figures, const struct given_net *given, const char *of)
{
    clab_error("sim: %s describe --net %s, not '%s': drop them, or --net", figures, of,
               given->name ? given->name : "flat");
    exit(STATUS_USAGE);
}

static void complete_loggp(struct given_net *given)
{
    const bool any = is_given(given->latency) || is_given(given->overhead) || is_given(given->gap) ||
                     is_given(given->byte) || given->receiver != GIVEN_NOBODY;
    const bool is_flat = is_given(given->alpha) || is_given(given->beta);
    if (any && (is_flat || (given->name && !is_named(given, "loggp"))))
        refuse("--L, --o, --g, --G and --receiver", given, "loggp");
    if (any)
        given->name = "loggp";
}

// --alpha, --beta and --gamma, and the network that they describe.
static void complete_flat(struct given_net *given)
{
    const bool any = is_given(given->alpha) || is_given(given->beta);
    const bool all = any || is_given(given->gamma);
    if ((any && given->name && !is_named(given, "flat")) ||
        (all && given->name && !is_named(given, "flat") && !is_named(given, "loggp")))
        refuse("--alpha, --beta and --gamma", given, "flat");
    given->is_flat = is_named(given, "flat") || (all && !given->name);
    if (given->is_flat && !(given->alpha > 0) && !(given->beta > 0)) {
        clab_error("sim: --net flat needs costs: say --alpha 5us --beta 0.1ns/B, or name another network by --net");
        exit(STATUS_USAGE);
    }
}

void given_net_complete(struct given_net *given)
{
    complete_loggp(given);
    complete_flat(given);
}

static void set_if_given(double *figure, double given)
{
    if (is_given(given))
        *figure = given;
}

static void set_loggp(const struct given_net *given, struct clab_net *net)
{
    struct clab_loggp loggp = clab_net_loggp(net);
    set_if_given(&loggp.latency, given->latency);
    set_if_given(&loggp.overhead, given->overhead);
    set_if_given(&loggp.gap, given->gap);
    set_if_given(&loggp.byte, given->byte);
    if (given->receiver != GIVEN_NOBODY)
        loggp.core = given->receiver == GIVEN_CORE;
    set_if_given(&net->gamma, given->gamma);
    clab_net_set_loggp(net, &loggp);
}

int given_net_load(const struct given_net *given, struct clab_net **net_p)
{
    if (given->is_flat)
        return clab_net_create_flat(fmax(given->alpha, 0), fmax(given->beta, 0), fmax(given->gamma, 0), net_p);
    CLAB_TRY(clab_net_load(given->name ? given->name : "machine", net_p));
    if (is_named(given, "loggp"))
        set_loggp(given, *net_p);
    return CLAB_OK;
}
