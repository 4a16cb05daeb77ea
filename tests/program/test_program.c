// SPDX-License-Identifier: MIT
// The compiler: what it must not add. (That programs compute the right thing is the conformance suite's business.)

#include "tests/fixtures/capture.h"

#include <stdio.h>

#include "core/base/err.h"
#include "core/program/in_process.h"
#include "core/program/program.h"
#include "tests/fixtures/sim_run.h"

static struct clab_program *compile(enum clab_collective collective, const char *algorithm, int nranks, int rank,
                                    int lanes, bool in_place)
{
    struct clab_problem problem = {.collective = collective, .nranks = nranks, .lanes = lanes, .count = 1000};
    struct clab_program *program;
    assert_int_equal(
        clab_program_compile(&problem, clab_algorithm_find(collective, algorithm), rank, in_place, &program), CLAB_OK);
    return program;
}

static int local_moves(const struct clab_program *program)
{
    int n = 0;
    for (int i = 0; i < program->nmoves; i++)
        n += program->moves[i].op == CLAB_COPY;
    return n;
}

static size_t scratch_elements(const struct clab_program *program)
{
    size_t n = 0;
    for (int r = CLAB_TEMP; r < CLAB_REGION_COUNT; r++)
        n += program->region_elements[r];
    return n;
}

static void expect(enum clab_collective collective, const char *algorithm, int nranks, bool in_place, int copies,
                   size_t scratch)
{
    for (int rank = 0; rank < nranks; rank++) {
        struct clab_program *program = compile(collective, algorithm, nranks, rank, 1, in_place);
        if (local_moves(program) != copies || scratch_elements(program) != scratch)
            fail_msg("%s by %s, rank %d of %d: %d copies and %zu elements of scratch, not %d and %zu",
                     clab_collective_name(collective), algorithm, rank, nranks, local_moves(program),
                     scratch_elements(program), copies, scratch);
        clab_program_free(program);
    }
}

static void test_first_touch_reads_in_and_copies_nothing(void **state)
{
    expect(CLAB_ALLREDUCE, "ring", 4, false, 0, 0);
    expect(CLAB_ALLREDUCE, "ring", 4, true, 0, 0);
    expect(CLAB_ALLREDUCE, "doubling", 2, false, 0, 0);
    expect(CLAB_REDUCE_SCATTER, "pairwise", 4, false, 0, 0);
}

// Four ranks: in -> alternate -> out. Eight: in -> out -> alternate -> out.
static void test_last_exchange_lands_in_out(void **state)
{
    expect(CLAB_ALLREDUCE, "doubling", 4, false, 0, 1000);
    expect(CLAB_ALLREDUCE, "doubling", 8, false, 0, 1000);
    expect(CLAB_ALLREDUCE, "doubling", 4, true, 0, 1000); // out -> alternate -> out
    expect(CLAB_ALLREDUCE, "doubling", 2, true, 1, 1000); // out -> alternate, and home
}

static void test_own_block_is_copied_once(void **state)
{
    expect(CLAB_ALLGATHER, "ring", 4, false, 1, 0);
    expect(CLAB_ALLGATHER, "ring", 4, true, 0, 0);
    expect(CLAB_ALLGATHER, "doubling", 4, false, 1, 0);
    expect(CLAB_ALLTOALL, "pairwise", 4, false, 1, 0);
}

static void test_sends_what_the_cost_says(void **state)
{
    struct clab_program *program = compile(CLAB_ALLREDUCE, "ring", 5, 3, 2, false);
    assert_int_equal(program->messages, 2 * 2 * 4);
    assert_int_equal(program->elements_sent, 2 * 4 * 1000 / 5);
    clab_program_free(program);
}

// Two lanes cut every block in two, so that neighbouring blocks of a lane lie apart: the message is packed.
static void test_scattered_message_is_packed(void **state)
{
    struct clab_program *program = compile(CLAB_ALLGATHER, "doubling", 4, 0, 2, false);
    assert_int_equal(program->region_elements[CLAB_PACK] > 0, 1);
    for (int i = 0; i < program->nmoves; i++)
        if (program->moves[i].op == CLAB_SEND && program->moves[i].count == 1000)
            assert_int_equal(program->moves[i].src.region, CLAB_PACK);
    clab_program_free(program);
}

static size_t touched(enum clab_collective collective, const char *algorithm, int rank, bool in_place)
{
    struct clab_program *program = compile(collective, algorithm, 4, rank, 1, in_place);
    const size_t elements = program->elements_touched;
    clab_program_free(program);
    return elements;
}

static void test_touches_its_buffers(void **state)
{
    assert_int_equal(touched(CLAB_ALLREDUCE, "ring", 0, false), 2 * 1000);
    assert_int_equal(touched(CLAB_ALLREDUCE, "ring", 0, true), 1000);
    assert_int_equal(touched(CLAB_ALLGATHER, "ring", 0, false), (1 + 4) * 1000);
    assert_int_equal(touched(CLAB_ALLGATHER, "ring", 0, true), 4 * 1000);
    assert_int_equal(touched(CLAB_BROADCAST, "flat", 0, false), 2 * 1000);
    assert_int_equal(touched(CLAB_BROADCAST, "flat", 1, false), 1000);
}

// ---- what can not be run ---------------------------------------------------------------------------------------

static int two(const struct clab_problem *problem)
{
    return problem->nranks;
}

static int none(const struct clab_problem *problem)
{
    return problem->nranks - 2;
}

static int three(const struct clab_problem *problem)
{
    return problem->nranks + 1;
}

// In place. Chunk 1 is received into its other place, since it is still to be sent while it is received. Then the stage
// sends chunk 0 out of `out` and chunk 1 out of that place, and receives both in one piece: it fits neither.
static int read_both_places(const struct clab_problem *problem, int rank, int lane, int stage, struct clab_step out[])
{
    const int peer = 1 - rank;
    if (stage == 0)
        out[0] = (struct clab_step){.op = CLAB_RECV, .peer = peer, .dst = {CLAB_DATA, 1, 1}};
    if (stage != 1)
        return stage == 0 ? 1 : CLAB_DONE;
    out[0] = (struct clab_step){.op = CLAB_SEND, .peer = peer, .src = {CLAB_DATA, 0, 1}};
    out[1] = (struct clab_step){.op = CLAB_SEND, .peer = peer, .src = {CLAB_DATA, 1, 1}};
    out[2] = (struct clab_step){.op = CLAB_RECV_REDUCE, .peer = peer, .dst = {CLAB_DATA, 0, 2}};
    return 3;
}

static int calculate(const struct clab_problem *problem, int rank, int lane, int stage, struct clab_step out[])
{
    out[0] = (struct clab_step){.op = CLAB_CALC, .src = {CLAB_DATA, 0, 1}};
    return stage == 0 ? 1 : CLAB_DONE;
}

static bool is_of_two(const struct clab_problem *problem)
{
    return problem->nranks == 2;
}

typedef int (*stage_fn)(const struct clab_problem *, int, int, int, struct clab_step[]);

static struct clab_algorithm odd(stage_fn stage)
{
    return (struct clab_algorithm){.name = "odd",
                                   .collective = CLAB_ALLREDUCE,
                                   .supports = is_of_two,
                                   .chunks = two,
                                   .scratch = none,
                                   .width = three,
                                   .stage = stage};
}

static void assert_refused(stage_fn stage, const char *line)
{
    const struct clab_algorithm algorithm = odd(stage);
    const struct clab_problem problem = {.collective = CLAB_ALLREDUCE, .nranks = 2, .lanes = 1, .count = 1000};
    struct clab_program *program = NULL;
    const struct capture capture = capture_begin(STDERR_FILENO);
    const int err = clab_program_compile(&problem, &algorithm, 0, true, &program);
    assert_one_line_with(capture_end(capture), line);
    assert_int_equal(err, CLAB_EUNSUPPORTED);
    assert_null(program);
}

static void test_a_write_over_what_is_being_sent_is_refused(void **state)
{
    assert_refused(read_both_places,
                   "odd can not be run: in stage 1 rank 0 writes chunks that it reads in both of their places");
}

static void test_computation_is_refused(void **state)
{
    assert_refused(calculate, "odd can not be run: in stage 0 rank 0 computes");
}

static struct clab_cost cost_of_two(const struct clab_problem *problem)
{
    return (struct clab_cost){.rounds = 2, .serial = 2, .messages_max = 2, .sent_max = 3, .sent_total = 6};
}

// As read_both_places, with a send for each receive.
static int exchange_both_places(const struct clab_problem *problem, int rank, int lane, int stage,
                                struct clab_step out[])
{
    const struct clab_span all = {CLAB_DATA, 0, 2}, second = {CLAB_DATA, 1, 1}, span = stage == 0 ? second : all;
    out[0] = (struct clab_step){.op = CLAB_SEND, .peer = 1 - rank, .src = span};
    out[1] = (struct clab_step){.op = stage == 0 ? CLAB_RECV : CLAB_RECV_REDUCE, .peer = 1 - rank, .dst = span};
    return stage < 2 ? 2 : CLAB_DONE;
}

static void test_what_can_not_be_run_is_priced(void **state)
{
    assert_refused(exchange_both_places, "odd can not be run: in stage 1 rank 0 writes chunks that it reads");
    struct clab_net *net = two_cores();
    struct clab_algorithm algorithm = odd(exchange_both_places);
    algorithm.cost = cost_of_two;
    const struct clab_problem problem = {.collective = CLAB_ALLREDUCE, .nranks = 2, .lanes = 1, .count = 1000};
    const struct clab_sim_options options = {.engine = CLAB_ENGINE_FULL, .in_place = true};
    const struct capture capture = capture_begin(STDERR_FILENO);
    const double seconds = run(&problem, &algorithm, net, options).seconds;
    assert_string_equal(capture_end(capture), "");
    assert_true(seconds > 0);
    clab_net_free(net);
}

// ---- rounding ------------------------------------------------------------------------------------------------

enum { MOST = 9, FLOATS = 24 };

// Whether an allreduce of floats gives ranks different bits.
static bool differs(const char *algorithm, int nranks)
{
    float in[MOST][FLOATS], out[MOST][FLOATS];
    struct clab_program *programs[MOST];
    struct clab_rank_arguments arguments[MOST] = {0};
    struct clab_in_process memory = {0};
    const struct clab_problem problem = {.collective = CLAB_ALLREDUCE, .nranks = nranks, .lanes = 1, .count = FLOATS};
    _Atomic uint32_t beat = 0;
    bool found = false;
    for (int r = 0; r < nranks; r++) {
        for (int i = 0; i < FLOATS; i++)
            in[r][i] = 1 / (float)(3 + 7 * r + i) + (r == 1 ? 1000 : 0);
        assert_int_equal(
            clab_program_compile(&problem, clab_algorithm_find(CLAB_ALLREDUCE, algorithm), r, false, &programs[r]),
            CLAB_OK);
        arguments[r] = (struct clab_rank_arguments){programs[r], (const char *)in[r], (char *)out[r]};
    }
    assert_int_equal(clab_in_process_run(&memory, arguments, nranks, CLAB_F32, CLAB_SUM, &beat), CLAB_OK);
    for (int r = 0; r < nranks; r++) {
        found |= memcmp(out[r], out[0], sizeof out[0]) != 0;
        clab_program_free(programs[r]);
    }
    clab_in_process_free(&memory);
    return found;
}

// As clab.h says.
static void test_all_ranks_get_the_same_bits_but_by_naive(void **state)
{
    for (int n = 2; n <= MOST; n++) {
        const struct clab_problem problem = {.collective = CLAB_ALLREDUCE, .nranks = n, .lanes = 1, .count = FLOATS};
        for (int i = 0; clab_algorithms[i]; i++) {
            const struct clab_algorithm *a = clab_algorithms[i];
            if (a->collective == CLAB_ALLREDUCE && a->supports(&problem) &&
                differs(a->name, n) != (n > 2 && !strcmp(a->name, "naive")))
                fail_msg("%s of %d ranks: %s", a->name, n, n > 2 ? "other bits than clab.h says" : "two ranks differ");
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_first_touch_reads_in_and_copies_nothing),
        cmocka_unit_test(test_last_exchange_lands_in_out),
        cmocka_unit_test(test_own_block_is_copied_once),
        cmocka_unit_test(test_sends_what_the_cost_says),
        cmocka_unit_test(test_scattered_message_is_packed),
        cmocka_unit_test(test_touches_its_buffers),
        cmocka_unit_test(test_a_write_over_what_is_being_sent_is_refused),
        cmocka_unit_test(test_computation_is_refused),
        cmocka_unit_test(test_what_can_not_be_run_is_priced),
        cmocka_unit_test(test_all_ranks_get_the_same_bits_but_by_naive),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
