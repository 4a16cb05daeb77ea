// SPDX-License-Identifier: MIT
// commlab sim paths: the copies that data pass through on their way from one memory to another, and what these cost.
//
// - A path is a list of moves. All that is printed is counted from it, or computed from the rates of networks
//   (sim/nets): the wire and a core's memory are those of --net, PCI Express and NVLink those of --host.
// - Time: a path moves data in pieces, each move of a piece after the one before; moves of different pieces go on at the
//   same time. So the first piece takes all moves, and the slowest move sets the pace of the others.

#include "cmd/sim/commands.h"

#include <math.h>
#include <stdio.h>

#include "core/base/err.h"
#include "core/base/log.h"
#include "core/base/options.h"
#include "core/base/files/output.h"
#include "core/base/files/table.h"
#include "cmd/command.h"
#include "sim/net/net.h"
#include "sim/sim.h"

static const char doc[] =
    "List the ways of data from one memory to another: over TCP, over RDMA, with GPUDirect, between two GPUs of a host; "
    "how often each copies them, and how long it takes for 1 to 1000 MB.\v"
    "by a core: copies that a processor core makes, in the kernel or in a library. by DMA: copies that an adapter or a "
    "GPU makes by itself. host memory: how often the bytes are read from or written to the memory of a host, at both "
    "ends together. slowest: the move that sets the pace.\n\n"
    "The wire of --net is the same for all paths, so that they differ by their copies alone. Data move in pieces, and "
    "pieces overlap; `whole` moves all of them before the next move begins. Nothing here is measured.";

enum move { END, CORE_COPY, DMA, DIRECT_DMA, WIRE, PEER_PCIE, PEER_NVLINK, MOVES };
static const char *const move_names[MOVES] = {"-", "core copies", "DMA over PCIe", "DMA over PCIe", "the wire", "PCIe", "NVLink"};

enum { MOST_MOVES = 8, SIZES = 4, FIXED = 6, COLUMNS = FIXED + SIZES, MB = 1000000 };
static const int sizes[SIZES] = {1, 10, 100, 1000}; // MB
static const double piece = 64 * 1024;              // bytes: what the kernel and libraries move at a time

static const struct path {
    const char *name, *between;
    bool is_whole;
    enum move moves[MOST_MOVES];
} paths[] = {
    {"TCP", "host memories", false, {CORE_COPY, DMA, WIRE, DMA, CORE_COPY}},
    {"TCP zero-copy send", "host memories", false, {DMA, WIRE, DMA, CORE_COPY}},
    {"RDMA", "host memories", false, {DMA, WIRE, DMA}},
    {"TCP staged", "GPUs of two hosts", false, {DMA, CORE_COPY, DMA, WIRE, DMA, CORE_COPY, DMA}},
    {"RDMA staged", "GPUs of two hosts", false, {DMA, DMA, WIRE, DMA, DMA}},
    {"RDMA GPUDirect", "GPUs of two hosts", false, {DIRECT_DMA, WIRE, DIRECT_DMA}},
    {"staged whole", "GPUs of one host", true, {DMA, DMA}},
    {"staged in pieces", "GPUs of one host", false, {DMA, DMA}},
    {"P2P over PCIe", "GPUs of one host", false, {PEER_PCIE}},
    {"P2P over NVLink", "GPUs of one host", false, {PEER_NVLINK}},
};
enum { PATHS = sizeof paths / sizeof *paths };

struct rates {
    double alpha[MOVES], beta[MOVES]; // s, s/B
};

struct request {
    const char *net, *host, *csv;
};

static const struct clab_option options[] = {
    {"net", 0, "NAME", "the wire, and the memory of a core (100gbe)", CLAB_TEXT_AT(struct request, net)},
    {"host", 0, "NAME", "PCI Express and NVLink of a host: a network whose pairs have a bridge (nvlink-pairs)",
     CLAB_TEXT_AT(struct request, host)},
    {"csv", 0, "FILE", "write the table to FILE", CLAB_TEXT_AT(struct request, csv)},
    {0},
};

// ---- counting ------------------------------------------------------------------------------------------------

static int length_of(const struct path *p)
{
    int n = 0;
    while (n < MOST_MOVES && p->moves[n] != END)
        n++;
    return n;
}

static int count(const struct path *p, enum move move)
{
    int n = 0;
    for (int i = 0; i < length_of(p); i++)
        n += p->moves[i] == move;
    return n;
}

static int dma_of(const struct path *p)
{
    return count(p, DMA) + count(p, DIRECT_DMA) + count(p, PEER_PCIE) + count(p, PEER_NVLINK);
}

// A core reads and writes. DMA reads or writes at one end, where a device is at the other; between two devices it does not.
static int host_memory_of(const struct path *p)
{
    return 2 * count(p, CORE_COPY) + count(p, DMA);
}

// ---- pricing -------------------------------------------------------------------------------------------------

static enum move slowest_of(const struct path *p, const struct rates *rates)
{
    enum move slowest = p->moves[0];
    for (int i = 1; i < length_of(p); i++)
        if (rates->beta[p->moves[i]] > rates->beta[slowest])
            slowest = p->moves[i];
    return slowest;
}

static double seconds_of(const struct path *p, const struct rates *rates, double bytes)
{
    const double first = p->is_whole ? bytes : fmin(bytes, piece);
    double seconds = (bytes - first) * rates->beta[slowest_of(p, rates)];
    for (int i = 0; i < length_of(p); i++)
        seconds += rates->alpha[p->moves[i]] + first * rates->beta[p->moves[i]];
    return seconds;
}

static void take(struct rates *rates, enum move move, const struct clab_link *link)
{
    rates->alpha[move] = link->alpha;
    rates->beta[move] = link->beta;
}

static int find_rates(const struct request *r, struct rates *rates)
{
    struct clab_net *wire, *host;
    CLAB_TRY(clab_net_load(r->net, &wire));
    int err = clab_net_load(r->host, &host);
    if (err) {
        clab_net_free(wire);
        return err;
    }
    if (!wire->inter.present || !wire->compute.present || !host->pair.present) {
        clab_error("sim paths: --net needs a network with [link inter] and [compute], --host one with [link pair]: %s "
                   "and %s are not",
                   r->net, r->host);
        err = CLAB_EINVAL;
    }
    take(rates, WIRE, &wire->inter);
    take(rates, DMA, &host->intra);
    take(rates, DIRECT_DMA, &host->intra);
    take(rates, PEER_PCIE, &host->intra);
    take(rates, PEER_NVLINK, &host->pair);
    rates->alpha[DMA] = rates->alpha[DIRECT_DMA] = 0; // the wire's has it, or of a host: `whole`
    rates->beta[CORE_COPY] = 2 * wire->compute.memory; // it reads a byte and writes one
    clab_net_free(wire);
    clab_net_free(host);
    return err;
}

// ---- the table -----------------------------------------------------------------------------------------------

static const struct clab_column columns[COLUMNS] = {
    {"path", NULL, NULL, CLAB_KIND_TEXT, -18, 0, NULL},
    {"between", NULL, NULL, CLAB_KIND_TEXT, -17, 0, NULL},
    {"core_copies", "by a core", NULL, CLAB_KIND_INTEGER, 9, 0, "copies"},
    {"dma_copies", "by DMA", NULL, CLAB_KIND_INTEGER, 6, 0, "copies"},
    {"host_memory", "host memory", "times", CLAB_KIND_INTEGER, 11, 0, NULL},
    {"slowest", NULL, NULL, CLAB_KIND_TEXT, -13, 0, NULL},
    {"ms_1_MB", "1 MB", "ms", CLAB_KIND_REAL, 8, 3, "time"},
    {"ms_10_MB", "10 MB", "ms", CLAB_KIND_REAL, 8, 3, "time"},
    {"ms_100_MB", "100 MB", "ms", CLAB_KIND_REAL, 8, 2, "time"},
    {"ms_1000_MB", "1000 MB", "ms", CLAB_KIND_REAL, 8, 1, "time"},
};

static int add_row(struct clab_table *table, const struct path *p, const struct rates *rates)
{
    struct clab_cell cells[COLUMNS] = {
        clab_cell_text(p->name),
        clab_cell_text(p->between),
        clab_cell_integer(count(p, CORE_COPY)),
        clab_cell_integer(dma_of(p)),
        clab_cell_integer(host_memory_of(p)),
        clab_cell_text(move_names[slowest_of(p, rates)]),
    };
    for (int i = 0; i < SIZES; i++)
        cells[FIXED + i] = clab_cell_real(1e3 * seconds_of(p, rates, (double)sizes[i] * MB));
    return clab_table_add_row(table, cells);
}

static int tell(const struct request *r, const struct rates *rates)
{
    struct clab_table table;
    int err = CLAB_OK;
    clab_table_init(&table, columns, COLUMNS);
    for (int i = 0; i < PATHS && !err; i++)
        err = add_row(&table, &paths[i], rates);
    if (!err) {
        printf("# from memory to memory, computed and not measured: the wire %.4g GB/s, a core's copy %.4g GB/s (%s); "
               "PCIe %.4g GB/s, NVLink %.4g GB/s one way (%s)\n",
               1e-9 / rates->beta[WIRE], 1e-9 / rates->beta[CORE_COPY], r->net, 1e-9 / rates->beta[DMA],
               1e-9 / rates->beta[PEER_NVLINK], r->host);
        clab_table_print(&table, stdout);
    }
    if (!err && r->csv)
        err = clab_table_write_csv(&table, NULL, r->csv);
    clab_table_free(&table);
    return err;
}

int sim_paths(int argc, char **argv)
{
    static const struct clab_command_line line = {.options = options, .about = doc};
    struct request request = {.net = "100gbe", .host = "nvlink-pairs"};
    struct rates rates = {0};
    if (clab_options_parse(&line, argc, argv, &request))
        return STATUS_USAGE;
    int err = request.csv ? clab_output_announce(request.csv) : CLAB_OK;
    if (!err)
        err = find_rates(&request, &rates);
    if (!err)
        err = tell(&request, &rates);
    return command_status(err);
}
