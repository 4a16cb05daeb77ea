// SPDX-License-Identifier: MIT
// What labs are predicted by, against numbers worked out by hand; how before and after are paired.

#include "tests/fixtures/capture.h"
#include "tests/fixtures/needs.h"

#include <math.h>

#include "core/base/err.h"
#include "cmd/lab/lab.h"
#include "sim/net/net.h"

static struct lab_words words(char *first, char *second)
{
    return (struct lab_words){{first, second}, second ? 2 : 1};
}

static void add(struct lab_results *results, enum lab_program program, int ranks, const char *quantity, double sample)
{
    struct lab_series key = {.program = program, .ranks = ranks, .unit = "s"};
    snprintf(key.quantity, sizeof key.quantity, "%s", quantity);
    assert_int_equal(lab_results_add(results, &key, sample), CLAB_OK);
}

static void assert_near(double got, double expected)
{
    if (!(fabs(got - expected) <= 1e-9 * fabs(expected)))
        fail_msg("%.12g is not %.12g", got, expected);
}

static void assert_near_by(double got, double expected, double seconds)
{
    if (!(fabs(got - expected) <= seconds))
        fail_msg("%.12g s are not %.12g s", got, expected);
}

// ---- a message -----------------------------------------------------------------------------------------------

static const char profile[] = "tests/fuzz/corpus/net/profile.net"; // what `commlab fit` once measured

// In closed forms, a message of this machine takes what the machine card says: two ranks that exchange, call after call.
static void test_a_message_of_this_machine_takes_what_the_card_says(void **state)
{
    needs_inih();
    struct clab_net *net;
    assert_int_equal(clab_net_load(profile, &net), CLAB_OK);
    const struct clab_algorithm *shift = clab_algorithm_find(CLAB_SENDRECV, "shift");
    const struct clab_sim_options calls = lab_calls(&(struct lab_context){.is_exact = false});
    const struct clab_problem ends[] = {lab_problem(shift, 2, 8), lab_problem(shift, 2, 1 << 20)};
    const double first = lab_simulate(net, &ends[0], shift, calls), last = lab_simulate(net, &ends[1], shift, calls);
    assert_true(first > net->intra.alpha); // a call costs more than its message
    assert_near(lab_predict_message(net, 0, 1, 0), first);
    assert_near(lab_predict_message(net, 0, 1, 1 << 20), first + (last - first) * (1 << 20) / ((1 << 20) - 8));
    clab_net_free(net);
    assert_int_equal(clab_net_load("dgx-h100", &net), CLAB_OK);
    assert_near(lab_predict_message(net, 0, 1, 1000), net->intra.alpha + 1000 * net->intra.beta);
    clab_net_free(net);
}

// ---- lab 07 --------------------------------------------------------------------------------------------------

// alpha 1 us, beta 1 ns/B, gamma 0.1 ns/B: an allreduce by doubling of 4 ranks is 2 (alpha + S (beta + gamma)).
static void test_times_are_those_of_the_network(void **state)
{
    struct clab_net *net;
    assert_int_equal(clab_net_create_flat(1e-6, 1e-9, 1e-10, &net), CLAB_OK);
    const struct lab_conf conf = {.model = lab_model_find("07-ring-vs-tree")};
    const struct lab_results none = {0};
    const struct lab_context context = {.conf = &conf, .net = net, .probe = &none, .ranks = 4, .cores = 2};
    const double doubling = conf.model->predict(&context, LAB_AFTER, 4, "time/doubling/4096");
    if (fabs(doubling / (2 * (1e-6 + 4096 * 1.1e-9)) - 1) > 0.1)
        fail_msg("doubling: %g s", doubling);
    // by hand: three buffers arrive, and three are added
    const double by_hand = conf.model->predict(&context, LAB_BEFORE, 4, "time/by_hand/4096");
    if (fabs(by_hand / (3 * (1e-6 + 4096 * 1.1e-9)) - 1) > 0.1)
        fail_msg("by hand: %g s", by_hand);
    clab_net_free(net);
}

static void test_messages_and_bytes_are_counted_on_the_schedule(void **state)
{
    const struct lab_model *model = lab_model_find("07-ring-vs-tree");
    const struct lab_context context = {0};
    assert_near(model->predict(&context, LAB_AFTER, 4, "messages/ring/4096"), 6);
    assert_near(model->predict(&context, LAB_AFTER, 4, "bytes_sent/ring/4096"), 6 * 1024);
    assert_near(model->predict(&context, LAB_AFTER, 4, "bytes_sent/doubling/4096"), 2 * 4096);
    assert_near(model->predict(&context, LAB_BEFORE, 4, "messages/by_hand/8"), 3);
    assert_near(model->predict(&context, LAB_BEFORE, 4, "bytes_sent/by_hand/8"), 24);
    assert_true(isnan(model->predict(&context, LAB_AFTER, 4, "time/ring/8"))); // no network
    assert_true(isnan(model->predict(&context, LAB_AFTER, 4, "time/no_such/8")));
    assert_true(isnan(model->predict(&context, LAB_AFTER, 4, "checksum")));
}

// Four ranks on two cores: of 12 buffers that arrive by hand each is pulled and added, 1 ns/B each, by two cores; the
// probe's 12 us are three turns of two ranks each, so a turn is 2 us.
static void test_ranks_on_shared_cores_share_work_and_take_turns(void **state)
{
    struct clab_net net = {.nlevels = 1};
    struct clab_level *level = &net.levels[0];
    level->bytes = 1 << 20;
    for (int i = 0; i < 4; i++)
        level->pull[i / 2][i % 2] = level->reduce[i / 2][i % 2] = 1e-9;
    struct lab_results probe = {0};
    add(&probe, LAB_BEFORE, 4, "time/by_hand/8", 12e-6);
    const struct lab_conf conf = {
        .model = lab_model_find("07-ring-vs-tree"), .sizes = words("8", NULL), .probe_ranks = words("4", NULL)};
    const struct lab_context context = {.conf = &conf, .net = &net, .probe = &probe, .ranks = 4, .cores = 2};
    assert_true(lab_oversubscribed(&context, 4));
    assert_false(lab_oversubscribed(&context, 2));
    assert_near(conf.model->predict(&context, LAB_BEFORE, 4, "time/by_hand/4096"), 12 * 4096 * 2e-9 / 2 + 3 * 2 * 2e-6);
    // ring: 6 stages; 24 chunks of 1 KiB arrive in all
    assert_near(conf.model->predict(&context, LAB_AFTER, 4, "time/ring/4096"), 24 * 1024 * 1e-9 / 2 + 8 * 2 * 2e-6);
    lab_results_free(&probe);
}

// A message takes T = alpha + S beta. In virtual time doubling takes 2 (T + S gamma). By hand, each rank waits first for
// its right neighbour, which sends to it last: 3 T. It takes in the other two messages then, T each. All additions but
// the last overlap with them.
static void test_virtual_times_are_the_closed_forms(void **state)
{
    struct clab_net *net;
    assert_int_equal(clab_net_create_flat(1e-6, 1e-9, 1e-10, &net), CLAB_OK);
    const struct lab_conf conf = {.model = lab_model_find("07-ring-vs-tree")};
    const struct lab_results none = {0};
    const struct lab_context context = {
        .conf = &conf, .net = net, .probe = &none, .ranks = 4, .cores = 2, .is_exact = true};
    const double message = 1e-6 + 4096e-9, sum = 4096e-10, grid = 1e-12;
    assert_near_by(conf.model->predict(&context, LAB_AFTER, 4, "time/doubling/4096"), 2 * (message + sum), grid);
    assert_near_by(conf.model->predict(&context, LAB_BEFORE, 4, "time/by_hand/4096"), 5 * message + sum, grid);
    assert_true(isnan(conf.model->predict(&context, LAB_AFTER, 4, "time/no_such/8")));
    clab_net_free(net);
}

// ---- lab 01 --------------------------------------------------------------------------------------------------

// c = 100 us at two ranks and 300 us at four; no network, so no later operation is predicted.
static void test_a_communicator_is_predicted_from_two_probes(void **state)
{
    struct lab_results probe = {0};
    static const char *const phases[] = {"rendezvous", "connect", "first_op", "destroy"};
    for (int i = 0; i < 4; i++) {
        add(&probe, LAB_BEFORE, 2, phases[i], 25e-6);
        add(&probe, LAB_BEFORE, 4, phases[i], 75e-6);
    }
    const struct lab_conf conf = {.model = lab_model_find("01-reinit-comm"),
                                  .sizes = words("64", NULL),
                                  .iterations = words("1", "10"),
                                  .sweep_iterations = words("5", NULL),
                                  .probe_ranks = words("2", "4")};
    const struct lab_context context = {.conf = &conf, .probe = &probe, .ranks = 2, .cores = 2};
    const struct lab_model *m = conf.model;
    assert_near(m->predict(&context, LAB_BEFORE, 2, "iteration/1"), 100e-6);
    assert_near(m->predict(&context, LAB_BEFORE, 2, "iteration/10"), 100e-6);
    assert_near(m->predict(&context, LAB_AFTER, 2, "iteration/1"), 100e-6);
    assert_near(m->predict(&context, LAB_BEFORE, 3, "iteration/5"), 200e-6);
    assert_near(m->predict(&context, LAB_BEFORE, 8, "iteration/5"), 700e-6);
    assert_near(m->predict(&context, LAB_AFTER, 2, "connect"), 2.5e-6);
    assert_near(m->predict(&context, LAB_AFTER, 3, "connect"), 10e-6);
    assert_true(isnan(m->predict(&context, LAB_AFTER, 2, "iteration/10")));
    lab_results_free(&probe);
}

// With a network whose doubling of two ranks takes o: after costs (c + (k - 1) o) / k, break-even is (c - o) / o.
static void test_the_amortised_cost_is_that_of_the_lab_text(void **state)
{
    struct clab_net *net;
    assert_int_equal(clab_net_create_flat(1e-6, 0, 0, &net), CLAB_OK);
    struct lab_results probe = {0};
    add(&probe, LAB_BEFORE, 2, "rendezvous", 0);
    add(&probe, LAB_BEFORE, 2, "connect", 50e-6);
    add(&probe, LAB_BEFORE, 2, "first_op", 40e-6);
    add(&probe, LAB_BEFORE, 2, "destroy", 10e-6);
    const struct lab_conf conf = {.model = lab_model_find("01-reinit-comm"),
                                  .sizes = words("64", NULL),
                                  .iterations = words("1", "10"),
                                  .probe_ranks = words("2", NULL)};
    const struct lab_context context = {.conf = &conf, .net = net, .probe = &probe, .ranks = 2, .cores = 2};
    const double o = lab_predict_allreduce(&context, 2, "doubling", 64), c = 100e-6;
    assert_true(o > 0.9e-6 && o < 2.1e-6);
    assert_near(conf.model->predict(&context, LAB_AFTER, 2, "iteration/10"), (c + 9 * o) / 10);
    assert_near(conf.model->predict(&context, LAB_AFTER, 2, "op"), o * 9 / 10);
    assert_near(conf.model->predict(&context, LAB_AFTER, 2, "break_even"), (c - o) / o);
    lab_results_free(&probe);
    clab_net_free(net);
}

// In virtual time: four ranks find each other in 4 messages and connect in 6; an allreduce takes 2.
static void test_the_virtual_loop_follows_from_alpha(void **state)
{
    struct clab_net *net;
    assert_int_equal(clab_net_create_flat(1e-6, 0, 0, &net), CLAB_OK);
    const struct lab_conf conf = {
        .model = lab_model_find("01-reinit-comm"), .sizes = words("64", NULL), .iterations = words("1", "100")};
    const struct lab_results none = {0};
    const struct lab_context context = {
        .conf = &conf, .net = net, .probe = &none, .ranks = 4, .cores = 2, .is_exact = true};
    const struct lab_model *m = conf.model;
    const double grid = 1e-12;
    assert_near_by(m->predict(&context, LAB_BEFORE, 4, "iteration/1"), 12e-6, grid);
    assert_near_by(m->predict(&context, LAB_BEFORE, 4, "iteration/100"), 12e-6, grid);
    assert_near_by(m->predict(&context, LAB_BEFORE, 4, "rendezvous"), 4e-6, grid);
    assert_near_by(m->predict(&context, LAB_AFTER, 4, "connect"), 6e-8, grid);
    assert_near_by(m->predict(&context, LAB_AFTER, 4, "iteration/100"), (10e-6 + 100 * 2e-6) / 100, grid);
    assert_near_by(m->predict(&context, LAB_AFTER, 4, "op"), 99 * 2e-6 / 100, grid);
    assert_near_by(m->predict(&context, LAB_AFTER, 4, "break_even"), 5, 1e-6);
    assert_true(isnan(m->predict(&context, LAB_BEFORE, 4, "op")));
    clab_net_free(net);
}

// ---- lab 02 --------------------------------------------------------------------------------------------------

// Two ranks with two cores each: a thread could move messages. A library such as NCCL takes calls from one thread only.
static void test_what_is_predicted_overlaps_only_where_a_thread_may_call(void **state)
{
    struct clab_net *net;
    assert_int_equal(clab_net_create_flat(1e-6, 1e-9, 1e-10, &net), CLAB_OK);
    struct lab_results probe = {0};
    add(&probe, LAB_BEFORE, 2, "forward", 10e-3);
    add(&probe, LAB_BEFORE, 2, "backward", 20e-3);
    add(&probe, LAB_BEFORE, 2, "update", 1e-3);
    const struct lab_conf conf = {.model = lab_model_find("02-no-overlap"), .probe_ranks = words("2", NULL)};
    struct lab_context context = {.conf = &conf, .net = net, .probe = &probe, .ranks = 2, .cores = 4};
    const struct lab_model *m = conf.model;
    const double before = m->predict(&context, LAB_BEFORE, 2, "step_time");
    assert_near(m->predict(&context, LAB_AFTER, 2, "step_time"), before);
    context.has_nap = true;
    assert_true(m->predict(&context, LAB_AFTER, 2, "step_time") < before - 1e-3);
    lab_results_free(&probe);
    clab_net_free(net);
}

// ---- lab 06 --------------------------------------------------------------------------------------------------

// alpha 1 us, four ranks; w is 10 us, x 0.2 us a percent. Rank 0's port takes a message a microsecond: to the two
// others' hellos 2 us, which go by while it waits for the straggler, if that is longer; the straggler's; then three
// each to tell all, to hear all, and to tell all again: they leave at 2, 1 and 0 us before the end, rank 0 at the end,
// too.
static void test_a_monitored_barrier_hears_the_others_while_it_waits(void **state)
{
    struct clab_net *net;
    assert_int_equal(clab_net_create_flat(1e-6, 0, 0, &net), CLAB_OK);
    struct lab_results probe = {0};
    add(&probe, LAB_BEFORE, 2, "work/100", 10e-6);
    add(&probe, LAB_BEFORE, 2, "injected/100", 20e-6);
    const struct lab_conf conf = {.model = lab_model_find("06-straggler"),
                                  .sizes = words("16384", NULL),
                                  .probe_ranks = words("2", NULL),
                                  .probe_iterations = words("100", NULL)};
    const struct lab_context context = {.conf = &conf, .net = net, .probe = &probe, .ranks = 4, .cores = 4};
    const struct lab_model *m = conf.model;
    const double grid = 1e-12;
    assert_near_by(m->predict(&context, LAB_AFTER, 4, "step/100"), 10e-6 + 20e-6 + 10e-6, grid);
    assert_near_by(m->predict(&context, LAB_AFTER, 4, "wait_straggler/100"), 10e-6, grid);
    assert_near_by(m->predict(&context, LAB_AFTER, 4, "wait_others/100"), 20e-6 + 9e-6, grid);
    assert_near_by(m->predict(&context, LAB_AFTER, 4, "step/5"), 10e-6 + 2e-6 + 10e-6, grid);
    assert_near_by(m->predict(&context, LAB_AFTER, 4, "wait_straggler/5"), 2e-6 + 10e-6 - 1e-6, grid);
    assert_near_by(m->predict(&context, LAB_AFTER, 4, "wait_others/5"), 2e-6 + 9e-6, grid);
    assert_near_by(m->predict(&context, LAB_AFTER, 4, "lateness/5"), 1e-6, grid);
    assert_near_by(m->predict(&context, LAB_AFTER, 4, "lost/5"), 3e-6, grid);
    // a plain one takes two messages once the last has come
    assert_near_by(m->predict(&context, LAB_BEFORE, 4, "step/100"), 10e-6 + 20e-6 + 2e-6, grid);
    assert_near_by(m->predict(&context, LAB_BEFORE, 4, "wait_straggler/100"), 2e-6, grid);
    assert_true(isnan(m->predict(&context, LAB_BEFORE, 4, "lost/100"))); // step times do not say it
    lab_results_free(&probe);
    clab_net_free(net);
}

static void test_without_a_network_no_barrier_is_predicted(void **state)
{
    static const char *const unknown[] = {"step/100", "wait_straggler/100", "wait_others/100"};
    struct lab_results probe = {0};
    add(&probe, LAB_BEFORE, 2, "work/100", 10e-6);
    add(&probe, LAB_BEFORE, 2, "injected/100", 20e-6);
    const struct lab_conf conf = {.model = lab_model_find("06-straggler"),
                                  .sizes = words("16384", NULL),
                                  .probe_ranks = words("2", NULL),
                                  .probe_iterations = words("100", NULL)};
    const struct lab_context context = {.conf = &conf, .probe = &probe, .ranks = 2, .cores = 2};
    const struct lab_model *m = conf.model;
    for (size_t i = 0; i < sizeof unknown / sizeof *unknown; i++) {
        assert_true(isnan(m->predict(&context, LAB_BEFORE, 2, unknown[i])));
        assert_true(isnan(m->predict(&context, LAB_AFTER, 2, unknown[i])));
    }
    assert_near(m->predict(&context, LAB_AFTER, 2, "lateness/100"), 20e-6);
    assert_near(m->predict(&context, LAB_AFTER, 4, "lost/100"), 60e-6);
    assert_near(m->predict(&context, LAB_AFTER, 1, "step/100"), 30e-6); // alone it meets nobody
    assert_true(m->predict(&context, LAB_AFTER, 1, "wait_straggler/100") == 0);
    lab_results_free(&probe);
}

// ---- pairs ---------------------------------------------------------------------------------------------------

static void test_counterparts_differ_in_the_middle_word_only(void **state)
{
    struct lab_results r = {0};
    static const char *const names[] = {"time/by_hand/8", "time/by_hand/64", "bytes_sent/by_hand/8", "op",
                                        "iteration/8"};
    for (int i = 0; i < 5; i++)
        add(&r, LAB_BEFORE, 2, names[i], i);
    const struct lab_series ring = {.program = LAB_AFTER, .ranks = 2, .quantity = "time/ring/64"};
    const struct lab_series op = {.program = LAB_AFTER, .ranks = 2, .quantity = "op"};
    const struct lab_series other_ranks = {.program = LAB_AFTER, .ranks = 4, .quantity = "op"};
    const struct lab_series even = {.program = LAB_AFTER, .ranks = 2, .quantity = "break_even"};
    const struct lab_series two_words = {.program = LAB_AFTER, .ranks = 2, .quantity = "time/8"};
    assert_string_equal(lab_counterpart(&r, &ring)->quantity, "time/by_hand/64");
    assert_string_equal(lab_counterpart(&r, &op)->quantity, "op");
    assert_null(lab_counterpart(&r, &other_ranks));
    assert_null(lab_counterpart(&r, &even));
    assert_null(lab_counterpart(&r, &two_words));
    lab_results_free(&r);
}

static void test_what_must_be_equal_is(void **state)
{
    struct lab_results r = {0};
    const struct lab_conf conf = {
        .id = "07",
        .nquantities = 2,
        .quantities = {{.name = "checksum", .unit = "1", .equal = true}, {.name = "time", .unit = "s"}}};
    add(&r, LAB_BEFORE, 2, "checksum/sum/8", 5);
    add(&r, LAB_AFTER, 2, "checksum/sum/8", 5);
    add(&r, LAB_BEFORE, 2, "time/by_hand/8", 1);
    add(&r, LAB_AFTER, 2, "time/ring/8", 2);
    assert_int_equal(lab_check_equal(&conf, &r), CLAB_OK);
    add(&r, LAB_AFTER, 2, "checksum/sum/8", 6);
    const struct capture capture = capture_begin(STDERR_FILENO);
    const int err = lab_check_equal(&conf, &r);
    assert_one_line_with(capture_end(capture), "lab 07: checksum/sum/8 differs: before has 5, after has 6");
    assert_int_equal(err, CLAB_EWRONG);
    lab_results_free(&r);
}

// ---- what programs report ------------------------------------------------------------------------------------

static int read_rows(const char *text, struct lab_results *results)
{
    FILE *file = fmemopen((char *)text, strlen(text), "r");
    assert_non_null(file);
    const int err = lab_rows_read(file, "rows", LAB_AFTER, 2, results);
    fclose(file);
    return err;
}

static void test_rows_of_programs_are_read_whole_or_refused(void **state)
{
    static const char *const wrong[] = {"op,s,2,1,nan,1,1\n",     "op,s,2,1,inf,1,1\n",
                                        "op,s,2,1,1.5\n",         "op,s,2,1,1.5,1,2,3\n",
                                        "op,s,2,1,1.5,1,2",       "op,seconds.seconds!,2,1,1.5,1,2\n",
                                        "op,s,2,1,1.5,1,2 more\n"};
    struct lab_results results = {0};
    assert_int_equal(read_rows("op,s,2,1,1.5,1,2\nop,s,2,1,2.5,nan,nan\n", &results), CLAB_OK);
    assert_int_equal(lab_results_find(&results, LAB_AFTER, 2, "op")->n, 2);
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        const struct capture capture = capture_begin(STDERR_FILENO);
        const int err = read_rows(wrong[i], &results);
        assert_one_line_with(capture_end(capture), "rows:1: not a row of clab_report");
        assert_int_equal(err, CLAB_EPARSE);
    }
    lab_results_free(&results);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_message_of_this_machine_takes_what_the_card_says),
        cmocka_unit_test(test_times_are_those_of_the_network),
        cmocka_unit_test(test_messages_and_bytes_are_counted_on_the_schedule),
        cmocka_unit_test(test_ranks_on_shared_cores_share_work_and_take_turns),
        cmocka_unit_test(test_a_communicator_is_predicted_from_two_probes),
        cmocka_unit_test(test_virtual_times_are_the_closed_forms),
        cmocka_unit_test(test_the_virtual_loop_follows_from_alpha),
        cmocka_unit_test(test_the_amortised_cost_is_that_of_the_lab_text),
        cmocka_unit_test(test_what_is_predicted_overlaps_only_where_a_thread_may_call),
        cmocka_unit_test(test_a_monitored_barrier_hears_the_others_while_it_waits),
        cmocka_unit_test(test_without_a_network_no_barrier_is_predicted),
        cmocka_unit_test(test_counterparts_differ_in_the_middle_word_only),
        cmocka_unit_test(test_what_must_be_equal_is),
        cmocka_unit_test(test_rows_of_programs_are_read_whole_or_refused),
    };
    return cmocka_run_group_tests(tests, folder_make, folder_remove);
}
