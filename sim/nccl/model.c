// SPDX-License-Identifier: MIT
// NCCL's formulas. Where NCCL computes in float, this computes in double: the choice differs only in a tie.

#include "sim/nccl/nccl.h"

#include <math.h>

#include "core/base/err.h"
#include "sim/nccl/rows.h"

static const char *const algorithm_names[] = {"Tree",     "Ring", "CollNetDirect", "CollNetChain", "NVLS",
                                              "NVLSTree", "PAT"};
static const char *const protocol_names[] = {"LL", "LL128", "Simple"};

// One algorithm and protocol, and what its formulas share.
struct entry {
    const struct clab_nccl_tables *tables;
    const struct clab_nccl_machine *machine;
    const struct clab_nccl_graph *graph; // its channels as all algorithms have agreed on them
    enum clab_collective collective;
    enum clab_nccl_algorithm algorithm;
    enum clab_nccl_protocol protocol;
    int ranks, scale; // scale: index of one node, two, more
    bool whole_block; // allgather, reduce-scatter: every rank gives or gets one block
};

const char *clab_nccl_algorithm_name(enum clab_nccl_algorithm algorithm)
{
    return algorithm_names[algorithm];
}

const char *clab_nccl_protocol_name(enum clab_nccl_protocol protocol)
{
    return protocol_names[protocol];
}

// Steps of a ring.
static int steps_of(const struct entry *e)
{
    if (e->collective == CLAB_ALLREDUCE)
        return 2 * (e->ranks - 1);
    return e->whole_block ? e->ranks - 1 : e->ranks;
}

static int log2_floor(int n)
{
    int log = 0;
    while (n >>= 1)
        log++;
    return log;
}

// Before 2.28 the NVLink switch had another formula.
static bool is_older(const struct clab_nccl_tables *tables)
{
    return tables->nvls_efficiency[CLAB_NCCL_HOPPER] == 0;
}

// ---- channels ------------------------------------------------------------------------------------------------

// Rings, and what runs on trees, use as many as the search found for both.
static int found_channels(const struct clab_nccl_machine *m, enum clab_nccl_algorithm a)
{
    const int ring = m->graphs[CLAB_NCCL_RING].channels, tree = m->graphs[CLAB_NCCL_TREE].channels;
    if (a != CLAB_NCCL_RING && a != CLAB_NCCL_TREE && a != CLAB_NCCL_PAT)
        return m->graphs[a].channels;
    return ring && (!tree || ring < tree) ? ring : tree;
}

int clab_nccl_channels(const struct clab_nccl_machine *m)
{
    const struct clab_nccl_graph *ring = &m->graphs[CLAB_NCCL_RING], *chain = &m->graphs[CLAB_NCCL_COLLNET_CHAIN];
    const int found = found_channels(m, CLAB_NCCL_RING);
    if (m->channels)
        return m->channels;
    int channels = found < CLAB_NCCL_MOST_CHANNELS / 2 ? 2 * found : CLAB_NCCL_MOST_CHANNELS;
    if (m->collnet && m->gpus > 1 && chain->intra > chain->inter)
        channels = channels * 3 / 2 < CLAB_NCCL_MOST_CHANNELS ? channels * 3 / 2 : CLAB_NCCL_MOST_CHANNELS;
    if (m->arch >= CLAB_NCCL_HOPPER && m->nodes > 1 && ring->intra > 45 && channels < 16)
        channels *= 2;
    return channels;
}

// ---- what is available ---------------------------------------------------------------------------------------

static bool is_collnet(enum clab_nccl_algorithm a)
{
    return a == CLAB_NCCL_COLLNET_DIRECT || a == CLAB_NCCL_COLLNET_CHAIN;
}

static bool is_nvls(enum clab_nccl_algorithm a)
{
    return a == CLAB_NCCL_NVLS || a == CLAB_NCCL_NVLS_TREE;
}

static bool has_function(const struct entry *e)
{
    enum clab_nccl_algorithm a = e->algorithm;
    if (e->collective == CLAB_ALLREDUCE)
        return a != CLAB_NCCL_PAT;
    if (e->whole_block)
        return a == CLAB_NCCL_PAT || a == CLAB_NCCL_RING || a == CLAB_NCCL_NVLS || a == CLAB_NCCL_COLLNET_DIRECT;
    return a == CLAB_NCCL_RING;
}

// Nodes are too large for what reduces in a switch or an adapter; NULL: they are not.
static const char *too_many_gpus(const struct entry *e)
{
    const int gpus = e->machine->gpus;
    if (e->algorithm == CLAB_NCCL_COLLNET_DIRECT && gpus > 8)
        return "at most 8 GPUs per node";
    if (e->algorithm == CLAB_NCCL_COLLNET_CHAIN && gpus > 8 && !is_older(e->tables))
        return "at most 8 GPUs per node";
    if (is_nvls(e->algorithm) && e->collective != CLAB_ALLREDUCE && gpus > 32)
        return "at most 32 GPUs per node";
    return NULL;
}

// LL128 relies on the order of stores, which holds over NVLink, and to adapters that are near enough.
static const char *ll128_obstacle(const struct entry *e)
{
    const bool is_hopper = e->machine->arch >= CLAB_NCCL_HOPPER;
    if (e->graph->within > CLAB_NCCL_NVB)
        return "LL128 needs NVLink within the node";
    if (e->machine->nodes > 1 && e->graph->between > (is_hopper ? CLAB_NCCL_PXN : CLAB_NCCL_PXB))
        return is_hopper ? "LL128 needs PXN or nearer adapters" : "LL128 needs PXB or nearer adapters";
    return NULL;
}

// Why NCCL does not offer it; NULL: it does.
static const char *obstacle(const struct entry *e)
{
    const struct clab_nccl_machine *m = e->machine;
    enum clab_nccl_algorithm a = e->algorithm;
    if (!has_function(e))
        return "not for this collective";
    if ((is_nvls(a) || is_collnet(a) || a == CLAB_NCCL_PAT) && e->protocol != CLAB_NCCL_SIMPLE)
        return "Simple only";
    if (e->protocol == CLAB_NCCL_LL128 && ll128_obstacle(e))
        return ll128_obstacle(e);
    if (a == CLAB_NCCL_PAT && m->gpus > 1)
        return "PAT needs one GPU per node";
    if (is_nvls(a) && !m->nvls)
        return "no reductions in the NVLink switch";
    if (is_nvls(a) && e->graph->channels < 2 && !is_older(e->tables))
        return "needs two channels";
    if (a == CLAB_NCCL_NVLS_TREE && m->nodes == 1)
        return "several nodes only";
    if ((is_collnet(a) || (a == CLAB_NCCL_NVLS && m->nodes > 1)) && !m->collnet)
        return "no reductions in the network";
    if (a == CLAB_NCCL_COLLNET_DIRECT && !m->nvswitch)
        return "no NVLink switch in the node";
    if (m->graphs[a].channels < 1)
        return "the log has no graph of it"; // flags give one to all
    return too_many_gpus(e);
}

// ---- bandwidth -----------------------------------------------------------------------------------------------

// GB/s of a channel of the NVLink switch.
static double nvls_channel(const struct entry *e)
{
    const struct clab_nccl_graph *g = e->graph;
    bool tree = e->algorithm == CLAB_NCCL_NVLS_TREE;
    double efficiency = e->tables->nvls_efficiency[e->machine->arch];
    double others = (e->machine->gpus - 1.0) / e->machine->gpus;
    if (is_older(e->tables)) {
        if (tree)
            return fmin(g->intra, e->machine->nodes <= 2 ? g->inter : g->inter / 2);
        return e->whole_block ? fmin(g->intra * others, g->inter * .9) : fmin(g->intra, g->inter);
    }
    double intra = g->intra * efficiency * (g->channels - 1) / g->channels;
    intra *= e->collective == CLAB_ALLREDUCE ? 2 : others; // an allreduce is two operations in a pipeline
    double inter = g->inter * (e->machine->nodes <= 2 && tree ? 2 : 1);
    return fmin(fmin(intra, inter), tree ? e->tables->nvls_tree[e->machine->arch][e->scale] : INFINITY);
}

static double channel_of(const struct entry *e)
{
    if (is_nvls(e->algorithm))
        return nvls_channel(e);
    return e->machine->nodes <= 2 || is_collnet(e->algorithm) ? e->graph->intra : e->graph->inter;
}

static double ll_most(const struct entry *e)
{
    return e->scale == 0 ? e->tables->ll_one_node[e->machine->arch] : e->tables->ll_nodes[e->machine->cpu][e->scale];
}

static double ring_bus(const struct entry *e, double bus)
{
    switch (e->protocol) {
    case CLAB_NCCL_LL: return fmin(ll_most(e), bus * .5);
    case CLAB_NCCL_LL128:
        return fmin(bus * .92, e->graph->channels * e->tables->ring_ll128[e->machine->arch][e->scale]);
    default: return bus;
    }
}

// Of a tree whose GPU beside the adapter does not share its work with another one.
static double balanced_tree_bus(const struct entry *e, double bus)
{
    int channels = e->graph->channels;
    bus = fmin(bus * .92, channels * e->tables->tree[e->machine->arch][e->scale]);
    switch (e->protocol) {
    case CLAB_NCCL_LL: return fmin(bus / 3.8, ll_most(e));
    case CLAB_NCCL_LL128:
        return fmin(bus * (e->scale == 0 ? 7.0 / 9 : 120.0 / 128),
                    channels * e->tables->tree_ll128[e->machine->arch][e->scale]);
    default: return bus;
    }
}

static double tree_bus(const struct entry *e, double bus)
{
    const bool is_simple = e->graph->simple_tree || e->machine->gpus == 1;
    return balanced_tree_bus(e, bus) * (is_simple ? .85 : 1);
}

static double collnet_direct_bus(const struct entry *e, double bus)
{
    double gpus = e->machine->gpus, adapters = gpus / e->graph->channels; // GPUs a network adapter
    if (e->whole_block)
        return gpus * fmin(e->graph->intra, e->graph->inter * .9);
    bus /= adapters - (adapters - 1) / 2;
    return e->machine->arch >= CLAB_NCCL_HOPPER ? bus * .85 : bus;
}

// What NCCL calls bus bandwidth, GB/s.
static double bus_of(const struct entry *e)
{
    double bus = e->graph->channels * channel_of(e);
    switch (e->algorithm) {
    case CLAB_NCCL_RING: return ring_bus(e, bus);
    case CLAB_NCCL_TREE: return tree_bus(e, bus);
    case CLAB_NCCL_COLLNET_DIRECT: return collnet_direct_bus(e, bus);
    case CLAB_NCCL_PAT: return bus * .75;
    default: return bus;
    }
}

// From bus to buffer.
static double share_of_bus(const struct entry *e)
{
    if (e->whole_block && e->algorithm != CLAB_NCCL_RING)
        return 1;
    if (is_nvls(e->algorithm) && is_older(e->tables))
        return 5.0 / 6;
    if (is_nvls(e->algorithm) || e->algorithm == CLAB_NCCL_RING)
        return (double)e->ranks / steps_of(e);
    return .5;
}

// ---- latency -------------------------------------------------------------------------------------------------

static double hop(const struct entry *e, enum clab_nccl_hop kind, enum clab_nccl_algorithm algorithm)
{
    return e->tables->hop[kind][algorithm][e->protocol];
}

// Two hops of NVLink count as PCI.
static enum clab_nccl_hop intra_kind(const struct entry *e)
{
    return e->graph->within == CLAB_NCCL_NVL ? CLAB_NCCL_NVLINK : CLAB_NCCL_PCI;
}

static double intra_hop(const struct entry *e)
{
    return hop(e, intra_kind(e), e->algorithm);
}

// With one GPU a node nothing hides the network, and Simple flushes, which is one more crossing.
static double inter_hop(const struct entry *e)
{
    double net = hop(e, CLAB_NCCL_NET, e->machine->gpus == 1 ? CLAB_NCCL_TREE : e->algorithm);
    return net + e->machine->net_latency * (e->protocol == CLAB_NCCL_SIMPLE ? 2 : 1);
}

// A ring that crosses nodes posts to the network at every step.
static double post_overhead(const struct entry *e)
{
    double once = e->machine->cpu == CLAB_NCCL_AMD ? 2 : 1;
    if (e->machine->nodes == 1)
        return 0;
    return e->protocol == CLAB_NCCL_SIMPLE ? 3 * once : once;
}

static double ring_latency(const struct entry *e)
{
    int nodes = e->machine->nodes, steps = steps_of(e);
    if (e->collective == CLAB_BROADCAST || e->collective == CLAB_REDUCE) {
        enum clab_nccl_hop kind = nodes > 1 ? CLAB_NCCL_NET : intra_kind(e);
        if (e->graph->same_channels)
            return hop(e, kind, CLAB_NCCL_RING);
        return steps * hop(e, kind, e->protocol == CLAB_NCCL_SIMPLE ? CLAB_NCCL_TREE : CLAB_NCCL_RING);
    }
    int crossings = nodes == 1 ? 0 : e->collective == CLAB_ALLREDUCE ? 2 * (nodes - 1) : nodes - 1;
    return (steps - crossings) * fmax(intra_hop(e), post_overhead(e)) + crossings * inter_hop(e);
}

// us, without the base.
static double latency_of(const struct entry *e)
{
    int nodes = e->machine->nodes, others = e->machine->gpus - 1;
    switch (e->algorithm) {
    case CLAB_NCCL_RING: return ring_latency(e);
    case CLAB_NCCL_TREE: return 2 * (others * intra_hop(e) + log2_floor(nodes) * inter_hop(e));
    case CLAB_NCCL_COLLNET_DIRECT: return 2 * ((others ? 1 : 0) * intra_hop(e) + others * .4) + inter_hop(e);
    case CLAB_NCCL_COLLNET_CHAIN: return 2 * others * intra_hop(e) + inter_hop(e);
    case CLAB_NCCL_NVLS: return intra_hop(e) + (nodes > 1 ? inter_hop(e) : 0);
    case CLAB_NCCL_NVLS_TREE: return intra_hop(e) + 2 * log2_floor(nodes) * inter_hop(e);
    default: return log2_floor(nodes) * inter_hop(e) / 3.5 + e->ranks * 2.8; // PAT
    }
}

// ---- the whole -----------------------------------------------------------------------------------------------

static struct clab_nccl_cost cost_of(const struct entry *e)
{
    const char *why = obstacle(e);
    if (why)
        return (struct clab_nccl_cost){.why = why};
    return (struct clab_nccl_cost){
        .latency = e->tables->base[e->algorithm][e->protocol] + latency_of(e),
        .bandwidth = bus_of(e) * share_of_bus(e),
    };
}

int clab_nccl_model(const struct clab_nccl_tables *tables, const struct clab_nccl_machine *machine,
                    enum clab_collective collective, struct clab_nccl_costs *costs_p)
{
    bool whole_block = collective == CLAB_ALLGATHER || collective == CLAB_REDUCE_SCATTER;
    if (!whole_block && collective != CLAB_ALLREDUCE && collective != CLAB_BROADCAST && collective != CLAB_REDUCE)
        return CLAB_EUNSUPPORTED;
    for (int a = 0; a < CLAB_NCCL_ALGORITHMS; a++) {
        struct clab_nccl_graph graph = machine->graphs[a];
        graph.channels = found_channels(machine, (enum clab_nccl_algorithm)a);
        for (int p = 0; p < CLAB_NCCL_PROTOCOLS; p++) {
            struct entry e = {
                .tables = tables,
                .machine = machine,
                .graph = &graph,
                .collective = collective,
                .algorithm = (enum clab_nccl_algorithm)a,
                .protocol = (enum clab_nccl_protocol)p,
                .ranks = machine->nodes * machine->gpus,
                .scale = machine->nodes <= 2 ? machine->nodes - 1 : 2,
                .whole_block = whole_block,
            };
            costs_p->of[a][p] = cost_of(&e);
        }
    }
    return CLAB_OK;
}

// Trees are slower than the formula at middle sizes: NCCL corrects by the size's power of two.
static double correction(const struct clab_nccl_tables *tables, const struct clab_nccl_machine *machine,
                         enum clab_nccl_algorithm algorithm, enum clab_nccl_protocol protocol, size_t bytes)
{
    int power = -1;
    for (size_t n = bytes >> 6; n; n >>= 1)
        power++;
    bool tree = algorithm == CLAB_NCCL_TREE && power < CLAB_NCCL_SIZES - 1;
    bool nvls = algorithm == CLAB_NCCL_NVLS_TREE && power < CLAB_NCCL_SIZES && tables->corrects_nvls_tree &&
                machine->arch == CLAB_NCCL_BLACKWELL && machine->cpu != CLAB_NCCL_OTHER_CPU;
    return power >= 0 && (tree || nvls) ? tables->tree_correction[protocol][power] : 1;
}

// A ring over several nodes has a plateau once every channel has a line to send; a log may not say how many there are.
static double plateau(const struct clab_nccl_machine *machine, enum clab_nccl_algorithm algorithm,
                      enum clab_nccl_protocol protocol, size_t bytes)
{
    size_t lines = (size_t)clab_nccl_channels(machine) * (size_t)(machine->nodes * machine->gpus);
    if (algorithm != CLAB_NCCL_RING || protocol != CLAB_NCCL_SIMPLE || machine->nodes == 1)
        return 1;
    if (lines == 0 || bytes / lines < 64)
        return 1;
    return machine->arch < CLAB_NCCL_AMPERE ? 1.9 : 1.4;
}

double clab_nccl_time(const struct clab_nccl_tables *tables, const struct clab_nccl_machine *machine,
                      enum clab_collective collective, const struct clab_nccl_costs *costs,
                      enum clab_nccl_algorithm algorithm, enum clab_nccl_protocol protocol, size_t bytes)
{
    const struct clab_nccl_cost *cost = &costs->of[algorithm][protocol];
    double bandwidth = cost->bandwidth, latency = cost->latency;
    if (bandwidth <= 0)
        return INFINITY;
    if (collective == CLAB_ALLREDUCE) {
        bandwidth *= correction(tables, machine, algorithm, protocol, bytes);
        latency *= plateau(machine, algorithm, protocol, bytes);
    }
    return latency + (double)bytes / (1e3 * bandwidth);
}

int clab_nccl_choose(const struct clab_nccl_tables *tables, const struct clab_nccl_machine *machine,
                     enum clab_collective collective, const struct clab_nccl_costs *costs, size_t bytes,
                     enum clab_nccl_algorithm *algorithm_p, enum clab_nccl_protocol *protocol_p)
{
    double least = INFINITY;
    for (int a = 0; a < CLAB_NCCL_ALGORITHMS; a++)
        for (int p = 0; p < CLAB_NCCL_PROTOCOLS; p++) {
            double time = clab_nccl_time(tables, machine, collective, costs, (enum clab_nccl_algorithm)a,
                                         (enum clab_nccl_protocol)p, bytes);
            if (time < least) {
                least = time;
                *algorithm_p = (enum clab_nccl_algorithm)a;
                *protocol_p = (enum clab_nccl_protocol)p;
            }
        }
    return isinf(least) ? CLAB_ENOENT : CLAB_OK;
}
