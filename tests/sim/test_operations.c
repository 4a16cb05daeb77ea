// SPDX-License-Identifier: MIT
// GOAL programs, operation by operation: times that LogGP's papers give by hand, what may wait for what, and one line for
// each kind of mistake.
//
// LogGP: a message of k bytes takes o + L + (k - 1) G + o. Here L is 3 us, o 1 us, G 1 ns/B, and g as stated.

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/err.h"
#include "core/base/log.h"
#include "core/schedule/formats/goal.h"
#include "sim/net/loggp.h"
#include "sim/net/net.h"
#include "sim/sim.h"
#include "tests/fixtures/needs.h"
#include "tests/fixtures/segments.h"

static struct clab_net *new_loggp(double gap_us, bool core)
{
    struct clab_net *net;
    const struct clab_loggp loggp = {
        .latency = 3e-6, .overhead = 1e-6, .gap = gap_us * 1e-6, .byte = 1e-9, .core = core};
    assert_int_equal(clab_net_create_flat(1e-6, 1e-9, 1e-9, &net), CLAB_OK);
    clab_net_set_loggp(net, &loggp);
    return net;
}

static int read_text(const char *text, struct clab_goal **goal_p)
{
    FILE *in = fmemopen((void *)text, strlen(text), "r");
    assert_non_null(in);
    const int err = clab_goal_read(in, "a.goal", goal_p);
    fclose(in);
    return err;
}

// us; frees the program
static double run_goal(struct clab_goal *goal, const struct clab_net *net)
{
    const struct clab_sim_options options = {.element_bytes = 1};
    struct clab_sim_result result;
    assert_int_equal(clab_sim_goal(goal, net, &options, &result), CLAB_OK);
    assert_true(fabs(result.latency + result.bandwidth + result.reduce + result.wait - result.seconds) < 1e-15);
    clab_goal_free(goal);
    return result.seconds * 1e6;
}

static double run_on(const char *text, const struct clab_net *net)
{
    struct clab_goal *goal;
    assert_int_equal(read_text(text, &goal), CLAB_OK);
    return run_goal(goal, net);
}

static void takes(double wanted_us, double gap_us, bool core, const char *text)
{
    struct clab_net *net = new_loggp(gap_us, core);
    const double found = run_on(text, net);
    clab_net_free(net);
    if (fabs(found - wanted_us) > 1e-6)
        fail_msg("%.6f us instead of %.6f us:\n%s", found, wanted_us, text);
}

// ---- LogGP ---------------------------------------------------------------------------------------------------

static const char one[] = "num_ranks 2\nrank 0 {\nsend 1001b to 1\n}\nrank 1 {\nrecv 1001b from 0\n}\n";

static void test_a_lone_message_does_not_wait_for_g(void **state)
{
    takes(1 + 3 + 1 + 1, 0, false, one); // 1000 bytes after the first
    takes(1 + 3 + 1 + 1, 50, false, one);
    takes(1 + 3 + 1 + 1, 50, true, one);
}

static const char two_sends[] = "num_ranks 3\nrank 0 {\nsend 1b to 1\nsend 1b to 2\n}\n"
                                "rank 1 {\nrecv 1b from 0\n}\nrank 2 {\nrecv 1b from 0\n}\n";

static void test_g_lies_between_messages(void **state)
{
    takes(7 + 1 + 3 + 1, 7, false, two_sends);   // the second begins after g
    takes(1 + 1 + 3 + 1, 0.5, false, two_sends); // or once the core is free
}

static const char two_come[] = "num_ranks 3\nrank 0 {\nrecv 10001b from 1\nrecv 10001b from 2\n}\n"
                               "rank 1 {\nsend 10001b to 0\n}\nrank 2 {\nsend 10001b to 0\n}\n";

static void test_a_receiver_takes_one_after_another(void **state)
{
    takes(4 + 10 + 10 + 1, 0, false, two_come);     // the core's o of the first is beside the bytes of the second
    takes(4 + 10 + 2 + 10 + 1, 2, false, two_come); // g between them
    takes(4 + 11 + 11, 0, true, two_come);          // LogGOPSim's core has both to itself
}

static void test_a_busy_core_lets_messages_wait(void **state)
{
    takes(20 + 1, 0, false,
          "num_ranks 2\nrank 0 {\nsend 1001b to 1\n}\nrank 1 {\nl1: calc 20000\nl2: recv 1001b from 0\n}\n");
}

static void test_cpus_and_nics_are_beside_each_other(void **state)
{
    takes(20, 0, false, "num_ranks 1\nrank 0 {\ncalc 10000\ncalc 10000\n}\n");
    takes(10, 0, false, "num_ranks 1\nrank 0 {\ncalc 10000 cpu 3\ncalc 10000\n}\n");
    takes(
        9 + 1 + 6, 9, false, // g and the bytes, and then the second
        "num_ranks 2\nrank 0 {\nsend 1001b to 1\nsend 1001b to 1\n}\nrank 1 {\nrecv 1001b from 0\nrecv 1001b from 0\n}\n");
    takes(
        6 + 1, 9, false,
        "num_ranks 2\nrank 0 {\nsend 1001b to 1\nsend 1001b to 1 nic 1\n}\nrank 1 {\nrecv 1001b from 0\nrecv 1001b from "
        "0\n}\n");
}

// ---- dependences ---------------------------------------------------------------------------------------------

static void test_labels_may_be_required_before_they_are_defined(void **state)
{
    takes(30, 0, false,
          "num_ranks 1\nrank 0 {\nlast requires first\nlast requires middle\nmiddle requires first\n"
          "last: calc 10000 cpu 1\nmiddle: calc 10000 cpu 2\nfirst: calc 10000 cpu 3\n}\n");
}

static void test_irequires_waits_for_the_begin(void **state)
{
    takes(10 + 10, 0, false, "num_ranks 1\nrank 0 {\nl1: calc 10000\nl2: calc 10000 cpu 1\nl2 requires l1\n}\n");
    takes(10, 0, false, "num_ranks 1\nrank 0 {\nl1: calc 10000\nl2: calc 10000 cpu 1\nl2 irequires l1\n}\n");
}

static void test_ranks_come_in_any_order_and_messages_by_tag(void **state)
{
    takes(3 + 1 + 3 + 1, 2, false,
          "num_ranks 2 // two\nrank 1 {\nl1: recv 1001b from 0 tag 7\nl2: recv 1b from -1 tag -1\nl2 requires l1\n}\n"
          "/* the\nsender */ rank 0 {\nl1: send 1b to 1 tag 8\nl2: send 1001b to 1 tag 7\nl2 requires l1\n}\n");
}

static void test_a_rank_may_send_to_itself(void **state)
{
    takes(6, 0, false, "num_ranks 1\nrank 0 {\nsend 1001b to 0\nrecv 1001b from 0\n}\n");
}

// ---- the binary form -----------------------------------------------------------------------------------------

static void put(FILE *out, uint64_t number, int bytes)
{
    for (int i = 0; i < bytes; i++)
        fputc((int)(number >> 8 * i & 255), out);
}

// What txt2bin writes of `num_ranks 2`, rank 0 `l1: send 1001b to 1 tag 7`, rank 1 `l1: recv 1001b from 0 tag 7`,
// `l2: calc 5000 cpu 1`, `l2 requires l1`. `followed`: the operation that l1 is followed by.
static int read_binary(uint32_t followed, struct clab_goal **goal_p)
{
    static const struct {
        unsigned waits, type, peer, size, tag, cpu, ended;
    } nodes[] = {{0, 1, 1, 1001, 7, 0, 0}, {0, 2, 0, 1001, 7, 0, 1}, {1, 3, 0, 5000, 0, 1, 0}};
    char *bytes;
    size_t size;
    FILE *out = open_memstream(&bytes, &size);
    assert_non_null(out);
    put(out, 4223, 8);
    put(out, 2, 4);
    put(out, 1, 1);
    for (int i = 0; i < 1 + 4 * 8; i++) // the highest nic, and where the ranks are
        put(out, 0, 1);
    for (int i = 0; i < 3; i++) {
        if (i < 2) { // a rank: operations, of which one waits for nothing, the first
            put(out, i == 0 ? 1 : 2, 4);
            put(out, 1, 4);
            put(out, 0, 4);
        }
        put(out, nodes[i].waits, 4);
        put(out, nodes[i].type, 1);
        put(out, nodes[i].peer, 4);
        put(out, nodes[i].size, 8);
        put(out, nodes[i].tag, 4);
        put(out, nodes[i].cpu, 2); // and nic 0
        put(out, nodes[i].ended, 8);
        put(out, 0, 8);
    }
    put(out, followed, 4);
    fclose(out);
    FILE *in = fmemopen(bytes, size, "r");
    const int err = clab_goal_read(in, "a.bin", goal_p);
    fclose(in);
    free(bytes);
    return err;
}

static void test_the_binary_form_says_the_same(void **state)
{
    struct clab_net *net = new_loggp(0, false);
    struct clab_log_held held;
    struct clab_goal *goal;
    assert_int_equal(read_binary(1, &goal), CLAB_OK);
    assert_true(fabs(run_goal(goal, net) - (6 + 5)) < 1e-6);
    clab_net_free(net);
    clab_log_hold(&held);
    assert_int_equal(read_binary(2, &goal), CLAB_EPARSE);
    clab_log_release(&held);
    assert_string_equal(held.text, "a.bin:3: rank 1: an operation waits for another that there is not");
}

// ---- other networks ------------------------------------------------------------------------------------------

static struct clab_sim_result run_algorithm(const struct clab_problem *problem, const struct clab_algorithm *a,
                                            const struct clab_net *net)
{
    const struct clab_sim_options options = {.element_bytes = 1};
    struct clab_sim_result result;
    struct clab_goal *goal;
    assert_int_equal(clab_goal_of(problem, a, 1, net->gamma, 1, &goal), CLAB_OK);
    assert_int_equal(clab_sim_goal(goal, net, &options, &result), CLAB_OK);
    clab_goal_free(goal);
    return result;
}

// The operations of a schedule of one lane cost what its stages cost, for every algorithm.
static void check_stages(const struct clab_net *net, int nranks)
{
    for (const struct clab_algorithm *const *a = clab_algorithms; *a; a++) {
        const struct clab_problem problem = {.collective = (*a)->collective,
                                             .nranks = nranks,
                                             .lanes = 1,
                                             .count = (*a)->collective == CLAB_BARRIER ? 0 : 720720};
        const struct clab_sim_options options = {.engine = CLAB_ENGINE_EVENTS, .element_bytes = 1};
        struct clab_sim_result stages;
        if (!(*a)->supports(&problem))
            continue;
        assert_int_equal(clab_sim_run(&problem, *a, net, &options, &stages), CLAB_OK);
        const struct clab_sim_result operations = run_algorithm(&problem, *a, net);
        assert_int_equal(stages.messages, operations.messages);
        if (fabs(stages.seconds - operations.seconds) > 1e-9 * stages.seconds)
            fail_msg("%s %s, %d ranks on %s: %g s by stages, %g s by operations",
                     clab_collective_name((*a)->collective), (*a)->name, nranks, net->name, stages.seconds,
                     operations.seconds);
    }
}

static void test_operations_cost_what_stages_cost(void **state)
{
    static const int ranks[] = {1, 2, 5, 8, 13, 16};
    struct clab_net *net;
    assert_int_equal(clab_net_create_flat(5e-6, 1e-9, 1e-9, &net), CLAB_OK);
    for (size_t i = 0; i < sizeof ranks / sizeof *ranks; i++)
        check_stages(net, ranks[i]);
    clab_net_free(net);
}

static void test_operations_share_links_as_stages_do(void **state)
{
    needs_inih();
    static const char *const names[] = {"dgx-h100", "superpod-h100", "cluster-25gbe", "gcp-a3"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        struct clab_net *net;
        assert_int_equal(clab_net_load(names[i], &net), CLAB_OK);
        net->gamma = 1e-9;
        check_stages(net, 8);
        check_stages(net, 13);
        clab_net_free(net);
    }
}

static bool is_alike(const struct clab_problem *problem, const struct clab_algorithm *a, const struct clab_net *net)
{
    const struct clab_sim_options options = {.engine = CLAB_ENGINE_EVENTS, .element_bytes = 1};
    struct clab_sim_result stages;
    assert_int_equal(clab_sim_run(problem, a, net, &options, &stages), CLAB_OK);
    return fabs(stages.seconds - run_algorithm(problem, a, net).seconds) <= 1e-9 * stages.seconds;
}

// How many algorithms take the same by stages and by operations, on `net` and on `other` (or NULL).
static int count_alike(const struct clab_net *net, const struct clab_net *other, int nranks)
{
    int n = 0;
    for (const struct clab_algorithm *const *a = clab_algorithms; *a; a++) {
        const struct clab_problem problem = {.collective = (*a)->collective,
                                             .nranks = nranks,
                                             .lanes = 1,
                                             .count = (*a)->collective == CLAB_BARRIER ? 0 : 720720};
        n += (*a)->supports(&problem) && is_alike(&problem, *a, net) && (!other || is_alike(&problem, *a, other));
    }
    return n;
}

// What cores, ports and packets take of a socket's messages behind and beside them.
static void test_operations_over_sockets_cost_what_stages_do(void **state)
{
    static const int ranks[] = {2, 8};
    struct clab_net *plain, *net;
    assert_int_equal(clab_net_create_flat(5e-6, 1e-9, 1e-9, &plain), CLAB_OK);
    assert_int_equal(clab_net_create_flat(5e-6, 1e-9, 1e-9, &net), CLAB_OK);
    plain->inter.segments[0] = socket_segment;
    plain->inter.segments[0].o_both = plain->inter.segments[0].gap_both = 0; // which operations do not know
    net->inter.segments[0] = train_segment;
    net->inter.segments[0].core_wait = 0; // or acknowledgements take the port between the sends of a stage
    for (size_t i = 0; i < sizeof ranks / sizeof *ranks; i++) {
        // Of messages that reach a rank at the same time, another may come in first.
        const int both = count_alike(plain, NULL, ranks[i]);
        assert_in_range(both, 25, 100);
        assert_int_equal(count_alike(plain, net, ranks[i]), both);
    }
    clab_net_free(net);
    clab_net_free(plain);
}

// Rank 1 has the core of rank 0, once that has handed its message over: the same by stages and by operations.
static void test_operations_of_containers_take_turns_at_a_core(void **state)
{
    const struct clab_problem problem = {.collective = CLAB_BROADCAST, .nranks = 2, .lanes = 1, .count = 1000};
    const struct clab_algorithm *flat = clab_algorithm_find(CLAB_BROADCAST, "flat");
    const struct clab_sim_options options = {.element_bytes = 1};
    struct clab_sim_result stages;
    struct clab_net *net;
    assert_int_equal(clab_net_create_flat(5e-6, 1e-9, 0, &net), CLAB_OK);
    net->inter.segments[0] = train_segment;
    net->machine_cores = 1;
    net->switch_cost = 50e-6;
    assert_int_equal(clab_sim_run(&problem, flat, net, &options, &stages), CLAB_OK);
    const double operations = run_algorithm(&problem, flat, net).seconds;
    const double sent = 1.1e-6 + 0.6e-6 + 1000 * (0.14e-9 + 0.18e-9), fetched = 1000 * 0.16e-9 + 2.3e-6;
    assert_true(fabs(operations - (sent + 50e-6 + fetched)) < 1e-12);
    assert_true(fabs(stages.seconds - operations) < 1e-12);
    clab_net_free(net);
}

// A schedule on a LogGP network is the program that is written of it.
static void test_schedules_become_programs_on_loggp(void **state)
{
    struct clab_net *net = new_loggp(2, true);
    const struct clab_problem problem = {.collective = CLAB_ALLREDUCE, .nranks = 6, .lanes = 2, .count = 6000};
    const struct clab_algorithm *ring = clab_algorithm_find(CLAB_ALLREDUCE, "ring");
    const struct clab_sim_options options = {.element_bytes = 4};
    struct clab_sim_result result;
    char *text;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    assert_non_null(out);
    assert_int_equal(clab_goal_write(&problem, ring, 4, net->gamma, out), CLAB_OK);
    fclose(out);
    assert_int_equal(clab_sim_run(&problem, ring, net, &options, &result), CLAB_OK);
    assert_true(result.seconds * 1e6 == run_on(text, net));
    assert_int_equal(result.engine, CLAB_ENGINE_EVENTS);
    free(text);
    clab_net_free(net);
}

// The root runs ahead: one more call adds what its busiest rank does, and no latency.
static void test_calls_follow_each_other(void **state)
{
    struct clab_net *net = new_loggp(0, false);
    const struct clab_problem problem = {.collective = CLAB_BROADCAST, .nranks = 4, .lanes = 1, .count = 1001};
    const struct clab_algorithm *flat = clab_algorithm_find(CLAB_BROADCAST, "flat");
    struct clab_sim_options options = {.element_bytes = 1};
    struct clab_sim_result one, many;
    assert_int_equal(clab_sim_run(&problem, flat, net, &options, &one), CLAB_OK);
    options.calls = 8;
    assert_int_equal(clab_sim_run(&problem, flat, net, &options, &many), CLAB_OK);
    assert_true(fabs(one.seconds - (2 + 6) * 1e-6) < 1e-12); // the third message begins after two of 1 us
    assert_true(fabs(many.seconds - 3e-6) < 1e-12);
    clab_net_free(net);
}

// ---- mistakes ------------------------------------------------------------------------------------------------

// What reading or running says.
static void says(const char *wanted, const char *text)
{
    struct clab_log_held held;
    struct clab_net *net = new_loggp(0, false);
    const struct clab_sim_options options = {.element_bytes = 1};
    struct clab_sim_result result;
    struct clab_goal *goal = NULL;
    clab_log_hold(&held);
    int err = read_text(text, &goal);
    if (!err)
        err = clab_sim_goal(goal, net, &options, &result);
    clab_log_release(&held);
    clab_goal_free(goal);
    clab_net_free(net);
    assert_int_not_equal(err, CLAB_OK);
    assert_string_equal(held.text, wanted);
}

#define RANK_1 "rank 1 {\n}\n"

static void test_files_that_are_wrong_are_refused_by_their_line(void **state)
{
    says("a.goal:1: '' where there should be num_ranks N", "");
    says("a.goal:1: '16777217' where there should be a number of ranks, 16777216 at most", "num_ranks 16777217\n");
    says("a.goal:2: '2 {' where there should be one of the ranks that there are", "num_ranks 2\nrank 2 {\n}\n");
    says("a.goal:4: rank 1 is in line 2 already: give each rank once", "num_ranks 2\nrank 1 {\n}\nrank 1 {\n}\n");
    says("a.goal:4: the file ends without rank 0 of 2; ranks without operations are 'rank R { }', too",
         "num_ranks 2\n" RANK_1);
    says("a.goal:5: the file ends in a comment", "num_ranks 1\n\n\n/* rank 0 {\n}");
    says("a.goal:4: '' where there should be '}', which ends the rank", "num_ranks 1\nrank 0 {\ncalc 5\n");
    says("a.goal:3: '5' where there should be the end of the line", "num_ranks 1\nrank 0 {\ncalc 5 5\n}\n");
    says("a.goal:3: rank 0 has no operation l7", "num_ranks 1\nrank 0 {\nl5 requires l7\nl5: calc 1\n}\n");
    says("a.goal:4: rank 0 has a label x already", "num_ranks 1\nrank 0 {\nx: calc 1\nx: calc 1\n}\n");
    says("a.goal:3: '-1 tag 3' where there should be one of the ranks that there are",
         "num_ranks 1\nrank 0 {\nsend 8b to -1 tag 3\n}\n");
    says("a.goal:3: '256' where there should be a whole number from 0 to 255",
         "num_ranks 1\nrank 0 {\ncalc 1 cpu 256\n}\n");
}

static void test_programs_that_do_not_end_are_refused(void **state)
{
    says("a.goal:4: rank 0: this operation waits for itself, by way of what it requires",
         "num_ranks 1\nrank 0 {\na: calc 1\nb: calc 1\nc: calc 1\nb requires c\nc requires b\na requires b\n}\n");
    says("a.goal:3: rank 0 waits here for ever: rank 1 sends no such message, or waits in a circle itself",
         "num_ranks 2\nrank 0 {\nrecv 8b from 1\n}\n" RANK_1);
    says("a.goal:3: rank 0: rank 1 never receives this message", "num_ranks 2\nrank 0 {\nsend 8b to 1\n}\n" RANK_1);
    says("a.goal:3: rank 0 sends 9 bytes, and rank 1 has room for 8 in line 6",
         "num_ranks 2\nrank 0 {\nsend 9b to 1\n}\nrank 1 {\nrecv 8b from 0\n}\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_lone_message_does_not_wait_for_g),
        cmocka_unit_test(test_g_lies_between_messages),
        cmocka_unit_test(test_a_receiver_takes_one_after_another),
        cmocka_unit_test(test_a_busy_core_lets_messages_wait),
        cmocka_unit_test(test_cpus_and_nics_are_beside_each_other),
        cmocka_unit_test(test_labels_may_be_required_before_they_are_defined),
        cmocka_unit_test(test_irequires_waits_for_the_begin),
        cmocka_unit_test(test_ranks_come_in_any_order_and_messages_by_tag),
        cmocka_unit_test(test_a_rank_may_send_to_itself),
        cmocka_unit_test(test_the_binary_form_says_the_same),
        cmocka_unit_test(test_operations_cost_what_stages_cost),
        cmocka_unit_test(test_operations_share_links_as_stages_do),
        cmocka_unit_test(test_operations_over_sockets_cost_what_stages_do),
        cmocka_unit_test(test_operations_of_containers_take_turns_at_a_core),
        cmocka_unit_test(test_schedules_become_programs_on_loggp),
        cmocka_unit_test(test_calls_follow_each_other),
        cmocka_unit_test(test_files_that_are_wrong_are_refused_by_their_line),
        cmocka_unit_test(test_programs_that_do_not_end_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
