// SPDX-License-Identifier: MIT
// Which files the tuner takes (tuner_call.h), and what it says of those that it does not.

#include "tests/fixtures/tuner_call.h"

// That of the course material: it names neither nodes nor ranks.
static void test_rows_of_six_fields_hold_for_any_and_are_warned_of(void **state)
{
    use(table_of("# collective,minBytes,maxBytes,algorithm,protocol,channels\n"
                 "allreduce,0,98304,tree,ll,-1\nallreduce,98305,12582912,tree,ll128,-1\n"));
    clear_log();
    void *context = begin(5, 8, 1, take_log);
    assert_int_equal(nwarned, 1);
    assert_text_has(logged, "2 rows of six fields: not for how many nodes and ranks");
    assert_answer(ask(context, ALLREDUCE, 98304, 0), TREE, LL, 0);
    assert_answer(ask(context, ALLREDUCE, 98305, 0), TREE, LL128, 0);
    end(5, context);
    clear_log();
}

static void test_words_are_known_as_others_write_them(void **state)
{
    use(table_of("  AllReduce , 1K , 1M , NVLSTree , Simple , 0 , -1 , 8 \r\n"
                 "reduce_scatter,0,8,CollNetDirect,LL128,-1,1,8,-1\n"));
    void *context = begin(5, 8, 1, take_log);
    assert_answer(ask(context, ALLREDUCE, 1024, 0), NVLS_TREE, SIMPLE, 0);
    assert_answer(ask(context, ALLREDUCE, (1 << 20) + 1, 0), RING, SIMPLE, 0);
    assert_answer(ask(context, REDUCESCATTER, 8, 0), COLLNET_DIRECT, LL128, 0);
    end(5, context);
    clear_log();
}

// As spreadsheets and pandas write them: names without #.
static void test_a_heading_is_accepted(void **state)
{
    static const char *const files[] = {
        "collective_type,min_bytes,max_bytes,algorithm,protocol,channels,nNodes,nRanks,numPipeOps,regBuff,gain\n"
        "allreduce,0,4096,tree,ll,-1,1,8,-1,-1,1.21\n",
        "# by hand\n\nCollectiveType, min_bytes, max_bytes, algorithm, protocol, channels\r\n"
        "allreduce,0,4096,tree,ll,-1,1,8\r\n",
    };
    for (size_t i = 0; i < COUNT(files); i++) {
        use(table_of(files[i]));
        clear_log();
        void *context = begin(5, 8, 1, take_log);
        assert_int_equal(nwarned, 0);
        assert_answer(ask(context, ALLREDUCE, 4096, 0), TREE, LL, 0);
        end(5, context);
    }
    clear_log();
}

static void test_a_bad_file_is_said_in_a_line_and_nccl_chooses(void **state)
{
    static const struct {
        const char *text, *says;
    } files[] = {
        {"", "tune.csv: there is no row"},
        {"# only\n\n", "tune.csv: there is no row"},
        {"allreduce,0,8,tree,ll,-1,1,8\nallreduce,0,8,tree,ll\n", "tune.csv:2: 5 fields, not 6, 8, 9 or 10"},
        {"allreduce,0,8,tree,ll,-1,1\n", "tune.csv:1: 7 fields"},
        {"\n\nallreduce\n", "tune.csv:3: 1 field,"},
        {"alltoall,0,8,tree,ll,-1,1,8\n", "tune.csv:1: there is no collective 'alltoall'; there is: broadcast reduce"},
        {"allreduce,x,8,tree,ll,-1,1,8\n", "tune.csv:1: min_bytes 'x' is not a number of bytes"},
        {"allreduce,0,8x,tree,ll,-1,1,8\n", "tune.csv:1: max_bytes '8x'"},
        {"allreduce,0,99999999999999999999,tree,ll,-1,1,8\n", "max_bytes '99999999999999999999'"},
        {"allreduce,9,8,tree,ll,-1,1,8\n", "tune.csv:1: min_bytes 9 is above max_bytes 8"},
        {"allreduce,0,8,trees,ll,-1,1,8\n", "there is no algorithm 'trees'; there is: tree ring collnet_direct"},
        {"allreduce,0,8,,ll,-1,1,8\n", "there is no algorithm ''"},
        {"allreduce,0,8,tree,ll64,-1,1,8\n", "there is no protocol 'll64'; there is: ll ll128 simple"},
        {"allreduce,0,8,tree,ll,65,1,8\n", "channels '65' is not a number from 0 to 64, or -1 for any"},
        {"allreduce,0,8,tree,ll,-2,1,8\n", "channels '-2'"},
        {"allreduce,0,8,tree,ll,-1,0,8\n", "nNodes '0' is not a number from 1"},
        {"allreduce,0,8,tree,ll,-1,1,x\n", "nRanks 'x'"},
        {"allreduce,0,8,tree,ll,-1,1,8,0\n", "numPipeOps '0'"},
        {"collective_type,max_bytes,min_bytes,algorithm,protocol,channels\nallreduce,8,0,tree,ll,-1\n",
         "tune.csv:1: column 2 is 'max_bytes', not 'min_bytes'"},
        {"allreduce,0,8,tree,ll,-1,1,8\ncollective_type,min_bytes,max_bytes,algorithm,protocol,channels\n",
         "tune.csv:2: a heading below the first row"},
        {"collective_type,min_bytes,max_bytes,algorithm,protocol,channels\n", "tune.csv: there is no row"},
        {"allreduce,0,8,tree,ll,-1,1,8,-1,2\n", "regBuff '2' is not a number from 0 to 1"},
    };
    for (size_t i = 0; i < COUNT(files); i++) {
        use(table_of(files[i].text));
        clear_log();
        void *context = begin(i % 2 ? 5 : 4, 8, 1, take_log);
        assert_one_line_with(logged, files[i].says);
        assert_text_has(logged, "NCCL goes on with its own choices");
        assert_int_equal(nwarned, 1);
        assert_answer(ask(context, ALLREDUCE, 8, 0), RING, SIMPLE, 0);
        assert_int_equal(nlogged, 1);
        end(i % 2 ? 5 : 4, context);
    }
    clear_log();
}

static void assert_refused(const char *path, const char *says)
{
    use(path);
    clear_log();
    void *context = begin(5, 8, 1, take_log);
    assert_one_line_with(logged, says);
    end(5, context);
    clear_log();
}

static void test_what_is_no_table_is_refused_at_once(void **state)
{
    char line[2000];
    memset(line, 'a', sizeof line);
    line[sizeof line - 1] = '\0';
    assert_refused(table_of(line), "tune.csv:1: more than 510 characters: this is no table of choices");
    assert_refused("/nowhere/tune.csv", "/nowhere/tune.csv: No such file or directory");
    assert_refused("/dev/zero", "/dev/zero is no file");
    assert_refused(test_folder, " is no file");
}

static void test_a_file_is_found_by_either_name_ours_first(void **state)
{
    char first[64];
    snprintf(first, sizeof first, "%s/ours.csv", test_folder);
    FILE *file = fopen(first, "w");
    assert_non_null(file);
    fputs("allreduce,0,-1,pat,simple,-1,-1,-1\n", file);
    fclose(file);
    use(table_of("allreduce,0,-1,tree,simple,-1,-1,-1\n"));
    void *context = begin(5, 8, 1, take_log);
    assert_answer(ask(context, ALLREDUCE, 8, 0), TREE, SIMPLE, 0);
    end(5, context);
    setenv("CLAB_TUNER", first, 1);
    context = begin(5, 8, 1, take_log);
    assert_answer(ask(context, ALLREDUCE, 8, 0), PAT, SIMPLE, 0);
    end(5, context);
    use(NULL);
    clear_log();
    context = begin(4, 8, 1, take_log);
    assert_one_line_with(logged, "no table, so NCCL chooses: set NCCL_TUNER_CONFIG_FILE");
    assert_int_equal(nwarned, 0);
    assert_answer(ask(context, ALLREDUCE, 8, 0), RING, SIMPLE, 0);
    end(4, context);
    clear_log();
}

// Who has named a file wants to hear that it is of no use.
static void test_a_bad_file_is_said_on_stderr_where_nccl_logs_nothing(void **state)
{
    static const char *const silent_levels[] = {"", "VERSION", "none"};
    use("/nowhere");
    for (size_t i = 0; i < COUNT(silent_levels); i++) {
        setenv("NCCL_DEBUG", silent_levels[i], 1);
        struct capture said = capture_begin(STDERR_FILENO);
        end(5, begin(5, 8, 1, take_log));
        assert_text_has(capture_end(said), "commlab: warning: tuner: /nowhere: No such file or directory");
    }
    unsetenv("NCCL_DEBUG");
    struct capture capture = capture_begin(STDERR_FILENO);
    void *context = begin(5, 8, 1, take_log), *silent = begin(4, 8, 1, NULL);
    const char *text = capture_end(capture);
    assert_text_has(text, "commlab: warning: tuner: /nowhere: No such file or directory; NCCL goes on");
    assert_int_equal(nlogged, 0);
    assert_answer(ask(silent, ALLREDUCE, 8, 0), RING, SIMPLE, 0);
    end(5, context);
    end(4, silent);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rows_of_six_fields_hold_for_any_and_are_warned_of),
        cmocka_unit_test(test_words_are_known_as_others_write_them),
        cmocka_unit_test(test_a_heading_is_accepted),
        cmocka_unit_test(test_a_bad_file_is_said_in_a_line_and_nccl_chooses),
        cmocka_unit_test(test_what_is_no_table_is_refused_at_once),
        cmocka_unit_test(test_a_file_is_found_by_either_name_ours_first),
        cmocka_unit_test(test_a_bad_file_is_said_on_stderr_where_nccl_logs_nothing),
    };
    return cmocka_run_group_tests(tests, load_plugin, folder_remove);
}
