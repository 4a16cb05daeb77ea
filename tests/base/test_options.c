// SPDX-License-Identifier: MIT
// Command lines by tables: every type's values, ranges and units, what is refused and how, the nearest word, and help.

#include "tests/fixtures/capture.h"

#include <float.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/base/err.h"
#include "core/base/nearest.h"
#include "core/base/options.h"

enum color { RED, GREEN, BLUE };
enum { MOST_ARGUMENTS = 4 };

struct inner {
    int depth;
};

struct request {
    bool json, plots;
    const char *file;
    int ranks;
    size_t bytes;
    double seconds, budget, compute, cost, gain, part;
    uint64_t seed;
    enum color color;
    bool colors[3];
    int calls;
    struct inner inner;
    const char *arguments[MOST_ARGUMENTS];
    int narguments;
    char **rest;
};

static int take_call(const char *flag, const char *text, void *into)
{
    struct request *r = into;
    r->calls++;
    return text && !strcmp(text, "bad") ? clab_refuse(flag, text, "a good one") : CLAB_OK;
}

static int take_argument(const char *text, void *into)
{
    struct request *r = into;
    r->arguments[r->narguments++] = text;
    return CLAB_OK;
}

#define REQUEST struct request
static const struct clab_names colors = {3, (const char *const[]){"red", "green", "blue"}, NULL};

static const struct clab_option of_inner[] = {
    {"depth", 'D', "N", "how deep", CLAB_INT(struct inner, depth, -3, 3)},
    {0},
};

static const struct clab_option options[] = {
    {"json", 'j', NULL, "print JSON", CLAB_ON(REQUEST, json)},
    {"no-plot", 0, NULL, "draw nothing", CLAB_OFF(REQUEST, plots)},
    {"output", 'o', "FILE", "where to write", CLAB_TEXT_AT(REQUEST, file), .variable = CLAB_VARIABLE_NETS},
    {"ranks", 'n', "N", "ranks (2)", CLAB_INT(REQUEST, ranks, 1, 64)},
    CLAB_HEADING("With units:"),
    {"bytes", 'b', "SIZE", "bytes", CLAB_SIZE(REQUEST, bytes, 1 << 12)},
    {"seconds", 0, "TIME", "time", CLAB_SECONDS(REQUEST, seconds, 0, 60)},
    {"compute", 0, "TIME", "time above 0", CLAB_SECONDS(REQUEST, compute, DBL_MIN, 60)},
    {"budget", 0, "TIME", "time, as seconds", CLAB_BARE_SECONDS(REQUEST, budget, 3600)},
    {"cost", 0, "COST", "of a byte", CLAB_COST(REQUEST, cost)},
    {"gain", 0, "X", "number", CLAB_NUMBER(REQUEST, gain, 0, 10)},
    {"part", 0, "PERCENT", "part", CLAB_PERCENT(REQUEST, part, 1)},
    {"seed", 0, "N", "seed", CLAB_SEED(REQUEST, seed)},
    CLAB_HEADING("Names:"),
    {"color", 'c', "NAME", "one", CLAB_NAME(REQUEST, color, &colors)},
    {"colors", 0, "NAMES", "several", CLAB_NAME_LIST(REQUEST, colors, &colors)},
    {"call", 0, "TEXT", "call", CLAB_CALL(take_call)},
    {"hidden", 0, "TEXT", NULL, CLAB_TEXT_AT(REQUEST, file)},
    CLAB_TABLE(REQUEST, inner, of_inner),
    {0},
};

static const struct clab_command_line line = {
    .options = options, .arguments = "[WORD...]", .about = "Try tables.", .argument = take_argument};

static int parse(const struct clab_command_line *how, const char *const words[], struct request *r)
{
    char *argv[16] = {"commlab try"};
    int argc = 1;
    for (; words[argc - 1]; argc++)
        argv[argc] = (char *)(uintptr_t)words[argc - 1];
    *r = (struct request){.plots = true};
    return clab_options_parse(how, argc, argv, r);
}

static void test_each_type_is_taken_with_its_unit(void **state)
{
    struct request r;
    assert_int_equal(parse(&line,
                           (const char *[]){"-jn3", "--bytes=64K", "--seconds", "50ms", "--compute=1us", "word", "-o",
                                            "x", "--cost", "10GB/s", "--gain", "2.5", "--part", "5%", NULL},
                           &r),
                     CLAB_OK);
    assert_true(r.json && r.plots && r.ranks == 3 && r.bytes == 65536 && r.seconds == 50e-3 && r.compute == 1e-6);
    assert_true(r.cost == 1 / 10e9 && r.gain == 2.5 && r.part == 0.05);
    assert_string_equal(r.file, "x");
    assert_int_equal(r.narguments, 1);
    assert_string_equal(r.arguments[0], "word");
    assert_int_equal(
        parse(&line,
              (const char *[]){"--no-plot", "--budget", "0.3", "--seed", "18446744073709551615", "-cgreen", "--colors",
                               "red,blue", "--call=x", "--call", "y", "-D", "-2", "--hid", "z", NULL},
              &r),
        CLAB_OK);
    assert_true(!r.plots && r.budget == 0.3 && r.seed == UINT64_MAX && r.color == GREEN && r.inner.depth == -2);
    assert_true(r.colors[RED] && !r.colors[GREEN] && r.colors[BLUE] && r.calls == 2);
    assert_string_equal(r.file, "z");
}

static void test_nothing_needs_no_unit_and_the_last_of_several_counts(void **state)
{
    struct request r;
    assert_int_equal(parse(&line,
                           (const char *[]){"--seconds", "0", "--cost", "0", "-n", "4", "--rank=5", "--budget=9ms",
                                            "--", "--json", NULL},
                           &r),
                     CLAB_OK);
    assert_true(r.seconds == 0 && r.cost == 0 && r.ranks == 5 && r.budget == 9e-3 && !r.json);
    assert_string_equal(r.arguments[0], "--json");
}

static void test_wrong_words_are_refused_in_one_line(void **state)
{
    static const struct {
        const char *words[3], *said;
    } cases[] = {
        {{"-n", "0"}, "-n '0' is not a number from 1 to 64"},
        {{"-n65"}, "-n '65' is not a number from 1 to 64"},
        {{"--ranks", "x"}, "--ranks 'x' is not a number from 1 to 64"},
        {{"--ran=x"}, "--ranks 'x' is not a number from 1 to 64"},
        {{"-D", "-4"}, "-D '-4' is not a number from -3 to 3"},
        {{"-b", "4095"}, "-b '4095' is not a size of 4K or more"},
        {{"--seconds", "5"}, "--seconds '5' is not a time from 0s to 60s with its unit"},
        {{"--seconds", "61s"}, "--seconds '61s' is not a time from 0s to 60s"},
        {{"--compute", "0s"}, "--compute '0s' is not a time above 0 and up to 60s with its unit"},
        {{"--budget", "1h"}, "--budget '1h' is not a time from 0 to 3600s"},
        {{"--cost", "5"}, "--cost '5' is not a cost or rate with its unit, up to 1s/B"},
        {{"--gain", "11"}, "--gain '11' is not a number from 0 to 10"},
        {{"--part", "5"}, "--part '5' is not a percentage above 0, at most 100%"},
        {{"--part", "101%"}, "--part '101%' is not a percentage above 0, at most 100%"},
        {{"--seed", "18446744073709551616"}, "--seed '18446744073709551616' is not a number below 2^64"},
        {{"-c", "gren"}, "-c: there is no 'gren' (did you mean 'green'?); there are: red green blue"},
        {{"--color", "x"}, "--color: there is no 'x'; there are: red green blue"},
        {{"--colors", "red,bleu"}, "--colors: there is no 'bleu' (did you mean 'blue'?)"},
        {{"--call", "bad"}, "--call 'bad' is not a good one"},
        {{"--sceonds", "5s"}, "try: there is no flag --sceonds (did you mean '--seconds'?); `commlab try --help`"},
        {{"--jsn=5"}, "try: there is no flag --jsn (did you mean '--json'?)"},
        {{"--xyz"}, "try: there is no flag --xyz; `commlab try --help` lists them"},
        {{"--hiden"}, "try: there is no flag --hiden; "}, // what help hides is no suggestion
        {{"-z"}, "try: there is no flag -z; "},
        {{"--json", "-jz3"}, "try: there is no flag -z; "},
        {{"-ranks"}, "try: there is no flag -ranks (did you mean '--ranks'?)"},
        {{"--json=1"}, "try: --json takes no value"},
        {{"--co", "red"}, "try: several flags begin with --co: "},
        {{"--json", "--ranks"}, "try: --ranks needs a value: N; "},
        {{"-jo"}, "try: -o needs a value: FILE; "},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *const words[] = {cases[i].words[0], cases[i].words[1], NULL};
        struct request r;
        struct capture capture = capture_begin(STDERR_FILENO);
        const int err = parse(&line, words, &r);
        assert_one_line_with(capture_end(capture), cases[i].said);
        assert_int_equal(err, CLAB_EINVAL);
    }
}

static void test_words_that_are_no_flags_are_refused_where_there_are_none(void **state)
{
    const struct clab_command_line bare = {.options = options};
    struct request r;
    struct capture capture = capture_begin(STDERR_FILENO);
    const int err = parse(&bare, (const char *[]){"-j", "word", NULL}, &r);
    assert_one_line_with(capture_end(capture), "try: 'word' is too much: it takes flags only");
    assert_int_equal(err, CLAB_EINVAL);
}

static void test_the_rest_belongs_to_the_program(void **state)
{
    const struct clab_command_line run = {
        .options = options, .has_rest = true, .rest_at = offsetof(struct request, rest)};
    struct request r;
    assert_int_equal(parse(&run, (const char *[]){"-n", "3", "program", "-n", "4", "--xyz", NULL}, &r), CLAB_OK);
    assert_int_equal(r.ranks, 3);
    assert_string_equal(r.rest[0], "program");
    assert_string_equal(r.rest[3], "--xyz");
    assert_null(r.rest[4]);
}

static void test_flags_are_taken_out_of_others_words(void **state)
{
    char *argv[] = {"program", "-x", "-n", "3", "3", "--output=y", "file", "-nodes", "--", "-n", "--seven", NULL};
    int argc = 11;
    struct request r = {0};
    assert_int_equal(clab_options_take(options, &argc, argv, &r), CLAB_OK);
    assert_int_equal(argc, 8);
    assert_int_equal(r.ranks, 3);
    assert_string_equal(r.file, "y");
    static const char *const kept[] = {"program", "-x", "3", "file", "-nodes", "--", "-n", "--seven"};
    for (int i = 0; i < argc; i++)
        assert_string_equal(argv[i], kept[i]);
    assert_null(argv[argc]);
}

static void test_mistyped_flags_among_others_words_are_refused(void **state)
{
    static const struct {
        char *words[3];
        const char *said;
    } cases[] = {
        {{"--ouput", "y"}, "program: there is no flag --ouput (did you mean '--output'?); `a/program --help` lists"},
        {{"file", "--nn=2"}, "program: there is no flag --nn; "},
        {{"file", "--ranks"}, "program: --ranks needs a value: N; "},
        {{"--json=1"}, "program: --json takes no value"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char *argv[] = {"a/program", cases[i].words[0], cases[i].words[1], NULL};
        int argc = cases[i].words[1] ? 3 : 2;
        struct request r = {0};
        struct capture capture = capture_begin(STDERR_FILENO);
        const int err = clab_options_take(options, &argc, argv, &r);
        assert_one_line_with(capture_end(capture), cases[i].said);
        assert_int_equal(err, CLAB_EINVAL);
    }
}

// A child prints it, and ends.
static void test_help_lists_flags_units_variables_and_headings(void **state)
{
    int ends[2], status;
    char text[4096];
    size_t used = 0;
    assert_int_equal(pipe(ends), 0);
    fflush(stdout);
    const pid_t pid = fork();
    if (pid == 0) {
        struct request r;
        dup2(ends[1], STDOUT_FILENO);
        parse(&line, (const char *[]){"--help", NULL}, &r);
        _exit(1);
    }
    close(ends[1]);
    for (ssize_t n; (n = read(ends[0], text + used, sizeof text - 1 - used)) > 0;)
        used += (size_t)n;
    text[used] = '\0';
    close(ends[0]);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
    static const char *const parts[] = {"Usage: commlab try [OPTION...] [WORD...]\n",
                                        "Try tables.",
                                        "-n, --ranks=N",
                                        "where to write (CLAB_NETS)",
                                        " With units:\n",
                                        " Names:\n",
                                        "-D, --depth=N",
                                        "-?, --help",
                                        "--usage"};
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        if (!strstr(text, parts[i]))
            fail_msg("no '%s' in: %s", parts[i], text);
    assert_null(strstr(text, "hidden"));
}

static void test_distances_count_letters(void **state)
{
    static const struct {
        const char *a, *b;
        int distance;
    } cases[] = {{"", "", 0},
                 {"", "abc", 3},
                 {"ring", "ring", 0},
                 {"rign", "ring", 1},
                 {"rng", "ring", 1},
                 {"riing", "ring", 1},
                 {"rung", "ring", 1},
                 {"tree", "ring", 4},
                 {"kitten", "sitting", 3},
                 {"ca", "abc", 3},
                 {"allreduec", "allreduce", 1}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_int_equal(clab_edit_distance(cases[i].a, cases[i].b), cases[i].distance);
        assert_int_equal(clab_edit_distance(cases[i].b, cases[i].a), cases[i].distance);
    }
}

static void test_the_nearest_word_is_near(void **state)
{
    static const struct {
        const char *text, *hint;
    } cases[] = {{"rign", " (did you mean 'ring'?)"},
                 {"hafving", " (did you mean 'halving'?)"},
                 {"mpl", " (did you mean 'mpi'?)"},
                 {"nccl", ""},
                 {"x", ""},
                 {"", ""}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct clab_nearest nearest = clab_nearest_to(cases[i].text, strlen(cases[i].text));
        for (const char *const *word = (const char *const[]){"mpi", "ring", "tree", "halving", NULL}; *word; word++)
            clab_nearest_offer(&nearest, *word);
        assert_string_equal(clab_nearest_hint(&nearest), cases[i].hint);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_each_type_is_taken_with_its_unit),
        cmocka_unit_test(test_nothing_needs_no_unit_and_the_last_of_several_counts),
        cmocka_unit_test(test_wrong_words_are_refused_in_one_line),
        cmocka_unit_test(test_words_that_are_no_flags_are_refused_where_there_are_none),
        cmocka_unit_test(test_the_rest_belongs_to_the_program),
        cmocka_unit_test(test_flags_are_taken_out_of_others_words),
        cmocka_unit_test(test_mistyped_flags_among_others_words_are_refused),
        cmocka_unit_test(test_help_lists_flags_units_variables_and_headings),
        cmocka_unit_test(test_distances_count_letters),
        cmocka_unit_test(test_the_nearest_word_is_near),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
