// SPDX-License-Identifier: MIT
// What figures get of a results file: numbers and plain text, whatever the file holds.

#include "tests/fixtures/capture.h"

#include "core/base/err.h"
#include "cmd/kit/plot_data.h"

static char *text;
static size_t size;

// The copy of a file that holds `csv`.
static const char *copy_of(const char *csv)
{
    struct clab_csv data;
    char *in = strdup(csv);
    FILE *out = open_memstream(&text, &size);
    assert_int_equal(clab_csv_parse(in, strlen(in), "x.csv", &data), CLAB_OK);
    plot_data_write(out, &data);
    fclose(out);
    clab_csv_free(&data);
    free(in);
    return text;
}

static int free_copy(void **state)
{
    free(text);
    text = NULL;
    return 0;
}

static void test_honest_text_stays(void **state)
{
    static const char honest[] = "# machine: Intel(R) Xeon(R) CPU @ 2.20GHz, 2 cores; 50 % [a] # 1 µs ~ x\n"
                                 "collective,quantity,unit,usec\n"
                                 "reduce_scatter,time/halving_doubling/2097152,s/GB,1.5e-06\n"
                                 "alltoall,a+b-c.d:e=f*,µs,\n";
    assert_string_equal(copy_of(honest), honest);
}

static void test_what_starts_a_command_or_markup_goes(void **state)
{
    assert_string_equal(copy_of("# a: `x` \"y\" 'z' \\ $PATH {/=9 b} <c> | & ^\n"
                                "n\n"
                                "';touch${IFS}F;'\n"
                                "`x`\n"
                                "< ls\n"
                                "|ls\n"
                                "a b\n"),
                        "# a: ?x? ?y? ?z? ? ?PATH ?/=9 b? ?c? ? ? ?\nn\n??touch??IFS?F??\n?x?\n?_ls\n?ls\na_b\n");
}

static void test_control_characters_and_broken_signs_go(void **state)
{
    assert_string_equal(copy_of("# a: \x1b[2J \x7f\xc2\x9b \xe4 \xc0\xaf \xed\xa0\x80 \xf5\n"
                                "n\n"
                                "\x1b[31m\xff\n"),
                        "# a:  [2J  ?? ? ?? ??? ?\nn\n_?31m?\n");
}

static void test_numbers_are_finite_and_plain(void **state)
{
    assert_string_equal(copy_of("a,b,c,d,e\n1e999,nan,-inf,0x10,1e-5\n"), "a,b,c,d,e\n,,,16,1e-5\n");
}

static void test_a_name_and_a_value_are_cut(void **state)
{
    char csv[2000], expected[2000];
    snprintf(csv, sizeof csv, "# a: %0500d\nn\nx%0500d\n", 0, 0);
    snprintf(expected, sizeof expected, "# a: %0300d\nn\nx%079d\n", 0, 0);
    assert_string_equal(copy_of(csv), expected);
}

static void test_a_sign_is_not_cut_in_two(void **state)
{
    char csv[200], expected[200];
    snprintf(csv, sizeof csv, "n\nx%078dµ\n", 0);
    snprintf(expected, sizeof expected, "n\nx%078d\n", 0);
    assert_string_equal(copy_of(csv), expected);
}

static void test_predictions_come_in_the_columns_of_results(void **state)
{
    struct clab_csv data;
    char in[] =
        "program,quantity,ranks,unit,low,high\nafter,time/ring/8,4,s,1e-06,4e-06\nafter/before,ratio/x;`y`,4,1,0,2\n"
        "after,broken,4,s,,1\n";
    FILE *out = open_memstream(&text, &size);
    assert_int_equal(clab_csv_parse(in, strlen(in), "x.yours.csv", &data), CLAB_OK);
    plot_yours_write(out, &data);
    fclose(out);
    clab_csv_free(&data);
    assert_string_equal(text, "lab,program,backend,net,ranks,quantity,unit,value,low,high,predicted,residual_pct\n"
                              "yours,after,,,4,time/ring/8,s,2e-06,1e-06,4e-06,,\n"
                              "yours,after/before,,,4,ratio/x??y?,1,1,0,2,,\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_honest_text_stays, free_copy),
        cmocka_unit_test_teardown(test_what_starts_a_command_or_markup_goes, free_copy),
        cmocka_unit_test_teardown(test_control_characters_and_broken_signs_go, free_copy),
        cmocka_unit_test_teardown(test_numbers_are_finite_and_plain, free_copy),
        cmocka_unit_test_teardown(test_a_name_and_a_value_are_cut, free_copy),
        cmocka_unit_test_teardown(test_a_sign_is_not_cut_in_two, free_copy),
        cmocka_unit_test_teardown(test_predictions_come_in_the_columns_of_results, free_copy),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
