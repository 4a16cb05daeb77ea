// SPDX-License-Identifier: MIT
// Traces, drawings and exports of schedules: times against stated costs, texts against what was written by hand, and
// files that another program must be able to read.

#include "tests/fixtures/capture.h"

#include "core/base/err.h"
#include "core/schedule/draw/draw.h"
#include "core/schedule/formats/goal.h"

static struct clab_problem problem_of(const struct clab_algorithm *algorithm, int nranks, int lanes)
{
    return (struct clab_problem){
        algorithm->collective, nranks, nranks / 2, lanes, 0, algorithm->collective == CLAB_BARRIER ? 0 : 1000, NULL};
}

static struct clab_trace trace_of(const struct clab_algorithm *algorithm, const struct clab_problem *problem)
{
    struct clab_trace trace;
    assert_int_equal(clab_trace_record(problem, algorithm, &trace), CLAB_OK);
    return trace;
}

// What `draw` writes; the caller frees it.
static char *drawing(int (*draw)(const struct clab_trace *, FILE *), const struct clab_trace *trace)
{
    static char *text; // outlives the stream that refers to it
    static size_t size;
    FILE *file = open_memstream(&text, &size);
    assert_non_null(file);
    assert_int_equal(draw(trace, file), CLAB_OK);
    assert_int_equal(fclose(file), 0);
    return text;
}

// ---- traces --------------------------------------------------------------------------------------------------

static void test_one_lane_takes_the_rounds_it_states(void **state)
{
    for (const struct clab_algorithm *const *a = clab_algorithms; *a; a++)
        for (int nranks = 1; nranks <= 20; nranks++) {
            const struct clab_problem problem = problem_of(*a, nranks, 1);
            struct clab_trace trace = trace_of(*a, &problem);
            if (trace.rounds != (*a)->cost(&problem).rounds)
                fail_msg("%s %s, %d ranks: %ld rounds drawn, %ld stated", clab_collective_name(problem.collective),
                         (*a)->name, nranks, trace.rounds, (*a)->cost(&problem).rounds);
            clab_trace_free(&trace);
        }
}

static void test_lanes_of_a_chain_follow_each_other(void **state)
{
    const struct clab_algorithm *chain = clab_algorithm_find(CLAB_BROADCAST, "chain");
    for (int nranks = 2; nranks <= 9; nranks++)
        for (int lanes = 1; lanes <= 9; lanes++) {
            const struct clab_problem problem = problem_of(chain, nranks, lanes);
            struct clab_trace trace = trace_of(chain, &problem);
            assert_int_equal(trace.rounds, nranks - 2 + lanes);
            assert_int_equal(trace.nmessages, lanes * (nranks - 1));
            clab_trace_free(&trace);
        }
}

static void test_a_rank_sends_and_hears_one_at_a_time(void **state)
{
    for (const struct clab_algorithm *const *a = clab_algorithms; *a; a++) {
        const struct clab_problem problem = problem_of(*a, 13, 3);
        struct clab_trace trace = trace_of(*a, &problem);
        for (size_t i = 0; i < trace.nmessages; i++)
            for (size_t j = 0; j < i; j++) {
                const struct clab_message *x = &trace.messages[i], *y = &trace.messages[j];
                assert_true(x->lands > x->leaves && x->leaves >= y->leaves);
                assert_false(x->src == y->src && x->leaves == y->leaves);
                assert_false(x->dst == y->dst && x->lands == y->lands);
            }
        clab_trace_free(&trace);
    }
}

static void test_wanted_chunks_are_complete_at_the_end(void **state)
{
    enum { P = 7 };
    for (const struct clab_algorithm *const *a = clab_algorithms; *a; a++) {
        const struct clab_problem problem = problem_of(*a, P, 2);
        struct clab_trace trace = trace_of(*a, &problem);
        int *inputs = calloc((size_t)(P * trace.cells), sizeof *inputs);
        int chunks = (*a)->chunks(&problem), a_lane = trace.cells / 2;
        size_t next = 0;
        assert_non_null(inputs);
        clab_trace_start(&trace, inputs);
        clab_trace_advance(&trace, trace.rounds, &next, inputs);
        assert_int_equal(next, trace.nchanges);
        for (int rank = 0; rank < P; rank++)
            for (int cell = 0; cell < trace.cells; cell++)
                if (clab_problem_wants(&problem, rank, cell % a_lane / chunks))
                    assert_int_equal(inputs[rank * trace.cells + cell], clab_trace_complete(&trace));
        free(inputs);
        clab_trace_free(&trace);
    }
}

// ---- text ----------------------------------------------------------------------------------------------------

static void test_text_of_a_ring_is_the_textbooks(void **state)
{
    const struct clab_algorithm *ring = clab_algorithm_find(CLAB_REDUCE_SCATTER, "ring");
    const struct clab_problem problem = {CLAB_REDUCE_SCATTER, 3, 0, 1, 0, 0, NULL};
    struct clab_trace trace = trace_of(ring, &problem);
    char *text = drawing(clab_draw_text, &trace);
    assert_non_null(strstr(text, "reduce_scatter ring, 3 ranks: 2 rounds, each sends ≤ 0.6667 buffers\n"));
    assert_string_equal(strstr(text, "\n\n") + 2, "t   rank 0                  rank 1                  rank 2\n"
                                                  "    111                     111                     111\n"
                                                  "0   →1 c2                   →2 c0                   →0 c1\n"
                                                  "    +2 c1                   +0 c2                   +1 c0\n"
                                                  "    121                     112                     211\n"
                                                  "1   →1 c1                   →2 c2                   →0 c0\n"
                                                  "    +2 c0                   +0 c1                   +1 c2\n"
                                                  "    #21                     1#2                     21#\n");
    free(text);
    clab_trace_free(&trace);
}

static void check_width(const char *text, const char *name, int nranks)
{
    int width = 0;
    for (; *text; text++) {
        width = *text == '\n' ? 0 : width + ((*text & 0xc0) != 0x80);
        if (width > 100)
            fail_msg("%s, %d ranks: a line is wider than 100 columns", name, nranks);
    }
}

static void test_text_fits_100_columns(void **state)
{
    const int ranks[] = {1, 2, 5, 8, 9, 64};
    for (const struct clab_algorithm *const *a = clab_algorithms; *a; a++)
        for (size_t i = 0; i < sizeof ranks / sizeof *ranks; i++)
            for (int lanes = 1; lanes <= 12; lanes += 11) {
                const struct clab_problem problem = problem_of(*a, ranks[i], lanes);
                struct clab_trace trace = trace_of(*a, &problem);
                char *text = drawing(clab_draw_text, &trace);
                check_width(text, (*a)->name, ranks[i]);
                assert_null(strstr(text, " \n"));
                free(text);
                clab_trace_free(&trace);
            }
}

// ---- SVG -----------------------------------------------------------------------------------------------------

// Every tag that is opened is closed, in order. Enough of XML for what is written here: no comments, no CDATA.
static void check_tags(const char *text)
{
    char open[32][16];
    int depth = 0;
    while ((text = strchr(text, '<'))) {
        const char *end = strchr(++text, '>');
        size_t length = strcspn(text + (*text == '/'), " />\n");
        assert_non_null(end);
        if (*text == '/') {
            assert_true(depth > 0 && strlen(open[depth - 1]) == length && !strncmp(open[depth - 1], text + 1, length));
            depth--;
        } else if (end[-1] != '/') {
            assert_true(depth < 32 && length < sizeof open[0]);
            snprintf(open[depth++], sizeof open[0], "%.*s", (int)length, text);
        }
        text = end;
    }
    assert_int_equal(depth, 0);
}

static void test_svg_is_well_formed_and_has_every_message(void **state)
{
    for (const struct clab_algorithm *const *a = clab_algorithms; *a; a++)
        for (int nranks = 1; nranks <= 33; nranks += 8) {
            const struct clab_problem problem = problem_of(*a, nranks, (*a)->default_lanes);
            struct clab_trace trace = trace_of(*a, &problem);
            char *text = drawing(clab_draw_svg, &trace);
            int in_legend = 1 + clab_collective_reduces(problem.collective);
            check_tags(text);
            assert_int_equal(occurrences(text, "<path class="), (int)trace.nmessages + in_legend);
            assert_int_equal(occurrences(text, "nan") + occurrences(text, "inf"), 0);
            free(text);
            clab_trace_free(&trace);
        }
}

static void test_slide_has_every_message_and_large_letters(void **state)
{
    for (const struct clab_algorithm *const *a = clab_algorithms; *a; a++)
        for (int nranks = 1; nranks <= 16; nranks += 5) {
            const struct clab_problem problem = problem_of(*a, nranks, (*a)->default_lanes);
            struct clab_trace trace = trace_of(*a, &problem);
            char *text = drawing(clab_draw_slide, &trace), *size = text;
            int in_legend = 1 + clab_collective_reduces(problem.collective);
            check_tags(text);
            assert_int_equal(occurrences(text, "<path class="), (int)trace.nmessages + in_legend);
            assert_int_equal(occurrences(text, "nan") + occurrences(text, "inf"), 0);
            assert_null(strstr(text, "Chunks"));
            assert_non_null(strstr(text, ".rl,.pl{font-size:18px"));
            size = strstr(size, "<g ");
            while ((size = strstr(size, "font-size=\""))) // of all letters but the document's
                assert_in_range(atoi(size += strlen("font-size=\"")), 18, 19);
            free(text);
            clab_trace_free(&trace);
        }
}

// ---- GOAL ----------------------------------------------------------------------------------------------------

enum { GOAL_RANKS = 7, GOAL_LANES = 3, GOAL_MESSAGES = 400 };

// The sizes of the messages between two ranks in a lane, in order, as their sender or as their receiver has them.
struct goal_sizes {
    long sizes[GOAL_MESSAGES];
    int n;
};

struct goal_file {
    struct goal_sizes sent[GOAL_RANKS][GOAL_RANKS][GOAL_LANES], received[GOAL_RANKS][GOAL_RANKS][GOAL_LANES];
    int rank;
    long last, ranks_ended;
};

static void read_message(struct goal_file *file, bool sends, long bytes, int peer, int tag)
{
    assert_in_range(peer, 0, GOAL_RANKS - 1);
    assert_in_range(tag, 0, GOAL_LANES - 1);
    struct goal_sizes *s = sends ? &file->sent[file->rank][peer][tag] : &file->received[peer][file->rank][tag];
    assert_true(s->n < GOAL_MESSAGES);
    s->sizes[s->n++] = bytes;
}

static void read_line(struct goal_file *file, const char *line)
{
    long label, other, value;
    int peer, tag, ranks;
    if (sscanf(line, "rank %d {", &file->rank) == 1) {
        file->last = 0;
    } else if (sscanf(line, "l%ld: send %ldb to %d tag %d", &label, &value, &peer, &tag) == 4) {
        assert_int_equal(label, ++file->last);
        read_message(file, true, value, peer, tag);
    } else if (sscanf(line, "l%ld: recv %ldb from %d tag %d", &label, &value, &peer, &tag) == 4) {
        assert_int_equal(label, ++file->last);
        read_message(file, false, value, peer, tag);
    } else if (sscanf(line, "l%ld: calc %ld", &label, &value) == 2) {
        assert_int_equal(label, ++file->last);
    } else if (sscanf(line, "l%ld requires l%ld", &label, &other) == 2) {
        assert_true(label == file->last && other < label && other > 0);
    } else if (!strcmp(line, "}")) {
        file->ranks_ended++;
    } else if (sscanf(line, "num_ranks %d", &ranks) == 1) {
        assert_int_equal(ranks, GOAL_RANKS);
    } else if (*line && strncmp(line, "//", 2)) {
        fail_msg("what is '%s'?", line);
    }
}

static void test_goal_sends_match_receives(void **state)
{
    static struct goal_file file;
    for (const struct clab_algorithm *const *a = clab_algorithms; *a; a++) {
        const struct clab_problem problem = problem_of(*a, GOAL_RANKS, GOAL_LANES);
        char *text, *rest, *line;
        size_t size;
        FILE *out = open_memstream(&text, &size);
        assert_non_null(out);
        assert_int_equal(clab_goal_write(&problem, *a, 4, 1e-9, out), CLAB_OK);
        assert_int_equal(fclose(out), 0);
        memset(&file, 0, sizeof file);
        rest = text;
        while ((line = strsep(&rest, "\n")))
            read_line(&file, line);
        assert_int_equal(file.ranks_ended, GOAL_RANKS);
        assert_memory_equal(file.sent, file.received, sizeof file.sent);
        free(text);
    }
}

static void test_goal_of_two_ranks_is_as_written_by_hand(void **state)
{
    const struct clab_problem problem = {CLAB_REDUCE, 2, 0, 1, 0, 10, NULL};
    char *text;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    assert_non_null(out);
    assert_int_equal(clab_goal_write(&problem, clab_algorithm_find(CLAB_REDUCE, "flat"), 4, 0.5e-9, out), CLAB_OK);
    assert_int_equal(fclose(out), 0);
    assert_string_equal(strstr(text, "num_ranks"),
                        "num_ranks 2\n\n"
                        "rank 0 {\nl1: recv 40b from 1 tag 0\nl2: calc 20\nl2 requires l1\nl3: calc 0\n"
                        "l3 requires l2\n}\n\n"
                        "rank 1 {\nl1: send 40b to 0 tag 0\nl2: calc 0\nl2 requires l1\n}\n");
    free(text);
}

// ---- errors --------------------------------------------------------------------------------------------------

static int nothing_at_all(const struct clab_problem *problem, int rank, int lane, int s, struct clab_step out[])
{
    return CLAB_DONE;
}

static void test_a_flawed_algorithm_is_not_drawn(void **state)
{
    const struct clab_problem problem = {CLAB_ALLREDUCE, 4, 0, 1, 0, 0, NULL};
    struct clab_algorithm idle = *clab_algorithm_find(CLAB_ALLREDUCE, "ring");
    struct clab_trace trace;
    idle.stage = nothing_at_all;
    assert_int_equal(clab_trace_record(&problem, &idle, &trace), CLAB_EWRONG);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_one_lane_takes_the_rounds_it_states),
        cmocka_unit_test(test_lanes_of_a_chain_follow_each_other),
        cmocka_unit_test(test_a_rank_sends_and_hears_one_at_a_time),
        cmocka_unit_test(test_wanted_chunks_are_complete_at_the_end),
        cmocka_unit_test(test_text_of_a_ring_is_the_textbooks),
        cmocka_unit_test(test_text_fits_100_columns),
        cmocka_unit_test(test_svg_is_well_formed_and_has_every_message),
        cmocka_unit_test(test_slide_has_every_message_and_large_letters),
        cmocka_unit_test(test_goal_sends_match_receives),
        cmocka_unit_test(test_goal_of_two_ranks_is_as_written_by_hand),
        cmocka_unit_test(test_a_flawed_algorithm_is_not_drawn),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
