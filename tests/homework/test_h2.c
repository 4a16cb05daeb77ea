// SPDX-License-Identifier: MIT
// Homework h2: every student's cluster is worth the thought, the reference has all points, and each typical mistake is
// named. Takes long.

// clang-format off
// clang-format on

#include "tests/fixtures/capture.h"

#include <math.h>

#include "cmd/grade/seed.h"
#include "core/base/err.h"
#include "labs/homework/h2/price.h"
#include "labs/homework/h2/schedule.h"
#include "labs/homework/h2/wire.h"
#include "tests/fixtures/full.h"
#include "tests/fixtures/grading.h"
#include "tests/fixtures/needs.h"

// Each student has another cluster: few of them show what breaks, all are for continuous integration.
static int students(void)
{
    return is_full() ? 20 : 2;
}

static const char reference[] = "tests/homework/h2/reference.c", starter[] = "labs/homework/h2/starter/mine.c";

extern const struct homework homework_h2;

// What a submission is told, for the student of that number.
static void grade(struct grading *g, int student, const char *submission)
{
    static char id[16];
    snprintf(id, sizeof id, "s%d", student);
    grading_begin(g, &homework_h2, id, submission);
    homework_h2.grade(g);
}

// ---- clusters ----------------------------------------------------------------------------------------------------------

static void test_no_shipped_algorithm_comes_near_the_reference(void **state)
{
    needs_inih();
    for (uint64_t seed = 0; seed < (uint64_t)students(); seed++) {
        struct h2_cluster cluster;
        struct h2_scale scale;
        assert_int_equal(h2_cluster_choose(seed, &cluster, &scale), CLAB_OK);
        assert_true(scale.shipped >= 1.15 * scale.reference);
        assert_true(scale.ordered >= 1.15 * scale.reference);
        assert_true(scale.bound <= scale.reference && scale.reference < 1.2 * scale.bound);
    }
}

static void test_a_cluster_is_what_its_text_says(void **state)
{
    needs_inih();
    for (uint64_t seed = 0; seed < (uint64_t)students(); seed++) {
        struct h2_cluster cluster, again;
        struct clab_net *net;
        int seen[H2_HOSTS * H2_SLOTS] = {0};
        h2_cluster_draw(seed, &cluster);
        h2_cluster_draw(seed, &again);
        assert_memory_equal(&cluster, &again, sizeof cluster);
        assert_int_equal(h2_cluster_net(&cluster, &net), CLAB_OK);
        assert_int_equal(net->nodes, cluster.nhosts);
        assert_int_equal(net->ranks_per_node, cluster.slots);
        assert_int_equal(net->topology.adapters, 1);
        assert_true(fabs(net->inter.alpha - 1e-6 * cluster.alpha_us) < 1e-12);
        assert_true(fabs(net->inter.beta * 1e6 * cluster.mbits / 8 - 1) < 1e-9);
        for (int rank = 0; rank < cluster.nranks; rank++) {
            assert_int_equal(cluster.member[rank] / net->ranks_per_node, cluster.host[rank]);
            assert_int_equal(seen[cluster.member[rank]]++, 0);
        }
        clab_net_free(net);
    }
}

static void test_places_have_a_rank_on_every_host(void **state)
{
    for (uint64_t seed = 0; seed < 100; seed++)
        for (int nranks = 1; nranks <= 16; nranks++) {
            struct h2_cluster cluster;
            int size[H2_HOSTS] = {0}, sum = 0;
            h2_cluster_places(seed, nranks, &cluster);
            for (int rank = 0; rank < nranks; rank++)
                size[cluster.host[rank]]++;
            for (int host = 0; host < cluster.nhosts; host++) {
                assert_true(size[host] > 0 && size[host] == cluster.size[host]);
                sum += size[host];
            }
            assert_int_equal(sum, nranks);
        }
}

// ---- points ------------------------------------------------------------------------------------------------------------

static void test_the_reference_has_all_points_and_the_time_of_the_formula(void **state)
{
    needs_inih();
    needs_sodium();
    for (int student = 0; student < students(); student++) {
        struct grading g;
        grade(&g, student, reference);
        assert_true(fabs(grading_sum(&g) - 80) < 1e-9);
        struct h2_cluster cluster;
        struct h2_scale scale;
        uint64_t seed;
        assert_int_equal(homework_seed(NULL, g.student, "h2 cluster", &seed), CLAB_OK);
        assert_int_equal(h2_cluster_choose(seed, &cluster, &scale), CLAB_OK);
        assert_true(fabs(g.rank * scale.bound / scale.reference - 1) < 1e-9);
        grading_end(&g);
    }
}

static void test_the_starter_builds_and_says_what_to_do(void **state)
{
    needs_inih();
    needs_sodium();
    struct grading g;
    grade(&g, 0, starter);
    assert_true(grading_sum(&g) == 0);
    assert_non_null(strstr(grading_text(&g, "proof"), "No rank receives anything: stage() returns CLAB_DONE at once"));
    grading_end(&g);
}

// What labcc says of a mine.c that consists of `text`.
static void assert_refused(const char *text, const char *words)
{
    char folder[] = "/tmp/commlab-h2-XXXXXX", command[512];
    assert_non_null(mkdtemp(folder));
    snprintf(command, sizeof command, "%s/mine.c", folder);
    FILE *file = fopen(command, "w");
    assert_non_null(file);
    fprintf(file, "#include \"labs/homework/h2/h2.h\"\n%s\n", text);
    fclose(file);
    const char *build = getenv("CLAB_BUILD") ? getenv("CLAB_BUILD") : "build";
    snprintf(command, sizeof command, "'%s/labcc' -c -o %s/mine.o %s/mine.c 2>&1 | grep -q 'error: .*%s'", build,
             folder, folder, words);
    if (system(command))
        fail_msg("not refused by '%s': %s", words, text);
    snprintf(command, sizeof command, "rm -r %s", folder);
    assert_int_equal(system(command), 0);
}

// The kit's own stage functions look alike, and would read another problem.
static void test_the_kit_s_own_form_is_refused(void **state)
{
    assert_refused("STAGE(mine) { return s >= P ? CLAB_DONE : 0; }", "P is problem->nranks");
    assert_refused("static int mine(const struct clab_problem *p, int rank, int lane, int s, struct clab_step out[]);\n"
                   "const struct h2_algorithm H2_MINE = {.stage = mine};",
                   "incompatible pointer type");
}

// What a command writes, errors too.
static int run(char out[1 << 16], const char *format, ...)
{
    char command[1024];
    va_list list;
    va_start(list, format);
    vsnprintf(command, sizeof command, format, list);
    va_end(list);
    FILE *pipe = popen(command, "r");
    assert_non_null(pipe);
    out[fread(out, 1, (1 << 16) - 1, pipe)] = 0;
    return pclose(pipe);
}

// It finds the own cluster beside itself, and has the grader's time: of the reference that is the formula's.
static void test_try_prices_on_the_own_cluster(void **state)
{
    static char out[1 << 16];
    char folder[] = "/tmp/commlab-h2-XXXXXX", words[80], *at;
    const char *build = getenv("CLAB_BUILD") ? getenv("CLAB_BUILD") : "build";
    struct h2_cluster cluster;
    struct h2_scale scale;
    uint64_t seed;
    needs_inih();
    needs_sodium();
    assert_non_null(mkdtemp(folder));
    assert_int_equal(homework_h2.start("s1", folder), CLAB_OK);
    if (run(out, "'%s/labcc' -o %s/try %s labs/homework/h2/try.c 2>&1", build, folder, reference) || out[0])
        fail_msg("%s", out);
    assert_int_equal(run(out, "%s/try 2>&1", folder), 0);
    assert_int_equal(homework_seed(NULL, "s1", "h2 cluster", &seed), CLAB_OK);
    assert_int_equal(h2_cluster_choose(seed, &cluster, &scale), CLAB_OK);
    snprintf(words, sizeof words, "in virtual time: %.2f ms\nThe reference, your teacher's solution, takes %.2f ms",
             1e3 * scale.reference, 1e3 * scale.reference);
    if (!strstr(out, words))
        fail_msg("no '%s' in: %s", words, out);
    snprintf(words, sizeof words, "%.2f times the array", 2.0 * (cluster.nhosts - 1) / cluster.nhosts);
    at = strstr(out, "Sent to other hosts");
    assert_true(at && strstr(at, words));
    // Other hosts: no reference. Hosts that the network has not, and no network: no time, and the reason.
    assert_int_equal(run(out, "%s/try 0 1 0 2>&1", folder), 0);
    assert_true(strstr(out, "in virtual time: ") && !strstr(out, "The reference"));
    assert_int_equal(run(out, "%s/try 0 0 0 0 0 0 0 2>&1", folder), 0);
    assert_non_null(strstr(out, "No time: the network of"));
    assert_int_equal(run(out, "rm %s/network.net; %s/try 0 1 2>&1", folder, folder), 0);
    assert_non_null(strstr(out, "network.net is not there. ./commlab start h2"));
    assert_true(run(out, "%s/try 2>&1", folder) != 0 && strstr(out, "does not name your ranks' hosts"));
    run(out, "rm -r %s", folder);
}

// The same words from try and from the grader's harness, each built with odd.c: "" where only the proof finds it.
static void test_what_crashes_or_is_no_schedule_is_named(void **state)
{
    static const struct {
        const char *odd, *of_try, *of_harness;
    } cases[] = {
        {"lanes", "lanes() is 0 (1 to 16)", ""},
        {"lanes crash", "crashed in lanes(), with 3 ranks on 2 hosts: signal 8",
         "crashed in lanes(), with 2 ranks on 2 hosts: signal 8"},
        {"chunks", "chunks_per_lane() is 300 (1 to 256)", ""},
        {"divide", "crashed in stage() of rank 0, stage 2, with 3 ranks on 2 hosts: signal 8, often a division by 0",
         "crashed in stage() of rank 0, stage 2, with 2 ranks on 2 hosts: signal 8, often a division by 0"},
        {"deep", "stage 2, with 3 ranks on 2 hosts: signal 11, often",
         "stage 2, with 2 ranks on 2 hosts: signal 11, often"},
        {"abort", "stage 2, with 3 ranks on 2 hosts: signal 6, often",
         "stage 2, with 2 ranks on 2 hosts: signal 6, often"},
        {"endless", "stage() of rank 0, stage 2, with 3 ranks on 2 hosts, has not returned after 1 s of computing",
         "stage() of rank 0, stage 2, with 2 ranks on 2 hosts, has not returned after 1 s of computing"},
        {"counter", "rank 0, stage 2: two calls of stage() with the same arguments gave different steps", ""},
        {"gap", "rank 0, stage 2: step 0 was not filled in", ""},
        {"span", "writes chunks 0 to 2, and there is 1 chunk", ""},
        {"many", "rank 0, stage 2: stage() returned 70", ""},
        {"very many", "rank 0, stage 2: stage() returned 900", ""},
    };
    static char out[1 << 16];
    char folder[] = "/tmp/commlab-h2-XXXXXX";
    const char *build = getenv("CLAB_BUILD") ? getenv("CLAB_BUILD") : "build";
    assert_non_null(mkdtemp(folder));
    if (run(out,
            "for program in try harness; do '%s/labcc' -DCALLS_SECONDS=1 -o %s/$program tests/homework/h2/odd.c "
            "labs/homework/h2/$program.c 2>&1; done; echo 2 2 1024 0 1 >%s/ask",
            build, folder, folder) ||
        out[0])
        fail_msg("%s", out);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        if (!strcmp(cases[i].odd, "endless") && !is_full()) { // it computes for a second, twice
            leave_out(1);
            continue;
        }
        if (run(out, "cd %s && ulimit -c 0 && ODD='%s' ./try 0 0 1 2>&1", folder, cases[i].odd) == 0 ||
            !strstr(out, cases[i].of_try))
            fail_msg("try, %s: no '%s' in: %s", cases[i].odd, cases[i].of_try, out);
        run(out, "cd %s && ulimit -c 0 && ODD='%s' ./harness ask schedules 2>&1", folder, cases[i].odd);
        if (!strstr(out, cases[i].of_harness))
            fail_msg("harness, %s: no '%s' in: %s", cases[i].odd, cases[i].of_harness, out);
    }
    run(out, "rm -r %s", folder);
}

// What the harness writes about odd.c is told by the grader in the same words.
static void test_the_grader_names_the_same(void **state)
{
    static const struct {
        const char *odd, *words;
    } cases[] = {
        {"counter",
         "rank 0, stage 2: two calls of stage() with the same arguments gave different steps, first 1 of them"},
        {"gap", "rank 0, stage 2: step 0 was not filled in"},
        {"many", "rank 0, stage 2: stage() returned 70"},
    };
    needs_inih();
    needs_sodium();
    const int tried = few_of(sizeof cases / sizeof *cases, 1);
    for (int i = 0; i < tried; i++) {
        struct grading g;
        assert_int_equal(setenv("ODD", cases[i].odd, 1), 0);
        grade(&g, 0, "tests/homework/h2/odd.c");
        if (!strstr(grading_text(&g, "proof"), cases[i].words))
            fail_msg("%s: no '%s' in: %s", cases[i].odd, cases[i].words, grading_text(&g, "proof"));
        grading_end(&g);
    }
    unsetenv("ODD");
}

// Above 8 ranks the list of stages is for who asks; empty stages are for nobody.
static void test_try_lists_no_more_than_people_read(void **state)
{
    static const char many[] = "0 1 2 0 1 0 2 1 0";
    static char out[1 << 16];
    char folder[] = "/tmp/commlab-h2-XXXXXX";
    const char *build = getenv("CLAB_BUILD") ? getenv("CLAB_BUILD") : "build";
    assert_non_null(mkdtemp(folder));
    if (run(out,
            "for i in %s tests/homework/h2/odd.c; do '%s/labcc' -o %s/$(basename $i .c) $i labs/homework/h2/try.c 2>&1; done",
            reference, build, folder) ||
        out[0])
        fail_msg("%s", out);
    assert_int_equal(run(out, "%s/reference %s 2>&1", folder, many), 0);
    assert_true(!strstr(out, "stage 0:") && strstr(out, "try --stages"));
    assert_int_equal(run(out, "%s/reference --stages %s 2>&1", folder, many), 0);
    assert_true(strstr(out, "rank 8 (host 0), stage 0: send chunks 0 to 2 to rank 0") && !strstr(out, "nothing"));
    assert_int_equal(run(out, "%s/reference 0 1 2>&1", folder), 0);
    assert_non_null(strstr(out, "rank 0 (host 0), stage 0:"));
    // Stage 0 of odd.c is empty; its proof fails, so that rank is listed.
    assert_true(run(out, "%s/odd %s 2>&1", folder, many) != 0);
    assert_true(strstr(out, "What that rank does:\nrank 0 (host 0), stage 1: send chunk 0 to rank 1") &&
                !strstr(out, "rank 1 (host"));
    run(out, "rm -r %s", folder);
}

static void expect_words(const char *path)
{
    struct grading g;
    grade(&g, 1, path);
    grading_assert_named(&g, 60);
    grading_end(&g);
}

static int is_mistake(const struct dirent *entry)
{
    return entry->d_name[0] != '.';
}

// Unless CLAB_TEST_FULL is set, every third one by name.
static void test_each_mistake_is_named(void **state)
{
    needs_inih();
    needs_sodium();
    struct dirent **entries;
    const int n = scandir("tests/homework/h2/wrong", &entries, is_mistake, alphasort);
    const int step = is_full() ? 1 : 3;
    assert_true(n >= 10);
    leave_out(n - (n + step - 1) / step);
    for (int i = 0; i < n; i++) {
        char path[400];
        snprintf(path, sizeof path, "tests/homework/h2/wrong/%s", entries[i]->d_name);
        if (i % step == 0)
            expect_words(path);
        free(entries[i]);
    }
    free(entries);
}

// ---- data that nobody trusts ---------------------------------------------------------------------------------------------

// A schedule of two ranks that only waits for being read: `words` behind its head.
static struct h2_schedule read_words(const int32_t *words, size_t count)
{
    struct h2_cluster cluster;
    struct h2_schedule schedule;
    struct clab_verifier *verifier;
    struct h2_words all = {.data = (const char *)words, .count = count};
    h2_cluster_even(2, 2, &cluster);
    cluster.bytes = 1024;
    assert_int_equal(clab_verifier_create(&verifier), CLAB_OK);
    assert_int_equal(h2_schedule_read(&all, &cluster, verifier, &schedule), CLAB_OK);
    clab_verifier_free(verifier);
    h2_schedule_free(&schedule);
    return schedule;
}

#define EXCHANGE(peer) 2, CLAB_SEND, peer, 0, 0, 1, 0, 0, 0, CLAB_RECV_REDUCE, peer, 0, 0, 0, 0, 0, 1, WIRE_DONE, -1

static void test_a_schedule_is_read_whole_or_not_at_all(void **state)
{
    const int32_t words[] = {WIRE_MAGIC, 2, 1, 1, 0, EXCHANGE(1), EXCHANGE(0)};
    const size_t count = sizeof words / sizeof *words;
    assert_true(read_words(words, count).is_proved);
    for (size_t n = 0; n < count; n++) {
        const struct h2_schedule schedule = read_words(words, n);
        assert_false(schedule.is_proved || schedule.is_there);
    }
}

static void test_words_that_are_no_schedule_are_refused(void **state)
{
    const int32_t good[] = {WIRE_MAGIC, 2, 1, 1, 0, EXCHANGE(1), EXCHANGE(0)};
    const int32_t bad[] = {INT32_MIN, -7, 1 << 20, INT32_MAX};
    const size_t count = sizeof good / sizeof *good;
    for (size_t at = 0; at < count; at++)
        for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
            int32_t words[sizeof good / sizeof *good];
            memcpy(words, good, sizeof good);
            words[at] = bad[i];
            const struct h2_schedule schedule = read_words(words, count);
            // What a send has as dst, a receive as src and CLAB_DONE as its value means nothing.
            if (schedule.is_proved)
                assert_true(good[at] == 0 || good[at] == -1);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_no_shipped_algorithm_comes_near_the_reference),
        cmocka_unit_test(test_a_cluster_is_what_its_text_says),
        cmocka_unit_test(test_places_have_a_rank_on_every_host),
        cmocka_unit_test(test_the_reference_has_all_points_and_the_time_of_the_formula),
        cmocka_unit_test(test_the_starter_builds_and_says_what_to_do),
        cmocka_unit_test(test_the_kit_s_own_form_is_refused),
        cmocka_unit_test(test_each_mistake_is_named),
        cmocka_unit_test(test_try_prices_on_the_own_cluster),
        cmocka_unit_test(test_what_crashes_or_is_no_schedule_is_named),
        cmocka_unit_test(test_the_grader_names_the_same),
        cmocka_unit_test(test_try_lists_no_more_than_people_read),
        cmocka_unit_test(test_a_schedule_is_read_whole_or_not_at_all),
        cmocka_unit_test(test_words_that_are_no_schedule_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
