// SPDX-License-Identifier: MIT
// lab.conf: what is read, and what is refused with which line.

#include "tests/fixtures/capture.h"

#include <math.h>

#include "core/base/err.h"
#include "cmd/lab/lab.h"
#include "tests/fixtures/needs.h"
#include "core/train/parameters.h"

#define GOOD               \
    "[lab]\n"              \
    "id = 07\n"            \
    "title = two words\n"  \
    "headline = time/\n"   \
    "backends = shm ofi\n" \
    "ranks = 4\n"          \
    "pairs = 9\n"          \
    "sizes = 8 64\n"       \
    "[time]\n"             \
    "  unit = s\n"         \
    "  tolerance = 2.5\n"  \
    "[checksum]\n"         \
    "unit = 1\n"           \
    "equal = yes\n"

static int read_text(const char *text, struct lab_conf *conf_p)
{
    FILE *file = fmemopen((char *)text, strlen(text), "r");
    assert_non_null(file);
    const int err = lab_conf_read(file, "lab.conf", conf_p);
    fclose(file);
    return err;
}

static void test_settings_and_quantities_are_read(void **state)
{
    needs_inih();
    struct lab_conf conf;
    assert_int_equal(read_text(GOOD, &conf), CLAB_OK);
    assert_string_equal(conf.title, "two words");
    assert_string_equal(conf.backends.words[1], "ofi");
    assert_int_equal(conf.sizes.count, 2);
    assert_int_equal(conf.iterations.count, 0);
    assert_int_equal(conf.pairs, 9);
    assert_int_equal(conf.nquantities, 2);
    assert_true(lab_conf_quantity(&conf, "time/ring/8")->tolerance == 2.5); // indented as it is
    assert_true(isnan(lab_conf_quantity(&conf, "checksum")->tolerance));
    assert_true(lab_conf_quantity(&conf, "checksum/sum/8")->equal);
    assert_null(lab_conf_quantity(&conf, "tim"));
    lab_conf_free(&conf);
}

static void test_bounds_of_predictions_are_read(void **state)
{
    needs_inih();
    struct lab_conf conf;
    assert_int_equal(read_text(GOOD "[overlap]\nunit = %\nmost = 100\n[op]\nunit = s\nmessage = yes\n", &conf),
                     CLAB_OK);
    assert_true(lab_conf_quantity(&conf, "overlap")->most == 100 && isinf(lab_conf_quantity(&conf, "op")->most));
    assert_true(lab_conf_quantity(&conf, "op")->is_message && !lab_conf_quantity(&conf, "overlap")->is_message);
    lab_conf_free(&conf);
}

static void test_a_variant_changes_what_it_says_and_only_when_used(void **state)
{
    needs_inih();
    struct lab_conf conf;
    assert_int_equal(read_text(GOOD "[lab ofi]\nranks = 2\nsizes = 16\n[lab emulate]\nranks = 3\n", &conf), CLAB_OK);
    assert_int_equal(lab_conf_use(&conf, "shm"), CLAB_OK);
    assert_int_equal(conf.ranks, 4);
    assert_int_equal(conf.sizes.count, 2);
    assert_int_equal(lab_conf_use(&conf, "ofi"), CLAB_OK);
    assert_int_equal(conf.ranks, 2);
    assert_int_equal(conf.sizes.count, 1);
    assert_string_equal(conf.sizes.words[0], "16");
    assert_int_equal(conf.pairs, 9);
    assert_int_equal(lab_conf_use(&conf, "emulate"), CLAB_OK);
    assert_int_equal(conf.ranks, 3);
    lab_conf_free(&conf);
}

static void test_a_lab_may_have_a_wire_and_say_why_it_needs_it(void **state)
{
    needs_inih();
    struct lab_conf conf;
    assert_int_equal(read_text(GOOD, &conf), CLAB_OK);
    assert_null(conf.emulate);
    lab_conf_free(&conf);
    assert_int_equal(read_text(GOOD "[lab ofi]\nemulate = 1gbe\nplain_why = no core is free\n", &conf), CLAB_OK);
    assert_int_equal(lab_conf_use(&conf, "ofi"), CLAB_OK);
    assert_string_equal(conf.emulate, "1gbe");
    assert_string_equal(conf.plain_why, "no core is free");
    lab_conf_free(&conf);
}

static const struct {
    const char *text, *expected; // what the line must hold
} mistakes[] = {
    {"unit = s\n" GOOD, "lab.conf:1: expected a [section] above the first key"},
    {GOOD "[lab]\nranks = 2\n", "lab.conf:16: [lab]: this key was given before: ranks"},
    {GOOD "[time]\nunit = ms\n", "lab.conf:16: [time]: this key was given before: unit"},
    {GOOD "[op]\nunit = s\ntolerance = inf\n", "lab.conf:17: tolerance = 'inf': expected percent"},
    {GOOD "[op]\nunit = s\ntolerance = 0x10\n", "lab.conf:17: tolerance = '0x10': expected percent"},
    {GOOD "[op]\ntolerance = 1\n", "lab.conf: [op] lacks the setting 'unit'"},
    {GOOD "[lab]\nsweep = 2\n", "lab.conf: [lab] lacks the setting 'sweep_pairs', since it has 'sweep'"},
    {GOOD "[lab ofi]\nranks = 2\n[lab sim]\nranks = 2\n", "lab.conf:18: [lab sim]: the lab runs on no 'sim'"},
    {GOOD "[op]\nunit = s\nmost = all\n", "lab.conf:17: most = 'all': expected a number"},
    {GOOD "[op]\nunit = s\nmessage = maybe\n", "lab.conf:17: message = 'maybe': expected yes or no"},
    {GOOD "[lab ofi]\nranks = no\n", "lab.conf:16: ranks = 'no': expected a whole number"},
    {GOOD "[lab ofi]\nrank = 2\n", "lab.conf:16: [lab ofi] has no setting 'rank'"},
    {GOOD "[lab]\nprobe_program = x\n", "lab.conf: probe_program = 'x': expected before, after or both"},
    {"[lab]\nid = 07\n", "lab.conf: [lab] lacks the setting 'title'"},
    {"[lab]\ncolour = red\n", "lab.conf:2: [lab] has no setting 'colour'"},
    {"[lab]\nmodel = clay\n", "lab.conf:2: [lab] has no setting 'model'"}, // a lab's own is found
    {"[lab]\nsizes = 8 x\n", "lab.conf:2: sizes = '8 x': expected whole numbers"},
    {"[lab]\nsizes = 1 2 3 4 5 6 7 8 9 1 2 3 4 5 6 7 8 9 1 2 3 4 5 6 7 8 9 1 2 3 4 5 6\n", "at most 32 words"},
};

static void test_each_mistake_is_refused_with_its_line(void **state)
{
    needs_inih();
    for (size_t i = 0; i < sizeof mistakes / sizeof *mistakes; i++) {
        struct lab_conf conf;
        const struct capture capture = capture_begin(STDERR_FILENO);
        const int err = read_text(mistakes[i].text, &conf);
        assert_one_line_with(capture_end(capture), mistakes[i].expected);
        assert_int_equal(err, CLAB_EPARSE);
    }
}

// ---- a lab's model -------------------------------------------------------------------------------------------

static void test_each_folder_of_labs_has_its_model(void **state)
{
    struct lab_words folders = {0};
    assert_int_equal(lab_select(".", "all", &folders), CLAB_OK);
    for (int i = 0; i < folders.count; i++)
        if (!lab_model_find(folders.words[i]) || !lab_model_find(folders.words[i])->predict)
            fail_msg("labs/%s has no model", folders.words[i]);
    assert_true(folders.count >= 9);
    assert_ptr_not_equal(lab_model_find(folders.words[0]), lab_model_find(folders.words[1]));
    lab_words_free(&folders);
}

static void test_a_folder_without_a_model_is_refused_with_what_to_do(void **state)
{
    struct lab_conf conf;
    const struct capture capture = capture_begin(STDERR_FILENO);
    const int err = lab_conf_load(".", "77-no-such", &conf);
    assert_one_line_with(capture_end(capture), "write labs/77-no-such/model.c (labs/README.md), then `make`");
    assert_int_equal(err, CLAB_ENOENT);
}

// What a loss after three steps may differ by: an element of a gradient passes the sums over a rank's rows and over at
// most 64 ranks; relative to what a step moves.
static void assert_losses_are_bound(const char *path, int rows)
{
    struct lab_conf conf;
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    assert_int_equal(lab_conf_read(file, path, &conf), CLAB_OK);
    fclose(file);
    const double bound = 100 * clab_parameters_bound(3, rows + 64, 1, 0); // percent
    const double apart = lab_conf_quantity(&conf, "loss/x")->apart;
    lab_conf_free(&conf);
    if (!(apart >= bound && apart < 1.1 * bound))
        fail_msg("%s: losses may be %g %% apart, where %g %% is derived", path, apart, bound);
}

static void test_losses_may_part_by_what_is_derived(void **state)
{
    needs_inih();
    assert_losses_are_bound("labs/03-dataparallel/lab.conf", 16);
    assert_losses_are_bound("labs/08-buckets/lab.conf", 128);
}

static int sum(const struct lab_words *words)
{
    int all = 0;
    for (int i = 0; i < words->count; i++)
        all += atoi(words->words[i]);
    return all;
}

// `before` makes one communicator per iteration, and repeats each loop 7 times. On GPUs one takes 50 to 150 ms: 1200
// take three minutes.
static void test_lab_01_makes_few_communicators_on_gpus(void **state)
{
    needs_inih();
    enum { REPEATS = 7 };
    struct lab_conf conf;
    assert_int_equal(lab_conf_load(".", "01-reinit-comm", &conf), CLAB_OK);
    assert_int_equal(lab_conf_use(&conf, "nccl"), CLAB_OK);
    const int pairs = conf.pairs * sum(&conf.iterations);
    const int sweep = conf.sweep.count * conf.sweep_pairs * sum(&conf.sweep_iterations);
    const int probes = conf.probe_ranks.count * sum(&conf.probe_iterations);
    assert_true(conf.pairs >= 6); // else there is no interval
    assert_in_range(REPEATS * (pairs + sweep + probes), 1, 1200);
    lab_conf_free(&conf);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_settings_and_quantities_are_read),
        cmocka_unit_test(test_a_lab_may_have_a_wire_and_say_why_it_needs_it),
        cmocka_unit_test(test_bounds_of_predictions_are_read),
        cmocka_unit_test(test_a_variant_changes_what_it_says_and_only_when_used),
        cmocka_unit_test(test_each_mistake_is_refused_with_its_line),
        cmocka_unit_test(test_lab_01_makes_few_communicators_on_gpus),
        cmocka_unit_test(test_losses_may_part_by_what_is_derived),
        cmocka_unit_test(test_each_folder_of_labs_has_its_model),
        cmocka_unit_test(test_a_folder_without_a_model_is_refused_with_what_to_do),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
