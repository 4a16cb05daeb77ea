// SPDX-License-Identifier: MIT
// commlab nccl: the costs of every algorithm and protocol in NCCL's own model, and its choice.
// - given.c      describes the machine, by flags and a log.
// - said.c       what the log says of itself, and NCCL's own choices in it.

#include "cmd/command.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/err.h"
#include "core/base/files/json.h"
#include "core/base/log.h"
#include "core/base/files/output.h"
#include "core/base/files/table.h"
#include "core/base/units.h"
#include "cmd/nccl/given.h"
#include "cmd/nccl/said.h"
#include "sim/nccl/rows.h"

enum { MOST_LOG2 = 34 };

static const char doc[] =
    "Print the costs of every algorithm and protocol in NCCL's own model, and NCCL's choice.\v"
    "NCCL's tuner ranks algorithms by these costs. They do not predict times: `commlab sim` does. NCCL searches for "
    "channels and finds the bandwidth per channel: give both, or a log made with NCCL_DEBUG=INFO "
    "NCCL_DEBUG_SUBSYS=INIT,TUNING,GRAPH. If a program registers buffers as symmetric windows (NCCL 2.27 and later), "
    "their collectives have kernels of their own, which NCCL does not choose by this table. `commlab tune` measures, "
    "and writes a table of better choices for the plugin that NCCL loads.";

struct request {
    enum clab_collective collective;
    size_t bytes;
    bool json;
    const char *csv;
    struct nccl_given given;
    struct nccl_believed believed;
};

// ---- the command line ----------------------------------------------------------------------------------------

// The collectives for which NCCL's tuner chooses.
static int take_collective(const char *flag, const char *text, void *into)
{
    static const enum clab_collective numbers[] = {CLAB_ALLREDUCE, CLAB_BROADCAST, CLAB_REDUCE, CLAB_ALLGATHER,
                                                   CLAB_REDUCE_SCATTER};
    const int i = clab_names_find(&CLAB_NAMES("allreduce", "broadcast", "reduce", "allgather", "reduce_scatter"), flag,
                                  text, strlen(text));
    ((struct request *)into)->collective = numbers[i < 0 ? 0 : i];
    return i < 0 ? CLAB_EINVAL : CLAB_OK;
}

static const struct clab_option options[] = {
    {"collective", 0, "NAME", "allreduce, broadcast, reduce, allgather or reduce_scatter (allreduce)",
     CLAB_CALL(take_collective)},
    {"bytes", 'b', "SIZE", "bytes of the whole buffer (1M)", CLAB_SIZE(struct request, bytes, 1)},
    CLAB_HEADING("The machine:"),
    CLAB_TABLE(struct request, given, nccl_given_options),
    CLAB_HEADING("How:"),
    {"csv", 0, "FILE", "write the choice per power of two from 1 byte to 16 GiB, for NCCL's tuner plugin",
     CLAB_TEXT_AT(struct request, csv)},
    {"json", 0, NULL, "print JSON", CLAB_ON(struct request, json)},
    {0},
};

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
    return clab_nccl_time(r->believed.tables, &r->believed.machine, r->collective, &r->believed.costs,
                          (enum clab_nccl_algorithm)a, (enum clab_nccl_protocol)p, r->bytes);
}

static int add_row(struct clab_table *table, const struct request *r, struct choice choice, int a, int p)
{
    const struct clab_nccl_cost *cost = &r->believed.costs.of[a][p];
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
    const struct clab_nccl_graph *g = &r->believed.machine.graphs[CLAB_NCCL_RING];
    char size[CLAB_TEXT], intra[64] = "", inter[48] = "";
    if (r->believed.machine.gpus > 1)
        snprintf(intra, sizeof intra, " %g GB/s within a node by %s", g->intra,
                 g->within <= CLAB_NCCL_NVB ? "NVLink" : "PCI");
    if (r->believed.machine.nodes > 1)
        snprintf(inter, sizeof inter, " %g GB/s between nodes", g->inter);
    const bool is_logs = r->believed.of_log && *r->believed.said.version; // no constants of ours are used
    printf("# NCCL %s's own model: %s of %s on %d node%s of %d %s GPU%s, %s CPUs\n",
           is_logs ? r->believed.said.version : r->believed.tables->version, clab_collective_name(r->collective),
           clab_size_text(r->bytes, size), r->believed.machine.nodes, r->believed.machine.nodes == 1 ? "" : "s",
           r->believed.machine.gpus, archs[r->believed.machine.arch], r->believed.machine.gpus == 1 ? "" : "s",
           cpus[r->believed.machine.cpu]);
    nccl_said_print(&r->believed, r->given.log_path);
    if (r->believed.of_log)
        printf("# latencies and bandwidths as NCCL wrote them to %s\n", r->given.log_path);
    else
        printf("# ring: %d channels, each%s%s%s; NCCL makes %d of them\n", g->channels, intra,
               *intra && *inter ? "," : "", inter, clab_nccl_channels(&r->believed.machine));
    printf("# the tuner ranks algorithms by these costs; they do not predict times\n");
    printf("# collectives on symmetric windows (NCCL 2.27 and later) do not use this table\n");
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
        nccl_choices_print(&r->believed, r->collective);
    }
    clab_table_free(&table);
    return err;
}

static void fill_json(struct clab_json *json, const struct request *r, struct choice choice)
{
    clab_json_add(json, "nccl", clab_cell_text(r->believed.tables->version));
    clab_json_add(json, "collective", clab_cell_text(clab_collective_name(r->collective)));
    clab_json_add(json, "bytes", clab_cell_integer((long long)r->bytes));
    clab_json_add(json, "nodes", clab_cell_integer(r->believed.machine.nodes));
    clab_json_add(json, "gpus", clab_cell_integer(r->believed.machine.gpus));
    nccl_said_add(json, &r->believed);
    struct clab_json *chosen = clab_json_add_object(json, "choice");
    clab_json_add(chosen, "algorithm", clab_cell_text(clab_nccl_algorithm_name(choice.algorithm)));
    clab_json_add(chosen, "protocol", clab_cell_text(clab_nccl_protocol_name(choice.protocol)));
    clab_json_add(chosen, "time_us", clab_cell_real(time_of(r, (int)choice.algorithm, (int)choice.protocol)));
    struct clab_json *list = clab_json_add_list(json, "estimates");
    for (int a = 0; a < CLAB_NCCL_ALGORITHMS; a++)
        for (int p = 0; p < CLAB_NCCL_PROTOCOLS; p++) {
            const struct clab_nccl_cost *cost = &r->believed.costs.of[a][p];
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
    return clab_nccl_choose(r->believed.tables, &r->believed.machine, r->collective, &r->believed.costs, bytes,
                            &choice_p->algorithm, &choice_p->protocol) == CLAB_OK;
}

static void write_row(const struct request *r, struct choice choice, size_t first, size_t last, FILE *out)
{
    const struct clab_nccl_row row = {clab_nccl_function_find(clab_collective_name(r->collective)),
                                      (int)choice.algorithm,
                                      (int)choice.protocol,
                                      first,
                                      last,
                                      CLAB_NCCL_ANY,
                                      r->believed.machine.nodes,
                                      r->believed.machine.nodes * r->believed.machine.gpus,
                                      CLAB_NCCL_ANY,
                                      CLAB_NCCL_ANY,
                                      0};
    clab_nccl_rows_write(&row, 0, out);
}

// One row covers neighbouring sizes with the same choice. The choice at 2^k holds up to 2^(k+1) - 1.
static void write_rows(const struct request *r, FILE *out)
{
    struct choice last = {0}, next;
    size_t first = 0;
    bool any = false;
    clab_nccl_rows_write_heading(false, out);
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
    CLAB_TRY(clab_output_announce(r->csv));
    CLAB_TRY(clab_output_open(r->csv, &output));
    write_rows(r, output.file);
    return clab_output_close(&output);
}

static int answer(struct request *r)
{
    struct choice choice;
    int err = clab_nccl_choose(r->believed.tables, &r->believed.machine, r->collective, &r->believed.costs, r->bytes,
                               &choice.algorithm, &choice.protocol);
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
    static const struct clab_command_line line = {.options = options, .about = doc};
    struct request request = {.collective = CLAB_ALLREDUCE, .bytes = 1 << 20, .given = nccl_given_default};
    if (clab_options_parse(&line, argc, argv, &request))
        return STATUS_USAGE;
    if (nccl_given_costs(&request.given, request.collective, &request.believed) != CLAB_OK) {
        if (!request.json) {
            nccl_said_print(&request.believed, request.given.log_path);
            nccl_choices_print(&request.believed, request.collective);
        }
        return STATUS_USAGE;
    }
    return answer(&request) == CLAB_OK ? EXIT_SUCCESS : EXIT_FAILURE;
}

const struct clab_command cmd_nccl = {"nccl", "show the choices of NCCL's own model, and why", run};
