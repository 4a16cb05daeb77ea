// SPDX-License-Identifier: MIT
// The fit of wires: what is recovered of links between hosts and of sockets on one host, from samples that are made up.

#include "tests/fixtures/fit_samples.h"

// Two hosts 25 us apart by 100 Mbit/s and a token bucket; and two ranks of a host, whose cores move all.
static const struct clab_protocols one_way = {.pull_bytes = 16385};
static const double o_post = 4e-6, half = 25e-6, o_fetch = 2e-6, o_found = 0.3e-6, o_after = 3e-6, byte = 80e-9,
                    acks = 2e-9, bucket = 170e-6;

// On the wire: with 66 B of headers a packet of 1448 B, and 32 B a message. The last of several packets is half full.
static double on_wire(double m)
{
    return m <= 1024 ? (m + 32 + 66) * byte : (32 + 33 + m * 1514 / 1448) * byte;
}

// What half a round trip takes: the message is on the wire, or the bucket of the last one still fills.
static double trip(double m)
{
    return fmax(half + fmax(0, on_wire(m) - bucket), on_wire(m) / 2);
}

static void add_sizes(struct samples *s, double (*seconds)(enum clab_probe, double m))
{
    static const enum clab_probe probes[] = {CLAB_PROBE_POST, CLAB_PROBE_STREAM, CLAB_PROBE_PINGPONG,
                                             CLAB_PROBE_EXCHANGE};
    for (int p = 0; p < 4; p++)
        for (size_t bytes = 8; bytes <= 1 << 20; bytes *= bytes == 8 ? 8 : 2)
            add(s, probes[p], bytes, CLAB_KEPT, probes[p] == CLAB_PROBE_EXCHANGE ? CLAB_BOTH : CLAB_ALONE,
                seconds(probes[p], (double)bytes));
}

// The sender's core: 1 ns a byte, and 2 more for those that the bucket has no room for.
static double carry(double m)
{
    return half - o_fetch + o_after + (m > 1024 ? m * 1e-9 + (m - bucket / (byte * 1514 / 1448)) * 2e-9 : 0);
}

// Of one packet, those from 256 B on join one that waits.
static double between_hosts(enum clab_probe probe, double m)
{
    switch (probe) {
    case CLAB_PROBE_POST: return half - o_fetch + o_after;
    case CLAB_PROBE_STREAM: return m >= 256 && m <= 1024 ? (m + 32) * 1514 / 1448 * byte : fmax(24e-6, on_wire(m));
    case CLAB_PROBE_PINGPONG: return trip(m);
    default: return fmax(28e-6, on_wire(m)) + (m > 1024 ? m * acks : 0);
    }
}

// The sender's core takes 4 us and 0.2 ns a byte, the receiver's 2 us; one that does both takes half as much again.
static double within_a_host(enum clab_probe probe, double m)
{
    switch (probe) {
    case CLAB_PROBE_POST:
    case CLAB_PROBE_STREAM: return o_post + m * 0.2e-9;
    case CLAB_PROBE_PINGPONG: return o_post + 2e-6 + m * 0.2e-9;
    default: return o_post + 2e-6 + 1e-6 + m * 0.3e-9;
    }
}

static struct samples make_wire(double (*seconds)(enum clab_probe, double m))
{
    struct samples s = {.n = 0};
    add(&s, CLAB_PROBE_CALL, 0, CLAB_KEPT, CLAB_ALONE, empty_call);
    add(&s, CLAB_PROBE_STAGES, 0, CLAB_KEPT, CLAB_ALONE, call + 6 * stage);
    add(&s, CLAB_PROBE_LANED, 0, CLAB_KEPT, CLAB_ALONE, empty_call + (CLAB_FIT_LANES - 1) * stage);
    add_sizes(&s, seconds);
    add(&s, CLAB_PROBE_REST, 8, CLAB_KEPT, CLAB_ALONE, half);
    add(&s, CLAB_PROBE_FOUND, 8, CLAB_KEPT, CLAB_ALONE, o_found);
    for (size_t bytes = 8; bytes <= 32768; bytes *= bytes == 8 ? 512 : 8) {
        add(&s, CLAB_PROBE_FETCH, bytes, CLAB_KEPT, CLAB_ALONE, o_fetch + (double)(bytes - 8) * 0.2e-9);
        add(&s, CLAB_PROBE_CARRY, bytes, CLAB_KEPT, CLAB_ALONE, carry((double)bytes));
    }
    add(&s, CLAB_PROBE_LANES, 8, CLAB_KEPT, CLAB_ALONE, seconds(CLAB_PROBE_STREAM, 8) + lane);
    for (int load = 0; load < CLAB_LOADS; load++) {
        add_to_level(&s, CLAB_PROBE_COPY, 1 << 20, CLAB_KEPT, load, (1 << 20) * cost(1 << 20, 0, 0, load));
        add_to_level(&s, CLAB_PROBE_SUM, 1 << 20, CLAB_KEPT, load, (1 << 20) * cost(1 << 20, 2, 0, load));
    }
    return s;
}

static void test_fit_recovers_a_wire_and_its_bucket(void **state)
{
    struct samples s = make_wire(between_hosts);
    struct clab_fit_link link = {.protocols = &one_way, .across = true};
    struct clab_net net;
    assert_int_equal(clab_fit_port(s.all, s.n, &link.port), CLAB_OK);
    assert_int_equal(link.port, CLAB_PORT_DUPLEX);
    assert_int_equal(clab_fit_round(s.all, s.n, &link, &net), CLAB_OK);
    assert_true(net.inter.present && !net.intra.present && net.nodes == 0 && net.ranks_per_node == 1);
    const struct clab_segment *found = net.inter.segments;
    assert_int_equal(net.inter.nsegments, 7); // 64, 128 ... 1024 B of one packet, 4096 B, and more
    assert_close(net.inter.burst, bucket);
    assert_close(net.inter.alpha, half);
    assert_close(net.probed.line, trip(8));
    assert_close(net.inter.beta, byte * 1514 / 1448);
    assert_close(net.lane, lane);
    for (int i = 0; i < 7; i++) {
        assert_true(found[i].buffers && !found[i].waits && !found[i].memory && found[i].fragment == 0);
        assert_close(found[i].o_send, half - o_fetch);
        assert_close(found[i].o_recv, o_fetch);
        assert_close(found[i].o_joined, i < 5 ? o_fetch - o_found : 0);
        assert_close(found[i].gap_send, found[i].gap_recv);
        assert_close(found[i].gap_send, i < 5 ? byte : byte * 1514 / 1448);
        assert_close(found[i].gap, i < 5 ? 98 * byte : 65 * byte);
        assert_close(found[i].gap_acks, i < 5 ? 0 : acks);
        assert_close(found[i].core_send, i < 5 ? 0 : 1e-9);
        assert_close(found[i].core_wait, i < 5 ? 0 : 2e-9);
        assert_close(found[i].core_recv, i < 6 ? 0 : 0.2e-9);
        assert_true(i <= 1 || found[i].gap_out == 0);
    }
    assert_true(found[0].up_to == 64 && found[2].up_to == 256 && found[4].up_to == 1416 && found[5].up_to == 4096);
    assert_close(found[0].gap_out, 24e-6 - (64 + 98) * byte); // near the wire's 13, so that both have a part in it
    assert_true(found[0].gap_joined == 0 && found[5].gap_joined == 0 && found[6].gap_joined == 0);
    assert_close(found[2].gap_joined, on_wire(256) - 288. * 1514 / 1448 * byte);
    assert_close(found[4].o_after, o_after);
    assert_close(found[5].o_after, o_after);
    assert_close(found[6].o_after, o_after);
    assert_close(net.levels[0].copy[CLAB_BOTH], cost(1 << 20, 0, 0, CLAB_BOTH));
    assert_close(net.levels[0].add[CLAB_ALONE], cost(1 << 20, 2, 0, CLAB_ALONE));
}

// The simulator's times for the fitted wire are those of the probes that it was fitted to.
static void test_fit_of_a_wire_predicts_its_own_probes(void **state)
{
    struct samples s = make_wire(between_hosts);
    const struct clab_fit_link link = {.protocols = &one_way, .across = true};
    const struct clab_algorithm *star = clab_algorithm_find(CLAB_ALLREDUCE, "star");
    struct clab_net net;
    struct clab_sim_result result;
    assert_int_equal(clab_fit_round(s.all, s.n, &link, &net), CLAB_OK);
    net.call = net.levels[0].add[0] = net.levels[0].add[1] = net.levels[0].reduce[0][0] = net.levels[0].reduce[0][1] =
        0;
    for (size_t bytes = 8; bytes <= 1 << 20; bytes *= bytes == 8 ? 8 : 2) { // to and fro: two messages
        const struct clab_problem p = {.collective = CLAB_ALLREDUCE, .nranks = 2, .lanes = 1, .count = bytes};
        const struct clab_sim_options o = {
            .engine = CLAB_ENGINE_FULL, .element_bytes = 1, .in_place = true, .calls = 64};
        assert_int_equal(clab_sim_run(&p, star, &net, &o, &result), CLAB_OK);
        double expected = 2 * trip((double)bytes);
        if (fabs(result.seconds / expected - 1) > 0.1)
            fail_msg("%zu bytes to and fro: %g us, not %g", bytes, result.seconds * 1e6, expected * 1e6);
    }
}

static void test_fit_finds_that_a_core_moves_all(void **state)
{
    struct samples s = make_wire(within_a_host);
    struct clab_fit_link link = {.protocols = &one_way};
    struct clab_net net;
    assert_int_equal(clab_fit_port(s.all, s.n, &link.port), CLAB_OK);
    assert_int_equal(link.port, CLAB_PORT_CORE);
    assert_int_equal(clab_fit_round(s.all, s.n, &link, &net), CLAB_OK);
    assert_true(net.intra.present && !net.inter.present && net.nodes == 1);
    size_t before = 0;
    bool splits = false;
    for (int i = 0; i < net.intra.nsegments; i++) {
        const struct clab_segment *found = &net.intra.segments[i];
        assert_true(found->up_to > before && !found->buffers);
        splits |= found->up_to == one_way.pull_bytes - 1;
        before = found->up_to;
        assert_close(found->o_send, o_post);
        assert_close(found->o_recv, 2e-6);
        assert_close(found->o_both, 1e-6);
        assert_close(found->gap_send, 0.2e-9);
        assert_close(found->gap_recv, 0.1e-9);
    }
    assert_true(before == SIZE_MAX && splits);
    assert_int_equal(clab_fit_port(s.all, 3, &link.port), CLAB_EINVAL); // no exchange among them
}

static void test_fit_writes_a_link_between_hosts(void **state)
{
    needs_inih();
    static const char *const remarks[] = {NULL};
    struct samples s = make_wire(between_hosts);
    const struct clab_fit_link link = {.protocols = &one_way, .across = true};
    struct clab_net rounds[3], *net;
    struct clab_fit fit;
    char *text;
    size_t size;
    for (int i = 0; i < 3; i++) {
        assert_int_equal(clab_fit_round(s.all, s.n, &link, &rounds[i]), CLAB_OK);
        rounds[i].inter.burst = (i + 1) * 1e-6;
    }
    assert_int_equal(clab_fit_combine(rounds, 3, &fit), CLAB_OK);
    assert_close(fit.median.inter.burst, 2e-6);
    strcpy(fit.median.title, "x");
    strcpy(fit.median.machine, "y");
    strcpy(fit.median.date, "never");
    FILE *file = open_memstream(&text, &size);
    clab_fit_print(file, &fit, remarks);
    fclose(file);
    assert_null(strstr(text, "pull")); // nobody pulls
    file = fmemopen(text, size, "r");
    assert_int_equal(clab_net_read(file, "a.net", &net), CLAB_OK);
    fclose(file);
    free(text);
    assert_true(net->inter.present && !net->intra.present && net->ranks_per_node == 1);
    assert_true(fabs(net->inter.burst / 2e-6 - 1) < 1e-3);
    assert_true(net->inter.segments[0].buffers && net->inter.segments[0].fragment == 0);
    assert_true(fabs(net->inter.segments[6].gap_acks / acks - 1) < 1e-3);
    assert_true(fabs(net->inter.segments[2].gap_joined / fit.median.inter.segments[2].gap_joined - 1) < 1e-3);
    assert_true(fabs(net->inter.segments[0].gap / fit.median.inter.segments[0].gap - 1) < 1e-3);
    clab_net_free(net);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_fit_recovers_a_wire_and_its_bucket),
        cmocka_unit_test(test_fit_of_a_wire_predicts_its_own_probes),
        cmocka_unit_test(test_fit_finds_that_a_core_moves_all),
        cmocka_unit_test(test_fit_writes_a_link_between_hosts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
