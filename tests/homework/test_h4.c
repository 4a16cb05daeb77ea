// SPDX-License-Identifier: MIT
// Homework h4: the reference has all points on every machine, the starter has few, and each typical mistake is
// named. Takes long.

// clang-format off
// clang-format on

#include "tests/fixtures/capture.h"

#include <math.h>

#include "labs/homework/h4/judge.h"
#include "sim/sim.h"
#include "core/base/err.h"
#include "tests/fixtures/grading.h"
#include "tests/fixtures/full.h"
#include "tests/fixtures/needs.h"
#include "tests/homework/h4/reference.c"

enum { MACHINES = 60, STUDENTS = 2 };

static const char reference[] = "tests/homework/h4/reference.c", starter[] = "labs/homework/h4/starter/mine.c";

extern const struct homework homework_h4;

// What a submission is told, for the student of that number.
static void grade(struct grading *g, int student, const char *submission)
{
    static char id[16];
    snprintf(id, sizeof id, "s%d", student);
    grading_begin(g, &homework_h4, id, submission);
    homework_h4.grade(g);
}

// ---- machines ----------------------------------------------------------------------------------------------------------

static struct h4_round make_round(uint64_t seed)
{
    struct h4_question questions[H4_QUESTIONS];
    struct h4_round round;
    h4_round_make(seed, questions, h4_plan(questions), &round);
    return round;
}

static void test_a_machine_is_drawn_alike_and_seeds_differ(void **state)
{
    const struct h4_round a = make_round(7), b = make_round(7), c = make_round(8);
    assert_memory_equal(a.right, b.right, sizeof a.right);
    assert_true(fabs(a.right[0] - c.right[0]) > 0);
}

static void test_the_network_file_is_the_machine(void **state)
{
    needs_inih();
    char path[] = "/tmp/commlab-h4-XXXXXX";
    const int file = mkstemp(path);
    assert_true(file >= 0);
    close(file);
    for (uint64_t seed = 0; seed < 5; seed++) {
        const struct h4_round round = make_round(seed);
        struct clab_net *net;
        assert_int_equal(h4_machine_write(&round.machine, path), CLAB_OK);
        assert_int_equal(clab_net_load(path, &net), CLAB_OK);
        for (int i = 0; i < H4_CELLS; i++) {
            const struct h4_question *q = &round.cells[i];
            const struct clab_problem problem = {
                .collective = CLAB_ALLREDUCE, .nranks = q->ranks, .lanes = 1, .count = q->bytes / 4};
            const struct clab_sim_options options = {.element_bytes = 4};
            struct clab_sim_result result;
            assert_int_equal(clab_sim_run(&problem,
                                          clab_algorithm_find(CLAB_ALLREDUCE, h4_algorithm_name(q->algorithm)), net,
                                          &options, &result),
                             CLAB_OK);
            assert_true(fabs(result.seconds / round.right[i] - 1) < 1e-9);
        }
        clab_net_free(net);
    }
    unlink(path);
}

// ---- points ------------------------------------------------------------------------------------------------------------

static void test_formulas_foresee_every_machine(void **state)
{
    const int machines = few_of(MACHINES, 15);
    for (uint64_t seed = 0; seed < (uint64_t)machines; seed++) {
        struct h4_round round = make_round(seed);
        int cell;
        char why[H4_WHY];
        for (int i = 0; i < H4_CELLS; i++)
            round.foreseen[i] = h4_foresee(round.answers, round.nanswers, round.cells[i]);
        assert_true(fabs(h4_round_share(&round, 0) - 1) < 1e-9);
        assert_true(fabs(h4_round_share(&round, H4_GROUP) - 1) < 1e-9);
        assert_true(h4_round_worst(&round, round.foreseen, &cell) < 0.25);
        assert_false(h4_round_explain(&round, why));
    }
}

static void test_two_points_foresee_none(void **state)
{
    const int machines = few_of(MACHINES, 15);
    for (uint64_t seed = 0; seed < (uint64_t)machines; seed++) {
        struct h4_round round = make_round(seed);
        h4_round_baseline(&round, round.foreseen);
        assert_true(h4_round_share(&round, 0) < 1e-9 && h4_round_share(&round, H4_GROUP) < 1e-9);
    }
}

static void test_the_reference_has_all_points(void **state)
{
    for (int student = 0; student < STUDENTS; student++) {
        struct grading g;
        grade(&g, student, reference);
        assert_true(fabs(grading_sum(&g) - 80) < 1e-9);
        grading_end(&g);
    }
}

static void test_the_starter_builds_and_says_what_to_do(void **state)
{
    struct grading g;
    grade(&g, 0, starter);
    assert_true(fabs(grading_points(&g, "plan") - 10) < 1e-9 && grading_sum(&g) < 12);
    assert_non_null(strstr(grading_text(&g, "practice"), "as if all ranks were on one host"));
    assert_non_null(strstr(grading_text(&g, "practice"), "your plan asks nothing above 2 ranks"));
    grading_end(&g);
}

static void test_points_fall_as_the_error_grows(void **state)
{
    double last = 2;
    for (double wrong = 0; wrong < 2; wrong += 0.1) {
        struct h4_round round = make_round(3);
        for (int i = 0; i < H4_CELLS; i++)
            round.foreseen[i] = round.right[i] * (1 + wrong);
        const double share = h4_round_share(&round, H4_GROUP);
        assert_true(share < last || (share == 0 && last == 0) || (share == 1 && wrong < 0.03));
        last = share;
    }
    assert_true(last == 0);
}

// ---- mistakes ----------------------------------------------------------------------------------------------------------

// Each is a change of the reference by sed, and what the grader says.
static const struct {
    const char *name, *change, *words;
} mistakes[] = {
    {"asks_too_much", "s/return ALL;/return 25;/", "your plan has 25 questions, and 24 are allowed"},
    {"asks_nothing", "s/return ALL;/return 0;/", "your plan has no question"},
    {"asks_of_three_ranks", "s/2 << k, 8/3, 8/", "it may have 2, 4, 8 or 16 ranks"},
    {"asks_too_large_sizes", "s/H4_DOUBLING, 2, H4_ASKED_BYTES/H4_DOUBLING, 2, 2 * H4_ASKED_BYTES/",
     "it may have 4 bytes to 4 MiB"},
    {"microseconds", "s/return \\(inside\\|(question\\)/return 1e6 * \\1/", "h4_foresee returns seconds"},
    {"negative_alpha", "s/return f;/f.alpha[0] = f.alpha[1] = -1e-4; return f;/", "which is no time"},
    {"falling", "s/return \\(inside\\|(question\\)/return 1.0 \\/ bytes; return \\1/", "your beta is negative"},
    {"one_host",
     "s/const double bytes = (double)question.bytes, /const double bytes = (double)question.bytes; ((struct fit *)\\&f)->inside = 20; const double /",
     "as if all ranks were on one host"},
    {"a_host_per_rank",
     "s/const double bytes = (double)question.bytes, /const double bytes = (double)question.bytes; ((struct fit *)\\&f)->inside = 0; const double /",
     "as if each rank had a host of its own"},
    {"one_alpha", "s/return f;/f.handshake = 0; return f;/", "as if alpha were the same for all messages"},
    {"alpha_of_large_messages", "s/return f;/f.alpha[1] += f.handshake; f.handshake = 0; return f;/",
     "alpha was fitted from large messages"},
    {"adding_is_free", "s/return f;/f.slope[0] -= f.gamma; f.slope[1] -= f.gamma; f.gamma = 0; return f;/",
     "as if adding were free"},
    {"no_alpha", "s/return f;/f.alpha[0] = f.alpha[1] = f.handshake = 0; return f;/", "as if alpha were 0"},
    {"no_beta", "s/return f;/f.slope[0] = f.slope[1] = f.gamma = 0; return f;/", "as if beta were 0"},
    {"whole_messages", "s/part = bytes \\/ question.ranks/part = bytes/", "it has bytes / P"},
    {"half_a_ring", "s/return (question.ranks - 1) \\* (2 \\* /return (question.ranks - 1) * (/",
     "as if a ring had P - 1 stages"},
    {"sixteen_ranks", "s/^    (void)n;$/    (void)n; question.ranks = question.ranks > 16 ? 16 : question.ranks;/",
     "as if no more than 16 ranks took part"},
    {"two_ranks", "s/^    (void)n;$/    (void)n; question.ranks = 2;/", "as if two ranks took part"},
    {"doubling_like_a_ring", "s/stages = log2(question.ranks)/stages = question.ranks - 1/",
     "as if doubling had P - 1 stages"},
    {"leaves", "s/return ALL;/_Exit(0);/; s/^#include <math.h>/#include <math.h>\\n#include <stdlib.h>/",
     "it left no plan"},
    {"never_ends", "s/^    (void)n;$/    for (;;) n++;/", "h4_foresee: "},
};

static void change(const char *expression, const char *to)
{
    char command[1024];
    snprintf(command, sizeof command, "sed -e '%s' %s >%s && ! cmp -s %s %s", expression, reference, to, reference, to);
    assert_int_equal(system(command), 0);
}

static bool is_said(const struct grading *g, const char *words)
{
    bool is_there = false;
    for (int i = 0; g->homework->tests[i].key; i++)
        is_there = is_there || strstr(g->texts[i], words);
    return is_there;
}

static void test_each_mistake_is_named(void **state)
{
    char folder[] = "/tmp/commlab-h4-XXXXXX", path[64], command[64];
    assert_non_null(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/mine.c", folder);
    size_t n = sizeof mistakes / sizeof *mistakes;
    const size_t step = is_full() ? 1 : 3; // what never ends takes 20 s of a core
    if (!is_full()) {
        n--;
        leave_out((int)(n - (n + step - 1) / step) + 1);
    }
    for (size_t i = 0; i < n; i += step) {
        struct grading g;
        change(mistakes[i].change, path);
        grade(&g, 1, path);
        if (!is_said(&g, mistakes[i].words) || grading_sum(&g) > 75)
            fail_msg("%s: %g points, and not '%s', but: %s%s%s%s", mistakes[i].name, grading_sum(&g), mistakes[i].words,
                     g.texts[0], g.texts[1], g.texts[3], g.texts[4]);
        grading_end(&g);
    }
    snprintf(command, sizeof command, "rm -r %s", folder);
    assert_int_equal(system(command), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_machine_is_drawn_alike_and_seeds_differ),
        cmocka_unit_test(test_the_network_file_is_the_machine),
        cmocka_unit_test(test_formulas_foresee_every_machine),
        cmocka_unit_test(test_two_points_foresee_none),
        cmocka_unit_test(test_the_reference_has_all_points),
        cmocka_unit_test(test_the_starter_builds_and_says_what_to_do),
        cmocka_unit_test(test_points_fall_as_the_error_grows),
        cmocka_unit_test(test_each_mistake_is_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
