// SPDX-License-Identifier: MIT
// The machine of NCCL's model, from flags and a log (given.h).

#include "cmd/nccl/given.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/err.h"
#include "core/base/input.h"
#include "core/base/log.h"

enum { MOST_NODES = 1 << 16, MOST_GPUS = 1024, MOST_CHANNELS = 1024 };
// ---- flags ---------------------------------------------------------------------------------------------------

// If the switch reduces, there is a switch.
static int take_nvls(const char *flag, const char *text, void *into)
{
    struct nccl_given *g = into;
    (void)flag;
    (void)text;
    g->machine.nvls = g->machine.nvswitch = true;
    return CLAB_OK;
}

static int take_positive(const char *flag, const char *text, const char *unit, bool may_be_0, double *value_p)
{
    char *end;
    const double value = strtod(text, &end);
    if (end == text || *end || !isfinite(value) || value < 0 || (value == 0 && !may_be_0))
        return clab_refuse(flag, text, unit);
    *value_p = value;
    return CLAB_OK;
}

static int take_intra(const char *flag, const char *text, void *into)
{
    return take_positive(flag, text, "a number of GB/s above 0", false, &((struct nccl_given *)into)->intra);
}

static int take_inter(const char *flag, const char *text, void *into)
{
    return take_positive(flag, text, "a number of GB/s above 0", false, &((struct nccl_given *)into)->inter);
}

static int take_latency(const char *flag, const char *text, void *into)
{
    return take_positive(flag, text, "a number of us", true, &((struct nccl_given *)into)->machine.net_latency);
}

#define GIVEN struct nccl_given

const struct clab_option nccl_given_options[] = {
    {"nodes", 0, "N", "nodes (1)", CLAB_INT(GIVEN, machine.nodes, 1, MOST_NODES)},
    {"gpus", 0, "N", "GPUs per node (8)", CLAB_INT(GIVEN, machine.gpus, 1, MOST_GPUS)},
    {"arch", 0, "NAME", "volta, ampere, hopper or blackwell (hopper)",
     CLAB_NAME(GIVEN, machine.arch, &CLAB_NAMES("volta", "ampere", "hopper", "blackwell"))},
    {"cpu", 0, "NAME", "intel, amd or other (intel)",
     CLAB_NAME(GIVEN, machine.cpu, &CLAB_NAMES("intel", "amd", "other"))},
    {"channels", 0, "N", "channels that NCCL's search found", CLAB_INT(GIVEN, channels, 1, MOST_CHANNELS)},
    {"intra-bw", 0, "GB/s", "bandwidth per channel within a node", CLAB_CALL(take_intra)},
    {"inter-bw", 0, "GB/s", "bandwidth per channel between nodes", CLAB_CALL(take_inter)},
    {"net-latency", 0, "US", "latency of the network, added to NCCL's own (0)", CLAB_CALL(take_latency)},
    {"intra", 0, "nvlink|pci", "the link between GPUs of a node (nvlink)",
     CLAB_NAME(GIVEN, pci, &CLAB_NAMES("nvlink", "pci"))},
    {"nvswitch", 0, NULL, "an NVLink switch joins the GPUs, as CollNetDirect needs", CLAB_ON(GIVEN, machine.nvswitch)},
    {"nvls", 0, NULL, "the NVLink switch reduces", CLAB_CALL(take_nvls)},
    {"collnet", 0, NULL, "the network reduces (SHARP)", CLAB_ON(GIVEN, machine.collnet)},
    {"log", 0, "FILE", "take channels, bandwidths or the whole table from a log of NCCL",
     CLAB_TEXT_AT(GIVEN, log_path)},
    {"nccl", 0, "VERSION", "use this version's constants (2.30.7)", CLAB_TEXT_AT(GIVEN, version)},
    {0},
};

const struct nccl_given nccl_given_default = {
    .machine = {.arch = CLAB_NCCL_HOPPER, .cpu = CLAB_NCCL_INTEL, .nodes = 1, .gpus = 8},
};

// ---- the machine ---------------------------------------------------------------------------------------------

static int find_tables(const struct nccl_given *g, const struct clab_nccl_tables **tables_p)
{
    char known[128] = "";
    if ((*tables_p = clab_nccl_tables_find(g->version)))
        return CLAB_OK;
    for (int i = 0; clab_nccl_versions[i]; i++)
        snprintf(known + strlen(known), sizeof known - strlen(known), " %s", clab_nccl_versions[i]->version);
    clab_error("--nccl: there are no constants of '%s'; there are those of:%s", g->version, known);
    return CLAB_ENOENT;
}

static int take_log(const struct nccl_given *g, enum clab_collective collective, struct nccl_believed *b)
{
    struct clab_nccl_log log;
    struct clab_input input;
    CLAB_TRY(clab_input_open(g->log_path, CLAB_INPUT_LOG, &input));
    int err = clab_nccl_log_read(input.text, collective, &log);
    clab_input_close(&input);
    if (err == CLAB_ENOENT)
        clab_error("--log: '%s' has neither graphs nor a tuning table; run with NCCL_DEBUG=INFO and "
                   "NCCL_DEBUG_SUBSYS=TUNING,GRAPH",
                   g->log_path);
    CLAB_TRY(err);
    for (int a = 0; a < CLAB_NCCL_ALGORITHMS; a++)
        if (log.has_graph[a])
            b->machine.graphs[a] = log.graphs[a];
    b->machine.nvswitch = b->machine.nvswitch || log.nvswitch;
    b->machine.channels = log.channels;
    b->costs = log.costs;
    b->of_log = log.has_costs;
    return CLAB_OK;
}

// Unless flags or a log say otherwise, the network adapters are beside the GPUs.
static const struct clab_nccl_graph default_graph = {
    .within = CLAB_NCCL_NVL, .between = CLAB_NCCL_PXB, .same_channels = true};

// Flags hold for every algorithm, and go before the log.
static void apply_flags(const struct nccl_given *given, struct clab_nccl_machine *machine)
{
    for (int a = 0; a < CLAB_NCCL_ALGORITHMS; a++) {
        struct clab_nccl_graph *g = &machine->graphs[a];
        g->channels = given->channels ? given->channels : g->channels;
        g->intra = given->intra > 0 ? given->intra : g->intra;
        g->inter = given->inter > 0 ? given->inter : g->inter;
        if (given->pci)
            g->within = CLAB_NCCL_PHB;
    }
    if (given->channels)
        machine->channels = 0; // the log's channels belong to other graphs
}

// One line names all missing flags.
static int check(const struct nccl_believed *b)
{
    const struct clab_nccl_graph *g = &b->machine.graphs[CLAB_NCCL_RING];
    char missing[64] = "";
    if (b->machine.nodes * b->machine.gpus < 2) {
        clab_error("--nodes 1 --gpus 1: a collective needs at least two GPUs");
        return CLAB_EINVAL;
    }
    if (b->of_log)
        return CLAB_OK;
    snprintf(missing, sizeof missing, "%s%s%s", g->channels ? "" : ", --channels N",
             g->intra > 0 ? "" : ", --intra-bw GB/s", b->machine.nodes == 1 || g->inter > 0 ? "" : ", --inter-bw GB/s");
    if (!*missing)
        return CLAB_OK;
    clab_error("still needed: %s; or --log FILE, a log of NCCL with these values", missing + 2);
    return CLAB_EINVAL;
}

int nccl_given_costs(const struct nccl_given *given, enum clab_collective collective, struct nccl_believed *believed_p)
{
    struct nccl_believed b = {.machine = given->machine};
    CLAB_TRY(find_tables(given, &b.tables));
    for (int a = 0; a < CLAB_NCCL_ALGORITHMS; a++)
        b.machine.graphs[a] = default_graph;
    if (given->log_path)
        CLAB_TRY(take_log(given, collective, &b));
    apply_flags(given, &b.machine);
    CLAB_TRY(check(&b));
    if (!b.of_log)
        CLAB_TRY(clab_nccl_model(b.tables, &b.machine, collective, &b.costs));
    *believed_p = b;
    return CLAB_OK;
}
