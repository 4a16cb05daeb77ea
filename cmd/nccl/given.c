// SPDX-License-Identifier: MIT
// The machine of NCCL's model, from flags and a log (given.h).

#include "cmd/nccl/given.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/explain/nccl.h"
#include "core/base/err.h"
#include "core/base/files/input.h"
#include "core/base/log.h"
#include "core/base/units.h"

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

// A number alone is of GB/s, as NCCL's log has it; "400Gb/s" is 50.
static int take_bandwidth(const char *flag, const char *text, double *value_p)
{
    double cost;
    if (clab_parse_seconds_per_byte(text, &cost) == CLAB_OK && cost > 0) {
        *value_p = 1e-9 / cost;
        return CLAB_OK;
    }
    return take_positive(flag, text, "a bandwidth above 0: a number of GB/s, or one with its unit, such as 400Gb/s",
                         false, value_p);
}

static int take_intra(const char *flag, const char *text, void *into)
{
    return take_bandwidth(flag, text, &((struct nccl_given *)into)->intra);
}

static int take_inter(const char *flag, const char *text, void *into)
{
    return take_bandwidth(flag, text, &((struct nccl_given *)into)->inter);
}

static int take_latency(const char *flag, const char *text, void *into)
{
    return take_positive(flag, text, "a number of us", true, &((struct nccl_given *)into)->machine.net_latency);
}

static int take_arch(const char *flag, const char *text, void *into)
{
    struct nccl_given *g = into;
    const int i = clab_names_find(&CLAB_NAMES("volta", "ampere", "hopper", "blackwell"), flag, text, strlen(text));
    g->machine.arch = (enum clab_nccl_arch)(i < 0 ? 0 : i);
    g->has_arch = true;
    return i < 0 ? CLAB_EINVAL : CLAB_OK;
}

static int take_cpu(const char *flag, const char *text, void *into)
{
    struct nccl_given *g = into;
    const int i = clab_names_find(&CLAB_NAMES("intel", "amd", "other"), flag, text, strlen(text));
    g->machine.cpu = (enum clab_nccl_cpu)(i < 0 ? 0 : i);
    g->has_cpu = true;
    return i < 0 ? CLAB_EINVAL : CLAB_OK;
}

#define GIVEN struct nccl_given

const struct clab_option nccl_given_options[] = {
    {"nodes", 0, "N", "nodes (the log's, or 1)", CLAB_INT(GIVEN, machine.nodes, 1, MOST_NODES)},
    {"gpus", 0, "N", "GPUs per node (the log's, or 8)", CLAB_INT(GIVEN, machine.gpus, 1, MOST_GPUS)},
    {"arch", 0, "NAME", "volta, ampere, hopper or blackwell (the log's, or hopper)", CLAB_CALL(take_arch)},
    {"cpu", 0, "NAME", "intel, amd or other (the log's, or intel)", CLAB_CALL(take_cpu)},
    {"channels", 0, "N", "channels that NCCL's search found", CLAB_INT(GIVEN, channels, 1, MOST_CHANNELS)},
    {"intra-bw", 0, "GB/s", "bandwidth per channel within a node", CLAB_CALL(take_intra)},
    {"inter-bw", 0, "GB/s", "bandwidth per channel between nodes", CLAB_CALL(take_inter)},
    {"net-latency", 0, "US", "latency of the network, added to NCCL's own (0)", CLAB_CALL(take_latency)},
    {"intra", 0, "nvlink|pci", "the link between GPUs of a node (nvlink)",
     CLAB_NAME(GIVEN, pci, &CLAB_NAMES("nvlink", "pci"))},
    {"nvswitch", 0, NULL, "an NVLink switch joins the GPUs, as CollNetDirect needs", CLAB_ON(GIVEN, machine.nvswitch)},
    {"nvls", 0, NULL, "the NVLink switch reduces", CLAB_CALL(take_nvls)},
    {"collnet", 0, NULL, "the network reduces (SHARP)", CLAB_ON(GIVEN, machine.collnet)},
    {"log", 0, "FILE", "take version, ranks, channels, bandwidths or the whole table from a log of NCCL",
     CLAB_TEXT_AT(GIVEN, log_path)},
    {"nccl", 0, "VERSION", "use this version's constants (the log's, or 2.30.7)", CLAB_TEXT_AT(GIVEN, version)},
    {0},
};

const struct nccl_given nccl_given_default = {
    .machine = {.arch = CLAB_NCCL_HOPPER, .cpu = CLAB_NCCL_INTEL},
};

int nccl_given_nodes(const struct nccl_given *given)
{
    return given->machine.nodes ? given->machine.nodes : 1;
}

int nccl_given_gpus(const struct nccl_given *given)
{
    return given->machine.gpus ? given->machine.gpus : 8;
}

// ---- the machine ---------------------------------------------------------------------------------------------

static int compare_versions(const char *a, const char *b)
{
    int x[3] = {0}, y[3] = {0};
    sscanf(a, "%d.%d.%d", &x[0], &x[1], &x[2]);
    sscanf(b, "%d.%d.%d", &y[0], &y[1], &y[2]);
    for (int i = 0; i < 3; i++)
        if (x[i] != y[i])
            return x[i] < y[i] ? -1 : 1;
    return 0;
}

// The constants of the newest version that is no newer than `version`, or else the oldest.
static const struct clab_nccl_tables *nearest_tables(const char *version)
{
    int i = 0;
    while (clab_nccl_versions[i + 1] && compare_versions(clab_nccl_versions[i]->version, version) > 0)
        i++;
    return clab_nccl_versions[i];
}

static int find_tables(const struct nccl_given *g, const struct nccl_said *said,
                       const struct clab_nccl_tables **tables_p)
{
    char known[128] = "";
    *tables_p = !g->version && *said->version ? nearest_tables(said->version) : clab_nccl_tables_find(g->version);
    if (*tables_p)
        return CLAB_OK;
    for (int i = 0; clab_nccl_versions[i]; i++)
        snprintf(known + strlen(known), sizeof known - strlen(known), " %s", clab_nccl_versions[i]->version);
    clab_error("--nccl: there are no constants of '%s'; there are those of:%s", g->version, known);
    return CLAB_ENOENT;
}

// Names of GPUs that nccl-tests prints above its table, or the least compute capability that NCCL 2.4 prints.
static bool find_arch(const char *text, enum clab_nccl_arch *arch_p)
{
    static const struct {
        const char *name;
        enum clab_nccl_arch arch;
    } names[] = {
        {"V100", CLAB_NCCL_VOLTA},     {"Min Comp Cap 7", CLAB_NCCL_VOLTA}, {"A100", CLAB_NCCL_AMPERE},
        {"A800", CLAB_NCCL_AMPERE},    {"H100", CLAB_NCCL_HOPPER},          {"H200", CLAB_NCCL_HOPPER},
        {"H800", CLAB_NCCL_HOPPER},    {"H20", CLAB_NCCL_HOPPER},           {"B200", CLAB_NCCL_BLACKWELL},
        {"B300", CLAB_NCCL_BLACKWELL},
    };
    for (const char *line = text; *line; line += strcspn(line, "\n"), line += *line == '\n')
        for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
            const char *at = strstr(line, names[i].name), *end = line + strcspn(line, "\n");
            const char *device = strstr(line, " device "), *capability = strstr(line, "Min Comp Cap");
            if (at && at < end && ((device && device < at) || capability == at)) {
                *arch_p = names[i].arch;
                return true;
            }
        }
    return false;
}

// "# nccl-tests version 2.17.6 nccl-headers=22807 nccl-library=22807"; until 2.8 it was 2708.
static void take_tests_version(const char *line, struct nccl_said *said)
{
    const char *at = strstr(line, " nccl-library=");
    int code;
    if (!at || *said->version || sscanf(at, " nccl-library=%d", &code) != 1 || code < 2000)
        return;
    const int major = code < 10000 ? 1000 : 10000;
    snprintf(said->version, sizeof said->version, "%d.%d.%d", code / major, code % major / 100, code % 100);
}

// A ring goes through all ranks: "0 1 2 3".
static int count_ring(const struct nccl_log *words)
{
    int n = 0;
    const char *order = words->nrings ? words->rings[0].order : "";
    if (strlen(order) + 8 > sizeof words->rings[0].order)
        return 0; // perhaps cut
    for (const char *at = order; *at; at += *at == ' ') {
        n++;
        at += strcspn(at, " ");
    }
    return n;
}

static int count_nodes(const struct nccl_log *words)
{
    const bool all_speak = words->ranks && words->began == words->ranks && !words->hosts.more;
    return words->nodes ? words->nodes : all_speak ? words->hosts.n : 0;
}

// Where all ranks of the communicator speak, the hosts are the nodes; else only NCCL's own count is known.
static void take_said(const char *text, struct nccl_said *said)
{
    struct nccl_log *words = nccl_log_new();
    long number = 0;
    for (const char *line = text; words && *line; line += strcspn(line, "\n"), line += *line == '\n') {
        char copy[2048];
        snprintf(copy, sizeof copy, "%.*s", (int)strcspn(line, "\n"), line);
        (void)nccl_log_take(words, copy, ++number);
        take_tests_version(copy, said);
    }
    if (!words)
        return;
    said->is_nccls = words->lines > 0;
    said->ranks = words->ranks ? words->ranks : count_ring(words);
    said->nodes = count_nodes(words);
    if (words->versions.n)
        snprintf(said->version, sizeof said->version, "%.*s", (int)strspn(words->versions.text[0], "0123456789."),
                 words->versions.text[0]);
    free(words);
}

static void take_machine(const struct nccl_given *g, const struct clab_nccl_log *log, struct nccl_believed *b)
{
    for (int a = 0; a < CLAB_NCCL_ALGORITHMS; a++)
        if (log->has_graph[a])
            b->machine.graphs[a] = log->graphs[a];
    b->machine.nvswitch = b->machine.nvswitch || log->nvswitch;
    b->machine.channels = log->channels;
    b->costs = log->costs;
    b->of_log = log->has_costs;
    if (log->has_cpu && !g->has_cpu)
        b->machine.cpu = log->cpu;
    b->said.has_cpu = log->has_cpu;
    b->said.has_graphs = log->has_graphs;
    b->said.has_costs = log->has_costs;
    memcpy(b->said.choices, log->choices, sizeof log->choices);
    b->said.nchoices = log->nchoices;
    b->said.more_choices = log->more_choices;
}

static int take_log(const struct nccl_given *g, enum clab_collective collective, struct nccl_believed *b)
{
    struct clab_nccl_log log = {0};
    struct clab_input input;
    enum clab_nccl_arch arch = CLAB_NCCL_HOPPER;
    CLAB_TRY(clab_input_open(g->log_path, CLAB_INPUT_LOG, &input));
    int err = clab_nccl_log_read(input.text, g->log_path, collective, &log);
    take_said(input.text, &b->said);
    b->said.has_arch = find_arch(input.text, &arch);
    clab_input_close(&input);
    if (err == CLAB_ENOENT && b->said.is_nccls)
        err = CLAB_OK; // what it says is printed, and flags may say the rest
    if (err == CLAB_ENOENT)
        clab_error(
            "--log: '%s' has nothing of NCCL's; run with NCCL_DEBUG=INFO and NCCL_DEBUG_SUBSYS=INIT,TUNING,GRAPH",
            g->log_path);
    CLAB_TRY(err);
    if (b->said.has_arch && !g->has_arch)
        b->machine.arch = arch;
    take_machine(g, &log, b);
    return CLAB_OK;
}

// Nodes and GPUs: by flags, else by the log, else one node of eight.
static void settle(const struct nccl_given *g, struct nccl_believed *b)
{
    const struct nccl_said *said = &b->said;
    b->has_nodes = g->machine.nodes || said->nodes;
    b->machine.nodes = g->machine.nodes ? g->machine.nodes : said->nodes ? said->nodes : 1;
    const int each = said->ranks % b->machine.nodes ? 0 : said->ranks / b->machine.nodes;
    b->has_gpus = g->machine.gpus || each;
    b->machine.gpus = g->machine.gpus ? g->machine.gpus : each ? each : 8;
    b->has_arch = g->has_arch || said->has_arch;
    b->has_cpu = g->has_cpu || said->has_cpu;
    b->has_version = g->version || *said->version;
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
    clab_error(
        b->said.is_nccls
            ? "the log has neither graphs nor a table of these costs: still needed: %s; or run with NCCL_DEBUG=INFO and "
              "NCCL_DEBUG_SUBSYS=INIT,TUNING,GRAPH"
            : "still needed: %s; or --log FILE, a log of NCCL with these values",
        missing + 2);
    return CLAB_EINVAL;
}

int nccl_given_costs(const struct nccl_given *given, enum clab_collective collective, struct nccl_believed *believed_p)
{
    struct nccl_believed b = {.machine = given->machine};
    for (int a = 0; a < CLAB_NCCL_ALGORITHMS; a++)
        b.machine.graphs[a] = default_graph;
    if (given->log_path)
        CLAB_TRY(take_log(given, collective, &b));
    CLAB_TRY(find_tables(given, &b.said, &b.tables));
    settle(given, &b);
    *believed_p = b; // what the log says, also where it is too little
    apply_flags(given, &b.machine);
    CLAB_TRY(check(&b));
    if (!b.of_log)
        CLAB_TRY(clab_nccl_model(b.tables, &b.machine, collective, &b.costs));
    b.has_costs = true;
    *believed_p = b;
    return CLAB_OK;
}
