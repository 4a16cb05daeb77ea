// SPDX-License-Identifier: MIT
// The reader of predict.txt: what is read, what each mistake is answered with, and that the labs' own files are sound.

#include "tests/fixtures/capture.h"

#include <glob.h>
#include <math.h>

#include "core/base/err.h"
#include "cmd/predict/predictions.h"
#include "cmd/lab/asked.h"
#include "tests/fixtures/needs.h"

#define HEAD "[./commlab lab 07]\n"

static struct predictions *read_good(const char *text)
{
    struct predictions *p = NULL;
    assert_int_equal(predictions_parse(text, strlen(text), "p.txt", &p), CLAB_OK);
    return p;
}

// ---- what is read --------------------------------------------------------------------------------------------

static void test_numbers_ranges_orders_and_words_are_read(void **state)
{
    struct predictions *p = read_good("\xef\xbb\xbf# a comment\r\n[./commlab  lab 07 -n 4 --emulate 1gbe ]\r\n"
                                      "before  time/by_hand/8 = 5 us # of one call\r\n"
                                      "after time/ring/8=5..10us\n"
                                      "after time/{ring,tree}/8 = tree<ring\n"
                                      "ratio time/ring/8 > 1.5 = yes\n"
                                      "gradients = ____..____ MB\n"
                                      "crossover time/by_hand time/ring = 2e3 B");
    assert_int_equal(p->count, 6);
    assert_string_equal(p->sections[0].command, "./commlab lab 07 -n 4 --emulate 1gbe");
    assert_string_equal(p->sections[0].lab, "07");
    assert_string_equal(p->sections[0].emulate, "1gbe");
    assert_int_equal(p->sections[0].ranks, 4);
    assert_string_equal(p->items[0].title, "before time/by_hand/8");
    assert_string_equal(p->items[0].comment, "of one call");
    assert_string_equal(p->items[0].unit, "us");
    assert_true(p->items[0].low == 5 && p->items[0].high == 5 && !p->items[0].is_blank);
    assert_true(p->items[1].low == 5 && p->items[1].high == 10);
    assert_int_equal(p->items[2].kind, PREDICTION_ORDER);
    assert_int_equal(p->items[2].places[0], 1);
    assert_int_equal(p->items[3].kind, PREDICTION_YES_NO);
    assert_string_equal(p->items[3].name, "ratio time/ring/8");
    assert_true(p->items[3].limit == 1.5 && p->items[3].low == 1);
    assert_true(p->items[4].is_blank && p->items[4].asks_range);
    assert_true(p->items[5].low == 2000);
    assert_int_equal(predictions_blanks(p), 1);
    predictions_free(p);
}

static void test_names_say_what_they_are_of(void **state)
{
    struct prediction_subject s;
    char name[PREDICTION_NAME];
    prediction_subject("after time/ring/8", &s);
    assert_int_equal(s.source, PREDICTION_AFTER);
    assert_string_equal(s.quantity, "time/ring/8");
    prediction_subject("crossover time/a time/b", &s);
    assert_int_equal(s.source, PREDICTION_CROSSOVER);
    assert_string_equal(s.other, "time/b");
    prediction_subject("gradients", &s);
    assert_int_equal(s.source, PREDICTION_FREE);
    struct predictions *p = read_good(HEAD "{before,after} time/8 = ____ < ____\n");
    prediction_expand(&p->items[0], 1, name);
    assert_string_equal(name, "after time/8");
    predictions_free(p);
}

// ---- what is refused -----------------------------------------------------------------------------------------

static const struct {
    const char *text, *expected; // what the line must hold
} mistakes[] = {
    {"a = 1\n", "p.txt:1: expected a [./commlab lab NN] above the first quantity"},
    {HEAD "a 1\n", "p.txt:2: expected `quantity = value unit`"},
    {HEAD "= 1\n", "p.txt:2: expected the name of a quantity"},
    {HEAD "a =\n", "p.txt:2: a: there is nothing behind the '='; write ____"},
    {HEAD "a = -5 us\n", "p.txt:2: a = -5 us: it can not be below 0"},
    {HEAD "a = 1e999 s\n", "p.txt:2: a = 1e999 s: expected a number and a unit"},
    {HEAD "a = nan s\n", "expected a number and a unit"},
    {HEAD "a = 5 us or so\n", "expected a number and a unit"},
    {HEAD "a = 10..5 us\n", "p.txt:2: a = 10..5 us: the first end of the range is the larger one; swap them"},
    {HEAD "a = 5..____ us\n", "one end of the range is blank"},
    {HEAD "a = 5..\n", "expected a number and a unit"},
    {HEAD "a = 1 s\na = 2 s\n", "p.txt:3: a is in line 2 already"},
    {HEAD "before a b = 1\n", "p.txt:2: 'before a b': expected"},
    {HEAD "crossover a = 1\n", "expected"},
    {HEAD "x/{ring,tree} = rnig < tree\n",
     "p.txt:2: x/{ring,tree}: 'rnig' is none of its words: ring, tree (did you mean 'ring'?)"},
    {HEAD "x/{ring,tree} = ring > tree\n", "p.txt:2: x/{ring,tree}: write the smallest first, with < between"},
    {HEAD "x/{ring,tree} = ring < ring\n", "'ring' is there twice"},
    {HEAD "x/{ring,tree} = ring\n", "expected all 2 words"},
    {HEAD "x/{ring,tree} = ring < ____\n", "expected all 2 words"},
    {HEAD "x/{ring,tree} = ring < tree < ring\n", "expected 2 words, and here are more"},
    {HEAD "x/{ring,tree} = ring <\n", "expected a word on both sides of each '<'"},
    {HEAD "x/{ring,tree}} = ring\n", "expected one pair of braces"},
    {HEAD "x/{ring} = ring\n", "expected two words in braces"},
    {HEAD "x/{ring,ring} = ring\n", "'ring' is twice in the braces"},
    {HEAD "x > = yes\n", "p.txt:2: x >: expected QUANTITY > NUMBER UNIT"},
    {HEAD "x > 1 = maybe\n", "p.txt:2: x > 1 = maybe: expected yes or no"},
    {"[./commlab lab]\n", "p.txt:1: [./commlab lab]: expected a command"},
    {"[./commlab lab 07\n", "p.txt:1: expected a command in brackets"},
    {"[./commlab lab 07 -n]\n", "p.txt:1: [./commlab lab 07 -n]: expected -n RANKS"},
    {"[./commlab lab 07 --fast yes]\n", "at '--fast'"},
    {HEAD HEAD, "p.txt:2: [./commlab lab 07] is in line 1 already"},
    {HEAD "a\xff = 1\n", "p.txt:2: this is no text in UTF-8"},
};

static void test_each_mistake_is_one_line(void **state)
{
    for (size_t i = 0; i < sizeof mistakes / sizeof *mistakes; i++) {
        struct predictions *p = NULL;
        struct capture capture = capture_begin(STDERR_FILENO);
        const int err = predictions_parse(mistakes[i].text, strlen(mistakes[i].text), "p.txt", &p);
        const char *said = capture_end(capture);
        if (err != CLAB_EPARSE || p)
            fail_msg("'%s' was taken", mistakes[i].text);
        assert_one_line_with(said, mistakes[i].expected);
    }
}

// ---- what is possible ----------------------------------------------------------------------------------------

#define CONF                                                                              \
    "[lab]\nid = 07\ntitle = x\nheadline = time/\nbackends = shm\nranks = 2\npairs = 6\n" \
    "[time]\nunit = s\nmessage = yes\n[overlap]\nunit = %\nmost = 100\n[beta]\nunit = s/GB\n[named]\nunit = rank\n"

#define TEMPLATE                                                                                                    \
    HEAD                                                                                                            \
        "after time/8 = ____ us\nafter time/1000000 = ____..____ ms\nratio time/8 = ____\nafter overlap = ____ %\n" \
        "after beta = ____ s/GB\nafter named = ____ rank\nafter time/{8,9} = ____ < ____\nafter overlap > 50 % = ____\n"

static struct lab_conf conf_of(char *text)
{
    struct lab_conf conf;
    FILE *file = fmemopen(text, strlen(text), "r");
    assert_non_null(file);
    assert_int_equal(lab_conf_read(file, "lab.conf", &conf), CLAB_OK);
    fclose(file);
    return conf;
}

// The template with one line replaced, or without it where `with` is empty.
static char *changed(const char *line, const char *with)
{
    static char text[4096];
    const char *at = strstr(TEMPLATE, line);
    assert_non_null(at);
    const char *rest = strchr(at, '\n');
    snprintf(text, sizeof text, "%.*s%s%s", (int)(at - TEMPLATE), TEMPLATE, with, *with ? rest : rest + 1);
    return text;
}

static int check_changed(const char *line, const char *with)
{
    struct lab_conf conf = conf_of(CONF);
    struct predictions *template = read_good(TEMPLATE), *p = read_good(changed(line, with));
    const struct prediction_limits limits[] = {{.message = 1e-6, .byte = 1e-10, .ranks = 2}};
    assert_int_equal(predictions_check_template(template, &conf), CLAB_OK);
    const int err = predictions_check(p, template, &conf, limits);
    predictions_free(p);
    predictions_free(template);
    lab_conf_free(&conf);
    return err;
}

static const struct {
    const char *line, *with, *expected; // expected: NULL: it is possible
} possible[] = {
    {"after time/8", "after time/8 = 1.5 us", NULL},
    {"after time/8", "after time/8 = 1e-3 ms", NULL},
    {"after time/8", "after time/8 = 0.5..2 us", NULL},
    {"after time/8", "after time/8 = ____", NULL},
    {"after beta", "after beta = 9 GB/s", NULL},
    {"after beta", "after beta = 0.2 ns/B", NULL},
    {"after named", "after named = 1", NULL},
    {"after overlap = ", "after overlap = 90..110 %", NULL},
    {"after time/{8,9}", "after time/{8,9} = 9 < 8", NULL},
    {"after time/8", "after time/8 = 5 MB",
     "p.txt:2: after time/8: 'MB' is not a unit of this quantity: write ns, us, ms or s"},
    {"after time/8", "after time/8 = 5", "p.txt:2: after time/8: the unit is missing: write ns, us, ms or s"},
    {"after time/8", "after time/8 = ____ MB", "'MB' is not a unit"},
    {"after time/8", "after time/8 = 0.9 us", "p.txt:2: after time/8 = 900 ns is below the time of one message, 1 us"},
    {"after time/1000000", "after time/1000000 = 1..90 us",
     "90 us means 11.11 GB/s, more than the card's bandwidth, 10 GB/s"},
    {"after beta", "after beta = 0.05 s/GB", "after beta = 20 GB/s is more than the card's bandwidth, 10 GB/s"},
    {"after beta", "after beta = 0 GB/s", "0 GB/s is no possible value"},
    {"after overlap = ", "after overlap = 101 %", "p.txt:5: after overlap = 101 %: it can not be above 100 %"},
    {"after named", "after named = 2 rank", "there are the ranks 0 to 1"},
    {"ratio time/8", "ratio time/8 = 2 s", "'s' is not a unit of this quantity: write no unit"},
    {"after time/8", "", "p.txt: 'after time/8' is missing: write `after time/8 = ____ us` below [./commlab lab 07]"},
    {"after overlap > 50 %", "", "'after overlap > 50 %' is missing"},
    {"after time/8", "aftr time/8 = 5 us", "p.txt:2: 'aftr time/8': expected QUANTITY"},
    {"after time/8", "after tmie/8 = 5 us",
     "p.txt:2: the lab does not ask for 'after tmie/8' of [./commlab lab 07] (did you mean 'after time/8'?)"},
    {HEAD, "[./commlab lab 08]",
     "p.txt:1: the lab asks nothing of [./commlab lab 08] (did you mean './commlab lab 07'?)"},
};

static void test_only_what_is_possible_passes(void **state)
{
    needs_inih();
    for (size_t i = 0; i < sizeof possible / sizeof *possible; i++) {
        struct predictions *p = NULL;
        struct capture capture = capture_begin(STDERR_FILENO);
        const char *text = changed(possible[i].line, possible[i].with);
        int err = predictions_parse(text, strlen(text), "p.txt", &p);
        predictions_free(p);
        if (!err)
            err = check_changed(possible[i].line, possible[i].with);
        const char *said = capture_end(capture);
        if (err != (possible[i].expected ? CLAB_EPARSE : CLAB_OK))
            fail_msg("'%s' gave %d: %s", possible[i].with, err, said);
        if (possible[i].expected)
            assert_one_line_with(said, possible[i].expected);
    }
}

static void test_a_text_is_read_as_what_it_was(void **state)
{
    struct predictions *p = read_good(HEAD "a = 5..10 us\nb/{x,y} = y < x\nc < 1 = no\nd = ____..____ MB\n");
    const char *const expected[] = {"5..10 us", "y < x", "no", "____..____ MB"};
    char text[PREDICTION_NAME];
    for (int i = 0; i < p->count; i++)
        assert_string_equal(prediction_text(&p->items[i], text, sizeof text), expected[i]);
    predictions_free(p);
}

// ---- the labs' own -------------------------------------------------------------------------------------------

static void test_every_lab_asks_for_quantities_of_its_own(void **state)
{
    needs_inih();
    glob_t found;
    assert_int_equal(glob("labs/[0-9][0-9]-*/predict.txt", 0, NULL, &found), 0);
    for (size_t i = 0; i < found.gl_pathc; i++) {
        struct predictions *p = NULL;
        struct lab_conf conf;
        char folder[64];
        sscanf(found.gl_pathv[i], "labs/%63[^/]", folder);
        assert_int_equal(predictions_load(found.gl_pathv[i], &p), CLAB_OK);
        assert_int_equal(lab_conf_load(".", folder, &conf), CLAB_OK);
        assert_int_equal(predictions_check_template(p, &conf), CLAB_OK);
        assert_true(p->count >= 3);
        for (int k = 0; k < p->nsections; k++)
            assert_string_equal(p->sections[k].lab, conf.id);
        lab_conf_free(&conf);
        predictions_free(p);
    }
    globfree(&found);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_numbers_ranges_orders_and_words_are_read),
        cmocka_unit_test(test_names_say_what_they_are_of),
        cmocka_unit_test(test_each_mistake_is_one_line),
        cmocka_unit_test(test_only_what_is_possible_passes),
        cmocka_unit_test(test_a_text_is_read_as_what_it_was),
        cmocka_unit_test(test_every_lab_asks_for_quantities_of_its_own),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
