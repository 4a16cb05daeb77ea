// SPDX-License-Identifier: MIT
// The page that plays a schedule, read without a browser: its numbers are those of the schedule's export, its list has
// every message, and nothing in it is loaded from elsewhere or taken for markup.

#include "tests/fixtures/capture.h"

#include "core/base/err.h"
#include "core/schedule/draw/draw.h"
#include "core/schedule/formats/goal.h"

static struct clab_problem problem_of(const struct clab_algorithm *algorithm, int nranks, int lanes)
{
    return (struct clab_problem){
        algorithm->collective, nranks, nranks / 2, lanes, 0, algorithm->collective == CLAB_BARRIER ? 0 : 1000, NULL};
}

// The page of a problem; the caller frees it.
static char *page_of(const struct clab_algorithm *algorithm, const struct clab_problem *problem)
{
    static char *text; // outlives the stream that refers to it
    static size_t size;
    struct clab_trace trace;
    FILE *file = open_memstream(&text, &size);
    assert_non_null(file);
    assert_int_equal(clab_trace_record(problem, algorithm, &trace), CLAB_OK);
    assert_int_equal(clab_draw_html(&trace, file), CLAB_OK);
    assert_int_equal(fclose(file), 0);
    clab_trace_free(&trace);
    return text;
}

// ---- numbers -------------------------------------------------------------------------------------------------

struct totals {
    long stages, messages, bytes;
};

// The last element of the page's counts, which is the state at the end.
static struct totals totals_of_page(const char *page)
{
    struct totals t;
    const char *last = strstr(page, "\"counts\":[");
    assert_non_null(last);
    for (const char *next = last + strlen("\"counts\""), *end = strstr(last, "null"); next && next < end;
         next = strchr(next + 1, '['))
        last = next;
    assert_int_equal(sscanf(last, "[%ld,%ld,%ld", &t.stages, &t.messages, &t.bytes), 3);
    return t;
}

// Messages and bytes by the schedule's export, stages by the schedule itself.
static struct totals totals_of_schedule(const struct clab_algorithm *algorithm, const struct clab_problem *problem)
{
    char *text = NULL;
    size_t size;
    struct totals t = {0};
    struct clab_step steps[128];
    FILE *file = open_memstream(&text, &size);
    assert_non_null(file);
    assert_int_equal(clab_goal_write(problem, algorithm, 1, 0, file), CLAB_OK);
    assert_int_equal(fclose(file), 0);
    for (const char *at = text; (at = strstr(at, ": send ")); t.messages++)
        t.bytes += strtol(at += strlen(": send "), NULL, 10);
    free(text);
    assert_in_range(algorithm->width(problem), 0, 128);
    for (int i = 0; i < problem->nranks * problem->lanes; i++)
        for (int stage = 0, n;
             (n = algorithm->stage(problem, i % problem->nranks, i / problem->nranks, stage, steps)) != CLAB_DONE;
             stage++)
            t.stages += n > 0;
    return t;
}

// Of the lines of the list, those of messages that leave; others are of late ones that arrive.
static int listed_messages(const char *page)
{
    int n = 0;
    while ((page = strstr(page, "<li>Rank "))) {
        page += strcspn(page, "0123456789");
        page += strspn(page, "0123456789");
        n += !strncmp(page, " sends ", 7) || !strncmp(page, " signals ", 9);
    }
    return n;
}

static void check_totals(const struct clab_algorithm *algorithm, const struct clab_problem *problem)
{
    char *page = page_of(algorithm, problem);
    const struct totals got = totals_of_page(page), expected = totals_of_schedule(algorithm, problem);
    if (memcmp(&got, &expected, sizeof got))
        fail_msg("%s, %d ranks: %ld stages, %ld messages, %ld bytes; expected %ld, %ld, %ld", algorithm->name,
                 problem->nranks, got.stages, got.messages, got.bytes, expected.stages, expected.messages,
                 expected.bytes);
    assert_int_equal(listed_messages(page), expected.messages);
    free(page);
}

static void test_totals_are_those_of_the_schedule(void **state)
{
    const int ranks[] = {1, 2, 5, 8, 16};
    for (const struct clab_algorithm *const *a = clab_algorithms; *a; a++)
        for (size_t i = 0; i < sizeof ranks / sizeof *ranks; i++)
            for (int lanes = 1; lanes <= 3; lanes += 2) {
                const struct clab_problem problem = problem_of(*a, ranks[i], lanes);
                if ((*a)->supports(&problem))
                    check_totals(*a, &problem);
            }
}

static void test_every_round_is_listed_and_has_words(void **state)
{
    for (const struct clab_algorithm *const *a = clab_algorithms; *a; a++)
        for (int nranks = 1; nranks <= 16; nranks += 5) {
            const struct clab_problem problem = problem_of(*a, nranks, 1);
            char *page = page_of(*a, &problem);
            assert_int_equal(occurrences(page, "<li id=\"round-"), (*a)->cost(&problem).rounds);
            assert_int_equal(occurrences(page, "<ul>\n</ul>"), 0);
            free(page);
        }
}

static void test_a_ring_is_the_textbooks(void **state)
{
    const struct clab_algorithm *ring = clab_algorithm_find(CLAB_ALLREDUCE, "ring");
    const struct clab_problem problem = {CLAB_ALLREDUCE, 3, 0, 1, 0, 3072, NULL};
    char *page = page_of(ring, &problem);
    assert_non_null(
        strstr(page, "<li id=\"round-1\"><ul>\n"
                     "<li>Rank 0 sends c0 (1 KiB) to rank 1, which adds it.</li>\n"
                     "<li>Rank 1 sends c1 (1 KiB) to rank 2, which adds it.</li>\n"
                     "<li>Rank 2 sends c2 (1 KiB) to rank 0, which adds it.</li>\n"
                     "</ul><p>So far: 3 of 12 stages, 3 of 12 messages, 3 KiB of 12 KiB. Complete: 0 of 9 chunks."));
    assert_non_null(
        strstr(page, "So far: 12 of 12 stages, 12 of 12 messages, 12 KiB of 12 KiB. Complete: 9 of 9 chunks."));
    assert_non_null(strstr(page, "[1,0,2,5,0,0],")); // after round 1, c2 of rank 0 has the data of ranks 0 and 2
    free(page);
}

static void test_a_message_that_waits_leaves_and_arrives(void **state)
{
    const struct clab_algorithm *flat = clab_algorithm_find(CLAB_REDUCE, "flat");
    const struct clab_problem problem = {CLAB_REDUCE, 3, 0, 1, 0, 1024, NULL};
    char *page = page_of(flat, &problem);
    assert_int_equal(occurrences(page, "to rank 0, which adds it."), 1);
    assert_int_equal(occurrences(page, "to rank 0. It arrives in round 2."), 1);
    assert_int_equal(occurrences(page, "<li>Rank 0 gets c0 of rank "), 1);
    free(page);
}

// ---- the page ------------------------------------------------------------------------------------------------

static void test_it_loads_nothing(void **state)
{
    const char *const loads[] = {"http:", "https:", "src=", "<link", "@import", "url(", "import(", "fetch("};
    const struct clab_algorithm *ring = clab_algorithm_find(CLAB_ALLREDUCE, "ring");
    const struct clab_problem problem = problem_of(ring, 4, 1);
    char *page = page_of(ring, &problem), *drawn = strstr(page, "http://www.w3.org/2000/svg");
    assert_non_null(drawn); // a name, which is not loaded
    memset(drawn, 'x', 5);
    for (size_t i = 0; i < sizeof loads / sizeof *loads; i++)
        if (strstr(page, loads[i]))
            fail_msg("the page has '%s'", loads[i]);
    assert_non_null(strstr(page, "default-src 'none'"));
    free(page);
}

static void test_all_places_are_filled(void **state)
{
    const struct clab_algorithm *ring = clab_algorithm_find(CLAB_ALLREDUCE, "ring");
    const struct clab_problem problem = problem_of(ring, 4, 2);
    char *page = page_of(ring, &problem);
    for (const char *at = page; (at = strchr(at, '@')); at++)
        assert_true(!strncmp(at, "@media", 6));
    assert_int_equal(occurrences(page, "</script>"), 2);
    assert_non_null(
        strstr(page, "<code>./commlab show ring -c allreduce --ranks 4 --lanes 2 --bytes 1000 --format html</code>"));
    assert_non_null(strstr(page, "</html>"));
    free(page);
}

// Schedules that were read from files have names of others.
static void test_foreign_names_are_text(void **state)
{
    struct clab_algorithm algorithm = *clab_algorithm_find(CLAB_ALLREDUCE, "ring");
    const struct clab_problem problem = problem_of(&algorithm, 2, 1);
    algorithm.name = algorithm.title = algorithm.source = "<img onerror=\"x\">&";
    char *page = page_of(&algorithm, &problem);
    assert_null(strstr(page, "<img"));
    assert_true(occurrences(page, "&lt;img onerror=&quot;x&quot;&gt;&amp;") >= 3);
    free(page);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_totals_are_those_of_the_schedule),
        cmocka_unit_test(test_every_round_is_listed_and_has_words),
        cmocka_unit_test(test_a_ring_is_the_textbooks),
        cmocka_unit_test(test_a_message_that_waits_leaves_and_arrives),
        cmocka_unit_test(test_it_loads_nothing),
        cmocka_unit_test(test_all_places_are_filled),
        cmocka_unit_test(test_foreign_names_are_text),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
