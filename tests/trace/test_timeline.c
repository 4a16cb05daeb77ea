// SPDX-License-Identifier: MIT
// Timelines: the file that viewers read, read again and checked; which messages its arrows are; overlap worked out by
// hand.

#include "tests/fixtures/capture.h"

#include <math.h>

#include "core/base/err.h"
#include "tests/fixtures/needs.h"
#include "core/trace/arrows.h"
#include "core/trace/timeline.h"

// ---- overlap -------------------------------------------------------------------------------------------------

static void assert_exposed(const struct clab_interval *communication, int n, const struct clab_interval *compute, int m,
                           double whole, double exposed)
{
    double actual_whole, actual_exposed;
    assert_int_equal(clab_timeline_exposed(communication, n, compute, m, &actual_whole, &actual_exposed), CLAB_OK);
    assert_true(fabs(actual_whole - whole) < 1e-12);
    assert_true(fabs(actual_exposed - exposed) < 1e-12);
}

static void test_communication_without_computing_is_all_exposed(void **state)
{
    const struct clab_interval communication[] = {{2, 5}};
    assert_exposed(communication, 1, NULL, 0, 3, 3);
    assert_exposed(NULL, 0, communication, 1, 0, 0);
}

// 0         4    6        10
// |--- c ---|    |-- c ---|
//    |--------------|        3 to 7: 4 to 6 is exposed
static void test_only_what_no_computing_covers_is_exposed(void **state)
{
    const struct clab_interval communication[] = {{3, 7}}, compute[] = {{0, 4}, {6, 10}};
    assert_exposed(communication, 1, compute, 2, 4, 2);
}

// Two calls at once from 2 to 3; computing that overlaps itself; an end that is a beginning; unsorted.
static void test_each_moment_counts_once(void **state)
{
    const struct clab_interval communication[] = {{6, 7}, {1, 3}, {2, 4}}, compute[] = {{0, 2}, {1, 2.5}, {4, 6}};
    assert_exposed(communication, 3, compute, 3, 4, 1.5 + 1);
}

// ---- arrows --------------------------------------------------------------------------------------------------

// An allreduce by a ring of two: rank r sends chunk r in stage 0, and the other one in stage 1.
static struct clab_timeline make_ring(int nranks, int lost)
{
    struct clab_timeline t = {0};
    const uint8_t number = (uint8_t)clab_algorithm_number(clab_algorithm_find(CLAB_ALLREDUCE, "ring"));
    for (int rank = 0; rank < nranks; rank++) {
        const struct clab_timeline_call call = {.begin = 10 + rank,
                                                .end = 20 + rank,
                                                .comm = 7,
                                                .count = 2 * (uint64_t)nranks,
                                                .serial = 5,
                                                .sequence = 3,
                                                .process = rank,
                                                .rank = rank,
                                                .nranks = nranks,
                                                .what = CLAB_ALLREDUCE,
                                                .type = CLAB_F32,
                                                .lanes = 1,
                                                .algorithm = number};
        assert_int_equal(clab_timeline_add_calls(&t, &call, 1), CLAB_OK);
        for (int stage = 2 * (nranks - 1) - 1; stage >= 0; stage--) {
            const struct clab_timeline_stage s = {
                .begin = 11 + stage, .end = 12 + stage, .serial = 5, .process = rank, .stage = stage};
            if (rank != lost || stage > 0)
                assert_int_equal(clab_timeline_add_stages(&t, &s, 1), CLAB_OK);
        }
    }
    return t;
}

static int by_process_and_stage(const void *a, const void *b)
{
    const struct clab_timeline_stage *x = a, *y = b;
    return x->process != y->process ? x->process - y->process : x->stage - y->stage;
}

static void test_arrows_lead_from_sends_to_their_receives(void **state)
{
    struct clab_timeline t = make_ring(3, -1);
    struct clab_arrows arrows;
    qsort(t.stages, (size_t)t.nstages, sizeof *t.stages, by_process_and_stage);
    assert_int_equal(clab_arrows_find(&t, &arrows), CLAB_OK);
    assert_int_equal(arrows.n, 3 * 4);
    for (int i = 0; i < arrows.n; i++) {
        const struct clab_timeline_stage *from = &t.stages[arrows.arrows[i].sent],
                                         *to = &t.stages[arrows.arrows[i].received];
        assert_int_equal(to->process, (from->process + 1) % 3);
        assert_int_equal(to->stage, from->stage);
        assert_int_equal(arrows.ends[arrows.arrows[i].sent].to, to->process);
        assert_int_equal(arrows.ends[arrows.arrows[i].sent].sent, 2 * sizeof(float));
        assert_int_equal(arrows.ends[arrows.arrows[i].received].from, from->process);
    }
    clab_arrows_free(&arrows);
    clab_timeline_free(&t);
}

static void test_pairs_of_which_a_stage_is_lost_have_no_arrows(void **state)
{
    struct clab_timeline t = make_ring(3, 0);
    struct clab_arrows arrows;
    qsort(t.stages, (size_t)t.nstages, sizeof *t.stages, by_process_and_stage);
    assert_int_equal(clab_arrows_find(&t, &arrows), CLAB_OK);
    assert_int_equal(arrows.n, 4); // from rank 1 to 2: those of 0 to 1 and 2 to 0 do not match
    for (int i = 0; i < arrows.n; i++)
        assert_int_equal(t.stages[arrows.arrows[i].sent].process, 1);
    clab_arrows_free(&arrows);
    clab_timeline_free(&t);
}

// ---- the file ------------------------------------------------------------------------------------------------

#ifdef HAVE_JANSSON
#include <jansson.h>

static char path[64];

static json_t *write_and_load(struct clab_timeline *t)
{
    struct clab_manifest about = {0};
    json_error_t error;
    snprintf(path, sizeof path, "/tmp/commlab-test-timeline-%d.json", (int)getpid());
    assert_int_equal(clab_manifest_add(&about, "command", "by hand"), CLAB_OK);
    assert_int_equal(clab_timeline_write(t, CLAB_TIMELINE_MEASURED, path, &about), CLAB_OK);
    json_t *json = json_load_file(path, 0, &error);
    if (!json)
        fail_msg("%s:%d: %s", path, error.line, error.text);
    unlink(path);
    clab_manifest_free(&about);
    assert_string_equal(json_string_value(json_object_get(json_object_get(json, "otherData"), "command")), "by hand");
    return json;
}

static const char *text_of(const json_t *event, const char *key)
{
    return json_string_value(json_object_get(event, key));
}

static double number_of(const json_t *event, const char *key)
{
    return json_number_value(json_object_get(event, key));
}

static bool is_same_row(const json_t *a, const json_t *b)
{
    return number_of(a, "pid") == number_of(b, "pid") && number_of(a, "tid") == number_of(b, "tid");
}

// Slices of a row do not overlap, or one holds the other.
static void assert_nested(const json_t *events)
{
    size_t i, j;
    json_t *a, *b;
    json_array_foreach(events, i, a) json_array_foreach(events, j, b)
    {
        if (i == j || strcmp(text_of(a, "ph"), "X") || strcmp(text_of(b, "ph"), "X") || !is_same_row(a, b))
            continue;
        double a0 = number_of(a, "ts"), a1 = a0 + number_of(a, "dur"), b0 = number_of(b, "ts"),
               b1 = b0 + number_of(b, "dur"), near = 1e-4; // us: less than a tick
        assert_true(a1 <= b0 + near || b1 <= a0 + near || (a0 <= b0 && b1 <= a1 + near) ||
                    (b0 <= a0 && a1 <= b1 + near));
    }
}

static int count(const json_t *events, const char *kind)
{
    int n = 0;
    size_t i;
    json_t *event;
    json_array_foreach(events, i, event) n += !strcmp(text_of(event, "ph"), kind);
    return n;
}

static void test_a_file_has_a_slice_for_each_thing_and_two_ends_for_each_arrow(void **state)
{
    needs_jansson();
    struct clab_timeline t = make_ring(3, -1);
    const struct clab_timeline_span compute = {.begin = 9,
                                               .end = 15,
                                               .bytes = -1,
                                               .process = 1,
                                               .row = CLAB_ROW_COMPUTE,
                                               .peer = -1,
                                               .stage = -1,
                                               .name = "x"};
    assert_int_equal(clab_timeline_add_spans(&t, &compute, 1), CLAB_OK);
    json_t *json = write_and_load(&t), *events = json_object_get(json, "traceEvents"), *event;
    size_t i;
    assert_int_equal(count(events, "X"), 3 + 12 + 1);
    assert_int_equal(count(events, "s"), 12);
    assert_int_equal(count(events, "f"), 12);
    json_array_foreach(events, i, event) if (!strcmp(text_of(event, "ph"), "X"))
    {
        assert_true(number_of(event, "dur") >= 0);
        assert_true(number_of(event, "ts") >= 0);
        if (!strcmp(text_of(event, "name"), "x")) // the first thing there is
            assert_true(number_of(event, "ts") == 0 && number_of(event, "dur") == 6e6 && number_of(event, "pid") == 3);
    }
    assert_nested(events);
    json_decref(json);
    clab_timeline_free(&t);
}

// Three spans of a row, of which two are at the same time: two rows.
static void test_what_overlaps_gets_a_row_beside(void **state)
{
    needs_jansson();
    struct clab_timeline t = {0};
    struct clab_timeline_span span = {.bytes = -1, .row = CLAB_ROW_OUT, .peer = -1, .stage = -1, .name = "x"};
    static const double begins[] = {0, 1, 2}, ends[] = {2, 3, 4};
    for (int i = 0; i < 3; i++) {
        span.begin = begins[i];
        span.end = ends[i];
        assert_int_equal(clab_timeline_add_spans(&t, &span, 1), CLAB_OK);
    }
    json_t *json = write_and_load(&t), *events = json_object_get(json, "traceEvents"), *event;
    int rows = 0;
    size_t i;
    assert_nested(events);
    json_array_foreach(events, i, event) if (!strcmp(text_of(event, "name"), "thread_name"))
        assert_string_equal(text_of(json_object_get(event, "args"), "name"), rows++ ? "port out (2)" : "port out");
    assert_int_equal(rows, 2);
    json_decref(json);
    clab_timeline_free(&t);
}
#else
static void test_a_file_has_a_slice_for_each_thing_and_two_ends_for_each_arrow(void **state)
{
    needs_jansson();
}
static void test_what_overlaps_gets_a_row_beside(void **state)
{
    needs_jansson();
}
#endif

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_communication_without_computing_is_all_exposed),
        cmocka_unit_test(test_only_what_no_computing_covers_is_exposed),
        cmocka_unit_test(test_each_moment_counts_once),
        cmocka_unit_test(test_arrows_lead_from_sends_to_their_receives),
        cmocka_unit_test(test_pairs_of_which_a_stage_is_lost_have_no_arrows),
        cmocka_unit_test(test_a_file_has_a_slice_for_each_thing_and_two_ends_for_each_arrow),
        cmocka_unit_test(test_what_overlaps_gets_a_row_beside),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
