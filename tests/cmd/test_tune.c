// SPDX-License-Identifier: MIT
// From times to a table for NCCL's tuner: which choice wins where, what that gains, and what is read out of files.

#include "tests/fixtures/capture.h"

#include <math.h>
#include <stdbool.h>

#include "core/base/err.h"
#include "cmd/nccl/tune.h"

#define COUNT(array) (sizeof(array) / sizeof *(array))
#define OWN          TUNE_UNKNOWN

// A time of an allreduce of 8 ranks; algorithm OWN: NCCL's own choice.
static void add(struct tune_times *times, size_t bytes, int algorithm, int protocol, double usec)
{
    const struct tune_time time = {CLAB_NCCL_ALLREDUCE, 1,     8,   algorithm, protocol, CLAB_NCCL_ANY,
                                   algorithm == OWN,    bytes, usec, 0};
    assert_int_equal(tune_times_add(times, time), CLAB_OK);
}

struct range {
    size_t first, last;
    int algorithm, protocol;
    double gain, least;
};

static void assert_ranges(struct tune_times *times, struct tune_rule rule, const struct range *expected, int n)
{
    struct tune_choice *choices;
    int found;
    assert_int_equal(tune_choose(times, rule, &choices, &found), CLAB_OK);
    assert_int_equal(found, n);
    for (int i = 0; i < n; i++) {
        const struct tune_choice *c = &choices[i];
        const struct range *e = &expected[i];
        assert_int_equal(c->row.first, e->first);
        assert_int_equal(c->row.last, e->last);
        assert_int_equal(c->is_own, e->algorithm == OWN);
        if (!c->is_own) {
            assert_int_equal(c->row.algorithm, e->algorithm);
            assert_int_equal(c->row.protocol, e->protocol);
        }
        assert_true(isnan(e->gain) ? isnan(c->gain) : fabs(c->gain - e->gain) < 1e-9);
        assert_true(isnan(e->least) ? isnan(c->least) : fabs(c->least - e->least) < 1e-9);
    }
    free(choices);
    tune_times_free(times);
}

static const struct tune_rule rule = {.margin = 1.03, .registered = CLAB_NCCL_ANY};

static void test_sizes_with_the_same_winner_are_one_row(void **state)
{
    struct tune_times times = {0};
    static const struct range expected[] = {{0, 1023, CLAB_NCCL_TREE, CLAB_NCCL_LL, 2, 2},
                                            {1024, 32767, CLAB_NCCL_RING, CLAB_NCCL_SIMPLE, 4, 2}};
    // In any order, and the least of several of a kind.
    add(&times, 1024, CLAB_NCCL_RING, CLAB_NCCL_SIMPLE, 50);
    add(&times, 1024, CLAB_NCCL_TREE, CLAB_NCCL_LL, 60);
    add(&times, 1024, OWN, OWN, 100);
    add(&times, 16384, CLAB_NCCL_RING, CLAB_NCCL_SIMPLE, 100);
    add(&times, 16384, OWN, OWN, 800);
    add(&times, 8, CLAB_NCCL_RING, CLAB_NCCL_SIMPLE, 9);
    add(&times, 8, CLAB_NCCL_TREE, CLAB_NCCL_LL, 7);
    add(&times, 8, CLAB_NCCL_TREE, CLAB_NCCL_LL, 5);
    add(&times, 8, OWN, OWN, 10);
    assert_ranges(&times, rule, expected, COUNT(expected));
}

static void test_nccls_own_choice_stays_where_nothing_gains_enough(void **state)
{
    struct tune_times times = {0};
    static const struct range expected[] = {{0, 63, OWN, OWN, 1, 1},
                                            {64, 1023, CLAB_NCCL_TREE, CLAB_NCCL_LL, 1.04, 1.04}};
    add(&times, 8, OWN, OWN, 102.9);
    add(&times, 8, CLAB_NCCL_TREE, CLAB_NCCL_LL, 100);
    add(&times, 64, OWN, OWN, 104);
    add(&times, 64, CLAB_NCCL_TREE, CLAB_NCCL_LL, 100);
    add(&times, 512, OWN, OWN, 104);
    add(&times, 512, CLAB_NCCL_TREE, CLAB_NCCL_LL, 100);
    assert_ranges(&times, rule, expected, COUNT(expected));
}

// What is chosen below stays within the margin, so that noise makes no rows.
static void test_a_choice_changes_only_for_more_than_the_margin(void **state)
{
    struct tune_times times = {0};
    static const double ring[] = {10, 9.9, 10, 9.5}; // by a tree 10 each; the last differs by more than 3 %
    static const struct range expected[] = {{0, 511, CLAB_NCCL_TREE, CLAB_NCCL_LL, 2, 2},
                                            {512, 1023, CLAB_NCCL_RING, CLAB_NCCL_LL, 20 / 9.5, 20 / 9.5}};
    for (size_t i = 0; i < COUNT(ring); i++) {
        const size_t bytes = (size_t)8 << (2 * i);
        add(&times, bytes, OWN, OWN, 20);
        add(&times, bytes, CLAB_NCCL_TREE, CLAB_NCCL_LL, 10);
        add(&times, bytes, CLAB_NCCL_RING, CLAB_NCCL_LL, ring[i]);
    }
    assert_ranges(&times, rule, expected, COUNT(expected));
}

static void test_without_nccls_own_time_there_is_no_gain(void **state)
{
    struct tune_times times = {0};
    static const struct range expected[] = {{0, 15, CLAB_NCCL_PAT, CLAB_NCCL_SIMPLE, NAN, NAN}};
    add(&times, 8, CLAB_NCCL_PAT, CLAB_NCCL_SIMPLE, 10);
    assert_ranges(&times, rule, expected, COUNT(expected));
}

static void test_the_model_pins_what_nccl_takes(void **state)
{
    struct tune_times times = {0};
    struct nccl_given given = nccl_given_default;
    struct nccl_believed b;
    struct tune_choice *choices;
    bool functions[CLAB_NCCL_FUNCTIONS] = {[CLAB_NCCL_ALLREDUCE] = true};
    int n, at = 0;
    given.channels = 8;
    given.intra = given.inter = 48;
    given.machine.nodes = 4;
    given.machine.nvls = true;
    assert_int_equal(tune_model(&given, functions, &times), CLAB_OK);
    assert_int_equal(nccl_given_costs(&given, CLAB_ALLREDUCE, &b), CLAB_OK);
    assert_int_equal(tune_choose(&times, (struct tune_rule){1, true, CLAB_NCCL_ANY}, &choices, &n), CLAB_OK);
    assert_true(n > 2 && choices[0].row.first == 0);
    for (int log2 = 0; log2 <= TUNE_LARGEST_LOG2; log2++) {
        const size_t bytes = (size_t)1 << log2;
        enum clab_nccl_algorithm algorithm;
        enum clab_nccl_protocol protocol;
        at += bytes > choices[at].row.last;
        assert_true(at < n && choices[at].row.first <= bytes && bytes <= choices[at].row.last);
        assert_int_equal(clab_nccl_choose(b.tables, &b.machine, CLAB_ALLREDUCE, &b.costs, bytes, &algorithm, &protocol),
                         CLAB_OK);
        assert_int_equal(choices[at].row.algorithm, algorithm);
        assert_int_equal(choices[at].row.protocol, protocol);
        assert_true(choices[at].gain == 1);
    }
    assert_int_equal(at, n - 1);
    free(choices);
    tune_times_free(&times);
}

// ---- files ---------------------------------------------------------------------------------------------------

static void test_what_is_written_is_what_the_tuner_reads(void **state)
{
    const struct clab_nccl_row row = {CLAB_NCCL_REDUCE_SCATTER,
                                      CLAB_NCCL_NVLS_TREE,
                                      CLAB_NCCL_LL128,
                                      7,
                                      SIZE_MAX,
                                      12,
                                      3,
                                      24,
                                      CLAB_NCCL_ANY,
                                      CLAB_NCCL_ANY,
                                      0};
    const struct tune_choice choices[] = {{.row = row, .gain = 1.5}, {.is_own = true}, {.row = row, .gain = NAN}};
    const char *path = folder_path("t.csv");
    struct clab_nccl_rows rows;
    char why[CLAB_NCCL_WHY];
    assert_int_equal(tune_write(choices, COUNT(choices), &tune_words_nccl, "a test", path), CLAB_OK);
    assert_text_has(file_text(path), "reducescatter,7,18446744073709551615,nvls_tree,ll128,12,3,24,-1,-1,1.500\n");
    assert_int_equal(clab_nccl_rows_load(path, &rows, why), CLAB_OK);
    assert_int_equal(rows.n, 2);
    for (int i = 0; i < 2; i++) {
        const struct clab_nccl_row *r = &rows.rows[i];
        assert_int_equal(r->line, 3 + i);
        assert_true(r->function == row.function && r->algorithm == row.algorithm && r->protocol == row.protocol);
        assert_true(r->first == row.first && r->last == row.last && r->channels == row.channels);
        assert_true(r->nodes == row.nodes && r->ranks == row.ranks && r->ops == row.ops &&
                    r->registered == row.registered);
    }
    clab_nccl_rows_free(&rows);
}

static const char *file_of(const char *text)
{
    const char *path = folder_path("times");
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs(text, file);
    fclose(file);
    return path;
}

static const struct tune_label own = {.is_own = true, .channels = CLAB_NCCL_ANY};

#define RANKS                                                                        \
    "#  Rank  0 Group  0 Pid   7 on      alpha device  0 [0000:07:00] NVIDIA H100\n" \
    "#  Rank  1 Group  0 Pid   8 on       beta device  0 [0000:07:00] NVIDIA H100\n"
#define COLUMNS "#       size         count      type   redop    root     time   algbw   busbw  #wrong     time   algbw   busbw  #wrong\n"
#define HEADING                                                                        \
    "# Collective test starting: all_gather_perf\n# nThread 1 nGpus 2\n" RANKS COLUMNS \
    "#        (B)    (elements)                               (us)  (GB/s)  (GB/s)             (us)\n"

static const struct tune_missing none = {-1, 0, 1}, two_nodes = {-1, 0, 2};

static void test_what_nccl_tests_print_is_read(void **state)
{
    struct tune_times times = {0};
    struct tune_label ring;
    assert_int_equal(tune_label_read("Ring/LL128/4", &ring), CLAB_OK);
    const char *path = file_of(
        HEADING
        "           8             2     float    none      -1    34.52    0.00    0.00       0    99.9    0.00    0.00       0\n"
        "h:1:2 [0] NCCL INFO comm 0x1 rank 0\n"
        "     1048576        262144     float    none      -1    64.25    0.01    0.00     N/A    99.9    0.00    0.00     N/A\n"
        "# Out of bounds values : 0 OK\n");
    assert_int_equal(tune_read(path, ring, none, &times), CLAB_OK);
    assert_int_equal(times.n, 2);
    assert_int_equal(times.all[1].bytes, 1 << 20);
    assert_true(times.all[0].usec == 34.52 && times.all[1].usec == 64.25);
    for (int i = 0; i < 2; i++) {
        const struct tune_time *t = &times.all[i];
        assert_true(t->function == CLAB_NCCL_ALLGATHER && t->ranks == 2 && t->nodes == 2 && !t->is_own);
        assert_true(t->algorithm == CLAB_NCCL_RING && t->protocol == CLAB_NCCL_LL128 && t->channels == 4);
    }
    tune_times_free(&times);
}

// From version 1.0 on, which had other columns, no line with the test's name, and times in ms.
static void test_all_versions_of_nccl_tests_are_read(void **state)
{
    static const char *const logs[] = {
        // 1.0
        "#   Rank  0 on      alpha device  0 [0x07] Tesla P100\n#   Rank  1 on      alpha device  1 [0x08] Tesla P100\n"
        "#      bytes             N    type      op     time  algbw  busbw      res     time  algbw  busbw      res\n"
        "     1048576        262144   float     sum    0.125   8.39   8.39    1e-06    0.130   8.07   8.07    1e-06\n",
        // 2.0: no root, and the largest error of an element
        "#   Rank  0 Pid   7 on  alpha device  0 [0x07] Tesla V100\n#   Rank  1 Pid   8 on  alpha device  1 [0x08] Tesla V100\n"
        "#       size         count    type   redop     time   algbw   busbw  error     time   algbw   busbw  error\n"
        "     1048576        262144   float     sum    125.0    8.39    8.39  1e-06    130.0    8.07    8.07  1e-06\n",
        // 2.13 without the words for redop and root
        RANKS COLUMNS "     1048576        262144   float    125.0    8.39    8.39      0    130.0    8.07    8.07      0\n",
        // 2.19: values of iterations, and the time of day
        RANKS "#  size  count  type  redop  root  time  algbw  busbw  #wrong  i_min  i_max  i_p99  i_cv%  time  algbw  busbw"
              "  #wrong  i_min  i_max  i_p99  i_cv%          timestamp\n"
              "  1048576 262144 float sum -1 125.0 8.39 8.39 0 120 131 130 2.5 130.0 8.07 8.07 0 120 131 130 2.5  2026-07-07 10:00:00\n",
        // without a rank's line
        COLUMNS "     1048576        262144   float    sum   -1   125.0    8.39    8.39      0    130.0    8.07    8.07      0\n",
    };
    for (size_t i = 0; i < COUNT(logs); i++) {
        struct tune_times times = {0};
        const struct tune_missing options = {CLAB_NCCL_ALLREDUCE, 2, 1};
        assert_int_equal(tune_read(file_of(logs[i]), own, options, &times), CLAB_OK);
        assert_int_equal(times.n, 1);
        const struct tune_time *t = times.all;
        assert_true(t->function == CLAB_NCCL_ALLREDUCE && t->ranks == 2 && t->bytes == 1 << 20 && fabs(t->usec - 125) < 1e-9);
        tune_times_free(&times);
    }
}

static void test_an_option_contradicts_no_log(void **state)
{
    struct tune_times times = {0};
    const struct tune_missing options = {-1, 4, 1};
    struct capture capture = capture_begin(STDERR_FILENO);
    const int err = tune_read(file_of(HEADING " 64 16 float none -1 5.5 0 0 0 5.5 0 0 0\n"), own, options, &times);
    assert_one_line_with(capture_end(capture), "its lines name 2 ranks, and -n says 4: leave -n out");
    assert_int_equal(err, CLAB_EINVAL);
    tune_times_free(&times);
}

static void test_a_log_in_it_says_which_choice_was_forced(void **state)
{
    struct tune_times times = {0};
    const char *text = "a:1:1 [0] NCCL INFO NCCL_PROTO set by environment to Simple\n" HEADING
                       "a:1:1 [0] NCCL INFO NCCL_ALGO set by environment to PAT\n"
                       "   64   16  float none -1  5.5 0 0 0 5.5 0 0 0\n";
    assert_int_equal(tune_read(file_of(text), own, none, &times), CLAB_OK);
    assert_true(times.n == 1 && !times.all[0].is_own && times.all[0].algorithm == CLAB_NCCL_PAT &&
                times.all[0].protocol == CLAB_NCCL_SIMPLE);
    tune_times_free(&times);
    assert_int_equal(tune_read(file_of(HEADING "   64   16  float none -1  5.5 0 0 0 5.5 0 0 0\n"), own, none, &times), CLAB_OK);
    assert_true(times.n == 1 && times.all[0].is_own);
    tune_times_free(&times);
}

static void test_csv_is_read_by_its_names(void **state)
{
    struct tune_times times = {0};
    // As our bench writes it; what NCCL has no tuner for, in place, and refused times are left out.
    const char *bench = "# command: commlab bench\ncollective,algorithm,backend,ranks,bytes,inplace,usec,wrong\n"
                        "reduce_scatter,native,nccl,4,64,0,12.5,0\nreduce_scatter,native,nccl,4,64,1,99,0\n"
                        "alltoall,native,nccl,4,64,0,12.5,0\nreduce_scatter,native,nccl,4,128,0,,0\n";
    const char *table = "collective,size_bytes,algorithm,protocol,channels,nodes,ranks,latency_us\n"
                        "AllReduce,1024,Tree,LL,2,3,24,17.5\nallreduce,1024,own,,,3,24,18\n";
    assert_int_equal(tune_read(file_of(bench), own, two_nodes, &times), CLAB_OK);
    assert_int_equal(tune_read(file_of(table), own, two_nodes, &times), CLAB_OK);
    assert_int_equal(times.n, 3);
    const struct tune_time *t = times.all;
    assert_true(t[0].function == CLAB_NCCL_REDUCE_SCATTER && t[0].is_own && t[0].ranks == 4 && t[0].nodes == 2 &&
                t[0].bytes == 64 && t[0].usec == 12.5);
    assert_true(t[1].function == CLAB_NCCL_ALLREDUCE && !t[1].is_own && t[1].algorithm == CLAB_NCCL_TREE &&
                t[1].protocol == CLAB_NCCL_LL && t[1].channels == 2 && t[1].nodes == 3 && t[1].ranks == 24);
    assert_true(t[2].is_own && t[2].usec == 18);
    tune_times_free(&times);
}

static void test_files_that_are_wrong_are_named_with_their_line(void **state)
{
    static const struct {
        const char *text, *says;
    } files[] = {
        {"nothing\n", "neither CSV with names of columns, nor output of nccl-tests"},
        {" 64 16 float none -1 5.5\n", "times:1: a row before the line that names its columns"},
        {HEADING " 64 16 float\n", "times:7: no size and time"},
        {HEADING " 64 16 float none -1 0 0 0 0 5.5 0 0 0\n", "times:7: no size and time"},
        {HEADING " 64 16 float none -1 5.5 0 0 3 5.5 0 0 0\n", "times:7: wrong results"},
        {"NCCL_ALGO set by environment to Ring\n" HEADING " 64 16 float none -1 5.5 0 0 0 5.5 0 0 0\n",
         "NCCL_ALGO or NCCL_PROTO, not both"},
        {"# Collective test starting: alltoall_perf\n", "times:1: NCCL's tuner chooses for"},
        {COLUMNS " 64 16 float none -1 5.5 0 0 0 5.5 0 0 0\n", "times:2: of which collective?"},
        {"# Collective test starting: reduce_perf\n" COLUMNS " 64 16 float none -1 5.5 0 0 0 5.5 0 0 0\n",
         "times:3: of how many ranks?"},
        {HEADING " 64 16 float none -1 5.5 0 0 0 5.5 0 0 0\n# Out of bounds values : 2 FAILED\n", "times:8: wrong results"},
        {"# commlab bench: backend shm, algorithm ring, mode local\n", "times:1: times of the kit's own algorithms"},
        {"collective;bytes;usec;ranks\nreduce;8;1;4\n", "times:1: semicolons separate its columns"},
        {"collective,bytes,usec,ranks\nreduce,8,x,4\n", "times:2: column `usec`: microseconds are not 'x'"},
        {"collective,bytes,usec,ranks\nreduce,8,1,1\n", "times:2: column `ranks`: ranks are 2 or more, not '1'"},
        {"collective,bytes,usec,ranks\nreduce,,1,4\n", "times:2: column `bytes`: bytes are not ''"},
        {"collective,bytes,usec,ranks,wrong\nreduce,8,1,4,2\n", "elements that were wrong: '2'"},
        {"collective,bytes,usec,ranks,algorithm\nreduce,8,1,4,doubling\n",
         "an algorithm of NCCL's is needed, not 'doubling'"},
        {"collective,bytes,usec,ranks,algorithm,protocol\nreduce,8,1,4,ring,l\n", "there is no protocol 'l'"},
    };
    for (size_t i = 0; i < COUNT(files); i++) {
        struct tune_times times = {0};
        struct capture capture = capture_begin(STDERR_FILENO);
        const int err = tune_read(file_of(files[i].text), own, none, &times);
        assert_one_line_with(capture_end(capture), files[i].says);
        assert_int_equal(err, CLAB_EPARSE);
        tune_times_free(&times);
    }
}

static void test_labels_are_an_algorithm_and_a_protocol(void **state)
{
    static const char *const wrong[] = {"",           "ring",      "ring/",    "/ll",   "ring/ll/0",
                                        "ring/ll/65", "ring/ll/x", "rings/ll", "ring/l"};
    struct tune_label label;
    for (size_t i = 0; i < COUNT(wrong); i++)
        assert_int_equal(tune_label_read(wrong[i], &label), CLAB_EPARSE);
    assert_int_equal(tune_label_read("collnet_direct/simple", &label), CLAB_OK);
    assert_true(label.algorithm == CLAB_NCCL_COLLNET_DIRECT && label.protocol == CLAB_NCCL_SIMPLE && !label.is_own &&
                label.channels == CLAB_NCCL_ANY);
}

// ---- what is measured here -----------------------------------------------------------------------------------

// tune runs this program for the bench: a call takes 10 us, of Ring LL 5, and twice that where NCCL starts a thread for
// each group.
static int bench(int argc, char **argv)
{
    const char *path = NULL, *protocol = getenv("NCCL_PROTO"), *waits = getenv("NCCL_COMM_BLOCKING");
    for (int i = 1; i + 1 < argc; i++)
        if (!strcmp(argv[i], "--csv"))
            path = argv[i + 1];
    FILE *file = path ? fopen(path, "w") : NULL;
    if (!file)
        return 1;
    const double usec = (protocol && !strcmp(protocol, "LL") ? 5 : 10) * (waits && !strcmp(waits, "1") ? 1 : 2);
    fprintf(file, "collective,algorithm,ranks,bytes,inplace,usec,wrong\n%s,native,2,64,0,%g,0\n", argv[2], usec);
    return fclose(file) != 0;
}

static void test_what_is_measured_waits_in_nccls_calls_as_other_programs_do(void **state)
{
    static const bool functions[CLAB_NCCL_FUNCTIONS] = {[CLAB_NCCL_BROADCAST] = true};
    const struct tune_run run = {.backend = "nccl", .nodes = 1};
    struct tune_times times = {0};
    int status;
    assert_int_equal(tune_run(&run, functions, &times, &status), CLAB_OK);
    assert_int_equal(status, 0);
    assert_int_equal(times.n, 2 * (1 + 3)); // rounds; NCCL's own, and rings by three protocols
    for (int i = 0; i < times.n; i++)
        assert_true(times.all[i].usec == (times.all[i].is_own || times.all[i].protocol != CLAB_NCCL_LL ? 10 : 5));
    tune_times_free(&times);
}

// Times of memory that was registered say nothing of memory that was not.
static void test_rows_say_whether_memory_was_registered(void **state)
{
    static const char *const settings[] = {"1", "0", ""};
    for (int i = 0; i < 3; i++) {
        struct tune_times times = {0};
        struct tune_choice *choices;
        int n;
        setenv("CLAB_NCCL_REGISTER", settings[i], 1);
        add(&times, 64, CLAB_NCCL_RING, CLAB_NCCL_LL, 5);
        add(&times, 64, OWN, OWN, 10);
        assert_int_equal(tune_choose(&times, (struct tune_rule){1.03, false, tune_run_registers()}, &choices, &n), 0);
        assert_int_equal(n, 1);
        assert_int_equal(choices[0].row.registered, i == 0);
        free(choices);
        tune_times_free(&times);
    }
    unsetenv("CLAB_NCCL_REGISTER");
}

int main(int argc, char **argv)
{
    if (argc > 1 && !strcmp(argv[1], "bench"))
        return bench(argc, argv);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sizes_with_the_same_winner_are_one_row),
        cmocka_unit_test(test_nccls_own_choice_stays_where_nothing_gains_enough),
        cmocka_unit_test(test_a_choice_changes_only_for_more_than_the_margin),
        cmocka_unit_test(test_without_nccls_own_time_there_is_no_gain),
        cmocka_unit_test(test_the_model_pins_what_nccl_takes),
        cmocka_unit_test(test_what_is_written_is_what_the_tuner_reads),
        cmocka_unit_test(test_what_nccl_tests_print_is_read),
        cmocka_unit_test(test_all_versions_of_nccl_tests_are_read),
        cmocka_unit_test(test_an_option_contradicts_no_log),
        cmocka_unit_test(test_a_log_in_it_says_which_choice_was_forced),
        cmocka_unit_test(test_csv_is_read_by_its_names),
        cmocka_unit_test(test_files_that_are_wrong_are_named_with_their_line),
        cmocka_unit_test(test_labels_are_an_algorithm_and_a_protocol),
        cmocka_unit_test(test_what_is_measured_waits_in_nccls_calls_as_other_programs_do),
        cmocka_unit_test(test_rows_say_whether_memory_was_registered),
    };
    return cmocka_run_group_tests(tests, folder_make, folder_remove);
}
