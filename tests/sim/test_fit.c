// SPDX-License-Identifier: MIT
// The estimation: from samples of a known machine its parameters come back; rounds, placements and files.

#include "tests/fixtures/fit_samples.h"

static const struct clab_protocols protocols = {
    .memory = true, .inline_bytes = 48, .lines_bytes = 128, .pull_bytes = 2048};
static const struct clab_fit_link memory = {.protocols = &protocols};

// A machine that is made up, in seconds and seconds a byte.
static const struct clab_segment known[] = {
    {.o_send = 25e-9, .o_recv = 27e-9, .latency = 12e-9, .o_both = 8e-9},
    {.o_send = 26e-9, .o_recv = 30e-9, .latency = 11e-9, .o_both = 9e-9, .gap_send = 0.06e-9, .gap_recv = 0.07e-9},
    {.o_send = 26e-9, .o_recv = 30e-9, .latency = 11e-9, .o_both = 9e-9, .gap_send = 0.06e-9, .gap_recv = 0.07e-9},
    {.o_send = 29e-9,
     .o_recv = 33e-9,
     .latency = 11e-9,
     .o_both = 9e-9,
     .gap_send = 0.06e-9 - 3e-9 / 256,
     .gap_recv = 0.07e-9 - 3e-9 / 256,
     .gap_both = 0.01e-9},
    {.o_send = 40e-9, .o_recv = 55e-9, .latency = 80e-9, .o_both = 9e-9, .gap_send = 0.02e-9, .gap_recv = 0.09e-9},
    {.o_send = 25e-9, .o_recv = 45e-9, .latency = 20e-9, .o_both = 16e-9, .o_joined = 10e-9},
};
enum { SEGMENTS = sizeof known / sizeof *known, PULLED = SEGMENTS - 1 };
static const double pull_small = 0.01e-9; // s/B of kept data in messages of 2 to 16 KiB
static const double empty_lane = 4e-9, waited = 6e-9;

static double fixed(const struct clab_segment *k)
{
    return k->o_send + k->latency + k->o_recv;
}

static void add_small(struct samples *s, size_t bytes)
{
    static const size_t up_to[] = {48, 128, 255, 1024, 2047};
    int segment = 0;
    while (segment < PULLED && bytes > up_to[segment])
        segment++;
    const struct clab_segment *k = &known[segment];
    double m = (double)bytes, way = fixed(k) + m * (k->gap_send + k->gap_recv);
    bool pulled = segment == PULLED;
    if (pulled)
        way += m * pull_small;
    else
        add(s, CLAB_PROBE_POST, bytes, CLAB_KEPT, CLAB_ALONE, k->o_send + m * k->gap_send);
    double stream = pulled ? way + k->latency : k->o_recv + m * k->gap_recv;
    add(s, CLAB_PROBE_STREAM, bytes, CLAB_KEPT, CLAB_ALONE, stream + empty_call);
    add(s, CLAB_PROBE_PINGPONG, bytes, CLAB_KEPT, CLAB_ALONE, way);
    add(s, CLAB_PROBE_EXCHANGE, bytes, CLAB_KEPT, CLAB_BOTH,
        way + k->o_both + m * k->gap_both + (pulled ? k->latency : 0) + empty_call);
}

// A peer's sums: in one level they cost less than what nobody has written.
static double summed(size_t bytes, int load)
{
    return cost(bytes, 1, CLAB_FRESH, load) * (bytes == 1 << 20 ? 1.5 : bytes == 2048 ? 0.1 : 0.5);
}

// A copy to where both have read: in one level it seems to cost less than any other.
static double home(size_t bytes)
{
    return bytes == 32768 ? 1e-12 : cost(bytes, 1, CLAB_FRESH, CLAB_BOTH);
}

static void add_level(struct samples *s, size_t bytes)
{
    const struct clab_segment *k = &known[PULLED];
    double m = (double)bytes;
    for (int load = 0; load < CLAB_LOADS; load++) {
        double both = load == CLAB_BOTH ? k->o_both : 0;
        add_to_level(s, CLAB_PROBE_COPY, bytes, CLAB_KEPT, load, m * cost(bytes, 0, 0, load));
        add_to_level(s, CLAB_PROBE_SUM, bytes, CLAB_KEPT, load, m * 30e-12);
        add_to_level(s, CLAB_PROBE_SUMMED, bytes, CLAB_FRESH, load,
                     m * 30e-12 + fixed(k) + k->latency + both + m * summed(bytes, load) + empty_call);
        if (load == CLAB_BOTH)
            add_to_level(s, CLAB_PROBE_HOME, bytes, CLAB_FRESH, load,
                         fixed(k) + k->latency + both + empty_call +
                             m * (cost(bytes, 1, CLAB_KEPT, load) + cost(bytes, 0, 0, load) / 2 + home(bytes)));
        add_to_level(s, CLAB_PROBE_REDUCE, bytes, CLAB_KEPT, load,
                     fixed(k) + k->latency + both + m * cost(bytes, 2, 0, load) + empty_call);
        for (int touch = 0; touch < CLAB_TOUCHES; touch++) {
            // A round trip of fresh data is not told that it was fetched, and has no call.
            double told = touch == CLAB_FRESH && load == CLAB_ALONE ? 0 : k->latency + empty_call;
            add_to_level(s, CLAB_PROBE_PULL, bytes, touch, load,
                         fixed(k) + told + both + m * cost(bytes, 1, touch, load));
            add_to_level(s, CLAB_PROBE_ADD, bytes, touch, load,
                         fixed(k) + told + both + m * cost(bytes, 3, touch, load));
        }
    }
}

// All lanes at once, of which the sender is told once. All messages but the first have come when they are looked at.
static void add_pulls_on_lanes(struct samples *s, size_t bytes)
{
    const struct clab_segment *k = &known[PULLED];
    const double n = CLAB_FIT_LANES, each = k->o_recv + lane + empty_lane + (double)bytes * pull_small;
    add(s, CLAB_PROBE_LANES, bytes, CLAB_KEPT, CLAB_ALONE,
        (k->o_send + 2 * k->latency + n * each - (n - 1) * k->o_joined + empty_call) / n);
}

static const size_t small_sizes[] = {8, 24, 48, 64, 128, 160, 192, 256, 512, 1024, 1536, 2044, 3072, 4096, 8192, 16384};
static const size_t level_sizes[] = {2048, 32768, 1 << 20, 1 << 24};

static struct samples make_samples(void)
{
    struct samples s = {.n = 0};
    add(&s, CLAB_PROBE_CALL, 0, CLAB_KEPT, CLAB_ALONE, empty_call);
    add(&s, CLAB_PROBE_ANSWER, 8, CLAB_KEPT, CLAB_ALONE, fixed(&known[0]) + empty_call + waited);
    add(&s, CLAB_PROBE_STAGES, 0, CLAB_KEPT, CLAB_ALONE, call + 6 * stage); // a tree of one rank has six
    add(&s, CLAB_PROBE_LANED, 0, CLAB_KEPT, CLAB_ALONE, empty_call + (CLAB_FIT_LANES - 1) * (empty_lane + stage));
    add(&s, CLAB_PROBE_LANES, 8, CLAB_KEPT, CLAB_ALONE, known[0].o_recv + lane + empty_call / CLAB_FIT_LANES);
    add_pulls_on_lanes(&s, 2048);
    for (size_t i = 0; i < sizeof small_sizes / sizeof *small_sizes; i++)
        add_small(&s, small_sizes[i]);
    for (size_t i = 0; i < sizeof level_sizes / sizeof *level_sizes; i++)
        add_level(&s, level_sizes[i]);
    return s;
}

static void test_fit_recovers_the_segments(void **state)
{
    struct samples s = make_samples();
    struct clab_net net;
    assert_int_equal(clab_fit_round(s.all, s.n, &memory, &net), CLAB_OK);
    assert_close(net.call, call);
    assert_close(net.stage, stage);
    assert_close(net.wait, waited);
    assert_close(net.lane, lane + empty_lane);
    assert_int_equal(net.intra.nsegments, SEGMENTS);
    for (int i = 0; i < SEGMENTS; i++) {
        const struct clab_segment *found = &net.intra.segments[i];
        assert_close(found->o_send, known[i].o_send);
        assert_close(found->o_recv, known[i].o_recv);
        assert_close(found->o_both, known[i].o_both);
        assert_close(found->latency, known[i].latency);
        assert_close(found->gap_send, known[i].gap_send);
        assert_close(found->gap_recv, known[i].gap_recv);
        assert_close(found->gap_both, known[i].gap_both);
        assert_close(found->o_joined, known[i].o_joined);
    }
    assert_int_equal(net.intra.segments[0].up_to, 48);
    assert_int_equal(net.intra.segments[1].up_to, 128);
    assert_int_equal(net.intra.segments[2].up_to, 255);
    assert_int_equal(net.intra.segments[3].up_to, 1024);
    assert_int_equal(net.intra.segments[4].up_to, 2047);
    const struct clab_segment *pull = &net.intra.segments[PULLED];
    assert_true(pull->up_to == SIZE_MAX && pull->waits && pull->memory);
}

// A sum of short messages takes longer by what is fixed of it.
static void test_fit_recovers_what_short_sums_cost(void **state)
{
    struct samples s = make_samples();
    struct clab_net net;
    add(&s, CLAB_PROBE_REDUCE, 128, CLAB_KEPT, CLAB_ALONE, known[1].o_recv + 128 * known[1].gap_recv + empty_call + 6e-9);
    assert_int_equal(clab_fit_round(s.all, s.n, &memory, &net), CLAB_OK);
    assert_close(net.intra.segments[1].o_reduce, 6e-9);
    assert_true(net.intra.segments[0].o_reduce == 0 && net.intra.segments[PULLED].o_reduce == 0);
}

static void test_fit_recovers_the_levels(void **state)
{
    struct samples s = make_samples();
    struct clab_net net;
    assert_int_equal(clab_fit_round(s.all, s.n, &memory, &net), CLAB_OK);
    assert_int_equal(net.nlevels, sizeof level_sizes / sizeof *level_sizes);
    for (int i = 0; i < net.nlevels; i++) {
        const struct clab_level *level = &net.levels[i];
        assert_int_equal(level->bytes, 4 * level_sizes[i]);
        for (int load = 0; load < CLAB_LOADS; load++) {
            assert_close(level->copy[load], cost(level_sizes[i], 0, 0, load));
            assert_close(level->add[load], cost(level_sizes[i], 3, 0, load));
            assert_close(level->add_fresh[load], cost(level_sizes[i], 3, CLAB_FRESH, load));
            // A sum that is read takes what pulled sums cost more than kept data, beside a reduction of less memory.
            const double more = summed(level_sizes[i], load) - cost(level_sizes[i], 1, CLAB_KEPT, load);
            const double kept = cost(level_sizes[i], 2, CLAB_KEPT, load),
                         less = i > 0 ? cost(level_sizes[i - 1], 2, CLAB_KEPT, load) : kept;
            assert_close(level->reduce[CLAB_KEPT][load], kept);
            assert_close(level->reduce[CLAB_FRESH][load], fmax(kept, less + (more > 0 ? more : 0)));
            if (load == CLAB_BOTH)
                assert_close(level->copy_shared[load], fmax(level->copy[load], home(level_sizes[i])));
            for (int touch = 0; touch < CLAB_TOUCHES; touch++)
                assert_close(level->pull[touch][load], cost(level_sizes[i], 1, touch, load));
        }
    }
    assert_close(net.intra.alpha, 64e-9);
    assert_close(net.gamma, 7e-12); // at 4 MiB: 24 - 17
}

// The engine turns the fit around: a probe's own pattern takes the probe's time.
static void test_fit_predicts_its_own_probes(void **state)
{
    struct samples s = make_samples();
    struct clab_net net;
    struct clab_sim_result result;
    assert_int_equal(clab_fit_round(s.all, s.n, &memory, &net), CLAB_OK);
    net.ranks_per_node = 2;
    struct clab_sim_options options = {.engine = CLAB_ENGINE_FULL, .element_bytes = 1};
    struct clab_problem shift = {.collective = CLAB_SENDRECV, .nranks = 2, .lanes = 1, .count = 8};
    const struct clab_algorithm *algorithm = clab_algorithm_find(CLAB_SENDRECV, "shift");
    assert_int_equal(clab_sim_run(&shift, algorithm, &net, &options, &result), CLAB_OK);
    assert_close(result.seconds, call + stage + 72e-9); // EXCHANGE of 8 bytes
    shift.count = 32768;
    options.footprint = 4 * 32768;
    assert_int_equal(clab_sim_run(&shift, algorithm, &net, &options, &result), CLAB_OK);
    assert_close(result.seconds, call + stage + fixed(&known[PULLED]) + 20e-9 + 16e-9 + 32768 * 20e-12);
}

static void test_fit_names_the_probe_that_is_missing(void **state)
{
    struct samples s = make_samples();
    for (int drop = 0; drop < s.n; drop++) {
        struct samples less = s;
        struct clab_net net = {.nodes = -1};
        less.all[drop] = less.all[--less.n];
        bool one_of_many = s.all[drop].probe >= CLAB_PROBE_POST && s.all[drop].probe <= CLAB_PROBE_EXCHANGE;
        if (one_of_many)
            continue; // a line through the others is there
        int err = clab_fit_round(less.all, less.n, &memory, &net);
        if (s.all[drop].probe == CLAB_PROBE_COPY && s.all[drop].load == CLAB_ALONE && err == CLAB_OK)
            fail_msg("no copy of %zu bytes alone, and no error", s.all[drop].bytes);
        assert_int_equal(err, CLAB_EINVAL);
        assert_int_equal(net.nodes, -1); // written only on success
    }
}

static void test_fit_combines_rounds_by_their_median(void **state)
{
    struct samples s = make_samples();
    struct clab_net rounds[9];
    struct clab_fit fit;
    for (int i = 0; i < 9; i++) {
        assert_int_equal(clab_fit_round(s.all, s.n, &memory, &rounds[i]), CLAB_OK);
        rounds[i].call = (i + 1) * 1e-9;
        rounds[i].levels[0].pull[CLAB_FRESH][CLAB_BOTH] = i == 4 ? 1 : 2;
    }
    assert_int_equal(clab_fit_combine(rounds, 9, &fit), CLAB_OK);
    assert_close(fit.median.call, 5e-9);
    assert_true(fit.low.call >= 1e-9 && fit.low.call <= 3e-9 && fit.high.call >= 7e-9 && fit.high.call <= 9e-9);
    assert_close(fit.median.levels[0].pull[CLAB_FRESH][CLAB_BOTH], 2.0);
    assert_int_equal(fit.median.nlevels, rounds[0].nlevels);
    assert_int_equal(clab_fit_combine(rounds, 0, &fit), CLAB_EINVAL);
}

// One level's kept costs were measured beside a neighbour: those of the next larger say more. Fresh data has another
// order, and a larger level may cost more.
static void test_fit_asks_no_more_of_less_memory(void **state)
{
    struct samples s = make_samples();
    struct clab_net rounds[3], *round = &rounds[0];
    struct clab_fit fit;
    assert_int_equal(clab_fit_round(s.all, s.n, &memory, round), CLAB_OK);
    round->levels[1].copy[CLAB_ALONE] = round->levels[1].add[CLAB_BOTH] = 45e-12;
    round->levels[1].pull[CLAB_KEPT][CLAB_BOTH] = round->levels[0].reduce[CLAB_KEPT][CLAB_ALONE] = 45e-12;
    const double fresh = 1.9 * round->levels[0].pull[CLAB_FRESH][CLAB_ALONE];
    round->levels[1].pull[CLAB_FRESH][CLAB_ALONE] = fresh;
    rounds[1] = rounds[2] = *round;
    rounds[2].levels[2].copy[CLAB_ALONE] += 1e-12;
    assert_int_equal(clab_fit_combine(rounds, 3, &fit), CLAB_OK);
    const struct clab_level *l = fit.median.levels;
    assert_close(l[1].copy[CLAB_ALONE], cost(1 << 20, 0, 0, CLAB_ALONE));
    assert_close(l[1].add[CLAB_BOTH], cost(1 << 20, 3, 0, CLAB_BOTH));
    assert_close(l[1].pull[CLAB_KEPT][CLAB_BOTH], cost(1 << 20, 1, CLAB_KEPT, CLAB_BOTH));
    assert_close(l[0].reduce[CLAB_KEPT][CLAB_ALONE], cost(32768, 2, CLAB_KEPT, CLAB_ALONE));
    assert_close(l[1].pull[CLAB_FRESH][CLAB_ALONE], fresh);
    assert_close(l[2].copy[CLAB_ALONE], cost(1 << 20, 0, 0, CLAB_ALONE));
    assert_close(l[3].copy[CLAB_ALONE], cost(1 << 24, 0, 0, CLAB_ALONE));
    assert_true(fit.low.levels[1].copy[CLAB_ALONE] == fit.low.levels[2].copy[CLAB_ALONE]); // with its interval
    assert_true(fit.high.levels[1].copy[CLAB_ALONE] == fit.high.levels[2].copy[CLAB_ALONE]);
}

// One level's fresh costs were measured while another program had a core: the smaller level, or kept data, says more.
static void test_fit_lets_fresh_data_not_jump(void **state)
{
    struct samples s = make_samples();
    struct clab_net rounds[3], *round = &rounds[0];
    struct clab_fit fit;
    assert_int_equal(clab_fit_round(s.all, s.n, &memory, round), CLAB_OK);
    const struct clab_level before = round->levels[1], here = round->levels[2];
    round->levels[2].pull[CLAB_FRESH][CLAB_ALONE] = round->levels[2].reduce[CLAB_FRESH][CLAB_BOTH] = 900e-12;
    round->levels[2].copy_shared[CLAB_BOTH] = round->levels[2].add_fresh[CLAB_ALONE] = 900e-12;
    rounds[1] = rounds[2] = *round;
    assert_int_equal(clab_fit_combine(rounds, 3, &fit), CLAB_OK);
    const struct clab_level *l = &fit.median.levels[2];
    assert_close(l->pull[CLAB_FRESH][CLAB_ALONE],
                 fmax(before.pull[CLAB_FRESH][CLAB_ALONE], here.pull[CLAB_KEPT][CLAB_ALONE]));
    assert_close(l->reduce[CLAB_FRESH][CLAB_BOTH],
                 fmax(before.reduce[CLAB_FRESH][CLAB_BOTH], here.reduce[CLAB_KEPT][CLAB_BOTH]));
    assert_close(l->copy_shared[CLAB_BOTH], fmax(before.copy_shared[CLAB_BOTH], here.copy[CLAB_BOTH]));
    assert_close(l->add_fresh[CLAB_ALONE], fmax(before.add_fresh[CLAB_ALONE], here.add[CLAB_ALONE]));
    assert_close(l->pull[CLAB_FRESH][CLAB_BOTH], here.pull[CLAB_FRESH][CLAB_BOTH]);
    assert_close(fit.high.levels[2].pull[CLAB_FRESH][CLAB_ALONE], l->pull[CLAB_FRESH][CLAB_ALONE]);
}

static void test_fit_noise_is_the_median_spread(void **state)
{
    // Quartiles of 1 2 3 4 5 are 2 and 4: a spread of 1 / 3. The second probe has none, the third 10 times the first's.
    const double seconds[] = {1, 7, 10, 2, 7, 20, 3, 7, 30, 4, 7, 40, 5, 7, 50};
    double noise;
    assert_int_equal(clab_fit_noise(seconds, 5, 3, &noise), CLAB_OK);
    assert_close(noise, 1.0 / 3);
    assert_int_equal(clab_fit_noise(seconds, 1, 3, &noise), CLAB_EINVAL);
}

static const char *const no_remarks[] = {NULL};

// Of one round of samples.
static struct clab_fit make_fit(const char *processor)
{
    const struct samples s = make_samples();
    struct clab_net round;
    struct clab_fit fit;
    assert_int_equal(clab_fit_round(s.all, s.n, &memory, &round), CLAB_OK);
    assert_int_equal(clab_fit_combine(&round, 1, &fit), CLAB_OK);
    strcpy(fit.median.title, "x");
    strcpy(fit.median.machine, processor);
    strcpy(fit.median.date, "never");
    return fit;
}

static void test_fit_writes_what_the_simulator_reads(void **state)
{
    needs_inih();
    struct clab_fit fit = make_fit("none");
    struct clab_net *net;
    char folder[] = "/tmp/commlab-fit-XXXXXX", path[64], other[64];
    const char *const remarks[] = {"made up", NULL};
    assert_non_null(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/a.net", folder);
    snprintf(other, sizeof other, "%s/b.net", folder);
    strcpy(fit.median.title, "a made-up machine");
    fit.median.probed.line = 280e-9;
    fit.median.compute = (struct clab_compute){.present = true, .flops[CLAB_FP32] = 135.25e9, .memory = 20e-12};
    assert_int_equal(clab_fit_write(&fit, remarks, other), CLAB_OK);
    fit.median.probed.line = 95e-9;
    fit.median.noise = 0.0125;
    strcpy(fit.median.other_name, "b.net");
    assert_int_equal(clab_fit_write(&fit, remarks, path), CLAB_OK);
    assert_int_equal(clab_net_load(path, &net), CLAB_OK);
    assert_string_equal(net->title, "a made-up machine");
    assert_true(net->noise == 0.0125);
    assert_true(net->compute.present && fabs(net->compute.flops[CLAB_FP32] / 135.25e9 - 1) < 1e-3);
    assert_true(fabs(net->compute.memory / 20e-12 - 1) < 1e-3);
    assert_int_equal(net->nlevels, fit.median.nlevels);
    assert_true(fabs(net->call / call - 1) < 1e-3);
    assert_true(fabs(net->intra.segments[1].gap_recv / known[1].gap_recv - 1) < 1e-3);
    const struct clab_segment *pull = &net->intra.segments[PULLED];
    assert_true(pull->waits && pull->memory && net->intra.port == CLAB_PORT_CORE);
    assert_true(fabs(net->levels[3].add[CLAB_BOTH] / fit.median.levels[3].add[CLAB_BOTH] - 1) < 1e-3);
    assert_true(fabs(net->levels[3].add_fresh[CLAB_BOTH] / fit.median.levels[3].add_fresh[CLAB_BOTH] - 1) < 1e-3);
    assert_true(fabs(net->levels[3].copy_shared[CLAB_BOTH] / fit.median.levels[3].copy_shared[CLAB_BOTH] - 1) < 1e-3);
    // The placement is chosen by the line.
    struct clab_net placed;
    assert_non_null(net->other);
    clab_net_place(net, (struct clab_placement_sample){.line = 0}, &placed);
    assert_true(placed.probed.line == net->probed.line);
    clab_net_place(net, (struct clab_placement_sample){.line = 110e-9}, &placed);
    assert_true(placed.probed.line == net->probed.line);
    clab_net_place(net, (struct clab_placement_sample){.line = 250e-9}, &placed);
    assert_true(placed.probed.line == net->other->probed.line);
    clab_net_free(net);
    // A profile that was copied without it is good for the rest.
    unlink(other);
    const struct capture log = capture_begin(STDERR_FILENO);
    const int err = clab_net_load(path, &net);
    const char *said = capture_end(log);
    assert_int_equal(err, CLAB_OK);
    assert_non_null(strstr(said, "b.net, is not there"));
    assert_ptr_equal(strchr(said, '\n'), strrchr(said, '\n'));
    assert_null(net->other);
    assert_ptr_equal(clab_net_placed(net, (struct clab_placement_sample){.line = 250e-9}), net);
    clab_net_free(net);
    unlink(path);
    rmdir(folder);
}

static void test_fit_refuses_a_probe_without_a_time(void **state)
{
    struct samples s = make_samples();
    struct clab_net net = {.name = "untouched"};
    for (int i = 0; i < s.n; i += 7) {
        const double good = s.all[i].seconds;
        const double bad[] = {INFINITY, NAN};
        for (int k = 0; k < 2; k++) {
            s.all[i].seconds = bad[k];
            struct clab_log_held held;
            clab_log_hold(&held);
            assert_int_equal(clab_fit_round(s.all, s.n, &memory, &net), CLAB_EINVAL);
            clab_log_release(&held);
            assert_non_null(strstr(held.text, clab_probe_name(s.all[i].probe)));
            assert_non_null(strstr(held.text, "--seconds"));
        }
        s.all[i].seconds = good;
    }
    assert_string_equal(net.name, "untouched");
}

// The profile that was there stays as it was.
static void test_fit_writes_no_profile_that_the_reader_refuses(void **state)
{
    needs_inih();
    struct clab_fit fit = make_fit("x");
    char path[] = "/tmp/commlab-fit-XXXXXX", text[16] = "";
    const int file = mkstemp(path);
    assert_true(file >= 0 && write(file, "before", 6) == 6);
    assert_int_equal(clab_fit_check(&fit, path), CLAB_OK);
    const double bad[] = {INFINITY, NAN, -1e-12};
    for (int i = 0; i < 3; i++) {
        struct clab_log_held held;
        fit.median.levels[2].reduce[CLAB_FRESH][CLAB_ALONE] = bad[i];
        clab_log_hold(&held);
        assert_int_equal(clab_fit_write(&fit, no_remarks, path), CLAB_EINVAL);
        clab_log_release(&held);
        assert_non_null(strstr(held.text, "reduce_fresh = "));
        assert_non_null(strstr(held.text, "no profile is written, since it would be refused"));
    }
    assert_int_equal(pread(file, text, sizeof text - 1, 0), 6);
    assert_string_equal(text, "before");
    close(file);
    unlink(path);
}

// What a profile of it says; its text is freed by the caller.
static struct clab_net *read_back(const struct clab_fit *fit, char **text_p)
{
    struct clab_net *net;
    size_t size;
    FILE *file = open_memstream(text_p, &size);
    clab_fit_print(file, fit, no_remarks);
    fclose(file);
    file = fmemopen(*text_p, size, "r");
    assert_int_equal(clab_net_read(file, "a.net", &net), CLAB_OK);
    fclose(file);
    return net;
}

// A wire that streams has a fragment of 0, a processor's name may have a semicolon, and both are read as they were.
static void test_fit_writes_what_means_something_else_when_left_out(void **state)
{
    needs_inih();
    struct clab_fit fit = make_fit("a processor ; of two cores");
    char *text;
    fit.median.intra.segments[0].fragment = 0;
    fit.median.intra.segments[1].fragment = SIZE_MAX;
    struct clab_net *net = read_back(&fit, &text);
    free(text);
    assert_string_equal(net->machine, "a processor , of two cores");
    assert_true(net->intra.segments[0].fragment == 0);
    assert_true(net->intra.segments[1].fragment == SIZE_MAX);
    clab_net_free(net);
}

// What is -0, or would be after its digits were cut, is 0 to the reader, which takes no sign.
static void test_fit_writes_no_minus_before_a_zero(void **state)
{
    needs_inih();
    struct clab_fit fit = make_fit("y");
    char *text;
    fit.median.call = fit.low.call = fit.high.call = -0.;
    fit.median.intra.segments[0].latency = fit.low.intra.segments[0].latency = -0.;
    fit.median.levels[0].copy[CLAB_ALONE] = -0.;
    fit.median.noise = -1e-9;
    struct clab_net *net = read_back(&fit, &text);
    for (const char *at = text; (at = strstr(at, "-0")); at++)
        assert_false(at > text && strchr(" =", at[-1]));
    free(text);
    assert_true(net->call == 0 && net->intra.segments[0].latency == 0 && net->noise == 0);
    clab_net_free(net);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_fit_writes_no_minus_before_a_zero),
        cmocka_unit_test(test_fit_recovers_the_segments),
        cmocka_unit_test(test_fit_recovers_what_short_sums_cost),
        cmocka_unit_test(test_fit_recovers_the_levels),
        cmocka_unit_test(test_fit_predicts_its_own_probes),
        cmocka_unit_test(test_fit_names_the_probe_that_is_missing),
        cmocka_unit_test(test_fit_combines_rounds_by_their_median),
        cmocka_unit_test(test_fit_asks_no_more_of_less_memory),
        cmocka_unit_test(test_fit_lets_fresh_data_not_jump),
        cmocka_unit_test(test_fit_noise_is_the_median_spread),
        cmocka_unit_test(test_fit_writes_what_the_simulator_reads),
        cmocka_unit_test(test_fit_refuses_a_probe_without_a_time),
        cmocka_unit_test(test_fit_writes_no_profile_that_the_reader_refuses),
        cmocka_unit_test(test_fit_writes_what_means_something_else_when_left_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
