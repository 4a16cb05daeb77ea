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
#include "core/base/units.h"
#include "cmd/command.h"

enum { MOST_NODES = 1 << 16, MOST_GPUS = 1024, MOST_CHANNELS = 1024 };
enum {
    KEY_GPUS = 512, // above those of the commands
    KEY_NODES,
    KEY_ARCH,
    KEY_CPU,
    KEY_CHANNELS,
    KEY_INTRA_BW,
    KEY_INTER_BW,
    KEY_NET_LATENCY,
    KEY_INTRA,
    KEY_NVSWITCH,
    KEY_NVLS,
    KEY_COLLNET,
    KEY_LOG,
    KEY_VERSION
};

static const struct argp_option options[] = {
    {"nodes", KEY_NODES, "N", 0, "nodes (1)", 2},
    {"gpus", KEY_GPUS, "N", 0, "GPUs per node (8)", 2},
    {"arch", KEY_ARCH, "NAME", 0, "volta, ampere, hopper or blackwell (hopper)", 2},
    {"cpu", KEY_CPU, "NAME", 0, "intel, amd or other (intel)", 2},
    {"channels", KEY_CHANNELS, "N", 0, "channels that NCCL's search found", 2},
    {"intra-bw", KEY_INTRA_BW, "GB/s", 0, "of a channel within a node", 2},
    {"inter-bw", KEY_INTER_BW, "GB/s", 0, "of a channel between nodes", 2},
    {"net-latency", KEY_NET_LATENCY, "US", 0, "of the network, beside NCCL's own (0)", 2},
    {"intra", KEY_INTRA, "nvlink|pci", 0, "what joins the GPUs of a node (nvlink)", 2},
    {"nvswitch", KEY_NVSWITCH, NULL, 0, "an NVLink switch joins them, as CollNetDirect needs", 2},
    {"nvls", KEY_NVLS, NULL, 0, "that switch reduces", 2},
    {"collnet", KEY_COLLNET, NULL, 0, "the network reduces (SHARP)", 2},
    {"log", KEY_LOG, "FILE", 0, "take channels, bandwidths or the whole table from a log of NCCL", 2},
    {"nccl", KEY_VERSION, "VERSION", 0, "whose constants the model has (2.30.7)", 2},
    {0},
};

// ---- flags ---------------------------------------------------------------------------------------------------

int nccl_take_word(const char *flag, const char *text, const char *const words[])
{
    char known[128] = "";
    for (int i = 0; words[i]; i++) {
        if (!strcmp(text, words[i]))
            return i;
        snprintf(known + strlen(known), sizeof known - strlen(known), " %s", words[i]);
    }
    clab_error("%s: there is no '%s'; there is:%s", flag, text, known);
    exit(STATUS_USAGE);
}

static int take_int(const char *flag, const char *text, int low, int high)
{
    int value;
    if (clab_parse_int(text, low, high, &value) == CLAB_OK)
        return value;
    clab_error("%s '%s' is not a number from %d to %d", flag, text, low, high);
    exit(STATUS_USAGE);
}

static double take_number(const char *flag, const char *text, bool may_be_0, const char *unit)
{
    char *end;
    double value = strtod(text, &end);
    if (end != text && !*end && isfinite(value) && (value > 0 || (may_be_0 && value == 0)))
        return value;
    clab_error("%s '%s' is not a number of %s", flag, text, unit);
    exit(STATUS_USAGE);
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
    struct nccl_given *g = state->input;
    static const char *const archs[] = {"volta", "ampere", "hopper", "blackwell", NULL};
    static const char *const cpus[] = {"intel", "amd", "other", NULL}, *const links[] = {"nvlink", "pci", NULL};
    switch (key) {
    case KEY_NODES: g->machine.nodes = take_int("--nodes", arg, 1, MOST_NODES); return 0;
    case KEY_GPUS: g->machine.gpus = take_int("--gpus", arg, 1, MOST_GPUS); return 0;
    case KEY_ARCH: g->machine.arch = (enum clab_nccl_arch)nccl_take_word("--arch", arg, archs); return 0;
    case KEY_CPU: g->machine.cpu = (enum clab_nccl_cpu)nccl_take_word("--cpu", arg, cpus); return 0;
    case KEY_CHANNELS: g->channels = take_int("--channels", arg, 1, MOST_CHANNELS); return 0;
    case KEY_INTRA_BW: g->intra = take_number("--intra-bw", arg, false, "GB/s above 0"); return 0;
    case KEY_INTER_BW: g->inter = take_number("--inter-bw", arg, false, "GB/s above 0"); return 0;
    case KEY_NET_LATENCY: g->machine.net_latency = take_number("--net-latency", arg, true, "us"); return 0;
    case KEY_INTRA: g->pci = nccl_take_word("--intra", arg, links) == 1; return 0;
    case KEY_NVSWITCH: g->machine.nvswitch = true; return 0;
    case KEY_NVLS: g->machine.nvls = g->machine.nvswitch = true; return 0;
    case KEY_COLLNET: g->machine.collnet = true; return 0;
    case KEY_LOG: g->log_path = arg; return 0;
    case KEY_VERSION: g->version = arg; return 0;
    default: return ARGP_ERR_UNKNOWN;
    }
}

const struct argp nccl_given_argp = {.options = options, .parser = parse};

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

// Where neither flags nor a log say otherwise: adapters beside the GPUs.
static const struct clab_nccl_graph default_graph = {
    .within = CLAB_NCCL_NVL, .between = CLAB_NCCL_PXB, .same_channels = true};

// What the flags say is so for every algorithm, over what the log says.
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
        machine->channels = 0; // the log's are of other graphs
}

// All that is missing, at once.
static int check(const struct nccl_believed *b)
{
    const struct clab_nccl_graph *g = &b->machine.graphs[CLAB_NCCL_RING];
    char missing[64] = "";
    if (b->machine.nodes * b->machine.gpus < 2) {
        clab_error("--nodes 1 --gpus 1: one GPU has nobody to talk to");
        return CLAB_EINVAL;
    }
    if (b->of_log)
        return CLAB_OK;
    snprintf(missing, sizeof missing, "%s%s%s", g->channels ? "" : ", --channels N",
             g->intra > 0 ? "" : ", --intra-bw GB/s", b->machine.nodes == 1 || g->inter > 0 ? "" : ", --inter-bw GB/s");
    if (!*missing)
        return CLAB_OK;
    clab_error("still needed: %s; or --log FILE, a log of NCCL that has them", missing + 2);
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
