// SPDX-License-Identifier: MIT
// The engine's record and the critical path: recording changes no answer; what is recorded fits together; the pieces of
// the path add up to the predicted time, and are what more expensive bytes and latency would show.

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/err.h"
#include "sim/net/net.h"
#include "sim/engine/record.h"
#include "tests/fixtures/segments.h"
#include "sim/sim.h"
#include "sim/explain/why.h"

// ---- networks ------------------------------------------------------------------------------------------------

enum kind {
    KIND_PLAIN,     // alpha, beta, gamma
    KIND_PROTOCOLS, // eager and rendezvous, over a duplex port
    KIND_CORES,     // in a node the core does it all
    KIND_SOCKETS,   // sockets between nodes, by token buckets
    KIND_TRAINS,    // sockets, whose cores, ports and packets take their time behind and beside the messages
    KIND_MEMORY,    // a node's ranks pull from each other, at what levels say
    KIND_CROWDED,   // the same, and ranks share cores
    KIND_ADAPTERS,  // two ranks share an adapter
    KIND_TREE,      // an oversubscribed fat tree, whose switches cost hops
    KIND_MESH,      // a link of its own for each pair of a node
    KINDS
};

static void set_levels(struct clab_net *net)
{
    net->nlevels = 2;
    for (int i = 0; i < 2; i++) {
        struct clab_level *l = &net->levels[i];
        l->bytes = i ? 1 << 20 : 1 << 12;
        for (int load = 0; load < CLAB_LOADS; load++) {
            l->copy[load] = (0.011 + 0.02 * i + 0.003 * load) * 1e-9;
            l->add[load] = (0.031 + 0.02 * i + 0.004 * load) * 1e-9;
            for (int touch = 0; touch < CLAB_TOUCHES; touch++) {
                l->pull[touch][load] = (0.017 + 0.02 * i + 0.05 * touch + 0.005 * load) * 1e-9;
                l->reduce[touch][load] = (0.029 + 0.02 * i + 0.06 * touch + 0.006 * load) * 1e-9;
            }
        }
    }
}

static void set_segments(struct clab_link *link, const struct clab_segment *first, const struct clab_segment *second)
{
    link->segments[0] = *first;
    link->nsegments = 1;
    if (second)
        link->segments[link->nsegments++] = *second;
}

static struct clab_net make_net(int ranks, enum kind kind)
{
    struct clab_net net = {.name = "test", .ranks_per_node = ranks, .gamma = 0.9e-9};
    struct clab_segment pull = rendezvous;
    net.intra = (struct clab_link){.name = "intra", .present = true, .alpha = 3.4e-6, .beta = 0.31e-9, .nsegments = 1};
    net.inter = (struct clab_link){.name = "inter", .present = true, .alpha = 14e-6, .beta = 1.7e-9, .nsegments = 1};
    net.intra.segments[0] = clab_segment_hockney(net.intra.alpha, net.intra.beta);
    net.inter.segments[0] = clab_segment_hockney(net.inter.alpha, net.inter.beta);
    if (kind > KIND_PLAIN && kind < KIND_ADAPTERS) {
        net.stage = 0.05e-6;
        net.call = 0.33e-6;
        net.lane = 0.01e-6;
        set_segments(&net.inter, &eager, &rendezvous);
    }
    if (kind >= KIND_CORES && kind <= KIND_CROWDED) {
        net.intra.port = CLAB_PORT_CORE;
        set_segments(&net.intra, &eager, &rendezvous);
    }
    if (kind == KIND_SOCKETS) {
        net.inter.burst = 11e-6;
        set_segments(&net.inter, &socket_segment, NULL);
    }
    if (kind == KIND_TRAINS)
        set_segments(&net.inter, &train_segment, NULL);
    if (kind == KIND_MEMORY || kind == KIND_CROWDED) {
        set_levels(&net);
        pull.memory = true;
        pull.gap_send = 0;
        pull.fragment = 512;
        set_segments(&net.intra, &eager, &pull);
    }
    if (kind == KIND_CROWDED)
        net.cores_per_node = 2;
    if (kind == KIND_ADAPTERS)
        net.topology.adapters = (ranks + 1) / 2;
    if (kind == KIND_TREE)
        net.topology =
            (struct clab_topology){.between = CLAB_BETWEEN_FAT_TREE, .leaf = 2, .oversubscription = 3, .hop = 0.7e-6};
    if (kind == KIND_MESH)
        net.topology.inside = CLAB_INSIDE_MESH;
    return net;
}

// ---- running -------------------------------------------------------------------------------------------------

struct recorded_run {
    struct clab_problem problem;
    const struct clab_algorithm *algorithm;
    const struct clab_net *net;
    struct clab_sim_options options;
    struct clab_sim_result result;
    struct clab_record record;
    struct clab_why why;
};

static double seconds_of(const struct recorded_run *run, const struct clab_net *net)
{
    struct clab_sim_options options = run->options;
    struct clab_sim_result result;
    options.record = NULL;
    assert_int_equal(clab_sim_run(&run->problem, run->algorithm, net, &options, &result), CLAB_OK);
    return result.seconds;
}

static void begin_run(struct recorded_run *run)
{
    run->options.element_bytes = 1;
    run->options.record = &run->record;
    assert_int_equal(clab_sim_run(&run->problem, run->algorithm, run->net, &run->options, &run->result), CLAB_OK);
    assert_int_equal(clab_why_find(&run->record, &run->why), CLAB_OK);
}

static void end_run(struct recorded_run *run)
{
    clab_record_free(&run->record);
    clab_why_free(&run->why);
}

static struct recorded_run run_of(enum clab_collective collective, const char *name, int nranks, size_t count,
                                  const struct clab_net *net)
{
    return (struct recorded_run){.problem = {.collective = collective, .nranks = nranks, .lanes = 1, .count = count},
                                 .algorithm = clab_algorithm_find(collective, name),
                                 .net = net};
}

// ---- what holds of all ---------------------------------------------------------------------------------------

// A cause ends when its effect begins, and was there before.
static void assert_caused(const struct clab_record *r)
{
    for (int i = 0; i < r->nitems; i++) {
        const struct clab_record_item *item = &r->items[i];
        if (item->cause != CLAB_RECORD_NONE) {
            assert_in_range(item->cause, 0, i - 1);
            assert_true(r->items[item->cause].end == item->begin);
        } else {
            assert_true(item->begin == 0);
        }
        assert_true(item->end > item->begin || item->did == CLAB_DID_BURST || item->did == CLAB_DID_TRAVEL);
        assert_in_range(item->rank, 0, r->nranks - 1);
    }
}

static void assert_delivered(const struct recorded_run *run)
{
    const struct clab_record *r = &run->record;
    assert_int_equal(r->nmessages, run->result.messages);
    for (int i = 0; i < r->nmessages; i++) {
        const struct clab_record_message *m = &r->messages[i];
        assert_true(m->taken >= m->head && m->taken >= m->posted && m->posted >= 0);
        assert_in_range(m->dst, 0, r->nranks - 1);
    }
}

// The pieces add up to the time, and so do the parts and the rows.
static void assert_adds_up(const struct recorded_run *run)
{
    const struct clab_why *w = &run->why;
    double pieces = 0, rows = 0, parts = 0, near = 1e-11 * run->result.seconds;
    for (int i = 0; i < w->npieces; i++)
        pieces += w->pieces[i].seconds;
    for (int i = 0; i < w->nrows; i++)
        rows += w->rows[i].seconds;
    for (int i = 0; i < CLAB_PART_COUNT; i++)
        parts += w->parts[i];
    if (run->options.calls <= 1 && pieces != run->result.seconds)
        fail_msg("%s of %d: the pieces are %.17g s, the time %.17g s", run->algorithm->name, run->problem.nranks,
                 pieces, run->result.seconds);
    assert_true(fabs(pieces - run->result.seconds) <= near);
    assert_true(fabs(rows - pieces) <= near && fabs(parts - pieces) <= near && fabs(w->seconds - pieces) <= near);
}

static void check_run(struct recorded_run *run)
{
    begin_run(run);
    assert_true(seconds_of(run, run->net) == run->result.seconds);
    assert_caused(&run->record);
    assert_delivered(run);
    assert_adds_up(run);
    end_run(run);
}

static void check_options(const struct recorded_run *like, size_t count)
{
    double delays[16] = {[0] = 3e-6, [1] = 21e-6};
    for (int variant = 0; variant < 6; variant++) {
        struct recorded_run run = *like;
        run.problem.count = run.problem.collective == CLAB_BARRIER ? 0 : count;
        run.options.delays = variant == 1 ? delays : NULL;
        run.options.compute = variant == 2 ? 1.3e-6 : 0;
        run.options.calls = variant == 3 ? 5 : 1;
        run.options.in_place = variant == 4 && run.problem.collective != CLAB_ALLTOALL;
        run.options.busy = false;
        run.problem.lanes = variant == 5 ? 3 : 1;
        if (run.algorithm->supports(&run.problem))
            check_run(&run);
    }
}

static void test_pieces_add_up_for_every_algorithm_on_every_kind_of_network(void **state)
{
    static const int ranks[] = {1, 3, 8, 13}, node_sizes[] = {1, 4};
    for (const struct clab_algorithm *const *a = clab_algorithms; *a; a++)
        for (int p = 0; p < 4; p++)
            for (int kind = 0; kind < KINDS; kind++)
                for (int n = 0; n < 2; n++) {
                    struct clab_net net = make_net(node_sizes[n], (enum kind)kind);
                    struct recorded_run run = {.algorithm = *a, .net = &net};
                    run.problem = (struct clab_problem){
                        .collective = (*a)->collective, .nranks = ranks[p], .lanes = 1, .group = node_sizes[n]};
                    run.options.engine = (p + kind) % 3 == 0 ? CLAB_ENGINE_EVENTS : CLAB_ENGINE_AUTO;
                    check_options(&run, 100);
                    check_options(&run, 4096);
                }
}

static void test_a_folded_record_explains_one_orbit(void **state)
{
    struct clab_net net = make_net(4, KIND_PROTOCOLS);
    struct recorded_run run = run_of(CLAB_ALLREDUCE, "ring", 64, 64 * 100, &net);
    run.options.engine = CLAB_ENGINE_FOLDED;
    begin_run(&run);
    assert_true(run.record.folded);
    assert_int_equal(run.record.nranks, 4);
    assert_true(seconds_of(&run, &net) == run.result.seconds);
    assert_caused(&run.record);
    assert_adds_up(&run);
    end_run(&run);
}

// ---- against prices ------------------------------------------------------------------------------------------

// Time is a convex function of a cost. What the path has of that cost, as a slope, lies between the slopes to either
// side.
static void check_slopes(struct recorded_run *run, double (*part)(const struct clab_why *),
                         void (*scale)(struct clab_net *, double))
{
    const double step = 1e-5;
    struct clab_net more = *run->net, less = *run->net;
    begin_run(run);
    scale(&more, 1 + step);
    scale(&less, 1 - step);
    double up = (seconds_of(run, &more) - run->result.seconds) / step;
    double down = (run->result.seconds - seconds_of(run, &less)) / step, near = 1e-5 * run->result.seconds;
    if (part(&run->why) < down - near || part(&run->why) > up + near)
        fail_msg("%s of %d: the path has %g s, but prices say %g to %g s", run->algorithm->name, run->problem.nranks,
                 part(&run->why), down, up);
    end_run(run);
}

static double bytes_of_inter(const struct clab_why *why)
{
    double seconds = 0;
    for (int i = 0; i < why->npieces; i++)
        if (why->pieces[i].link == 1 && clab_did_part((enum clab_did)why->pieces[i].did) == CLAB_PART_BANDWIDTH)
            seconds += why->pieces[i].seconds;
    return seconds;
}

static void scale_bytes_of_inter(struct clab_net *net, double by)
{
    for (int i = 0; i < net->inter.nsegments; i++) {
        net->inter.segments[i].gap_send *= by;
        net->inter.segments[i].gap_recv *= by;
    }
}

static double latency_of_intra(const struct clab_why *why)
{
    double seconds = 0;
    for (int i = 0; i < why->npieces; i++)
        if (why->pieces[i].link == 0 && clab_did_part((enum clab_did)why->pieces[i].did) == CLAB_PART_LATENCY)
            seconds += why->pieces[i].seconds;
    return seconds;
}

static void scale_latency_of_intra(struct clab_net *net, double by)
{
    for (int i = 0; i < net->intra.nsegments; i++) {
        struct clab_segment *s = &net->intra.segments[i];
        s->o_send *= by;
        s->o_recv *= by;
        s->o_both *= by;
        s->latency *= by;
    }
}

static double reductions(const struct clab_why *why)
{
    return why->parts[CLAB_PART_REDUCE];
}

static void scale_reductions(struct clab_net *net, double by)
{
    net->gamma *= by;
}

static void test_shares_are_what_prices_say(void **state)
{
    static const enum kind kinds[] = {KIND_PLAIN, KIND_PROTOCOLS, KIND_CORES};
    static const int ranks[] = {2, 6, 8, 13};
    for (const struct clab_algorithm *const *a = clab_algorithms; *a; a++)
        for (int k = 0; k < 3; k++)
            for (int p = 0; p < 4; p++) {
                struct clab_net net = make_net(4, kinds[k]);
                struct recorded_run run = {.algorithm = *a, .net = &net, .options = {.engine = CLAB_ENGINE_FULL}};
                run.problem = (struct clab_problem){.collective = (*a)->collective,
                                                    .nranks = ranks[p],
                                                    .lanes = 1,
                                                    .group = 4,
                                                    .count = (*a)->collective == CLAB_BARRIER ? 0 : 5000};
                if (!(*a)->supports(&run.problem))
                    continue;
                check_slopes(&run, bytes_of_inter, scale_bytes_of_inter);
                check_slopes(&run, latency_of_intra, scale_latency_of_intra);
                check_slopes(&run, reductions, scale_reductions);
            }
}

// ---- by hand -------------------------------------------------------------------------------------------------

// Two ranks, 1 s a message and 1 s a byte; rank 1 begins 10 s late. A chain of broadcast from rank 1: it waits for it.
static void test_a_straggler_is_on_the_path(void **state)
{
    struct clab_net net = make_net(1, KIND_PLAIN);
    net.inter.segments[0] = clab_segment_hockney(1, 1);
    const double delays[] = {0, 10};
    struct recorded_run run = run_of(CLAB_BROADCAST, "chain", 2, 4, &net);
    run.problem.root = 1;
    run.options.delays = delays;
    begin_run(&run);
    assert_true(run.result.seconds == 15);
    assert_int_equal(run.why.npieces, 3);
    assert_int_equal(run.why.pieces[0].did, CLAB_DID_DELAY);
    assert_int_equal(run.why.pieces[0].rank, 1);
    assert_true(run.why.parts[CLAB_PART_WAIT] == 10);
    assert_true(run.why.parts[CLAB_PART_LATENCY] == 1);
    assert_true(run.why.parts[CLAB_PART_BANDWIDTH] == 4);
    end_run(&run);
}

// A ring of 4, each stage of a quarter: 6 times the same on the path, of which half reduce.
static void test_alike_pieces_are_one_row(void **state)
{
    struct clab_net net = make_net(1, KIND_PLAIN);
    net.gamma = 0;
    struct recorded_run run = run_of(CLAB_ALLREDUCE, "ring", 4, 400, &net);
    char ranks[CLAB_WHY_TEXT];
    begin_run(&run);
    assert_int_equal(run.why.npieces, 12);
    assert_int_equal(run.why.nrows, 2);
    assert_int_equal(run.why.rows[0].times, 6);
    assert_int_equal(run.why.rows[0].stage_first, 0);
    assert_int_equal(run.why.rows[0].stage_last, 5);
    assert_true(fabs(run.why.rows[0].seconds - 6 * 14e-6) < 1e-15);
    assert_true(fabs(run.why.rows[1].seconds - 600 * 1.7e-9) < 1e-15);
    clab_why_ranks(&run.why, &run.why.rows[0], ranks);
    assert_non_null(strstr(ranks, "→"));
    end_run(&run);
}

static void assert_remedy(struct recorded_run *run, const char *expected, double saves)
{
    char text[CLAB_WHY_TEXT];
    double actual;
    begin_run(run);
    assert_int_equal(clab_why_remedy(&run->problem, run->algorithm, run->net, &run->options, &run->why, text, &actual),
                     CLAB_OK);
    assert_string_equal(text, expected);
    if (fabs(actual - saves) > 1e-9)
        fail_msg("%s saves %.12g, not %.12g", text, actual, saves);
    end_run(run);
}

// alpha 1 s, beta 1 s a byte: of 1 + 4 s, half of 4; of 1 + 1/4, half of 1. A straggler of 10 s outweighs both.
static void test_a_remedy_is_what_it_saves_when_priced_anew(void **state)
{
    struct clab_net net = make_net(1, KIND_PLAIN);
    const double delays[] = {0, 10};
    struct recorded_run run = run_of(CLAB_BROADCAST, "chain", 2, 4, &net);
    net.inter.segments[0] = clab_segment_hockney(1, 1);
    assert_remedy(&run, "halving the beta of inter", 2.0 / 5);
    net.inter.segments[0] = clab_segment_hockney(1, 1.0 / 16);
    assert_remedy(&run, "halving the latency of inter", 0.5 / 1.25);
    run.options.delays = delays;
    run.problem.root = 1;
    assert_remedy(&run, "ranks that begin together", 10 / 11.25);
}

// A wire that is twice as fast carries headers in half the time; cores that copy faster carry bytes in less; and a machine
// with a core for each rank needs no switches.
static void test_a_remedy_knows_headers_and_cores(void **state)
{
    struct clab_net net = make_net(1, KIND_PLAIN);
    struct recorded_run run = run_of(CLAB_BROADCAST, "chain", 2, 4, &net);
    net.inter.segments[0] = (struct clab_segment){
        .up_to = SIZE_MAX, .o_send = 1, .o_recv = 1, .gap = 4, .gap_send = 1, .gap_recv = 1, .buffers = true};
    assert_remedy(&run, "halving the beta of inter", 4.0 / 10);
    net.inter.segments[0].core_recv = 20;
    assert_remedy(&run, "halving what a byte costs a core to copy", 40.0 / 81);
    net.inter.segments[0].core_recv = 0;
    run.options.engine = CLAB_ENGINE_EVENTS;
    net.machine_cores = 1;
    net.switch_cost = 100;
    assert_remedy(&run, "giving each rank a core of its own", 1 - 10 / 102.0);
}

// ---- limits --------------------------------------------------------------------------------------------------

static void test_the_closed_form_is_refused(void **state)
{
    struct clab_net net = make_net(1, KIND_PLAIN);
    struct recorded_run run = run_of(CLAB_ALLREDUCE, "ring", 4, 400, &net);
    run.options = (struct clab_sim_options){.engine = CLAB_ENGINE_CLOSED, .element_bytes = 1, .record = &run.record};
    assert_int_equal(clab_sim_run(&run.problem, run.algorithm, &net, &run.options, &run.result), CLAB_EINVAL);
}

static void test_more_messages_than_a_record_holds_are_refused(void **state)
{
    struct clab_net net = make_net(1, KIND_PLAIN);
    struct recorded_run run = run_of(CLAB_ALLREDUCE, "ring", 800, 800, &net);
    run.options = (struct clab_sim_options){.engine = CLAB_ENGINE_FULL, .element_bytes = 1, .record = &run.record};
    assert_int_equal(clab_sim_run(&run.problem, run.algorithm, &net, &run.options, &run.result), CLAB_EINVAL);
    clab_record_free(&run.record);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_pieces_add_up_for_every_algorithm_on_every_kind_of_network),
        cmocka_unit_test(test_a_folded_record_explains_one_orbit),
        cmocka_unit_test(test_shares_are_what_prices_say),
        cmocka_unit_test(test_a_straggler_is_on_the_path),
        cmocka_unit_test(test_alike_pieces_are_one_row),
        cmocka_unit_test(test_a_remedy_is_what_it_saves_when_priced_anew),
        cmocka_unit_test(test_a_remedy_knows_headers_and_cores),
        cmocka_unit_test(test_the_closed_form_is_refused),
        cmocka_unit_test(test_more_messages_than_a_record_holds_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
