// SPDX-License-Identifier: MIT
// commlab nccl: what NCCL's tuner believes of every algorithm and protocol, and which it takes.
// - The machine is given by flags, or taken from a log that NCCL wrote; flags that are given win over the log's graphs.

#include "command.h"

#include <argp.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/json.h"
#include "base/log.h"
#include "base/output.h"
#include "base/table.h"
#include "base/units.h"
#include "nccl.h"

enum { MOST_NODES = 1 << 16, MOST_GPUS = 1024, MOST_CHANNELS = 1024, LOG_BYTES = 64 << 20, MOST_LOG2 = 34 };
enum {
    KEY_COLLECTIVE = 256,
    KEY_GPUS,
    KEY_NODES,
    KEY_ARCH,
    KEY_CPU,
    KEY_CHANNELS,
    KEY_INTRA_BW,
    KEY_INTER_BW,
    KEY_NET_LATENCY,
    KEY_INTRA,
    KEY_NVLS,
    KEY_COLLNET,
    KEY_LOG,
    KEY_VERSION,
    KEY_CSV,
    KEY_JSON
};

static const struct argp_option argp_options[] = {
    {"collective", KEY_COLLECTIVE, "NAME", 0, "allreduce, broadcast, reduce, allgather or reduce_scatter (allreduce)",
     1},
    {"bytes", 'b', "SIZE", 0, "of the whole buffer (1M)", 1},
    {"nodes", KEY_NODES, "N", 0, "nodes (1)", 1},
    {"gpus", KEY_GPUS, "N", 0, "GPUs a node (8)", 1},
    {NULL, 0, NULL, 0, "The machine:", 2},
    {"arch", KEY_ARCH, "NAME", 0, "volta, ampere, hopper or blackwell (hopper)", 2},
    {"cpu", KEY_CPU, "NAME", 0, "intel, amd or other (intel)", 2},
    {"channels", KEY_CHANNELS, "N", 0, "channels that NCCL's search found", 2},
    {"intra-bw", KEY_INTRA_BW, "GB/s", 0, "of a channel within a node", 2},
    {"inter-bw", KEY_INTER_BW, "GB/s", 0, "of a channel between nodes", 2},
    {"net-latency", KEY_NET_LATENCY, "US", 0, "of the network, beside NCCL's own (0)", 2},
    {"intra", KEY_INTRA, "nvlink|pci", 0, "what joins the GPUs of a node (nvlink)", 2},
    {"nvls", KEY_NVLS, NULL, 0, "the NVLink switch reduces", 2},
    {"collnet", KEY_COLLNET, NULL, 0, "the network reduces (SHARP)", 2},
    {"log", KEY_LOG, "FILE", 0, "take channels, bandwidths or the whole table from a log of NCCL", 2},
    {NULL, 0, NULL, 0, "How:", 3},
    {"nccl", KEY_VERSION, "VERSION", 0, "whose constants (2.30.7)", 3},
    {"csv", KEY_CSV, "FILE", 0,
     "write the choice for every power of two from 1 byte to 16 GiB, for NCCL's tuner plugin", 3},
    {"json", KEY_JSON, NULL, 0, "print JSON", 3},
    {0},
};

static const char doc[] =
    "Show what NCCL's own model says of every algorithm and protocol, and which it takes.\v"
    "It ranks algorithms for NCCL's tuner; it is no prediction of a time: `commlab sim` gives those. Channels and the "
    "bandwidth of a channel are what NCCL's search found: give them, or a log made with NCCL_DEBUG=INFO "
    "NCCL_DEBUG_SUBSYS=TUNING,GRAPH.";

struct request {
    enum clab_collective collective;
    size_t bytes;
    int channels; // 0: not given; so are the bandwidths
    double intra, inter;
    bool pci, json;
    const char *log_path, *version, *csv;
    const struct clab_nccl_tables *tables;
    struct clab_nccl_machine machine;
    struct clab_nccl_costs costs;
    bool costs_of_log;
};

// ---- the command line ----------------------------------------------------------------------------------------

static int find_word(const char *flag, const char *text, const char *const words[])
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

static enum clab_collective take_collective(const char *text)
{
    static const char *const words[] = {"allreduce", "broadcast", "reduce", "allgather", "reduce_scatter", NULL};
    static const enum clab_collective numbers[] = {CLAB_ALLREDUCE, CLAB_BROADCAST, CLAB_REDUCE, CLAB_ALLGATHER,
                                                   CLAB_REDUCE_SCATTER};
    return numbers[find_word("--collective", text, words)];
}

static error_t parse_machine(int key, const char *arg, struct request *r)
{
    static const char *const archs[] = {"volta", "ampere", "hopper", "blackwell", NULL};
    static const char *const cpus[] = {"intel", "amd", "other", NULL}, *const links[] = {"nvlink", "pci", NULL};
    switch (key) {
    case KEY_NODES: r->machine.nodes = take_int("--nodes", arg, 1, MOST_NODES); return 0;
    case KEY_GPUS: r->machine.gpus = take_int("--gpus", arg, 1, MOST_GPUS); return 0;
    case KEY_ARCH: r->machine.arch = (enum clab_nccl_arch)find_word("--arch", arg, archs); return 0;
    case KEY_CPU: r->machine.cpu = (enum clab_nccl_cpu)find_word("--cpu", arg, cpus); return 0;
    case KEY_CHANNELS: r->channels = take_int("--channels", arg, 1, MOST_CHANNELS); return 0;
    case KEY_INTRA_BW: r->intra = take_number("--intra-bw", arg, false, "GB/s above 0"); return 0;
    case KEY_INTER_BW: r->inter = take_number("--inter-bw", arg, false, "GB/s above 0"); return 0;
    case KEY_NET_LATENCY: r->machine.net_latency = take_number("--net-latency", arg, true, "us"); return 0;
    case KEY_INTRA: r->pci = find_word("--intra", arg, links) == 1; return 0;
    case KEY_NVLS: r->machine.nvls = true; return 0;
    case KEY_COLLNET: r->machine.collnet = true; return 0;
    default: return ARGP_ERR_UNKNOWN;
    }
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
    struct request *r = state->input;
    switch (key) {
    case KEY_COLLECTIVE: r->collective = take_collective(arg); return 0;
    case 'b':
        if (clab_parse_size(arg, &r->bytes) == CLAB_OK && r->bytes)
            return 0;
        clab_error("--bytes '%s' is not a size above 0, such as 8, 64K, 1M", arg);
        exit(STATUS_USAGE);
    case KEY_LOG: r->log_path = arg; return 0;
    case KEY_VERSION: r->version = arg; return 0;
    case KEY_CSV: r->csv = arg; return 0;
    case KEY_JSON: r->json = true; return 0;
    default: return parse_machine(key, arg, r);
    }
}

// ---- the machine ---------------------------------------------------------------------------------------------

static int find_tables(struct request *r)
{
    char known[128] = "";
    if ((r->tables = clab_nccl_tables_find(r->version)))
        return CLAB_OK;
    for (int i = 0; clab_nccl_versions[i]; i++)
        snprintf(known + strlen(known), sizeof known - strlen(known), " %s", clab_nccl_versions[i]->version);
    clab_error("--nccl: there are no constants of '%s'; there are those of:%s", r->version, known);
    return CLAB_ENOENT;
}

static int read_text(const char *path, char **text_p)
{
    FILE *file = fopen(path, "r");
    char *text = file ? malloc(LOG_BYTES + 1) : NULL;
    size_t bytes = text ? fread(text, 1, LOG_BYTES, file) : 0;
    bool failed = !text || ferror(file);
    if (failed)
        clab_error("--log: '%s' can not be read: %m", path);
    if (file)
        fclose(file);
    if (failed) {
        free(text);
        return CLAB_ENOENT;
    }
    text[bytes] = '\0';
    *text_p = text;
    return CLAB_OK;
}

static int take_log(struct request *r)
{
    struct clab_nccl_log log;
    char *text;
    CLAB_TRY(read_text(r->log_path, &text));
    int err = clab_nccl_log_read(text, r->collective, &log);
    free(text);
    if (err == CLAB_ENOENT)
        clab_error("--log: '%s' has neither graphs nor a tuning table; run with NCCL_DEBUG=INFO and "
                   "NCCL_DEBUG_SUBSYS=TUNING,GRAPH",
                   r->log_path);
    CLAB_TRY(err);
    for (int a = 0; a < CLAB_NCCL_ALGORITHMS; a++)
        if (log.has_graph[a])
            r->machine.graphs[a] = log.graphs[a];
    r->costs = log.costs;
    r->costs_of_log = log.has_costs;
    return CLAB_OK;
}

// What the flags say is so for every algorithm, over what the log says.
static void apply_flags(struct request *r)
{
    for (int a = 0; a < CLAB_NCCL_ALGORITHMS; a++) {
        struct clab_nccl_graph *g = &r->machine.graphs[a];
        g->channels = r->channels ? r->channels : g->channels;
        g->intra = r->intra > 0 ? r->intra : g->intra;
        g->inter = r->inter > 0 ? r->inter : g->inter;
        if (r->pci)
            g->nvlink = false;
    }
}

// All that is missing, at once.
static int check(const struct request *r)
{
    const struct clab_nccl_graph *g = &r->machine.graphs[CLAB_NCCL_RING];
    char missing[64] = "";
    if (r->machine.nodes * r->machine.gpus < 2) {
        clab_error("--nodes 1 --gpus 1: one GPU has nobody to talk to");
        return CLAB_EINVAL;
    }
    if (r->costs_of_log)
        return CLAB_OK;
    snprintf(missing, sizeof missing, "%s%s%s", g->channels ? "" : ", --channels N",
             g->intra > 0 ? "" : ", --intra-bw GB/s", r->machine.nodes == 1 || g->inter > 0 ? "" : ", --inter-bw GB/s");
    if (!*missing)
        return CLAB_OK;
    clab_error("still needed: %s; or --log FILE, a log of NCCL that has them", missing + 2);
    return CLAB_EINVAL;
}

static int complete(struct request *r)
{
    CLAB_TRY(find_tables(r));
    for (int a = 0; a < CLAB_NCCL_ALGORITHMS; a++)
        r->machine.graphs[a] = (struct clab_nccl_graph){.nvlink = true, .same_channels = true};
    if (r->log_path)
        CLAB_TRY(take_log(r));
    apply_flags(r);
    CLAB_TRY(check(r));
    return r->costs_of_log ? CLAB_OK : clab_nccl_model(r->tables, &r->machine, r->collective, &r->costs);
}

// ---- the answer ----------------------------------------------------------------------------------------------

static const struct clab_column columns[] = {
    {"algorithm", NULL, NULL, CLAB_KIND_TEXT, -14, 0, NULL},
    {"protocol", NULL, NULL, CLAB_KIND_TEXT, -8, 0, NULL},
    {"latency_us", "latency", "us", CLAB_KIND_REAL, 9, 1, NULL},
    {"bandwidth_GBps", "bandwidth", "GB/s", CLAB_KIND_REAL, 9, 1, NULL},
    {"time_us", "time", "us", CLAB_KIND_REAL, 11, 1, NULL},
    {"choice", NULL, NULL, CLAB_KIND_TEXT, -34, 0, NULL},
};

struct choice {
    enum clab_nccl_algorithm algorithm;
    enum clab_nccl_protocol protocol;
};

static double time_of(const struct request *r, int a, int p)
{
    return clab_nccl_time(r->tables, &r->machine, r->collective, &r->costs, (enum clab_nccl_algorithm)a,
                          (enum clab_nccl_protocol)p, r->bytes);
}

static int add_row(struct clab_table *table, const struct request *r, struct choice choice, int a, int p)
{
    const struct clab_nccl_cost *cost = &r->costs.of[a][p];
    bool available = cost->bandwidth > 0, chosen = (int)choice.algorithm == a && (int)choice.protocol == p;
    const struct clab_cell row[] = {
        clab_cell_text(clab_nccl_algorithm_name((enum clab_nccl_algorithm)a)),
        clab_cell_text(clab_nccl_protocol_name((enum clab_nccl_protocol)p)),
        available ? clab_cell_real(cost->latency) : clab_cell_none(),
        available ? clab_cell_real(cost->bandwidth) : clab_cell_none(),
        available ? clab_cell_real(time_of(r, a, p)) : clab_cell_none(),
        clab_cell_text(available ? (chosen ? "<- NCCL's choice" : "") : cost->why),
    };
    return clab_table_add_row(table, row);
}

static void print_question(const struct request *r)
{
    static const char *const archs[] = {"Volta", "Ampere", "Hopper", "Blackwell"};
    static const char *const cpus[] = {"Intel", "AMD", "other"};
    const struct clab_nccl_graph *g = &r->machine.graphs[CLAB_NCCL_RING];
    char size[CLAB_TEXT];
    printf("# NCCL %s's own model: %s of %s on %d node%s of %d %s GPU%s, %s CPUs\n", r->tables->version,
           clab_collective_name(r->collective), clab_size_text(r->bytes, size), r->machine.nodes,
           r->machine.nodes == 1 ? "" : "s", r->machine.gpus, archs[r->machine.arch], r->machine.gpus == 1 ? "" : "s",
           cpus[r->machine.cpu]);
    if (r->costs_of_log)
        printf("# latencies and bandwidths as NCCL wrote them to %s\n", r->log_path);
    else
        printf("# ring: %d channels of %g GB/s within a node, %g GB/s between nodes, by %s\n", g->channels, g->intra,
               g->inter, g->nvlink ? "NVLink" : "PCI");
    printf("# it ranks algorithms for the tuner; it is no prediction of a time\n");
}

static int print_table(const struct request *r, struct choice choice)
{
    struct clab_table table;
    int err = CLAB_OK;
    clab_table_init(&table, columns, sizeof columns / sizeof *columns);
    for (int a = 0; a < CLAB_NCCL_ALGORITHMS; a++)
        for (int p = 0; p < CLAB_NCCL_PROTOCOLS && !err; p++)
            err = add_row(&table, r, choice, a, p);
    if (!err) {
        print_question(r);
        clab_table_print(&table, stdout);
        printf("choice: %s %s, %.1f us\n", clab_nccl_algorithm_name(choice.algorithm),
               clab_nccl_protocol_name(choice.protocol), time_of(r, (int)choice.algorithm, (int)choice.protocol));
    }
    clab_table_free(&table);
    return err;
}

static void fill_json(struct clab_json *json, const struct request *r, struct choice choice)
{
    clab_json_add(json, "nccl", clab_cell_text(r->tables->version));
    clab_json_add(json, "collective", clab_cell_text(clab_collective_name(r->collective)));
    clab_json_add(json, "bytes", clab_cell_integer((long long)r->bytes));
    clab_json_add(json, "nodes", clab_cell_integer(r->machine.nodes));
    clab_json_add(json, "gpus", clab_cell_integer(r->machine.gpus));
    struct clab_json *chosen = clab_json_add_object(json, "choice");
    clab_json_add(chosen, "algorithm", clab_cell_text(clab_nccl_algorithm_name(choice.algorithm)));
    clab_json_add(chosen, "protocol", clab_cell_text(clab_nccl_protocol_name(choice.protocol)));
    clab_json_add(chosen, "time_us", clab_cell_real(time_of(r, (int)choice.algorithm, (int)choice.protocol)));
    struct clab_json *list = clab_json_add_list(json, "estimates");
    for (int a = 0; a < CLAB_NCCL_ALGORITHMS; a++)
        for (int p = 0; p < CLAB_NCCL_PROTOCOLS; p++) {
            const struct clab_nccl_cost *cost = &r->costs.of[a][p];
            struct clab_json *one = clab_json_add_object(list, NULL);
            clab_json_add(one, "algorithm", clab_cell_text(clab_nccl_algorithm_name((enum clab_nccl_algorithm)a)));
            clab_json_add(one, "protocol", clab_cell_text(clab_nccl_protocol_name((enum clab_nccl_protocol)p)));
            clab_json_add(one, "latency_us", cost->bandwidth > 0 ? clab_cell_real(cost->latency) : clab_cell_none());
            clab_json_add(one, "bandwidth_GBps", clab_cell_real(cost->bandwidth));
            clab_json_add(one, "time_us", clab_cell_real(time_of(r, a, p)));
            clab_json_add(one, "unavailable", clab_cell_text(cost->bandwidth > 0 ? NULL : cost->why));
        }
}

static int print_json(const struct request *r, struct choice choice)
{
    struct clab_json *json;
    CLAB_TRY(clab_json_create(&json));
    fill_json(json, r, choice);
    int err = clab_json_write(json, stdout);
    clab_json_destroy(json);
    return err;
}

// ---- the tuner's table ---------------------------------------------------------------------------------------

static bool choose(const struct request *r, size_t bytes, struct choice *choice_p)
{
    return clab_nccl_choose(r->tables, &r->machine, r->collective, &r->costs, bytes, &choice_p->algorithm,
                            &choice_p->protocol) == CLAB_OK;
}

// As NCCL's example plugin reads it: what is -1 stays NCCL's own.
static void write_row(const struct request *r, struct choice choice, size_t first, size_t last, FILE *out)
{
    static const char *const algorithms[CLAB_NCCL_ALGORITHMS] = {
        "tree", "ring", "collnet_direct", "collnet_chain", "nvls", "nvls_tree", "pat"};
    static const char *const protocols[CLAB_NCCL_PROTOCOLS] = {"ll", "ll128", "simple"};
    const char *collective =
        r->collective == CLAB_REDUCE_SCATTER ? "reducescatter" : clab_collective_name(r->collective);
    fprintf(out, "%s,%zu,%zu,%s,%s,-1,%d,%d,-1,-1\n", collective, first, last, algorithms[choice.algorithm],
            protocols[choice.protocol], r->machine.nodes, r->machine.nodes * r->machine.gpus);
}

// A row for sizes that follow each other and have the same choice; one chosen at 2^k is taken up to 2^(k+1) - 1.
static void write_rows(const struct request *r, FILE *out)
{
    struct choice last = {0}, next;
    size_t first = 0;
    bool any = false;
    fprintf(out,
            "# collective_type,min_bytes,max_bytes,algorithm,protocol,channels,nNodes,nRanks,numPipeOps,regBuff\n");
    for (int log2 = 0; log2 <= MOST_LOG2; log2++) {
        size_t bytes = (size_t)1 << log2;
        if (!choose(r, bytes, &next))
            continue;
        if (any && (next.algorithm != last.algorithm || next.protocol != last.protocol)) {
            write_row(r, last, first, bytes - 1, out);
            first = bytes;
        }
        last = next;
        any = true;
    }
    if (any)
        write_row(r, last, first, ((size_t)2 << MOST_LOG2) - 1, out);
}

static int write_csv(const struct request *r)
{
    struct clab_output output;
    CLAB_TRY(clab_output_open(r->csv, &output));
    write_rows(r, output.file);
    return clab_output_close(&output);
}

static int answer(struct request *r)
{
    struct choice choice;
    int err = clab_nccl_choose(r->tables, &r->machine, r->collective, &r->costs, r->bytes, &choice.algorithm,
                               &choice.protocol);
    if (err) {
        clab_error("nccl: no algorithm is available for %s", clab_collective_name(r->collective));
        return err;
    }
    if (r->csv)
        CLAB_TRY(write_csv(r));
    return r->json ? print_json(r, choice) : print_table(r, choice);
}

static int run(int argc, char **argv)
{
    static const struct argp argp = {.options = argp_options, .parser = parse, .doc = doc};
    struct request request = {
        .collective = CLAB_ALLREDUCE,
        .bytes = 1 << 20,
        .machine = {.arch = CLAB_NCCL_HOPPER, .cpu = CLAB_NCCL_INTEL, .nodes = 1, .gpus = 8},
    };
    argp_err_exit_status = STATUS_USAGE;
    argp_parse(&argp, argc, argv, 0, NULL, &request);
    if (complete(&request) != CLAB_OK)
        return STATUS_USAGE;
    return answer(&request) == CLAB_OK ? EXIT_SUCCESS : EXIT_FAILURE;
}

const struct clab_command cmd_nccl = {"nccl", "show what NCCL's own model chooses, and why", run};
