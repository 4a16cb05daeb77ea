// SPDX-License-Identifier: MIT
// What NCCL says of itself. These lines are read, whatever stands before them (host, process, "NCCL INFO"):
//
//   Pattern 4, crossNic 0, nChannels 8, bw 48.000000/48.000000, type NVL/PIX, sameChannels 1     (`speed` until 2.12)
//   Pattern 4, crossNic 0, nChannels 8, speed 21/21, nvlink 1, type 1, sameChannels 1            (2.5)
//   CPU/0 (1/1/2)                                                             (the topology: x86, Intel, its model)
//   + NVL[370.8] - NVS/0-0                                                    (an NVLink switch)
//   Latency/AlgBw | Tree/ LL | Tree/ LL128 | ...  AllReduce |  19.2/ 42.1 |   (NCCL_DEBUG_SUBSYS=TUNING; us, GB/s; until 2.17)
//   Algorithm |  Tree | Ring | CollNetDirect |  ...  AllReduce |  19.2/ 42.1 | ...                   (from 2.18 on)
//   8 Bytes -> Algo 0 proto 0 time 25.2                                       (what it has chosen; until 2.22)
//   AllReduce: 8 Bytes -> Algo 0 proto 0 time 25.2                            (2.23; the whole buffer)
//   AllReduce: 8 Bytes -> Algo RING proto LL channel{Lo..Hi}={0..1}           (from 2.24 on; a rank's part of an allgather)
//   16 coll channels, 16 collnet channels, ...                                (NCCL_DEBUG_SUBSYS=INIT)
//   comm 0x1 rank 0 nRanks 16 ...
//
// NCCL takes the slowest graph of all ranks; the first one of the log stands for all.
// Source: NCCL, ncclTopoPrintGraph in src/graph/search.cc, the end of ncclTopoTuneModel in src/graph/tuning.cc,
// initTransportsRank in src/init.cc, and src/enqueue.cc; 2.5.6 to 2.28.3.

#include "sim/nccl/nccl.h"

#include <ctype.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/err.h"
#include "core/base/log.h"
#include "sim/nccl/rows.h"

enum { LINE_BYTES = 2048, A_BLOCK = 3 }; // algorithms beside each other in a block of the newer table
enum { CELLS = CLAB_NCCL_ALGORITHMS * CLAB_NCCL_PROTOCOLS };
enum { SIMPLE_TREE = 3 }; // its pattern's number

static const char *const functions[CLAB_COLLECTIVE_COUNT] = {
    [CLAB_ALLREDUCE] = "AllReduce", [CLAB_BROADCAST] = "Broadcast",          [CLAB_REDUCE] = "Reduce",
    [CLAB_ALLGATHER] = "AllGather", [CLAB_REDUCE_SCATTER] = "ReduceScatter",
};

struct reader {
    const char *path;
    struct clab_nccl_log *log;
    const char *function; // NULL: NCCL has no table for it
    int number;           // of the line
    int ranks;            // of the communicator that was named last; 0: none was
    struct cell {
        int algorithm, protocol; // -1: not ours to know
    } cells[CELLS];              // of a row of the table under way
    int ncells;
    bool done[CLAB_NCCL_ALGORITHMS][CLAB_NCCL_PROTOCOLS];
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
    if (!strcmp(word, "XGMI")) // RCCL's link between GPUs
        word = "NVL";
    for (int i = 0; i < CLAB_NCCL_PATHS; i++)
        if (!strcmp(words[i], word)) {
            *path_p = (enum clab_nccl_path)i;
            return true;
        }
    return false;
}

// 2.5 names the farthest kind of link only: itself, NVLink, PCI, between sockets, network.
static enum clab_nccl_path path_of_link(int type, int nvlink)
{
    static const enum clab_nccl_path paths[] = {CLAB_NCCL_LOC, CLAB_NCCL_NVL, CLAB_NCCL_PHB, CLAB_NCCL_SYS,
                                                CLAB_NCCL_PHB};
    return nvlink                                                    ? CLAB_NCCL_NVL
           : type >= 0 && type < (int)(sizeof paths / sizeof *paths) ? paths[type]
                                                                     : CLAB_NCCL_PHB;
}

static bool take_graph(const char *line, int *pattern_p, struct clab_nccl_graph *g)
{
    int same, nvlink, type;
    char within[16], between[16];
    if (sscanf(line, "Pattern %d, crossNic %*d, nChannels %d, %*[a-z] %lf/%lf, type %15[^/]/%15[^,], sameChannels %d",
               pattern_p, &g->channels, &g->intra, &g->inter, within, between, &same) == 7) {
        g->same_channels = same != 0;
        return find_path(within, &g->within) && find_path(between, &g->between);
    }
    if (sscanf(line, "Pattern %d, crossNic %*d, nChannels %d, speed %lf/%lf, nvlink %d, type %d, sameChannels %d",
               pattern_p, &g->channels, &g->intra, &g->inter, &nvlink, &type, &same) != 7)
        return false;
    g->same_channels = same != 0;
    g->within = path_of_link(type, nvlink);
    g->between = path_of_link(type, 0);
    return true;
}

static int read_graph(struct reader *r, const char *line)
{
    int pattern;
    struct clab_nccl_graph g = {0};
    if (!take_graph(line, &pattern, &g) || g.channels < 0 || !is_cost(g.intra) || !is_cost(g.inter)) {
        clab_error("%s:%d: a graph without its channels, bandwidths, types or sameChannels", r->path, r->number);
        return CLAB_EPARSE;
    }
    g.simple_tree = pattern == SIMPLE_TREE;
    for (int a = 0; a < CLAB_NCCL_ALGORITHMS; a++)
        if (algorithms_of(pattern) & 1u << a && !r->log->has_graph[a]) {
            r->log->graphs[a] = g;
            r->log->has_graph[a] = r->log->has_graphs = true;
        }
    return CLAB_OK;
}

// ---- the table -----------------------------------------------------------------------------------------------

// "COLLNET_DIRECT" is CollNetDirect.
static bool is_name(const char *known, const char *name, size_t length)
{
    for (size_t i = 0; i < length; i++) {
        if (name[i] == '_')
            continue;
        if (tolower((unsigned char)name[i]) != tolower((unsigned char)*known))
            return false;
        known++;
    }
    return *known == '\0';
}

// Until 2.13 there was one way over CollNet.
static int find_algorithm(const char *name, size_t length)
{
    if (is_name("CollNet", name, length))
        return CLAB_NCCL_COLLNET_DIRECT;
    for (int a = 0; a < CLAB_NCCL_ALGORITHMS; a++)
        if (is_name(clab_nccl_algorithm_name((enum clab_nccl_algorithm)a), name, length))
            return a;
    return -1;
}

static int find_protocol(const char *name, size_t length)
{
    for (int p = 0; p < CLAB_NCCL_PROTOCOLS; p++)
        if (is_name(clab_nccl_protocol_name((enum clab_nccl_protocol)p), name, length))
            return p;
    return -1;
}

// "Algorithm   |   Tree   |   Ring   |  ...": a cell per protocol of each.
static void read_heading(struct reader *r, const char *line)
{
    const char *cell = strchr(line, '|');
    r->ncells = 0;
    for (int i = 0; i < A_BLOCK && cell; i++) {
        cell += 1 + strspn(cell + 1, " ");
        const int a = find_algorithm(cell, strcspn(cell, " |\n"));
        for (int p = 0; a >= 0 && p < CLAB_NCCL_PROTOCOLS; p++)
            r->cells[r->ncells++] = (struct cell){a, p};
        cell = a >= 0 ? strchr(cell, '|') : NULL;
    }
}

// "Latency/AlgBw |    Tree/    LL |    Tree/ LL128 | ...".
static void read_old_heading(struct reader *r, const char *line)
{
    const char *cell = strchr(line, '|');
    r->ncells = 0;
    while (cell && r->ncells < CELLS) {
        cell += 1 + strspn(cell + 1, " ");
        const size_t name = strcspn(cell, " /|\n");
        const char *slash = strchr(cell, '/');
        if (!name || !slash)
            return;
        const char *protocol = slash + 1 + strspn(slash + 1, " ");
        r->cells[r->ncells++] =
            (struct cell){find_algorithm(cell, name), find_protocol(protocol, strcspn(protocol, " |\n"))};
        cell = strchr(cell, '|');
    }
}

// "AllReduce |   6.8/  12.3 |  ...": a value per cell of the heading.
static int read_row(struct reader *r, const char *line)
{
    const char *at = strchr(line, '|');
    for (int i = 0; i < r->ncells; i++) {
        const struct cell *cell = &r->cells[i];
        struct clab_nccl_cost cost = {.why = "NCCL's log says 0"};
        if (!at || sscanf(at + 1, " %lf / %lf", &cost.latency, &cost.bandwidth) != 2 || !is_cost(cost.latency) ||
            !is_cost(cost.bandwidth)) {
            clab_error("%s:%d: %s has no latency and bandwidth of %s", r->path, r->number, r->function,
                       cell->algorithm < 0 ? "an algorithm"
                                           : clab_nccl_algorithm_name((enum clab_nccl_algorithm)cell->algorithm));
            return CLAB_EPARSE;
        }
        at = strchr(at + 1, '|');
        if (cell->algorithm < 0 || cell->protocol < 0 || r->done[cell->algorithm][cell->protocol])
            continue;
        r->log->costs.of[cell->algorithm][cell->protocol] = cost;
        r->done[cell->algorithm][cell->protocol] = r->log->has_costs = true;
    }
    return CLAB_OK;
}

// Algorithms that this version does not have.
static void fill_costs(struct reader *r)
{
    for (int a = 0; a < CLAB_NCCL_ALGORITHMS; a++)
        for (int p = 0; p < CLAB_NCCL_PROTOCOLS; p++)
            if (!r->done[a][p])
                r->log->costs.of[a][p].why = "not in NCCL's log";
}

// ---- choices -------------------------------------------------------------------------------------------------

// "0" or "TREE".
static bool read_algorithm(const char *word, struct clab_nccl_logged *c)
{
    char *end;
    const long number = strtol(word, &end, 10);
    const int a = *end ? find_algorithm(word, strlen(word)) : (int)number;
    c->algorithm = (enum clab_nccl_algorithm)a;
    return a >= 0 && a < CLAB_NCCL_ALGORITHMS;
}

static bool read_protocol(const char *word, struct clab_nccl_logged *c)
{
    char *end;
    const long number = strtol(word, &end, 10);
    const int p = *end ? find_protocol(word, strlen(word)) : (int)number;
    c->protocol = (enum clab_nccl_protocol)p;
    return p >= 0 && p < CLAB_NCCL_PROTOCOLS;
}

static int find_function(const char *line)
{
    for (int c = 0; c < CLAB_COLLECTIVE_COUNT; c++) {
        const size_t length = functions[c] ? strlen(functions[c]) : 0;
        const char *at = length ? strstr(line, functions[c]) : NULL;
        if (at && at[length] == ':')
            return c;
    }
    return -1;
}

static void add_choice(struct clab_nccl_log *log, const struct clab_nccl_logged *choice)
{
    for (int i = 0; i < log->nchoices; i++) {
        struct clab_nccl_logged *c = &log->choices[i];
        if (c->collective == choice->collective && c->bytes == choice->bytes && c->algorithm == choice->algorithm &&
            c->protocol == choice->protocol) {
            c->calls++;
            return;
        }
    }
    if (log->nchoices == CLAB_NCCL_MOST_LOGGED)
        log->more_choices++;
    else
        log->choices[log->nchoices++] = *choice;
}

// arrow: "Bytes -> Algo ..." in the line. A line that another process has cut is no choice.
static void read_choice(struct reader *r, const char *line, const char *arrow)
{
    char algorithm[24], protocol[24];
    struct clab_nccl_logged choice = {.collective = find_function(line), .calls = 1};
    const char *number = arrow;
    while (number > line && (number[-1] == ' ' || isdigit((unsigned char)number[-1])))
        number--;
    if (sscanf(number, "%zu", &choice.bytes) != 1 ||
        sscanf(arrow, "Bytes -> Algo %23s proto %23s", algorithm, protocol) != 2 ||
        !read_algorithm(algorithm, &choice) || !read_protocol(protocol, &choice))
        return;
    const bool is_part = strstr(arrow, "channel{Lo..Hi}") &&
                         (choice.collective == CLAB_ALLGATHER || choice.collective == CLAB_REDUCE_SCATTER);
    if (is_part && r->ranks > 0 && choice.bytes < SIZE_MAX / (size_t)r->ranks)
        choice.bytes *= (size_t)r->ranks;
    add_choice(r->log, &choice);
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

// "CPU/0 (1/2/-1)": x86; 1 Intel, 2 AMD.
static void read_cpu(struct reader *r, const char *at)
{
    int vendor;
    if (r->log->has_cpu || sscanf(at, "CPU/%*[^ (] (%*d/%d/", &vendor) != 1)
        return;
    r->log->has_cpu = true;
    r->log->cpu = vendor == 1 ? CLAB_NCCL_INTEL : vendor == 2 ? CLAB_NCCL_AMD : CLAB_NCCL_OTHER_CPU;
}

// "rank 3 nranks 8", and nRanks.
static void read_ranks(struct reader *r, const char *line)
{
    const char *at = strstr(line, " nranks ");
    int ranks;
    at = at ? at : strstr(line, " nRanks ");
    if (at && sscanf(at + strlen(" nranks "), "%d", &ranks) == 1 && ranks > 0)
        r->ranks = ranks;
}

static int read_line(struct reader *r, const char *line)
{
    const char *at;
    read_ranks(r, line);
    if (strstr(line, " NVS/"))
        r->log->nvswitch = true;
    if ((at = strstr(line, " CPU/")))
        read_cpu(r, at + 1);
    if ((at = strstr(line, "Bytes -> Algo ")))
        read_choice(r, line, at);
    if ((at = strstr(line, " coll channels")))
        read_channels(r, line, at);
    if ((at = strstr(line, "Pattern ")) && strstr(at, "nChannels"))
        return read_graph(r, at);
    if ((at = find_row(line, "Latency/AlgBw"))) {
        read_old_heading(r, at);
        return CLAB_OK;
    }
    if ((at = find_row(line, "Algorithm"))) {
        read_heading(r, at);
        return CLAB_OK;
    }
    return r->function && (at = find_row(line, r->function)) ? read_row(r, at) : CLAB_OK;
}

int clab_nccl_log_read(const char *text, const char *path, enum clab_collective collective, struct clab_nccl_log *log_p)
{
    struct clab_nccl_log log = {0};
    struct reader r = {.path = path, .log = &log, .function = functions[collective]};
    for (const char *line = text; *line; line += strcspn(line, "\n"), line += *line == '\n') {
        char copy[LINE_BYTES];
        snprintf(copy, sizeof copy, "%.*s", (int)strcspn(line, "\n"), line);
        r.number++;
        CLAB_TRY(read_line(&r, copy));
    }
    if (!log.has_graphs && !log.has_costs && !log.nchoices)
        return CLAB_ENOENT;
    fill_costs(&r);
    *log_p = log;
    return CLAB_OK;
}
