// SPDX-License-Identifier: MIT
// What NCCL says of itself. These lines are read, whatever stands before them (host, process, "NCCL INFO"):
//
//   Pattern 4, crossNic 0, nChannels 8, bw 48.000000/48.000000, type NVL/PIX, sameChannels 1
//   + NVL[370.8] - NVS/0-0                                                    (the topology: an NVLink switch)
//   |  Tree | Ring | CollNetDirect |  ...  AllReduce |  19.2/ 42.1 | ...      (NCCL_DEBUG_SUBSYS=TUNING; us, GB/s)
//   16 coll channels, 16 collnet channels, ...                                (NCCL_DEBUG_SUBSYS=INIT)
//
// NCCL takes the slowest graph of all ranks; the first one of the log stands for all.
// Source: NCCL, ncclTopoPrintGraph in src/graph/search.cc, the end of ncclTopoTuneModel in src/graph/tuning.cc, and
// initTransportsRank in src/init.cc.

#include "sim/nccl/nccl.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "core/base/err.h"
#include "core/base/log.h"
#include "sim/nccl/rows.h"

enum { LINE_BYTES = 2048, A_BLOCK = 3 }; // algorithms beside each other in a block of the table
enum { SIMPLE_TREE = 3 };                // its pattern's number

static const char *const functions[CLAB_COLLECTIVE_COUNT] = {
    [CLAB_ALLREDUCE] = "AllReduce", [CLAB_BROADCAST] = "Broadcast",          [CLAB_REDUCE] = "Reduce",
    [CLAB_ALLGATHER] = "AllGather", [CLAB_REDUCE_SCATTER] = "ReduceScatter",
};

struct reader {
    struct clab_nccl_log *log;
    const char *function; // NULL: NCCL has no table for it
    int number;           // of the line
    int block[A_BLOCK];   // algorithms of the block under way; -1: none
    bool done[CLAB_NCCL_ALGORITHMS];
};

static bool is_cost(double value)
{
    return isfinite(value) && value >= 0;
}

// ---- graphs --------------------------------------------------------------------------------------------------

// Which algorithms run on the graph of a pattern: balanced and split tree, simple tree, ring, NVLS, CollNet direct.
static unsigned algorithms_of(int pattern)
{
    const unsigned trees = 1u << CLAB_NCCL_TREE | 1u << CLAB_NCCL_PAT;
    switch (pattern) {
    case 1:
    case 2: return trees;
    case SIMPLE_TREE: return trees | 1u << CLAB_NCCL_COLLNET_CHAIN;
    case 4: return 1u << CLAB_NCCL_RING;
    case 5: return 1u << CLAB_NCCL_NVLS | 1u << CLAB_NCCL_NVLS_TREE;
    case 6: return 1u << CLAB_NCCL_COLLNET_DIRECT;
    default: return 0;
    }
}

static bool find_path(const char *word, enum clab_nccl_path *path_p)
{
    static const char *const words[CLAB_NCCL_PATHS] = {"LOC", "NVL", "NVB", "C2C", "PIX", "PXB",
                                                       "P2C", "PXN", "PHB", "SYS", "NET", "DIS"};
    for (int i = 0; i < CLAB_NCCL_PATHS; i++)
        if (!strcmp(words[i], word)) {
            *path_p = (enum clab_nccl_path)i;
            return true;
        }
    return false;
}

static int read_graph(struct reader *r, const char *line)
{
    int pattern, same;
    char within[16], between[16];
    struct clab_nccl_graph g = {0};
    if (sscanf(line, "Pattern %d, crossNic %*d, nChannels %d, bw %lf/%lf, type %15[^/]/%15[^,], sameChannels %d",
               &pattern, &g.channels, &g.intra, &g.inter, within, between, &same) != 7 ||
        g.channels < 0 || !is_cost(g.intra) || !is_cost(g.inter) || !find_path(within, &g.within) ||
        !find_path(between, &g.between)) {
        clab_error("NCCL's log, line %d: a graph without its channels, bandwidths, types or sameChannels", r->number);
        return CLAB_EPARSE;
    }
    g.same_channels = same != 0;
    g.simple_tree = pattern == SIMPLE_TREE;
    for (int a = 0; a < CLAB_NCCL_ALGORITHMS; a++)
        if (algorithms_of(pattern) & 1u << a && !r->log->has_graph[a]) {
            r->log->graphs[a] = g;
            r->log->has_graph[a] = r->log->has_graphs = true;
        }
    return CLAB_OK;
}

// ---- the table -----------------------------------------------------------------------------------------------

static int find_algorithm(const char *name, size_t length)
{
    for (int a = 0; a < CLAB_NCCL_ALGORITHMS; a++) {
        const char *known = clab_nccl_algorithm_name((enum clab_nccl_algorithm)a);
        if (strlen(known) == length && !strncmp(known, name, length))
            return a;
    }
    return -1;
}

// "Algorithm   |   Tree   |   Ring   |  ..."
static void read_heading(struct reader *r, const char *line)
{
    const char *cell = strchr(line, '|');
    for (int i = 0; i < A_BLOCK; i++) {
        r->block[i] = -1;
        if (!cell)
            continue;
        cell += 1 + strspn(cell + 1, " ");
        r->block[i] = find_algorithm(cell, strcspn(cell, " |\n"));
        cell = strchr(cell, '|');
    }
}

// "AllReduce |   6.8/  12.3 |  ...": a cell for each algorithm of the block and each protocol.
static int read_row(struct reader *r, const char *line)
{
    const char *cell = strchr(line, '|');
    for (int i = 0; i < A_BLOCK * CLAB_NCCL_PROTOCOLS; i++) {
        int a = r->block[i / CLAB_NCCL_PROTOCOLS];
        struct clab_nccl_cost cost = {.why = "NCCL's log says 0"};
        if (a < 0)
            break;
        if (!cell || sscanf(cell + 1, " %lf / %lf", &cost.latency, &cost.bandwidth) != 2 || !is_cost(cost.latency) ||
            !is_cost(cost.bandwidth)) {
            clab_error("NCCL's log, line %d: %s has no latency and bandwidth of %s", r->number, r->function,
                       clab_nccl_algorithm_name((enum clab_nccl_algorithm)a));
            return CLAB_EPARSE;
        }
        if (!r->done[a])
            r->log->costs.of[a][i % CLAB_NCCL_PROTOCOLS] = cost;
        cell = strchr(cell + 1, '|');
    }
    for (int i = 0; i < A_BLOCK; i++)
        if (r->block[i] >= 0)
            r->done[r->block[i]] = r->log->has_costs = true;
    return CLAB_OK;
}

// ---- lines ---------------------------------------------------------------------------------------------------

// `word`, followed by " |" or by more spaces, as a row of the table begins; NULL: it is not there.
static const char *find_row(const char *line, const char *word)
{
    for (const char *at = line; (at = strstr(at, word)); at++) {
        const char *after = at + strlen(word);
        if ((at == line || isspace((unsigned char)at[-1])) && after[strspn(after, " ")] == '|')
            return at;
    }
    return NULL;
}

// "16 coll channels": how many the communicator has.
static void read_channels(struct reader *r, const char *line, const char *at)
{
    int channels;
    while (at > line && (at[-1] == ' ' || isdigit((unsigned char)at[-1])))
        at--;
    if (!r->log->channels && sscanf(at, "%d", &channels) == 1 && channels > 0 && channels <= CLAB_NCCL_MOST_CHANNELS)
        r->log->channels = channels;
}

static int read_line(struct reader *r, const char *line)
{
    const char *at;
    if (strstr(line, " NVS/"))
        r->log->nvswitch = true;
    if ((at = strstr(line, " coll channels")))
        read_channels(r, line, at);
    if ((at = strstr(line, "Pattern ")) && strstr(at, "nChannels"))
        return read_graph(r, at);
    if ((at = find_row(line, "Algorithm"))) {
        read_heading(r, at);
        return CLAB_OK;
    }
    return r->function && (at = find_row(line, r->function)) ? read_row(r, at) : CLAB_OK;
}

int clab_nccl_log_read(const char *text, enum clab_collective collective, struct clab_nccl_log *log_p)
{
    struct clab_nccl_log log = {0};
    struct reader r = {.log = &log, .function = functions[collective], .block = {-1, -1, -1}};
    for (const char *line = text; *line; line += strcspn(line, "\n"), line += *line == '\n') {
        char copy[LINE_BYTES];
        snprintf(copy, sizeof copy, "%.*s", (int)strcspn(line, "\n"), line);
        r.number++;
        CLAB_TRY(read_line(&r, copy));
    }
    if (!log.has_graphs && !log.has_costs)
        return CLAB_ENOENT;
    *log_p = log;
    return CLAB_OK;
}
