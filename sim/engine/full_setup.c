// SPDX-License-Identifier: MIT
// The memory of the full engine, and what it finds out about its problem and network before it begins.

#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "core/base/err.h"
#include "core/base/log.h"
#include "sim/engine/engine.h"
#include "sim/engine/full.h"
#include "sim/net/members.h"
#include "sim/engine/recorder.h"
#include "core/schedule/formats/listing.h"

// What a core's own cache surely holds.
enum { NEAR_BYTES = 1 << 18 };
// A core that touches more than so many times its own cache finds nothing in it.
enum { OWN_TIMES = 2 };

static int transfers_init(struct full *s)
{
    size_t queues = (size_t)s->nranks * PORTS;
    int nlinks = clab_net_shared_links(s->net, s->reach);
    if (nlinks >= CLAB_SHARED_LINKS) {
        clab_error("network '%s' has too many shared links for %d ranks; --engine full takes each as its own",
                   s->net->name, s->reach);
        return CLAB_EINVAL;
    }
    struct transfers *x = s->transfers = calloc(1, sizeof *x);
    if (!x)
        return CLAB_ENOMEM;
    x->spare = INFLIGHT_NONE;
    x->base = s->nranks * s->problem->lanes;
    x->first = malloc(queues * sizeof *x->first);
    x->last = malloc(queues * sizeof *x->last);
    if (!x->first || !x->last)
        return CLAB_ENOMEM;
    for (size_t i = 0; i < queues; i++)
        x->first[i] = x->last[i] = INFLIGHT_NONE;
    CLAB_TRY(flows_init(&x->flows, nlinks, s->costs.ticks));
    for (int i = 0; i < nlinks; i++)
        x->flows.capacity[i] = clab_net_shared_rate(s->net, s->reach, i);
    return CLAB_OK;
}

static void transfers_free(struct full *s)
{
    if (!s->transfers)
        return;
    flows_free(&s->transfers->flows);
    free(s->transfers->all);
    free(s->transfers->first);
    free(s->transfers->last);
    free(s->transfers);
}

static size_t transfers_bytes(const struct full *s)
{
    const struct transfers *x = s->transfers;
    if (!x)
        return 0;
    return sizeof *x + (size_t)x->room * sizeof *x->all + (size_t)s->nranks * PORTS * 2 * sizeof *x->first +
           (size_t)x->flows.room * sizeof *x->flows.flows +
           (size_t)x->flows.nlinks * 2 * (sizeof *x->flows.capacity + sizeof *x->flows.users);
}

// Zeroed memory whose pages are all there at once: every rank is looked at, and to ask for them one by one takes
// longer. Not in large pages, which a virtual machine's host may have to find anew: that took from 1 to 70 ms for
// 16 MiB.
static char *new_state(size_t bytes)
{
    char *state = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
    return state == MAP_FAILED ? NULL : state;
}

static void free_state(char *state, size_t bytes)
{
    if (state)
        munmap(state, bytes);
}

// Others have just used all that ports let go ahead.
static void use_ports(struct full *s)
{
    double bursts[PORTS] = {ticks_round(s->costs.ticks, s->net->intra.burst),
                            ticks_round(s->costs.ticks, s->net->inter.burst)};
    for (int rank = 0; rank < s->nranks; rank++) {
        struct rank_state *r = full_rank(s, rank, MODE_ANY);
        memcpy(r->tx, bursts, sizeof bursts);
        memcpy(r->rx, bursts, sizeof bursts);
    }
}

// Whether what ports let go ahead depends on what went before.
static bool lets_ahead(const struct clab_net *net)
{
    return net->intra.burst > 0 || net->inter.burst > 0;
}

// Whether it costs anything, at any size, to write lines that a peer has read.
static bool minds_reads(const struct clab_net *net)
{
    for (const struct clab_level *l = net->levels; l < net->levels + net->nlevels; l++)
        for (int load = 0; load < CLAB_LOADS; load++)
            if (l->pull[CLAB_FRESH][load] > l->pull[CLAB_KEPT][load] ||
                l->reduce[CLAB_FRESH][load] > l->reduce[CLAB_KEPT][load] || l->add_fresh[load] > l->add[load] ||
                l->copy_shared[load] > l->copy[load])
                return true;
    return false;
}

// Walks all stages.
static struct copies walk(struct full *s, int rank, int lane)
{
    struct layout *l = full_layout(s, rank, lane);
    struct copies copies = {.walk = layout_first_walk(l)};
    for (int c = layout_next_unwritten(l, 0); c >= 0; c = layout_next_unwritten(l, c + 1))
        copies.aside += slices_bytes(&s->slices, lane, c, 1);
    return copies;
}

// Ranks with one representative (schedule.h) copy the same where their chunks are equal, and it is the first of them.
// Which chunks are early, and which alternate, each rank must find for itself.
static void find_copies(struct full *s, int rank, int lane)
{
    const bool alike = s->algorithm->representative && s->slices.extra[lane] == 0;
    const int first = alike ? s->algorithm->representative(s->problem, 1, rank, rank) : rank;
    struct copies *copies = full_copies(s, rank, lane);
    *copies = *full_copies(s, first, lane);
    if (first == rank || copies->walk.moves_early || copies->walk.alternates)
        *copies = walk(s, rank, lane);
    s->alternates |= copies->walk.alternates;
}

static size_t slots_of(const struct full *s)
{
    return (size_t)s->layout.nchunks + (size_t)s->layout.nscratch;
}

static int allocate_copies(struct full *s, bool in_place)
{
    const size_t lanes = (size_t)s->nranks * (size_t)s->problem->lanes;
    layout_init(&s->layout, s->problem, s->algorithm, in_place);
    s->layout.steps = s->steps;
    s->chunks = calloc(lanes * slots_of(s) + 1, sizeof *s->chunks);
    s->copies = calloc(lanes, sizeof *s->copies);
    if (!s->chunks || !s->copies)
        return CLAB_ENOMEM;
    for (int rank = 0; rank < s->nranks; rank++)
        for (int lane = 0; lane < s->problem->lanes; lane++)
            find_copies(s, rank, lane);
    return cache_state_init(&s->cache, s->nranks, s->problem->lanes, (int)slots_of(s), minds_reads(s->net),
                            s->alternates);
}

static int allocate(struct full *s, const struct clab_sim_options *options)
{
    const struct clab_problem *p = s->problem;
    size_t ranks = (size_t)s->nranks, lanes = ranks * (size_t)p->lanes, width = (size_t)s->algorithm->width(p) + 1;
    s->finish = calloc((size_t)s->calls, sizeof *s->finish);
    s->stride = sizeof(struct rank_state) + (size_t)p->lanes * sizeof(struct lane_state);
    s->state = new_state(ranks * s->stride);
    s->awaited = malloc(lanes * sizeof *s->awaited);
    s->inboxes = aligned_alloc(sizeof *s->inboxes, lanes * sizeof *s->inboxes);
    s->steps = calloc(width, sizeof *s->steps);
    s->arrivals = calloc(width, sizeof *s->arrivals);
    if (!s->finish || !s->state || !s->awaited || !s->inboxes || !s->steps || !s->arrivals)
        return CLAB_ENOMEM;
    CLAB_TRY(inflight_init(&s->inflight));
    CLAB_TRY(corking_init(&s->corking, s->net, s->nranks));
    CLAB_TRY(run_queue_init(&s->run_queue, (int)lanes + 1, p->lanes > 1 || s->timed));
    if (options->busy)
        use_ports(s);
    return s->has_levels ? allocate_copies(s, options->in_place) : CLAB_OK;
}

// How many ranks there are to simulate: those that are their own representatives come first.
static int count_orbits(const struct full *s)
{
    int n = 1;
    while (n < s->problem->nranks && full_representative(s, n, n) == n)
        n++;
    return n;
}

static bool any_waits(const struct clab_link *link)
{
    for (int i = 0; i < link->nsegments; i++)
        if (link->segments[i].waits || link->segments[i].buffers)
            return true;
    return false;
}

static bool net_waits(const struct clab_net *net)
{
    bool any = any_waits(&net->intra) || any_waits(&net->inter) || any_waits(&net->pair);
    for (int i = 0; i < net->ntiers; i++)
        any |= any_waits(&net->tiers[i]);
    return any;
}

// Whether a message costs what its size and link say: no sender waits, nothing has a place, no distance counts.
static bool is_plain(const struct full *s)
{
    const struct clab_topology *topology = &s->net->topology;
    const bool is_far = topology->hop > 0 && !clab_net_is_even(s->net, s->reach);
    return !is_far && topology->inside != CLAB_INSIDE_MESH && s->problem->lanes == 1 && !s->has_levels &&
           !s->has_calcs && !s->has_combines && !net_waits(s->net);
}

// Containers of one machine.
static int share_machine(struct full *s)
{
    const size_t n = (size_t)s->net->machine_cores;
    s->switch_cost = ticks_round(s->costs.ticks, s->net->switch_cost);
    s->costs.armed = s->problem->nranks > s->net->machine_cores ? s->net->arming : 0;
    s->cores = calloc(n, sizeof *s->cores);
    s->owners = calloc(n, sizeof *s->owners);
    if (!s->cores || !s->owners)
        return CLAB_ENOMEM;
    for (int rank = s->problem->nranks - 1; rank >= 0; rank--) // the first of those that share it begins
        s->owners[full_member(s, rank) % (int)n] = rank;
    return CLAB_OK;
}

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

// The largest level that a core's own cache holds whole; 0: none.
static size_t largest_within(const struct clab_net *net)
{
    size_t largest = 0;
    for (int i = 0; i < net->nlevels && net->levels[i].bytes <= net->core_cache; i++)
        largest = net->levels[i].bytes;
    return largest;
}

// A copy or a pull keeps what it writes in the core's first cache, over and over, and streams what it reads: that cache
// holds all of it, or nothing. So a byte costs no more than in the largest level whose probes write less than the cache
// holds, or no less than in the next one. `part`: of a level's bytes, what its probe writes.
static double held(const struct clab_net *net, size_t cost, double value, size_t written, double part)
{
    int above = 0;
    while (above < net->nlevels && (double)net->levels[above].bytes * part < (double)net->first_cache)
        above++;
    if (above == 0 || above == net->nlevels)
        return value;
    const double low = *(const double *)((const char *)&net->levels[above - 1] + cost);
    const double high = *(const double *)((const char *)&net->levels[above] + cost);
    return written < net->first_cache ? fmin(value, low) : fmax(value, high);
}

static void hold(const struct clab_net *net, size_t written, struct clab_level *level)
{
    static const double parts[CLAB_LOADS] = {0.5, 0.25};
    const double shared = level->copy_shared[CLAB_BOTH] - level->copy[CLAB_BOTH];
    for (int load = 0; load < CLAB_LOADS; load++) {
        const size_t copy = offsetof(struct clab_level, copy[load]), pull = offsetof(struct clab_level, pull[0][load]);
        level->copy[load] = held(net, copy, level->copy[load], written, parts[load]);
        level->pull[CLAB_KEPT][load] = held(net, pull, level->pull[CLAB_KEPT][load], written, parts[load]);
    }
    level->copy_shared[CLAB_BOTH] = level->copy[CLAB_BOTH] + shared;
}

// What a byte costs. A level's footprint is what two ranks touch. Where a core's own cache decides, only what that core
// touches counts. In a level's probes one core that works alone touches all of the footprint. If both work, each
// touches half of it; if they add, three fifths. Less than that cache costs no more than the largest level that it holds.
static struct clab_level level_of(const struct clab_net *net, const struct clab_sim_options *options)
{
    const size_t core = options->core_footprint, within = core > 0 && core < net->core_cache ? largest_within(net) : 0;
    const size_t all = within > 0 ? least(within, options->footprint) : options->footprint;
    if (core == 0 || core > OWN_TIMES * net->core_cache)
        return clab_net_level(net, all);
    const struct clab_level alone = clab_net_level(net, least(all, core)),
                            both = clab_net_level(net, least(all, 2 * core)),
                            sums = clab_net_level(net, least(all, core + 2 * core / 3));
    struct clab_level level = alone;
    level.copy[CLAB_BOTH] = both.copy[CLAB_BOTH];
    level.copy_shared[CLAB_BOTH] = both.copy_shared[CLAB_BOTH];
    level.add[CLAB_BOTH] = both.add[CLAB_BOTH];
    level.add_fresh[CLAB_BOTH] = both.add_fresh[CLAB_BOTH];
    for (int touch = 0; touch < CLAB_TOUCHES; touch++) {
        level.pull[touch][CLAB_BOTH] = both.pull[touch][CLAB_BOTH];
        level.reduce[touch][CLAB_BOTH] = sums.reduce[touch][CLAB_BOTH];
    }
    return level;
}

int full_init(struct full *s, const struct clab_sim_options *options)
{
    const struct clab_net *net = s->net;
    int per_node = net->ranks_per_node;
    s->nranks = s->period ? count_orbits(s) : s->problem->nranks;
    s->stop = -1;
    s->members = options->members;
    s->reach = clab_members_reach(s->members, s->problem->nranks);
    const bool is_simple = net->ntiers == 0 && net->topology.inside != CLAB_INSIDE_PAIRS;
    s->around = !is_simple ? NULL : per_node == 1 ? &net->inter : s->reach <= per_node ? &net->intra : NULL;
    s->node_shift = !is_simple || s->members || (per_node & (per_node - 1)) ? -1 : __builtin_ctz((unsigned)per_node);
    s->costs = (struct loggp_costs){.ticks = ticks_for(clab_engine_estimate(s->problem, s->algorithm, net, options)),
                                    .net = net};
    s->level = level_of(net, options);
    if (net->first_cache > 0 && options->core_footprint > 0)
        hold(net, options->core_writes, &s->level);
    s->bypasses = net->shared_cache > 0 && options->footprint / 2 >= net->shared_cache;
    s->call_cost = ticks_round(s->costs.ticks, net->call);
    s->wait_cost = ticks_round(s->costs.ticks, net->wait);
    s->compute = ticks_round(s->costs.ticks, options->compute);
    s->delays = options->delays;
    s->ends = options->ends;
    s->stage_cost = ticks_round(s->costs.ticks, net->stage);
    s->lane_cost = s->problem->lanes > 1 ? ticks_round(s->costs.ticks, net->lane) : 0;
    s->has_levels = net->nlevels > 0;
    s->busy = options->busy;
    s->pause = ticks_round(s->costs.ticks, options->pause);
    if (s->busy && !s->period && !options->record && lets_ahead(net))
        s->warming = s->nranks;
    s->has_calcs = s->problem->listing && s->problem->listing->calc > 0;
    s->has_combines = s->problem->listing && s->problem->listing->combines;
    bool shares_links = s->timed && clab_net_shares_links(net, s->reach);
    bool shares_cores = s->timed && clab_net_shares_cores(net, s->reach);
    bool shares_machine = s->timed && !shares_cores && clab_net_shares_machine(net, s->members, s->problem->nranks);
    bool plain = !shares_links && !shares_cores && !shares_machine && is_plain(s);
    s->mode = !plain || options->record ? MODE_ANY : s->timed ? MODE_TIMED : MODE_PLAIN;
    s->calls = options->calls > 1 ? options->calls : 1;
    s->is_wide =
        s->mode == MODE_PLAIN && s->nranks * (sizeof(struct rank_state) + sizeof(struct lane_state)) > NEAR_BYTES;
    slices_init(&s->slices, s->problem, s->algorithm->chunks(s->problem), options->element_bytes);
    CLAB_TRY(allocate(s, options));
    if (shares_cores) {
        size_t nodes = (size_t)((s->reach + per_node - 1) / per_node);
        if (!(s->cores = calloc(nodes * (size_t)net->cores_per_node, sizeof *s->cores)))
            return CLAB_ENOMEM;
    }
    if (shares_machine)
        CLAB_TRY(share_machine(s));
    if (options->record)
        CLAB_TRY(recorder_open(s, options->record));
    return shares_links ? transfers_init(s) : CLAB_OK;
}

size_t full_bytes(const struct full *s)
{
    size_t ranks = (size_t)s->nranks, lanes = ranks * (size_t)s->problem->lanes;
    size_t width = (size_t)s->algorithm->width(s->problem) + 1;
    return ranks * s->stride + width * (sizeof *s->steps + sizeof *s->arrivals) +
           lanes * (sizeof *s->run_queue.items + sizeof *s->awaited + sizeof *s->inboxes) +
           inflight_bytes(&s->inflight) + transfers_bytes(s) + cache_state_bytes(&s->cache, s->nranks) +
           corking_bytes(&s->corking) +
           (s->has_levels ? lanes * (slots_of(s) * sizeof *s->chunks + sizeof *s->copies) : 0);
}

void full_free(struct full *s)
{
    recorder_close(s);
    transfers_free(s);
    free(s->cores);
    free(s->owners);
    cache_state_free(&s->cache);
    corking_free(&s->corking);
    run_queue_free(&s->run_queue);
    inflight_free(&s->inflight);
    free(s->copies);
    free(s->chunks);
    free(s->arrivals);
    free(s->steps);
    free(s->awaited);
    free(s->inboxes);
    free_state(s->state, (size_t)s->nranks * s->stride);
    free(s->finish);
}
