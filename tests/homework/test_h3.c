// SPDX-License-Identifier: MIT
// Homework h3: the time of a step is what one derives by hand, every student's networks are worth the thought, the
// reference has all points, and each typical mistake is named.

// clang-format off
// clang-format on

#include "tests/fixtures/capture.h"

#include <math.h>

#include "core/base/err.h"
#include "core/base/units.h"
#include "cmd/grade/seed.h"
#include "labs/homework/h3/price.h"
#include "labs/homework/h3/replay.h"
#include "labs/homework/h3/start.h"
#include "sim/sim.h"
#include "tests/fixtures/grading.h"
#include "tests/fixtures/full.h"
#include "tests/fixtures/needs.h"

enum { STUDENTS = 20, GRADED = IS_SLOW ? 1 : 4 };

static const char reference[] = "tests/homework/h3/reference.c", starter[] = "labs/homework/h3/starter/mine.c";

extern const struct homework homework_h3;

static void grade(struct grading *g, int student, const char *submission)
{
    static char id[16];
    snprintf(id, sizeof id, "s%d", student);
    grading_begin(g, &homework_h3, id, submission);
    homework_h3.grade(g);
}

// ---- a step by hand ----------------------------------------------------------------------------------------------------

// Three layers of 1000 elements, 1 ms for each pass of each; two ranks. So gradients are there at 1, 3 and 5 ms. An allreduce of
// b bytes takes 2 (100 us + b/2 * 1 ns): of a layer 204 us, of all 212 us. Work on a layer takes 5 * 4000 B * 1 ns = 20 us.
static const struct h3_case three = {.name = "three layers",
                                     .ranks = 2,
                                     .layers = 3,
                                     .layer = {{998, 2, 1e-3, 1e-3}, {998, 2, 1e-3, 1e-3}, {998, 2, 1e-3, 1e-3}},
                                     .alpha = 100e-6,
                                     .beta = 1e-9,
                                     .gamma = 0,
                                     .memory = 1e-9};

// The actions of all ranks, from what the harness writes of a step.
static void read_actions(const struct h3_case *c, const char *of_step, struct h3_trace *trace)
{
    static char text[16384];
    char *at = text;
    for (int rank = 0; rank < c->ranks; rank++) {
        at += sprintf(at, "rank 0 %d\n", rank);
        for (int step = 0; step < H3_STEPS; step++)
            at += sprintf(at, "step\n%sdone\n", of_step);
        at += sprintf(at, "end\n");
    }
    const char *begin = text;
    assert_int_equal(h3_trace_read(c, 0, &begin, at, trace), CLAB_OK);
}

#define LAYER_2 "ready 5\nready 4\n"
#define LAYER_1 "ready 3\nready 2\n"
#define LAYER_0 "ready 1\nready 0\n"

static double exposed_by(const char *of_step)
{
    struct h3_trace trace;
    struct h3_verdict verdict;
    struct h3_time time;
    read_actions(&three, of_step, &trace);
    assert_int_equal(h3_replay(&three, &trace, &verdict), CLAB_OK);
    if (!verdict.is_right)
        fail_msg("%s", verdict.why);
    assert_int_equal(h3_price(&three, &trace, &time), CLAB_OK);
    h3_trace_free(&trace);
    return 1e6 * time.exposed;
}

static void test_a_step_takes_what_one_derives_by_hand(void **state)
{
    // One for all, after the pass.
    assert_float_equal(exposed_by(LAYER_2 LAYER_1 LAYER_0 "finish\nreduce 0 6\nwait 0\nscale 0 6 0.5\nupdate 0 6\n"),
                       212, 1e-6);
    // Only the last layer's is not hidden.
    assert_float_equal(exposed_by(LAYER_2 "reduce 4 2\n" LAYER_1 "reduce 2 2\n" LAYER_0 "reduce 0 2\nfinish\n"
                                          "wait 0\nwait 1\nwait 2\nscale 0 6 0.5\nupdate 0 6\n"),
                       204, 1e-6);
    // Work on two layers hides 40 us of it.
    assert_float_equal(exposed_by(LAYER_2 "reduce 4 2\n" LAYER_1 "reduce 2 2\n" LAYER_0 "reduce 0 2\nfinish\n"
                                          "wait 0\nscale 4 2 0.5\nupdate 4 2\nwait 1\nscale 2 2 0.5\nupdate 2 2\n"
                                          "wait 2\nscale 0 2 0.5\nupdate 0 2\n"),
                       164, 1e-6);
    // Waits in the pass stop it, three times.
    assert_float_equal(exposed_by(LAYER_2 "reduce 4 2\nwait 0\n" LAYER_1 "reduce 2 2\nwait 1\n" LAYER_0
                                          "reduce 0 2\nwait 2\nfinish\nscale 0 6 0.5\nupdate 0 6\n"),
                       612, 1e-6);
    // They travel one after another: two that start together are over after 408 us.
    assert_float_equal(exposed_by(LAYER_2 LAYER_1 "reduce 4 2\n" LAYER_0 "reduce 0 2\nreduce 2 2\nfinish\n"
                                                  "wait 0\nwait 1\nwait 2\nscale 0 6 0.5\nupdate 0 6\n"),
                       408, 1e-6);
}

// On a rank that computes the other branch first, a bucket of one branch is there later: all wait for it.
static void test_a_collective_waits_for_the_last_rank(void **state)
{
    struct h3_case c = three;
    struct h3_trace trace;
    struct h3_time time;
    c.layers = 2;
    c.branch = 1; // rank 0: layer 1, then 0; rank 1: 0, then 1. No gradients of inputs: a pass takes 2 ms
    static const char text[] =
        "rank 0 0\nstep\nready 3\nready 2\nreduce 2 2\nready 1\nready 0\nreduce 0 2\nfinish\nwait 0\nwait 1\n"
        "scale 0 4 0.5\nupdate 0 4\ndone\nleft\n"
        "rank 0 1\nstep\nready 1\nready 0\nready 3\nready 2\nreduce 2 2\nreduce 0 2\nfinish\nwait 0\nwait 1\n"
        "scale 0 4 0.5\nupdate 0 4\ndone\nleft\n";
    const char *begin = text;
    assert_int_equal(h3_trace_read(&c, 0, &begin, text + sizeof text - 1, &trace), CLAB_OK);
    assert_int_equal(h3_price(&c, &trace, &time), CLAB_OK);
    assert_float_equal(1e6 * time.exposed, 408, 1e-6);
    h3_trace_free(&trace);
}

// ---- what nobody trusts ------------------------------------------------------------------------------------------------

static bool is_right(const char *of_step)
{
    struct h3_trace trace;
    struct h3_verdict verdict;
    read_actions(&three, of_step, &trace);
    assert_int_equal(h3_replay(&three, &trace, &verdict), CLAB_OK);
    h3_trace_free(&trace);
    assert_true(verdict.is_right == !verdict.why[0]);
    return verdict.is_right;
}

#define ALL "reduce 0 6\nwait 0\nscale 0 6 0.5\nupdate 0 6\n"

static void test_text_that_the_harness_does_not_write_is_refused(void **state)
{
    assert_true(is_right(LAYER_2 LAYER_1 LAYER_0 "finish\n" ALL));
    assert_false(is_right(LAYER_2 LAYER_0 LAYER_1 "finish\n" ALL)); // another order than the case's
    assert_false(is_right(LAYER_2 LAYER_1 "finish\n" ALL));         // gradients that never came
    assert_false(is_right(LAYER_2 LAYER_1 LAYER_0 "finish\nfinish\n" ALL));
    assert_false(is_right(LAYER_2 LAYER_1 LAYER_0 "finish\n" ALL "done\n"));
    assert_false(is_right(LAYER_2 LAYER_1 LAYER_0 "finish\n" ALL "points 100\n"));
    assert_false(is_right(LAYER_2 LAYER_1 LAYER_0 ALL));
    assert_false(is_right("end\n" LAYER_2 LAYER_1 LAYER_0 "finish\n" ALL));
}

static void test_numbers_that_are_no_parameters_are_refused(void **state)
{
    static const char *const bad[] = {"reduce -1 2\n",          "reduce 0 0\n",
                                      "reduce 5 2\n",           "reduce 2147483647 2147483647\n",
                                      "reduce 0 -2147483648\n", "wait -1\n",
                                      "wait 2147483647\n",      "scale 6 1 1\n",
                                      "scale 0 7 1\n",          "update 2147483647 1\n",
                                      "scale 0 6 nan\n",        "scale 0 6 inf\n"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        char text[400];
        snprintf(text, sizeof text, LAYER_2 LAYER_1 LAYER_0 "finish\n%s" ALL, bad[i]);
        assert_false(is_right(text));
    }
}

// ---- networks ------------------------------------------------------------------------------------------------------------

static void test_networks_are_worth_the_thought(void **state)
{
    const int students = few_of(IS_SLOW ? 2 : STUDENTS, 5);
    for (uint64_t seed = 0; seed < (uint64_t)students; seed++)
        for (int which = 0; which < H3_NETWORKS; which++) {
            struct h3_case c;
            struct h3_bounds b;
            assert_int_equal(h3_choose_network(which, seed, &c, &b), CLAB_OK);
            assert_true(b.best < b.none && b.best < b.each && b.buckets > 1 && b.buckets < h3_parameters(&c));
        }
}

// A bucket of a fixed part of all bytes, whichever part: its points of 80, on the networks of some students. Parameters are
// right, which is worth 32.
static void test_no_fixed_part_is_good_on_all_networks(void **state)
{
    enum { PARTS = 9, CLASS = IS_SLOW ? 2 : 6 };
    static const double parts[PARTS] = {2, 3, 4, 6, 8, 10, 16, 30, 40};
    double points[PARTS] = {0};
    for (uint64_t seed = 0; seed < CLASS; seed++)
        for (int which = 0; which < H3_NETWORKS; which++) {
            struct h3_case c;
            struct h3_bounds b;
            double exposed;
            assert_int_equal(h3_choose_network(which, seed, &c, &b), CLAB_OK);
            assert_true(h3_share(&b, b.best) == 1 && h3_share(&b, b.none) == 0);
            for (int i = 0; i < PARTS; i++) {
                assert_int_equal(h3_fixed(&c, parts[i], &exposed), CLAB_OK);
                points[i] += 16 * h3_share(&b, exposed) / CLASS;
            }
        }
    for (int i = 0; i < PARTS; i++)
        if (32 + points[i] > (IS_SLOW ? 60 : 50))
            fail_msg("a bucket of 1/%g of all bytes has %.1f of 80 points", parts[i], 32 + points[i]);
}

static void test_a_network_is_what_its_text_says(void **state)
{
    struct h3_case c;
    struct clab_net *net;
    char *text = NULL;
    size_t bytes;
    needs_inih();
    h3_network(1, 7, &c);
    FILE *file = open_memstream(&text, &bytes);
    h3_write_network(&c, file);
    fclose(file);
    file = fmemopen(text, bytes, "r");
    assert_int_equal(clab_net_read(file, "network-2.net", &net), CLAB_OK);
    fclose(file);
    free(text);
    assert_true(fabs(net->inter.alpha / c.alpha - 1) < 1e-4 && fabs(net->inter.beta / c.beta - 1) < 1e-4);
    assert_true(fabs(net->gamma / c.gamma - 1) < 1e-4 && fabs(net->compute.memory / c.memory - 1) < 1e-4);
    clab_net_free(net);
}

// ---- what a student gets -------------------------------------------------------------------------------------------------

// What a command writes, errors too.
static int run(char out[4096], const char *format, ...)
{
    char command[1024];
    va_list list;
    va_start(list, format);
    vsnprintf(command, sizeof command - 6, format, list);
    va_end(list);
    FILE *pipe = popen(strcat(command, " 2>&1"), "r");
    assert_non_null(pipe);
    out[fread(out, 1, 4095, pipe)] = 0;
    return pclose(pipe);
}

static const char *build_folder(void)
{
    return getenv("CLAB_BUILD") ? getenv("CLAB_BUILD") : "build";
}

static void try(const char *folder, const char *mine, const char *arguments, int status, const char *words)
{
    char out[4096];
    if (run(out, "%s/labcc -o %s/try %s labs/homework/h3/try.c", build_folder(), folder, mine) || out[0])
        fail_msg("%s", out);
    const int got = run(out, "cd %s && ./try %s", folder, arguments);
    if (!strstr(out, words) || !got != !status)
        fail_msg("status %d, no '%s' in: %s", got, words, out);
}

// The networks that `start h3` writes are those on which the student's own grader times, and `try` trains on them.
static void test_a_student_can_train(void **state)
{
    static const char good[] = "After 3 steps all parameters are those of sequential training, on all ranks.";
    char folder[] = "/tmp/commlab-h3-XXXXXX", command[64];
    needs_inih();
    needs_sodium();
    assert_non_null(mkdtemp(folder));
    assert_int_equal(h3_start("sample", folder), CLAB_OK);
    try(folder, reference, "-n 2", 0, good);
    try(folder, reference, "-n 4 --backend sim --net ./network-1.net 8 64 4 4", 0, good);
    try(folder, starter, "-n 2 4 32 4 1", 1, "after 3 steps parameter");
    try(folder, "tests/homework/h3/wrong/never-waits.c", "-n 2 4 32 4 1", 1, "nobody has waited for the collective");
    snprintf(command, sizeof command, "rm -r %s", folder);
    assert_int_equal(system(command), 0);
}

// The sample reports name the times that the student `sample` sees.
static void test_samples_are_of_these_networks(void **state)
{
    char text[8192];
    uint64_t seed;
    needs_sodium();
    FILE *file = fopen("labs/homework/h3/sample-A.md", "r");
    assert_non_null(file);
    text[fread(text, 1, sizeof text - 1, file)] = 0;
    fclose(file);
    assert_int_equal(homework_seed(NULL, "sample", "h3 networks", &seed), CLAB_OK);
    for (int which = 0; which < H3_NETWORKS; which++) {
        struct h3_case c;
        struct h3_bounds b;
        char none[CLAB_TEXT], best[CLAB_TEXT], words[128];
        assert_int_equal(h3_choose_network(which, seed, &c, &b), CLAB_OK);
        snprintf(words, sizeof words, "in %d collectives; %s without overlap, %s is well done", b.buckets,
                 clab_seconds_text(b.none, none), clab_seconds_text(b.best, best));
        if (!strstr(text, words))
            fail_msg("sample-A.md has no '%s'", words);
    }
}

// ---- points --------------------------------------------------------------------------------------------------------------

static void test_the_reference_has_all_points(void **state)
{
    const int graded = few_of(GRADED, 1);
    for (int student = 0; student < graded; student++) {
        struct grading g;
        grade(&g, student, reference);
        assert_true(fabs(grading_sum(&g) - 80) < 1e-9);
        grading_end(&g);
    }
}

// A fixed size has the points of right parameters, and few more; a formula that forgets the pass has some of the others.
static void test_a_fixed_bucket_size_has_some(void **state)
{
    struct grading fixed, rough;
    grade(&fixed, 1, "tests/homework/h3/fixed.c");
    grade(&rough, 1, "tests/homework/h3/rough.c");
    assert_true(grading_points(&fixed, "plain") == 12 && grading_points(&rough, "order") == 12);
    assert_true(grading_sum(&fixed) >= 32 && grading_sum(&fixed) <= 48);
    assert_true(grading_sum(&rough) > 48 && grading_sum(&rough) < 72);
    grading_end(&fixed);
    grading_end(&rough);
}

static pid_t keep_a_core_busy(void)
{
    const pid_t child = fork();
    for (volatile unsigned long i = 0; child == 0; i++)
        if (getppid() == 1)
            _exit(0);
    return child;
}

static void test_points_and_words_are_the_same_on_a_busy_machine(void **state)
{
    if (!is_full()) { // four that do nothing but compute
        leave_out(1);
        return;
    }
    struct grading idle, busy;
    pid_t spinners[4];
    grade(&idle, 1, "tests/homework/h3/fixed.c");
    for (int i = 0; i < 4; i++)
        spinners[i] = keep_a_core_busy();
    grade(&busy, 1, "tests/homework/h3/fixed.c");
    for (int i = 0; i < 4; i++) {
        kill(spinners[i], SIGKILL);
        waitpid(spinners[i], NULL, 0);
    }
    assert_memory_equal(idle.points, busy.points, sizeof idle.points);
    assert_memory_equal(idle.texts, busy.texts, sizeof idle.texts);
    grading_end(&idle);
    grading_end(&busy);
}

static void test_the_starter_builds_and_says_what_to_do(void **state)
{
    struct grading g;
    grade(&g, 0, starter);
    assert_true(grading_sum(&g) == 0);
    assert_non_null(strstr(grading_text(&g, "plain"), "step 0, rank 0, finish: no gradient is reduced"));
    grading_end(&g);
}

static void expect_words(const char *path)
{
    struct grading g;
    grade(&g, 1, path);
    grading_assert_named(&g, 50);
    grading_end(&g);
}

// Unless CLAB_TEST_FULL is set, some of them.
static void test_each_mistake_is_named(void **state)
{
    int n = 0, tried = 0;
    DIR *folder = opendir("tests/homework/h3/wrong");
    assert_non_null(folder);
    for (struct dirent *entry; (entry = readdir(folder));) {
        char path[400];
        snprintf(path, sizeof path, "tests/homework/h3/wrong/%s", entry->d_name);
        if (entry->d_name[0] == '.')
            continue;
        if (is_full() || n % 3 == 0) {
            expect_words(path);
            tried++;
        }
        n++;
    }
    closedir(folder);
    assert_true(n >= 10);
    leave_out(n - tried);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_step_takes_what_one_derives_by_hand),
        cmocka_unit_test(test_a_collective_waits_for_the_last_rank),
        cmocka_unit_test(test_text_that_the_harness_does_not_write_is_refused),
        cmocka_unit_test(test_numbers_that_are_no_parameters_are_refused),
        cmocka_unit_test(test_networks_are_worth_the_thought),
        cmocka_unit_test(test_no_fixed_part_is_good_on_all_networks),
        cmocka_unit_test(test_a_network_is_what_its_text_says),
        cmocka_unit_test(test_a_student_can_train),
        cmocka_unit_test(test_samples_are_of_these_networks),
        cmocka_unit_test(test_the_reference_has_all_points),
        cmocka_unit_test(test_a_fixed_bucket_size_has_some),
        cmocka_unit_test(test_points_and_words_are_the_same_on_a_busy_machine),
        cmocka_unit_test(test_the_starter_builds_and_says_what_to_do),
        cmocka_unit_test(test_each_mistake_is_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
